//! The `cdr` crate knows nothing of this one; what both write for the same value must be the same.

use crate::any_type::AllTypes;
use proptest::prelude::*;
use rosless_wire::{
    cdr::{self, ByteOrder, Cdr, HEADER_LEN},
    sensor_msgs::msg::JointState,
    std_msgs::msg::{Int16MultiArray, UInt8MultiArray},
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn every_type_encodes_as_the_cdr_crate_does(seed: u64) {
        for ty in AllTypes::new().messages {
            let little = ty.random(seed, ByteOrder::Little);
            let big = (ty.recode)(&little, ByteOrder::Big).expect(ty.name);
            prop_assert_eq!(&little[HEADER_LEN..], (ty.foreign)(&big, ByteOrder::Little), "{}", ty.name);
            prop_assert_eq!(&big[HEADER_LEN..], (ty.foreign)(&little, ByteOrder::Big), "{}", ty.name);
            // Values are compared by their bytes, in which NaN equals NaN.
            prop_assert_eq!(&little, &(ty.recode)(&big, ByteOrder::Little).expect(ty.name), "{}", ty.name);
        }
    }
}

/// A long payload is not zeroed ahead as a whole, and what is long in it is written in another way.
#[test]
fn long_payloads_are_written_as_short_ones_are() {
    fn check<T: Cdr>(value: &T) {
        let mut whole = cdr::to_bytes(value, ByteOrder::Little);
        whole.resize(whole.len().next_multiple_of(4), 0);
        assert!(cdr::to_payload(value) == whole, "{} bytes", whole.len());
    }
    for length in [1, 4_000, 16_383, 16_384, 16_385, 32_750, 50_001, 300_007] {
        check(&UInt8MultiArray { data: (0..length).map(|at| at as u8).collect(), ..Default::default() });
        check(&Int16MultiArray { data: (0..length).map(|at| at as i16).collect(), ..Default::default() });
        check(&JointState {
            name: (0..length / 7).map(|at| "joint".repeat(at as usize % 4)).collect(),
            position: (0..length).map(f64::from).collect(),
            effort: (0..length / 3).map(f64::from).collect(),
            ..Default::default()
        });
    }
}
