//! Daemons that are frozen for longer than their DDS lease (10 s), as by a debugger or the lid of a laptop.

use std::time::{Duration, Instant};

use rosless_tests::scenario::{
    Observer, PATIENCE, Report, Role, System,
    acts::{Capture, Launch, Mechanism, Range, Robot},
};

const FREEZE: Duration = Duration::from_secs(20);
const ATTEMPT: Duration = Duration::from_secs(1);

/// Freezes daemons until everybody has forgotten them, and longer. When they were thawed.
fn freeze(system: &System, observer: &Observer, roles: &[Role], report: &mut Report) -> Instant {
    let began = Instant::now();
    roles.iter().for_each(|role| system.daemon(*role).signal("STOP"));
    observer.wait("the frozen are missed", PATIENCE, || !roles.iter().any(|role| observer.sees(*role)));
    report.took("frozen until missed", began.elapsed());
    observer.linger(FREEZE.saturating_sub(began.elapsed()));
    let thawed = Instant::now();
    roles.iter().for_each(|role| system.daemon(*role).signal("CONT"));
    observer.wait_for_nodes(roles);
    report.took("thawed until on the graph", thawed.elapsed());
    thawed
}

#[test]
fn whoever_was_frozen_for_twenty_seconds_is_heard_again() {
    let mut report = Report::new("SIGSTOP for 20 s, four daemons at once");
    let system = System::start();
    let observer = system.observer();
    observer.wait_for_nodes(&Role::ALL);
    let (capture, range) = (Capture::listen(&observer), Range::new(&observer));
    let (robot, mechanism) = (Robot::new(&observer), Mechanism::new(&observer));
    observer.wait("both systems announce themselves", PATIENCE, || capture.announced().len() == 2);
    capture.start();
    mechanism.phase(Mechanism::PREPARE);
    range.throw(Launch::EASY);
    capture.wait_for_data(10);

    let first = capture.markers.len();
    let frozen = [Role::Imu, Role::Arm, Role::Motion, Role::StandIn];
    let thawed = freeze(&system, &observer, &frozen, &mut report);
    let range_works = || range.try_throw(Launch::EASY, ATTEMPT).map(drop);
    observer.recover("throws", PATIENCE, range_works);
    report.took("thawed until a ball is judged", thawed.elapsed());
    // The controller had forgotten the IMU and knows it again; its session goes on.
    let session_ends = || {
        capture.ask("stop", ATTEMPT)?;
        let state = capture.try_state(Role::Imu, ATTEMPT)?;
        (state == "inactive").then_some(()).ok_or(format!("the IMU is {state}"))
    };
    observer.recover("the session ends", PATIENCE, session_ends);
    report.took("thawed until the session is stopped", thawed.elapsed());
    robot.square();
    report.took("thawed until a square is driven", thawed.elapsed());
    mechanism.phase(Mechanism::DEPLOY);
    report.took("thawed until a phase is reached", thawed.elapsed());

    // Those who were not frozen noticed nothing.
    let frames: Vec<_> = capture.markers.samples()[first..].iter().map(|s| s.message.frame_number).collect();
    assert!(frames.windows(2).all(|pair| pair[1] == pair[0] + 1), "frames are missing: {frames:?}");
    report.row("frames of the mocap system, none lost", frames.len().to_string());
    capture.start();
    capture.stop();
    system.end();
}

#[test]
fn the_other_four_who_were_frozen_for_twenty_seconds_work_again() {
    let mut report = Report::new("SIGSTOP for 20 s, the other four at once");
    let system = System::start();
    let observer = system.observer();
    observer.wait_for_nodes(&Role::ALL);
    let (capture, range) = (Capture::listen(&observer), Range::new(&observer));
    let mechanism = Mechanism::new(&observer);
    observer.wait("both systems announce themselves", PATIENCE, || capture.announced().len() == 2);
    capture.start();
    mechanism.phase(Mechanism::PREPARE);
    let frozen = [Role::Controller, Role::Mocap, Role::Shooter, Role::Mechanism];
    let thawed = freeze(&system, &observer, &frozen, &mut report);
    let range_works = || range.try_throw(Launch::EASY, ATTEMPT).map(drop);
    observer.recover("throws", PATIENCE, range_works);
    report.took("thawed until a ball is judged", thawed.elapsed());
    let session_ends = || {
        capture.ask("stop", ATTEMPT)?;
        for role in [Role::Mocap, Role::Imu] {
            let state = capture.try_state(role, ATTEMPT)?;
            (state == "inactive").then_some(()).ok_or(format!("{role:?} is {state}"))?;
        }
        Ok(())
    };
    observer.recover("the session ends", PATIENCE, session_ends);
    report.took("thawed until the session is stopped", thawed.elapsed());
    mechanism.phase(Mechanism::DEPLOY);
    report.took("thawed until a phase is reached", thawed.elapsed());
    capture.start();
    capture.wait_for_data(10);
    capture.stop();
    system.end();
}
