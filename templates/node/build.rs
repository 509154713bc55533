//! Turns the definitions below `interfaces/` into Rust types, which `src/lib.rs` includes.

fn main() {
    rosless_schema::build::interfaces_or_exit(&["interfaces"]);
}
