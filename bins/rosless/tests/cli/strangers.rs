//! Types that are not built in.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use rosless_graph::{Context, ContextOptions, EventLoop, Qos};
use rosless_schema::{DynamicMessage, Kind, Registry};
use rosless_wire::type_description_interfaces::srv::{GetTypeDescription, GetTypeDescriptionResponse};

use crate::world::World;

const TYPE: &str = "strange_msgs/msg/Thing";
const DEFINITION: &str = "string name\nfloat64[3] place\n";

/// A node that publishes a type only it knows, and describes it when asked.
fn stranger(domain: u16, stop: &AtomicBool) {
    let mut registry = Registry::new();
    registry.add_source(Kind::Msg, "strange_msgs", "Thing", "Thing.msg", DEFINITION);
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
        node.raw_publisher("thing", TYPE, &registry.type_hash(TYPE).unwrap(), Qos::latched()).unwrap();
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
    let idl = std::env::temp_dir().join(format!("rosless-idl-{}", world.domain()));
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
    std::fs::remove_dir_all(idl).unwrap();
    assert_eq!(asked.stdout, "name: left\nplace:\n- 1.0\n- 2.0\n- 3.0\n---\n", "{asked:?}");
    assert_eq!(given.stdout, asked.stdout, "{given:?}");
    assert_eq!(unknown.code, 1, "{unknown:?}");
    assert!(unknown.stderr.contains("unknown type 'strange_msgs/msg/Thing'"), "{unknown:?}");
}
