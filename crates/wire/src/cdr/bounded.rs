use super::{Cdr, Decoder, Encoder, Error};
use serde::{Deserialize, Deserializer, Serialize};
use std::ops::Deref;

/// Too many elements or characters for the definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("length {len} exceeds the bound {bound} of the definition")]
pub struct BoundError {
    /// Length that was given.
    pub len: usize,
    /// Length that is allowed.
    pub bound: usize,
}

fn check(len: usize, bound: usize) -> Result<(), BoundError> {
    if len > bound { Err(BoundError { len, bound }) } else { Ok(()) }
}

/// A sequence `T[<=N]`. It cannot hold more than `N` elements, so that encoding never fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct BoundedVec<T, const N: usize>(Vec<T>);

impl<T, const N: usize> BoundedVec<T, N> {
    /// Adds an element if there is room.
    pub fn push(&mut self, item: T) -> Result<(), BoundError> {
        check(self.0.len() + 1, N)?;
        self.0.push(item);
        Ok(())
    }

    /// The elements, unbounded.
    pub fn into_inner(self) -> Vec<T> {
        self.0
    }
}

impl<T> BoundedVec<T, 1> {
    /// One element: always fits.
    pub fn one(item: T) -> Self {
        BoundedVec(vec![item])
    }
}

impl<T, const N: usize> Default for BoundedVec<T, N> {
    fn default() -> Self {
        BoundedVec(Vec::new())
    }
}

impl<T, const N: usize> TryFrom<Vec<T>> for BoundedVec<T, N> {
    type Error = BoundError;

    fn try_from(items: Vec<T>) -> Result<Self, BoundError> {
        check(items.len(), N).map(|()| BoundedVec(items))
    }
}

impl<T, const N: usize> Deref for BoundedVec<T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<'de, T: Deserialize<'de>, const N: usize> Deserialize<'de> for BoundedVec<T, N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer)?.try_into().map_err(serde::de::Error::custom)
    }
}

impl<T: Cdr, const N: usize> Cdr for BoundedVec<T, N> {
    const MIN_SIZE: usize = 4;

    fn end(&self, at: usize) -> usize {
        self.0.end(at)
    }

    fn encode(&self, encoder: &mut Encoder) {
        self.0.encode(encoder);
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        let len = decoder.take_len(T::MIN_SIZE)?;
        let at = decoder.position() - 4;
        check(len, N).map_err(|e| Error::Bound { at, len: e.len, bound: e.bound })?;
        T::decode_vec(decoder, len).map(BoundedVec)
    }
}

/// A text `string<=N`. It cannot hold more than `N` bytes, so that encoding never fails.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct BoundedString<const N: usize>(String);

impl<const N: usize> BoundedString<N> {
    /// The text, unbounded.
    pub fn into_inner(self) -> String {
        self.0
    }
}

impl<const N: usize> TryFrom<String> for BoundedString<N> {
    type Error = BoundError;

    fn try_from(text: String) -> Result<Self, BoundError> {
        check(text.len(), N).map(|()| BoundedString(text))
    }
}

impl<const N: usize> TryFrom<&str> for BoundedString<N> {
    type Error = BoundError;

    fn try_from(text: &str) -> Result<Self, BoundError> {
        check(text.len(), N).map(|()| BoundedString(text.to_owned()))
    }
}

impl<const N: usize> Deref for BoundedString<N> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<const N: usize> std::fmt::Display for BoundedString<N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl<const N: usize> PartialEq<str> for BoundedString<N> {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl<'de, const N: usize> Deserialize<'de> for BoundedString<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.try_into().map_err(serde::de::Error::custom)
    }
}

impl<const N: usize> Cdr for BoundedString<N> {
    const MIN_SIZE: usize = 4;

    fn end(&self, at: usize) -> usize {
        self.0.end(at)
    }

    fn encode(&self, encoder: &mut Encoder) {
        encoder.put_str(&self.0);
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        let mut text = decoder.clone();
        let len = text.take_len(1)?.saturating_sub(1);
        let at = text.position() - 4;
        check(len, N).map_err(|e| Error::Bound { at, len: e.len, bound: e.bound })?;
        Ok(BoundedString(decoder.take_str()?.to_owned()))
    }
}
