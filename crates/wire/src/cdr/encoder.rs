use super::{ByteOrder, HEADER_LEN};

/// How far a long payload is zeroed ahead. What is written in bulk beyond that is written once.
pub(super) const AHEAD: usize = 16 * 1024;

/// Writes a payload. The buffer is zeroed ahead, as long as the value will need or `AHEAD`, so that writing is a copy
/// and padding is a step.
#[derive(Debug)]
pub struct Encoder {
    out: Vec<u8>,
    at: usize,
    order: ByteOrder,
}

impl Encoder {
    /// Starts a payload in `zeros`, which must be zeros; it grows if it is too short.
    pub fn new(zeros: Vec<u8>, order: ByteOrder) -> Self {
        let mut encoder = Encoder { out: zeros, at: 0, order };
        encoder.put(&[0, matches!(order, ByteOrder::Little) as u8, 0, 0]);
        encoder
    }

    /// Length of the payload so far, header included.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The payload with zeros behind it, `len` bytes in all.
    pub(super) fn padded_to(mut self, len: usize) -> Vec<u8> {
        self.out.resize(len, 0);
        self.out
    }

    /// The payload, header included, not padded.
    pub fn finish(mut self) -> Vec<u8> {
        self.out.truncate(self.at);
        self.out
    }

    /// Byte order of the payload.
    #[inline]
    pub fn order(&self) -> ByteOrder {
        self.order
    }

    /// Pads with zeros so that the next byte stands at a multiple of `size` from the header's end.
    #[inline]
    pub fn align(&mut self, size: usize) {
        self.at = HEADER_LEN + super::aligned(self.at - HEADER_LEN, size);
    }

    /// The next `len` bytes, to be written.
    #[inline]
    pub(super) fn slot(&mut self, len: usize) -> &mut [u8] {
        let start = self.at;
        self.at += len;
        if self.at > self.out.len() {
            self.grow();
        }
        &mut self.out[start..self.at]
    }

    /// Appends a fixed number of bytes; most calls are this one.
    #[inline]
    pub(super) fn put_chunk<const N: usize>(&mut self, bytes: [u8; N]) {
        match self.out.get_mut(self.at..).and_then(|rest| rest.first_chunk_mut()) {
            Some(slot) => {
                *slot = bytes;
                self.at += N;
            }
            None => self.put(&bytes),
        }
    }

    /// Only needed in long payloads, and when the buffer was not sized by the value.
    #[cold]
    fn grow(&mut self) {
        let ahead = (self.at + AHEAD).min(self.out.capacity());
        self.out.resize(ahead.max(self.at), 0);
    }

    /// Whether so many bytes are more than is zeroed ahead, and worth to be written without that.
    #[inline]
    pub(super) fn is_bulk(&self, len: usize) -> bool {
        len >= AHEAD && self.at + len > self.out.len()
    }

    /// Appends part of a [bulk](Self::is_bulk).
    pub(super) fn extend(&mut self, bytes: &[u8]) {
        self.out.resize(self.at, 0);
        self.out.extend_from_slice(bytes);
        self.at = self.out.len();
    }

    /// Appends bytes as they are.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) {
        self.slot(bytes.len()).copy_from_slice(bytes);
    }

    /// Appends the length of a sequence or string.
    #[inline]
    pub fn put_len(&mut self, len: usize) {
        let len = u32::try_from(len).expect("a value of 4 GiB cannot be sent as one sample");
        self.align(4);
        self.put_chunk(match self.order {
            ByteOrder::Little => len.to_le_bytes(),
            ByteOrder::Big => len.to_be_bytes(),
        });
    }

    /// Appends a string: length with NUL, text, NUL.
    #[inline]
    pub fn put_str(&mut self, text: &str) {
        self.put_len(text.len() + 1);
        self.slot(text.len() + 1)[..text.len()].copy_from_slice(text.as_bytes());
    }
}
