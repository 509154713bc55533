//! Every message in every version: read back by ourselves, and by the crate `natnet`, which others wrote.

use natnet::{DataSet, Decoder, Message as Theirs};
use proptest::prelude::*;
use rosless_natnet::{
    Analog, Asset, Body, BodyDescription, Description, Frame, Hello, LabeledMarker, MarkerSet, Message,
    Reply, Scene, ServerInfo, Skeleton, Stream, Version,
};

const VERSIONS: [Version; 5] =
    [Version::V3_0, Version::new(3, 1), Version::new(4, 0), Version::V4_1, Version::NEWEST];

fn theirs(version: Version) -> natnet::Version {
    natnet::Version::new(version.major, version.minor, 0, 0)
}

fn scene() -> Scene {
    Scene { skeleton: true, analog: true, ..Scene::default() }
}

fn body() -> impl Strategy<Value = Body> {
    (
        any::<i32>(),
        [-10.0..10.0_f32, -10.0..10.0, -10.0..10.0],
        [-1.0..1.0_f32, -1.0..1.0, -1.0..1.0, -1.0..1.0],
        any::<u16>(),
    )
        .prop_map(|(id, position, orientation, flags)| Body {
            id,
            position,
            orientation,
            error: 0.001,
            flags,
        })
}

fn marker() -> impl Strategy<Value = LabeledMarker> {
    (any::<i32>(), [-10.0..10.0_f32, -10.0..10.0, -10.0..10.0], any::<u16>())
        .prop_map(|(id, position, flags)| LabeledMarker { id, position, size: 0.01, flags, residual: 0.5 })
}

fn few<T: std::fmt::Debug>(each: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<T>> {
    prop::collection::vec(each, 0..4)
}

fn analog() -> impl Strategy<Value = Analog> {
    (any::<i32>(), few(few(-100.0..100.0_f32))).prop_map(|(id, channels)| Analog { id, channels })
}

fn frame() -> impl Strategy<Value = Frame> {
    let places = || few([-10.0..10.0_f32, -10.0..10.0, -10.0..10.0]);
    let sets = few(("[a-zA-Zäß ]{0,12}", places()).prop_map(|(name, markers)| MarkerSet { name, markers }));
    let skeletons = few((any::<i32>(), few(body())).prop_map(|(id, bones)| Skeleton { id, bones }));
    let assets = few((any::<i32>(), few(body()), few(marker())).prop_map(|(id, bones, markers)| Asset {
        id,
        bones,
        markers,
    }));
    let solids = (few(body()), skeletons, assets, few(marker()), few(analog()), few(analog()));
    let times = (any::<[u32; 2]>(), 0.0..1e6_f64, any::<[u64; 3]>(), any::<[u32; 2]>(), any::<u16>());
    (any::<i32>(), sets, places(), solids, times).prop_map(
        |(number, marker_sets, other_markers, solids, times)| {
            let (rigid_bodies, skeletons, assets, markers, force_plates, devices) = solids;
            let (timecode, timestamp, [exposed, received, sent], precision, flags) = times;
            Frame {
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
            }
        },
    )
}

/// What a version cannot carry is not there.
fn as_in(version: Version, mut frame: Frame) -> Frame {
    if version < Version::V4_1 {
        (frame.assets, frame.precision) = (Vec::new(), [0; 2]);
    }
    frame
}

proptest! {
    #[test]
    fn any_bytes_are_a_message_or_malformed(bytes in prop::collection::vec(any::<u8>(), 0..300), kind in 0_u16..15) {
        for version in VERSIONS {
            let _ = Message::decode(&bytes, version);
            let whole = [&kind.to_le_bytes()[..], &[0, 0], &bytes].concat();
            if let Ok(message) = Message::decode(&whole, version) {
                let again = message.encode(version);
                // Not a number is not equal to itself, so what is written is compared.
                prop_assert_eq!(Message::decode(&again, version).map(|m| m.encode(version)), Ok(again));
            }
        }
    }

    #[test]
    fn damaged_frames_and_descriptions_are_no_danger(at in any::<prop::sample::Index>(), value in any::<[u8; 4]>(), cut in any::<prop::sample::Index>()) {
        for version in VERSIONS {
            for whole in [Message::Frame(Box::new(scene().frame(5))), scene().model()] {
                let mut datagram = whole.encode(version);
                let place = at.index(datagram.len() - 4);
                datagram[place..place + 4].copy_from_slice(&value);
                let _ = Message::decode(&datagram, version);
                let _ = Message::decode(&datagram[..cut.index(datagram.len())], version);
            }
        }
    }

    #[test]
    fn frames_are_read_as_they_were_written_by_us_and_by_others(frame in frame()) {
        for version in VERSIONS {
            let frame = as_in(version, frame.clone());
            let datagram = Message::Frame(Box::new(frame.clone())).encode(version);
            let read = Message::decode(&datagram, version);
            prop_assert_eq!(read, Ok(Message::Frame(Box::new(frame.clone()))));
            // Theirs ends at 4.1; frames of 4.2 are the same.
            let known = version.min(Version::V4_1);
            let decoded = Decoder::new(theirs(known)).unwrap().parse(&datagram);
            let decoded = decoded.map_err(|error| TestCaseError::fail(format!("{version}: {error}")))?;
            let Theirs::FrameOfData(other) = decoded.message() else { panic!("no frame") };
            agree(&frame, other)?;
            // And what they write is what we write.
            prop_assert_eq!(decoded.to_datagram().unwrap(), datagram);
        }
    }
}

fn agree(ours: &Frame, other: &natnet::FrameOfData) -> Result<(), TestCaseError> {
    prop_assert_eq!(
        (ours.number, ours.flags, ours.timestamp),
        (other.frame_number, other.params, other.timing.timestamp)
    );
    let times = [other.timing.camera_mid_exposure, other.timing.camera_data_received, other.timing.transmit];
    prop_assert_eq!([ours.exposed, ours.received, ours.sent], times);
    prop_assert_eq!(&ours.other_markers, &other.other_markers);
    let bodies = |bodies: &[Body]| {
        bodies.iter().map(|b| (b.id, b.position, b.orientation, b.flags)).collect::<Vec<_>>()
    };
    let others = |bodies: &[natnet::RigidBody]| {
        bodies.iter().map(|b| (b.id, b.position, b.orientation, b.params)).collect::<Vec<_>>()
    };
    prop_assert_eq!(bodies(&ours.rigid_bodies), others(&other.rigid_bodies));
    let skeletons = other.decode_skeletons().unwrap();
    prop_assert_eq!(ours.skeletons.len(), skeletons.len());
    for (own, other) in ours.skeletons.iter().zip(&skeletons) {
        prop_assert_eq!((own.id, bodies(&own.bones)), (other.id, others(&other.rigid_bodies)));
    }
    let markers: Vec<_> = ours.markers.iter().map(|m| (m.id, m.position, m.params())).collect();
    let theirs: Vec<_> = other.labeled_markers.iter().map(|m| (m.id, m.position, m.params)).collect();
    prop_assert_eq!(markers, theirs);
    prop_assert_eq!(ours.force_plates.len(), other.decode_force_plates().unwrap().len());
    prop_assert_eq!(ours.assets.len(), other.decode_assets().unwrap().len());
    Ok(())
}

trait Params {
    fn params(&self) -> u16;
}

impl Params for LabeledMarker {
    fn params(&self) -> u16 {
        self.flags
    }
}

#[test]
fn descriptions_are_read_as_they_were_written_by_us_and_by_others() {
    let asset = Description::Asset {
        name: "hand".to_owned(),
        kind: 1,
        id: 9,
        bones: vec![BodyDescription {
            name: "thumb".to_owned(),
            rotation: [0.0, 0.0, 0.0, 1.0],
            ..Default::default()
        }],
        markers: Vec::new(),
    };
    let camera =
        Description::Camera { name: "Prime 13".to_owned(), position: [1.0; 3], orientation: [0.0; 4] };
    for version in VERSIONS {
        let Message::Model(mut all) = scene().model() else { panic!("no model") };
        all.push(camera.clone());
        if version >= Version::V4_1 {
            all.push(asset.clone());
            all.push(Description::Other { kind: 8, bytes: vec![1, 2, 3] });
        }
        let datagram = Message::Model(all.clone()).encode(version);
        let read = Message::decode(&datagram, version).unwrap();
        let Message::Model(read) = read else { panic!("no model") };
        assert_eq!(read.len(), all.len());
        if version.major >= 4 {
            assert_eq!(read, all, "{version}");
        }
        if version > Version::V4_1 {
            continue;
        }
        let decoded = Decoder::new(theirs(version))
            .unwrap()
            .parse(&datagram)
            .unwrap_or_else(|e| panic!("{version}: {e}"));
        let Theirs::ModelDef(model) = decoded.message() else { panic!("no model") };
        let names: Vec<_> = model
            .datasets
            .iter()
            .filter_map(|dataset| match dataset {
                DataSet::RigidBody(body) => Some(body.name.clone()),
                DataSet::Skeleton(skeleton) => Some(skeleton.name.clone()),
                _ => None,
            })
            .collect();
        assert_eq!(names, ["body_1", "body_2", "Anna"], "{version}");
        assert_eq!(decoded.to_datagram().unwrap(), datagram, "{version}");
    }
}

#[test]
fn what_their_synthetic_server_sends_is_read() {
    for version in &VERSIONS[..4] {
        let server = natnet::SyntheticServer::new(theirs(*version), 10_000_000);
        let bodies = [
            natnet::PlannedBody::tracked(7, [1.0, 2.0, 3.0], [0.0, 0.0, 0.0, 1.0]),
            natnet::PlannedBody::dropout(8),
        ];
        let datagram = server.datagram(42, 0.5, &bodies).unwrap();
        let Ok(Message::Frame(frame)) = Message::decode(&datagram, *version) else { panic!("{version}") };
        assert_eq!((frame.number, frame.exposed), (42, 5_000_000));
        let seen: Vec<_> = frame.rigid_bodies.iter().map(|b| (b.id, b.position, b.is_tracked())).collect();
        assert_eq!(seen, [(7, [1.0, 2.0, 3.0], true), (8, [0.0; 3], false)]);
    }
}

#[test]
fn an_introduction_is_read_by_others_and_garbage_behind_the_name_does_not_matter() {
    let stream = Stream::Multicast([239, 255, 42, 99].into(), 1511);
    let info = ServerInfo {
        name: "Motive".to_owned(),
        program: Version::new(3, 1),
        natnet: Version::V4_1,
        frequency: 3_312_787,
        stream,
    };
    let mut datagram = Message::ServerInfo(info.clone()).encode(Version::V3_0);
    assert_eq!(datagram.len(), 283);
    let other = natnet::ServerInfo::parse(&datagram).unwrap();
    assert_eq!((other.application_name.as_str(), other.high_res_clock_frequency), ("Motive", 3_312_787));
    assert_eq!((other.connection.data_port, other.connection.multicast), (1511, true));
    datagram[11..200].fill(0xee);
    assert_eq!(Message::decode(&datagram, Version::V3_0), Ok(Message::ServerInfo(info)));
}

#[test]
fn short_messages_are_the_bytes_that_captures_show() {
    let v = Version::V3_0;
    for (message, bytes) in [
        (Message::EchoRequest { sent: 0x109a_664e }, &[12, 0, 8, 0, 0x4e, 0x66, 0x9a, 0x10, 0, 0, 0, 0][..]),
        (Message::RequestModel(None), &[4, 0, 0, 0]),
        (Message::RequestModel(Some(3)), &[4, 0, 4, 0, 3, 0, 0, 0]),
        (Message::KeepAlive, &[10, 0, 0, 0]),
        (Message::Request("StopRecording".to_owned()), b"\x02\0\x0e\0StopRecording\0"),
        (Message::Response(Reply::Code(0)), &[3, 0, 4, 0, 0, 0, 0, 0]),
        (Message::Response(Reply::Text("120".to_owned())), b"\x03\0\x04\x00120\0"),
        (Message::Unrecognized, &[100, 0, 0, 0]),
    ] {
        assert_eq!(message.encode(v), bytes, "{message:?}");
        // Four bytes are a number; servers answer with texts of other lengths.
        if !matches!(message, Message::Response(Reply::Text(_))) {
            assert_eq!(Message::decode(bytes, v), Ok(message));
        }
    }
    let hello = Hello { name: "NatNetLib".to_owned(), program: v, natnet: v };
    let datagram = Message::Connect(Some(hello.clone())).encode(v);
    assert_eq!((datagram.len(), &datagram[..4]), (268, &[0, 0, 8, 1][..]));
    assert_eq!(Message::decode(&datagram, v), Ok(Message::Connect(Some(hello))));
    assert_eq!(Message::decode(b"\0\0\x05\0Ping\0", v), Ok(Message::Connect(None)));
}
