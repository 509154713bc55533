//! One frame of captured data.

use crate::{
    Version,
    bytes::{Reader, Result, Writer},
};

/// All that was captured in one instant. Lengths are metres, in the axes that the server is set to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Counts up by one; starts anew with the server, and where a recording is played, with the recording.
    pub number: i32,
    /// By asset: the same positions again that [`markers`](Self::markers) has with labels.
    pub marker_sets: Vec<MarkerSet>,
    /// Markers that belong to nothing, as versions before labels had them.
    pub other_markers: Vec<[f32; 3]>,
    /// Every rigid body that the server streams, tracked or not.
    pub rigid_bodies: Vec<Body>,
    /// Skeletons with all their bones.
    pub skeletons: Vec<Skeleton>,
    /// Trained marker sets, from 4.1 on.
    pub assets: Vec<Asset>,
    /// Every marker, labelled or not.
    pub markers: Vec<LabeledMarker>,
    /// What force plates measured since the last frame.
    pub force_plates: Vec<Analog>,
    /// What other analog devices measured since the last frame.
    pub devices: Vec<Analog>,
    /// SMPTE time code and its sub-frame, 0 without a generator.
    pub timecode: [u32; 2],
    /// Seconds in the server's own time.
    pub timestamp: f64,
    /// Middle of the exposure, in ticks of the server's clock; 0 where nothing was exposed.
    pub exposed: u64,
    /// When the cameras' data were there, in ticks.
    pub received: u64,
    /// When the frame was sent, in ticks.
    pub sent: u64,
    /// Seconds and their fraction of an external clock, from 4.1 on.
    pub precision: [u32; 2],
    /// Bits; the methods say what is known of them.
    pub flags: u16,
}

/// Positions of the markers of one asset, by its name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MarkerSet {
    /// Of the asset.
    pub name: String,
    /// In the order of its description.
    pub markers: Vec<[f32; 3]>,
}

/// A rigid body, or a bone.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Body {
    /// For a bone, that of its skeleton in the upper half.
    pub id: i32,
    /// Of its pivot.
    pub position: [f32; 3],
    /// x, y, z, w.
    pub orientation: [f32; 4],
    /// Mean error of its markers.
    pub error: f32,
    /// Bits; [`is_tracked`](Self::is_tracked) says what is known of them.
    pub flags: u16,
}

/// The bones of one skeleton.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Skeleton {
    /// As in its description.
    pub id: i32,
    /// In the order of its description.
    pub bones: Vec<Body>,
}

/// Bones and markers of a trained marker set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asset {
    /// As in its description.
    pub id: i32,
    /// In the order of its description.
    pub bones: Vec<Body>,
    /// In the order of its description.
    pub markers: Vec<LabeledMarker>,
}

/// One marker.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LabeledMarker {
    /// That of the asset in the upper half, that within the asset, from 1, in the lower.
    pub id: i32,
    /// Of its centre.
    pub position: [f32; 3],
    /// Diameter.
    pub size: f32,
    /// Bits that say where it comes from: occluded, reconstructed, filled from the model.
    pub flags: u16,
    /// Mean distance of the cameras' rays from it.
    pub residual: f32,
}

/// A force plate or another device: samples of each channel since the last frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Analog {
    /// As in its description.
    pub id: i32,
    /// Samples of each, in the order of its description.
    pub channels: Vec<Vec<f32>>,
}

impl Frame {
    /// Whether the server is recording.
    pub fn is_recording(&self) -> bool {
        self.flags & 1 != 0
    }

    /// Whether the models are others than before.
    pub fn models_changed(&self) -> bool {
        self.flags & 2 != 0
    }

    /// Whether a recording is edited or played instead of a capture.
    pub fn is_editing(&self) -> bool {
        self.flags & 4 != 0
    }

    pub(crate) fn read(reader: &mut Reader<'_>, version: Version) -> Result<Self> {
        let number = reader.i32("frame number")?;
        let marker_sets = section(reader, version, 5, "marker sets", |r| {
            Ok(MarkerSet { name: r.text("name of a marker set")?, markers: points(r)? })
        })?;
        let other_markers = section(reader, version, 12, "unlabelled markers", |r| r.floats("marker"))?;
        let rigid_bodies = section(reader, version, Body::BYTES, "rigid bodies", Body::read)?;
        let skeletons = section(reader, version, 8, "skeletons", |r| {
            Ok(Skeleton { id: r.i32("skeleton")?, bones: r.list(Body::BYTES, "bones", Body::read)? })
        })?;
        let assets = if version.has_sizes() {
            section(reader, version, 12, "assets", |r| {
                let (id, bones) = (r.i32("asset")?, r.list(Body::BYTES, "bones of an asset", Body::read)?);
                let markers = r.list(LabeledMarker::BYTES, "markers of an asset", LabeledMarker::read)?;
                Ok(Asset { id, bones, markers })
            })?
        } else {
            Vec::new()
        };
        let markers =
            section(reader, version, LabeledMarker::BYTES, "labelled markers", LabeledMarker::read)?;
        let force_plates = section(reader, version, 8, "force plates", Analog::read)?;
        let devices = section(reader, version, 8, "devices", Analog::read)?;
        let timecode = [reader.u32("timecode")?, reader.u32("timecode")?];
        let timestamp = reader.f64("timestamp")?;
        let [exposed, received, sent] = [reader.u64("ticks")?, reader.u64("ticks")?, reader.u64("ticks")?];
        let precision = if version.has_sizes() {
            [reader.u32("precise time")?, reader.u32("precise time")?]
        } else {
            [0; 2]
        };
        let flags = reader.u16("flags of the frame")?;
        // What follows is a tag without meaning, and whatever newer versions add.
        reader.i32("end of the frame")?;
        Ok(Self {
            number,
            marker_sets,
            other_markers,
            rigid_bodies,
            skeletons,
            assets,
            markers,
            force_plates,
            devices,
            timecode,
            timestamp,
            exposed,
            received,
            sent,
            precision,
            flags,
        })
    }

    pub(crate) fn write(&self, writer: &mut Writer, version: Version) {
        writer.i32(self.number);
        put(writer, version, &self.marker_sets, |w, set| {
            w.text(&set.name);
            w.list(&set.markers, |w, place| w.floats(place));
        });
        put(writer, version, &self.other_markers, |w, place| w.floats(place));
        put(writer, version, &self.rigid_bodies, Body::write);
        put(writer, version, &self.skeletons, |w, skeleton| {
            w.i32(skeleton.id);
            w.list(&skeleton.bones, Body::write);
        });
        if version.has_sizes() {
            put(writer, version, &self.assets, |w, asset| {
                w.i32(asset.id);
                w.list(&asset.bones, Body::write);
                w.list(&asset.markers, LabeledMarker::write);
            });
        }
        put(writer, version, &self.markers, LabeledMarker::write);
        put(writer, version, &self.force_plates, Analog::write);
        put(writer, version, &self.devices, Analog::write);
        self.timecode.into_iter().for_each(|part| writer.u32(part));
        writer.f64(self.timestamp);
        [self.exposed, self.received, self.sent].into_iter().for_each(|ticks| writer.u64(ticks));
        if version.has_sizes() {
            self.precision.into_iter().for_each(|part| writer.u32(part));
        }
        writer.u16(self.flags);
        writer.i32(0);
    }
}

/// A count, from 4.1 on the bytes that follow, and the things themselves.
fn section<'a, T>(
    reader: &mut Reader<'a>,
    version: Version,
    least: usize,
    what: &'static str,
    each: impl FnMut(&mut Reader<'a>) -> Result<T>,
) -> Result<Vec<T>> {
    if !version.has_sizes() {
        return reader.list(least, what, each);
    }
    let count = reader.i32(what)?;
    let size = reader.length(what)?;
    let mut part = reader.part(size, what)?;
    let items = part.counted(count, least, what, each)?;
    // Bytes that are left mean that the things are larger than those we know: all but the first were misread.
    if part.is_empty() { Ok(items) } else { Err(part.malformed(what)) }
}

fn put<T>(writer: &mut Writer, version: Version, items: &[T], mut each: impl FnMut(&mut Writer, &T)) {
    writer.length(items.len());
    writer.part(version.has_sizes(), |writer| items.iter().for_each(|item| each(writer, item)));
}

fn points(reader: &mut Reader<'_>) -> Result<Vec<[f32; 3]>> {
    reader.list(12, "markers of a set", |r| r.floats("marker"))
}

impl Body {
    const BYTES: usize = 38;

    /// Whether the server saw it; its pose is an old one otherwise.
    pub fn is_tracked(&self) -> bool {
        self.flags & 1 != 0
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        Ok(Self {
            id: reader.i32("rigid body")?,
            position: reader.floats("position")?,
            orientation: reader.floats("orientation")?,
            error: reader.f32("error")?,
            flags: reader.u16("flags of a rigid body")?,
        })
    }

    fn write(writer: &mut Writer, body: &Self) {
        writer.i32(body.id);
        writer.floats(&body.position);
        writer.floats(&body.orientation);
        writer.floats(&[body.error]);
        writer.u16(body.flags);
    }
}

impl LabeledMarker {
    const BYTES: usize = 26;

    /// Whether no camera saw it: its place is computed, or an old one.
    pub fn is_occluded(&self) -> bool {
        self.flags & 1 != 0
    }

    /// The asset it belongs to, and its number there, from 1.
    pub fn owner(&self) -> Option<(i32, usize)> {
        let (asset, member) = (self.id >> 16, self.id & 0xffff);
        // Unlabelled ones have numbers of their own.
        (self.flags & 0x10 == 0 && asset > 0 && member > 0).then_some((asset, member as usize))
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        Ok(Self {
            id: reader.i32("marker")?,
            position: reader.floats("position")?,
            size: reader.f32("size")?,
            flags: reader.u16("flags of a marker")?,
            residual: reader.f32("residual")?,
        })
    }

    fn write(writer: &mut Writer, marker: &Self) {
        writer.i32(marker.id);
        writer.floats(&marker.position);
        writer.floats(&[marker.size]);
        writer.u16(marker.flags);
        writer.floats(&[marker.residual]);
    }
}

impl Analog {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let id = reader.i32("device")?;
        let channels = reader.list(4, "channels", |r| r.list(4, "samples", |r| r.f32("sample")))?;
        Ok(Self { id, channels })
    }

    fn write(writer: &mut Writer, device: &Self) {
        writer.i32(device.id);
        writer.list(&device.channels, |w, samples| w.list(samples, |w, sample| w.floats(&[*sample])));
    }
}
