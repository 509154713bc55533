//! Participants whose work the application does, and what happens when it has no time for it.

mod common;

use std::{
    fs,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use common::{
    best_effort,
    driven::Application,
    local, reader, reliable,
    scripted::{Announced, Heard, ScriptedPeer, CYCLONE, DATA, SUBSCRIPTIONS_READER, SUBSCRIPTIONS_WRITER},
    take, writer, Reader, Writer, SOON,
};
use rosless_tests::{eventually, DomainLease};
use rustdds::{
    bytes::Bytes, policy, DataWriterStatus, DomainParticipant, DomainParticipantStatusEvent, QosPolicies,
    QosPolicyBuilder, RTPSEntity, StatusEvented,
};

fn keep_all() -> QosPolicies {
    QosPolicyBuilder::new()
        .reliability(policy::Reliability::Reliable { max_blocking_time: rustdds::Duration::from_millis(100) })
        .durability(policy::Durability::Volatile)
        .history(policy::History::KeepAll)
        .build()
}

/// How often the event loops of this process's participants have gone to sleep.
fn sleeps_of_participants() -> u64 {
    let threads =
        fs::read_dir("/proc/self/task").expect("threads").map(|thread| thread.expect("thread").path());
    let of = |status: String| {
        let field = |name: &str| {
            status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::trim))
        };
        (field("Name") == Some("RustDDS Partici"))
            .then(|| field("voluntary_ctxt_switches").and_then(|count| count.parse::<u64>().ok()))
    };
    threads.filter_map(|thread| of(fs::read_to_string(thread.join("status")).ok()?).flatten()).sum()
}

fn answer_pings(domain: u16, stop: &mpsc::Receiver<()>) {
    let mut application = Application::new(local(domain));
    let pings = reader(&application.participant, "ping", &reliable(10));
    let pongs = writer(&application.participant, "pong", &reliable(10));
    while stop.try_recv().is_err() {
        for _ in application.turn() {
            for ping in take(&pings) {
                application.write(&pongs, &ping);
            }
        }
    }
}

#[test]
fn an_application_that_turns_has_the_work_to_itself() {
    const ROUNDS: u32 = 1000;
    let lease = DomainLease::acquire();
    let domain = lease.id();
    let (stop, stopped) = mpsc::channel();
    let other = thread::spawn(move || answer_pings(domain, &stopped));

    let mut application = Application::new(local(domain));
    let pings = writer(&application.participant, "ping", &reliable(10));
    let pongs = reader(&application.participant, "pong", &reliable(10));
    let answered = |application: &mut Application, round: u32, patience: Duration| {
        application.write(&pings, &round.to_le_bytes());
        let end = Instant::now() + patience;
        while Instant::now() < end {
            let ready = application.turn();
            if ready.contains(&pongs.guid().entity_id)
                && take(&pongs).iter().any(|pong| pong[..] == round.to_le_bytes())
            {
                return true;
            }
        }
        false
    };
    eventually("the other answers", SOON, || {
        answered(&mut application, u32::MAX, Duration::from_millis(100))
    });
    // Until both have noticed that they are not needed.
    application.turn_for(Duration::from_millis(300));
    let (before, start) = (sleeps_of_participants(), Instant::now());
    for round in 0..ROUNDS {
        assert!(answered(&mut application, round, SOON), "round {round}");
    }
    let sleeps = sleeps_of_participants() - before;
    // They look four times a second whether they are needed.
    let looks = 2 * start.elapsed().as_millis() as u64 / 250;
    assert!(sleeps < u64::from(ROUNDS) / 2 + looks, "they slept {sleeps} times in {ROUNDS} rounds");
    stop.send(()).expect("the other is alive");
    other.join().expect("the other ends well");
}

fn lost(participant: &DomainParticipant) -> bool {
    let events = std::iter::from_fn(|| participant.status_listener().try_recv_status());
    // All of them are taken, so that the next call tells of what came after.
    events.filter(|event| matches!(event, DomainParticipantStatusEvent::ParticipantLost { .. })).count() > 0
}

#[test]
fn a_busy_application_is_stood_in_for_by_the_participants_thread() {
    const SAMPLES: u32 = 50; // for more, RustDDS wants resource limits
    let lease = DomainLease::acquire();
    let short = Duration::from_millis(1500);
    let mut busy = Application::new(local(lease.id()).lease_duration(short));
    let peer = local(lease.id()).build().expect("participant");
    let (to_peer, from_peer): (Writer, Reader) =
        (writer(&busy.participant, "out", &keep_all()), reader(&busy.participant, "in", &keep_all()));
    let (to_busy, from_busy) = (writer(&peer, "in", &keep_all()), reader(&peer, "out", &keep_all()));
    let mut heard = (false, false);
    eventually("both hear each other", SOON, || {
        busy.turn_for(Duration::from_millis(20));
        busy.write(&to_peer, b"hear");
        common::write(&to_busy, Bytes::from_static(b"hear"));
        heard.0 |= !take(&from_peer).is_empty();
        heard.1 |= !take(&from_busy).is_empty();
        heard == (true, true)
    });
    busy.turn_for(Duration::from_millis(300));
    take(&from_peer);
    take(&from_busy);
    lost(&peer);

    // From here on, and for much longer than its lease, the application does not turn.
    let start = Instant::now();
    for number in 0..SAMPLES {
        common::write(&to_busy, number.to_le_bytes().to_vec());
    }
    assert!(to_busy.wait_for_acknowledgments(SOON).expect("no fault"), "what it received is acknowledged");
    busy.write(&to_peer, b"from a busy application");
    eventually("what it writes is sent", SOON, || !take(&from_busy).is_empty());
    thread::sleep((3 * short).saturating_sub(start.elapsed()));
    assert!(!lost(&peer), "it was announced all the time");

    let ready = busy.turn();
    assert!(ready.contains(&from_peer.guid().entity_id), "it learns what it has got: {ready:?}");
    let numbers: Vec<_> = take(&from_peer);
    assert_eq!(numbers, (0..SAMPLES).map(|n| Bytes::from(n.to_le_bytes().to_vec())).collect::<Vec<_>>());
}

#[test]
fn a_blocked_application_hands_over_and_leaves_in_order() {
    let lease = DomainLease::acquire();
    let mut application = Application::new(local(lease.id()));
    let peer = local(lease.id()).build().expect("participant");
    let (to_peer, from_application) =
        (writer(&application.participant, "t", &keep_all()), reader(&peer, "t", &keep_all()));
    eventually("they have met", SOON, || {
        application.turn_for(Duration::from_millis(20));
        application.write(&to_peer, b"hear");
        !take(&from_application).is_empty()
    });
    for _ in 0..50 {
        application.write(&to_peer, b"wait");
    }
    application.driver.hand_over();
    assert!(to_peer.wait_for_acknowledgments(SOON).expect("no fault"));
    application.turn_for(Duration::from_millis(300));
    lost(&peer);
    let Application { participant, driver, .. } = application;
    drop((to_peer, participant));
    eventually("its goodbye is heard", SOON, || lost(&peer));
    // Nothing is left to be driven.
    assert_eq!(driver.before_wait(&mut Vec::new(), Instant::now()), None);
}

/// A driving application with a writer for each topic, and a peer of bytes that hears each of its datagrams.
struct Overheard {
    application: Application,
    writers: Vec<Writer>,
    peer: ScriptedPeer,
    _lease: DomainLease,
}

const SAMPLE: [u8; 100] = [7; 100];

impl Overheard {
    fn new(topics: &[(&str, QosPolicies)]) -> Self {
        let lease = DomainLease::acquire();
        let application = Application::new(local(lease.id()));
        let writers: Vec<_> =
            topics.iter().map(|(topic, qos)| writer(&application.participant, topic, qos)).collect();
        let mut peer = ScriptedPeer::new(&application.participant, CYCLONE);
        peer.meet();
        let mut announced = Vec::new();
        for (number, (topic, _)) in (1..).zip(topics) {
            let reader = Announced { entity: [0, 0, number, 4], topic, reliable: false };
            announced.push(peer.announcement(number.into(), reader));
        }
        announced.push(peer.heartbeat(SUBSCRIPTIONS_WRITER, 1, topics.len() as i64));
        peer.say_to_discovery(&announced);
        // Who has not shown that it hears us gets no more than it gave.
        let shown = peer.acknack(SUBSCRIPTIONS_READER, SUBSCRIPTIONS_WRITER, 1);
        peer.say_to_discovery(&[shown]);
        let mut overheard = Self { application, writers, peer, _lease: lease };
        for number in 0..topics.len() {
            eventually("the peer hears the writer", SOON, || {
                overheard.application.write(&overheard.writers[number], &SAMPLE);
                overheard.application.turn_within(Duration::from_millis(10));
                !overheard.hear(number).concat().is_empty()
            });
        }
        overheard.application.turn_for(Duration::from_millis(300));
        overheard.peer.listen();
        overheard
    }

    fn entity(&self, number: usize) -> [u8; 4] {
        self.writers[number].guid().to_bytes()[12..].try_into().expect("four bytes")
    }

    fn write(&self, number: usize, samples: usize) {
        for _ in 0..samples {
            self.application.write(&self.writers[number], &SAMPLE);
        }
    }

    /// Numbers of the writer's samples, by datagram.
    fn hear(&self, number: usize) -> Vec<Vec<i64>> {
        let writer = self.entity(number);
        let samples = |datagram: Vec<Heard>| -> Vec<i64> {
            datagram.iter().filter(|heard| heard.is(DATA, writer)).map(Heard::sequence).collect()
        };
        let datagrams = self.peer.listen_by_datagram().into_iter().map(samples);
        datagrams.filter(|samples| !samples.is_empty()).collect()
    }
}

fn follow_each_other(numbers: &[i64]) -> bool {
    numbers.windows(2).all(|pair| pair[1] == pair[0] + 1)
}

/// Without patch 0246: 200 datagrams.
#[test]
fn a_few_samples_are_sent_one_by_one_and_many_in_few_datagrams() {
    const FEW: usize = 8;
    const MANY: usize = 200;
    let mut overheard = Overheard::new(&[("t", reliable(1000))]);
    overheard.write(0, FEW);
    let at_once = overheard.hear(0);
    assert_eq!(at_once.iter().map(Vec::len).collect::<Vec<_>>(), [1; FEW], "nobody has turned since");
    overheard.write(0, MANY - FEW);
    overheard.application.turn_within(Duration::ZERO);
    let rest = overheard.hear(0);
    let numbers = [at_once.concat(), rest.concat()].concat();
    assert!(numbers.len() == MANY && follow_each_other(&numbers), "{numbers:?}");
    assert!(rest.len() <= (MANY - FEW) / 8, "{} datagrams", rest.len());
    // After it has waited, the next few are sent at once again.
    overheard.write(0, 1);
    assert_eq!(overheard.hear(0).len(), 1);
}

#[test]
fn what_was_written_first_goes_first_also_after_a_burst() {
    let overheard = Overheard::new(&[("a", reliable(1000)), ("b", reliable(1000))]);
    overheard.write(0, 50);
    overheard.write(1, 1);
    let (a, b) = (overheard.entity(0), overheard.entity(1));
    let heard = overheard.peer.listen();
    let of =
        |writer| heard.iter().enumerate().filter(move |(_, heard)| heard.is(DATA, writer)).map(|(at, _)| at);
    assert_eq!((of(a).count(), of(b).count()), (50, 1), "nobody has turned since");
    assert!(of(a).max() < of(b).max());
}

#[test]
fn no_burst_pushes_its_own_samples_out_of_a_short_history() {
    for qos in [best_effort(), reliable(1), reliable(10)] {
        let mut overheard = Overheard::new(&[("t", qos)]);
        overheard.write(0, 100);
        overheard.application.turn_within(Duration::ZERO);
        let numbers = overheard.hear(0).concat();
        assert!(numbers.len() == 100 && follow_each_other(&numbers), "{numbers:?}");
    }
}

#[test]
fn the_rest_of_a_burst_is_sent_when_the_application_does_not_come_back() {
    let overheard = Overheard::new(&[("t", reliable(1000))]);
    overheard.write(0, 50);
    let mut numbers = Vec::new();
    eventually("all of it is sent", SOON, || {
        numbers.extend(overheard.hear(0).concat());
        numbers.len() == 50
    });
    assert!(follow_each_other(&numbers), "{numbers:?}");
}

/// Where nobody waits until the application has taken what there is (patch 0246), each is asked for several times, because
/// there was no room for it; without patch 0250 some are lost then.
#[test]
fn a_reader_that_keeps_all_gets_no_more_than_it_has_room_for() {
    const ROOM: i32 = 10_000;
    const SAMPLES: u32 = 60_000;
    const AT_A_TIME: usize = 100;
    let lease = DomainLease::acquire();
    let domain = lease.id();
    let talker = thread::spawn(move || {
        let mut application = Application::new(local(domain));
        let writer = writer(&application.participant, "t", &common::keep_all(ROOM));
        while !matches!(writer.try_recv_status(), Some(DataWriterStatus::PublicationMatched { .. })) {
            application.turn_within(Duration::from_millis(10));
        }
        let mut next = 0;
        while next < SAMPLES {
            let mut sample = SAMPLE;
            sample[..4].copy_from_slice(&next.to_le_bytes());
            let is_taken = application.try_write(&writer, &sample);
            next += u32::from(is_taken);
            if !is_taken {
                application.turn_within(Duration::from_millis(1));
            }
        }
        application.driver.hand_over();
        assert!(writer.wait_for_acknowledgments(SOON).expect("no fault"), "all has come");
    });
    let mut application = Application::new(local(domain));
    let reader = reader(&application.participant, "t", &common::keep_all(ROOM));
    let mut numbers = Vec::new();
    let mut more = false;
    let end = Instant::now() + 3 * SOON;
    while numbers.last() != Some(&(SAMPLES - 1)) {
        assert!(Instant::now() < end, "only {} came, up to {:?}", numbers.len(), numbers.last());
        let ready = application.turn_within(if more { Duration::ZERO } else { Duration::from_millis(10) });
        more |= !ready.is_empty();
        reader.drain_read_notifications();
        for _ in 0..AT_A_TIME {
            let Some(sample) = reader.try_take_raw() else {
                more = false;
                break;
            };
            numbers.push(u32::from_le_bytes(sample.payload.value[..4].try_into().expect("four bytes")));
        }
    }
    let out_of_turn = numbers.iter().zip(0..).find(|(number, place)| *number != place);
    assert_eq!(out_of_turn, None, "a number, and its place");
    let repairs = application.participant.repairs();
    assert!(repairs.asked() < 100, "{repairs:?}");
    talker.join().expect("the talker ends well");
}
