//! The commands as people and scripts use them: real processes against nodes of this test.

mod looking;
mod poking;
mod strangers;
mod world;
