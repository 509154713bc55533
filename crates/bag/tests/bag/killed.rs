//! A process that is killed in the middle of writing leaves a recording that everybody reads.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use rosless_bag::{Bag, BagOptions, BagWriter, Filter, WriteOptions};
use rosless_tests::{BagJudge, Scratch};

use crate::world::{latched, message, text, topic};

/// Where the process that is to be killed writes.
const FOLDER: &str = "ROSLESS_BAG_TO_KILL";
/// How often it is killed; 100 is the whole proof.
const KILLS: &str = "ROSLESS_KILLS";

/// Not a test of its own: the process that is killed below. It says how many messages are flushed.
#[test]
fn a_process_to_kill() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let write = WriteOptions { chunk_size: 20_000, durable: false, ..Default::default() };
    let options = BagOptions { write, max_size: Some(6 << 20), ..Default::default() };
    let mut bag = BagWriter::create(&folder, options).unwrap();
    let chatter = bag.add_topic(topic("/chatter", "std_msgs/msg/String"));
    let map = bag.add_topic(latched("/map"));
    bag.write(map, message(0, text("the map"))).unwrap();
    let long = text(&"x".repeat(1000));
    for n in 1_u64.. {
        bag.write(chatter, message(n, long.clone())).unwrap();
        if n % 97 == 0 {
            bag.flush().unwrap();
            // Straight to the pipe: a line that waits in a buffer would be lost.
            writeln!(std::io::stderr(), "flushed {n}").unwrap();
        }
    }
}

#[test]
fn killed_at_any_instant_it_has_all_that_was_flushed_for_every_reader() {
    let Some(judge) = BagJudge::find() else { return };
    let kills: u64 = std::env::var(KILLS).ok().and_then(|kills| kills.parse().ok()).unwrap_or(5);
    for kill in 0..kills {
        let folder = Scratch::make();
        let path = folder.join("run");
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "killed::a_process_to_kill", "--nocapture"])
            .env(FOLDER, &path)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let mut flushed = 0_u64;
        let mut note = |line: &str| {
            flushed = line.strip_prefix("flushed ").and_then(|n| n.parse().ok()).unwrap_or(flushed);
        };
        lines.by_ref().take(3).for_each(|line| note(&line));
        // Some instant that no two rounds share.
        std::thread::sleep(Duration::from_micros(kill * 7919 % 40_000));
        child.kill().unwrap();
        child.wait().unwrap();
        lines.for_each(|line| note(&line));
        assert!(flushed > 0, "it had begun");

        let bag = Bag::open(&path).unwrap();
        let ours: Vec<_> = bag
            .messages(&Filter::default())
            .map(|item| item.unwrap())
            .filter(|(topic, _)| bag.topics[*topic].name == "/chatter")
            .map(|(_, message)| u64::from(message.sequence))
            .collect();
        assert!(ours.len() as u64 >= flushed, "kill {kill}: {} of {flushed}", ours.len());
        assert_eq!(ours, (1..=ours.len() as u64).collect::<Vec<_>>(), "kill {kill}: none is missing");
        let theirs = judge.ask("rosbag", &path, &[]).unwrap();
        assert_eq!(theirs.iter().filter(|m| m["topic"] == "/chatter").count(), ours.len(), "kill {kill}");
        let mut decoded = 0;
        for file in &bag.metadata.files {
            let said = judge.ask("stream", &path.join(&file.path), &[]).unwrap();
            decoded += said.iter().filter(|m| m["topic"] == "/chatter").count();
        }
        assert_eq!(decoded, ours.len(), "kill {kill}");
    }
}
