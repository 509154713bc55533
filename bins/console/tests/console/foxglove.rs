//! Clients that are not ours see, publish, call and set.

use std::{cell::Cell, rc::Rc, time::Duration};

use rosless_tests::{FoxgloveClient, Rig};
use rosless_wire::{
    std_msgs::msg::String as Text,
    std_srvs::srv::{SetBool, SetBoolResponse},
};

use crate::Console;

#[derive(Debug, Default)]
struct Seen {
    heard: Vec<String>,
    switched: Vec<bool>,
}

#[test]
fn foreign_clients_of_both_generations_do_everything() {
    let mut rig = Rig::<Seen>::on(rosless_tests::DomainLease::acquire(), "rosless_peer");
    let console = Console::start(&rig.domain, &[]);
    rig.node.declare_parameter("speed", 1.5).unwrap();
    let chatter = rig.node.publisher::<Text>("/chatter").unwrap();
    let count = Rc::new(Cell::new(0_u32));
    let counted = count.clone();
    rig.events.timer(Duration::from_millis(50), move |_| {
        counted.set(counted.get() + 1);
        chatter.publish(&Text { data: format!("hello {}", counted.get()) });
    });
    rig.events.subscribe::<Text>(&rig.node, "/heard", |seen, s| seen.heard.push(s.message.data)).unwrap();
    rig.events
        .serve::<SetBool>(&rig.node, "/switch", |seen, request, answer| {
            seen.switched.push(request.data);
            answer.reply(&SetBoolResponse { success: true, message: "done".to_owned() });
        })
        .unwrap();
    let url = format!("ws://{}", console.host);
    for (client, protocol) in FoxgloveClient::ALL
        .into_iter()
        .flat_map(|c| [(c, "foxglove.websocket.v1"), (c, "foxglove.sdk.v1"), (c, "foxglove.sdk.v1.1")])
        // The npm client has no place for a table of definitions.
        .filter(|(client, protocol)| *client == FoxgloveClient::PyPi || *protocol != "foxglove.sdk.v1.1")
    {
        let (url, name) = (url.clone(), protocol.to_owned());
        rig.seen = Seen::default();
        let visit = std::thread::spawn(move || client.visit(&url, &name));
        while !visit.is_finished() {
            rig.observe(Duration::from_millis(20));
        }
        let Some(found) = visit.join().unwrap() else { continue };
        assert_eq!(found["protocol"], protocol, "{found:#}");
        assert_eq!(found["channel"]["encoding"], "cdr");
        let (name, definition, encoding) = if protocol == "foxglove.sdk.v1.1" {
            assert_eq!(found["channel"].get("schema"), None, "{found:#}");
            (&found["schema"]["name"], &found["schema"]["data"], &found["schema"]["encoding"])
        } else {
            let channel = &found["channel"];
            (&channel["schemaName"], &channel["schema"], &channel["schemaEncoding"])
        };
        assert_eq!((name.as_str(), encoding.as_str()), (Some("std_msgs/msg/String"), Some("ros2msg")));
        assert!(definition.as_str().unwrap().contains("string data"), "{found:#}");
        let messages: Vec<_> =
            found["messages"].as_array().unwrap().iter().map(|m| m.as_str().unwrap()).collect();
        for message in messages {
            // Encapsulation, length, and the text as it was published.
            assert!(message.starts_with("00010000") && message.contains(&hex(b"hello ")), "{message}");
        }
        assert_eq!(found["response"]["call"], 7);
        assert!(found["response"]["data"].as_str().unwrap().contains(&hex(b"done")), "{found:#}");
        assert_eq!(rig.seen.switched, [true]);
        rig.until("what it published is heard", |seen| seen.heard == ["hello"]);
        assert_eq!(found["parameters"][0]["name"], "/rosless_peer.speed", "{found:#}");
        assert_eq!(found["parameters"][0]["value"], 2.0, "{found:#}");
        assert_eq!(rig.node.parameter::<f64>("speed").unwrap(), 2.0);
        assert_eq!(found["publishers"], serde_json::json!(["/rosless_peer"]));
        assert_eq!(found["asset"]["id"], 3);
        assert_eq!(found["asset"]["status"], 1, "paths that lead out of a package are refused");
        rig.node.set_parameter("speed", 1.5).unwrap();
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
