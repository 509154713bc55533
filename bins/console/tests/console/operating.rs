//! Who may command, and what happens when nobody is heard any more.

use std::time::Duration;

use rosless_graph::TopicQos;
use rosless_tests::Rig;
use rosless_wire::{industrial_robot_motion_interfaces::msg::MotionPrimitive, std_msgs::msg::String as Text};
use serde_json::{Value, json};

use crate::Console;

/// A machine that hears words, and one that moves.
fn rig() -> (Rig<Vec<String>>, Console) {
    let rig = Rig::<Vec<String>>::on(rosless_tests::DomainLease::acquire(), "machine");
    let heard = |seen: &mut Vec<String>, s: rosless_graph::Sample<Text>| seen.push(s.message.data);
    rig.events.subscribe::<Text>(&rig.node, "/words", heard).unwrap();
    let moved = |seen: &mut Vec<String>, s: rosless_graph::Sample<MotionPrimitive>| {
        seen.push(format!("motion {}", s.message.r#type))
    };
    rig.events.subscribe::<MotionPrimitive>(&rig.node, "~/reference", moved).unwrap();
    let console = Console::start(&rig.domain, &[]);
    (rig, console)
}

fn word(text: &str) -> Value {
    json!({"topic": "/words", "type": "std_msgs/msg/String", "value": {"data": text}})
}

/// Turns the test's node while the other thing goes on in a thread.
fn beside<T: Send + 'static>(rig: &mut Rig<Vec<String>>, act: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::spawn(act);
    while !thread.is_finished() {
        rig.observe(Duration::from_millis(10));
    }
    thread.join().unwrap()
}

fn publish(text: &str) -> Value {
    let mut message = word(text);
    message["op"] = "publish".into();
    message
}

#[test]
fn one_operates_others_look_take_over_and_stop() {
    let (mut rig, console) = rig();
    let (mut one, mut two) = (console.page(), console.page());
    let (one, two) = beside(&mut rig, move || {
        one.say(json!({"op": "graph"}));
        one.hear("the machine is found", |m| m.to_string().contains("/machine").then_some(()));
        let answer = one.ask(publish("one")).unwrap();
        assert_eq!(answer["listeners"], 1, "it waits for its listener");
        let refused = two.ask(publish("two")).unwrap_err();
        assert!(refused.contains("/machine is operated by browser"), "{refused}");
        two.ask(json!({"op": "operate", "systems": ["/machine"], "take": true})).unwrap();
        two.ask(publish("two")).unwrap();
        let refused = one.ask(publish("one again")).unwrap_err();
        assert!(refused.contains("take over first"), "{refused}");
        let told = one.ask(json!({"op": "stop"})).unwrap();
        assert_eq!(told["told"], json!(["/machine/reference"]));
        two.hear("everybody hears of it", |m| (m["op"] == "stopped").then_some(()));
        (one, two)
    });
    rig.until("all of it came", |seen| *seen == ["one", "two", "motion 66"]);
    drop((one, two));
    let mut three = console.page();
    beside(&mut rig, move || three.ask(publish("three")).unwrap());
    rig.until("who is gone operates no more", |seen| seen.len() == 4);
}

#[test]
fn what_is_held_ends_with_the_button_with_silence_and_with_the_browser() {
    let (mut rig, console) = rig();
    let hold = || json!({"op": "hold", "key": "k", "act": {"publish": word("go")}, "release": {"publish": word("stay")}});
    let mut page = console.page();
    let page = beside(&mut rig, move || {
        page.say(json!({"op": "graph"}));
        page.hear("the machine is found", |m| m.to_string().contains("/machine").then_some(()));
        for _ in 0..10 {
            page.ask(hold()).unwrap();
            std::thread::sleep(Duration::from_millis(50));
        }
        page.ask(json!({"op": "release", "key": "k"})).unwrap();
        page.ask(hold()).unwrap();
        page
    });
    rig.until("let go by word, then by silence", |seen| *seen == ["go", "stay", "go", "stay"]);
    let mut page = page;
    beside(&mut rig, move || {
        page.ask(hold()).unwrap();
        drop(page);
    });
    rig.until("let go with the browser", |seen| seen.len() == 6);
    assert_eq!(rig.seen[4..], ["go", "stay"]);
}

#[test]
fn values_come_as_they_are_published_and_nonsense_is_refused_by_name() {
    let (mut rig, console) = rig();
    let latched = rig.node.publisher::<Text>("/news".latched()).unwrap();
    latched.publish(&Text { data: "old news".to_owned() });
    let mut page = console.page();
    beside(&mut rig, move || {
        page.say(json!({"op": "graph"}));
        page.hear("the topic is found", |m| m.to_string().contains("/news").then_some(()));
        page.say(json!({"op": "subscribe", "sub": 4, "topic": "/news"}));
        let value = page.hear("what is latched", |m| (m["sub"] == 4).then(|| m["value"].clone()));
        assert_eq!(value, json!({"data": "old news"}));
        let refused = page.ask(
            json!({"op": "publish", "topic": "/words", "type": "std_msgs/msg/String", "value": {"dat": 1}}),
        );
        assert!(refused.unwrap_err().contains("dat"));
        assert!(
            page.ask(json!({"op": "subscribe", "sub": 5, "topic": "/nobody"}))
                .unwrap_err()
                .contains("/nobody")
        );
        let defined = page.ask(json!({"op": "define", "type": "geometry_msgs/msg/PoseStamped"})).unwrap();
        assert_eq!(defined["fields"][1]["fields"][0]["fields"][2]["name"], "z");
        let parameters = page.ask(json!({"op": "parameters", "node": "/machine"})).unwrap();
        assert!(parameters.as_array().unwrap().iter().any(|p| p["name"] == "use_sim_time"), "{parameters}");
    });
}

#[test]
fn the_past_is_kept_for_pages_that_come_later() {
    let (mut rig, console) = rig();
    let told = rig.node.publisher::<Text>("/told").unwrap();
    let listen =
        json!({"op": "subscribe", "sub": 4, "topic": "/told", "type": "std_msgs/msg/String", "keep": 2});
    let mut page = console.page();
    page.say(listen.clone());
    rig.until("the console listens", |_| told.matched() == 1);
    for text in ["one", "two", "three"] {
        told.publish(&Text { data: text.to_owned() });
    }
    let heard = |page: &mut crate::Page| {
        page.hear("a value", |m| (m["sub"] == 4).then(|| (m["value"]["data"].clone(), m["sequence"].clone())))
    };
    let first: Vec<_> = beside(&mut rig, move || (0..3).map(|_| heard(&mut page)).collect());
    assert_eq!(first.iter().map(|(text, _)| text).collect::<Vec<_>>(), ["one", "two", "three"]);
    // The first page is gone, and with it everybody who listened.
    let mut later = console.page();
    let second: Vec<_> = beside(&mut rig, move || {
        later.say(listen);
        (0..2).map(|_| heard(&mut later)).collect()
    });
    assert_eq!(second, first[1..]);
}
