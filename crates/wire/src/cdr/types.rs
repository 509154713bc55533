use super::{ByteOrder, Cdr, Decoder, Encoder, Error, aligned};

macro_rules! primitive {
    ($($type:ty, $as_octets:expr;)*) => {$(
        impl Cdr for $type {
            const MIN_SIZE: usize = size_of::<$type>();

            #[inline]
            fn end(&self, at: usize) -> usize {
                aligned(at, Self::MIN_SIZE) + Self::MIN_SIZE
            }

            #[inline]
            fn slice_end(items: &[Self], at: usize) -> usize {
                if items.is_empty() { at } else { aligned(at, Self::MIN_SIZE) + size_of_val(items) }
            }

            #[inline]
            fn encode(&self, encoder: &mut Encoder) {
                encoder.align(Self::MIN_SIZE);
                encoder.put_chunk(match encoder.order() {
                    ByteOrder::Little => self.to_le_bytes(),
                    ByteOrder::Big => self.to_be_bytes(),
                });
            }

            #[inline]
            fn decode(decoder: &mut Decoder<'_>) -> Result<Self, Error> {
                decoder.align(Self::MIN_SIZE);
                let bytes = decoder.take_chunk()?;
                Ok(match decoder.order() {
                    ByteOrder::Little => Self::from_le_bytes(bytes),
                    ByteOrder::Big => Self::from_be_bytes(bytes),
                })
            }

            #[inline]
            fn encode_slice(items: &[Self], encoder: &mut Encoder) {
                if items.is_empty() {
                    return; // an empty sequence adds no alignment
                }
                encoder.align(Self::MIN_SIZE);
                let order = encoder.order();
                if order == ByteOrder::Little && encoder.is_bulk(size_of_val(items)) {
                    let as_octets: fn(&[Self]) -> Option<&[u8]> = $as_octets;
                    if let Some(octets) = as_octets(items) {
                        return encoder.extend(octets);
                    }
                    let mut block = [[0; Self::MIN_SIZE]; 512];
                    for items in items.chunks(block.len()) {
                        for (chunk, item) in block.iter_mut().zip(items) {
                            *chunk = item.to_le_bytes();
                        }
                        encoder.extend(block[..items.len()].as_flattened());
                    }
                    return;
                }
                let (chunks, _) = encoder.slot(size_of_val(items)).as_chunks_mut();
                match order {
                    ByteOrder::Little => {
                        for (chunk, item) in chunks.iter_mut().zip(items) {
                            *chunk = item.to_le_bytes();
                        }
                    }
                    ByteOrder::Big => {
                        for (chunk, item) in chunks.iter_mut().zip(items) {
                            *chunk = item.to_be_bytes();
                        }
                    }
                }
            }

            #[inline]
            fn decode_vec(decoder: &mut Decoder<'_>, count: usize) -> Result<Vec<Self>, Error> {
                if count == 0 {
                    return Ok(Vec::new());
                }
                decoder.align(Self::MIN_SIZE);
                let (chunks, _) = decoder.take(count.saturating_mul(Self::MIN_SIZE))?.as_chunks();
                Ok(match decoder.order() {
                    ByteOrder::Little => chunks.iter().map(|chunk| Self::from_le_bytes(*chunk)).collect(),
                    ByteOrder::Big => chunks.iter().map(|chunk| Self::from_be_bytes(*chunk)).collect(),
                })
            }

            #[inline]
            fn decode_array<const N: usize>(decoder: &mut Decoder<'_>) -> Result<[Self; N], Error> {
                decoder.align(Self::MIN_SIZE);
                let (chunks, _) = decoder.take(N * Self::MIN_SIZE)?.as_chunks();
                Ok(match decoder.order() {
                    ByteOrder::Little => std::array::from_fn(|i| Self::from_le_bytes(chunks[i])),
                    ByteOrder::Big => std::array::from_fn(|i| Self::from_be_bytes(chunks[i])),
                })
            }
        }
    )*};
}

primitive! {
    u8, |items| Some(items);
    i8, |_| None;
    u16, |_| None;
    i16, |_| None;
    u32, |_| None;
    i32, |_| None;
    u64, |_| None;
    i64, |_| None;
    f32, |_| None;
    f64, |_| None;
}

impl Cdr for bool {
    const MIN_SIZE: usize = 1;

    #[inline]
    fn end(&self, at: usize) -> usize {
        at + 1
    }

    #[inline]
    fn encode(&self, encoder: &mut Encoder) {
        encoder.put_chunk([*self as u8]);
    }

    #[inline]
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        match decoder.take_chunk()? {
            [0] => Ok(false),
            [1] => Ok(true),
            [value] => Err(Error::Bool { at: decoder.position() - 1, value }),
        }
    }
}

impl Cdr for String {
    const MIN_SIZE: usize = 4;

    #[inline]
    fn end(&self, at: usize) -> usize {
        aligned(at, 4) + 4 + self.len() + 1
    }

    #[inline]
    fn encode(&self, encoder: &mut Encoder) {
        encoder.put_str(self);
    }

    #[inline]
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        decoder.take_str().map(str::to_owned)
    }
}

impl<T: Cdr> Cdr for Vec<T> {
    const MIN_SIZE: usize = 4;

    #[inline]
    fn end(&self, at: usize) -> usize {
        T::slice_end(self, aligned(at, 4) + 4)
    }

    #[inline]
    fn encode(&self, encoder: &mut Encoder) {
        encoder.put_len(self.len());
        T::encode_slice(self, encoder);
    }

    #[inline]
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        let count = decoder.take_len(T::MIN_SIZE)?;
        T::decode_vec(decoder, count)
    }
}

impl<T: Cdr, const N: usize> Cdr for [T; N] {
    const MIN_SIZE: usize = N * T::MIN_SIZE;

    #[inline]
    fn end(&self, at: usize) -> usize {
        T::slice_end(self, at)
    }

    #[inline]
    fn encode(&self, encoder: &mut Encoder) {
        T::encode_slice(self, encoder);
    }

    #[inline]
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        T::decode_array(decoder)
    }
}

/// Two values one after the other, such as a request's identity and its body.
impl<A: Cdr, B: Cdr> Cdr for (A, B) {
    const MIN_SIZE: usize = A::MIN_SIZE + B::MIN_SIZE;

    fn end(&self, at: usize) -> usize {
        self.1.end(self.0.end(at))
    }

    fn encode(&self, encoder: &mut Encoder) {
        self.0.encode(encoder);
        self.1.encode(encoder);
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, Error> {
        Ok((A::decode(decoder)?, B::decode(decoder)?))
    }
}

/// Serde for arrays of any length (serde itself stops at 32): `#[serde(with = "rosless_wire::cdr::array")]`.
pub mod array {
    use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
    use serde::ser::{Serialize, SerializeTuple, Serializer};
    use std::marker::PhantomData;

    /// Writes a tuple of `N` elements.
    pub fn serialize<S: Serializer, T: Serialize, const N: usize>(
        items: &[T; N],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut tuple = serializer.serialize_tuple(N)?;
        for item in items {
            tuple.serialize_element(item)?;
        }
        tuple.end()
    }

    /// Reads a tuple of exactly `N` elements.
    pub fn deserialize<'de, D, T, const N: usize>(deserializer: D) -> Result<[T; N], D::Error>
    where
        D: Deserializer<'de>,
        T: Deserialize<'de>,
    {
        struct Items<T, const N: usize>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>, const N: usize> Visitor<'de> for Items<T, N> {
            type Value = [T; N];

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "an array of {N} elements")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<[T; N], A::Error> {
                let mut items = Vec::with_capacity(N);
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                    if items.len() == N {
                        break;
                    }
                }
                items.try_into().map_err(|items: Vec<T>| A::Error::invalid_length(items.len(), &self))
            }
        }

        deserializer.deserialize_tuple(N, Items(PhantomData))
    }
}
