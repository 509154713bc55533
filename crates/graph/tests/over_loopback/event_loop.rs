//! Timers, engines, descriptors and stopping.

use std::{
    io::{Read, Write},
    os::unix::net::UnixStream,
    time::Duration,
};

use rosless_graph::{Error, monotonic};
use rosless_tests::DomainLease;

use crate::side::Side;

const PATIENCE: Duration = Duration::from_secs(20);

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn timers_fire_in_the_order_of_their_deadlines_and_can_be_cancelled() {
    let domain = DomainLease::acquire();
    let mut side = Side::new(&domain, "clock", Vec::<&str>::new());
    let handle = side.event_loop.handle();
    side.event_loop.once(millis(30), |log: &mut Vec<&str>| log.push("second"));
    side.event_loop.once(millis(10), move |log: &mut Vec<&str>| {
        log.push("first");
        // Set from inside a callback.
        handle.once(millis(40), |log: &mut Vec<&str>| log.push("third"));
    });
    side.event_loop.once(millis(20), |log: &mut Vec<&str>| log.push("never")).cancel();
    let done = side.event_loop.run_until(&mut side.state, PATIENCE, |log| log.len() == 3);
    assert!(done.unwrap());
    assert_eq!(side.state, ["first", "second", "third"]);
}

#[test]
fn a_periodic_timer_keeps_its_schedule_and_skips_what_it_missed() {
    let domain = DomainLease::acquire();
    let mut side = Side::new(&domain, "clock", Vec::<Duration>::new());
    let start = monotonic();
    side.event_loop.timer(millis(20), |ticks: &mut Vec<Duration>| {
        ticks.push(monotonic());
        if ticks.len() == 2 {
            // A callback that is far too slow.
            std::thread::sleep(millis(110));
        }
    });
    assert!(side.event_loop.run_until(&mut side.state, PATIENCE, |ticks| ticks.len() == 4).unwrap());
    for (index, tick) in side.state.iter().enumerate() {
        assert!(*tick >= start + millis(20) * (index as u32 + 1), "tick {index} came early");
    }
    // Between the slow callback and the next tick lies a period again, not a burst of five.
    assert!(side.state[3] - side.state[2] >= millis(15));
}

#[test]
fn an_engine_is_fired_at_its_deadline_and_drained_after_each_batch() {
    #[derive(Default)]
    struct App {
        deadline: Option<Duration>,
        fired: Vec<Duration>,
        outputs: Vec<&'static str>,
        sent: Vec<&'static str>,
    }
    let domain = DomainLease::acquire();
    let deadline = monotonic() + millis(30);
    let mut side = Side::new(&domain, "engine", App { deadline: Some(deadline), ..App::default() });
    side.event_loop.engine_deadline(
        |app| app.deadline,
        |app, now| {
            app.deadline = None;
            app.fired.push(now);
            app.outputs.push("timed out");
        },
    );
    side.event_loop.after_batch(|app| app.sent.append(&mut app.outputs));
    assert!(side.event_loop.run_until(&mut side.state, PATIENCE, |app| !app.sent.is_empty()).unwrap());
    assert_eq!(side.state.sent, ["timed out"]);
    assert_eq!(side.state.fired.len(), 1);
    assert!(side.state.fired[0] >= deadline);
}

#[test]
fn a_descriptor_is_watched_until_its_callback_has_enough() {
    let domain = DomainLease::acquire();
    let mut side = Side::new(&domain, "reader", String::new());
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    side.event_loop
        .watch(theirs, |text: &mut String, stream| {
            let mut buffer = [0; 64];
            while let Ok(length @ 1..) = stream.read(&mut buffer) {
                text.push_str(std::str::from_utf8(&buffer[..length]).unwrap());
            }
            !text.ends_with("stop")
        })
        .unwrap();
    ours.write_all(b"go on, ").unwrap();
    assert!(side.event_loop.run_until(&mut side.state, PATIENCE, |text| text == "go on, ").unwrap());
    ours.write_all(b"stop").unwrap();
    assert!(side.event_loop.run_until(&mut side.state, PATIENCE, |text| text == "go on, stop").unwrap());
    // The callback had enough, so its end is closed and writing fails.
    assert!(ours.write_all(b"more").is_err());
}

#[test]
fn a_stopped_loop_says_so_and_can_run_again() {
    let domain = DomainLease::acquire();
    let mut side = Side::new(&domain, "stopper", ());
    let handle = side.event_loop.handle();
    side.event_loop.timer(millis(5), move |_| handle.stop());
    side.event_loop.run(&mut side.state).unwrap();
    let interrupted = side.event_loop.run_until(&mut side.state, PATIENCE, |_| false);
    assert!(matches!(interrupted, Err(Error::Interrupted)));
    assert!(!side.event_loop.run_until(&mut side.state, Duration::ZERO, |_| false).unwrap());
}
