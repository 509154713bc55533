//! A client and a server with a simulated network and simulated clocks between them.

use std::{
    collections::VecDeque,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    time::Duration,
};

use rosless_engine::{Engine as _, Now, Wall};
use rosless_natnet::{
    Client, Frame, Input, Link, Message, Output, Scene, Server, ServerInput, ServerOutput, Settings, Take,
    Version,
};

const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const CLIENT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 50_000);
const STEP: Duration = Duration::from_micros(200);

struct World {
    client: Client,
    server: Option<Server>,
    time: Duration,
    /// When the server's machine was switched on.
    booted: Duration,
    /// On the way: when it arrives, to whom, what.
    packets: VecDeque<(Duration, bool, Vec<u8>)>,
    cable: bool,
    /// Commands that do not reach the server.
    deaf: fn(&[u8]) -> bool,
    frames: Vec<(Box<Frame>, Wall)>,
    links: Vec<(Duration, Link)>,
    taken: Vec<Result<String, String>>,
    warnings: Vec<String>,
    described: usize,
}

impl World {
    fn new(scene: Scene) -> Self {
        Self {
            client: Client::new(Settings { server: SERVER, name: "test".to_owned() }),
            server: Some(Server::new(scene)),
            time: Duration::from_secs(3),
            booted: Duration::ZERO,
            packets: VecDeque::new(),
            cable: true,
            deaf: |_| false,
            frames: Vec::new(),
            links: Vec::new(),
            taken: Vec::new(),
            warnings: Vec::new(),
            described: 0,
        }
    }

    /// Our wall clock is a year ahead of the monotonic one.
    fn now(&self) -> Now {
        let wall = 31_536_000_000_000_000 + self.time.as_nanos() as i64;
        Now { mono: self.time, wall: Wall(wall) }
    }

    fn put(&mut self, to_server: bool, bytes: Vec<u8>) {
        if self.cable && !(to_server && (self.deaf)(&bytes)) {
            // 0.3 ms there, 0.1 ms back: unequal, as real ways are.
            let delay = Duration::from_micros(if to_server { 300 } else { 100 });
            self.packets.push_back((self.time + delay, to_server, bytes));
        }
    }

    fn step(&mut self) {
        self.time += STEP;
        let now = self.now();
        let theirs = Now::after(self.time - self.booted);
        while self.packets.front().is_some_and(|packet| packet.0 <= now.mono) {
            let Some((_, to_server, bytes)) = self.packets.pop_front() else { break };
            match (&mut self.server, to_server) {
                (Some(server), true) => {
                    server.handle(ServerInput::Datagram { from: CLIENT, bytes: &bytes }, theirs)
                }
                (None, true) => {}
                (_, false) => {
                    let input = Input::Datagram { from: SERVER.into(), bytes: &bytes, over_commands: true };
                    self.client.handle(input, now);
                }
            }
        }
        if let Some(server) = &mut self.server {
            server.wake(theirs);
        }
        while let Some(output) = self.server.as_mut().and_then(Server::poll_output) {
            if let ServerOutput::Send(_, bytes) = output {
                self.put(false, bytes);
            }
        }
        if self.client.next_deadline().is_some_and(|due| due <= now.mono) {
            self.client.wake(now);
        }
        while let Some(output) = self.client.poll_output() {
            match output {
                Output::Send(bytes) => self.put(true, bytes),
                Output::Frame(frame, stamp) => self.frames.push((frame, stamp)),
                Output::Link(link) => self.links.push((self.time, link)),
                Output::Taken(result) => self.taken.push(result),
                Output::Warn(text) => self.warnings.push(text),
                Output::Described(_) => self.described += 1,
                Output::Listen(_) => {}
            }
        }
    }

    fn run(&mut self, seconds: f64) {
        let end = self.time + Duration::from_secs_f64(seconds);
        while self.time < end {
            self.step();
        }
    }

    fn take(&mut self, take: Take) -> Result<String, String> {
        let now = self.now();
        self.client.handle(Input::Take(take), now);
        for _ in 0..100_000 {
            if let Some(result) = self.taken.pop() {
                return result;
            }
            self.step();
        }
        panic!("a take that never ends");
    }
}

/// When a frame was exposed by our wall clock.
fn truth(world: &World, frame: &Frame) -> i64 {
    let Scene { clock, drift, info, .. } = world.server.as_ref().unwrap().scene();
    let seconds = (frame.exposed as f64 / info.frequency as f64 - clock.as_secs_f64()) / (1.0 + drift);
    31_536_000_000_000_000 + world.booted.as_nanos() as i64 + (seconds * 1e9) as i64
}

#[test]
fn frames_have_the_time_of_their_capture_and_the_uncertainty_is_honest() {
    for drift in [0.0, 90e-6, -90e-6] {
        let mut world = World::new(Scene { drift, clock: Duration::from_secs(123_456), ..Scene::default() });
        world.run(40.0);
        let uncertainty = world.client.status(world.now()).clock.unwrap().uncertainty;
        assert!(
            uncertainty < 400_000,
            "half of the way there and back, and steps of the simulation: {uncertainty}"
        );
        for (frame, stamp) in &world.frames[200..] {
            let error = stamp.0 - truth(&world, frame);
            assert!(error.abs() <= uncertainty + 50_000, "{error} of {uncertainty}");
        }
        let status = world.client.status(world.now());
        assert_eq!((status.counts.lost, status.counts.late, status.malformed), (0, 0, 0));
        assert!((status.latency.unwrap() - 5_100_000).abs() < 1_000_000, "{:?}", status.latency);
        assert!((status.clock.unwrap().drift + drift).abs() < 12e-6, "{:?}", status.clock);
    }
}

#[test]
fn every_version_is_spoken_and_a_newer_one_is_asked_to_speak_as_we_know() {
    for version in [
        Version::V3_0,
        Version::new(3, 1),
        Version::new(4, 0),
        Version::V4_1,
        Version::NEWEST,
        Version::new(4, 5),
    ] {
        let mut scene = Scene { skeleton: true, analog: true, ..Scene::default() };
        scene.info.natnet = version;
        let mut world = World::new(scene);
        world.run(2.0);
        assert_eq!(world.client.link(), Link::Streaming, "{version}");
        assert_eq!((world.client.status(world.now()).malformed, world.described), (0, 1), "{version}");
        assert_eq!(world.client.model().asset(2), Some("body_2"));
        assert_eq!(world.client.model().bone(77, 77 << 16 | 3), Some("Chest"));
        assert_eq!(world.client.model().marker(1, 4), Some("Marker4"), "{version}");
        assert_eq!(world.frames.last().unwrap().0.rigid_bodies.len(), 2);
    }
    for version in [Version::new(2, 10), Version::new(5, 0)] {
        let mut scene = Scene::default();
        scene.info.natnet = version;
        let mut world = World::new(scene);
        world.run(2.0);
        assert_eq!(world.client.link(), Link::Unsupported(version));
        assert!(world.frames.is_empty());
    }
}

#[test]
fn loss_and_disorder_are_counted_and_frames_never_go_back() {
    let mut world = World::new(Scene { lose_every: 50, swap_every: 33, ..Scene::default() });
    world.run(10.0);
    let counts = world.client.status(world.now()).counts;
    let numbers: Vec<_> = world.frames.iter().map(|(frame, _)| frame.number).collect();
    assert!(numbers.is_sorted(), "time does not go back");
    let (first, last) = (numbers[0], *numbers.last().unwrap());
    let sent = |fate: fn(&i32) -> bool| (first..=last).filter(fate).count() as u64;
    assert_eq!(counts.lost, sent(|number| number % 50 == 0), "{counts:?}");
    assert_eq!(counts.late, sent(|number| number % 33 == 0 && number % 50 != 0), "{counts:?}");
    assert_eq!(counts.frames + counts.lost + counts.late, u64::from((last - first + 1).unsigned_abs()));
}

#[test]
fn a_pulled_cable_is_noticed_within_a_second_and_mends_itself() {
    let mut world = World::new(Scene::default());
    world.run(3.0);
    let (pulled, before) = (world.time, world.frames.len());
    world.cable = false;
    world.run(5.0);
    let noticed = world.links.iter().find(|(time, _)| *time > pulled).unwrap();
    assert_eq!(noticed.1, Link::Lost);
    assert!(noticed.0 - pulled < Duration::from_secs(1), "{:?}", noticed.0 - pulled);
    world.cable = true;
    let plugged = world.time;
    world.run(2.0);
    assert_eq!(world.client.link(), Link::Streaming);
    assert!(world.links.last().unwrap().0 - plugged < Duration::from_secs(1));
    let lost = world.client.status(world.now()).counts.lost;
    assert!(lost.abs_diff(600) < 90, "five seconds and the greeting after them: {lost}");
    // The clock was not forgotten.
    let (frame, stamp) = &world.frames[before + 3];
    assert!((stamp.0 - truth(&world, frame)).abs() < 1_000_000);
}

#[test]
fn a_server_that_is_started_again_is_found_and_its_clock_related_anew() {
    let mut world = World::new(Scene { clock: Duration::from_secs(9_999), ..Scene::default() });
    world.run(3.0);
    world.server = None;
    world.run(2.0);
    assert_eq!(world.client.link(), Link::Lost);
    world.booted = world.time;
    world.server = Some(Server::new(Scene { clock: Duration::from_secs(1), bodies: 3, ..Scene::default() }));
    let before = world.frames.len();
    world.run(3.0);
    assert_eq!(world.client.link(), Link::Streaming);
    let status = world.client.status(world.now());
    assert!(status.counts.restarts > 0 && status.counts.lost < 5, "{:?}", status.counts);
    let (frame, stamp) = world.frames.last().unwrap();
    assert!(world.frames.len() > before + 100);
    assert!((stamp.0 - truth(&world, frame)).abs() < 1_000_000, "stamps are those of the capture again");
    assert_eq!(world.client.model().asset(3), Some("body_3"));
    assert!(world.warnings.iter().any(|text| text.contains("began anew")), "{:?}", world.warnings);
}

#[test]
fn a_rigid_body_that_is_added_while_frames_come_gets_its_name_also_when_the_notice_is_lost() {
    for cable in [true, false] {
        let mut world = World::new(Scene::default());
        world.run(2.0);
        let now = Now::after(world.time);
        // The frame with the notice is the next.
        world.cable = cable;
        world.server.as_mut().unwrap().handle(ServerInput::AddBody, now);
        world.run(0.02);
        world.cable = true;
        world.run(2.0);
        assert_eq!(world.client.model().asset(3), Some("body_3"), "cable {cable}");
        assert_eq!(world.described, 2);
    }
}

#[test]
fn takes_are_started_and_stopped_by_name() {
    let mut world = World::new(Scene::default());
    world.run(1.0);
    assert_eq!(world.take(Take::Start("session 1: a/b".to_owned())), Ok("session 1_ a_b".to_owned()));
    assert_eq!(world.server.as_ref().unwrap().recording(), Some("session 1_ a_b"));
    world.run(0.1);
    assert!(world.client.status(world.now()).recording);
    assert_eq!(world.take(Take::Stop), Ok(String::new()));
    assert_eq!(world.server.as_ref().unwrap().recording(), None);
}

#[test]
fn a_take_that_is_refused_or_not_answered_fails_with_the_reason() {
    let mut world = World::new(Scene { refuse: vec!["StartRecording".to_owned()], ..Scene::default() });
    let early = world.take(Take::Start("x".to_owned())).unwrap_err();
    assert!(early.contains("no answer yet"), "{early}");
    world.run(1.0);
    let refused = world.take(Take::Start("x".to_owned())).unwrap_err();
    assert_eq!(refused, "StartRecording: the server refuses it (code 1)");
    world.deaf = |bytes| bytes.starts_with(&[2, 0]);
    let begin = world.time;
    let deaf = world.take(Take::Stop).unwrap_err();
    assert_eq!(deaf, "StopRecording: no answer within 1.5 s");
    assert!(world.time - begin < Duration::from_secs(2));
    assert_eq!(world.client.link(), Link::Streaming, "frames are not affected");
    world.deaf = |_| false;
    assert_eq!(world.take(Take::Stop), Ok(String::new()), "and it can be tried again");
}

/// A command whose first try is lost has two answers; the second must not be taken for that of the next command.
#[test]
fn a_late_answer_is_not_taken_for_that_of_the_next_command() {
    let mut client = Client::new(Settings { server: SERVER, name: "test".to_owned() });
    let at = |millis| Now::after(Duration::from_millis(millis));
    let hear = |client: &mut Client, message: Message, millis| {
        let bytes = message.encode(Version::V4_1);
        client
            .handle(Input::Datagram { from: SERVER.into(), bytes: &bytes, over_commands: true }, at(millis));
        let requests = std::iter::from_fn(|| client.poll_output()).filter_map(|output| match output {
            Output::Send(bytes) if bytes.starts_with(&[2, 0]) => {
                Some(String::from_utf8_lossy(&bytes[4..bytes.len() - 1]).into_owned())
            }
            Output::Taken(result) => Some(format!("{result:?}")),
            _ => None,
        });
        requests.collect::<Vec<_>>()
    };
    let obeyed = || Message::Response(rosless_natnet::Reply::Code(0));
    hear(&mut client, Message::ServerInfo(Scene::default().info), 1);
    client.handle(Input::Take(Take::Start("t".to_owned())), at(2));
    client.wake(at(600));
    assert_eq!(
        hear(&mut client, obeyed(), 700),
        ["SetRecordTakeName,t", "SetRecordTakeName,t", "StartRecording"]
    );
    assert!(hear(&mut client, obeyed(), 710).is_empty(), "that was for the repetition");
    assert_eq!(
        hear(&mut client, Message::Response(rosless_natnet::Reply::Code(5)), 720),
        ["Err(\"StartRecording: the server refuses it (code 5)\")"]
    );
}

#[test]
fn whoever_is_not_the_server_is_not_listened_to() {
    let mut world = World::new(Scene::default());
    world.run(1.0);
    let now = world.now();
    let frame =
        Message::Frame(Box::new(Frame { number: 1_000_000, ..Frame::default() })).encode(Version::V4_1);
    let stranger = IpAddr::from([10, 0, 0, 66]);
    world.client.handle(Input::Datagram { from: stranger, bytes: &frame, over_commands: false }, now);
    world
        .client
        .handle(Input::Datagram { from: SERVER.into(), bytes: &frame[..9], over_commands: false }, now);
    let status = world.client.status(now);
    assert_eq!((status.foreign, status.foreign_frames, status.malformed), (1, Some(stranger), 1));
    world.run(1.0);
    assert_eq!(world.client.link(), Link::Streaming);
    assert!(world.frames.iter().all(|(frame, _)| frame.number < 1000));
}

#[test]
fn a_server_that_answers_and_sends_nothing_is_told_from_one_that_is_gone() {
    let mut world = World::new(Scene { silent: true, ..Scene::default() });
    world.run(3.0);
    assert_eq!(world.client.link(), Link::Quiet);
    world.server = None;
    world.run(1.0);
    assert_eq!(world.client.link(), Link::Lost);
}
