//! What a node offers beyond topics and services, between two participants.

mod actions;
mod lifecycle;
mod parameters;
mod peer;
