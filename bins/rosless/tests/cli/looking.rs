//! Commands that only look: their output is what `ros2` prints for the same graph.

use std::{io::Write as _, process::Stdio};

use crate::world::World;
use rosless_wire::{Message as _, std_msgs::msg};

const INTERNAL: [&str; 7] = [
    "describe_parameters rcl_interfaces/srv/DescribeParameters",
    "get_parameter_types rcl_interfaces/srv/GetParameterTypes",
    "get_parameters rcl_interfaces/srv/GetParameters",
    "get_type_description type_description_interfaces/srv/GetTypeDescription",
    "list_parameters rcl_interfaces/srv/ListParameters",
    "set_parameters rcl_interfaces/srv/SetParameters",
    "set_parameters_atomically rcl_interfaces/srv/SetParametersAtomically",
];

#[test]
fn the_graph_is_listed_as_ros2_lists_it() {
    let world = World::new();
    world.expect(&[
        (&["node", "list"], "/lc_talker\n/talker\n"),
        (&["node", "list", "-c"], "2\n"),
        (
            &["topic", "list", "-t"],
            "/chatter [std_msgs/msg/String]\n\
             /heard [std_msgs/msg/String]\n\
             /lc_talker/transition_event [lifecycle_msgs/msg/TransitionEvent]\n\
             /listen [std_msgs/msg/String]\n\
             /map [std_msgs/msg/Int32MultiArray]\n\
             /parameter_events [rcl_interfaces/msg/ParameterEvent]\n\
             /rosout [rcl_interfaces/msg/Log]\n",
        ),
        (&["action", "list", "-t"], "/fibonacci [example_interfaces/action/Fibonacci]\n"),
        (&["lifecycle", "nodes"], "/lc_talker\n"),
        (&["service", "type", "/add_two_ints"], "example_interfaces/srv/AddTwoInts\n"),
        (
            &["topic", "info", "chatter"],
            "Type: std_msgs/msg/String\nPublisher count: 1\nSubscription count: 0\n",
        ),
        (
            &["action", "info", "/fibonacci"],
            "Action: /fibonacci\nAction clients: 0\nAction servers: 1\n    /talker\n",
        ),
        (&["node", "list", "--json"], "[\n  \"/lc_talker\",\n  \"/talker\"\n]\n"),
    ]);
}

#[test]
fn details_of_a_node_and_a_topic_have_the_form_of_ros2() {
    let world = World::new();
    let own = |node: &str| -> String {
        let line = |service: &&str| {
            let (name, ty) = service.split_once(' ').unwrap();
            format!("    /{node}/{name}: {ty}\n")
        };
        INTERNAL.iter().map(line).collect()
    };
    let info = world.rosless(&["node", "info", "/talker"]);
    let expected = format!(
        "/talker\n  Subscribers:\n    /listen: std_msgs/msg/String\n    \
         /parameter_events: rcl_interfaces/msg/ParameterEvent\n  Publishers:\n    /chatter: std_msgs/msg/String\n    \
         /heard: std_msgs/msg/String\n    /map: std_msgs/msg/Int32MultiArray\n    \
         /parameter_events: rcl_interfaces/msg/ParameterEvent\n    /rosout: rcl_interfaces/msg/Log\n  \
         Service Servers:\n    /add_two_ints: example_interfaces/srv/AddTwoInts\n{}  Service Clients:\n\n  \
         Action Servers:\n    /fibonacci: example_interfaces/action/Fibonacci\n  Action Clients:\n\n",
        own("talker")
    );
    assert_eq!(info.stdout, expected, "{info:?}");

    let verbose = world.rosless(&["topic", "info", "-v", "/chatter"]).stdout;
    let (before, after) = verbose.split_once("GID: ").expect("a publisher is shown");
    assert_eq!(
        before,
        format!(
            "Type: std_msgs/msg/String\n\nPublisher count: 1\n\nNode name: talker\nNode namespace: /\n\
             Topic type: std_msgs/msg/String\nTopic type hash: {}\nEndpoint type: PUBLISHER\n",
            msg::String::TYPE_HASH
        )
    );
    let (gid, after) = after.split_once('\n').unwrap();
    assert!(gid.starts_with("01.12.") && gid.split('.').count() == 16, "{gid}");
    assert_eq!(
        after,
        "QoS profile:\n  Reliability: RELIABLE\n  History (Depth): KEEP_LAST (7)\n  Durability: VOLATILE\n  \
         Lifespan: Infinite\n  Deadline: Infinite\n  Liveliness: AUTOMATIC\n  Liveliness lease duration: Infinite\n\n\
         Subscription count: 0\n\n"
    );
}

#[test]
fn what_ros2_accepts_is_accepted() {
    let world = World::new();
    let no_daemon = "There is no daemon: every command looks at the graph itself\n";
    world.expect(&[
        (&["action", "type", "/fibonacci"], "example_interfaces/action/Fibonacci\n"),
        (&["action", "find", "example_interfaces/action/Fibonacci"], "/fibonacci\n"),
        (&["action", "find", "example_interfaces/action/Fibonacci", "-c"], "1\n"),
        (&["interface", "package", "std_srvs", "-m"], ""),
        (
            &["interface", "package", "std_srvs", "--only-srvs"],
            "std_srvs/srv/Empty\nstd_srvs/srv/SetBool\nstd_srvs/srv/Trigger\n",
        ),
        (&["interface", "proto", "std_msgs/msg/String"], "\"data: ''\n\"\n"),
        (&["interface", "proto", "std_msgs/msg/String", "--no-quotes"], "data: ''\n\n"),
        (&["param", "get", "/talker", "rate", "--include-hidden-nodes"], "Integer value is: 10\n"),
        (
            &["lifecycle", "list", "/lc_talker", "--include-hidden-nodes", "--json", "--spin-time", "5"],
            &world.rosless(&["lifecycle", "list", "/lc_talker", "--json"]).stdout,
        ),
        // As with argparse, the beginning of an option is enough.
        (&["node", "list", "--count"], "2\n"),
        (&["daemon", "status"], no_daemon),
        (&["daemon", "stop"], no_daemon),
    ]);
    let lease = ["--qos-liveliness-lease-duration-seconds", "3", "--qos-liveliness", "automatic"];
    let echo = ["topic", "echo", "/chatter", "-s", "--timeout", "0.1"];
    let wrong = world.rosless(&[&echo[..], &lease].concat());
    // The publisher offers an endless lease: nothing comes, but the options are known.
    assert_eq!(wrong.code, 1, "{wrong:?}");
    assert!(wrong.stderr.contains("nobody publishes /clock: simulated time stands still"), "{wrong:?}");
    let _simulation = world.publish(&["/clock", "rosgraph_msgs/msg/Clock", "{clock: {sec: 42}}"]);
    let stamp =
        ["topic", "pub", "--once", "-s", "-w", "0", "/stamped", "std_msgs/msg/Header", "{stamp: now}"];
    let simulated = world.rosless(&stamp);
    assert!(simulated.stdout.contains("Time(sec=42, nanosec=0)"), "{simulated:?}");
    let untold = world.rosless(&["service", "echo", "/talker/get_parameters"]);
    assert!(untold.code == 3 && untold.stderr.contains("service_introspection:=contents"), "{untold:?}");
    assert!(world.rosless(&["interface", "packages", "-a"]).stdout.contains("example_interfaces\n"));
    assert!(!world.rosless(&["interface", "packages", "-a"]).stdout.contains("std_msgs\n"));
    assert_eq!(world.rosless(&["wtf", "--report"]).code, 0);
}

#[test]
fn a_definition_is_asked_for_through_a_pipe() {
    let world = World::new();
    let mut show = world.command(&["interface", "show", "-"]);
    let show = show.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    show.stdin.as_ref().unwrap().write_all(b"std_msgs/msg/Empty\nignored\n").unwrap();
    let run = show.wait_with_output().unwrap();
    assert!(run.status.success(), "{run:?}");
    assert_eq!(run.stdout, world.rosless(&["interface", "show", "std_msgs/msg/Empty"]).stdout.as_bytes());
    let mut nothing = world.command(&["interface", "show", "-"]);
    assert_eq!(nothing.stdin(Stdio::null()).output().unwrap().status.code(), Some(2));
}

#[test]
fn nodes_that_share_a_name_are_warned_about() {
    let world = World::new();
    let _second = world.publish(&["/second", "std_msgs/msg/String", "-n", "talker"]);
    let info = world.rosless(&["node", "info", "/talker"]);
    assert!(
        info.stderr.contains("There are 2 nodes in the graph with the exact name \"/talker\"."),
        "{info:?}"
    );
    assert!(info.stdout.contains("/second: std_msgs/msg/String\n"), "{info:?}");
}

#[test]
fn what_is_not_there_is_an_error_that_helps() {
    let world = World::new();
    let nobody = 3;
    world.expect_failures(
        nobody,
        &[
            (&["topic", "info", "/chater"], "Unknown topic '/chater'; did you mean '/chatter'"),
            (&["topic", "echo", "--once", "/chater"], "did you mean '/chatter'"),
            (&["node", "info", "/walker"], "did you mean '/talker'"),
        ],
    );
    world.expect_failures(
        1,
        &[
            (
                &["topic", "echo", "--once", "/chatter", "std_msgs/msg/Bool"],
                "/chatter carries std_msgs/msg/String",
            ),
            (&["lifecycle", "get", "/talker"], "/talker has no lifecycle"),
            (&["param", "get", "/talker", "rat"], "did you mean 'rate'"),
            (&["param", "get", "/talker", "rate", "gains.d"], "did you mean 'gains.p'"),
            (
                &["service", "call", "/add_two_ints", "std_srvs/srv/Trigger"],
                "is a example_interfaces/srv/AddTwoInts",
            ),
        ],
    );
}

#[test]
fn definitions_need_no_graph() {
    let world = World::new();
    world.expect(&[
        (&["interface", "show", "std_msgs/msg/String", "--no-comments"], "string data\n"),
        (
            &["interface", "package", "std_srvs"],
            "std_srvs/srv/Empty\nstd_srvs/srv/SetBool\nstd_srvs/srv/Trigger\n",
        ),
    ]);
    let list = world.rosless(&["interface", "list", "-a"]).stdout;
    assert!(list.starts_with("Actions:\n    ") && !list.contains("Messages:"), "{list}");
    let bash = world.rosless(&["completions", "bash"]).stdout;
    for program in ["rosless", "mocap-controller", "dummy-mechanism"] {
        assert!(bash.contains(&format!("-F _clap_complete_{}", program.replace('-', "_"))), "{bash}");
    }
    assert!(world.rosless(&["man"]).stdout.contains(".TH rosless 1"));
    assert_eq!(world.rosless(&["topic", "list", "--spin-time", "soon"]).code, 2);
}

#[test]
fn the_doctor_finds_endpoints_that_do_not_fit() {
    let world = World::new();
    let healthy = world.rosless(&["doctor"]);
    assert_eq!(healthy.code, 0, "{healthy:?}");
    assert!(healthy.stdout.contains("1 others: 1 RustDDS"), "{healthy:?}");
    let mut listener = world
        .command(&["topic", "echo", "/chatter", "--qos-durability", "transient_local"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let sick = rosless_tests::eventually_some("a finding", std::time::Duration::from_secs(20), || {
        Some(world.rosless(&["doctor"])).filter(|run| run.code == 1)
    });
    listener.kill().unwrap();
    listener.wait().unwrap();
    assert!(sick.stdout.contains("FAIL qos") && sick.stdout.contains("DURABILITY"), "{sick:?}");
}
