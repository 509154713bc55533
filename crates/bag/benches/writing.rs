//! How fast messages are written, beside the `mcap` crate with the same bytes.

#![allow(clippy::print_stdout, reason = "a benchmark prints for people")]

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fs::{self, File},
    path::Path,
    time::Instant,
};

use rosless_bag::{
    BagOptions, BagWriter, Definition, Message, QosProfile, Recorder, RecorderOptions, Topic, WriteOptions,
};
use rosless_tests::{
    Scratch,
    bench::{Figure, effort},
};

fn topic() -> Topic {
    let registry = rosless_schema::Registry::embedded();
    Topic {
        name: "/data".into(),
        ty: "std_msgs/msg/UInt8MultiArray".into(),
        encoding: "cdr".into(),
        definition: Definition::of(&registry, "std_msgs/msg/UInt8MultiArray").expect("built in"),
        type_hash: String::new(),
        qos: vec![QosProfile::default()],
    }
}

fn message(n: u64, size: usize) -> Message {
    Message { log_time: n * 1000, publish_time: n * 1000, sequence: n as u32, data: vec![n as u8; size] }
}

fn ours(path: &Path, count: u64, size: usize) {
    let write = WriteOptions { durable: false, ..Default::default() };
    let mut bag = BagWriter::create(path, BagOptions { write, ..Default::default() }).expect("a folder");
    let topic = bag.add_topic(topic());
    (0..count).for_each(|n| bag.write(topic, message(n, size)).expect("room"));
    bag.finish().expect("room");
}

fn on_a_thread(path: &Path, count: u64, size: usize) {
    let write = WriteOptions { durable: false, ..Default::default() };
    let bag = BagOptions { write, ..Default::default() };
    let recorder = Recorder::start(path, RecorderOptions { bag, cache: 1 << 30, ..Default::default() })
        .expect("a folder");
    let topic = recorder.add_topic(topic());
    (0..count).for_each(|n| assert!(recorder.push(topic, message(n, size)), "room"));
    recorder.finish().expect("room");
}

/// The crate as it comes, chunks of the same size, not packed.
fn theirs(path: &Path, count: u64, size: usize) {
    fs::create_dir_all(path).expect("a folder");
    let file = std::io::BufWriter::new(File::create(path.join("a.mcap")).expect("a file"));
    let options = mcap::WriteOptions::new().compression(None).profile("ros2").chunk_size(Some(768 << 10));
    let mut writer = options.create(file).expect("a writer");
    let topic = topic();
    let schema = mcap::Schema {
        id: 1,
        name: topic.ty.clone(),
        encoding: "ros2msg".into(),
        data: Cow::Owned(topic.definition.text.into_bytes()),
    };
    let channel = std::sync::Arc::new(mcap::Channel {
        id: 1,
        topic: topic.name.clone(),
        schema: Some(std::sync::Arc::new(schema)),
        message_encoding: "cdr".into(),
        metadata: BTreeMap::new(),
    });
    for n in 0..count {
        let Message { log_time, publish_time, sequence, data } = message(n, size);
        let message = mcap::Message {
            channel: channel.clone(),
            sequence,
            log_time,
            publish_time,
            data: Cow::Owned(data),
        };
        writer.write(&message).expect("room");
    }
    writer.finish().expect("room");
}

/// The best of some runs, in microseconds per message.
fn best(write: fn(&Path, u64, usize), count: u64, size: usize) -> f64 {
    let scratch = Scratch::make();
    let folder = scratch.join("bag");
    let once = |_| {
        let _ = fs::remove_dir_all(&folder);
        let begin = Instant::now();
        write(&folder, count, size);
        begin.elapsed().as_secs_f64() * 1e6 / count as f64
    };
    (0..effort(5, 2)).map(once).fold(f64::INFINITY, f64::min)
}

fn main() {
    println!(
        "| messages | rosless | on a thread | mcap crate | MB/s | ratio |\n|---|---:|---:|---:|---:|---:|"
    );
    for (what, count, size) in
        [("1 kB", effort(300_000, 50_000), 1000), ("1 MB", effort(400, 100), 1_000_000)]
    {
        let (mine, threaded, theirs) =
            (best(ours, count, size), best(on_a_thread, count, size), best(theirs, count, size));
        let rate = size as f64 / mine;
        println!(
            "| {what} | {mine:.2} µs | {threaded:.2} µs | {theirs:.2} µs | {rate:.0} | {:.2} |",
            theirs / mine
        );
        let note = format!("{:.0} messages/s, {rate:.0} MB/s", 1e6 / mine);
        // At least 0.8 of the crate's speed.
        Figure::new("bag", format!("write {what}"), mine, "µs")
            .against("mcap crate", theirs)
            .ratio_at_most(1.25)
            .note(note)
            .tell();
        Figure::new("bag", format!("record {what} through the thread"), threaded, "µs")
            .against("mcap crate", theirs)
            .tell();
    }
}
