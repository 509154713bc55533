//! Reliable samples over networks that lose, double and reorder datagrams.

mod common;

use std::{
    thread,
    time::{Duration, Instant},
};

use common::{local, reader, take, write, writer, SOON};
use rosless_tests::{eventually, DomainLease};
use rustdds::{
    bytes::Bytes,
    feeding::{disturb, Disturbance},
    policy, QosPolicies, QosPolicyBuilder, Timestamp,
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

/// Sends a burst, and then samples one by one, each of which is waited for: nothing that follows tells of its loss.
fn all_arrive(history: policy::History, disturbance: Disturbance) {
    let lease = DomainLease::acquire();
    let qos = reliable(history);
    let ends =
        [local(lease.id()).build().expect("participant"), local(lease.id()).build().expect("participant")];
    let (writer, reader) = (writer(&ends[0], "t", &qos), reader(&ends[1], "t", &qos));
    disturb(disturbance);
    eventually("they meet", SOON, || {
        write(&writer, usize::MAX.to_le_bytes().to_vec());
        !take(&reader).is_empty()
    });
    let mut heard = Vec::new();
    for number in 0..SAMPLES - 100 {
        // A KEEP_ALL writer is full until samples are acknowledged.
        eventually("there is room", SOON, || {
            writer.write(Bytes::from(number.to_le_bytes().to_vec()), Some(Timestamp::now())).is_ok()
        });
        // Now at once, now late: some are handed over one by one, others wait together.
        if number % 100 < 50 || number % 40 == 0 {
            heard.extend(numbers(&take(&reader)));
        }
    }
    let mut times = Vec::new();
    for number in SAMPLES - 100..SAMPLES {
        let start = Instant::now();
        write(&writer, number.to_le_bytes().to_vec());
        while heard.last() != Some(&number) {
            assert!(start.elapsed() < SOON, "{number} does not arrive: {disturbance:?}, {history:?}");
            thread::sleep(Duration::from_micros(200));
            heard.extend(numbers(&take(&reader)));
        }
        times.push(start.elapsed());
    }
    heard.retain(|number| *number != usize::MAX);
    assert_eq!(heard, (0..SAMPLES).collect::<Vec<_>>(), "{disturbance:?}, {history:?}");
    times.sort();
    let worst: Vec<Duration> = times.iter().rev().step_by(10).take(3).copied().collect();
    eprintln!(
        "{disturbance:?}, {history:?}: each of 100 took at most {worst:?}, half of them {:?}",
        times[50]
    );
    let [writing, reading] = ends.each_ref().map(|end| end.repairs());
    if disturbance.lost >= 5 {
        assert!(writing.sent_again() > 0 && reading.asked() > 0, "{writing:?}, {reading:?}");
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
            all_arrive(history, Disturbance { lost, doubled: lost, late: lost });
        }
    }
    all_arrive(policy::History::KeepAll, Disturbance { lost: 0, doubled: 30, late: 30 });
    what_it_says_to_itself_needs_no_network();
}
