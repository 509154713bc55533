//! Timers, engines, descriptors and stopping.

use std::{
    collections::VecDeque,
    io::{Read, Write},
    os::unix::net::UnixStream,
    sync::mpsc,
    thread,
    time::Duration,
};

use rosless_engine::{Engine, Now};
use rosless_graph::{ContextOptions, Error, EventLoop, Sample, TopicQos, monotonic, now};
use rosless_tests::{DomainLease, Rig};
use rosless_wire::std_msgs::msg;

use crate::side::{MOMENT, side, talk};

const PATIENCE: Duration = Duration::from_secs(20);

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn timers_fire_in_the_order_of_their_deadlines_and_can_be_cancelled() {
    let domain = DomainLease::acquire();
    let mut side = side(&domain, "clock", Vec::<&str>::new());
    let handle = side.events.handle();
    side.events.once(millis(30), |log: &mut Vec<&str>| log.push("second"));
    side.events.once(millis(10), move |log: &mut Vec<&str>| {
        log.push("first");
        // Set from inside a callback.
        handle.once(millis(40), |log: &mut Vec<&str>| log.push("third"));
    });
    side.events.once(millis(20), |log: &mut Vec<&str>| log.push("never")).cancel();
    let done = side.events.run_until(&mut side.seen, PATIENCE, |log| log.len() == 3);
    assert!(done.unwrap());
    assert_eq!(side.seen, ["first", "second", "third"]);
}

#[test]
fn a_periodic_timer_keeps_its_schedule_and_skips_what_it_missed() {
    let domain = DomainLease::acquire();
    let mut side = side(&domain, "clock", Vec::<Duration>::new());
    let start = monotonic();
    side.events.timer(millis(20), |ticks: &mut Vec<Duration>| {
        ticks.push(monotonic());
        if ticks.len() == 2 {
            // A callback that is far too slow.
            thread::sleep(millis(110));
        }
    });
    assert!(side.events.run_until(&mut side.seen, PATIENCE, |ticks| ticks.len() == 4).unwrap());
    for (index, tick) in side.seen.iter().enumerate() {
        assert!(*tick >= start + millis(20) * (index as u32 + 1), "tick {index} came early");
    }
    // Between the slow callback and the next tick lies a period again, not a burst of five.
    assert!(side.seen[3] - side.seen[2] >= millis(15));
}

/// Wants one thing done at its deadline, and another because of it.
#[derive(Default)]
struct Alarm {
    deadline: Option<Duration>,
    woken: Vec<Duration>,
    outputs: VecDeque<&'static str>,
}

impl Engine for Alarm {
    type Input<'a> = &'static str;
    type Output = &'static str;

    fn handle(&mut self, input: &'static str, _: Now) {
        self.outputs.push_back(input);
    }

    fn wake(&mut self, now: Now) {
        if self.deadline.take_if(|deadline| *deadline <= now.mono).is_some() {
            self.woken.push(now.mono);
            self.outputs.push_back("timed out");
        }
    }

    fn poll_output(&mut self) -> Option<&'static str> {
        self.outputs.pop_front()
    }

    fn next_deadline(&self) -> Option<Duration> {
        self.deadline
    }
}

#[test]
fn an_engine_is_woken_at_its_deadline_and_drained_until_nothing_is_left() {
    #[derive(Default)]
    struct App {
        alarm: Alarm,
        done: Vec<&'static str>,
    }
    let domain = DomainLease::acquire();
    let deadline = monotonic() + millis(30);
    let alarm = Alarm { deadline: Some(deadline), ..Alarm::default() };
    let mut side = side(&domain, "engine", App { alarm, ..App::default() });
    side.events.drive(
        |app, with: &mut dyn FnMut(&mut Alarm)| with(&mut app.alarm),
        |app, output| {
            app.done.push(output);
            // What is done may be news to the engine: then draining goes on.
            if output == "timed out" {
                app.alarm.handle("told", now());
            }
        },
    );
    side.seen.alarm.handle("first", now());
    assert!(side.events.run_until(&mut side.seen, PATIENCE, |app| app.done.len() == 3).unwrap());
    assert_eq!(side.seen.done, ["first", "timed out", "told"]);
    assert_eq!(side.seen.alarm.woken.len(), 1);
    assert!(side.seen.alarm.woken[0] >= deadline);
}

#[test]
fn a_cancelled_timer_is_silent_and_the_others_go_on() {
    let domain = DomainLease::acquire();
    let mut side = side(&domain, "timers", Vec::new());
    let handle = side.events.handle();
    let note = |what: &'static str| move |fired: &mut Vec<&'static str>| fired.push(what);
    let silent = side.events.timer(millis(10), note("cancelled"));
    let repeated = side.events.timer(millis(5), note("repeated"));
    side.events.once(millis(1), move |_| silent.cancel());
    side.events.once(millis(60), note("last"));
    assert!(side.events.run_until(&mut side.seen, PATIENCE, |fired| fired.contains(&"last")).unwrap());
    assert!(side.seen.iter().filter(|what| **what == "repeated").count() >= 2, "{:?}", side.seen);
    assert!(!side.seen.contains(&"cancelled"), "{:?}", side.seen);
    // A timer that has moved on since it was set is found, too.
    repeated.cancel();
    side.seen.clear();
    handle.once(millis(40), note("end"));
    assert!(side.events.run_until(&mut side.seen, PATIENCE, |fired| fired.contains(&"end")).unwrap());
    assert_eq!(side.seen, ["end"]);
}

#[test]
fn a_descriptor_is_watched_until_its_callback_has_enough() {
    let domain = DomainLease::acquire();
    let mut side = side(&domain, "reader", String::new());
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    side.events
        .watch(theirs, |text: &mut String, stream| {
            let mut buffer = [0; 64];
            while let Ok(length @ 1..) = stream.read(&mut buffer) {
                text.push_str(std::str::from_utf8(&buffer[..length]).unwrap());
            }
            !text.ends_with("stop")
        })
        .unwrap();
    ours.write_all(b"go on, ").unwrap();
    assert!(side.events.run_until(&mut side.seen, PATIENCE, |text| text == "go on, ").unwrap());
    ours.write_all(b"stop").unwrap();
    assert!(side.events.run_until(&mut side.seen, PATIENCE, |text| text == "go on, stop").unwrap());
    // The callback had enough, so its end is closed and writing fails.
    assert!(ours.write_all(b"more").is_err());
}

#[test]
fn a_stopped_loop_says_so_and_can_run_again() {
    let domain = DomainLease::acquire();
    let mut side = side(&domain, "stopper", ());
    let handle = side.events.handle();
    let timer = side.events.timer(millis(5), move |_| handle.stop());
    side.events.run(&mut side.seen).unwrap();
    let interrupted = side.events.run_until(&mut side.seen, PATIENCE, |_| false);
    assert!(matches!(interrupted, Err(Error::Interrupted)));
    timer.cancel();
    assert!(!side.events.run_until(&mut side.seen, Duration::ZERO, |_| false).unwrap());
}

#[test]
fn what_comes_while_a_callback_blocks_is_acknowledged_and_delivered_after_it() {
    const SAMPLES: usize = 20;
    let domain = DomainLease::acquire();
    let (acknowledged, told) = mpsc::channel();
    let (done, end) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let domain = &domain;
        scope.spawn(move || {
            let mut publishing = side(domain, "publisher", ());
            let publisher = publishing.node.publisher::<msg::String>("t".keep_all()).unwrap();
            let matched = |_: &mut ()| publisher.matched() == 1;
            assert!(publishing.events.run_until(&mut publishing.seen, PATIENCE, matched).unwrap());
            for number in 0..SAMPLES {
                publisher.publish(&msg::String { data: number.to_string() });
            }
            acknowledged.send(publisher.wait_acknowledged(PATIENCE)).unwrap();
            // This side does not turn either, and stays.
            let _ = end.recv_timeout(PATIENCE);
        });
        let mut listening = side(domain, "listener", Vec::new());
        let callback = move |heard: &mut Vec<String>, sample: Sample<msg::String>| {
            if heard.is_empty() {
                assert!(told.recv_timeout(2 * PATIENCE).unwrap(), "everything is acknowledged meanwhile");
            }
            heard.push(sample.message.data);
        };
        listening.events.subscribe(&listening.node, "t".keep_all(), callback).unwrap();
        let all = |heard: &mut Vec<String>| heard.len() == SAMPLES;
        assert!(listening.events.run_until(&mut listening.seen, PATIENCE, all).unwrap());
        assert_eq!(listening.seen, (0..SAMPLES).map(|number| number.to_string()).collect::<Vec<_>>());
        done.send(()).unwrap();
    });
}

/// With the lease that nodes have, 10 s: nobody loses anybody, and nothing that was published is lost, on either side.
#[test]
fn callbacks_of_a_second_and_of_longer_than_a_lease_cost_nobody_anything() {
    const SAMPLES: usize = 300;
    fn slow_after(busy: Duration) {
        let domain = DomainLease::acquire();
        thread::scope(|scope| {
            let (finished, end) = mpsc::channel::<()>();
            let domain = &domain;
            // Publishes all the time, and hears the other side's answers.
            scope.spawn(move || {
                let mut talking = side(domain, "talker", Vec::<usize>::new());
                let publisher = talking.node.publisher::<msg::String>("t".keep_all()).unwrap();
                let hear = |heard: &mut Vec<usize>, sample: Sample<msg::String>| {
                    heard.push(sample.message.data.parse().unwrap());
                };
                talking.events.subscribe(&talking.node, "answers".keep_all(), hear).unwrap();
                let context = talking.node.context().clone();
                let met = |_: &mut Vec<usize>| publisher.matched() == 1;
                assert!(talking.events.run_until(&mut talking.seen, PATIENCE, met).unwrap());
                for number in 0..SAMPLES {
                    publisher.publish(&msg::String { data: number.to_string() });
                    let turn = (busy + Duration::from_secs(1)) / SAMPLES as u32;
                    talking.events.run_for(&mut talking.seen, turn).unwrap();
                    assert_eq!(publisher.matched(), 1, "the busy side is lost at sample {number}");
                }
                let all = |heard: &mut Vec<usize>| heard.len() == SAMPLES;
                assert!(talking.events.run_until(&mut talking.seen, PATIENCE, all).unwrap());
                assert_eq!(talking.seen, (0..SAMPLES).collect::<Vec<_>>());
                assert!(context.graph().has_node("/busy"));
                finished.send(()).unwrap();
            });
            // What was heard, whether the talker is known, and whether it ever was not since.
            let mut busy_side = side(domain, "busy", (0, false, false));
            let publisher = busy_side.node.publisher::<msg::String>("answers".keep_all()).unwrap();
            let context = busy_side.node.context().clone();
            let answer = publisher.clone();
            type Seen = (usize, bool, bool);
            let callback = move |(heard, knows, lost): &mut Seen, sample: Sample<msg::String>| {
                assert_eq!(sample.message.data, heard.to_string());
                if *heard == 10 {
                    thread::sleep(busy);
                }
                *heard += 1;
                let knew = std::mem::replace(knows, context.graph().has_node("/talker"));
                *lost |= knew && !*knows;
                answer.publish(&sample.message);
            };
            busy_side.events.subscribe(&busy_side.node, "t".keep_all(), callback).unwrap();
            let done = |_: &mut Seen| end.try_recv().is_ok();
            assert!(busy_side.events.run_until(&mut busy_side.seen, busy + 2 * PATIENCE, done).unwrap());
            assert_eq!(busy_side.seen, (SAMPLES, true, false), "heard all, and never lost the talker");
            assert_eq!(publisher.matched(), 1);
        });
    }
    thread::scope(|scope| {
        for seconds in [1, 15] {
            scope.spawn(move || slow_after(Duration::from_secs(seconds)));
        }
    });
}

/// Polling before it waits changes when it wakes up, not what it does.
#[test]
fn a_loop_that_spins_hears_samples_and_timers_as_any_other() {
    let domain = DomainLease::acquire();
    let mut options = ContextOptions::for_domain(domain.id());
    options.settings.environment.spin = millis(5);
    let mut spinning = Rig::joining(&domain, options, "spinning", (Vec::<String>::new(), 0));
    let hear =
        |(heard, _): &mut (Vec<String>, i32), sample: Sample<msg::String>| heard.push(sample.message.data);
    spinning.events.subscribe(&spinning.node, "t", hear).unwrap();
    let _timer = spinning.events.timer(millis(20), |(_, rung): &mut (Vec<String>, i32)| *rung += 1);
    let mut talking = side(&domain, "talker", ());
    let publisher = talking.node.publisher::<msg::String>("t").unwrap();
    talk("they meet", &mut talking, &mut spinning, |_, _| publisher.matched() == 1);
    for number in 0..20 {
        publisher.publish(&msg::String { data: number.to_string() });
        let heard = |(heard, _): &mut (Vec<String>, i32)| heard.last() == Some(&number.to_string());
        assert!(spinning.events.run_until(&mut spinning.seen, PATIENCE, heard).unwrap());
        talking.observe(MOMENT);
    }
    assert_eq!(spinning.seen.0, (0..20).map(|number| number.to_string()).collect::<Vec<_>>());
    let rung = spinning.seen.1;
    let often = |(_, now): &mut (Vec<String>, i32)| *now >= rung + 5;
    assert!(spinning.events.run_until(&mut spinning.seen, PATIENCE, often).unwrap());
}

#[test]
fn a_context_has_one_event_loop() {
    let domain = DomainLease::acquire();
    let side = side(&domain, "lonely", ());
    let second = EventLoop::<()>::new(side.node.context());
    assert!(matches!(second, Err(Error::LoopExists)));
}
