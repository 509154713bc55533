//! Commands that listen and change things.

use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader, Write as _},
    process::Stdio,
};

use rosless_graph::{Context, ContextOptions, EventLoop, graph::Role};
use rosless_tests::{Daemon, Scratch, words};

use crate::world::{SOON, World, talkers_qos};

#[test]
fn messages_are_shown_as_ros2_shows_them() {
    let world = World::new();
    let once = world.rosless(&["topic", "echo", "--once", "/chatter"]);
    assert!(once.stdout.starts_with("data: 'Hello World: ") && once.stdout.ends_with("'\n---\n"), "{once:?}");
    // Latched: the subscription asked for what the publisher offers.
    let map = world.rosless(&["topic", "echo", "--once", "/map", "--no-arr"]);
    assert!(map.stdout.contains("data: '<sequence type: int32, length: 200>'\n---\n"), "{map:?}");
    let field = world.rosless(&["topic", "echo", "--once", "/map", "--field", "data.7", "--timeout", "10"]);
    assert_eq!(field.stdout, "7\n---\n", "{field:?}");
    let json = world.rosless(&["topic", "echo", "--once", "/chatter", "--json"]);
    assert!(json.stdout.starts_with("{\"data\":\"Hello World: "), "{json:?}");
    let rate = world.rosless(&["topic", "hz", "/chatter", "--timeout", "2.5"]);
    assert!(rate.stdout.starts_with("average rate: ") && rate.stdout.contains("\n\tmin: 0."), "{rate:?}");
    let silence = world.rosless(&["topic", "echo", "/nothing", "std_msgs/msg/String", "--timeout", "0.2"]);
    assert_eq!(silence.code, 1, "{silence:?}");
}

#[test]
fn bandwidth_and_delay_are_measured() {
    let world = World::new();
    let bandwidth = world.rosless(&["topic", "bw", "/chatter", "--timeout", "2.5"]);
    assert!(bandwidth.stdout.starts_with("Subscribed to [/chatter]\n"), "{bandwidth:?}");
    // Ten messages of 24 to 28 bytes per second.
    assert!(bandwidth.stdout.contains(" B/s from "), "{bandwidth:?}");
    assert!(bandwidth.stdout.contains(" messages\n\tMessage size mean: 2"), "{bandwidth:?}");
    let imu = ["topic", "pub", "/imu", "sensor_msgs/msg/Imu", "{header: auto}", "-r", "20", "-p", "0"];
    let mut publisher = world.command(&imu).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(publisher.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "publisher: beginning loop");
    let delay = world.rosless(&["topic", "delay", "/imu", "--timeout", "6", "--json"]);
    publisher.kill().unwrap();
    publisher.wait().unwrap();
    let first: serde_json::Value = serde_json::from_str(delay.stdout.lines().next().unwrap()).unwrap();
    // Whatever the machine is busy with: later than written and not by minutes.
    assert!((0.0..60.0).contains(&first["delay"].as_f64().unwrap()), "{delay:?}");
    let headless = world.rosless(&["topic", "delay", "/chatter", "--timeout", "10"]);
    assert_eq!(headless.code, 1, "{headless:?}");
    assert!(headless.stderr.contains("msg does not have header: std_msgs/msg/String"), "{headless:?}");
}

#[test]
fn what_was_changed_is_told_as_json_too() {
    let world = World::new();
    world.expect(&[
        (&["topic", "pub", "-1", "/listen", "std_msgs/msg/String", "{data: hi}", "--json"], "{\"data\":\"hi\"}\n"),
        (
            &["param", "set", "/talker", "rate", "20", "--json"],
            "{\n  \"node\": \"/talker\",\n  \"parameter\": \"rate\",\n  \"value\": 20\n}\n",
        ),
        (
            &["lifecycle", "set", "/lc_talker", "configure", "--json"],
            "{\n  \"node\": \"/lc_talker\",\n  \"id\": 1,\n  \"transition\": \"configure\",\n  \"success\": true\n}\n",
        ),
    ]);
}

#[test]
fn an_endless_command_ends_well_when_its_reader_leaves() {
    let world = World::new();
    let mut echo = world.command(&["topic", "echo", "/chatter"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(echo.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("data: "), "{line}");
    assert!(echo.wait().unwrap().success());
}

#[test]
fn a_published_message_arrives() {
    let world = World::new();
    let run = world.rosless(&["topic", "pub", "--once", "/listen", "std_msgs/msg/String", "{data: hi}"]);
    assert_eq!(
        run.stdout, "publisher: beginning loop\npublishing #1: std_msgs.msg.String(data='hi')\n\n",
        "{run:?}"
    );
    assert_eq!(run.code, 0, "{run:?}");
    let heard = world.rosless(&["topic", "echo", "--once", "/heard", "--timeout", "10"]);
    assert_eq!(heard.stdout, "data: hi\n---\n", "{heard:?}");
    let wait = ["--max-wait-time-secs", "0.5"];
    let nobody =
        world.rosless(&[&["topic", "pub", "-1", "/nobody", "std_msgs/msg/String"], &wait[..]].concat());
    assert_eq!(nobody.code, 3, "{nobody:?}");
    assert!(nobody.stderr.contains("Expected 1 subscribers but only got 0"), "{nobody:?}");
    let wrong = world.rosless(&["topic", "pub", "-1", "/listen", "std_msgs/msg/String", "{date: hi}"]);
    assert_eq!(wrong.code, 2, "{wrong:?}");
    assert!(wrong.stderr.contains("date"), "{wrong:?}");
}

#[test]
fn services_are_called() {
    let world = World::new();
    world.expect(&[(
        &["service", "call", "/add_two_ints", "example_interfaces/srv/AddTwoInts", "{a: 2, b: 40}"],
        "requester: making request: example_interfaces.srv.AddTwoInts_Request(a=2, b=40)\n\n\
         response:\nexample_interfaces.srv.AddTwoInts_Response(sum=42)\n\n",
    )]);
    let nobody =
        world.rosless(&words("service call /add_three example_interfaces/srv/AddTwoInts --timeout 0.5"));
    assert_eq!((nobody.code, nobody.stdout.as_str()), (3, ""), "{nobody:?}");
}

#[test]
fn repeated_calls_come_from_one_client() {
    let world = World::new();
    let service = ["/add_two_ints", "example_interfaces/srv/AddTwoInts", "{a: 2, b: 40}"];
    let calls = Daemon::spawn(world.command(&[&["service", "call", "-r", "200"], &service[..]].concat()));
    let context = Context::new(ContextOptions::for_domain(world.domain())).unwrap();
    let events = EventLoop::new(&context).unwrap();
    let mut clients = BTreeSet::new();
    let answered = events.run_until(&mut (), SOON, |()| {
        let graph = context.graph();
        let asks = |role| role == Role::Client("/add_two_ints".to_owned());
        clients.extend(graph.endpoints().filter(|e| e.role().is_some_and(asks)).map(|e| e.gid));
        calls.filter_map(|line| line.contains("sum=42").then_some(())).len() >= 30
    });
    assert!(answered.unwrap(), "{}", calls.output());
    assert_eq!(clients.len(), 1, "each call made a client");
}

#[test]
fn a_lifecycle_is_walked_through() {
    let world = World::new();
    world.expect(&[
        (&["lifecycle", "get", "/lc_talker"], "unconfigured [1]\n"),
        (
            &["lifecycle", "list", "/lc_talker"],
            "- configure [1]\n\tStart: unconfigured\n\tGoal: configuring\n\
             - shutdown [5]\n\tStart: unconfigured\n\tGoal: shuttingdown\n",
        ),
    ]);
    world.expect(&[(&["lifecycle", "set", "/lc_talker", "configure"], "Transitioning successful\n")]);
    world.expect(&[(&["lifecycle", "set", "/lc_talker", "activate"], "Transitioning successful\n")]);
    world.expect(&[(&["lifecycle", "get"], "/lc_talker: active [3]\n")]);
    world.expect_failures(1, &[(&["lifecycle", "set", "/lc_talker", "configure"], "- deactivate [4]")]);
}

#[test]
fn parameters_are_read_and_set() {
    let world = World::new();
    world.expect(&[
        (
            &["param", "list", "/lc_talker"],
            "  qos_overrides./parameter_events.publisher.depth\n  qos_overrides./parameter_events.publisher.durability\n  \
             qos_overrides./parameter_events.publisher.history\n  qos_overrides./parameter_events.publisher.reliability\n  \
             start_type_description_service\n  use_sim_time\n",
        ),
        (
            &["param", "list", "/lc_talker", "-s", "--filter", "use_.*|sim|start$"],
            "  use_sim_time\n",
        ),
        (&["param", "get", "/lc_talker", "use_sim_time"], "Boolean value is: False\n"),
        (&["param", "set", "/talker", "rate", "20"], "Set parameter successful\n"),
        (&["param", "set", "/talker", "words", "[x, y]"], "Set parameter successful\n"),
        (&["param", "get", "/talker", "numbers"], "Integer values are: [1, 2, 3]\n"),
        (
            &["param", "describe", "/talker", "rate"],
            "Parameter name: rate\n  Type: integer\n  Description: Messages per second\n  Constraints:\n    \
             Min value: 1\n    Max value: 100\n    Step: 1\n",
        ),
    ]);
    let dump = format!(
        "/talker:\n  ros__parameters:\n    gains:\n      p: 0.5\n    numbers:\n    - 1\n    - 2\n    - 3\n{}    \
         rate: 20\n    start_type_description_service: true\n    use_sim_time: false\n    words:\n    - x\n    - y\n\n",
        talkers_qos()
    );
    world.expect(&[(&["param", "dump", "/talker"], &dump)]);
    world.expect_failures(1, &[(&["param", "set", "/talker", "rate", "1000"], "Setting parameter failed")]);
}

#[test]
fn parameter_files_are_loaded() {
    let world = World::new();
    let folder = Scratch::make();
    let path = folder.file("load.yaml", "/talker:\n  ros__parameters:\n    rate: 30\n    gains: {p: 2.5}\n");
    let file = path.to_str().unwrap();
    world.expect(&[(
        &["param", "load", "/talker", file],
        "Set parameter gains.p successful\nSet parameter rate successful\n",
    )]);
    world.expect(&[(&["param", "get", "/talker", "gains.p"], "Double value is: 2.5\n")]);
    // What is refused does not keep the rest.
    std::fs::write(&path, "/**:\n  ros__parameters:\n    rate: 1000\n    gains: {p: 3.5}\n").unwrap();
    world.expect_failures(1, &[(&["param", "load", "/talker", file], "/talker refused 1 of 2 parameters")]);
    world.expect(&[(&["param", "get", "/talker", "gains.p"], "Double value is: 3.5\n")]);
    let named = "/**:\n  ros__parameters:\n    rate: 40\n/talker:\n  ros__parameters:\n    gains: {p: 4.5}\n";
    std::fs::write(&path, named).unwrap();
    world.expect(&[(
        &["param", "load", "/talker", file, "--no-use-wildcard"],
        "Set parameter gains.p successful\n",
    )]);
    let nothing = world.rosless(&["param", "load", "/talker", "/dev/null"]);
    assert_eq!(nothing.code, 2, "{nothing:?}");
    world.expect_failures(1, &[(&["param", "delete", "/talker", "rate"], "Deleting parameter failed")]);
}

#[test]
fn goals_are_sent() {
    let world = World::new();
    let send = ["action", "send_goal", "/fibonacci", "example_interfaces/action/Fibonacci"];
    let run = world.rosless(&[&send[..], &["{order: 2}", "--feedback"]].concat());
    assert_eq!(run.code, 0, "{run:?}");
    let (before, after) = run.stdout.split_once("Goal accepted with ID: ").expect("accepted");
    assert_eq!(
        before,
        "Waiting for an action server to become available...\nSending goal:\n     order: 2\n\n"
    );
    let (_, after) = after.split_once("\n\n").unwrap();
    assert_eq!(
        after.replace("Feedback:\n    sequence:\n- 0\n- 1\n- 1\n\n", ""),
        "Result:\n    sequence:\n- 0\n- 1\n- 1\n\nGoal finished with status: SUCCEEDED\n",
        "{run:?}"
    );
    let rejected = world.rosless(&[&send[..], &["{order: -1}"]].concat());
    assert_eq!(rejected.code, 1, "{rejected:?}");
    assert!(rejected.stderr.contains("Goal was rejected."), "{rejected:?}");
}

#[test]
fn measuring_waits_for_the_topic() {
    let world = World::new();
    let waiting = |verb| {
        let measure = Daemon::spawn(world.command(&["topic", verb, "/late", "--timeout", "60"]));
        measure.wait_for_line("WARNING: topic [/late] does not appear to be published yet", SOON);
        measure
    };
    let (rate, bandwidth, delay) = (waiting("hz"), waiting("bw"), waiting("delay"));
    assert!(!bandwidth.output().contains("Subscribed"), "{}", bandwidth.output());
    let _late = world.publish(&["/late", "sensor_msgs/msg/Imu", "{header: auto}", "-p", "0"]);
    rate.wait_for_line("average rate: ", SOON);
    bandwidth.wait_for_line("Subscribed to [/late]", SOON);
    bandwidth.wait_for_line("Message size mean: ", SOON);
    delay.wait_for_line("average delay: ", SOON);
    world.expect_failures(3, &[(&["topic", "hz", "/chater", "--timeout", "0.2"], "did you mean '/chatter'")]);
}

#[test]
fn zero_times_is_endless_and_who_waits_for_nobody_is_not_warned() {
    let world = World::new();
    let endless = world.publish(&["/x", "std_msgs/msg/String", "-t", "0"]);
    let line = endless.wait_for_line("publishing #5: ", SOON);
    assert_eq!(line, "publishing #5: std_msgs.msg.String(data='')");
    assert!(!endless.output().contains("WARNING"), "{}", endless.output());
}

#[test]
fn wrong_numbers_and_types_are_named() {
    let world = World::new();
    let usage: [(&[&str], &str); 3] = [
        (&["topic", "pub", "/x", "std_msgs/msg/String", "-r", "-1"], "expected a rate in hertz above 0"),
        (&["topic", "echo", "/x", "--timeout", "-1"], "expected seconds from 0 to"),
        (
            &["service", "call", "/x", "std_srvs/srv/Trigger", "--timeout", "-0.5"],
            "expected seconds from 0 to",
        ),
    ];
    for (arguments, expected) in usage {
        let run = world.rosless(arguments);
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.stderr.contains(expected), "{run:?}");
    }
    world.expect_failures(
        1,
        &[
            (
                &["service", "call", "/add_two_ints", "nope/srv/X"],
                "/add_two_ints is a example_interfaces/srv/AddTwoInts, not a nope/srv/X",
            ),
            (&["action", "send_goal", "/fibonacci", "nope/action/X"], "unknown type 'nope/action/X'"),
            (
                &["param", "describe", "/talker", "nope"],
                "Parameter 'nope' is not set; `rosless param list /talker` lists what is",
            ),
        ],
    );
}

#[test]
fn what_is_shown_and_counted_can_be_filtered() {
    let world = World::new();
    world.expect(&[(
        &[
            "topic",
            "echo",
            "--once",
            "/map",
            "--filter",
            "len(m.data) == 200 and m.data[7] == 7",
            "--field",
            "data.7",
        ],
        "7\n---\n",
    )]);
    let none = ["topic", "echo", "/map", "--filter", "m.data[0] > 0", "--timeout", "1.5"];
    world.expect_failures(1, &[(&none, "no message on /map")]);
    let wrong = ["topic", "echo", "/map", "--filter", "m.size > 0", "--timeout", "20"];
    world.expect_failures(
        1,
        &[(&wrong, "--filter: std_msgs/msg/Int32MultiArray has no `size`, but layout, data")],
    );
    world.expect_failures(2, &[(&["topic", "hz", "/map", "--filter", "data >"], "the message is `m`")]);
    let rate =
        world.rosless(&["topic", "hz", "/chatter", "--filter", "'0' in m.data", "--timeout", "6", "--json"]);
    let first: serde_json::Value =
        serde_json::from_str(rate.stdout.lines().next().expect("a line")).expect("JSON");
    // Of ten a second, one or a few.
    assert!(first["rate"].as_f64().expect("a rate") < 8.0, "{rate:?}");
}

#[test]
fn several_topics_are_measured_in_one_table() {
    let world = World::new();
    let _publisher = world.publish(&["/other", "std_msgs/msg/Int32", "{data: 1}"]);
    let both = world.rosless(&["topic", "bw", "/chatter", "/other", "--timeout", "3.5"]);
    assert!(both.stdout.contains("\ntopic     bandwidth"), "{both:?}");
    let all = world.rosless(&["topic", "hz", "--all", "--timeout", "4.5", "--json"]);
    let topics: BTreeSet<String> = all
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON")["topic"].to_string())
        .collect();
    assert!(topics.contains("\"/chatter\"") && topics.contains("\"/other\""), "{all:?}");
    world.expect_failures(2, &[(&["topic", "hz"], "<TOPIC_NAME>")]);
}

#[test]
fn messages_and_requests_are_read_from_standard_input() {
    let world = World::new();
    let fed = |arguments: &[&str], text: &str| {
        let mut child =
            world.command(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let published =
        fed(&["topic", "pub", "-1", "--stdin", "/listen", "std_msgs/msg/String"], "data: piped\n");
    assert!(published.contains("std_msgs.msg.String(data='piped')"), "{published}");
    let goal = ["action", "send_goal", "--stdin", "/fibonacci", "example_interfaces/action/Fibonacci"];
    assert!(fed(&goal, "order: 2\n").contains("Sending goal:\n     order: 2\n"));
    let call = ["service", "call", "--stdin", "/add_two_ints", "example_interfaces/srv/AddTwoInts", "--json"];
    assert_eq!(fed(&call, "{a: 40,\n b: 2}"), "{\"sum\":42}\n");
}

#[test]
fn nobody_listens_is_said_instead_of_waited_for() {
    let world = World::new();
    let nobody = ["topic", "pub", "-1", "/nobody", "std_msgs/msg/String", "--max-wait-time-secs", "0.5"];
    world.expect_failures(3, &[(&nobody, "to publish to nobody: -w 0")]);
    world.expect_failures(
        2,
        &[
            (&["run", "demo_nodes_cpp", "talker", "--ros-args", "-r", "a:=b"], "`talker --ros-args …`"),
            (&["launch", "x", "y.launch.py"], "rosless up --config"),
            (&["pkg", "list"], "rosless interface packages"),
        ],
    );
}

#[test]
fn several_parameters_are_set_and_read_at_once() {
    let world = World::new();
    world.expect(&[(
        &["param", "set", "/talker", "rate", "7", "gains.p", "-0.25"],
        "Set parameter rate successful\nSet parameter gains.p successful\n",
    )]);
    world.expect(&[
        (
            &["param", "get", "/talker", "rate", "gains.p"],
            "rate: Integer value is: 7\ngains.p: Double value is: -0.25\n",
        ),
        (&["param", "get", "/talker", "rate"], "Integer value is: 7\n"),
    ]);
    world.expect_failures(
        2,
        &[(&["param", "set", "/talker", "rate", "7", "gains.p"], "gains.p has no value")],
    );
}

#[test]
fn an_action_can_be_listened_to() {
    let world = World::new();
    let listener = Daemon::spawn(world.command(&["action", "echo", "/fibonacci", "--json"]));
    let goal = ["action", "send_goal", "/fibonacci", "example_interfaces/action/Fibonacci", "{order: 2}"];
    // Feedback is not kept for those who come late: goals until it is heard.
    rosless_tests::eventually("feedback and state are heard", SOON, || {
        assert_eq!(world.rosless(&goal).code, 0);
        let heard =
            |interface: &str| !listener.filter_map(|line| line.contains(interface).then_some(())).is_empty();
        heard("FEEDBACK_TOPIC") && heard("STATUS_TOPIC")
    });
}

#[test]
fn transforms_are_followed_and_their_tree_is_drawn() {
    let world = World::new();
    let turn = "{transforms: [{header: {frame_id: map, stamp: now}, child_frame_id: base, transform: {translation: {x: 1.0}, \
                rotation: {z: 0.70710678, w: 0.70710678}}}, {header: {frame_id: base, stamp: now}, child_frame_id: hand, \
                transform: {translation: {x: 2.0}, rotation: {w: 1.0}}}]}";
    let _publisher = world.publish(&["/tf", "tf2_msgs/msg/TFMessage", turn]);
    let hand = world.rosless(&["tf", "echo", "map", "hand", "--once", "--timeout", "20"]);
    let expected = "- Translation: [1.000, 2.000, 0.000]\n- Rotation: in Quaternion (xyzw) [0.000, 0.000, 0.707, 0.707]\n";
    assert!(hand.stdout.contains(expected), "{hand:?}");
    assert!(hand.stdout.contains("RPY (degree) [0.000, -0.000, 90.000]"), "{hand:?}");
    let tree = world.rosless(&["tf", "tree", "--duration", "1.5"]);
    assert!(
        tree.stdout.starts_with("map\n└─ base  (") && tree.stdout.contains("\n   └─ hand  ("),
        "{tree:?}"
    );
    let live = world.rosless(&["tf", "monitor", "--duration", "2.5", "--json"]);
    assert!(live.stdout.contains("\"frame\":\"hand\",\"parent\":\"base\""), "{live:?}");
    world.expect_failures(
        3,
        &[(
            &["tf", "echo", "map", "foot", "--timeout", "1.5"],
            "frame \"foot\" does not exist; there is base, hand, map",
        )],
    );
}

#[test]
fn the_whole_graph_at_a_glance() {
    let world = World::new();
    let top = world.rosless(&["top", "--duration", "4.5", "--json"]);
    let last: serde_json::Value =
        serde_json::from_str(top.stdout.lines().last().expect("a line")).expect("JSON");
    assert_eq!(last["nodes"], serde_json::json!(["/lc_talker", "/talker"]), "{top:?}");
    let chatter = last["topics"].as_array().unwrap().iter().find(|topic| topic["topic"] == "/chatter");
    assert!(chatter.is_some_and(|chatter| chatter["rate"].as_f64() > Some(0.0)), "{top:?}");
    let service = world.rosless(&["service", "info", "-v", "/add_two_ints"]);
    assert!(service.stdout.starts_with("Type: example_interfaces/srv/AddTwoInts\nClients count: 0\n\nServices count: 1\n\nNode name: talker\n"), "{service:?}");
}
