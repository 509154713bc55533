//! Makes a Rust type of every definition in `idl/`.

fn main() {
    rosless_schema::build::wire_or_exit();
}
