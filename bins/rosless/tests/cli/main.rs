//! The commands as people and scripts use them: real processes against nodes of this test.

mod bag;
mod json;
mod looking;
mod new;
mod output;
mod poking;
mod python;
mod security;
mod strangers;
mod world;
