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

#[test]
fn ur() {
    each("ur", rosless_fuzz_targets::ur);
}

#[test]
fn natnet() {
    each("natnet", rosless_fuzz_targets::natnet);
}

/// Seeds cut, joined and damaged at random, `ROSLESS_FUZZ_RUNS` times; where there is no fuzzing toolchain that is the long run.
fn at_random(target: &str, run: fn(&[u8])) {
    let runs =
        std::env::var("ROSLESS_FUZZ_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(20_000_u64);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let seeds: Vec<Vec<u8>> = std::fs::read_dir(folder)
        .expect("corpus")
        .map(|file| std::fs::read(file.expect("entry").path()).expect("readable"))
        .collect();
    // A plain generator with a fixed beginning: what fails here fails everywhere.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap_or(0) % below.max(1)
    };
    for _ in 0..runs {
        let mut input = seeds[random(seeds.len())].clone();
        for _ in 0..=random(6) {
            let at = random(input.len());
            match random(5) {
                0 => input.truncate(at),
                1 => input.extend_from_slice(&seeds[random(seeds.len())]),
                2 => input.insert(at, random(256) as u8),
                3 => input[at..].reverse(),
                _ => {
                    if let Some(byte) = input.get_mut(at) {
                        *byte = random(256) as u8;
                    }
                }
            }
            if input.is_empty() {
                input.push(random(256) as u8);
            }
        }
        run(&input);
    }
}

#[test]
fn packets_at_random() {
    at_random("packets", rosless_fuzz_targets::packets);
}

#[test]
fn web_at_random() {
    at_random("web", rosless_fuzz_targets::web);
}

#[test]
fn natnet_at_random() {
    at_random("natnet", rosless_fuzz_targets::natnet);
}
