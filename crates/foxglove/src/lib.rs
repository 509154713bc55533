//! The server's half of the Foxglove WebSocket protocol, as JSON and bytes: no socket, no graph, no clock.
//!
//! | want | use |
//! |---|---|
//! | which of a client's subprotocols to speak | [`choose`] |
//! | what a client says | [`Request::text`], [`Request::binary`] |
//! | what is said to it | the functions of [`message`] |
//! | which channels and services are told of, and by which numbers | [`Catalogue`] |
//! | what one client listens to and publishes | [`Session`] |
//!
//! The three subprotocols differ in their names and in what their clients know. The messages are the same but for one: the
//! newest tells each definition once and gives it a number, by which channels then name it ([`Told`]).
//!
//! ```
//! use rosless_foxglove::{Request, Session, choose, message};
//!
//! assert_eq!(choose(["foxglove.sdk.v1"].into_iter()), Some("foxglove.sdk.v1"));
//! let said = r#"{"op": "subscribe", "subscriptions": [{"id": 7, "channelId": 1}]}"#;
//! let Ok(Request::Subscribe(wanted)) = Request::text(said) else { panic!("it subscribes") };
//! let mut client = Session::default();
//! assert_eq!(client.subscribe(wanted[0]), Ok(true));
//! let frames: Vec<_> = client.subscriptions_of(1).map(|id| message::data(id, 0, b"payload")).collect();
//! assert_eq!(frames.len(), 1);
//! ```
#![forbid(unsafe_code)]

mod catalogue;
pub mod message;
mod request;
mod session;

pub use catalogue::{Catalogue, Channel, Service, ServiceType, Told};
pub use request::{Advertised, Request, Subscription, Wrong};
pub use session::Session;

/// Subprotocols that are spoken, the newest first.
pub const SUBPROTOCOLS: [&str; 3] = ["foxglove.sdk.v1.1", "foxglove.sdk.v1", "foxglove.websocket.v1"];

/// The one whose clients know definitions by numbers.
pub(crate) const BY_TABLE: &str = SUBPROTOCOLS[0];

/// The subprotocol to speak with a client that offers these.
pub fn choose<'a>(offered: impl Iterator<Item = &'a str>) -> Option<&'static str> {
    let offered: Vec<_> = offered.collect();
    SUBPROTOCOLS.into_iter().find(|ours| offered.contains(ours))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_common_subprotocol_is_spoken() {
        assert_eq!(choose(["x", "foxglove.websocket.v1"].into_iter()), Some("foxglove.websocket.v1"));
        assert_eq!(choose(["foxglove.websocket.v1", "foxglove.sdk.v1"].into_iter()), Some("foxglove.sdk.v1"));
        assert_eq!(choose(["foxglove.sdk.v1", "foxglove.sdk.v1.1"].into_iter()), Some("foxglove.sdk.v1.1"));
        assert_eq!(choose(["foxglove.sdk.v2", ""].into_iter()), None);
    }
}
