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
//!
//! ```
//! use std::time::Duration;
//! use rosless_web::{Access, Connection, Event, Limits, Response};
//!
//! let (now, mut events) = (Duration::ZERO, Vec::new());
//! let mut client = Connection::new(Limits::default(), now);
//! client.receive(b"GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n", now, &mut events);
//! let Some(Event::Request(request)) = events.pop() else { panic!("it asks") };
//! assert!(Access::default().judge(&request).is_ok());
//! client.respond(&Response::text(200, "good day"), now, &mut events);
//! assert!(client.output().starts_with(b"HTTP/1.1 200"));
//! ```
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
