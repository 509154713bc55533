//! `rosless bag`: recorded, looked at, played, cut, recovered and exported.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use rosless_bag::{Bag, Filter, Metadata};
use rosless_graph::{Context, ContextOptions, EventLoop, Introspection};
use rosless_tests::{BagJudge, Daemon, Scratch, eventually, words};
use rosless_wire::example_interfaces::srv::{AddTwoInts, AddTwoIntsResponse};
use serde_json::Value;

use crate::{
    strangers::stranger,
    world::{SOON, World},
};

/// A folder that goes with the test.
struct Folder(Scratch);

impl Folder {
    fn new() -> Self {
        Self(Scratch::make())
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
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

/// So many messages of a topic are on disk.
fn on_disk(world: &World, bag: &str, topic: &str) -> u64 {
    if Path::new(bag).join("metadata.yaml").is_file() { count(&info(world, bag), topic) } else { 0 }
}

/// Asks rosbag2's service on the recorder's node.
fn ask(world: &World, verb: &str, ty: &str) -> String {
    ask_with(world, verb, ty, "{}")
}

fn ask_with(world: &World, verb: &str, ty: &str, values: &str) -> String {
    let service = format!("/rosbag2_recorder/{verb}");
    let ran = world.rosless(&["service", "call", &service, &format!("rosbag2_interfaces/srv/{ty}"), values]);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.stdout
}

fn end(mut recorder: Daemon, code: i32) -> String {
    recorder.signal("INT");
    let status = recorder.wait(SOON * 2);
    assert_eq!(status.code(), Some(code), "{}", recorder.output());
    recorder.output()
}

#[test]
fn what_is_recorded_is_told_played_cut_and_exported() {
    let (world, folder) = (World::new(), Folder::new());
    let bag = folder.path("take");
    let mut recorder =
        Daemon::spawn(world.command(&["bag", "record", "/chatter", "/map", "/never", "-o", &bag]));
    eventually("messages are on disk", SOON * 2, || on_disk(&world, &bag, "/chatter") > 20);
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
    let player = world
        .rosless(&words(&format!("--json bag play {cut} -w 1 -r 4 --topics /chatter -m /chatter:=/other")));
    assert_eq!(player.code, 0, "{player:?}");
    let played: Value = serde_json::from_str(player.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(played["messages"].as_u64().unwrap(), count(&piece, "/chatter"));
    listener.wait_for_line("data: ", SOON);
}

#[test]
fn parts_pauses_and_stops_come_from_services_and_signals() {
    let (world, folder) = (World::new(), Folder::new());
    let (bag, next) = (folder.path("first"), folder.path("second"));
    let recorder = Daemon::spawn(world.command(&["bag", "record", "/chatter", "/map", "-o", &bag]));
    let messages = |bag: &str| on_disk(&world, bag, "/chatter");
    eventually("messages are on disk", SOON * 2, || messages(&bag) > 5);
    let ask = |verb: &str, ty: &str| ask(&world, verb, ty);
    let parts = || info(&world, &bag)["files"].as_array().unwrap().len();
    ask("split_bagfile", "SplitBagfile");
    eventually("the second part", SOON, || parts() == 2);
    recorder.signal("USR1");
    eventually("the third part", SOON, || parts() == 3);
    for part in ["first_0.mcap", "first_1.mcap", "first_2.mcap"] {
        let part = PathBuf::from(&bag).join(part).display().to_string();
        eventually("latched topics are in every part", SOON, || count(&info(&world, &part), "/map") == 1);
    }
    ask("pause", "Pause");
    assert!(ask("is_paused", "IsPaused").contains("paused=True"));
    ask("resume", "Resume");
    assert!(ask("is_paused", "IsPaused").contains("paused=False"));
    assert!(ask("snapshot", "Snapshot").contains("success=False"), "it is not in snapshot mode");
    assert!(ask("stop", "Stop").contains("return_code=0"));
    let before = messages(&bag);
    thread::sleep(Duration::from_millis(200));
    assert_eq!(messages(&bag), before, "nothing is written after the stop");
    let begun = ask_with(&world, "record", "Record", &format!("{{uri: {next}}}"));
    assert!(begun.contains("return_code=0"), "{begun}");
    eventually("messages in the other folder", SOON, || messages(&next) > 2);
    end(recorder, 0);
}

#[test]
fn a_recording_that_was_killed_is_read_by_others_and_recovered_whole() {
    let Some(judge) = BagJudge::find() else { return };
    let (world, folder) = (World::new(), Folder::new());
    let kills: u64 = std::env::var("ROSLESS_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(2);
    for kill in 0..kills {
        let (bag, whole) = (folder.path(&format!("k{kill}")), folder.path(&format!("w{kill}")));
        let mut recorder = Daemon::spawn(world.command(&["bag", "record", "/chatter", "/map", "-o", &bag]));
        let mut flushed = 0;
        eventually("messages are on disk", SOON * 2, || {
            flushed = on_disk(&world, &bag, "/chatter");
            flushed > 3
        });
        // Some instant that no two rounds share; parts end in the middle of it, too.
        if kill % 2 == 1 {
            recorder.signal("USR1");
        }
        thread::sleep(Duration::from_micros(kill * 314_159 % 1_500_000));
        recorder.signal("KILL");
        recorder.wait(SOON);
        let said = judge.ask("rosbag", Path::new(&bag), &[]).unwrap();
        let theirs = said.iter().filter(|message| message["topic"] == "/chatter").count() as u64;
        assert!(theirs >= flushed, "kill {kill}: {theirs} of {flushed}");
        let ran = world.rosless(&["bag", "recover", &bag, "-o", &whole]);
        assert_eq!(ran.code, 0, "{ran:?}");
        let told = info(&world, &whole);
        assert_eq!((count(&told, "/chatter"), &told["remarks"]), (theirs, &serde_json::json!([])), "{told}");
        let recovered = Bag::open(Path::new(&whole)).unwrap();
        let chatter = recovered.topics.iter().position(|topic| topic.name == "/chatter").unwrap();
        let numbers: Vec<u32> = recovered
            .messages(&Filter::default())
            .map(Result::unwrap)
            .filter(|(topic, _)| *topic == chatter)
            .map(|(_, message)| message.sequence)
            .collect();
        assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "none is missing: {numbers:?}");
    }
    let none = folder.path("none.mcap");
    fs::write(&none, b"\x89MCAP0\r\nnothing of this can be read").unwrap();
    world.expect_failures(1, &[(&["bag", "recover", &none, "-o", &folder.path("w")], "no message in it")]);
}

#[test]
fn keys_pause_and_split_a_recording_and_write_snapshots() {
    let (world, folder) = (World::new(), Folder::new());
    let bag = folder.path("snap");
    let arguments = format!("bag record /chatter /map -o {bag} --snapshot-mode --before 1s --after 500ms");
    let (recorder, mut terminal) = Daemon::spawn_at_terminal(world.command(&words(&arguments)));
    recorder.wait_for_line("s writes a snapshot", SOON);
    recorder.wait_for_line("Subscribed to topic '/map'", SOON);
    // What was said once, long before the snapshot, belongs to it if late joiners would get it.
    thread::sleep(Duration::from_millis(1500));
    assert!(ask(&world, "snapshot", "Snapshot").contains("success=True"));
    eventually("the first snapshot", SOON, || on_disk(&world, &bag, "/chatter") > 0);
    assert_eq!(on_disk(&world, &bag, "/map"), 1);
    terminal.write_all(b" ").unwrap();
    eventually("a pause", SOON, || ask(&world, "is_paused", "IsPaused").contains("paused=True"));
    terminal.write_all(b" ").unwrap();
    eventually("it goes on", SOON, || ask(&world, "is_paused", "IsPaused").contains("paused=False"));
    // Until the first one is over, a trigger prolongs it.
    thread::sleep(Duration::from_millis(600));
    terminal.write_all(b"s").unwrap();
    eventually("the second snapshot", SOON, || info(&world, &bag)["files"].as_array().unwrap().len() == 2);
    end(recorder, 0);
    assert_eq!(count(&info(&world, &bag), "/map"), 2, "each snapshot stands alone");
}

#[test]
fn a_player_keeps_time_loops_and_obeys_keys() {
    let (world, folder) = (World::new(), Folder::new());
    let bag = folder.path("take");
    let recorder = Daemon::spawn(world.command(&["bag", "record", "/chatter", "-o", &bag]));
    eventually("messages are on disk", SOON * 2, || on_disk(&world, &bag, "/chatter") > 3);
    end(recorder, 0);
    let recorded = on_disk(&world, &bag, "/chatter") as usize;
    let start = Bag::open(Path::new(&bag)).unwrap().metadata.start;
    let heard = |topic: &str, ty: &str| Daemon::spawn(world.command(&["topic", "echo", topic, ty]));
    let (again, clock) = (heard("/again", "std_msgs/msg/String"), heard("/clock", "rosgraph_msgs/msg/Clock"));
    let arguments = ["bag", "play", &bag, "-m", "/chatter:=/again", "-l", "--clock", "50", "-p", "-w", "1"];
    let (player, mut terminal) = Daemon::spawn_at_terminal(world.command(&arguments));
    player.wait_for_line("SPACE", SOON);
    let messages = || again.filter_map(|line| line.strip_prefix("data: ").map(str::to_owned));
    clock.wait_for_line(&format!("sec: {}", start / 1_000_000_000), SOON);
    assert_eq!(messages(), Vec::<String>::new(), "it is paused");
    terminal.write_all(b"\x1b[C").unwrap();
    eventually("one message", SOON, || messages().len() == 1);
    terminal.write_all(b" ").unwrap();
    eventually("it begins anew at the end", SOON * 2, || messages().len() > 2 * recorded);
    let heard = messages();
    assert_eq!(heard[0], heard[recorded], "the first comes again");
    assert!(end(player, 0).contains("timing error p50"));
    // Next to nothing is not repeated as fast as the machine can.
    let began = std::time::Instant::now();
    let arguments = ["bag", "play", &bag, "-l", "--json", "--playback-duration", "0.000001"];
    let player = Daemon::spawn(world.command(&arguments));
    thread::sleep(Duration::from_secs(1));
    let said = end(player, 0);
    let line = said.lines().find(|line| line.starts_with('{')).unwrap_or_else(|| panic!("{said}"));
    let played: Value = serde_json::from_str(line).unwrap();
    let rounds = began.elapsed().as_secs_f64() / 0.1 + 1.0;
    assert!(played["messages"].as_f64().unwrap() <= rounds, "{said}");
}

/// Ends the threads beside a test, also when it fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Serves `/add` and tells of its calls.
fn teller(domain: u16, stop: &AtomicBool) {
    let context = Context::new(ContextOptions::for_domain(domain)).unwrap();
    let node = context.node("teller").unwrap();
    let events = EventLoop::<()>::new(&context).unwrap();
    let server = events
        .serve::<AddTwoInts>(&node, "/add", |(), request, responder| {
            responder.reply(&AddTwoIntsResponse { sum: request.a + request.b });
        })
        .unwrap();
    server.configure_introspection(Introspection::Contents).unwrap();
    while !stop.load(Ordering::Relaxed) {
        events.run_for(&mut (), Duration::from_millis(20)).unwrap();
    }
}

#[test]
fn services_actions_and_types_of_strangers_are_recorded() {
    let (world, folder) = (World::new(), Folder::new());
    let bag = folder.path("calls");
    let stop = AtomicBool::new(false);
    let said = thread::scope(|scope| {
        let _stop = Stop(&stop);
        scope.spawn(|| teller(world.domain(), &stop));
        scope.spawn(|| stranger(world.domain(), &stop));
        let recorder = Daemon::spawn(world.command(&words(&format!(
            "bag record /thing -o {bag} --services /add /add_two_ints --actions /fibonacci"
        ))));
        for topic in ["/add/_service_event", "/fibonacci/_action/feedback", "/thing"] {
            recorder.wait_for_line(&format!("Subscribed to topic '{topic}'"), SOON);
        }
        let goal = ["action", "send_goal", "/fibonacci", "example_interfaces/action/Fibonacci", "{order: 3}"];
        assert_eq!(world.rosless(&goal).code, 0);
        let call = ["service", "call", "/add", "example_interfaces/srv/AddTwoInts", "{a: 2, b: 3}"];
        assert_eq!(world.rosless(&call).code, 0);
        let told = || {
            let told = info(&world, &bag);
            (
                count(&told, "/add/_service_event"),
                count(&told, "/fibonacci/_action/feedback"),
                count(&told, "/thing"),
            )
        };
        eventually("call, feedback and the strange thing are on disk", SOON * 2, || {
            Path::new(&bag).join("metadata.yaml").is_file() && told() == (2, 1, 1)
        });
        end(recorder, 0)
    });
    assert!(said.contains("/add_two_ints is not in the recording: it does not tell of its calls"), "{said}");
    let lines = world.rosless(&["bag", "export", "json", &bag, "--topics", "/thing"]);
    assert_eq!(serde_json::from_str::<Value>(&lines.stdout).unwrap()["message"]["name"], "left", "{lines:?}");
    let lines = world.rosless(&["bag", "export", "json", &bag, "--topics", "/add/_service_event"]);
    assert!(lines.stdout.contains(r#""response":[{"sum":5}]"#), "{lines:?}");
}

#[test]
fn a_slow_disk_stalls_nobody_and_what_it_costs_is_told_and_written_down() {
    let (world, folder) = (World::new(), Folder::new());
    let bag = folder.path("slow");
    // Every write takes 0.3 s longer, as on a slow disk; the recorder stays our child and hears our signals.
    let slow =
        words("-qq -D -f --seccomp-bpf -o /dev/null -e trace=pwrite64 -e inject=pwrite64:delay_enter=300000");
    let own = env!("CARGO_BIN_EXE_rosless");
    let record = [own, "bag", "record", "/chatter", "-o", &bag, "--max-cache-size", "400"];
    let mut probe = Command::new("strace");
    if !probe.args(&slow).arg("true").output().is_ok_and(|tried| tried.status.success()) {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "strace is missing or may not trace");
        writeln!(std::io::stderr(), "SKIPPED: no strace, so no slow disk").unwrap();
        return;
    }
    let recorder = Daemon::spawn(world.command_of("strace", &[&slow[..], &record[..]].concat()));
    recorder.wait_for_line("/chatter: ", SOON * 2);
    recorder.wait_for_line("messages dropped so far", SOON);
    assert!(ask(&world, "is_paused", "IsPaused").contains("paused=False"), "it still answers");
    let said = end(recorder, 0);
    let read = Bag::open(Path::new(&bag)).unwrap();
    let notes = read.notes();
    let losses = &notes.iter().find(|(name, _)| name == "rosless_losses").unwrap().1["/chatter"];
    let dropped = serde_json::from_str::<Value>(losses).unwrap()["dropped"].as_u64().unwrap();
    assert!(dropped > 0 && said.contains(&format!("/chatter: 0 messages lost, {dropped} dropped")), "{said}");
    assert!(read.metadata.message_count > 0);
}

#[test]
fn a_full_disk_ends_the_recording_properly_and_nothing_else() {
    // One takes some, one not even the first second.
    for (size, some) in [("5m", true), ("300k", false)] {
        full_disk(size, some);
    }
}

fn full_disk(size: &str, some: bool) {
    let (world, folder) = (World::new(), Folder::new());
    let (place, copy) = (folder.path("small"), folder.path("copy"));
    fs::create_dir_all(&place).unwrap();
    // The disk is gone with the process: what is on it is copied first.
    let script = "mount -t tmpfs -o size=\"$4\" none \"$1\" || exit 77
        \"$2\" bag record /chatter /large -o \"$1/bag\"; code=$?; cp -r \"$1/bag\" \"$3\"; exit $code";
    let own = env!("CARGO_BIN_EXE_rosless");
    let command = world.command_of("unshare", &["-m", "sh", "-c", script, "sh", &place, own, &copy, size]);
    let large = format!("{{data: {}}}", "x".repeat(100_000));
    let publish = [&words("topic pub -p 0 -r 50 /large std_msgs/msg/String")[..], &[large.as_str()]].concat();
    let _large = Daemon::spawn(world.command(&publish));
    let mut recorder = Daemon::spawn(command);
    eventually("it begins, or may not", SOON, || {
        recorder.try_wait().is_some() || recorder.output().contains("Recording to")
    });
    if recorder.try_wait().is_some() {
        // Only root may mount a small disk.
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{}", recorder.output());
        let mut stderr = std::io::stderr();
        writeln!(stderr, "SKIPPED: no small disk: {}", recorder.output()).unwrap();
        return;
    }
    recorder.wait_for_line("nothing is recorded any more", SOON * 2);
    assert!(ask(&world, "is_paused", "IsPaused").contains("paused=False"), "it still answers");
    let elsewhere = folder.path("elsewhere");
    let begun = ask_with(&world, "record", "Record", &format!("{{uri: {elsewhere}}}"));
    assert!(begun.contains("return_code=0"), "{begun}");
    eventually("another disk takes it", SOON, || {
        Bag::open(Path::new(&elsewhere)).is_ok_and(|bag| bag.metadata.message_count > 0)
    });
    let status = Command::new("pkill").args(["-INT", "-P", &recorder.pid().to_string()]).status().unwrap();
    assert!(status.success());
    assert_eq!(recorder.wait(SOON).code(), Some(1), "{}", recorder.output());
    let told = info(&world, &copy);
    assert_eq!(told["remarks"], serde_json::json!([]), "closed with its index, and counted right: {told}");
    // What metadata.yaml says, not what is counted when it is opened.
    let metadata = Metadata::read(Path::new(&copy)).unwrap();
    assert_eq!(told["messages"], metadata.message_count);
    assert_eq!(metadata.message_count > 5, some, "{told}");
    assert!(metadata.custom["losses"].contains("/large"), "{told}");
    if let Some(judge) = BagJudge::find() {
        let findings = judge.ask("doctor", &Path::new(&copy).join("bag_0.mcap"), &[]).unwrap();
        assert_eq!(findings.last().unwrap()["errors"], 0, "{findings:?}");
    }
}

#[test]
fn what_cannot_be_done_is_said() {
    let (world, folder) = (World::new(), Folder::new());
    let none = folder.path("none");
    world.expect_failures(
        2,
        &[(&["bag", "record"], "say what to record"), (&["bag", "record", "-e", "("], "no expression")],
    );
    world.expect_failures(1, &[(&["bag", "info", &none], "No such file")]);
    fs::write(folder.path("text.mcap"), "not a recording").unwrap();
    world.expect_failures(1, &[(&["bag", "info", &folder.path("text.mcap")], "no MCAP file")]);
}
