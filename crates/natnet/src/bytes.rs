//! Little-endian fields, read with bounds and written.

use thiserror::Error;

/// Bytes that are no NatNet message of the version in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the {what} at byte {at} does not fit")]
pub struct Malformed {
    /// The field.
    pub what: &'static str,
    /// Where it begins, counted from the beginning of the datagram.
    pub at: usize,
}

pub(crate) type Result<T> = std::result::Result<T, Malformed>;

/// The longest name that the protocol knows, with its zero.
pub(crate) const NAME: usize = 256;

#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    at: usize,
}

macro_rules! number {
    ($($ty:ident)*) => {$(
        pub(crate) fn $ty(&mut self, what: &'static str) -> Result<$ty> {
            self.array(what).map($ty::from_le_bytes)
        }
    )*};
}

impl<'a> Reader<'a> {
    pub(crate) fn new(datagram: &'a [u8]) -> Self {
        Self { rest: datagram, at: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn malformed(&self, what: &'static str) -> Malformed {
        Malformed { what, at: self.at }
    }

    pub(crate) fn bytes(&mut self, length: usize, what: &'static str) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(self.malformed(what))?;
        (self.rest, self.at) = (rest, self.at + length);
        Ok(taken)
    }

    /// A part with a reader of its own.
    pub(crate) fn part(&mut self, length: usize, what: &'static str) -> Result<Self> {
        let at = self.at;
        Ok(Self { rest: self.bytes(length, what)?, at })
    }

    pub(crate) fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(self.malformed(what))?;
        (self.rest, self.at) = (rest, self.at + N);
        Ok(*taken)
    }

    number! { u8 u16 i32 u32 u64 f32 f64 }

    pub(crate) fn floats<const N: usize>(&mut self, what: &'static str) -> Result<[f32; N]> {
        let mut floats = [0.0; N];
        for float in &mut floats {
            *float = self.f32(what)?;
        }
        Ok(floats)
    }

    /// A length in four bytes.
    pub(crate) fn length(&mut self, what: &'static str) -> Result<usize> {
        let malformed = self.malformed(what);
        usize::try_from(self.i32(what)?).map_err(|_| malformed)
    }

    /// A count, and so many things that take `least` bytes each: memory is never taken for more than can be there.
    pub(crate) fn list<T>(
        &mut self,
        least: usize,
        what: &'static str,
        each: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let count = self.i32(what)?;
        self.counted(count, least, what, each)
    }

    /// The same with a count that was read before.
    pub(crate) fn counted<T>(
        &mut self,
        count: i32,
        least: usize,
        what: &'static str,
        mut each: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let fits = |count: &usize| count.checked_mul(least).is_some_and(|bytes| bytes <= self.rest.len());
        let count = usize::try_from(count).ok().filter(fits).ok_or(self.malformed(what))?;
        (0..count).map(|_| each(self)).collect()
    }

    /// Text up to its zero.
    pub(crate) fn text(&mut self, what: &'static str) -> Result<String> {
        let end = self.rest.iter().take(NAME).position(|byte| *byte == 0).ok_or(self.malformed(what))?;
        let text = String::from_utf8_lossy(self.bytes(end, what)?).into_owned();
        self.bytes(1, what)?;
        Ok(text)
    }
}

/// Text up to the first zero, or all of it.
pub(crate) fn until_zero(bytes: &[u8]) -> String {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Writer(pub(crate) Vec<u8>);

impl Writer {
    pub(crate) fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        self.0.extend_from_slice(&bytes);
    }

    pub(crate) fn u16(&mut self, value: u16) {
        self.put(value.to_le_bytes());
    }

    pub(crate) fn i32(&mut self, value: i32) {
        self.put(value.to_le_bytes());
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.put(value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.put(value.to_le_bytes());
    }

    pub(crate) fn f64(&mut self, value: f64) {
        self.put(value.to_le_bytes());
    }

    pub(crate) fn floats(&mut self, values: &[f32]) {
        values.iter().for_each(|value| self.put(value.to_le_bytes()));
    }

    pub(crate) fn length(&mut self, length: usize) {
        self.i32(i32::try_from(length).unwrap_or(i32::MAX));
    }

    pub(crate) fn list<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.length(items.len());
        items.iter().for_each(|item| each(self, item));
    }

    /// What `inside` writes, with its length before it if `sized`.
    pub(crate) fn part(&mut self, sized: bool, inside: impl FnOnce(&mut Self)) {
        let mut part = Self::default();
        inside(&mut part);
        if sized {
            self.length(part.0.len());
        }
        self.0.append(&mut part.0);
    }

    /// As much of the text as a name may be, and its zero.
    pub(crate) fn text(&mut self, text: &str) {
        self.0.extend(text.bytes().filter(|byte| *byte != 0).take(NAME - 1));
        self.0.push(0);
    }

    /// A name in a field of fixed size.
    pub(crate) fn name(&mut self, text: &str) {
        let end = self.0.len() + NAME;
        self.text(text);
        self.0.resize(end, 0);
    }
}
