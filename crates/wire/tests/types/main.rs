//! What holds for every type of the crate. The registry supplies the types, so none can be left out.
#![forbid(unsafe_code)]

mod agreement;
mod any_type;
mod golden;
mod hostile;
mod source;
