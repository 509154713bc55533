//! Makes Rust types of definitions, as the build script of any crate makes its own.

fn main() {
    rosless_schema::build::interfaces_or_exit(&["exotic"]);
}
