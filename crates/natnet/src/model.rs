//! What is captured: names and numbers of markers, bodies, skeletons and devices.

use std::collections::HashMap;

use crate::{
    Version,
    bytes::{Reader, Result, Writer},
};

/// One thing that a server may capture.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named as NatNet names them; the others have a sentence")]
pub enum Description {
    /// The markers of one asset, by name.
    MarkerSet { name: String, markers: Vec<String> },
    /// A rigid body of its own.
    RigidBody(BodyDescription),
    /// Bones that belong together.
    Skeleton { name: String, id: i32, bones: Vec<BodyDescription> },
    /// A force plate.
    ForcePlate {
        id: i32,
        serial: String,
        /// Width and length.
        size: [f32; 2],
        origin: [f32; 3],
        /// 12 × 12.
        calibration: Vec<f32>,
        corners: [f32; 12],
        /// Of the plate, and of its data.
        kinds: [i32; 2],
        channels: Vec<String>,
    },
    /// Another analog device.
    Device {
        id: i32,
        name: String,
        serial: String,
        /// Of the device, and of its data.
        kinds: [i32; 2],
        channels: Vec<String>,
    },
    /// A camera.
    Camera { name: String, position: [f32; 3], orientation: [f32; 4] },
    /// A trained marker set, from 4.1 on.
    Asset { name: String, kind: i32, id: i32, bones: Vec<BodyDescription>, markers: Vec<AssetMarker> },
    /// Something of a newer version.
    Other { kind: i32, bytes: Vec<u8> },
}

/// A rigid body, or a bone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BodyDescription {
    /// As in Motive.
    pub name: String,
    /// As in frames.
    pub id: i32,
    /// −1 or 0 without one.
    pub parent: i32,
    /// From its parent.
    pub offset: [f32; 3],
    /// x, y, z, w; from 4.2 on.
    pub rotation: [f32; 4],
    /// In the order of frames.
    pub markers: Vec<BodyMarker>,
}

/// A marker of a rigid body.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BodyMarker {
    /// In the body.
    pub position: [f32; 3],
    /// Of an active marker.
    pub label: i32,
    /// From 4.0 on.
    pub name: String,
}

/// A marker of a trained marker set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AssetMarker {
    /// As in Motive.
    pub name: String,
    /// As in frames.
    pub id: i32,
    /// At the time of the training.
    pub position: [f32; 3],
    /// Diameter.
    pub size: f32,
    /// Bits without a meaning that is known here.
    pub flags: u16,
}

impl Description {
    pub(crate) fn read_all(reader: &mut Reader<'_>, version: Version) -> Result<Vec<Self>> {
        reader.list(5, "descriptions", |r| {
            let kind = r.i32("kind of a description")?;
            if !version.has_sizes() {
                return Self::read(r, kind, version);
            }
            let size = r.length("size of a description")?;
            let mut part = r.part(size, "description")?;
            let description = Self::read(&mut part, kind, version)?;
            if part.is_empty() { Ok(description) } else { Err(part.malformed("end of a description")) }
        })
    }

    fn read(r: &mut Reader<'_>, kind: i32, version: Version) -> Result<Self> {
        let texts = |r: &mut Reader<'_>| r.list(1, "names", |r| r.text("name"));
        let body = |r: &mut Reader<'_>| BodyDescription::read(r, version);
        Ok(match kind {
            0 => Self::MarkerSet { name: r.text("name of a marker set")?, markers: texts(r)? },
            1 => Self::RigidBody(body(r)?),
            2 => Self::Skeleton {
                name: r.text("name of a skeleton")?,
                id: r.i32("skeleton")?,
                bones: r.list(BodyDescription::LEAST, "bones", body)?,
            },
            3 => Self::ForcePlate {
                id: r.i32("force plate")?,
                serial: r.text("serial number")?,
                size: r.floats("size of a force plate")?,
                origin: r.floats("origin of a force plate")?,
                calibration: r.floats::<144>("calibration of a force plate")?.into(),
                corners: r.floats("corners of a force plate")?,
                kinds: [r.i32("kind of a force plate")?, r.i32("kind of its data")?],
                channels: texts(r)?,
            },
            4 => Self::Device {
                id: r.i32("device")?,
                name: r.text("name of a device")?,
                serial: r.text("serial number")?,
                kinds: [r.i32("kind of a device")?, r.i32("kind of its data")?],
                channels: texts(r)?,
            },
            5 => Self::Camera {
                name: r.text("name of a camera")?,
                position: r.floats("camera")?,
                orientation: r.floats("camera")?,
            },
            6 => Self::Asset {
                name: r.text("name of an asset")?,
                kind: r.i32("kind of an asset")?,
                id: r.i32("asset")?,
                bones: r.list(BodyDescription::LEAST, "bones of an asset", body)?,
                markers: r.list(23, "markers of an asset", |r| {
                    Ok(AssetMarker {
                        name: r.text("name of a marker")?,
                        id: r.i32("marker")?,
                        position: r.floats("marker")?,
                        size: r.f32("size of a marker")?,
                        flags: r.u16("flags of a marker")?,
                    })
                })?,
            },
            // Without its size nobody knows where the next begins.
            _ if !version.has_sizes() => return Err(r.malformed("description of an unknown kind")),
            _ => Self::Other { kind, bytes: r.bytes(r.rest().len(), "description")?.to_vec() },
        })
    }

    pub(crate) fn write_all(all: &[Self], writer: &mut Writer, version: Version) {
        writer.list(all, |w, description| {
            w.i32(description.kind());
            w.part(version.has_sizes(), |w| description.write(w, version));
        });
    }

    fn kind(&self) -> i32 {
        match self {
            Self::MarkerSet { .. } => 0,
            Self::RigidBody(_) => 1,
            Self::Skeleton { .. } => 2,
            Self::ForcePlate { .. } => 3,
            Self::Device { .. } => 4,
            Self::Camera { .. } => 5,
            Self::Asset { .. } => 6,
            Self::Other { kind, .. } => *kind,
        }
    }

    fn write(&self, w: &mut Writer, version: Version) {
        let texts = |w: &mut Writer, names: &[String]| w.list(names, |w, name| w.text(name));
        let bodies =
            |w: &mut Writer, bodies: &[BodyDescription]| w.list(bodies, |w, body| body.write(w, version));
        match self {
            Self::MarkerSet { name, markers } => {
                w.text(name);
                texts(w, markers);
            }
            Self::RigidBody(body) => body.write(w, version),
            Self::Skeleton { name, id, bones } => {
                w.text(name);
                w.i32(*id);
                bodies(w, bones);
            }
            Self::ForcePlate { id, serial, size, origin, calibration, corners, kinds, channels } => {
                w.i32(*id);
                w.text(serial);
                w.floats(size);
                w.floats(origin);
                w.floats(calibration);
                w.floats(corners);
                kinds.iter().for_each(|kind| w.i32(*kind));
                texts(w, channels);
            }
            Self::Device { id, name, serial, kinds, channels } => {
                w.i32(*id);
                w.text(name);
                w.text(serial);
                kinds.iter().for_each(|kind| w.i32(*kind));
                texts(w, channels);
            }
            Self::Camera { name, position, orientation } => {
                w.text(name);
                w.floats(position);
                w.floats(orientation);
            }
            Self::Asset { name, kind, id, bones, markers } => {
                w.text(name);
                w.i32(*kind);
                w.i32(*id);
                bodies(w, bones);
                w.list(markers, |w, marker| {
                    w.text(&marker.name);
                    w.i32(marker.id);
                    w.floats(&marker.position);
                    w.floats(&[marker.size]);
                    w.u16(marker.flags);
                });
            }
            Self::Other { bytes, .. } => w.0.extend_from_slice(bytes),
        }
    }
}

impl BodyDescription {
    const LEAST: usize = 25;

    fn read(r: &mut Reader<'_>, version: Version) -> Result<Self> {
        let name = r.text("name of a rigid body")?;
        let (id, parent) = (r.i32("rigid body")?, r.i32("parent of a rigid body")?);
        let offset = r.floats("offset of a rigid body")?;
        let rotation = if version.has_rotations() {
            r.floats("rotation of a rigid body")?
        } else {
            [0.0, 0.0, 0.0, 1.0]
        };
        // Columns, not rows: all places, then all labels, then all names.
        let places = r.list(12, "markers of a rigid body", |r| r.floats("marker"))?;
        let mut markers = Vec::with_capacity(places.len());
        for position in places {
            markers.push(BodyMarker { position, ..BodyMarker::default() });
        }
        for marker in &mut markers {
            marker.label = r.i32("label of a marker")?;
        }
        if version.major >= 4 {
            for marker in &mut markers {
                marker.name = r.text("name of a marker")?;
            }
        }
        Ok(Self { name, id, parent, offset, rotation, markers })
    }

    fn write(&self, w: &mut Writer, version: Version) {
        w.text(&self.name);
        w.i32(self.id);
        w.i32(self.parent);
        w.floats(&self.offset);
        if version.has_rotations() {
            w.floats(&self.rotation);
        }
        w.list(&self.markers, |w, marker| w.floats(&marker.position));
        self.markers.iter().for_each(|marker| w.i32(marker.label));
        if version.major >= 4 {
            self.markers.iter().for_each(|marker| w.text(&marker.name));
        }
    }
}

/// The names of what is in frames, as the descriptions give them.
#[derive(Clone, Debug, Default)]
pub struct Model {
    bodies: HashMap<i32, String>,
    bones: HashMap<(i32, i32), String>,
    markers: HashMap<i32, Vec<String>>,
    /// Serial numbers or names of force plates and devices, and names of their channels.
    plates: HashMap<i32, (String, Vec<String>)>,
    devices: HashMap<i32, (String, Vec<String>)>,
}

impl Model {
    /// What the descriptions say.
    pub fn new(descriptions: &[Description]) -> Self {
        let mut model = Self::default();
        let mut sets = HashMap::new();
        for description in descriptions {
            if let Description::MarkerSet { name, markers } = description {
                sets.insert(name.as_str(), markers);
            }
        }
        // Before 4.0 only the marker set of the same name knows what its markers are called.
        let names = |asset: &str, own: Vec<String>| match sets.get(asset) {
            Some(set) if own.iter().all(String::is_empty) => (*set).clone(),
            _ => own,
        };
        for description in descriptions {
            match description {
                Description::RigidBody(body) => {
                    let own = body.markers.iter().map(|marker| marker.name.clone()).collect();
                    model.markers.insert(body.id, names(&body.name, own));
                    model.bodies.insert(body.id, body.name.clone());
                }
                Description::Skeleton { name, id, bones } | Description::Asset { name, id, bones, .. } => {
                    let own = match description {
                        Description::Asset { markers, .. } => {
                            markers.iter().map(|m| m.name.clone()).collect()
                        }
                        _ => Vec::new(),
                    };
                    model.markers.insert(*id, names(name, own));
                    model.bodies.insert(*id, name.clone());
                    let bones = bones.iter().map(|bone| ((*id, bone.id & 0xffff), bone.name.clone()));
                    model.bones.extend(bones);
                }
                Description::ForcePlate { id, serial, channels, .. } => {
                    model.plates.insert(*id, (serial.clone(), channels.clone()));
                }
                Description::Device { id, name, channels, .. } => {
                    model.devices.insert(*id, (name.clone(), channels.clone()));
                }
                Description::MarkerSet { .. } | Description::Camera { .. } | Description::Other { .. } => {}
            }
        }
        model
    }

    /// Whether there is a description of a rigid body, skeleton or asset.
    pub fn knows(&self, id: i32) -> bool {
        self.bodies.contains_key(&id)
    }

    /// The name of a rigid body, skeleton or asset.
    pub fn asset(&self, id: i32) -> Option<&str> {
        self.bodies.get(&id).map(String::as_str).filter(|name| !name.is_empty())
    }

    /// The name of a bone of a skeleton or asset.
    pub fn bone(&self, owner: i32, bone: i32) -> Option<&str> {
        self.bones.get(&(owner, bone & 0xffff)).map(String::as_str).filter(|name| !name.is_empty())
    }

    /// The name of a marker by its number in an asset, from 1.
    pub fn marker(&self, asset: i32, member: usize) -> Option<&str> {
        let name = self.markers.get(&asset)?.get(member.checked_sub(1)?)?;
        Some(name.as_str()).filter(|name| !name.is_empty())
    }

    /// Name and channels of a force plate.
    pub fn force_plate(&self, id: i32) -> Option<(&str, &[String])> {
        self.plates.get(&id).map(|(name, channels)| (name.as_str(), channels.as_slice()))
    }

    /// Name and channels of another device.
    pub fn device(&self, id: i32) -> Option<(&str, &[String])> {
        self.devices.get(&id).map(|(name, channels)| (name.as_str(), channels.as_slice()))
    }
}
