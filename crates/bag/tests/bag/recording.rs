//! The recorder on its thread.

use std::time::Duration;

use rosless_bag::{Bag, BagOptions, Filter, Recorder, RecorderOptions, Ring, WriteOptions};
use rosless_tests::{Scratch, eventually};

use crate::world::{latched, message, text, texts, topic};

const PATIENCE: Duration = Duration::from_secs(20);

fn options() -> RecorderOptions {
    let write = WriteOptions { durable: false, ..Default::default() };
    let bag = BagOptions { write, ..Default::default() };
    RecorderOptions { bag, flush: Duration::from_millis(20), ..Default::default() }
}

#[test]
fn messages_are_on_disk_after_a_flush_and_all_of_them_after_the_end() {
    let folder = Scratch::make();
    let path = folder.join("run");
    let recorder = Recorder::start(&path, options()).unwrap();
    let chatter = recorder.add_topic(topic("/chatter", "std_msgs/msg/String"));
    (0..1000).for_each(|n| assert!(recorder.push(chatter, message(n, text("x")))));
    let seen = || Bag::open(&path).map(|bag| bag.metadata.message_count).unwrap_or(0);
    eventually("a flush", PATIENCE, || seen() == 1000);
    recorder.push(chatter, message(1000, text("last")));
    recorder.split(message(1001, vec![]).log_time);
    recorder.push(chatter, message(1002, text("in the next part")));
    let metadata = recorder.finish().unwrap();
    assert_eq!((metadata.message_count, metadata.files.len()), (1002, 2));
    assert_eq!(texts(&path)[1001].1, "in the next part");
}

#[test]
fn what_finds_no_room_is_dropped_counted_and_written_down() {
    let folder = Scratch::make();
    let path = folder.join("run");
    let recorder = Recorder::start(&path, RecorderOptions { cache: 100_000, ..options() }).unwrap();
    let chatter = recorder.add_topic(topic("/chatter", "std_msgs/msg/String"));
    let taken = (0..10_000).filter(|n| recorder.push(chatter, message(*n, vec![0; 20_000]))).count() as u64;
    assert!(taken < 10_000, "a hundred kilobytes hold no two hundred megabytes");
    assert_eq!(recorder.dropped(), [10_000 - taken]);
    recorder.set_lost(chatter, 5);
    assert_eq!(recorder.finish().unwrap().message_count, taken);
    let losses = &Bag::open(&path).unwrap().notes()[0].1["/chatter"];
    assert_eq!(losses, &format!(r#"{{"dropped":{},"lost":5}}"#, 10_000 - taken));
}

#[test]
fn a_snapshot_holds_what_came_before_the_trigger_and_a_while_after_it() {
    let folder = Scratch::make();
    let path = folder.join("run");
    let ring = Ring { before: Some(Duration::from_millis(10)), after: Duration::from_millis(5) };
    let recorder = Recorder::start(&path, RecorderOptions { snapshot: Some(ring), ..options() }).unwrap();
    let chatter = recorder.add_topic(topic("/chatter", "std_msgs/msg/String"));
    // A millisecond apart: twice a trigger, fifteen milliseconds each.
    for n in 0..200 {
        recorder.push(chatter, message(n, text(&n.to_string())));
        if n == 50 || n == 150 {
            recorder.snapshot(message(n, vec![]).log_time);
        }
    }
    let metadata = recorder.finish().unwrap();
    let numbers: Vec<u64> = texts(&path).iter().map(|(_, text)| text.parse().unwrap()).collect();
    assert_eq!(numbers, (40..=55).chain(140..=155).collect::<Vec<_>>());
    assert_eq!(metadata.files.len(), 2);
}

#[test]
fn every_snapshot_begins_with_what_late_joiners_would_get() {
    let folder = Scratch::make();
    let path = folder.join("run");
    let ring = Ring { before: Some(Duration::from_millis(10)), after: Duration::ZERO };
    let recorder = Recorder::start(&path, RecorderOptions { snapshot: Some(ring), ..options() }).unwrap();
    let map = recorder.add_topic(latched("/map"));
    let chatter = recorder.add_topic(topic("/chatter", "std_msgs/msg/String"));
    recorder.push(map, message(0, text("the map")));
    for n in 1..200 {
        recorder.push(chatter, message(n, text(&n.to_string())));
        if n == 50 || n == 150 {
            recorder.snapshot(message(n, vec![]).log_time);
        }
    }
    recorder.finish().unwrap();
    let read = texts(&path);
    let maps: Vec<usize> = (0..read.len()).filter(|at| read[*at].0 == "/map").collect();
    assert_eq!(maps, [0, 12], "{read:?}");
    assert_eq!((read[1].1.as_str(), read[13].1.as_str()), ("40", "140"));
}

#[test]
fn a_topic_that_nobody_spoke_on_is_in_the_recording_all_the_same() {
    let folder = Scratch::make();
    let path = folder.join("run");
    let recorder = Recorder::start(&path, options()).unwrap();
    recorder.add_topic(topic("/silent", "std_msgs/msg/String"));
    let topics = || Bag::open(&path).map(|bag| bag.topics).unwrap_or_default();
    eventually("it is announced", PATIENCE, || topics().iter().any(|topic| topic.name == "/silent"));
    recorder.split(1);
    recorder.finish().unwrap();
    for part in ["run_0.mcap", "run_1.mcap"] {
        assert_eq!(Bag::open(&path.join(part)).unwrap().topics[0].name, "/silent");
    }
}

#[test]
fn memory_for_a_snapshot_is_bounded_by_the_cache() {
    let folder = Scratch::make();
    let path = folder.join("run");
    let options = RecorderOptions { snapshot: Some(Ring::default()), cache: 100_000, ..options() };
    let recorder = Recorder::start(&path, options).unwrap();
    let chatter = recorder.add_topic(topic("/chatter", "std_msgs/msg/String"));
    for n in 0..1000 {
        eventually("room", PATIENCE, || recorder.status().waiting < 50_000);
        recorder.push(chatter, message(n, vec![0; 10_000]));
    }
    recorder.snapshot(u64::MAX);
    recorder.finish().unwrap();
    let bag = Bag::open(&path).unwrap();
    let kept: Vec<_> = bag.messages(&Filter::default()).map(|item| item.unwrap().1.sequence).collect();
    assert_eq!(kept, (991..1000).collect::<Vec<u32>>());
}
