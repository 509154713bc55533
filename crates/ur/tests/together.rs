//! The driver and the simulated controller, joined by a wire in memory, in simulated time.

use std::{
    collections::{BTreeMap, VecDeque},
    net::IpAddr,
    time::Duration,
};

use nalgebra::{Isometry3, Translation3};
use rosless_engine::{Engine as _, Now, Wall};
use rosless_kinematics::{Joints, builtin};
use rosless_motion::{
    Command, CommandInterfaces, ExecutionState, FaultKind, Hardware as _, Motion, MotionLimits, Planner,
    Primitive, RobotEvent, Timing,
};
use rosless_ur::{
    Driver,
    driver::{self, Link},
    rtde::SoftwareVersion,
    sim::{self, Controller, Port},
};

const ROBOT: &str = "192.0.2.9";
const OURS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
const E_SERIES: SoftwareVersion = SoftwareVersion { major: 5, minor: 12, bugfix: 0, build: 0 };

fn planner(robot: &str) -> Planner {
    Planner::new(builtin::robot(robot).unwrap(), MotionLimits::default())
}

fn options(robot: &str) -> sim::Options {
    let planner = planner(robot);
    let joints = planner.robot.home;
    sim::Options { planner, joints, version: E_SERIES, remote: true, powered: true }
}

/// Both of them and what lies between.
struct Bench {
    driver: Driver,
    robot: Controller,
    now: Duration,
    /// Which of the controller's clients a connection is.
    clients: BTreeMap<Link, u32>,
    next: u32,
    events: Vec<RobotEvent>,
    log: Vec<String>,
    robot_log: Vec<String>,
}

impl Bench {
    fn new(parameters: &[(&str, &str)], options: sim::Options) -> Self {
        Self::with_tool(parameters, options, Isometry3::identity())
    }

    fn with_tool(parameters: &[(&str, &str)], options: sim::Options, tool: Isometry3<f64>) -> Self {
        let mut planner = planner("ur5e");
        planner.robot.set_tool(&tool);
        let mut driver = Driver::new(planner, tool);
        let mut all = BTreeMap::from([("address".to_owned(), ROBOT.to_owned())]);
        all.extend(parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        driver.connect(&all).unwrap();
        let mut bench = Self {
            driver,
            robot: Controller::new(options),
            now: Duration::from_secs(1),
            clients: BTreeMap::new(),
            next: 0,
            events: Vec::new(),
            log: Vec::new(),
            robot_log: Vec::new(),
        };
        bench.tell(driver::Input::Listening(5000));
        bench.driver.activate(bench.now).unwrap();
        bench
    }

    /// A driver whose robot takes moves.
    fn ready() -> Self {
        let mut bench = Self::new(&[], options("ur5e"));
        bench.until("ready", |bench| bench.driver.read(bench.now).ready);
        bench
    }

    fn at(&self) -> Now {
        Now { mono: self.now, wall: Wall(1_700_000_000_000_000_000) }
    }

    fn tell(&mut self, input: driver::Input<'_>) {
        let at = self.at();
        self.driver.handle(input, at);
    }

    fn say(&mut self, text: &str) {
        let at = self.at();
        self.robot.handle(sim::Input::Said(text), at);
    }

    fn link_of(&self, client: u32) -> Option<Link> {
        self.clients.iter().find(|(_, known)| **known == client).map(|(link, _)| *link)
    }

    /// Carries what there is between the two until there is no more.
    fn carry(&mut self) {
        loop {
            if let Some(output) = self.driver.poll_output() {
                let at = self.at();
                match output {
                    driver::Output::Connect { link, to } => {
                        let port = match to.port() {
                            30004 => Port::Rtde,
                            29999 => Port::Dashboard,
                            _ => Port::Script,
                        };
                        self.next += 1;
                        self.clients.insert(link, self.next);
                        self.robot.handle(sim::Input::Opened { client: self.next, port: Some(port) }, at);
                        self.tell(driver::Input::Connected { link, local: OURS });
                    }
                    driver::Output::Send { link, bytes } => {
                        if let Some(client) = self.clients.get(&link) {
                            self.robot.handle(sim::Input::Received { client: *client, bytes: &bytes }, at);
                        }
                    }
                    driver::Output::Close { link } => {
                        if let Some(client) = self.clients.remove(&link) {
                            self.robot.handle(sim::Input::Closed { client }, at);
                        }
                    }
                    driver::Output::Log(_, text) => self.log.push(text),
                }
            } else if let Some(output) = self.robot.poll_output() {
                let at = self.at();
                match output {
                    sim::Output::Connect { client, port, .. } => {
                        assert_eq!(port, 5000);
                        self.next += 1;
                        let link = Link::Caller(self.next);
                        self.clients.insert(link, client);
                        self.tell(driver::Input::Called { link });
                        self.robot.handle(sim::Input::Opened { client, port: None }, at);
                    }
                    sim::Output::Send { client, bytes } => {
                        if let Some(link) = self.link_of(client) {
                            self.tell(driver::Input::Received { link, bytes: &bytes });
                        }
                    }
                    sim::Output::Close { client } => {
                        if let Some(link) = self.link_of(client) {
                            self.clients.remove(&link);
                            self.tell(driver::Input::Closed { link, reason: "closed by the peer" });
                        }
                    }
                    sim::Output::Log(text) => self.robot_log.push(text),
                }
            } else {
                return;
            }
        }
    }

    fn step(&mut self) {
        self.now += Duration::from_millis(2);
        let at = self.at();
        self.robot.wake(at);
        if self.driver.next_deadline().is_some_and(|due| due <= self.now) {
            self.driver.wake(at);
        }
        self.driver.read(self.now);
        self.carry();
        self.events.extend(std::iter::from_fn(|| self.driver.poll_event()));
    }

    #[track_caller]
    fn until(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> bool) {
        for _ in 0..60_000 {
            if done(self) {
                return;
            }
            self.step();
        }
        panic!(
            "never {what}: {:?}, fault {:?}, events {:?}\nlog {:#?}\nrobot {:#?}",
            self.driver.read(self.now),
            self.driver.fault(),
            self.events,
            self.log,
            self.robot_log
        );
    }

    fn run(&mut self, milliseconds: u64) {
        for _ in 0..milliseconds / 2 {
            self.step();
        }
    }

    fn send(&mut self, command: Command) {
        let mut interfaces = CommandInterfaces::default();
        interfaces.set(&command);
        self.driver.write(&mut interfaces, self.now);
        self.carry();
    }

    fn status(&mut self) -> ExecutionState {
        self.driver.read(self.now).status
    }

    /// The next motion begins and ends well.
    fn until_done(&mut self) {
        self.until_status(ExecutionState::Executing);
        self.until_status(ExecutionState::Success);
    }

    /// The arm is on its way to where it is not.
    fn set_out(&mut self) {
        self.send(ptp(away()));
        self.until("it moves", Bench::moving_now);
    }

    fn until_status(&mut self, status: ExecutionState) {
        self.until(&format!("{status:?}"), |bench| bench.status() == status);
    }

    fn until_fault(&mut self, kind: FaultKind, text: &str) {
        self.until(&format!("{kind:?} with {text:?}"), |bench| {
            bench.driver.fault().is_some_and(|fault| fault.kind == kind && fault.text.contains(text))
        });
    }

    fn moving(&self) -> bool {
        self.driver.sample().is_some_and(|sample| sample.joints.velocity.amax() > 0.05)
    }

    /// STOP and RESET, after which it takes moves again.
    fn recover(&mut self) {
        self.send(Command::Stop);
        self.until_status(ExecutionState::Stopped);
        assert!(self.driver.fault().is_none(), "{:?}", self.driver.fault());
        self.send(Command::ResetStop);
        self.until("ready again", |bench| bench.driver.read(bench.now).ready);
    }
}

fn home() -> Joints {
    planner("ur5e").robot.home
}

fn away() -> Joints {
    home() + Joints::new(0.5, 0.2, -0.3, 0.1, 0.2, 0.3)
}

fn move_of(motion: Motion, radius: f64) -> Command {
    let (velocity, acceleration) = match motion {
        Motion::Joint { .. } | Motion::JointPose { .. } => (1.0, 2.0),
        _ => (0.2, 1.0),
    };
    Command::Move(Primitive {
        motion,
        timing: Timing::Limits { velocity, acceleration },
        blend_radius: radius,
    })
}

fn ptp(target: Joints) -> Command {
    move_of(Motion::Joint { target }, 0.0)
}

fn by(x: f64, y: f64, z: f64) -> Isometry3<f64> {
    Translation3::new(x, y, z) * planner("ur5e").robot.forward(&home())
}

#[test]
fn a_ptp_moves_the_arm_and_is_told() {
    let mut bench = Bench::ready();
    assert!(bench.driver.fault().is_none());
    bench.send(ptp(away()));
    bench.until_done();
    assert!((bench.robot.joints() - away()).amax() < 1e-6, "{:?}", bench.robot.joints());
    let joints = bench.driver.joints(bench.now).unwrap();
    assert!((joints.position - away()).amax() < 1e-6);
    assert_eq!(bench.events, [RobotEvent::Started(0), RobotEvent::Finished(0)]);
}

#[test]
fn lines_arcs_and_poses_end_where_they_should() {
    let mut bench = Bench::ready();
    let (line, arc) = (by(0.1, 0.0, 0.05), by(0.1, 0.2, 0.05));
    for (motion, goal) in [
        (Motion::Linear { goal: line }, line),
        (Motion::Circular { goal: arc, via: by(0.2, 0.1, 0.05) }, arc),
        (Motion::JointPose { goal: by(0.0, 0.1, 0.1) }, by(0.0, 0.1, 0.1)),
        (Motion::LinearJoints { target: home() }, by(0.0, 0.0, 0.0)),
    ] {
        bench.send(move_of(motion, 0.0));
        bench.until_done();
        let hand = bench.driver.sample().unwrap().hand;
        let off = (hand.translation.vector - goal.translation.vector).norm();
        assert!(off < 1e-5 && hand.rotation.angle_to(&goal.rotation) < 1e-5, "{motion:?}: {off}");
    }
}

#[test]
fn a_sequence_blends_and_does_not_stop_between() {
    let mut bench = Bench::ready();
    bench.send(Command::SequenceStart);
    bench.send(move_of(Motion::Linear { goal: by(0.15, 0.0, 0.0) }, 0.03));
    bench.send(move_of(Motion::Linear { goal: by(0.15, 0.15, 0.0) }, 0.03));
    bench.send(move_of(Motion::Linear { goal: by(0.0, 0.15, 0.0) }, 0.0));
    bench.send(Command::SequenceEnd);
    bench.until_status(ExecutionState::Executing);
    bench.until("it moves", Bench::moving_now);
    let mut slowest = f64::INFINITY;
    bench.until("the last one runs", |bench| {
        slowest = slowest.min(bench.driver.sample().unwrap().joints.velocity.amax());
        bench.events.contains(&Blended(2, 3))
    });
    bench.until_status(ExecutionState::Success);
    use RobotEvent::{Blended, Finished, Started};
    let told: Vec<RobotEvent> =
        bench.events.iter().filter(|event| !matches!(event, RobotEvent::Note(..))).cloned().collect();
    assert_eq!(told, [Started(1), Blended(1, 2), Finished(1), Blended(2, 3), Finished(2), Finished(3)]);
    assert!(slowest > 0.02, "the arm stood between: {slowest}");
}

impl Bench {
    fn moving_now(&mut self) -> bool {
        self.moving()
    }
}

#[test]
fn singles_with_a_radius_blend_when_the_next_one_is_there() {
    let mut bench = Bench::ready();
    bench.send(move_of(Motion::Linear { goal: by(0.15, 0.0, 0.0) }, 0.03));
    assert!(bench.driver.read(bench.now).ready, "there is room for the one to blend into");
    bench.send(move_of(Motion::Linear { goal: by(0.15, 0.15, 0.0) }, 0.0));
    bench.until_status(ExecutionState::Success);
    assert!(bench.events.contains(&RobotEvent::Blended(0, 1)), "{:?}", bench.events);
    // Alone it goes to its target.
    bench.send(move_of(Motion::Linear { goal: by(0.0, 0.0, 0.0) }, 0.03));
    bench.until_done();
    assert!(
        (bench.driver.sample().unwrap().hand.translation.vector - by(0.0, 0.0, 0.0).translation.vector)
            .norm()
            < 1e-5
    );
}

#[test]
fn a_stop_brakes_and_nothing_that_waited_is_driven() {
    for along in ["joints", "path"] {
        let mut bench = Bench::new(&[("stop_along", along)], options("ur5e"));
        bench.until("ready", |bench| bench.driver.read(bench.now).ready);
        bench.send(Command::SequenceStart);
        bench.send(ptp(away()));
        bench.send(ptp(home()));
        bench.send(Command::SequenceEnd);
        bench.until("it moves", Bench::moving_now);
        bench.send(Command::Stop);
        assert_eq!(bench.status(), ExecutionState::Stopping);
        bench.until_status(ExecutionState::Stopped);
        let stood = bench.robot.joints();
        assert!((stood - away()).amax() > 0.05, "it stopped on the way");
        bench.run(2000);
        assert!((bench.robot.joints() - stood).amax() < 1e-9, "nothing moves after a STOP");
        bench.send(Command::ResetStop);
        bench.until("ready", |bench| bench.driver.read(bench.now).ready);
        bench.send(ptp(home()));
        bench.until_done();
        assert!((bench.robot.joints() - home()).amax() < 1e-6);
    }
}

#[test]
fn a_program_that_is_held_is_stopped_through_the_dashboard() {
    let mut bench = Bench::ready();
    bench.set_out();
    assert!(bench.driver.pause(bench.now));
    bench.carry();
    bench.until("it stands", |bench| !bench.moving());
    assert_eq!(bench.status(), ExecutionState::Executing);
    bench.send(Command::Stop);
    bench.until_status(ExecutionState::Stopped);
    bench.send(Command::ResetStop);
    bench.until("ready", |bench| bench.driver.read(bench.now).ready);
}

#[test]
fn a_pause_holds_the_arm_and_resume_goes_on() {
    let mut bench = Bench::ready();
    bench.set_out();
    assert!(bench.driver.pause(bench.now));
    bench.carry();
    bench.until("it stands", |bench| !bench.moving());
    bench.run(500);
    let stood = bench.robot.joints();
    bench.run(20_000);
    assert!((bench.robot.joints() - stood).amax() < 1e-9);
    assert_eq!(bench.driver.fault(), None, "a pause is no fault, however long");
    assert!(bench.driver.resume(bench.now));
    bench.carry();
    bench.until_status(ExecutionState::Success);
}

#[test]
fn what_our_model_cannot_do_never_reaches_the_robot() {
    let mut bench = Bench::ready();
    let before = bench.robot.joints();
    bench.send(ptp(Joints::repeat(9.0)));
    bench.until_status(ExecutionState::Error);
    bench.run(4);
    let Some(RobotEvent::Failed(0, reason)) = bench.events.last() else { panic!("{:?}", bench.events) };
    assert!(reason.contains("joint limits"), "{reason}");
    assert!((bench.robot.joints() - before).amax() < 1e-9);
    bench.recover();
}

#[test]
fn a_cut_in_motion_is_a_fault_that_stays_and_the_arm_stops_by_itself() {
    // The cable is pulled, or every connection breaks.
    for (trouble, end) in [("silence", "listen"), ("cut", "remote")] {
        let mut bench = Bench::ready();
        bench.send(move_of(Motion::Linear { goal: by(0.3, 0.0, 0.0) }, 0.0));
        bench.until("it moves", Bench::moving_now);
        bench.say(trouble);
        bench.until_fault(FaultKind::Disconnected, "lost in motion");
        // Nobody tells the arm anything, and it stands nevertheless.
        bench.run(2000);
        let stood = bench.robot.joints();
        bench.run(1000);
        assert!((bench.robot.joints() - stood).amax() < 1e-9, "{trouble}: the arm still moves");
        assert!((stood - home()).amax() > 1e-3, "{trouble}: it had moved");
        bench.say(end);
        bench.until("the connection is back", |bench| {
            bench.log.iter().filter(|line| line.starts_with("connected")).count() == 2
        });
        bench.run(5000);
        assert!(bench.driver.fault().is_some(), "{trouble}: it stays until somebody has looked");
        assert!(!bench.driver.read(bench.now).ready);
        bench.send(ptp(home()));
        bench.run(1000);
        assert!((bench.robot.joints() - stood).amax() < 1e-9, "{trouble}: nothing moves before RESET");
        bench.recover();
        bench.send(ptp(home()));
        bench.until_done();
    }
}

#[test]
fn a_connection_lost_at_rest_comes_back_by_itself() {
    let mut bench = Bench::ready();
    bench.say("silence");
    bench.until_fault(FaultKind::Disconnected, "silent");
    bench.say("listen");
    bench.until("ready", |bench| bench.driver.read(bench.now).ready);
    assert_eq!(bench.driver.fault(), None);
}

#[test]
fn stops_of_the_safety_system_have_their_names_and_stay_until_reset() {
    for (trouble, kind, text, cure) in [
        ("protective stop", FaultKind::ProtectiveStop, "collision", vec!["unlock"]),
        ("emergency stop", FaultKind::EmergencyStop, "button", vec!["release", "power on", "brake release"]),
        ("safeguard stop", FaultKind::Other, "safeguard", vec!["safeguard reset"]),
    ] {
        for in_motion in [true, false] {
            let mut bench = Bench::ready();
            if in_motion {
                bench.set_out();
            }
            bench.say(trouble);
            bench.until_fault(kind, text);
            bench.run(1000);
            let stood = bench.robot.joints();
            cure.iter().for_each(|word| bench.say(word));
            bench.run(3000);
            assert!((bench.robot.joints() - stood).amax() < 1e-9, "{trouble}: it went on by itself");
            assert!(bench.driver.fault().is_some(), "{trouble}: it stays until somebody has looked");
            bench.recover();
        }
    }
}

#[test]
fn obstacles_at_rest_are_named_and_go_away_by_themselves() {
    for (trouble, kind, text, cure) in [
        ("power off", FaultKind::Other, "not powered", vec!["power on", "brake release"]),
        ("local", FaultKind::NotInRemoteControl, "pendant", vec!["remote"]),
    ] {
        let mut sim = options("ur5e");
        (sim.powered, sim.remote) = (trouble != "power off", trouble != "local");
        let mut bench = Bench::new(&[], sim);
        bench.until_fault(kind, text);
        bench.run(8000);
        assert!(!bench.driver.read(bench.now).ready, "{trouble}");
        assert!(
            !bench.robot_log.iter().any(|line| line.contains("runs the program")),
            "{trouble}: no program is sent"
        );
        bench.say(cure[0]);
        if cure.len() > 1 {
            bench.until_fault(FaultKind::Other, "brakes are on");
            bench.say(cure[1]);
        }
        bench.until("ready", |bench| bench.driver.read(bench.now).ready);
    }
}

#[test]
fn power_and_brakes_only_for_those_who_ask() {
    let off = || sim::Options { powered: false, ..options("ur5e") };
    let mut bench = Bench::new(&[("power_on", "true")], off());
    bench.until_fault(FaultKind::Other, "brakes are on");
    bench.run(10_000);
    assert!(bench.driver.fault().is_some(), "the brakes were not asked for");
    let mut bench = Bench::new(&[("power_on", "true"), ("brake_release", "true")], off());
    bench.until("ready", |bench| bench.driver.read(bench.now).ready);
}

#[test]
fn a_protective_stop_is_unlocked_by_stop_only_for_those_who_ask() {
    let mut bench = Bench::new(&[("unlock", "true")], options("ur5e"));
    bench.until("ready", |bench| bench.driver.read(bench.now).ready);
    bench.say("protective stop");
    bench.until_fault(FaultKind::ProtectiveStop, "collision");
    bench.recover();
}

#[test]
fn a_program_stopped_at_the_pendant_is_not_started_again_before_reset() {
    for in_motion in [true, false] {
        let mut bench = Bench::ready();
        if in_motion {
            bench.set_out();
        }
        bench.say("stop");
        bench.until_fault(FaultKind::Other, "was stopped");
        bench.run(5000);
        let programs = bench.robot_log.iter().filter(|line| line.contains("runs the program")).count();
        assert_eq!(programs, 1, "a person stopped it");
        bench.recover();
    }
}

#[test]
fn another_robot_than_expected_is_not_moved() {
    let mut bench = Bench::new(&[], options("ur10e"));
    bench.until_fault(FaultKind::Other, "wrong model: the robot says it is a UR10, --robot is ur5e");
    let cb3 = SoftwareVersion { major: 3, minor: 15, bugfix: 0, build: 0 };
    let mut bench = Bench::new(&[], sim::Options { version: cb3, ..options("ur5e") });
    bench.until_fault(FaultKind::Other, "CB3");
    let old = SoftwareVersion { major: 3, minor: 1, bugfix: 0, build: 0 };
    let mut bench = Bench::new(&[], sim::Options { version: old, ..options("ur5e") });
    bench.until_fault(FaultKind::Other, "version too old");
}

#[test]
fn a_tool_is_told_to_the_robot_and_another_tool_than_ours_is_noticed() {
    let tool = Isometry3::translation(0.0, 0.0, 0.12);
    let mut bench = Bench::with_tool(&[], options("ur5e"), tool);
    bench.until("ready", |bench| bench.driver.read(bench.now).ready);
    let hand = bench.driver.sample().unwrap().hand;
    let expected = planner("ur5e").robot.forward(&home()) * tool;
    assert!((hand.translation.vector - expected.translation.vector).norm() < 1e-6);
    // A robot with other link lengths under the same name.
    let mut longer = options("ur5e");
    longer.planner.robot.set_tool(&Isometry3::translation(0.0, 0.0, 0.03));
    let mut bench = Bench::new(&[], longer);
    bench.until_fault(FaultKind::Other, "30 mm away");
}

#[test]
fn a_slow_slider_is_no_fault_and_a_robot_that_does_not_come_on_is() {
    let mut bench = Bench::ready();
    bench.say("slider 0.05");
    bench.send(ptp(away()));
    bench.until_status(ExecutionState::Success);
    // Longer than its time-out would be at full speed.
    assert!(bench.now > Duration::from_secs(10), "{:?}", bench.now);
    bench.say("slider 1");
    // It says that it goes at full speed, and does not.
    bench.say("slow 0.01");
    bench.send(ptp(home()));
    bench.until_fault(FaultKind::Other, "has not finished command 1");
    bench.until("it stands", |bench| !bench.moving());
    bench.say("slow 1");
    bench.recover();
}

#[test]
fn external_control_works_in_local_mode_and_is_told_apart() {
    let local = || sim::Options { remote: false, ..options("ur5e") };
    let mut bench = Bench::new(&[("start", "external")], local());
    bench.until_fault(
        FaultKind::NotInRemoteControl,
        "start one with External Control at the pendant, host 192.0.2.1, port 5000",
    );
    bench.run(5000);
    assert!(bench.robot_log.is_empty(), "nothing is sent to the robot: {:?}", bench.robot_log);
    bench.say("external 192.0.2.1 5000");
    bench.until("ready", |bench| bench.driver.read(bench.now).ready);
    bench.set_out();
    bench.say("stop");
    bench.until_fault(FaultKind::Other, "was stopped");
    // Before a reset, a program gets nothing.
    bench.say("external 192.0.2.1 5000");
    bench.until("nothing", |bench| {
        bench.robot_log.iter().any(|line| line == "External Control gets no program")
    });
    bench.send(Command::Stop);
    bench.until_status(ExecutionState::Stopped);
    bench.send(Command::ResetStop);
    bench.until_fault(FaultKind::NotInRemoteControl, "External Control");
    bench.say("external 192.0.2.1 5000");
    bench.until("ready", |bench| bench.driver.read(bench.now).ready);
    bench.send(ptp(home()));
    bench.until_done();
}

#[test]
fn the_speed_slider_can_be_set_from_here() {
    let mut bench = Bench::ready();
    assert!(bench.driver.set_speed(0.5, bench.now));
    bench.until("the controller says so", |bench| bench.driver.sample().unwrap().slider == 0.5);
}

#[test]
fn garbage_on_any_port_breaks_that_connection_and_no_more() {
    for port in ["rtde", "dashboard", "script", "program"] {
        let mut bench = Bench::ready();
        bench.say(&format!("garbage {port}"));
        bench.run(3000);
        if bench.driver.fault().is_some_and(|fault| fault.text.contains("STOP_MOTION")) {
            bench.recover();
        }
        bench.until("ready", |bench| bench.driver.read(bench.now).ready);
        bench.send(ptp(away()));
        bench.until_done();
    }
    // In motion the arm stops, and the fault says so.
    for port in ["rtde", "program"] {
        let mut bench = Bench::ready();
        bench.set_out();
        bench.say(&format!("garbage {port}"));
        bench.until("a fault", |bench| bench.driver.fault().is_some());
        bench.run(2000);
        assert!(bench.robot.joints().iter().zip(away().iter()).any(|(a, b)| (a - b).abs() > 1e-3), "{port}");
        bench.until("recoverable", |bench| {
            bench.driver.fault().is_some_and(|fault| fault.text.contains("STOP_MOTION"))
        });
        bench.recover();
    }
}

#[test]
fn strangers_on_our_port_are_not_taken_for_the_robot() {
    let mut bench = Bench::ready();
    for (i, bytes) in
        [b"GET / HTTP/1.1\r\n".to_vec(), vec![1, 0, 0, 9], vec![3, 0, 0, 0]].into_iter().enumerate()
    {
        let link = Link::Caller(900 + i as u32);
        bench.tell(driver::Input::Called { link });
        bench.tell(driver::Input::Received { link, bytes: &bytes });
        let mut closed = false;
        while let Some(output) = bench.driver.poll_output() {
            closed |= output == driver::Output::Close { link };
        }
        assert!(closed, "{bytes:?}");
    }
    bench.run(1000);
    assert_eq!(bench.driver.fault(), None);
    assert!(bench.driver.read(bench.now).ready);
}

#[test]
fn deactivation_ends_the_program_and_activation_starts_another() {
    let mut bench = Bench::ready();
    bench.set_out();
    bench.send(Command::Stop);
    bench.driver.deactivate(bench.now);
    bench.carry();
    bench.until("the program is over", |bench| {
        bench.robot_log.iter().any(|line| line == "the program is over")
    });
    bench.until_status(ExecutionState::Stopped);
    bench.run(5000);
    assert!(bench.robot_log.iter().filter(|line| line.contains("runs")).count() == 1);
    bench.driver.activate(bench.now).unwrap();
    bench.send(Command::ResetStop);
    bench.until("ready", |bench| bench.driver.read(bench.now).ready);
}

#[test]
fn any_bytes_on_any_link_leave_a_driver_that_works() {
    use proptest::{prelude::*, test_runner::TestRunner};
    let links = [Link::Rtde, Link::Dashboard, Link::Script, Link::Caller(1), Link::Caller(77)];
    let piece = (0..links.len(), prop::collection::vec(any::<u8>(), 0..200), 0u64..2000);
    let mut runner =
        TestRunner::new(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() });
    runner
        .run(&prop::collection::vec(piece, 0..30), |pieces| {
            let mut driver = Driver::new(planner("ur5e"), Isometry3::identity());
            driver.connect(&BTreeMap::from([("address".to_owned(), ROBOT.to_owned())])).unwrap();
            driver.activate(Duration::ZERO).unwrap();
            driver.handle(driver::Input::Listening(1), Now::after(Duration::ZERO));
            let mut now = Duration::ZERO;
            let mut outputs = VecDeque::new();
            for (link, bytes, pause) in pieces {
                now += Duration::from_millis(pause);
                driver.wake(now.into());
                while let Some(output) = driver.poll_output() {
                    outputs.push_back(output);
                }
                for output in outputs.drain(..) {
                    match output {
                        driver::Output::Connect { link, .. } => {
                            driver.handle(driver::Input::Connected { link, local: OURS }, now.into());
                        }
                        driver::Output::Send { bytes, .. } => prop_assert!(bytes.len() < 10_000),
                        _ => {}
                    }
                }
                if let Link::Caller(_) = links[link] {
                    driver.handle(driver::Input::Called { link: links[link] }, now.into());
                }
                driver.handle(driver::Input::Received { link: links[link], bytes: &bytes }, now.into());
                driver.read(now);
                prop_assert!(driver.fault().is_some(), "nobody is there who could be trusted");
            }
            Ok(())
        })
        .unwrap();
}
