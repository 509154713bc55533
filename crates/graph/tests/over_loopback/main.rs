//! Contexts that talk to each other over the loopback interface, each test in a domain of its own.

mod discovery;
mod event_loop;
mod examples;
mod process;
mod services;
mod side;
mod topics;
