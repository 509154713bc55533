//! The seeds of the fuzzers, and what they once found, through every target.

use std::path::Path;

fn each(target: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut count = 0;
    for file in std::fs::read_dir(folder).expect("corpus") {
        let input = std::fs::read(file.expect("entry").path()).expect("readable");
        run(&input);
        // Inputs are cut and damaged by the fuzzers; a little of it here, too.
        run(&input[..input.len() / 2]);
        for at in (0..input.len()).step_by(7) {
            let mut damaged = input.clone();
            damaged[at] = !damaged[at];
            run(&damaged);
        }
        count += 1;
    }
    assert!(count > 1, "{count} seeds for {target}");
}

#[test]
fn packets() {
    each("packets", rosless_fuzz_targets::packets);
}

#[test]
fn payloads() {
    each("payload", rosless_fuzz_targets::payload);
}

#[test]
fn parameters() {
    each("parameters", rosless_fuzz_targets::parameters);
}

#[test]
fn types() {
    each("types", rosless_fuzz_targets::types);
}

#[test]
fn control() {
    each("control", rosless_fuzz_targets::control);
}

#[test]
fn web() {
    each("web", rosless_fuzz_targets::web);
}
