//! Participants whose work the application does, and what happens when it has no time for it.

mod common;

use std::{
    fs,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use common::{driven::Application, local, reader, reliable, take, writer, Reader, Writer, SOON};
use rosless_tests::{eventually, DomainLease};
use rustdds::{
    bytes::Bytes, policy, DomainParticipant, DomainParticipantStatusEvent, QosPolicies, QosPolicyBuilder,
    StatusEvented,
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
