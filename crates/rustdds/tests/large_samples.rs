//! Samples in fragments, with a scripted peer that loses some of them.

mod common;

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use bytes::Bytes;
use common::{
    local, reader, reliable,
    scripted::{
        number, Announced, Heard, ScriptedPeer, ACKNACK, ANYBODY, DATA_FRAG, FAST_DDS, HEARTBEAT, NACK_FRAG,
        PUBLICATIONS_WRITER, SUBSCRIPTIONS_WRITER,
    },
    take, write, writer, SOON,
};
use rosless_tests::{eventually, DomainLease};
use rustdds::{
    policy, DomainParticipantStatusEvent as Event, QosPolicies, QosPolicyBuilder, RTPSEntity, StatusEvented,
    Timestamp, WriteOptionsBuilder,
};

const THEIR_WRITER: [u8; 4] = [0, 0, 0x12, 3];
const THEIR_READER: [u8; 4] = [0, 0, 0x13, 4];
const MEGABYTE: usize = 1_000_000;

/// First fragment, how many, their size and that of the sample.
fn fragments(heard: &Heard) -> (u32, u32, u32, u32) {
    let counts = heard.word(24);
    (heard.word(20), counts & 0xffff, counts >> 16, heard.word(28))
}

/// A writer of ours that has matched the peer's reader.
struct Heeded {
    _lease: DomainLease,
    _ours: rustdds::DomainParticipant,
    source: common::Writer,
    our_writer: [u8; 4],
    peer: ScriptedPeer,
}

impl Heeded {
    fn new(qos: &QosPolicies) -> Self {
        let lease = DomainLease::acquire();
        let ours = local(lease.id()).build().expect("participant");
        let events = ours.status_listener();
        let source = writer(&ours, "t", qos);
        let our_writer = source.guid().to_bytes()[12..].try_into().expect("entity id");
        let mut peer = ScriptedPeer::new(&ours, FAST_DDS);
        peer.meet();
        let announcement =
            peer.announcement(1, Announced { entity: THEIR_READER, topic: "t", reliable: true });
        let heartbeat = peer.heartbeat(SUBSCRIPTIONS_WRITER, 1, 1);
        peer.say_to_discovery(&[announcement, heartbeat]);
        eventually("the match", SOON, || {
            let acknack = peer.acknack(THEIR_READER, our_writer, 1);
            peer.say(&[acknack]);
            let is_match = |event| matches!(event, Event::RemoteReaderMatched { local_writer, .. } if local_writer == source.guid());
            std::iter::from_fn(|| events.try_recv_status()).any(is_match)
        });
        Self { _lease: lease, _ours: ours, source, our_writer, peer }
    }
}

/// Stock: 10 000 samples of any size.
#[test]
fn a_reader_that_acknowledges_nothing_does_not_fill_the_memory_and_one_that_does_frees_it() {
    const WHOLE: usize = 64;
    let qos = QosPolicyBuilder::new().history(policy::History::KeepAll).build();
    let mut heeded = Heeded::new(&reliable(1).modify_by(&qos));
    let Heeded { source, our_writer, peer, .. } = &mut heeded;
    let our_writer = *our_writer;
    let fill = || {
        let options = || WriteOptionsBuilder::new().source_timestamp(Timestamp::now()).build();
        let sample = Bytes::from(vec![7; MEGABYTE]);
        (0..WHOLE).take_while(|_| source.try_write_with_options(sample.clone(), options()).is_ok()).count()
    };
    let taken = fill();
    assert!((16..WHOLE).contains(&taken), "{taken} MB were taken");
    assert!(!source.has_room(), "whoever asks need not try");
    let mut last = 0;
    eventually("all have gone out", SOON, || {
        let latest = peer
            .listen()
            .iter()
            .filter(|heard| heard.is(HEARTBEAT, our_writer))
            .map(Heard::last_sequence)
            .max();
        last = last.max(latest.unwrap_or(0));
        last == taken as i64
    });
    let acknack = peer.acknack(THEIR_READER, our_writer, last + 1);
    peer.say(&[acknack]);
    eventually("there is room again", SOON, || source.has_room());
    assert!(fill() > 0);
}

/// Stock: fragments of 256 bytes, of which 8 are repaired every 10 ms.
#[test]
fn a_reader_gets_the_fragments_it_asks_for_and_is_asked_what_is_still_missing() {
    let heeded = Heeded::new(&reliable(10));
    let Heeded { source, our_writer, peer, .. } = &heeded;
    let our_writer = *our_writer;
    peer.listen();

    write(source, vec![7; MEGABYTE]);
    let mut received = BTreeSet::new();
    let mut sizes = BTreeSet::new();
    let (mut total, mut requests, mut confirmed) = (u32::MAX, 0u32, false);
    let deadline = Instant::now() + SOON;
    while !confirmed {
        assert!(
            Instant::now() < deadline,
            "{} of {total} fragments after {requests} requests",
            received.len()
        );
        std::thread::sleep(Duration::from_millis(1));
        for heard in peer.listen() {
            if heard.is(DATA_FRAG, our_writer) {
                let (first, count, size, sample) = fragments(&heard);
                sizes.insert(size);
                total = sample.div_ceil(size);
                // Every second one is lost the first time.
                received.extend((first..first + count).filter(|fragment| requests > 0 || fragment % 2 == 1));
            } else if heard.is(HEARTBEAT, our_writer) && heard.last_sequence() == 1 {
                confirmed = received.len() == total as usize;
                if !confirmed {
                    // As Fast DDS does it: all of a sample in one NACK_FRAG.
                    requests += 1;
                    let mut bits = [0u32; 8];
                    for missing in (0..total.min(256)).filter(|index| !received.contains(&(index + 1))) {
                        bits[missing as usize / 32] |= 1 << (31 - missing % 32);
                    }
                    let bits = bits.map(u32::to_le_bytes).concat();
                    let set = [&1u32.to_le_bytes()[..], &256u32.to_le_bytes(), &bits].concat();
                    let body =
                        [&THEIR_READER[..], &our_writer, &number(1), &set, &requests.to_le_bytes()].concat();
                    peer.say(&[(NACK_FRAG, 0, body)]);
                }
            }
        }
    }
    assert_eq!(sizes.len(), 1, "one size per sample: {sizes:?}");
    assert!(sizes.iter().all(|size| *size >= 8192 && size % 4 == 0), "loopback takes large ones: {sizes:?}");
    assert!(requests > 0, "nothing was lost");
}

struct Sending {
    _lease: DomainLease,
    _ours: rustdds::DomainParticipant,
    sink: common::Reader,
    peer: ScriptedPeer,
}

impl Sending {
    /// Our reader has matched the peer's writer.
    fn new() -> Self {
        let lease = DomainLease::acquire();
        let ours = local(lease.id()).build().expect("participant");
        let sink = reader(&ours, "t", &reliable(10));
        let mut peer = ScriptedPeer::new(&ours, FAST_DDS);
        peer.meet();
        let announcement =
            peer.announcement(1, Announced { entity: THEIR_WRITER, topic: "t", reliable: true });
        let heartbeat = peer.heartbeat(PUBLICATIONS_WRITER, 1, 1);
        peer.say_to_discovery(&[announcement, heartbeat]);
        eventually("ours asks", SOON, || peer.listen().iter().any(|heard| heard.is(ACKNACK, THEIR_WRITER)));
        let heartbeat = peer.heartbeat(THEIR_WRITER, 1, 0);
        peer.say(&[heartbeat]);
        Self { _lease: lease, _ours: ours, sink, peer }
    }

    fn send(&self, sequence: i64, size: u16, fragment: u32, sample: &[u8]) {
        let from = (fragment as usize - 1) * usize::from(size);
        let part = &sample[from..sample.len().min(from + usize::from(size))];
        let body = [
            &[0, 0, 28, 0][..],
            &ANYBODY,
            &THEIR_WRITER,
            &number(sequence),
            &fragment.to_le_bytes(),
            &1u16.to_le_bytes(),
            &size.to_le_bytes(),
            &(sample.len() as u32).to_le_bytes(),
            part,
        ];
        self.peer.say(&[(DATA_FRAG, 0, body.concat())]);
    }
}

fn sample(length: usize) -> Vec<u8> {
    let mut sample = vec![0, 1, 0, 0];
    sample.extend((4..length).map(|at| (at % 251) as u8));
    sample
}

/// Fast DDS repeats its HEARTBEAT after 3 s. Stock: waits for it.
#[test]
fn missing_fragments_are_asked_for_without_a_heartbeat() {
    let sending = Sending::new();
    let sample = sample(3000);
    sending.send(1, 1000, 1, &sample);
    sending.send(1, 1000, 3, &sample);
    eventually("the missing fragment is asked for", SOON, || {
        // Its sequence number, base and bits of the fragments.
        let asks = |heard: &Heard| {
            heard.is(NACK_FRAG, THEIR_WRITER)
                && (heard.sequence(), heard.word(16), heard.word(20)) == (1, 2, 1)
        };
        sending.peer.listen().iter().any(asks)
    });
    sending.send(1, 1000, 2, &sample);
    eventually("the sample is whole", SOON, || take(&sending.sink) == [sample[4..].to_vec()]);
}

/// Stock: takes all fragments of a writer to be of the size of the first.
#[test]
fn each_sample_has_its_own_fragment_size() {
    let sending = Sending::new();
    for (sequence, size) in [(1, 1000), (2, 400), (3, 1200)] {
        let sample = sample(2000 + sequence as usize);
        for fragment in 1..=sample.len().div_ceil(size.into()) as u32 {
            sending.send(sequence, size, fragment, &sample);
        }
        eventually("the sample is whole", SOON, || take(&sending.sink) == [sample[4..].to_vec()]);
    }
}

/// The memory of large samples is used again.
#[test]
fn a_sample_shows_nothing_of_those_before_it_and_stays_as_it_is_while_it_is_held() {
    const SIZE: u16 = 50_000;
    const LENGTH: usize = 150_000;
    let sending = Sending::new();
    let filled = |with: u8, length: usize| [vec![0, 1, 0, 0], vec![with; length - 4]].concat();
    let send = |sequence: i64, fragments: &[u32], sample: &[u8]| {
        fragments.iter().for_each(|fragment| sending.send(sequence, SIZE, *fragment, sample));
    };
    let come = || {
        let mut next = None;
        eventually("the sample is whole", SOON, || {
            next = sending.sink.try_take_raw();
            next.is_some()
        });
        next.expect("it has come").payload.value
    };
    let whole = |value: &[u8], with: u8, length: usize| {
        value.len() == length - 4 && value.iter().all(|byte| *byte == with)
    };
    let mut held = Vec::new();
    for sequence in 1..=8 {
        let (with, length) = (sequence as u8, LENGTH - 1000 * sequence as usize);
        // In order, in disorder.
        let order = if sequence % 3 == 0 { [2, 1, 3] } else { [1, 2, 3] };
        send(sequence, &order, &filled(with, length));
        let value = come();
        assert!(whole(&value, with, length), "sample {sequence}");
        // Some are held for longer than others.
        if sequence % 2 == 0 {
            held.push((value, with, length));
        }
    }
    assert!(
        held.iter().all(|(value, with, length)| whole(value, *with, *length)),
        "what is held was changed"
    );
    drop(held);
    // Who sends less than it announced gets zeros, not what was there before.
    let sample = filled(77, LENGTH - 9000);
    send(9, &[1, 2], &sample);
    let body = [
        &[0, 0, 28, 0][..],
        &ANYBODY,
        &THEIR_WRITER,
        &number(9),
        &3u32.to_le_bytes(),
        &1u16.to_le_bytes(),
        &SIZE.to_le_bytes(),
        &(sample.len() as u32).to_le_bytes(),
        &[77; 8],
    ];
    sending.peer.say(&[(DATA_FRAG, 0, body.concat())]);
    let value = come();
    let sent = 2 * usize::from(SIZE) + 8 - 4;
    assert_eq!(value.len(), sample.len() - 4);
    assert!(value[..sent].iter().all(|byte| *byte == 77) && value[sent..].iter().all(|byte| *byte == 0));
}
