//! `kill -9`, each daemon in turn, while all of them work.

use std::time::{Duration, Instant};

use rosless_tests::scenario::{
    Observer, PATIENCE, Report, Role, System,
    acts::{Capture, Launch, Mechanism, Range, Robot},
};
use rosless_wire::mecha_control::msg::ActuatorCommands;

/// One attempt to get an answer: many would fit into the lease of the dead one, who is asked as well.
const ATTEMPT: Duration = Duration::from_secs(1);

/// A death, what was seen while the daemon was away, and its return.
fn replace(
    system: &mut System,
    observer: &Observer,
    role: Role,
    meanwhile: impl FnOnce(),
    mut works: impl FnMut() -> Result<(), String>,
    report: &mut Report,
) {
    system.kill(role);
    meanwhile();
    system.launch(role);
    let took = observer.recover(&format!("{role:?} works again"), PATIENCE, &mut works);
    report.took(&format!("{role:?}: started again until it works"), took);
    system.assert_all_run();
    let others: Vec<_> = Role::ALL.into_iter().filter(|other| *other != role).collect();
    assert!(others.iter().all(|other| observer.sees(*other)), "somebody vanished with {role:?}");
}

#[test]
fn whoever_is_killed_comes_back_and_the_others_go_on() {
    let mut report = Report::new("kill -9, each daemon in turn");
    let mut system = System::start();
    let observer = system.observer();
    observer.wait_for_nodes(&Role::ALL);
    let (capture, range) = (Capture::listen(&observer), Range::new(&observer));
    let (robot, mechanism) = (Robot::new(&observer), Mechanism::new(&observer));
    observer.wait("both systems announce themselves", PATIENCE, || capture.announced().len() == 2);
    capture.start();
    capture.wait_for_data(10);

    let all_active = || {
        capture.ask("start", ATTEMPT)?;
        for role in [Role::Mocap, Role::Imu] {
            let state = capture.try_state(role, ATTEMPT)?;
            (state == "active").then_some(()).ok_or(format!("{role:?} is {state}"))?;
        }
        Ok(())
    };
    let throws = || range.try_throw(Launch::EASY, ATTEMPT).map(drop);

    // The session outlives its controller, and the next one can end it.
    let controller_works = || {
        capture.ask("stop", ATTEMPT)?;
        let state = capture.try_state(Role::Imu, ATTEMPT)?;
        (state == "inactive").then_some(()).ok_or(format!("the IMU is {state}"))
    };
    let data_flows = || {
        capture.wait_for_data(30);
    };
    replace(&mut system, &observer, Role::Controller, data_flows, controller_works, &mut report);
    observer.recover("the next session", PATIENCE, all_active);

    // One system's death costs the other nothing.
    let before = capture.imu.len();
    let imu_flows = || {
        observer.wait("IMU data", PATIENCE, || capture.imu.len() > before + 30);
    };
    replace(&mut system, &observer, Role::Mocap, imu_flows, all_active, &mut report);
    capture.markers.clear();
    let markers_flow = || {
        observer.wait("markers", PATIENCE, || capture.markers.len() > 30);
    };
    replace(&mut system, &observer, Role::Imu, markers_flow, all_active, &mut report);

    replace(&mut system, &observer, Role::Arm, || {}, throws, &mut report);
    replace(&mut system, &observer, Role::Shooter, || {}, throws, &mut report);
    assert!(range.throw(Launch::EASY).caught);

    // Whoever waits for a robot that died is told so when its lease is over, and the next robot obeys.
    let goal = robot.begin_square(PATIENCE);
    observer.wait("the robot moves", PATIENCE, || goal.current() >= 2);
    let killed = Instant::now();
    let square = || robot.try_square(ATTEMPT).map(drop);
    replace(&mut system, &observer, Role::Motion, || {}, square, &mut report);
    observer.wait("the end of the lost goal", PATIENCE, || goal.is_over());
    report.took("Motion: killed until its goal is known to be lost", killed.elapsed());
    let reason = goal.outcome().unwrap_err();
    assert!(reason.contains("left before it answered"), "{reason}");

    // A sequence that was interrupted goes on only when somebody asks.
    mechanism.phase(Mechanism::PREPARE);
    let commands = observer.hear::<ActuatorCommands>("/hina_dastpan");
    mechanism.ask(Mechanism::DEPLOY);
    observer.wait("the doll moves", PATIENCE, || !commands.is_empty());
    let deployed = || {
        observer.linger(Duration::from_secs(1));
        assert!(commands.is_empty(), "it moves by itself after a restart");
        mechanism.phase(Mechanism::DEPLOY);
        Ok(())
    };
    replace(&mut system, &observer, Role::Mechanism, || commands.clear(), deployed, &mut report);

    // Without sensors nothing moves; the phase that failed is tried again on demand.
    mechanism.ask(Mechanism::COLLECT);
    let status = |key: &str| mechanism.status("hina", key).unwrap_or_default();
    observer.wait("the collecting begins", PATIENCE, || status("running") == "true");
    let fails = || {
        observer.wait("the collecting fails", PATIENCE, || status("running") == "false");
        assert!(status("reason").contains("sensor"), "{}", status("reason"));
    };
    // The next stand-in stands elsewhere than the last one: the controller refuses once, and holds.
    let prepared = || mechanism.try_phase(Mechanism::PREPARE).map(drop);
    replace(&mut system, &observer, Role::StandIn, fails, prepared, &mut report);

    // From the mocap system's return on, through the deaths of six others, no frame was lost.
    let frames: Vec<_> = capture.markers.samples().iter().map(|s| s.message.frame_number).collect();
    assert!(frames.windows(2).all(|pair| pair[1] == pair[0] + 1), "frames are missing: {frames:?}");
    report.row("frames of the mocap system, none lost", frames.len().to_string());
    capture.stop();
    system.end();
}
