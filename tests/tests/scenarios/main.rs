//! The whole system, and what happens to it when parts of it, the network, a clock or a disk fail.

mod clock;
mod disk;
mod killed;
mod leaving;
mod network;
mod stopped;
mod story;
