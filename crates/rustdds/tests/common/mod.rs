//! A small DDS application for the tests, in this process or in one of its own.
#![allow(dead_code)] // each test binary uses a part of it

pub mod driven;
pub mod scripted;
pub mod wire;

use std::{
    convert::Infallible,
    net::{IpAddr, Ipv4Addr},
    process::Command,
    time::Duration,
};

use rosless_tests::{eventually, Daemon};
use rustdds::{
    bytes::Bytes,
    no_key::{DataWriter, Decode, DefaultDecoder, DeserializerAdapter, SerializerAdapter, SimpleDataReader},
    policy, DomainParticipant, DomainParticipantBuilder, QosPolicies, QosPolicyBuilder,
    RepresentationIdentifier, Timestamp, Topic, TopicKind,
};

pub const SOON: Duration = Duration::from_secs(20);
pub const TYPE: &str = "test::Bytes";

/// Passes payloads through as they are.
#[derive(Clone)]
pub struct Raw;

impl SerializerAdapter<Bytes> for Raw {
    type Error = Infallible;
    fn output_encoding() -> RepresentationIdentifier {
        RepresentationIdentifier::CDR_LE
    }
    fn to_bytes(value: &Bytes) -> Result<Bytes, Infallible> {
        Ok(value.clone())
    }
}

impl DeserializerAdapter<Bytes> for Raw {
    type Error = Infallible;
    type Decoded = Bytes;
    fn supported_encodings() -> &'static [RepresentationIdentifier] {
        &[RepresentationIdentifier::CDR_LE]
    }
    fn transform_decoded(decoded: Bytes) -> Bytes {
        decoded
    }
}

impl DefaultDecoder<Bytes> for Raw {
    type Decoder = Self;
    const DECODER: Self = Self;
}

impl Decode<'_, Bytes> for Raw {
    type Error = Infallible;
    fn decode_bytes(self, input: &[u8], _: RepresentationIdentifier) -> Result<Bytes, Infallible> {
        Ok(Bytes::copy_from_slice(input))
    }
}

pub type Writer = DataWriter<Bytes, Raw>;
pub type Reader = SimpleDataReader<Bytes, Raw>;

/// A participant that stays on the loopback interface. With the feature `security` it is secured.
pub fn local(domain: u16) -> DomainParticipantBuilder {
    let builder = DomainParticipantBuilder::new(domain).with_only_networks([IpAddr::V4(Ipv4Addr::LOCALHOST)]);
    #[cfg(feature = "security")]
    let builder = {
        let folder = rosless_tests::enclave(domain);
        let files =
            rustdds::DomainParticipantSecurityConfigFiles::with_ros_default_names(folder, String::new());
        builder.builtin_security(files)
    };
    builder
}

pub fn reliable(depth: i32) -> QosPolicies {
    QosPolicyBuilder::new()
        .reliability(policy::Reliability::Reliable { max_blocking_time: rustdds::Duration::from_millis(100) })
        .durability(policy::Durability::Volatile)
        .history(policy::History::KeepLast { depth })
        .build()
}

/// Refuses to write when so many are not acknowledged.
pub fn keep_all(room: i32) -> QosPolicies {
    QosPolicyBuilder::new()
        .reliability(policy::Reliability::Reliable { max_blocking_time: rustdds::Duration::from_millis(100) })
        .durability(policy::Durability::Volatile)
        .history(policy::History::KeepAll)
        .resource_limits(policy::ResourceLimits {
            max_samples: room,
            max_instances: 1,
            max_samples_per_instance: room,
        })
        .build()
}

pub fn best_effort() -> QosPolicies {
    QosPolicyBuilder::new()
        .reliability(policy::Reliability::BestEffort)
        .durability(policy::Durability::Volatile)
        .history(policy::History::KeepLast { depth: 10 })
        .build()
}

pub fn topic(participant: &DomainParticipant, name: &str, type_name: &str, qos: &QosPolicies) -> Topic {
    participant.create_topic(name.into(), type_name.into(), qos, TopicKind::NoKey).expect("topic")
}

pub fn writer(participant: &DomainParticipant, name: &str, qos: &QosPolicies) -> Writer {
    let topic = topic(participant, name, TYPE, qos);
    let publisher = participant.create_publisher(qos).expect("publisher");
    publisher.create_datawriter_no_key(&topic, Some(qos.clone())).expect("writer")
}

pub fn reader(participant: &DomainParticipant, name: &str, qos: &QosPolicies) -> Reader {
    typed_reader(participant, name, TYPE, qos)
}

pub fn typed_reader(
    participant: &DomainParticipant,
    name: &str,
    type_name: &str,
    qos: &QosPolicies,
) -> Reader {
    let topic = topic(participant, name, type_name, qos);
    let subscriber = participant.create_subscriber(qos).expect("subscriber");
    subscriber.create_simple_datareader_no_key(&topic, Some(qos.clone())).expect("reader")
}

/// What arrives when `text` is sent: payloads come padded to 4 bytes.
pub fn padded(text: String) -> Bytes {
    let mut bytes = text.into_bytes();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    Bytes::from(bytes)
}

pub fn write(writer: &Writer, payload: impl Into<Bytes>) {
    writer.write(payload.into(), Some(Timestamp::now())).expect("sample is accepted");
}

/// Everything that has arrived at `reader` and is what it should be; taken raw, as our nodes do.
pub fn take(reader: &Reader) -> Vec<Bytes> {
    reader.drain_read_notifications();
    std::iter::from_fn(|| reader.try_take_raw())
        // What is not in CDR is somebody else's.
        .filter(|raw| raw.payload.representation_identifier == RepresentationIdentifier::CDR_LE)
        .map(|raw| raw.payload.value)
        .collect()
}

/// Writes until a new sample comes through: shows that both ends are matched and alive.
#[track_caller]
pub fn exchange(what: &str, writer: &Writer, reader: &Reader) {
    let mark = padded(format!("{what} {:?}", Timestamp::now()));
    eventually(what, SOON, || {
        // A full window is no reason to give up: that it empties is what is waited for.
        let _ = writer.write(mark.clone(), Some(Timestamp::now()));
        std::thread::sleep(Duration::from_millis(20));
        take(reader).contains(&mark)
    });
}

const ROLE: &str = "ROSLESS_RUSTDDS_PEER";

/// Starts this test binary once more as a DDS application with a role of its own (see [`peer_process`]).
pub fn peer(role: &str, domain: u16) -> Daemon {
    let daemon = Daemon::spawn(peer_command(role, domain));
    daemon.wait_for_line("ready", SOON);
    daemon
}

pub fn peer_command(role: &str, domain: u16) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("path of this test"));
    command.args(["--exact", "common::peer_process", "--nocapture", "--test-threads=1"]);
    command.env(ROLE, format!("{role} {domain}"));
    #[cfg(feature = "security")]
    {
        let (name, folder) = rosless_tests::keystores();
        command.env(name, folder);
    }
    command
}

/// Runs the role that [`peer`] asks for until the process is killed; by itself it shows that this works.
#[test]
fn peer_process() {
    let Ok(role) = std::env::var(ROLE) else {
        let lease = rosless_tests::DomainLease::acquire();
        let mut peer = peer("none", lease.id());
        assert!(peer.wait(SOON).success());
        return;
    };
    let (role, domain) = role.split_once(' ').expect("role and domain");
    let builder = local(domain.parse().expect("domain"));
    let (builder, down_qos) = match role {
        // It is not missed while it is stopped, soon has no room for what comes then, and throws nothing away by itself.
        "echo-frozen" => {
            (builder.lease_duration(6 * SOON).socket_receive_buffer_size(100_000), keep_all(1000))
        }
        "echo-best-effort" => (builder, best_effort()),
        _ => (builder, reliable(100)),
    };
    let participant = builder.build().expect("participant");
    let sink = reader(&participant, "down", &down_qos);
    let source = writer(&participant, "up", &reliable(100));
    println!("ready");
    let step = Duration::from_millis(5);
    match role {
        "none" => {}
        "echo" | "echo-best-effort" | "echo-frozen" => loop {
            for sample in take(&sink) {
                write(&source, sample);
            }
            std::thread::sleep(step);
        },
        other => panic!("no role {other}"),
    }
}

/// Resident memory of a process in bytes.
pub fn resident(pid: u32) -> u64 {
    1024 * status(pid, "VmRSS:")
}

/// How many threads a process has.
pub fn threads(pid: u32) -> u64 {
    status(pid, "Threads:")
}

fn status(pid: u32, field: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("process runs");
    let line = status.lines().find(|line| line.starts_with(field)).expect("the field");
    line.split_whitespace().nth(1).and_then(|value| value.parse().ok()).expect("a number")
}

/// CPU time that a process has used.
pub fn cpu_time(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("process runs");
    let fields = stat.rsplit_once(") ").expect("name in brackets").1.split(' ');
    let ticks: u64 = fields.skip(11).take(2).map(|ticks| ticks.parse::<u64>().expect("a number")).sum();
    Duration::from_millis(10 * ticks)
}

/// Bytes that wait in the receive buffers of these UDP ports.
pub fn waiting(ports: [u16; 2]) -> u64 {
    let table = std::fs::read_to_string("/proc/net/udp").expect("socket table");
    let of_port = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let port = u16::from_str_radix(fields.get(1)?.split_once(':')?.1, 16).ok()?;
        let queue = u64::from_str_radix(fields.get(4)?.split_once(':')?.1, 16).ok()?;
        ports.contains(&port).then_some(queue)
    };
    table.lines().skip(1).filter_map(of_port).sum()
}

/// How many datagrams found no room in a receive buffer, of all participants of a domain.
pub fn overflown(domain: u16) -> u64 {
    let base = 7400 + 250 * domain;
    let table = std::fs::read_to_string("/proc/net/udp").expect("socket table");
    let of_domain = |line: &str| {
        let mut fields = line.split_whitespace();
        let port = u16::from_str_radix(fields.nth(1)?.split_once(':')?.1, 16).ok()?;
        let drops = fields.last()?.parse::<u64>().ok()?;
        (base..base + 250).contains(&port).then_some(drops)
    };
    table.lines().skip(1).filter_map(of_domain).sum()
}

/// Ports of participant `id` of a domain: for discovery and for data.
pub fn ports(domain: u16, id: u16) -> [u16; 2] {
    let base = 7400 + 250 * domain + 2 * id;
    [base + 10, base + 11]
}
