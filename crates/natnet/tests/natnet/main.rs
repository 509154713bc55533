//! Packets judged by a reader that is not ours, and a client against the synthetic server over a network that misbehaves.

mod link;
mod packets;
