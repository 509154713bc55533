//! How much of anything a client may have.

use std::time::Duration;

/// Every limit of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once. One more takes the place of the oldest that is no WebSocket; if all are, it is refused.
    pub clients: usize,
    /// Bytes of a request's head: its line and all header fields.
    pub head: usize,
    /// Header fields of a request.
    pub fields: usize,
    /// Bytes of one WebSocket message, and of one frame.
    pub message: usize,
    /// Bytes of data that wait for a client; beyond them the oldest is dropped.
    pub data: usize,
    /// Bytes of answers that wait for a client; beyond them it is closed.
    pub answers: usize,
    /// Bytes taken from one client before others get their turn.
    pub turn: usize,
    /// How long a client may take for a request's head, and how long it may be idle between two.
    pub request: Duration,
    /// A WebSocket that was silent for this long is sent a ping.
    pub ping: Duration,
    /// A WebSocket that was silent for this long is closed.
    pub silence: Duration,
    /// A client that takes nothing of what waits for it for this long is closed.
    pub stall: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            clients: 128,
            head: 16 * 1024,
            fields: 64,
            message: 1024 * 1024,
            data: 2 * 1024 * 1024,
            answers: 4 * 1024 * 1024,
            turn: 256 * 1024,
            request: Duration::from_secs(10),
            ping: Duration::from_secs(5),
            silence: Duration::from_secs(15),
            stall: Duration::from_secs(15),
        }
    }
}
