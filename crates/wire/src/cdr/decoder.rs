use super::{ByteOrder, Cdr, Error, HEADER_LEN};

/// Reads a payload.
#[derive(Debug, Clone)]
pub struct Decoder<'a> {
    payload: &'a [u8],
    at: usize,
    /// Where the body starts; alignment counts from here.
    body: usize,
    order: ByteOrder,
}

impl<'a> Decoder<'a> {
    /// Checks the header and stands behind it.
    pub fn new(payload: &'a [u8]) -> Result<Self, Error> {
        let Some(&[high, low, _, _]) = payload.first_chunk::<HEADER_LEN>() else {
            return Err(Error::NoHeader { len: payload.len() });
        };
        let order = match u16::from_be_bytes([high, low]) {
            0 => ByteOrder::Big,
            1 => ByteOrder::Little,
            other => return Err(Error::Encapsulation(other)),
        };
        Ok(Decoder { payload, at: HEADER_LEN, body: HEADER_LEN, order })
    }

    /// Reads a body whose header was taken off before.
    pub fn headless(body: &'a [u8], order: ByteOrder) -> Self {
        Decoder { payload: body, at: 0, body: 0, order }
    }

    /// Byte order of the payload.
    #[inline]
    pub fn order(&self) -> ByteOrder {
        self.order
    }

    /// Position in the payload.
    #[inline]
    pub fn position(&self) -> usize {
        self.at
    }

    /// Bytes not read yet.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.payload.len().saturating_sub(self.at)
    }

    /// Skips padding, whatever it contains.
    #[inline]
    pub fn align(&mut self, size: usize) {
        debug_assert!(size.is_power_of_two() && size <= 8);
        self.at += (self.at - self.body).wrapping_neg() & (size - 1);
    }

    #[cold]
    fn truncated(&self, needed: usize) -> Error {
        Error::Truncated { at: self.at, needed, left: self.remaining() }
    }

    /// Takes bytes as they are.
    #[inline]
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], Error> {
        match self.payload.get(self.at..).and_then(|rest| rest.get(..len)) {
            Some(bytes) => {
                self.at += len;
                Ok(bytes)
            }
            None => Err(self.truncated(len)),
        }
    }

    /// Takes a fixed number of bytes as they are.
    #[inline]
    pub fn take_chunk<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        match self.payload.get(self.at..).and_then(|rest| rest.first_chunk::<N>()) {
            Some(bytes) => {
                self.at += N;
                Ok(*bytes)
            }
            None => Err(self.truncated(N)),
        }
    }

    /// Takes the length of a sequence whose elements take at least `min_size` bytes each.
    #[inline]
    pub fn take_len(&mut self, min_size: usize) -> Result<usize, Error> {
        let claimed = u32::decode(self)?;
        let left = self.remaining();
        match usize::try_from(claimed) {
            Ok(len) if len <= left / min_size.max(1) => Ok(len),
            _ => Err(Error::Length { at: self.at - 4, claimed, left }),
        }
    }

    /// Takes a string; length 0, which some peers send for "", is taken as that.
    #[inline]
    pub fn take_str(&mut self) -> Result<&'a str, Error> {
        let len = self.take_len(1)?;
        let at = self.at;
        match self.take(len)? {
            [] => Ok(""),
            [text @ .., 0] => std::str::from_utf8(text).map_err(|_| Error::Utf8 { at }),
            _ => Err(Error::Unterminated { at }),
        }
    }
}
