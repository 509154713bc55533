//! Frames as messages.

use std::collections::HashMap;

use rosless_natnet::{Analog, Body, Frame, Model};
use rosless_wire::{
    geometry_msgs::msg::{Point, Pose, Quaternion, Vector3, Wrench, WrenchStamped},
    mocap4r2_msgs::msg::{Marker, Markers, RigidBodies, RigidBody},
    sensor_msgs::msg::{ChannelFloat32, PointCloud},
    std_msgs::msg::Header,
};

/// Which axis of the server points up; what is published is z-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Up {
    #[default]
    Y,
    Z,
}

impl Up {
    fn point(self, [x, y, z]: [f32; 3]) -> Point {
        let [x, y, z] = [x, y, z].map(f64::from);
        match self {
            Self::Y => Point { x, y: -z, z: y },
            Self::Z => Point { x, y, z },
        }
    }

    fn quaternion(self, [x, y, z, w]: [f32; 4]) -> Quaternion {
        let Point { x, y, z } = self.point([x, y, z]);
        Quaternion { x, y, z, w: w.into() }
    }
}

fn marker(index: i32, name: Option<String>, translation: Point) -> Marker {
    let id_type = if name.is_some() { Marker::USE_BOTH } else { Marker::USE_INDEX };
    Marker { id_type, marker_index: index, marker_name: name.unwrap_or_default(), translation }
}

/// Every marker that a camera saw.
pub(crate) fn markers(frame: &Frame, model: &Model, up: Up, header: Header) -> Markers {
    let labeled = frame.markers.iter().filter(|marker| !marker.is_occluded()).map(|seen| {
        let name = seen.owner().and_then(|(asset, member)| {
            Some([model.asset(asset)?, "/", model.marker(asset, member)?].concat())
        });
        marker(seen.id, name, up.point(seen.position))
    });
    let mut markers: Vec<_> = labeled.collect();
    // A server that sends no labels has them here.
    if frame.markers.is_empty() {
        let sets = frame.marker_sets.iter().filter(|set| set.name != "all").flat_map(|set| &set.markers);
        let places = sets.chain(&frame.other_markers);
        markers.extend((0..).zip(places).map(|(index, place)| marker(index, None, up.point(*place))));
    }
    Markers { header, frame_number: frame.number.cast_unsigned(), markers }
}

/// Every rigid body and bone that is tracked.
pub(crate) fn rigid_bodies(frame: &Frame, model: &Model, up: Up, header: Header) -> RigidBodies {
    let body = |body: &Body, rigid_body_name: String, markers: Vec<Marker>| RigidBody {
        rigid_body_name,
        markers,
        pose: Pose { position: up.point(body.position), orientation: up.quaternion(body.orientation) },
    };
    // Each marker is looked at once, however many bodies there are.
    let tracked = || frame.rigid_bodies.iter().filter(|body| body.is_tracked());
    let mut own: HashMap<i32, Vec<Marker>> = tracked().map(|body| (body.id, Vec::new())).collect();
    for seen in frame.markers.iter().filter(|marker| !marker.is_occluded()) {
        if let Some((asset, member)) = seen.owner()
            && let Some(own) = own.get_mut(&asset)
        {
            let name = model.marker(asset, member).map(str::to_owned);
            own.push(marker(seen.id & 0xffff, name, up.point(seen.position)));
        }
    }
    let mut rigidbodies = Vec::new();
    for seen in tracked() {
        rigidbodies.push(body(seen, name(model, seen.id), own.remove(&seen.id).unwrap_or_default()));
    }
    let skeletons = frame.skeletons.iter().map(|skeleton| (skeleton.id, &skeleton.bones));
    let assets = frame.assets.iter().map(|asset| (asset.id, &asset.bones));
    for (owner, bones) in skeletons.chain(assets) {
        for seen in bones.iter().filter(|bone| bone.is_tracked()) {
            let bone = seen.id & 0xffff;
            let bone = model.bone(owner, bone).map_or_else(|| format!("bone_{bone}"), str::to_owned);
            rigidbodies.push(body(seen, format!("{}/{bone}", name(model, owner)), Vec::new()));
        }
    }
    RigidBodies { header, frame_number: frame.number.cast_unsigned(), rigidbodies }
}

fn name(model: &Model, id: i32) -> String {
    model.asset(id).map_or_else(|| format!("rigid_body_{id}"), str::to_owned)
}

/// The forces on each plate, in the plate's own axes: the mean of its samples in this frame.
pub(crate) fn wrenches(frame: &Frame, model: &Model, header: &Header) -> Vec<WrenchStamped> {
    frame.force_plates.iter().filter_map(|plate| wrench(plate, model, header)).collect()
}

fn wrench(plate: &Analog, model: &Model, header: &Header) -> Option<WrenchStamped> {
    let (serial, names) = model.force_plate(plate.id)?;
    let mean = |wanted: &str| {
        let channel = names.iter().position(|name| name.to_ascii_lowercase().contains(wanted))?;
        let samples = plate.channels.get(channel).filter(|samples| !samples.is_empty())?;
        Some(samples.iter().copied().map(f64::from).sum::<f64>() / samples.len() as f64)
    };
    let vector = |[x, y, z]: [&str; 3]| Some(Vector3 { x: mean(x)?, y: mean(y)?, z: mean(z)? });
    let wrench = Wrench { force: vector(["fx", "fy", "fz"])?, torque: vector(["mx", "my", "mz"])? };
    let frame_id = format!("{}/force_plate_{serial}", header.frame_id);
    Some(WrenchStamped { header: Header { frame_id, ..header.clone() }, wrench })
}

/// Every sample of every analog channel, plates among them; a cloud without points has named channels and a stamp.
pub(crate) fn analog(frame: &Frame, model: &Model, header: Header) -> PointCloud {
    let plates = frame.force_plates.iter().map(|plate| (plate, model.force_plate(plate.id)));
    let devices = frame.devices.iter().map(|device| (device, model.device(device.id)));
    let channels = plates.chain(devices).flat_map(|(device, described)| {
        device.channels.iter().enumerate().map(move |(number, values)| {
            let (name, names) = described.unwrap_or_default();
            let name = if name.is_empty() { device.id.to_string() } else { name.to_owned() };
            let channel = names.get(number).map_or_else(|| number.to_string(), Clone::clone);
            ChannelFloat32 { name: format!("{name}/{channel}"), values: values.clone() }
        })
    });
    PointCloud { header, points: Vec::new(), channels: channels.collect() }
}

#[cfg(test)]
mod tests {
    use rosless_engine::{Engine as _, Now};
    use rosless_natnet::{Client, Input, Message, Scene, ServerInfo, Settings, Version};

    use super::*;

    /// A frame of the synthetic server, and the names a client learns from it.
    fn scene() -> (Frame, Client) {
        let scene = Scene { bodies: 1, markers: 1, skeleton: true, analog: true, ..Scene::default() };
        let server = std::net::Ipv4Addr::LOCALHOST;
        let mut client = Client::new(Settings { server, name: "test".to_owned() });
        for message in
            [Message::ServerInfo(ServerInfo { natnet: Version::V4_1, ..scene.info.clone() }), scene.model()]
        {
            let bytes = message.encode(Version::V4_1);
            client.handle(
                Input::Datagram { from: server.into(), bytes: &bytes, over_commands: true },
                Now::default(),
            );
        }
        (scene.frame(0), client)
    }

    #[test]
    fn y_up_becomes_z_up_and_turns_stay_turns() {
        let (frame, client) = scene();
        // At frame 0 the body is at x = 1, one metre above the ground.
        let body = |up| {
            rigid_bodies(&frame, client.model(), up, Header::default()).rigidbodies[0].pose.position.clone()
        };
        assert_eq!(body(Up::Y), Point { x: 1.0, y: 0.0, z: 1.0 });
        assert_eq!(body(Up::Z), Point { x: 1.0, y: 1.0, z: 0.0 });
        // A quarter turn about what points up stays one.
        let half = std::f32::consts::FRAC_PI_4;
        let turned = Up::Y.quaternion([0.0, half.sin(), 0.0, half.cos()]);
        assert!(
            (turned.z - f64::from(half.sin())).abs() < 1e-6 && turned.x.abs() + turned.y.abs() < 1e-6,
            "{turned:?}"
        );
    }

    #[test]
    fn names_come_from_the_descriptions_and_what_was_not_seen_is_left_out() {
        let (mut frame, client) = scene();
        let header = Header::default();
        let named = |all: &Markers| all.markers.iter().map(|m| m.marker_name.clone()).collect::<Vec<_>>();
        let all = markers(&frame, client.model(), Up::Y, header.clone());
        assert_eq!(named(&all), ["body_1/Marker1", "body_1/Marker2", "body_1/Marker3", "body_1/Marker4", ""]);
        assert_eq!((all.markers[1].id_type, all.markers[1].marker_index), (Marker::USE_BOTH, (1 << 16) + 2));
        assert_eq!((all.markers[4].id_type, all.markers[4].marker_index), (Marker::USE_INDEX, 1));
        let bodies = rigid_bodies(&frame, client.model(), Up::Y, header.clone());
        let names: Vec<_> = bodies.rigidbodies.iter().map(|body| body.rigid_body_name.as_str()).collect();
        assert_eq!(names, ["body_1", "Anna/Hip", "Anna/Ab", "Anna/Chest"]);
        assert_eq!(bodies.rigidbodies[0].markers[3].marker_name, "Marker4");

        frame.markers[0].flags |= 1;
        frame.rigid_bodies[0].flags = 0;
        assert_eq!(markers(&frame, client.model(), Up::Y, header.clone()).markers.len(), 4);
        assert_eq!(rigid_bodies(&frame, client.model(), Up::Y, header.clone()).rigidbodies.len(), 3);
        frame.markers.clear();
        let unlabelled = markers(&frame, client.model(), Up::Y, header);
        assert_eq!(unlabelled.markers.len(), 5, "those of the set, and the other");
    }

    #[test]
    fn forces_are_wrenches_and_every_sample_is_in_the_analog_channels() {
        let (frame, client) = scene();
        let header = Header { frame_id: "mocap".to_owned(), ..Header::default() };
        let wrenches = wrenches(&frame, client.model(), &header);
        assert_eq!(wrenches.len(), 1);
        assert_eq!(wrenches[0].header.frame_id, "mocap/force_plate_FP0001");
        assert!((wrenches[0].wrench.force.z + 700.0).abs() < 1e-3);
        let channels = analog(&frame, client.model(), header).channels;
        assert_eq!(channels.len(), 8);
        assert_eq!((channels[2].name.as_str(), channels[2].values.len()), ("FP0001/Fz", 3));
        assert_eq!(channels[6].name, "NI-DAQ/emg");
    }
}
