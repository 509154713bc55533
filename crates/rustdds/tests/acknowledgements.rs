//! What readers answer to heartbeats, and when writers want an answer.

mod common;
// When a writer speaks is decided without a clock, and looked at here without one.
#[rustfmt::skip]
#[path = "../patches/new/rtps/heartbeats.rs"]
mod heartbeats;
mod structure {
    pub mod sequence_number {
        pub use rustdds::SequenceNumber;
    }
}

use std::{
    net::{Ipv4Addr, UdpSocket},
    thread,
    time::{Duration, Instant},
};

use common::{
    local, reader, reliable,
    scripted::{
        Announced, Heard, ScriptedPeer, ACKNACK, ANYBODY, CYCLONE, DATA, HEARTBEAT, PUBLICATIONS_WRITER,
        SUBSCRIPTIONS_WRITER,
    },
    take, write, writer, Writer, SOON,
};
use heartbeats::Heartbeats;
use rosless_tests::{eventually, DomainLease};
use rustdds::{bytes::Bytes, policy, DomainParticipant, QosPolicies, RTPSEntity, SequenceNumber};

const READERS: usize = 40;

/// Ids of the submessages of a packet whose numbers are little-endian.
fn submessages(packet: &[u8]) -> Vec<u8> {
    let mut rest = &packet[20..];
    let mut ids = Vec::new();
    while let [id, _, low, high, ..] = rest {
        ids.push(*id);
        rest = &rest[4 + usize::from(u16::from_le_bytes([*low, *high]))..];
    }
    ids
}

/// Stock: as many datagrams as readers.
#[test]
fn all_readers_of_a_participant_answer_in_one_datagram() {
    let lease = DomainLease::acquire();
    let ends =
        [local(lease.id()).build().expect("participant"), local(lease.id()).build().expect("participant")];
    let writer = writer(&ends[0], "t", &reliable(10));
    let readers: Vec<_> = (0..READERS).map(|_| reader(&ends[1], "t", &reliable(10))).collect();
    let mut heard = [false; READERS];
    eventually("every reader hears the writer", SOON, || {
        write(&writer, Bytes::from_static(b"hear"));
        for (reader, heard) in readers.iter().zip(&mut heard) {
            *heard |= !take(reader).is_empty();
        }
        heard.iter().all(|&heard| heard)
    });

    // A heartbeat as if from the writer, that wants the answers sent to us instead.
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("socket");
    socket.set_read_timeout(Some(SOON)).expect("timeout");
    let own_port = u32::from(socket.local_addr().expect("address").port());
    let guid = writer.guid().to_bytes();
    // One locator of kind UDPv4, and no multicast ones: RustDDS reads a word for those in any case.
    let locator = [&1i32.to_le_bytes()[..], &own_port.to_le_bytes(), &[0; 12], &[127, 0, 0, 1]].concat();
    let reply_to = [&1u32.to_le_bytes()[..], &locator, &[0; 4]];
    let (first, last) = ([0, 0, 0, 0, 1, 0, 0, 0], [0; 8]);
    let heartbeat = [&[0; 4][..], &guid[12..], &first, &last, &1_000_000i32.to_le_bytes()];
    let mut packet = [b"RTPS\x02\x03\x01\x12", &guid[..12]].concat();
    for (id, body) in [(0x0f, reply_to.concat()), (0x07, heartbeat.concat())] {
        packet.extend([id, 1]);
        packet.extend((body.len() as u16).to_le_bytes());
        packet.extend(body);
    }
    // The participant of the readers was the second on this host.
    let port = 7400 + 250 * lease.id() + 11 + 2;
    socket.send_to(&packet, (Ipv4Addr::LOCALHOST, port)).expect("sent");

    let mut answer = [0; 2000];
    let length = socket.recv(&mut answer).expect("an answer");
    let acknacks = submessages(&answer[..length]).into_iter().filter(|id| *id == ACKNACK).count();
    assert_eq!(acknacks, READERS);
}

const THEIR_READER: [u8; 4] = [0, 0, 0x13, 4];

/// A reader of bytes that has everything our writer has sent.
struct Listener {
    peer: ScriptedPeer,
    our_writer: [u8; 4],
    participant: DomainParticipant,
    _lease: DomainLease,
}

impl Listener {
    fn new() -> (Self, Writer) {
        let lease = DomainLease::acquire();
        let participant = local(lease.id()).build().expect("participant");
        let writer = writer(&participant, "t", &reliable(1000));
        let our_writer = writer.guid().to_bytes()[12..].try_into().expect("four bytes");
        let mut peer = ScriptedPeer::new(&participant, CYCLONE);
        peer.meet();
        let reader = Announced { entity: THEIR_READER, topic: "t", reliable: true };
        let announcement = peer.announcement(1, reader);
        let heartbeat = peer.heartbeat(SUBSCRIPTIONS_WRITER, 1, 1);
        peer.say_to_discovery(&[announcement, heartbeat]);
        let mut listener = Self { peer, our_writer, participant, _lease: lease };
        eventually("our writer finds the reader", SOON, || {
            listener.acknowledge(1);
            !listener.hear().is_empty()
        });
        (listener, writer)
    }

    fn acknowledge(&mut self, base: i64) {
        let acknack = self.peer.acknack(THEIR_READER, self.our_writer, base);
        self.peer.say(&[acknack]);
    }

    /// What our writer has said since the last time.
    fn hear(&self) -> Vec<Heard> {
        let heard = self.peer.listen().into_iter();
        heard
            .filter(|heard| matches!(heard.id, DATA | HEARTBEAT) && heard.writer() == self.our_writer)
            .collect()
    }

    /// Waits for the next HEARTBEAT that does not come with a sample.
    fn next_heartbeat(&self) -> Instant {
        let mut alone = false;
        eventually("a heartbeat", SOON, || {
            thread::sleep(Duration::from_millis(1));
            let heard = self.hear();
            alone = !heard.is_empty() && heard.iter().all(|heard| heard.id == HEARTBEAT);
            alone
        });
        Instant::now()
    }
}

/// Before: after each of them.
#[test]
fn a_burst_asks_for_few_acknowledgements_and_one_at_its_end() {
    const SAMPLES: i64 = 300;
    let (listener, writer) = Listener::new();
    let start = Instant::now();
    for number in 0..SAMPLES {
        write(&writer, number.to_le_bytes().to_vec());
        // So that not all go into one datagram.
        thread::sleep(Duration::from_micros(100));
    }
    let took = start.elapsed();
    let (mut with_data, mut asking, mut last) = (0, 0, None);
    eventually("the burst and what follows it", SOON, || {
        for heard in listener.hear().into_iter().filter(|heard| heard.id == HEARTBEAT) {
            if last.is_none_or(|last| heard.last_sequence() > last) {
                with_data += 1;
                asking += usize::from(!heard.is_final());
                last = Some(heard.last_sequence());
            } else if heard.last_sequence() == SAMPLES && !heard.is_final() {
                return true;
            }
        }
        false
    });
    assert_eq!(last, Some(SAMPLES));
    // Wherever this thread was kept from writing for some milliseconds, a burst ended.
    let pauses = took.as_millis() as usize / 3;
    assert!(asking <= 3 + pauses && asking < with_data / 2, "{asking} of {with_data}, in {took:?}");
}

/// Before: the first came after a tenth of a second, and then one every tenth.
#[test]
fn a_sample_that_nobody_acknowledges_is_announced_again_at_once_and_then_ever_more_slowly() {
    let (mut listener, writer) = Listener::new();
    for base in 1..20 {
        write(&writer, Bytes::from_static(b"lost"));
        let written = Instant::now();
        let first = listener.next_heartbeat() - written;
        // The next two are as quick: a heartbeat or its answer may get lost, too.
        for _ in 0..3 {
            listener.next_heartbeat();
        }
        let later = [(); 3].map(|()| listener.next_heartbeat());
        if 3 * first < later[1] - later[0] && 3 * first < later[2] - later[1] {
            return;
        }
        // This thread, or the other, was kept waiting: another time.
        listener.acknowledge(base + 1);
        thread::sleep(Duration::from_millis(20));
        listener.hear();
    }
    panic!("the first heartbeat comes as late as the others");
}

/// Before: after a second, the period of a writer whose readers have everything.
#[test]
fn a_new_reader_that_does_not_answer_is_asked_again_soon() {
    let (mut listener, _) = Listener::new();
    for attempt in 2..12 {
        let topic = format!("t{attempt}");
        let writer = writer(&listener.participant, &topic, &reliable(10));
        listener.our_writer = writer.guid().to_bytes()[12..].try_into().expect("four bytes");
        let entity = [0, 0, 0x20 + attempt as u8, 4];
        let reader = Announced { entity, topic: &topic, reliable: true };
        let announcement = listener.peer.announcement(attempt, reader);
        let heartbeat = listener.peer.heartbeat(SUBSCRIPTIONS_WRITER, 1, attempt);
        listener.peer.say_to_discovery(&[announcement, heartbeat]);
        let first = listener.next_heartbeat();
        if listener.next_heartbeat() - first < 400 * MILLISECOND {
            return;
        }
        // This thread, or the other, was kept waiting: another time.
    }
    panic!("the second heartbeat comes as late as those that nobody waits for");
}

const THEIR_WRITER: [u8; 4] = [0, 0, 0x14, 3];

/// Before: in a datagram of its own, after 2 ms.
#[test]
fn what_is_answered_is_acknowledged_with_the_answer() {
    let (mut listener, writer) = Listener::new();
    let reader = reader(&listener.participant, "u", &reliable(10));
    let peer = &mut listener.peer;
    let announced = Announced { entity: THEIR_WRITER, topic: "u", reliable: true };
    let announcement = peer.announcement(1, announced);
    let heartbeat = peer.heartbeat(PUBLICATIONS_WRITER, 1, 1);
    peer.say_to_discovery(&[announcement, heartbeat]);
    let mut asked = 0;
    eventually("an answer with the acknowledgement of the question", SOON, || {
        asked += 1;
        let question = peer.data(ANYBODY, THEIR_WRITER, asked, b"\0\x01\0\0question");
        let heartbeat = peer.heartbeat(THEIR_WRITER, 1, asked);
        peer.say(&[question, heartbeat]);
        let patience = Instant::now() + 100 * MILLISECOND;
        while take(&reader).is_empty() {
            if Instant::now() > patience {
                return false; // it has not met us yet
            }
            thread::yield_now();
        }
        write(&writer, Bytes::from_static(b"answer.."));
        thread::sleep(10 * MILLISECOND);
        peer.listen_by_datagram().iter().any(|datagram| {
            let has = |id, writer| datagram.iter().any(|heard| heard.is(id, writer));
            has(DATA, listener.our_writer) && has(ACKNACK, THEIR_WRITER)
        })
    });
}

/// Acknowledgements wait for others to go with them. If questions did so, too, each loss would cost that much more.
#[test]
fn what_is_missing_is_asked_for_without_the_delay_of_acknowledgements() {
    const DELAY: Duration = Duration::from_millis(2);
    const ROUNDS: i64 = 200;
    let (mut listener, _writer) = Listener::new();
    let _reader = reader(&listener.participant, "u", &reliable(10));
    let peer = &mut listener.peer;
    let announced = Announced { entity: THEIR_WRITER, topic: "u", reliable: true };
    let announcement = peer.announcement(1, announced);
    let heartbeat = peer.heartbeat(PUBLICATIONS_WRITER, 1, 1);
    peer.say_to_discovery(&[announcement, heartbeat]);
    eventually("our reader answers the writer", SOON, || {
        let heartbeat = peer.heartbeat(THEIR_WRITER, 1, 0);
        peer.say(&[heartbeat]);
        peer.listen().iter().any(|heard| heard.is(ACKNACK, THEIR_WRITER))
    });
    let answer_to = |peer: &ScriptedPeer, said: &[_], wanted: &dyn Fn((i64, u32)) -> bool| {
        let start = Instant::now();
        peer.say(said);
        let is_wanted = |heard: &Heard| heard.is(ACKNACK, THEIR_WRITER) && wanted(heard.asked());
        while !peer.listen().iter().any(is_wanted) {
            assert!(start.elapsed() < SOON, "no answer");
            thread::yield_now();
        }
        start.elapsed()
    };
    let (mut asked, mut acknowledged) = (Duration::MAX, Duration::MAX);
    for first in (1..).step_by(3).take(ROUNDS as usize) {
        let [one, two, three] = [first, first + 1, first + 2]
            .map(|number| peer.data(ANYBODY, THEIR_WRITER, number, b"\0\x01\0\0sample.."));
        peer.say(&[one]);
        let heartbeat = peer.heartbeat(THEIR_WRITER, 1, first + 2);
        let is_asked = |(base, bits)| base == first + 1 && bits > 0;
        asked = asked.min(answer_to(peer, &[three, heartbeat], &is_asked));
        let heartbeat = peer.heartbeat(THEIR_WRITER, 1, first + 2);
        let is_acknowledged = |(base, _)| base == first + 3;
        acknowledged = acknowledged.min(answer_to(peer, &[two, heartbeat], &is_acknowledged));
        // Both sides may be kept waiting, but not every time.
        if first > 30 && asked < DELAY {
            break;
        }
    }
    eprintln!("asked after {asked:?}, acknowledged after {acknowledged:?}");
    assert!(asked < DELAY, "at best after {asked:?}");
    assert!(acknowledged >= DELAY, "after {acknowledged:?}, without waiting for others");
}

/// Before: up to 8192 samples, as if somebody might ask for them, of each topic that nobody reads or that only those read who
/// never acknowledge anything. Daemons grew for hours.
#[test]
fn of_what_nobody_waits_for_as_much_is_kept_as_late_joiners_get() {
    const DEPTH: i64 = 3;
    const WRITTEN: i64 = 100;
    let lease = DomainLease::acquire();
    let ours = local(lease.id()).build().expect("participant");
    let qos = QosPolicies::builder()
        .reliability(policy::Reliability::Reliable { max_blocking_time: rustdds::Duration::from_millis(100) })
        .durability(policy::Durability::TransientLocal)
        .history(policy::History::KeepLast { depth: DEPTH as i32 })
        .build();
    let writer = writer(&ours, "t", &qos);
    let our_writer: [u8; 4] = writer.guid().to_bytes()[12..].try_into().expect("an entity id");
    // It hears all, and says nothing.
    let silent = local(lease.id()).build().expect("participant");
    let silent = reader(&silent, "t", &common::best_effort());
    eventually("somebody hears it", SOON, || {
        write(&writer, vec![0; 8]);
        !take(&silent).is_empty()
    });
    for _ in 0..WRITTEN {
        write(&writer, vec![0; 8]);
    }
    // Cleaning comes every six seconds.
    eventually("the last three are left", 2 * SOON, || {
        let mut peer = ScriptedPeer::new(&ours, CYCLONE);
        peer.meet();
        let reader = Announced { entity: THEIR_READER, topic: "t", reliable: true };
        let announcement = peer.announcement(1, reader);
        let heartbeat = peer.heartbeat(SUBSCRIPTIONS_WRITER, 1, 1);
        peer.say_to_discovery(&[announcement, heartbeat]);
        let mut range = None;
        eventually("our writer says what it has", SOON, || {
            let acknack = peer.acknack(THEIR_READER, our_writer, 1);
            peer.say(&[acknack]);
            let heard = peer.listen().into_iter().find(|heard| heard.is(HEARTBEAT, our_writer));
            range = heard.map(|heard| (heard.sequence(), heard.last_sequence()));
            range.is_some()
        });
        let (first, last) = range.expect("heard");
        let acknack = peer.acknack(THEIR_READER, our_writer, last + 1);
        peer.say(&[acknack]);
        peer.say_goodbye();
        assert!(last > WRITTEN, "{last}");
        first == last - DEPTH + 1
    });
}

const MILLISECOND: Duration = Duration::from_millis(1);

/// A writer whose samples and answers come when the test says so.
struct Timed {
    heartbeats: Heartbeats,
    now: Instant,
    last: i64,
}

impl Timed {
    fn new() -> Self {
        let now = Instant::now();
        Self { heartbeats: Heartbeats::new(1000 * MILLISECOND, 100 * MILLISECOND, now), now, last: 0 }
    }

    /// Writes a sample long after the one before, and returns how long its answer is waited for.
    fn write(&mut self) -> Duration {
        self.now += 300 * MILLISECOND;
        self.last += 1;
        let asks = self.heartbeats.written(SequenceNumber::new(self.last), 1, false, self.now);
        assert!(asks, "an isolated sample asks for an answer");
        self.heartbeats.timer(self.now).expect("a timer for what may be lost")
    }

    fn answered_after(&mut self, time: Duration) {
        self.heartbeats.acknowledged(SequenceNumber::new(self.last + 1), self.now + time);
        self.now += 100 * MILLISECOND;
        assert!(self.heartbeats.is_due(self.now));
        self.heartbeats.sent(false, self.now);
        self.heartbeats.timer(self.now);
    }

    /// When the first HEARTBEATs come after a sample to which nobody answers.
    fn times_of_heartbeats<const COUNT: usize>(&mut self) -> [Duration; COUNT] {
        let (first, start) = (self.write(), self.now);
        let mut wait = first;
        std::array::from_fn(|_| {
            self.now += wait;
            assert!(self.heartbeats.is_due(self.now), "the timer fires for nothing");
            self.heartbeats.sent(true, self.now);
            wait = self.heartbeats.timer(self.now).expect("goes on until there is an answer");
            self.now - start
        })
    }
}

/// A sample, a HEARTBEAT, the answer to it and what that asked for may all get lost: these are the timers that help.
#[test]
fn what_is_lost_is_told_of_at_once_a_few_times_and_then_more_slowly() {
    let mut writer = Timed::new();
    for _ in 0..20 {
        writer.write();
        writer.answered_after(2 * MILLISECOND);
    }
    let times = writer.times_of_heartbeats::<8>().map(|time| time.as_millis());
    assert_eq!(times, [5, 10, 15, 20, 30, 50, 90, 170]);
}

/// Before: each writer had a timer that rang once a second, also when nobody was there to be told of anything.
#[test]
fn a_writer_that_nobody_waits_for_has_no_timer_of_its_own() {
    let mut writer = Timed::new();
    assert_eq!(writer.heartbeats.timer(writer.now), None);
    assert!(writer.heartbeats.is_due_at_tick(), "it is looked at with all others");
    writer.write();
    assert!(!writer.heartbeats.is_due_at_tick(), "what may be lost has a timer");
    writer.answered_after(2 * MILLISECOND);
    assert!(writer.heartbeats.is_due_at_tick());
    assert_eq!(writer.heartbeats.timer(writer.now), None);
    writer.heartbeats.met(writer.now);
    assert!(writer.heartbeats.timer(writer.now).is_some_and(|after| after <= 100 * MILLISECOND));
    // A liveliness that is shorter needs HEARTBEATs more often.
    let mut lively = Heartbeats::new(300 * MILLISECOND, 100 * MILLISECOND, writer.now);
    assert_eq!(lively.timer(writer.now), Some(300 * MILLISECOND));
    assert!(!lively.is_due_at_tick());
}

/// On a busy machine each repetition that was lost cost as much as the first loss, 20 ms and more.
#[test]
fn who_asks_for_what_it_is_missing_is_told_again_as_quickly_as_it_asked() {
    let slow_answers = || {
        let mut writer = Timed::new();
        for _ in 0..200 {
            writer.write();
            writer.answered_after(9 * MILLISECOND);
        }
        writer
    };
    let mut writer = slow_answers();
    let [first] = writer.times_of_heartbeats();
    assert!(first > 10 * MILLISECOND, "answers take long: {first:?}");
    writer.now += MILLISECOND;
    writer.heartbeats.missing(writer.now);
    let again = writer.heartbeats.timer(writer.now).expect("a timer for the repetition");
    assert_eq!(again, 3 * MILLISECOND);

    // Somebody who asks late is not hurried.
    let mut writer = slow_answers();
    let [first] = writer.times_of_heartbeats();
    writer.now += first - MILLISECOND;
    writer.heartbeats.missing(writer.now);
    assert_eq!(writer.heartbeats.timer(writer.now), None, "the one that was set comes first");
}

/// Before: after a second, the period of writers who believe that everybody has everything.
#[test]
fn who_was_met_and_does_not_answer_is_asked_again_soon() {
    let mut writer = Timed::new();
    assert_eq!(writer.heartbeats.timer(writer.now), None);
    writer.now += 300 * MILLISECOND;
    writer.heartbeats.met(writer.now);
    assert_eq!(writer.heartbeats.timer(writer.now), Some(100 * MILLISECOND));
    writer.now += 100 * MILLISECOND;
    assert!(writer.heartbeats.is_due(writer.now));
    writer.heartbeats.sent(true, writer.now);
    assert_eq!(writer.heartbeats.timer(writer.now), Some(100 * MILLISECOND));
}

/// Answers that come late because a machine is busy made every later loss a pause of 0.1 s, and two of them 0.2 s.
#[test]
fn busy_peers_do_not_make_a_loss_a_pause() {
    let mut writer = Timed::new();
    for round in 0..200 {
        let patience = writer.write();
        // In the last moment, and now and then as soon as can be.
        writer.answered_after(if round % 10 == 0 { 2 * MILLISECOND } else { patience - MILLISECOND });
    }
    let times = writer.times_of_heartbeats::<5>();
    assert!(times[0] <= 30 * MILLISECOND, "{times:?}");
    assert!(times[4] <= 250 * MILLISECOND, "{times:?}");
}

/// Somebody far away is not asked before it can have answered.
#[test]
fn peers_whose_answers_always_take_long_are_waited_for() {
    let mut writer = Timed::new();
    let mut patience = Duration::ZERO;
    for _ in 0..300 {
        patience = writer.write();
        writer.answered_after((patience - MILLISECOND).min(30 * MILLISECOND));
    }
    assert!(patience > 40 * MILLISECOND, "{patience:?}");
}
