//! Reliable samples over networks that lose, double and reorder datagrams.

mod common;

use std::{
    panic,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use common::{driven::Application, local, reader, take, write, writer, Reader, Writer, SOON};
use rosless_tests::{eventually, DomainLease};
use rustdds::{
    bytes::Bytes,
    feeding::{disturb, reordered, Disturbance},
    policy,
    repairs::Repairs,
    DomainParticipant, QosPolicies, QosPolicyBuilder, Timestamp,
};

const SAMPLES: usize = 600;

fn reliable(history: policy::History) -> QosPolicies {
    let room = SAMPLES as i32 + 100;
    QosPolicyBuilder::new()
        .reliability(policy::Reliability::Reliable { max_blocking_time: rustdds::Duration::from_millis(100) })
        .durability(policy::Durability::Volatile)
        .history(history)
        .resource_limits(policy::ResourceLimits {
            max_samples: room,
            max_instances: 1,
            max_samples_per_instance: room,
        })
        .build()
}

fn numbers(samples: &[Bytes]) -> Vec<usize> {
    let number = |sample: &Bytes| sample[..8].try_into().map(usize::from_le_bytes);
    samples.iter().filter_map(|sample| number(sample).ok()).collect()
}

/// Whose participant is driven by its application; the others have threads that work for them.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Driven {
    Nobody,
    Writing,
    Reading,
    Both,
}

enum Writing {
    Own(DomainParticipant, Writer),
    Driven(Application, Writer),
}

impl Writing {
    fn new(domain: u16, qos: &QosPolicies, is_driven: bool) -> Self {
        if is_driven {
            let application = Application::new(local(domain));
            let writer = writer(&application.participant, "t", qos);
            Self::Driven(application, writer)
        } else {
            let participant = local(domain).build().expect("participant");
            let writer = writer(&participant, "t", qos);
            Self::Own(participant, writer)
        }
    }

    /// A KEEP_ALL writer is full until samples are acknowledged.
    fn write(&mut self, number: usize) {
        let (payload, start) = (number.to_le_bytes(), Instant::now());
        let try_write = |writing: &Self| match writing {
            Self::Own(_, writer) => writer.write(payload.to_vec().into(), Some(Timestamp::now())).is_ok(),
            Self::Driven(application, writer) => application.try_write(writer, &payload),
        };
        while !try_write(self) {
            assert!(start.elapsed() < SOON, "no room for {number}");
            self.wait();
        }
    }

    /// For something to happen, but not for long.
    fn wait(&mut self) {
        match self {
            Self::Own(..) => thread::sleep(Duration::from_micros(200)),
            Self::Driven(application, _) => drop(application.turn_within(Duration::from_millis(1))),
        }
    }

    fn repairs(&self) -> Repairs {
        match self {
            Self::Own(participant, _) => participant.repairs(),
            Self::Driven(application, _) => application.participant.repairs(),
        }
    }
}

enum Reading {
    Own(DomainParticipant, Box<Reader>),
    Driven { heard: mpsc::Receiver<Vec<usize>>, repairs: Repairs, thread: thread::JoinHandle<()> },
}

impl Reading {
    fn new(domain: u16, qos: &QosPolicies, is_driven: bool) -> Self {
        if !is_driven {
            let participant = local(domain).build().expect("participant");
            let reader = reader(&participant, "t", qos);
            return Self::Own(participant, reader.into());
        }
        let (to_test, heard) = mpsc::channel();
        let (to_repairs, repairs) = mpsc::channel();
        let qos = qos.clone();
        let thread = thread::spawn(move || {
            let mut application = Application::new(local(domain));
            let reader = reader(&application.participant, "t", &qos);
            to_repairs.send(application.participant.repairs()).expect("the test waits");
            // Until the test has heard enough.
            loop {
                let ready = application.turn_within(Duration::from_millis(100));
                let taken = if ready.is_empty() { vec![] } else { numbers(&take(&reader)) };
                if to_test.send(taken).is_err() {
                    return;
                }
            }
        });
        Self::Driven { heard, repairs: repairs.recv().expect("the reader is there"), thread }
    }

    fn take(&self) -> Vec<usize> {
        match self {
            Self::Own(_, reader) => numbers(&take(reader)),
            Self::Driven { heard, .. } => heard.try_iter().flatten().collect(),
        }
    }

    fn repairs(&self) -> Repairs {
        match self {
            Self::Own(participant, _) => participant.repairs(),
            Self::Driven { repairs, .. } => repairs.clone(),
        }
    }

    /// Leaves before the domain is somebody else's.
    fn end(self) {
        if let Self::Driven { heard, thread, .. } = self {
            drop(heard);
            thread.join().expect("the reader ends well");
        }
    }
}

/// On a thread of its own, because what is late waits by thread, and must not come to another participant.
fn all_arrive(driven: Driven, history: policy::History, disturbance: Disturbance) {
    let all_arrive = move || all_arrive_here(driven, history, disturbance);
    if let Err(failure) = thread::spawn(all_arrive).join() {
        panic::resume_unwind(failure);
    }
}

/// Sends a burst, and then samples one by one, each of which is waited for: nothing that follows tells of its loss.
fn all_arrive_here(driven: Driven, history: policy::History, disturbance: Disturbance) {
    let case = format!("{disturbance:?}, {history:?}, driven: {driven:?}");
    let lease = DomainLease::acquire();
    let qos = reliable(history);
    let mut writing = Writing::new(lease.id(), &qos, matches!(driven, Driven::Writing | Driven::Both));
    let reading = Reading::new(lease.id(), &qos, matches!(driven, Driven::Reading | Driven::Both));
    let reordered_before = reordered();
    disturb(disturbance);
    let (mut heard, start) = (Vec::new(), Instant::now());
    while heard.is_empty() {
        assert!(start.elapsed() < SOON, "they do not meet: {case}");
        writing.write(usize::MAX);
        let patience = Instant::now() + Duration::from_millis(10);
        while Instant::now() < patience {
            writing.wait();
        }
        heard = reading.take();
    }
    for number in 0..SAMPLES - 100 {
        writing.write(number);
        // Now at once, now late: some are handed over one by one, others wait together.
        if number % 100 < 50 || number % 40 == 0 {
            heard.extend(reading.take());
        }
    }
    let mut times = Vec::new();
    for number in SAMPLES - 100..SAMPLES {
        let start = Instant::now();
        writing.write(number);
        while heard.last() != Some(&number) {
            assert!(start.elapsed() < SOON, "{number} does not arrive: {case}");
            writing.wait();
            heard.extend(reading.take());
        }
        times.push(start.elapsed());
    }
    heard.retain(|number| *number != usize::MAX);
    assert_eq!(heard, (0..SAMPLES).collect::<Vec<_>>(), "{case}");
    times.sort();
    let worst: Vec<Duration> = times.iter().rev().step_by(10).take(3).copied().collect();
    let reordered = reordered() - reordered_before;
    eprintln!(
        "{case}: each of 100 took at most {worst:?}, half of them {:?}, {reordered} datagrams were overtaken",
        times[50]
    );
    let repairs = (writing.repairs(), reading.repairs());
    reading.end();
    let (writing, reading) = repairs;
    if disturbance.lost >= 5 {
        assert!(writing.sent_again() > 0 && reading.asked() > 0, "{writing:?}, {reading:?}");
    }
    if disturbance.late >= 20 {
        assert!(reordered > 0, "nothing came late: {case}");
    }
    // Both have lost announcements, too: those of discovery do not count.
    assert_eq!((writing.asked(), reading.sent_again()), (0, 0));
}

/// Before, also what a participant says to itself went over the network, and could get lost there.
fn what_it_says_to_itself_needs_no_network() {
    let lease = DomainLease::acquire();
    let qos = reliable(policy::History::KeepAll);
    let ours = local(lease.id()).build().expect("participant");
    let (writer, reader) = (writer(&ours, "t", &qos), reader(&ours, "t", &qos));
    disturb(Disturbance::default());
    eventually("they meet", SOON, || {
        write(&writer, usize::MAX.to_le_bytes().to_vec());
        !take(&reader).is_empty()
    });
    disturb(Disturbance { lost: 100, ..Disturbance::default() });
    let mut heard = Vec::new();
    for number in 0..SAMPLES {
        // It is acknowledged as well, or there would be no room.
        eventually("there is room", SOON, || {
            writer.write(Bytes::from(number.to_le_bytes().to_vec()), Some(Timestamp::now())).is_ok()
        });
        heard.extend(numbers(&take(&reader)));
    }
    eventually("all arrive", SOON, || {
        heard.extend(numbers(&take(&reader)));
        heard.last() == Some(&(SAMPLES - 1))
    });
    heard.retain(|number| *number != usize::MAX);
    assert_eq!(heard, (0..SAMPLES).collect::<Vec<_>>());
}

/// One test, because the disturbance is that of the process.
#[test]
fn nothing_reliable_is_lost_doubled_or_reordered() {
    let keep_last = policy::History::KeepLast { depth: SAMPLES as i32 + 50 };
    for lost in [0, 1, 5, 20] {
        for history in [keep_last, policy::History::KeepAll] {
            all_arrive(Driven::Nobody, history, Disturbance { lost, doubled: lost, late: lost });
        }
    }
    for lost in [5, 20] {
        for driven in [Driven::Writing, Driven::Reading, Driven::Both] {
            for history in [keep_last, policy::History::KeepAll] {
                all_arrive(driven, history, Disturbance { lost, doubled: lost, late: lost });
            }
        }
    }
    for driven in [Driven::Nobody, Driven::Both] {
        all_arrive(driven, policy::History::KeepAll, Disturbance { lost: 0, doubled: 30, late: 30 });
    }
    what_it_says_to_itself_needs_no_network();
}
