//! Recordings, judged by software that is not ours and by what this crate reads of its own.

mod golden;
mod killed;
mod parts;
mod recording;
mod third_party;
mod unfinished;
mod world;
