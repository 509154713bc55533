//! Bytes nobody should send: they give an error or a value, never a panic, and never cost more memory than a small
//! multiple of their length.

use crate::any_type::{AllTypes, AnyType};
use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use rosless_wire::cdr::{self, BoundError, BoundedString, BoundedVec, ByteOrder, Error, HEADER_LEN};
use rosless_wire::std_msgs::msg::{Bool, String as Text};

/// Decodes and checks that memory stays within bounds: a string of 4 bytes takes 24 in memory, and a vector that
/// grows holds up to three times its elements for a moment.
fn decode(ty: &AnyType, payload: &[u8]) -> Result<(), Error> {
    let mut result = Ok(());
    let cost = allocation_counter::measure(|| result = (ty.decode)(payload));
    let allowed = 20 * payload.len() as u64 + 256;
    assert!(
        cost.bytes_max <= allowed,
        "{}: {} bytes of memory for {}",
        ty.name,
        cost.bytes_max,
        payload.len()
    );
    result
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3))]

    #[test]
    fn every_truncation_of_every_type_is_an_error(seed: u64) {
        for ty in AllTypes::new().messages {
            let payload = ty.random(seed, ByteOrder::Little);
            prop_assert_eq!(decode(&ty, &payload), Ok(()), "{}", ty.name);
            for len in 0..payload.len() {
                prop_assert!(decode(&ty, &payload[..len]).is_err(), "{} with {len} bytes", ty.name);
            }
        }
    }

    /// Every place that could be a length gets every kind of lie. A length of 0xFFFFFFFF is always refused: what is
    /// accepted with these bytes has them back when it is encoded, so they were a number.
    #[test]
    fn wrong_lengths_are_refused_and_cost_nothing(seed: u64) {
        for ty in AllTypes::new().messages {
            // Half of the runs in the rare byte order, or the time doubles.
            let order = if seed % 2 == 0 { ByteOrder::Little } else { ByteOrder::Big };
            let mut payload = ty.random(seed, order);
            for at in (HEADER_LEN..payload.len().saturating_sub(3)).step_by(4) {
                let truth: [u8; 4] = payload[at..at + 4].try_into().unwrap();
                let left = (payload.len() - at - 4) as u32;
                for lie in [i32::MAX as u32, left + 1, left, left / 4, left / 12, u32::MAX] {
                    let lie = if order == ByteOrder::Little { lie.to_le_bytes() } else { lie.to_be_bytes() };
                    payload[at..at + 4].copy_from_slice(&lie);
                    let decoded = decode(&ty, &payload);
                    if lie == [0xff; 4] && decoded.is_ok() {
                        let again = (ty.recode)(&payload, order).expect(ty.name);
                        prop_assert_eq!(again.len(), payload.len(), "{} at {}", ty.name, at);
                    }
                }
                payload[at..at + 4].copy_from_slice(&truth);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn noise_is_survived_by_every_type(seed: u64) {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut payload = vec![0, rng.random_range(0..=1), 0, 0];
        // Small numbers are likelier to pass for lengths.
        payload.extend((0..rng.random_range(0..300)).map(|_| rng.random::<u8>() >> rng.random_range(0..8)));
        for ty in AllTypes::new().messages {
            if decode(&ty, &payload).is_ok() {
                let sent = (ty.recode)(&payload, ByteOrder::Little).expect(ty.name);
                prop_assert_eq!(decode(&ty, &sent), Ok(()), "{}", ty.name);
            }
        }
    }
}

/// Elements that are large in memory and small on the wire are the worst case.
#[test]
fn the_largest_claims_that_could_be_true_cost_a_small_multiple() {
    for ty in AllTypes::new().messages {
        for len in [16, 256, 4096, 65536] {
            let mut payload = vec![0; len];
            payload[1] = 1;
            let zeros = decode(&ty, &payload);
            assert!(zeros.is_ok() || len < 4096, "{}: zeros are empty strings and sequences", ty.name);
            for at in [4, 8, 12, 16] {
                for divisor in [1, 4, 5, 8, 16, 24, 50, 100, 240] {
                    payload[4..20.min(len)].fill(0);
                    if let Some(length) = payload.get_mut(at..at + 4) {
                        length.copy_from_slice(&(len as u32 / divisor).to_le_bytes());
                        // Only the cost counts here.
                        let _ = decode(&ty, &payload);
                    }
                }
            }
        }
    }
}

#[test]
fn the_rules_of_plain_cdr_hold() {
    let text = |body: &[u8]| cdr::from_payload::<Text>(&[&[0, 1, 0, 0], body].concat()).map(|text| text.data);
    assert_eq!(
        text(&[3, 0, 0, 0, b'h', b'i', 0, 0xee, 0xee]).as_deref(),
        Ok("hi"),
        "trailing bytes are ignored"
    );
    assert_eq!(text(&[0, 0, 0, 0]).as_deref(), Ok(""), "length 0 is taken as empty");
    assert_eq!(text(&[2, 0, 0, 0, b'h', b'i']), Err(Error::Unterminated { at: 8 }));
    assert_eq!(text(&[2, 0, 0, 0, 0xff, 0]), Err(Error::Utf8 { at: 8 }));
    assert_eq!(text(&[9, 0, 0, 0, b'h', 0]), Err(Error::Length { at: 4, claimed: 9, left: 2 }));
    let header = |header: [u8; 4]| cdr::from_payload::<Bool>(&[&header[..], &[1]].concat());
    assert_eq!(header([0, 1, 0, 3]), Ok(Bool { data: true }), "options are ignored");
    assert_eq!(header([0, 0, 0, 0]), Ok(Bool { data: true }));
    assert_eq!(header([0, 3, 0, 0]), Err(Error::Encapsulation(3)));
    assert_eq!(cdr::from_payload::<Bool>(&[0, 1, 0, 0, 2]), Err(Error::Bool { at: 4, value: 2 }));
    assert_eq!(cdr::from_payload::<Bool>(&[0, 1]), Err(Error::NoHeader { len: 2 }));
    assert_eq!(cdr::to_payload(&Bool { data: true }), [0, 1, 0, 0, 1, 0, 0, 0], "sent padded to 4");
}

#[test]
fn bounds_of_the_definition_are_kept() {
    let payload = |body: &[u8]| [&[0, 1, 0, 0][..], body].concat();
    assert_eq!(
        cdr::from_payload::<BoundedVec<u8, 1>>(&payload(&[2, 0, 0, 0, 7, 7])),
        Err(Error::Bound { at: 4, len: 2, bound: 1 })
    );
    assert_eq!(
        cdr::from_payload::<BoundedString<2>>(&payload(b"\x04\0\0\0abc\0")),
        Err(Error::Bound { at: 4, len: 3, bound: 2 })
    );
    assert_eq!(&*cdr::from_payload::<BoundedString<3>>(&payload(b"\x04\0\0\0abc\0")).unwrap(), "abc");
    assert_eq!(BoundedString::<2>::try_from("abc"), Err(BoundError { len: 3, bound: 2 }));
    let mut one = BoundedVec::<u8, 1>::one(5);
    assert_eq!(one.push(6), Err(BoundError { len: 2, bound: 1 }));
    assert_eq!(&*one, [5]);
    assert!(serde_json::from_str::<BoundedVec<u8, 1>>("[1, 2]").is_err());
}
