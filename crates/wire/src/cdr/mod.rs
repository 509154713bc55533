//! Plain CDR (XCDR version 1), as every ROS 2 middleware puts it on the wire.
//!
//! Decoding is total: any bytes give a value or an [`Error`], never a panic, and memory stays within a small
//! multiple of the input, because a sequence is only believed as far as the bytes behind it reach.
//! What real peers do is tolerated: garbage in padding, bytes behind the end, a string of length 0.

mod bounded;
mod decoder;
mod encoder;
mod types;

pub use bounded::{BoundError, BoundedString, BoundedVec};
pub use decoder::Decoder;
pub use encoder::Encoder;
pub use types::array;

/// Byte order of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrder {
    /// Encapsulation `00 01`: what everyone sends.
    Little,
    /// Encapsulation `00 00`.
    Big,
}

/// Length of the encapsulation header in front of every payload.
pub const HEADER_LEN: usize = 4;

/// Why a payload is not a value of the wanted type. Positions count from the start of the payload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The payload has no room for its header.
    #[error("payload of {len} bytes is shorter than its encapsulation header")]
    NoHeader {
        /// Length of the payload.
        len: usize,
    },
    /// The header names another encoding.
    #[error("encapsulation {0:#06x} is not plain CDR (0x0000 or 0x0001)")]
    Encapsulation(u16),
    /// A value reaches past the end.
    #[error("payload ends early: {needed} bytes needed at byte {at}, {left} left")]
    Truncated {
        /// Where the value starts.
        at: usize,
        /// Its length.
        needed: usize,
        /// What is there.
        left: usize,
    },
    /// A sequence or string claims more elements than bytes follow.
    #[error("length {claimed} at byte {at} cannot be true: {left} bytes follow")]
    Length {
        /// Where the length stands.
        at: usize,
        /// The length.
        claimed: u32,
        /// What follows.
        left: usize,
    },
    /// A bounded sequence or string is longer than its definition allows.
    #[error("length {len} at byte {at} exceeds the bound {bound} of the definition")]
    Bound {
        /// Where the length stands.
        at: usize,
        /// The length.
        len: usize,
        /// The bound.
        bound: usize,
    },
    /// A bool that is neither 0 nor 1.
    #[error("byte {at} is {value:#04x}, not a bool (0 or 1)")]
    Bool {
        /// Where it stands.
        at: usize,
        /// Its value.
        value: u8,
    },
    /// A string whose last byte is not NUL.
    #[error("string at byte {at} does not end with NUL")]
    Unterminated {
        /// Where the text starts.
        at: usize,
    },
    /// A string that is not UTF-8.
    #[error("string at byte {at} is not UTF-8")]
    Utf8 {
        /// Where the text starts.
        at: usize,
    },
}

/// A value with a CDR form.
pub trait Cdr: Sized {
    /// The fewest bytes a value takes, padding not counted; what a sequence length is checked against.
    const MIN_SIZE: usize;

    /// Offset behind the value if it starts at offset `at`, both counted from the header's end.
    fn end(&self, at: usize) -> usize;

    /// Appends the value.
    fn encode(&self, encoder: &mut Encoder);

    /// Takes a value.
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, Error>;

    /// Offset behind the elements of a sequence.
    fn slice_end(items: &[Self], at: usize) -> usize {
        items.iter().fold(at, |at, item| item.end(at))
    }

    /// Appends the elements of a sequence; primitives go in bulk.
    fn encode_slice(items: &[Self], encoder: &mut Encoder) {
        for item in items {
            item.encode(encoder);
        }
    }

    /// Takes `count` elements, which the caller has checked against [`Cdr::MIN_SIZE`]; primitives go in bulk.
    fn decode_vec(decoder: &mut Decoder<'_>, count: usize) -> Result<Vec<Self>, Error> {
        // In memory an element can be larger than on the wire: reserve by what the input could pay for,
        // and let real elements earn the rest.
        let affordable = 2 * decoder.remaining() / size_of::<Self>().max(1);
        let mut items = Vec::with_capacity(count.min(affordable));
        for _ in 0..count {
            items.push(Self::decode(decoder)?);
        }
        Ok(items)
    }

    /// Takes an array; numbers go in bulk and without a detour over the heap.
    fn decode_array<const N: usize>(decoder: &mut Decoder<'_>) -> Result<[Self; N], Error> {
        let items = Self::decode_vec(decoder, N)?;
        Ok(items.try_into().unwrap_or_else(|_| unreachable!("as many as were asked for")))
    }
}

/// The next multiple of `size`, a power of two.
#[inline]
fn aligned(at: usize, size: usize) -> usize {
    (at + size - 1) & !(size - 1)
}

/// Encodes in `order` with header and without padding at the end.
pub fn to_bytes<T: Cdr>(value: &T, order: ByteOrder) -> Vec<u8> {
    let mut encoder = Encoder::new(vec![0; HEADER_LEN + value.end(0)], order);
    value.encode(&mut encoder);
    debug_assert_eq!(encoder.position(), HEADER_LEN + value.end(0));
    encoder.finish()
}

/// Encodes as sent: little-endian with header, padded to a multiple of 4 because Cyclone DDS 0.10 drops
/// fragmented samples of any other length.
pub fn to_payload<T: Cdr>(value: &T) -> Vec<u8> {
    let len = aligned(HEADER_LEN + value.end(0), 4);
    let zeros = if len <= 2 * encoder::AHEAD {
        vec![0; len]
    } else {
        let mut zeros = Vec::with_capacity(len);
        zeros.resize(encoder::AHEAD, 0);
        zeros
    };
    let mut encoder = Encoder::new(zeros, ByteOrder::Little);
    value.encode(&mut encoder);
    encoder.padded_to(len)
}

/// Decodes a payload of either byte order; bytes behind the value are ignored.
pub fn from_payload<T: Cdr>(payload: &[u8]) -> Result<T, Error> {
    T::decode(&mut Decoder::new(payload)?)
}

/// As [`from_payload`], for a body whose header was taken off before.
pub fn from_body<T: Cdr>(body: &[u8], order: ByteOrder) -> Result<T, Error> {
    T::decode(&mut Decoder::headless(body, order))
}
