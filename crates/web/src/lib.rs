//! HTTP/1.1 and WebSocket for a program with one event loop: no thread, no executor, no clock of its own.
//!
//! | want | use |
//! |---|---|
//! | one client's bytes in, events and bytes out, without a socket | [`Connection`] |
//! | many clients on a listening socket, driven by the loop's readiness | [`Server`] |
//! | who may come in, and as what | [`Access`] |
//! | files that were compiled in | [`Asset`] |
//!
//! Every byte from a client is hostile: [`Limits`] says how much of anything is taken, and whoever wants more is refused and
//! counted, while the others go on. A [`Server`] belongs to its loop like this: `accept` when the listener is ready, `ready`
//! when a client's socket is, `flush` after each batch of events, `tick` once a second while there are clients.
//!
//! What is sent is either *data*, of which the oldest is dropped and counted when a client is slow, or an *answer*, which
//! never is: a client that does not take its answers is closed.
#![forbid(unsafe_code)]

mod access;
mod connection;
mod http;
mod limits;
mod outbox;
mod server;

pub use access::{Access, Refusal, Role, Token};
pub use bytes::Bytes;
pub use connection::{Connection, Event, Message, Stream};
pub use http::{Asset, Request, Response};
pub use limits::Limits;
pub use outbox::Outgoing;
pub use server::{ClientId, Counters, Server};
