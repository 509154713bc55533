//! Software we did not write on the other end of the wire.

use rosless_tests::{Daemon, ForeignPeer, Vendor};
use rosless_wire::{
    cdr,
    device_control_msgs::msg::{Control, DeviceInfo},
};

use crate::stage::{PATIENCE, Stage, text};

const CONTROL: &str = "mocap4r2_control_msgs::msg::dds_::Control_";
const INFO: &str = "mocap4r2_control_msgs::msg::dds_::MocapInfo_";

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

/// START of session_1 for everybody, as the original's controller publishes it.
const START: &str = "000100000000000000f153650065cd1d110000006d6f6361705f636f6e74726f6c6c6572000000000a00000073657373696f6e5f3100000000000000";

/// A peer of another vendor publishes the golden START; the system obeys and its answers are the golden layout.
fn foreign_controller(vendor: Vendor) {
    let stage = Stage::new();
    let Some(mut peer): Option<ForeignPeer> = vendor.start(stage.domain()) else { return };
    let options =
        ["--kind", "auxiliary", "--dialect", "mocap4r2", "--name", "mocap_system_1", "--topics", "data"];
    let system = stage.system(&options);
    peer.reader("info", "rt/mocap4r2_environment", INFO, "reliable,transient_local,10", &[]);
    peer.reader("heard", "rt/mocap4r2_control", CONTROL, "reliable,volatile,100", &[]);
    peer.writer("control", "rt/mocap4r2_control", CONTROL, "reliable,volatile,100", &[]);
    let info = &peer.wait_samples("info", 1)[0].payload;
    let golden = unhex("000100000f0000006d6f6361705f73797374656d5f31000001000000050000006461746100");
    // The first two bytes behind the version are padding.
    assert_eq!(info[..golden.len()], golden[..]);
    let endpoint = peer.wait_endpoint("the system's acknowledgements", |e| {
        e.is_writer
            && e.topic == "rt/mocap4r2_control"
            && e.qos.starts_with("reliable,volatile")
            && !e.user_data.is_empty()
    });
    assert!(text(&endpoint.user_data).contains("typehash=RIHS01_21a44c9c"), "{endpoint:?}");
    // Matched with our system's reader and with its own.
    peer.wait_matched("control", 2);
    peer.write("control", &unhex(START));
    system.wait_for_line(r#"session "session_1" requested by "mocap_controller""#, PATIENCE);
    let heard = peer.wait_samples("heard", 2);
    let ack = heard.iter().map(|s| &s.payload).find(|p| p[4] == 1).expect("an ACK_START");
    let golden = unhex("0f0000006d6f6361705f73797374656d5f310000010000000000000000000000");
    assert_eq!(ack[16..48], golden[..], "name, empty session, empty list");
    assert_eq!(text(&stage.command(&["--dialect", "mocap4r2", "status"]).stdout), "mocap_system_1\tACTIVE\n");
}

#[test]
fn a_cyclone_controller_starts_our_system() {
    foreign_controller(Vendor::Cyclone);
}

#[test]
fn a_fast_dds_controller_starts_our_system() {
    foreign_controller(Vendor::FastDds);
}

/// `ros2 mocap4r2 start` publishes first and subscribes then.
#[test]
fn an_acknowledgement_waits_for_a_controller_that_listens_after_it_has_asked() {
    for vendor in Vendor::ALL {
        let stage = Stage::new();
        let Some(mut peer) = vendor.start(stage.domain()) else { return };
        let system =
            stage.system(&["--kind", "auxiliary", "--dialect", "mocap4r2", "--name", "mocap_system_1"]);
        peer.writer("control", "rt/mocap4r2_control", CONTROL, "reliable,volatile,100", &[]);
        peer.wait_matched("control", 1);
        peer.write("control", &unhex(START));
        system.wait_for_line(r#"session "session_1" requested by "mocap_controller""#, PATIENCE);
        peer.reader("heard", "rt/mocap4r2_control", CONTROL, "reliable,volatile,100", &[]);
        assert_eq!(peer.wait_samples("heard", 1)[0].payload[4], 1, "{vendor:?}: an ACK_START");
    }
}

/// The original has its publisher of announcements before it is configured; discovery says that it has announced nothing.
#[test]
fn nobody_waits_for_a_foreign_system_that_is_not_configured() {
    for vendor in Vendor::ALL {
        let stage = Stage::new();
        let Some(mut peer) = vendor.start(stage.domain()) else { return };
        peer.writer("info", "rt/mocap4r2_environment", INFO, "reliable,transient_local,1", &[]);
        let _system =
            stage.system(&["--kind", "auxiliary", "--dialect", "mocap4r2", "--name", "mocap_system_1"]);
        let status = stage.command(&["--dialect", "mocap4r2", "status"]);
        assert_eq!(text(&status.stdout), "mocap_system_1\tREADY\n");
        assert!(!text(&status.stderr).contains("not everybody"), "{vendor:?}: {}", text(&status.stderr));
    }
}

/// A system that is no ROS node and has no lifecycle services, of another vendor: known by its participant, started and
/// stopped by its acknowledgements, and gone with its process.
#[test]
fn a_system_without_a_node_is_started_stopped_and_gone_with_its_process() {
    const CONTROL: &str = "device_control_msgs::msg::dds_::Control_";
    const INFO: &str = "device_control_msgs::msg::dds_::DeviceInfo_";
    for vendor in Vendor::ALL {
        let stage = Stage::new();
        let Some(mut peer) = vendor.start(stage.domain()) else { return };
        let daemon = stage.controller(&["run"]);
        peer.writer("info", "rt/device_environment", INFO, "reliable,transient_local,10", &[]);
        peer.writer("ack", "rt/device_control", CONTROL, "reliable,volatile,100", &[]);
        peer.reader("told", "rt/device_control", CONTROL, "reliable,volatile,100", &[]);
        let info =
            DeviceInfo { device_source: "/treadmill".into(), ros_version_source: 1, ..Default::default() };
        peer.write("info", &cdr::to_payload(&info));
        daemon.wait_for_line("[treadmill] joined", PATIENCE);
        let commands = [
            (0, &["start", "treadmill", "--session", "s1"][..], "started"),
            (2, &["stop", "--all"], "stopped"),
        ];
        for (kind, arguments, done) in commands {
            let command = Daemon::spawn(stage.prepare_command(arguments));
            let told = rosless_tests::eventually_some("the command arrives", PATIENCE, || {
                let told = peer.samples("told");
                told.iter()
                    .filter_map(|s| cdr::from_payload::<Control>(&s.payload).ok())
                    .find(|c| c.control_type == kind)
            });
            assert!(told.device_systems.is_empty() || told.device_systems == ["/treadmill"], "{told:?}");
            let control_type = kind + 1;
            let stamp = told.stamp;
            let ack =
                Control { control_type, stamp, device_source: "/treadmill".into(), ..Control::default() };
            peer.write("ack", &cdr::to_payload(&ack));
            let line = command
                .wait_for_line(&format!("treadmill {done}: acknowledged, no lifecycle service"), PATIENCE);
            assert!(line.contains("to confirm after"), "{line}");
        }
        if vendor == Vendor::FastDds {
            // Its lease is 20 s, and that it ends is no matter of the vendor.
            continue;
        }
        drop(peer);
        daemon.wait_for_line("[treadmill] left", PATIENCE);
        let output = stage.command(&["start", "--all", "--discovery", "1"]);
        assert_eq!(output.status.code(), Some(3), "nobody is left to be missed: {output:?}");
    }
}
