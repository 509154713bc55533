#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| rosless_fuzz_targets::ur(input));
