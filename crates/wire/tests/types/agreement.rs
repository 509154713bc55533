//! The `cdr` crate knows nothing of this one; what both write for the same value must be the same.

use crate::any_type::AllTypes;
use proptest::prelude::*;
use rosless_wire::cdr::{ByteOrder, HEADER_LEN};

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
