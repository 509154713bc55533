//! The command line: what it prints and the exit codes scripts rely on.

use std::{
    fs::File,
    io::{BufRead, BufReader, pipe},
    process::Output,
    time::Duration,
};

use rosless_graph::{Context, ContextOptions, EventLoop, Sample, TopicQos};
use rosless_tests::{Daemon, DomainLease, Scratch};
use rosless_wire::{industrial_robot_motion_interfaces::msg::MotionPrimitive, std_msgs::msg};

use crate::rig::{FAST, NODE, PATIENCE, Rig, command, long_ptp, ptp};

fn example(name: &str) -> String {
    format!("{}/examples/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

#[test]
fn a_file_is_sent_executed_and_told() {
    let rig = Rig::new(&FAST);
    let sent = rig.cli(&["send", &example("square.yaml")]);
    assert_eq!(sent.status.code(), Some(0), "{}", text(&sent));
    assert!(text(&sent).contains("2 primitives executed"), "{}", text(&sent));
    let sent = rig.cli(&["--json", "send", &example("demo.yaml")]);
    assert_eq!(sent.status.code(), Some(0), "{}", text(&sent));
    let last: serde_json::Value = serde_json::from_str(text(&sent).lines().last().unwrap()).unwrap();
    assert_eq!(last["executed"], 5);
}

#[test]
fn stop_and_reset_return_when_it_is_so() {
    let mut rig = Rig::new(&[]);
    rig.send(&long_ptp());
    rig.until("it moves", |seen| seen.count("started") == 1);
    let stopped = rig.cli(&["stop"]);
    assert_eq!(stopped.status.code(), Some(0), "{}", text(&stopped));
    let state = rig.cli(&["state", "--json"]);
    let status: serde_json::Value = serde_json::from_slice(&state.stdout).unwrap();
    assert_eq!((&status["state"], &status["depth"]), (&"STOPPED".into(), &0.into()));
    rosless_tests::assert_documented("primitive-queue state", &status);
    let refused = rig.cli(&["send", &example("demo.yaml")]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused).contains("primitive 1 was refused: the robot is stopped"), "{}", text(&refused));
    let reset = rig.cli(&["reset"]);
    assert_eq!(reset.status.code(), Some(0), "{}", text(&reset));
    assert!(text(&rig.cli(&["state"])).contains("IDLE"));
}

#[test]
fn watch_shows_the_life_of_a_primitive() {
    let mut rig = Rig::new(&[]);
    let watch = Daemon::spawn(command(&rig.domain, &["watch"]));
    watch.wait_for_line("IDLE", PATIENCE);
    rig.send(&ptp(0.1));
    for line in ["accepted     0", "started      0", "finished     0"] {
        watch.wait_for_line(line, PATIENCE);
    }
    rig.until("it is over", |seen| seen.count("finished") == 1);
}

#[test]
fn without_a_controller_commands_say_what_to_do() {
    let lease = DomainLease::acquire();
    for name in ["state", "stop", "reset", "inspect", "watch", "pause", "resume"] {
        let output = command(&lease, &[name, "--timeout", "0.3"]).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{name}");
        assert!(text(&output).contains("start one with 'primitive-queue run'"), "{}", text(&output));
    }
}

#[test]
fn wrong_usage_and_wrong_files_are_told_before_anything_moves() {
    let lease = DomainLease::acquire();
    let folder = Scratch::make();
    let blend = "- sequence: [{ptp: [0, 0, 0, 0, 0, 0], move_time: 1, blend_radius: -0.1}]";
    let file = folder.file("blend.yaml", blend);
    let path = file.to_str().unwrap();
    for (arguments, expected) in [
        (vec!["fly"], "unrecognized subcommand"),
        (vec!["send", "/nowhere.yaml"], "/nowhere.yaml: No such file"),
        (vec!["plot", "/dev/null"], "/dev/null: "),
        (vec!["state", "--timeout", "x"], "expected seconds from 0 to"),
        (vec!["send", path], "step 1, move 1 of the sequence: blend_radius is -0.1"),
        (vec!["run", "--json"], "run has nothing to print as JSON"),
    ] {
        let output = command(&lease, &arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output));
        assert!(text(&output).contains(expected), "{}", text(&output));
    }
}

#[test]
fn who_sends_beside_others_waits_for_room() {
    let mut rig = Rig::new(&["queue_size:=3"]);
    rig.send(&long_ptp());
    rig.until("it moves", |seen| seen.count("started") == 1);
    (1..=3).for_each(|n| rig.send(&ptp(0.1 * f64::from(n))));
    rig.until("the queue is full", |seen| seen.depth() == 3);
    let sent = rig.cli(&["send", &example("demo.yaml")]);
    assert_eq!(sent.status.code(), Some(0), "{}", text(&sent));
    assert!(text(&sent).contains("5 primitives executed"), "{}", text(&sent));
    rig.until("all are done", |seen| seen.count("finished") == 9);
    assert_eq!(rig.seen.begun(), (0..9).collect::<Vec<_>>());
}

#[test]
fn a_sender_ends_when_its_controller_is_restarted() {
    let mut rig = Rig::new(&[]);
    let folder = Scratch::make();
    let file = folder.file("restart.yaml", "- {ptp: [0.2, 0, 1.4, 0, 0.6, 0], move_time: 60}");
    for arguments in [vec!["send"], vec!["send", "--action"]] {
        let begun = rig.seen.count("started");
        let arguments = [arguments, vec![file.to_str().unwrap()]].concat();
        let mut sender = Daemon::spawn(command(&rig.domain, &arguments));
        rig.until("it moves", |seen| seen.count("started") > begun);
        rig.daemon.signal("KILL");
        rig.daemon.wait(PATIENCE);
        rig.daemon = Daemon::spawn(command(&rig.domain, &["run"]));
        assert_eq!(sender.wait(PATIENCE).code(), Some(3));
        sender.wait_for_line("was restarted; what it had to do is lost", PATIENCE);
    }
}

#[test]
fn a_sender_believes_its_own_controller_only_and_not_for_ever() {
    let lease = DomainLease::acquire();
    let context = Context::new(ContextOptions::for_domain(lease.id())).unwrap();
    let node = context.node("motion_primitive_controller").unwrap();
    let events = EventLoop::<()>::new(&context).unwrap();
    let queue = node.publisher::<msg::String>("~/queue".latched()).unwrap();
    let status = r#"{"state": "SUCCESS", "depth": 0, "size": 10, "ready": true, "active": true}"#;
    queue.publish(&msg::String { data: status.into() });
    let answers = node.publisher::<msg::String>("~/events").unwrap();
    // It accepts and then forgets.
    let accept = move |_: &mut (), sample: Sample<MotionPrimitive>| {
        let info = sample.info;
        let publisher = info.publisher.to_string();
        let answer = serde_json::json!({"event": "accepted", "id": 0, "publisher": publisher, "sequence": info.sequence_number});
        answers.publish(&msg::String { data: answer.to_string() });
    };
    events.subscribe(&node, "~/reference", accept).unwrap();

    let elsewhere = Context::new(ContextOptions::for_domain(lease.id())).unwrap();
    let stranger = elsewhere.node("stranger").unwrap();
    let rumours = EventLoop::<()>::new(&elsewhere).unwrap();
    let rumour = stranger.publisher::<msg::String>(&format!("{NODE}/events")).unwrap();

    let folder = Scratch::make();
    let path = folder.file("forgotten.yaml", "- {ptp: [0.2, 0, 1.4, 0, 0.6, 0], move_time: 1}");
    let mut sender = Daemon::spawn(command(&lease, &["send", path.to_str().unwrap(), "--timeout", "2"]));
    let (slice, mut told) = (Duration::from_millis(20), 0);
    let ended = rosless_tests::eventually_some("the sender ends", PATIENCE, || {
        events.run_for(&mut (), slice).unwrap();
        rumours.run_for(&mut (), slice).unwrap();
        if rumour.matched() > 0 {
            told += 1;
            rumour.publish(&msg::String { data: r#"{"event": "finished", "id": 0}"#.into() });
        }
        sender.try_wait()
    });
    assert_eq!(ended.code(), Some(3));
    assert!(told > 0, "the stranger was never heard");
    sender.wait_for_line("has nothing to do, but has not told how all primitives ended", PATIENCE);
    assert!(!sender.output().contains("finished"), "{}", sender.output());
}

#[test]
fn a_reader_that_leaves_ends_nothing_but_the_printing() {
    let mut rig = Rig::new(&FAST);
    let square = example("square.yaml");
    for arguments in
        [vec!["state"], vec!["inspect"], vec!["watch"], vec!["plot", &square], vec!["send", &square]]
    {
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let output = command(&rig.domain, &arguments).stdout(writer).output().unwrap();
        assert_eq!((output.status.code(), text(&output).as_str()), (Some(0), ""), "{arguments:?}");
        if matches!(arguments[0], "state" | "plot") {
            let full = File::options().write(true).open("/dev/full").unwrap();
            let output = command(&rig.domain, &arguments).stdout(full).output().unwrap();
            assert_eq!(output.status.code(), Some(1), "{arguments:?}");
            assert!(text(&output).contains("cannot write to stdout"), "{}", text(&output));
        }
    }
    rig.until("the square was driven to its end", |seen| seen.count("finished") == 5);
}

#[test]
fn watch_ends_with_its_reader_although_nothing_happens() {
    let rig = Rig::new(&[]);
    let (reader, writer) = pipe().unwrap();
    let mut watch = command(&rig.domain, &["watch"]).stdout(writer).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(reader).read_line(&mut line).unwrap();
    assert!(line.contains("IDLE"), "{line}");
    let ended = rosless_tests::eventually_some("watch ends", PATIENCE, || watch.try_wait().unwrap());
    assert_eq!(ended.code(), Some(0));
}

#[test]
fn every_example_can_be_drawn() {
    let lease = DomainLease::acquire();
    for name in ["demo.yaml", "square.yaml", "original.yaml"] {
        let output = command(&lease, &["plot", &example(name)]).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        assert!(output.stdout.starts_with(b"<svg ") && output.stdout.ends_with(b"</svg>\n"));
    }
    let draw = |from| command(&lease, &["plot", &example("square.yaml"), "--from", from]).output().unwrap();
    let (home, turned) = (draw("0,-1.57,1.57,-1.57,-1.57,0"), draw("-0.5,-1.57,1.57,-1.57,-1.57,0"));
    assert!(home.status.success() && turned.status.success(), "{}{}", text(&home), text(&turned));
    assert!(home.stdout != turned.stdout, "another start is another drawing");
    let short = draw("0,1");
    assert_eq!(short.status.code(), Some(2));
    assert!(text(&short).contains("--from has 2 values"), "{}", text(&short));
}
