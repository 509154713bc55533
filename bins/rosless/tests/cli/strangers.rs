//! Types that are not built in.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use rosless_graph::{Context, ContextOptions, EventLoop, TopicQos};
use rosless_schema::{DynamicMessage, Kind, Registry, Source};
use rosless_tests::Scratch;
use rosless_wire::type_description_interfaces::srv::{GetTypeDescription, GetTypeDescriptionResponse};

use crate::world::World;

const TYPE: &str = "strange_msgs/msg/Thing";
const DEFINITION: &str = "string name\nfloat64[3] place\n";

/// A node that publishes a type only it knows, and describes it when asked.
pub(crate) fn stranger(domain: u16, stop: &AtomicBool) {
    let mut registry = Registry::new();
    let (package, name, file) = ("strange_msgs", "Thing", "Thing.msg");
    registry.add_source(Source { kind: Kind::Msg, package, name, file, text: DEFINITION });
    let thing = DynamicMessage::from_yaml(
        &registry.message_type(TYPE).unwrap(),
        "{name: left, place: [1, 2, 3]}",
        None,
    );
    let payload = thing.unwrap().to_payload();
    let context =
        Context::new(ContextOptions { node_services: false, ..ContextOptions::for_domain(domain) }).unwrap();
    let node = context.node("stranger").unwrap();
    let events = EventLoop::<()>::new(&context).unwrap();
    let publisher =
        node.raw_publisher("thing".latched(), (TYPE, &registry.type_hash(TYPE).unwrap())).unwrap();
    publisher.publish(payload);
    events
        .serve::<GetTypeDescription>(&node, "~/get_type_description", move |(), request, responder| {
            let description = registry.description(&request.type_name).unwrap();
            let type_description =
                serde_json::to_value(description).and_then(serde_json::from_value).unwrap();
            responder.reply(&GetTypeDescriptionResponse {
                successful: true,
                type_description,
                ..Default::default()
            });
        })
        .unwrap();
    while !stop.load(Ordering::Relaxed) {
        events.run_for(&mut (), Duration::from_millis(20)).unwrap();
    }
}

#[test]
fn an_unknown_type_is_described_by_its_node_or_by_a_folder() {
    let world = World::new();
    let stop = AtomicBool::new(false);
    let idl = Scratch::make();
    std::fs::create_dir_all(idl.join("strange_msgs/msg")).unwrap();
    std::fs::write(idl.join("strange_msgs/msg/Thing.msg"), DEFINITION).unwrap();
    let (asked, given, unknown) = thread::scope(|scope| {
        scope.spawn(|| stranger(world.domain(), &stop));
        let echo = ["topic", "echo", "--once", "/thing", "--timeout", "10"];
        let asked = world.rosless(&echo);
        let given = world.rosless(&[&echo[..], &["--idl", idl.to_str().unwrap()]].concat());
        let unknown = world.rosless(&["topic", "pub", "-1", "/nothing", TYPE, "{}"]);
        stop.store(true, Ordering::Relaxed);
        (asked, given, unknown)
    });
    assert_eq!(asked.stdout, "name: left\nplace:\n- 1.0\n- 2.0\n- 3.0\n---\n", "{asked:?}");
    assert_eq!(given.stdout, asked.stdout, "{given:?}");
    assert_eq!(unknown.code, 1, "{unknown:?}");
    assert!(unknown.stderr.contains("unknown type 'strange_msgs/msg/Thing'"), "{unknown:?}");
}

/// One node for each version of a type: which one it speaks is known by the hash it announces, or by its announcing none.
#[test]
fn a_type_is_read_in_the_version_whose_hash_is_announced() {
    let world = World::new();
    let context = Context::new(ContextOptions::for_domain(world.domain())).unwrap();
    let events = EventLoop::<()>::new(&context).unwrap();
    let node = context.node("versions").unwrap();
    let say = |topic: &str, distribution: &str, name: &str, yaml: &str| {
        let registry = Registry::embedded_for(distribution);
        let hash = if distribution == "humble" { String::new() } else { registry.type_hash(name).unwrap() };
        let message = DynamicMessage::from_yaml(&registry.message_type(name).unwrap(), yaml, None).unwrap();
        let publisher = node.raw_publisher(topic.latched(), (name, &hash)).unwrap();
        publisher.publish(message.to_payload());
        publisher
    };
    let (pid, range) = ("control_msgs/msg/PidState", "sensor_msgs/msg/Range");
    let _publishers = [
        say("of_jazzy", "jazzy", pid, "{p_error: 1, i_max: 2, output: 3}"),
        say("of_kilted", "kilted", pid, "{p_gain: 4, d_gain: 5, output: 6}"),
        say("range_of_jazzy", "jazzy", range, "{range: 7, variance: 8}"),
        say("range_of_humble", "humble", range, "{range: 9}"),
    ];
    // With ROS_DISTRO set, too: what is announced wins.
    let echo = |topic: &str, field: &str, distribution: &str| {
        let arguments = ["topic", "echo", "--once", topic, "--field", field, "--timeout", "10"];
        let mut command = world.command(&arguments);
        command.env("ROS_DISTRO", distribution);
        let echo = thread::spawn(move || command.output().expect("rosless can be started"));
        while !echo.is_finished() {
            events.run_for(&mut (), Duration::from_millis(20)).unwrap();
        }
        let output = echo.join().unwrap();
        assert!(output.status.success(), "{topic} {field}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    for (topic, field, expected) in [
        ("/of_jazzy", "i_max", "2.0\n---\n"),
        ("/of_kilted", "d_gain", "5.0\n---\n"),
        ("/of_kilted", "output", "6.0\n---\n"),
        ("/range_of_jazzy", "variance", "8.0\n---\n"),
        ("/range_of_humble", "range", "9.0\n---\n"),
    ] {
        for distribution in ["jazzy", "kilted"] {
            assert_eq!(echo(topic, field, distribution), expected, "{topic} {field}");
        }
    }
}
