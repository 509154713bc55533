//! What the synthetic server sends, read by PyPI's `natnet`.

use rosless_natnet::Version;
use rosless_tests::{DomainLease, NatnetJudge};
use serde_json::{Value, json};

use crate::{Server, scene};

/// Numbers that went through 32 bits are the same in JSON only when they were rounded the same way.
fn floats(values: &[f32]) -> Value {
    values.iter().copied().map(f64::from).collect()
}

#[test]
fn a_client_that_is_not_ours_reads_what_the_server_sends() {
    let Some(judge) = NatnetJudge::find() else { return };
    let domain = DomainLease::acquire();
    for (text, version) in [
        ("3.0", Version::V3_0),
        ("4.0", Version::new(4, 0)),
        ("4.1", Version::V4_1),
        ("4.2", Version::NEWEST),
    ] {
        // Descriptions of force plates it reads with three corners, and they have four; so those are left out.
        let server = Server::start(&domain, &["--natnet", text, "--skeleton"]);
        let seen = judge.ask(server.port, 20, true).unwrap_or_else(|error| panic!("{text}: {error:#}"));
        assert_eq!((&seen["name"], &seen["natnet"]), (&json!("sim-natnet"), &json!(format!("{text}.0.0"))));
        let frames = seen["frames"].as_array().expect("frames");
        assert_eq!(frames.len(), 20);
        let scene = scene(version, true, false);
        for frame in frames {
            compare(frame, &scene.frame(number(frame)), text);
        }
        let described = &seen["descriptions"][0];
        let names: Vec<_> =
            described["bodies"].as_array().expect("bodies").iter().map(|b| b["name"].clone()).collect();
        assert_eq!(names, ["body_1", "body_2"], "{text}");
        assert_eq!(described["skeletons"][0]["bones"], json!(["Hip", "Ab", "Chest"]), "{text}");
        assert_eq!(
            described["marker_sets"][0][1],
            json!(["Marker1", "Marker2", "Marker3", "Marker4"]),
            "{text}"
        );

        let server = Server::start(&domain, &["--natnet", text, "--analog"]);
        let seen = judge.ask(server.port, 5, false).unwrap_or_else(|error| panic!("{text}: {error:#}"));
        for frame in seen["frames"].as_array().expect("frames") {
            let expected = crate::scene(version, false, true).frame(number(frame));
            compare(frame, &expected, text);
            for (key, devices) in [("force_plates", &expected.force_plates), ("devices", &expected.devices)] {
                let channels: Vec<_> = devices[0].channels.iter().map(|channel| floats(channel)).collect();
                assert_eq!(frame[key][0], json!({"id": devices[0].id, "channels": channels}), "{text}");
            }
        }
    }
}

fn number(frame: &Value) -> i32 {
    frame["number"].as_i64().and_then(|number| i32::try_from(number).ok()).expect("a number")
}

fn compare(seen: &Value, expected: &rosless_natnet::Frame, version: &str) {
    let body = |body: &rosless_natnet::Body| {
        json!({
            "id": body.id, "position": floats(&body.position), "orientation": floats(&body.orientation), "tracked": true,
        })
    };
    let bodies: Vec<_> = expected.rigid_bodies.iter().map(body).collect();
    assert_eq!(seen["bodies"], json!(bodies), "{version}");
    let skeletons = expected.skeletons.iter().map(
        |skeleton| json!({"id": skeleton.id, "bones": skeleton.bones.iter().map(body).collect::<Vec<_>>()}),
    );
    assert_eq!(seen["skeletons"], json!(skeletons.collect::<Vec<_>>()), "{version}");
    let markers = expected.markers.iter().map(|marker| {
        json!({
            "id": marker.id, "position": floats(&marker.position), "occluded": false,
            "unlabeled": marker.owner().is_none(),
        })
    });
    assert_eq!(seen["markers"], json!(markers.collect::<Vec<_>>()), "{version}");
    assert_eq!(seen["timestamp"], json!(expected.timestamp), "{version}");
}
