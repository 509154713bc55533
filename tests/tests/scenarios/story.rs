//! What a visitor would be shown: everybody at work, seen on the wire.

use rosless_tests::scenario::{
    PATIENCE, Report, Role, System,
    acts::{Capture, Launch, Mechanism, Range, Robot},
};

#[test]
fn everybody_does_what_the_documents_say() {
    let mut report = Report::new("the whole system");
    let system = System::start();
    let observer = system.observer();
    report.took("all nodes discovered", observer.wait_for_nodes(&Role::ALL));

    let capture = Capture::listen(&observer);
    observer.wait("both systems announce themselves", PATIENCE, || capture.announced().len() == 2);
    assert_eq!(capture.announced()["mocap4r2_dummy_driver_node"], ["markers", "rigid_bodies"]);
    report.took("systems started", capture.start());
    let (mocap, imu) = (capture.clock_offset(Role::Mocap), capture.clock_offset(Role::Imu));
    let difference = imu.unwrap() - mocap.unwrap();
    // Whoever is ahead by a quarter of a second is noticed, whatever the way to us adds.
    assert!((difference - Role::IMU_CLOCK_OFFSET).abs() < 0.1, "clocks differ by {difference} s");
    report.row("clocks differ by", format!("{:.1} ms", difference * 1e3));
    report.took("30 marker sets and IMU samples", capture.wait_for_data(30));

    let range = Range::new(&observer);
    for (launch, caught) in [(Launch::EASY, true), (Launch::ASIDE, true), (Launch::PAST, false)] {
        let verdict = range.throw(launch);
        assert_eq!(verdict.caught, caught, "{verdict:?}");
        report.took(if caught { "throw, caught" } else { "throw, flew past" }, verdict.took);
    }

    let moved = Robot::new(&observer).square();
    assert_eq!(moved.feedback, [0, 1, 2, 3, 4, 5]);
    assert!(moved.slowest > 1e-3, "the robot stopped at a corner: {moved:?}");
    assert!(moved.slowest.is_finite(), "the robot's joints were not heard: {moved:?}");
    report.took(&format!("{} primitives, blended", moved.primitives), moved.took);

    let mechanism = Mechanism::new(&observer);
    report.took("mechanism through four phases", mechanism.cycle());

    report.took("session stopped", capture.stop());
    assert_eq!(capture.controls.faults(), 0, "a control message was lost");
    system.end();
}
