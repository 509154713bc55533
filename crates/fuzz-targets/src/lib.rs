//! Everything that reads bytes of others, one function per fuzzer. Each takes any input, and must neither panic nor
//! take much memory; a failed assertion is a finding.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::LazyLock,
    time::Duration,
};

use rosless_engine::Engine as _;
use rosless_graph::config::ParameterOverrides;
use rosless_motion::{Hardware as _, MotionLimits, Planner};
use rosless_natnet::{
    Client, Input as NatnetInput, Message as Packet, Scene, Server, ServerInput, Settings as NatnetSettings,
    Version,
};
use rosless_protocol::{
    Dialect, Now, Wall,
    controlled::{self, Controlled},
    controller::{self, Controller, NoState, Settings, Targets},
    message::{Announcement, Command, Control, Kind as ControlKind, State},
    name::SystemId,
};
use rosless_schema::{Comments, DynamicMessage, Kind, Registry, Source, TypeDescription, parse};
use rosless_ur::{
    driver::{self, Link},
    sim,
};
use rosless_web::{Access, Connection, Event, Limits, Message as WebMessage, Response};
use rosless_wire::{
    Message, cdr,
    registry::{Visitor, visit_all},
};
use rustdds::{
    DomainParticipant, DomainParticipantBuilder, QosPolicyBuilder, RTPSEntity, TopicKind,
    bytes::Bytes,
    feeding,
    no_key::{DataWriter, SimpleDataReader},
    policy,
};

type Text = (DataWriter<String>, SimpleDataReader<String, rustdds::CDRDeserializerAdapter<String>>);

/// A participant with a writer that keeps a large sample, and a reader.
static VICTIM: LazyLock<(DomainParticipant, Text)> = LazyLock::new(|| {
    feeding::enable();
    // Of its own, as far as fuzzers run side by side.
    let domain = 102 + (std::process::id() % 100) as u16;
    let participant = DomainParticipantBuilder::new(domain)
        .with_only_networks([IpAddr::V4(Ipv4Addr::LOCALHOST)])
        .build()
        .expect("participant");
    let qos = QosPolicyBuilder::new()
        .reliable(rustdds::Duration::from_millis(1))
        .durability(policy::Durability::TransientLocal)
        .history(policy::History::KeepLast { depth: 2 })
        .build();
    let topic =
        participant.create_topic("t".into(), "test::Bytes".into(), &qos, TopicKind::NoKey).expect("topic");
    let writer = participant.create_publisher(&qos).expect("publisher");
    let writer: DataWriter<String> = writer.create_datawriter_no_key(&topic, None).expect("writer");
    let reader = participant.create_subscriber(&qos).expect("subscriber");
    let reader = reader.create_simple_datareader_no_key(&topic, None).expect("reader");
    writer.write("x".repeat(20_000), None).expect("written");
    (participant, (writer, reader))
});

/// Datagrams that come one after the other: each with its length in two bytes, and without RTPS header. They come from
/// one invented participant, from another one if the length's second highest bit is set, or from the victim itself if
/// the length is odd; and they are addressed to the victim unless the highest bit is set.
pub fn packets(mut input: &[u8]) {
    let (victim, (_, reader)) = &*VICTIM;
    let own = victim.guid().to_bytes();
    let mut datagrams = Vec::new();
    while let Some((length, rest)) = input.split_first_chunk::<2>() {
        let length = u16::from_le_bytes(*length);
        let prefix = match length & 0x4001 {
            0 => &[0x66; 12],
            0x4000 => &[0x55; 12],
            _ => &own[..12],
        };
        let (body, rest) = rest.split_at(rest.len().min(usize::from(length & 0x3fff)));
        // Whoever knows the victim can address it. Samples for everybody are not addressed, and read in another way.
        let addressed = if length & 0x8000 == 0 { [&[0x0e, 1, 12, 0], &own[..12]].concat() } else { vec![] };
        datagrams.push(Bytes::from([b"RTPS\x02\x03\x01\x12", prefix, &addressed, body].concat()));
        input = rest;
    }
    assert!(feeding::feed(victim, datagrams), "the event loop has ended");
    while let Ok(Some(_)) = reader.try_take_one() {}
}

struct Decode<'a> {
    payload: &'a [u8],
    skip: usize,
}

impl Visitor for Decode<'_> {
    fn message<M: Message>(&mut self) {
        if self.skip == 0
            && let Ok(message) = cdr::from_payload::<M>(self.payload)
        {
            let again = cdr::from_payload::<M>(&cdr::to_payload(&message));
            assert!(again.is_ok(), "{} does not read what it writes", std::any::type_name::<M>());
        }
        self.skip = self.skip.wrapping_sub(1);
    }
}

/// A payload after two bytes that choose its type: among those of Rust, and among those of the definitions.
pub fn payload(input: &[u8]) {
    static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::embedded);
    let Some((choice, payload)) = input.split_first_chunk::<2>() else {
        return;
    };
    let choice = usize::from(u16::from_le_bytes(*choice));
    visit_all(&mut Decode { payload, skip: choice % 512 });
    let names = REGISTRY.names();
    if let Ok(ty) = REGISTRY.message_type(names[choice % names.len()])
        && let Ok(message) = DynamicMessage::from_payload(&ty, payload)
    {
        let again = DynamicMessage::from_payload(&ty, &message.to_payload());
        assert!(again.is_ok(), "{} does not read what it writes", ty.name());
    }
}

/// A file of parameters.
pub fn parameters(input: &[u8]) {
    let mut overrides = ParameterOverrides::default();
    if overrides.add_file(&String::from_utf8_lossy(input)).is_ok() {
        overrides.for_node("/a/b");
    }
}

/// What a controller and a system hear on the control topics, in any order and with any pauses. Each step is a byte that
/// says what happens, one for the pause before it, and a text after its length; a time-out must not come twice.
pub fn control(mut input: &[u8]) {
    let mut now = Now::after(Duration::from_secs(1));
    let mut controller = Controller::new(Settings::default(), "boss", "/", now);
    let mut system = Controlled::new(SystemId::resolve("/", "cam").expect("a name"));
    while let Some(([what, pause, length], rest)) = input.split_first_chunk::<3>() {
        let (text, rest) = rest.split_at(rest.len().min((*length).into()));
        input = rest;
        now.mono += Duration::from_millis(u64::from(*pause) * 20);
        now.wall = Wall(i64::try_from(now.mono.as_nanos()).unwrap_or(i64::MAX));
        let text = String::from_utf8_lossy(text).into_owned();
        let (sender, participant, channel) = (Some(text.clone()), None, Default::default());
        let message = Control {
            kind: ControlKind::from((what / 8) as i8),
            stamp: now.wall,
            source: text.clone(),
            session: text.clone(),
            systems: vec![text.clone()],
        };
        match what % 8 {
            0 => {
                let announcement = Announcement { source: text.clone(), topics: vec![text], ros_version: 0 };
                let heard = controller::Input::Announced { channel, sender, participant, announcement };
                controller.handle(heard, now);
            }
            1 => {
                controller.handle(controller::Input::Control { channel, sender, participant, message }, now);
            }
            2 => {
                controller.handle(controller::Input::Reachable { node: text, reachable: what & 8 != 0 }, now)
            }
            3 => controller.handle(controller::Input::Gone { node: text, participant }, now),
            4 => {
                if let Ok(system) = SystemId::resolve("/", &text) {
                    let (from, to) = (State::Inactive, State::from(what / 8));
                    controller.handle(
                        controller::Input::Transition { system, from, to, stamp: Some(now.wall) },
                        now,
                    );
                }
            }
            5 => {
                let command = if what & 8 == 0 { Command::Start } else { Command::Stop };
                let targets = if text.is_empty() { Targets::All } else { Targets::Named(vec![text]) };
                let _ = controller.request(command, "take", targets, now);
            }
            6 => system.handle(controlled::Input::Control(Dialect::default(), message), now),
            _ => system.handle(controlled::Input::State(State::from(what / 8)), now),
        }
        while let Some(output) = system.poll_output() {
            if matches!(output, controlled::Output::Transition(_)) {
                system.handle(controlled::Input::Finished { succeeded: what & 16 == 0 }, now);
            }
        }
        settle(&mut controller, now);
    }
    // Whatever was asked for comes to its end.
    for _ in 0..100 {
        let Some(deadline) = controller.next_deadline() else { break };
        now.mono = deadline.max(now.mono);
        controller.wake(now);
        settle(&mut controller, now);
    }
}

fn settle(controller: &mut Controller, now: Now) {
    while let Some(output) = controller.poll_output() {
        if let controller::Output::QueryState { system, query } = output {
            controller
                .handle(controller::Input::State { system, query, result: Err(NoState::NoAnswer) }, now);
        }
    }
    controller.wake(now);
    while controller.poll_output().is_some() {}
    assert!(controller.next_deadline().is_none_or(|next| next > now.mono), "woken for nothing");
}

/// What a robot, and whoever calls in its place, says to the driver, and what a client says to the simulated controller, in
/// pieces: each with a byte that says where it comes, one for the pause before it, and its length in one byte.
pub fn ur(mut input: &[u8]) {
    let robot = rosless_kinematics::builtin::robot("ur5e").expect("built in");
    let (joints, planner) = (robot.home, Planner::new(robot, MotionLimits::default()));
    let mut driver = rosless_ur::Driver::new(planner.clone(), nalgebra::Isometry3::identity());
    let parameters = [("address".to_owned(), "192.0.2.1".to_owned())].into();
    driver.connect(&parameters).expect("an address");
    let mut now = Now::after(Duration::from_secs(1));
    driver.handle(driver::Input::Listening(1), now);
    driver.activate(now.mono).expect("it waits for the robot");
    let version = rosless_ur::rtde::SoftwareVersion { major: 5, minor: 12, ..Default::default() };
    let mut controller =
        sim::Controller::new(sim::Options { planner, joints, version, remote: true, powered: true });
    for (client, port) in [sim::Port::Rtde, sim::Port::Dashboard, sim::Port::Script].into_iter().enumerate() {
        controller.handle(sim::Input::Opened { client: client as u32, port: Some(port) }, now);
    }
    let links = [Link::Rtde, Link::Dashboard, Link::Script, Link::Caller(1), Link::Caller(2)];
    while let Some(([what, pause, length], rest)) = input.split_first_chunk::<3>() {
        let (bytes, rest) = rest.split_at(rest.len().min((*length).into()));
        input = rest;
        now.mono += Duration::from_millis(u64::from(*pause) * 10);
        let link = links[usize::from(*what) % links.len()];
        if matches!(link, Link::Caller(_)) && what & 128 != 0 {
            driver.handle(driver::Input::Called { link }, now);
        }
        driver.handle(driver::Input::Received { link, bytes }, now);
        controller.handle(sim::Input::Received { client: u32::from(*what % 3), bytes }, now);
        driver.wake(now);
        controller.wake(now);
        let mut said = 0;
        while let Some(output) = driver.poll_output() {
            match output {
                driver::Output::Connect { link, .. } => {
                    driver.handle(driver::Input::Connected { link, local: Ipv4Addr::LOCALHOST.into() }, now);
                }
                driver::Output::Send { bytes, .. } => said += bytes.len(),
                driver::Output::Close { .. } | driver::Output::Log(..) => {}
            }
        }
        while let Some(output) = controller.poll_output() {
            match output {
                sim::Output::Connect { client, .. } => {
                    controller.handle(sim::Input::Opened { client, port: None }, now)
                }
                sim::Output::Send { bytes, .. } => said += bytes.len(),
                sim::Output::Close { .. } | sim::Output::Log(_) => {}
            }
        }
        assert!(said < 1 << 20, "a peer causes answers without end");
    }
}

/// A definition, or a type description as JSON.
pub fn types(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    if let Ok(description) = serde_json::from_str::<TypeDescription>(&text) {
        let mut registry = Registry::new();
        if registry.add_description(&description).is_ok() {
            try_out(&registry, &description.type_description.type_name);
        }
    }
    for kind in Kind::ALL {
        let source = Source { kind, package: "pkg", name: "Type", file: "Type.x", text: &text };
        if parse(source).is_ok() {
            let mut registry = Registry::new();
            registry.add_source(source);
            try_out(&registry, &format!("pkg/{}/Type", kind.as_str()));
        }
    }
}

fn try_out(registry: &Registry, name: &str) {
    let _ = registry.type_hash(name);
    let _ = registry.show(name, Comments::All);
    if let Ok(ty) = registry.message_type(name) {
        let message = DynamicMessage::new(&ty);
        assert!(
            DynamicMessage::from_payload(&ty, &message.to_payload()).is_ok(),
            "{name} does not read what it writes"
        );
    }
}

/// What clients send to the web server, in pieces: each with its length in one byte. The first byte says whether it is a
/// WebSocket already, and of which kind.
pub fn web(input: &[u8]) {
    const UPGRADE: &[u8] =
        b"GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
    let Some((kind, mut rest)) = input.split_first() else { return };
    let limits = Limits { message: 4096, ..Limits::default() };
    let mut connection = Connection::new(limits, Duration::ZERO);
    let mut pieces = if *kind == 0 { Vec::new() } else { vec![UPGRADE] };
    while let Some((length, more)) = rest.split_first() {
        let (piece, more) = more.split_at(usize::from(*length).min(more.len()));
        pieces.push(piece);
        rest = more;
    }
    let access = Access::default();
    for piece in pieces {
        let mut events = Vec::new();
        connection.receive(piece, Duration::ZERO, &mut events);
        while let Some(event) = events.pop() {
            match event {
                Event::Request(request) => match access.judge(&request) {
                    Ok(_) if request.is_upgrade() => {
                        connection.upgrade(
                            rosless_foxglove::choose(request.words("sec-websocket-protocol")),
                            Duration::ZERO,
                            &mut events,
                        );
                    }
                    Ok(_) => connection.respond(&Response::text(200, ""), Duration::ZERO, &mut events),
                    Err(refusal) => {
                        let response = Response::text(refusal.status(), refusal.text());
                        connection.respond(&response, Duration::ZERO, &mut events);
                    }
                },
                Event::Message(WebMessage::Text(text)) => drop(rosless_foxglove::Request::text(&text)),
                Event::Message(WebMessage::Binary(bytes)) => drop(rosless_foxglove::Request::binary(&bytes)),
                Event::Closed(_) => {}
            }
        }
        let length = connection.output().len();
        assert!(length < 1 << 20, "a client causes answers without end");
        connection.wrote(length, Duration::ZERO);
    }
}

/// Datagrams that a NatNet client and a NatNet server get, each after a byte for the pause before it and two for its length.
/// The first byte says in which version they are also read alone.
pub fn natnet(input: &[u8]) {
    const SERVER: Ipv4Addr = Ipv4Addr::LOCALHOST;
    const VERSIONS: [Version; 5] =
        [Version::V3_0, Version::new(3, 1), Version::new(4, 0), Version::V4_1, Version::NEWEST];
    let Some((choice, mut rest)) = input.split_first() else { return };
    let version = VERSIONS[usize::from(*choice) % VERSIONS.len()];
    let mut client = Client::new(NatnetSettings { server: SERVER, name: "fuzzed".to_owned() });
    let mut server = Server::new(Scene { rate: 1.0, ..Scene::default() });
    let mut now = Now::after(Duration::from_secs(1));
    while let Some(([pause, low, high], more)) = rest.split_first_chunk::<3>() {
        let (bytes, more) = more.split_at(usize::from(u16::from_le_bytes([*low, *high])).min(more.len()));
        rest = more;
        now.mono += Duration::from_millis(u64::from(*pause) * 4);
        if let Ok(packet) = Packet::decode(bytes, version) {
            let again = packet.encode(version);
            let twice = Packet::decode(&again, version).map(|packet| packet.encode(version));
            assert_eq!(twice.as_ref(), Ok(&again), "it does not read what it writes");
        }
        client.handle(NatnetInput::Datagram { from: SERVER.into(), bytes, over_commands: true }, now);
        while client.poll_output().is_some() {}
        client.wake(now);
        assert!(client.next_deadline().is_some_and(|next| next > now.mono), "woken for nothing");
        server.handle(ServerInput::Datagram { from: (SERVER, 1).into(), bytes }, now);
        server.wake(now);
        while server.poll_output().is_some() {}
    }
}
