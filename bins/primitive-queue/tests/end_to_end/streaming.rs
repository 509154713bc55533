//! A long stream of short moves through a small queue, blended all the way.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test prints for people")]

use std::fmt::Write;

use crate::rig::Rig;

/// A thousand take a quarter of a minute; `PRIMITIVE_QUEUE_STREAM` sets another number.
fn length() -> usize {
    std::env::var("PRIMITIVE_QUEUE_STREAM").map_or(1000, |text| text.parse().expect("a number of primitives"))
}

#[test]
fn a_thousand_primitives_are_streamed_and_blended_without_a_stop() {
    let mut rig = Rig::new(&[
        "queue_size:=20",
        "robot:=sim_arm",
        "joint_velocity_limits:=[20.0, 20.0, 20.0, 20.0, 20.0, 20.0]",
        "joint_acceleration_limits:=[400.0, 400.0, 400.0, 400.0, 400.0, 400.0]",
        "joint_jerk_limits:=[40000.0, 40000.0, 40000.0, 40000.0, 40000.0, 40000.0]",
        "hand_velocity_limit:=20.0",
        "hand_acceleration_limit:=400.0",
        "hand_jerk_limit:=40000.0",
    ]);
    let count = length();
    let mut yaml = String::new();
    for i in 0..count {
        // Around a small circle in joint space, so that every corner has room for its radius.
        let (sin, cos) = (i as f64 * 0.35).sin_cos();
        let radius = if i + 1 == count { 0.0 } else { 0.002 };
        writeln!(
            yaml,
            "- {{ptp: [{:.5}, {:.5}, 1.4, 0, 0.6, 0], velocity: 3, acceleration: 100, blend_radius: {radius}}}",
            -0.6 + 0.1 * sin,
            0.1 * cos
        )
        .unwrap();
    }
    let folder = rosless_tests::Scratch::make();
    let file = folder.file("stream.yaml", &yaml);
    let mut sender = rosless_tests::Daemon::spawn(crate::rig::command(
        &rig.domain,
        &["send", "--json", file.to_str().unwrap()],
    ));
    let mut finished = 0;
    // As long as it gets on, however slow the machine is.
    while finished < count {
        rig.until("another one is finished", |seen| seen.count("finished") > finished);
        finished = rig.seen.count("finished");
    }
    assert_eq!(sender.wait(crate::rig::PATIENCE).code(), Some(0));
    assert_eq!(rig.seen.begun(), (0..count as u64).collect::<Vec<_>>());
    assert_eq!(rig.seen.count("refused") + rig.seen.count("discarded") + rig.seen.count("failed"), 0);
    // A sender that is kept waiting for the processor may come too late now and then; then the robot stops, as it should.
    let blended = rig.seen.count("blended");
    assert!(blended * 2 >= count, "{blended} of {count} blended");
    println!("{blended} of {count} blended");
}
