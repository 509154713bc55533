//! What makes chunks smaller, and what undoes it.

use std::{borrow::Cow, fmt, io::Read as _, str::FromStr};

use crate::{Error, Result};

/// How the chunks of a file are packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// As they are: what rosbag2 does unless told otherwise.
    #[default]
    None,
    /// LZ4 frames: quick.
    Lz4,
    /// Zstandard: small. Needs the cargo feature `zstd`.
    Zstd,
}

/// More is not believed: a chunk is what fits into memory at once.
const LARGEST_CHUNK: u64 = 1 << 30;

impl Compression {
    /// As MCAP names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    /// Refuses what this build cannot do.
    ///
    /// # Errors
    /// With the name of the feature.
    pub fn check(self) -> Result<Self> {
        match self {
            Self::Zstd if !cfg!(feature = "zstd") => Err(Error::feature("zstd compression", "zstd")),
            known => Ok(known),
        }
    }

    pub(crate) fn compress(self, plain: &[u8]) -> Result<Cow<'_, [u8]>> {
        match self {
            Self::None => Ok(Cow::Borrowed(plain)),
            Self::Lz4 => {
                let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::with_capacity(plain.len() / 2));
                std::io::Write::write_all(&mut encoder, plain).map_err(Error::packing)?;
                Ok(Cow::Owned(encoder.finish().map_err(Error::packing)?))
            }
            Self::Zstd => Ok(Cow::Owned(zstd_pack(plain)?)),
        }
    }
}

#[cfg(feature = "zstd")]
fn zstd_pack(plain: &[u8]) -> Result<Vec<u8>> {
    zstd::bulk::compress(plain, 1).map_err(Error::packing)
}

#[cfg(not(feature = "zstd"))]
fn zstd_pack(_: &[u8]) -> Result<Vec<u8>> {
    Err(Error::feature("zstd compression", "zstd"))
}

/// Unpacks a chunk's records; `whole` asks for all of them, else what is there of a chunk that was cut is enough.
pub(crate) fn decompress<'a>(name: &str, packed: &'a [u8], size: u64, whole: bool) -> Result<Cow<'a, [u8]>> {
    if size > LARGEST_CHUNK {
        return Err(Error::packing(format!("a chunk of {size} bytes is more than {LARGEST_CHUNK}")));
    }
    let plain = match name {
        "" | "none" => Cow::Borrowed(packed),
        "lz4" => {
            let mut plain = Vec::new();
            let read = lz4_flex::frame::FrameDecoder::new(packed).take(size + 1).read_to_end(&mut plain);
            if whole {
                read.map_err(Error::packing)?;
            }
            Cow::Owned(plain)
        }
        "zstd" => Cow::Owned(zstd_unpack(packed, size, whole)?),
        other => return Err(Error::packing(format!("chunks are packed with {other:?}, which is not known"))),
    };
    if whole && plain.len() as u64 != size {
        return Err(Error::packing(format!("a chunk has {} bytes instead of {size}", plain.len())));
    }
    Ok(plain)
}

#[cfg(feature = "zstd")]
pub(crate) fn zstd_unpack(packed: &[u8], size: u64, whole: bool) -> Result<Vec<u8>> {
    let mut plain = Vec::new();
    let decoder = zstd::stream::read::Decoder::new(packed).map_err(Error::packing)?;
    let read = decoder.take(size.saturating_add(1)).read_to_end(&mut plain);
    if whole {
        read.map_err(Error::packing)?;
    }
    Ok(plain)
}

#[cfg(not(feature = "zstd"))]
pub(crate) fn zstd_unpack(_: &[u8], _: u64, _: bool) -> Result<Vec<u8>> {
    Err(Error::feature("zstd compression", "zstd"))
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            other => other.name(),
        })
    }
}

impl FromStr for Compression {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "" | "none" => Ok(Self::None),
            "lz4" => Ok(Self::Lz4),
            "zstd" => Self::Zstd.check(),
            other => Err(Error::Usage(format!("no compression {other:?}: choose none, lz4 or zstd"))),
        }
    }
}
