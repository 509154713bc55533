//! `rosless bag`: recorded, looked at, played, cut, recovered and exported.

use std::{fs, path::PathBuf, thread, time::Duration};

use rosless_tests::{BagJudge, Daemon, eventually};
use serde_json::Value;

use crate::world::{SOON, World};

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("rosless-bag-cli-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn info(world: &World, bag: &str) -> Value {
    let ran = world.rosless(&["bag", "info", "--json", bag]);
    assert_eq!(ran.code, 0, "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

fn count(info: &Value, topic: &str) -> u64 {
    let topics = info["topics"].as_array().unwrap();
    topics.iter().find(|t| t["name"] == topic).and_then(|t| t["count"].as_u64()).unwrap_or(0)
}

#[test]
fn what_is_recorded_is_told_played_cut_and_exported() {
    let (world, folder) = (World::new(), Folder::new("whole"));
    let bag = folder.path("take");
    let mut recorder =
        Daemon::spawn(world.command(&["bag", "record", "/chatter", "/map", "/never", "-o", &bag]));
    let seen = || fs::metadata(&bag).is_ok() && count(&info(&world, &bag), "/chatter") > 20;
    eventually("messages are on disk", SOON * 2, seen);
    recorder.signal("INT");
    assert_eq!(recorder.wait(SOON).code(), Some(0));

    let told = info(&world, &bag);
    assert_eq!((count(&told, "/map"), &told["remarks"]), (1, &serde_json::json!([])), "{told}");
    let said_in_all = count(&told, "/chatter");
    if let Some(judge) = BagJudge::find() {
        let said = judge.ask("rosbag", &PathBuf::from(&bag), &[]).unwrap();
        assert_eq!(said.len() as u64, said_in_all + 2);
        let map =
            said[0]["topics"].as_array().unwrap().iter().find(|t| t["topic"] == "/map").unwrap().clone();
        assert_eq!(map["qos"][0]["durability"], "transient_local");
    }

    let cut = folder.path("cut");
    let ran = world.rosless(&["bag", "cut", &bag, "-o", &cut, "--start", "0.5s", "--duration", "1s"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let piece = info(&world, &cut);
    assert!((5..=15).contains(&count(&piece, "/chatter")), "{piece}");
    assert_eq!(count(&piece, "/map"), 1, "the piece begins with what late joiners get");

    let packed = folder.path("packed");
    assert_eq!(world.rosless(&["bag", "convert", &bag, "-o", &packed, "--compression", "lz4"]).code, 0);
    assert_eq!(count(&info(&world, &packed), "/chatter"), said_in_all);

    let table = folder.path("csv");
    assert_eq!(world.rosless(&["bag", "export", "csv", &bag, "-o", &table, "--topics", "/chatter"]).code, 0);
    let text = fs::read_to_string(PathBuf::from(&table).join("chatter.csv")).unwrap();
    assert!(text.starts_with("log_time,data\n") && text.contains(",Hello World: "), "{text}");
    let lines = world.rosless(&["bag", "export", "json", &bag, "--topics", "/map"]);
    assert_eq!(serde_json::from_str::<Value>(&lines.stdout).unwrap()["message"]["data"][199], 199);

    let listener =
        Daemon::spawn(world.command(&["topic", "echo", "--once", "/other", "std_msgs/msg/String"]));
    let player = world.rosless(&[
        "--json",
        "bag",
        "play",
        &cut,
        "-w",
        "1",
        "-r",
        "4",
        "--topics",
        "/chatter",
        "-m",
        "/chatter:=/other",
    ]);
    assert_eq!(player.code, 0, "{player:?}");
    let played: Value = serde_json::from_str(player.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(played["messages"].as_u64().unwrap(), count(&piece, "/chatter"));
    listener.wait_for_line("data: ", SOON);
}

#[test]
fn parts_pauses_and_stops_come_from_services_and_signals() {
    let (world, folder) = (World::new(), Folder::new("steered"));
    let (bag, next) = (folder.path("first"), folder.path("second"));
    let mut recorder = Daemon::spawn(world.command(&["bag", "record", "/chatter", "-o", &bag]));
    let messages =
        |bag: &str| if fs::metadata(bag).is_ok() { count(&info(&world, bag), "/chatter") } else { 0 };
    eventually("messages are on disk", SOON * 2, || messages(&bag) > 5);
    let call = |service: &str, ty: &str, request: &str| {
        let ran = world.rosless(&["service", "call", service, ty, request]);
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.stdout
    };
    let ask = |verb: &str, ty: &str| {
        call(&format!("/rosbag2_recorder/{verb}"), &format!("rosbag2_interfaces/srv/{ty}"), "{}")
    };
    ask("split_bagfile", "SplitBagfile");
    eventually("the second part", SOON, || info(&world, &bag)["files"].as_array().unwrap().len() == 2);
    ask("pause", "Pause");
    assert!(ask("is_paused", "IsPaused").contains("paused=True"));
    ask("resume", "Resume");
    assert!(ask("is_paused", "IsPaused").contains("paused=False"));
    assert!(ask("snapshot", "Snapshot").contains("success=False"), "it is not in snapshot mode");
    assert!(ask("stop", "Stop").contains("return_code=0"));
    let before = messages(&bag);
    thread::sleep(Duration::from_millis(200));
    assert_eq!(messages(&bag), before, "nothing is written after the stop");
    let record =
        call("/rosbag2_recorder/record", "rosbag2_interfaces/srv/Record", &format!("{{uri: {next}}}"));
    assert!(record.contains("return_code=0"), "{record}");
    eventually("messages in the other folder", SOON, || messages(&next) > 2);
    recorder.signal("INT");
    assert_eq!(recorder.wait(SOON).code(), Some(0));
}

#[test]
fn what_cannot_be_done_is_said() {
    let (world, folder) = (World::new(), Folder::new("wrong"));
    let none = folder.path("none");
    world.expect_failures(
        2,
        &[(&["bag", "record"], "say what to record"), (&["bag", "record", "-e", "("], "no expression")],
    );
    world.expect_failures(1, &[(&["bag", "info", &none], "No such file")]);
    fs::write(folder.path("text.mcap"), "not a recording").unwrap();
    world.expect_failures(1, &[(&["bag", "info", &folder.path("text.mcap")], "no MCAP file")]);
}
