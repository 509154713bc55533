//! Everything that reads bytes of others, one function per fuzzer. Each takes any input, and must neither panic nor
//! take much memory; a failed assertion is a finding.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::LazyLock,
};

use rosless_graph::config::ParameterOverrides;
use rosless_schema::{Comments, DynamicMessage, Kind, Registry, TypeDescription, parse};
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
/// one invented participant, or from the victim itself if the length is odd.
pub fn packets(mut input: &[u8]) {
    let (victim, (_, reader)) = &*VICTIM;
    let own = victim.guid().to_bytes();
    let mut datagrams = Vec::new();
    while let Some((length, rest)) = input.split_first_chunk::<2>() {
        let length = u16::from_le_bytes(*length);
        let prefix = if length & 1 == 0 { &[0x66; 12] } else { &own[..12] };
        let (body, rest) = rest.split_at(rest.len().min(length.into()));
        // Whoever knows the victim can address it.
        let addressed = [&[0x0e, 1, 12, 0], &own[..12]].concat();
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
        if parse(kind, "pkg", "Type", "Type.x", &text).is_ok() {
            let mut registry = Registry::new();
            registry.add_source(kind, "pkg", "Type", "Type.x", &text);
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
