//! Every command's JSON has the form that docs/json.md shows.

use rosless_tests::{Scratch, assert_documented};
use serde_json::Value;

use crate::world::{Ran, World};

fn last_line(run: &Ran) -> Value {
    let text = run.stdout.trim_end();
    // A document may have many lines; a stream has one per document.
    serde_json::from_str(text)
        .or_else(|_| serde_json::from_str(text.lines().last().unwrap_or_default()))
        .unwrap_or_else(|error| panic!("{error}: {run:?}"))
}

#[test]
fn every_command_prints_what_the_page_shows() {
    let world = World::new();
    let folder = Scratch::make();
    let file = folder.file("load.yaml", "/talker:\n  ros__parameters:\n    rate: 30\n");
    let file = file.to_str().unwrap();
    let table: [(&str, &[&str]); 27] = [
        ("node list", &["node", "list"]),
        ("node info", &["node", "info", "/talker"]),
        ("topic list", &["topic", "list"]),
        ("topic list", &["service", "list"]),
        ("topic list", &["action", "list"]),
        ("topic info", &["topic", "info", "/chatter"]),
        ("topic type", &["topic", "type", "/chatter"]),
        ("topic type", &["service", "type", "/add_two_ints"]),
        ("topic echo", &["topic", "echo", "--once", "/chatter"]),
        ("topic hz", &["topic", "hz", "/chatter", "--timeout", "3"]),
        ("topic bw", &["topic", "bw", "/chatter", "--timeout", "3"]),
        ("service info", &["service", "info", "/add_two_ints"]),
        (
            "service call",
            &["service", "call", "/add_two_ints", "example_interfaces/srv/AddTwoInts", "{a: 1, b: 2}"],
        ),
        ("param list", &["param", "list"]),
        ("param set", &["param", "set", "/talker", "rate", "20"]),
        ("param load", &["param", "load", "/talker", file]),
        ("param dump", &["param", "dump", "/talker"]),
        ("action info", &["action", "info", "/fibonacci"]),
        (
            "action send_goal",
            &["action", "send_goal", "/fibonacci", "example_interfaces/action/Fibonacci", "{order: 2}"],
        ),
        ("lifecycle get", &["lifecycle", "get", "/lc_talker"]),
        ("lifecycle list", &["lifecycle", "list", "/lc_talker"]),
        ("lifecycle set", &["lifecycle", "set", "/lc_talker", "configure"]),
        ("node list", &["lifecycle", "nodes"]),
        ("interface list", &["interface", "list"]),
        ("interface show", &["interface", "show", "std_msgs/msg/String"]),
        ("node list", &["interface", "packages"]),
        ("doctor", &["doctor"]),
    ];
    std::thread::scope(|scope| {
        let runs: Vec<_> = table
            .iter()
            .map(|(heading, arguments)| {
                (heading, scope.spawn(|| world.rosless(&[*arguments, &["--json"]].concat())))
            })
            .collect();
        for (heading, run) in runs {
            let run = run.join().expect("the command ran");
            assert_documented(&format!("rosless {heading}"), &last_line(&run));
        }
    });
}

#[test]
fn a_failure_is_an_object_with_its_exit_code() {
    let world = World::new();
    for (arguments, code, kind, says) in [
        (&["node", "info", "/walker"][..], 3, "nobody", "did you mean '/talker'"),
        (&["param", "set", "/talker", "rate", "1000"], 1, "failed", "Setting parameter failed"),
        (&["topic", "fly"], 2, "usage", "unrecognized subcommand 'fly'"),
        (&["topic", "list", "--ros-args", "--remap"], 2, "usage", "remap"),
    ] {
        let run = world.rosless(&[&["--json"], arguments].concat());
        let failure = last_line(&run);
        assert_documented("failure", &failure);
        assert_eq!((run.code, failure["error"]["code"].as_i64()), (code, Some(code.into())), "{run:?}");
        assert_eq!(failure["error"]["kind"], kind);
        assert!(failure["error"]["message"].as_str().unwrap().contains(says), "{failure}");
        assert!(!run.stderr.contains("error:"), "said once: {run:?}");
    }
}
