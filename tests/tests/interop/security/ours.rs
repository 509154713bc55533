//! Our nodes with each other: everything that ROS has, encrypted.

use std::time::Instant;

use rosless_graph::{
    Sample, TopicQos,
    action::{CancelResponse, GoalHandle, GoalResponse, GoalUpdate},
};
use rosless_wire::{
    example_interfaces::{
        action::{Fibonacci, FibonacciFeedback, FibonacciGoal, FibonacciResult},
        srv::{AddTwoInts, AddTwoIntsRequest, AddTwoIntsResponse},
    },
    std_msgs::msg::String as Text,
};

use super::{Governance, Lab, Speaker, alone, is_alone, texts, turn_until};
use crate::ours::PATIENCE;

#[test]
fn two_of_ours_speak_in_their_enclaves() {
    for governance in [Governance::Encrypted, Governance::Signed] {
        speak(&Lab::governed(governance, &["/a", "/lab/b"]));
    }
}

fn speak(lab: &Lab) {
    let mut a = Speaker::new(lab.options("/a"), "a");
    let mut b = Speaker::new(lab.options("/lab/b"), "b");
    let talker = a.talker();
    let listener = b.listen();
    turn_until("both matched", &mut [&mut a, &mut b], |_| talker.matched() == 1 && listener.matched() == 1);
    for text in texts() {
        assert!(talker.publish(&Text { data: text.as_str().into() }));
    }
    turn_until("all heard", &mut [&mut a, &mut b], |speakers| speakers[1].heard.len() >= texts().len());
    assert_eq!(b.heard, texts());
}

#[test]
fn the_graph_is_whole_under_security() {
    let lab = Lab::new(&["/a", "/b"]);
    let mut a = Speaker::new(lab.options("/a"), "a");
    let _talker = a.talker();
    let mut b = Speaker::new(lab.options("/b"), "b");
    turn_until("the graph is settled", &mut [&mut a, &mut b], |speakers| {
        let graph = speakers[1].node.context().graph();
        graph.has_node("/a") && graph.is_settled()
    });
    let graph = b.node.context().graph();
    assert_eq!(graph.publishers("/chatter").len(), 1, "whatever is settled is complete");
}

/// Two processes, each with two nodes, each of which has a publisher and a subscription of the topic: so every pair of
/// endpoints that can be, those of one participant and those of one node included.
#[test]
fn several_endpoints_of_a_process_hear_all_others_and_each_other() {
    let lab = Lab::new(&["/a", "/b"]);
    let mut speakers = ["/a", "/b"].map(|enclave| Speaker::new(lab.options(enclave), &enclave[1..]));
    let mut talkers = Vec::new();
    let mut listeners = Vec::new();
    for speaker in &speakers {
        let second = speaker.node.context().node("second").unwrap();
        for node in [&speaker.node, &second] {
            talkers.push(speaker.talker_on(node, "chatter"));
            listeners.push(speaker.listen_on(node, "chatter"));
        }
    }
    let [a, b] = &mut speakers;
    let matched = || {
        let talkers: Vec<_> = talkers.iter().map(|talker| talker.matched()).collect();
        (talkers, listeners.iter().map(|listener| listener.matched()).collect::<Vec<_>>())
    };
    let deadline = Instant::now() + PATIENCE;
    while matched() != (vec![4; 4], vec![4; 4]) && Instant::now() < deadline {
        a.turn();
        b.turn();
    }
    assert_eq!(matched(), (vec![4; 4], vec![4; 4]), "each is matched with all");
    for (number, talker) in talkers.iter().enumerate() {
        assert!(talker.publish(&Text { data: number.to_string() }));
    }
    turn_until("all heard", &mut [&mut *a, &mut *b], |speakers| speakers.iter().all(|s| s.heard.len() >= 8));
    for speaker in &mut speakers {
        speaker.heard.sort();
        assert_eq!(
            speaker.heard,
            ["0", "0", "1", "1", "2", "2", "3", "3"],
            "each listener of two, each talker"
        );
    }
}

/// Those who come have no keys at first: what is said meanwhile is for the others all the same.
#[test]
fn newcomers_keep_nobody_from_hearing() {
    let lab = Lab::new(&["/a", "/b", "/c"]);
    let mut a = Speaker::new(lab.options("/a"), "a");
    let mut b = Speaker::new(lab.options("/b"), "b");
    let talker = a.node.publisher::<Text>("chatter".best_effort()).unwrap();
    let listen = |speaker: &Speaker| {
        let hear = |heard: &mut Vec<String>, sample: Sample<Text>| heard.push(sample.message.data);
        speaker.event_loop.subscribe(&speaker.node, "chatter".best_effort(), hear).unwrap()
    };
    let stays = listen(&b);
    turn_until("met", &mut [&mut a, &mut b], |_| talker.matched() == 1 && stays.matched() == 1);
    let mut said = Vec::new();
    let mut say = || {
        said.push(said.len().to_string());
        talker.publish(&Text { data: said[said.len() - 1].clone() });
        said.len()
    };
    for _ in 0..6 {
        let mut c = Speaker::new(lab.options("/c"), "c");
        let comes = listen(&c);
        turn_until("met", &mut [&mut a, &mut b, &mut c], |_| {
            say() > 0 && comes.matched() == 1 && talker.matched() == 2
        });
        drop((comes, c));
        turn_until("gone", &mut [&mut a, &mut b], |_| say() > 0 && talker.matched() == 1);
    }
    let deadline = Instant::now() + PATIENCE;
    while b.heard.len() < said.len() && Instant::now() < deadline {
        b.turn();
    }
    assert_eq!(b.heard, said);
}

/// One who comes and goes gets new keys, and those who stay are not disturbed.
#[test]
fn who_comes_back_is_heard_again() {
    let lab = Lab::new(&["/a", "/b", "/c"]);
    let mut a = Speaker::new(lab.options("/a"), "a");
    let mut c = Speaker::new(lab.options("/c"), "c");
    let talker = a.talker();
    let stays = c.listen();
    for round in 1..=3 {
        let mut b = Speaker::new(lab.options("/b"), "b");
        let comes = b.listen();
        turn_until("met", &mut [&mut a, &mut b, &mut c], |_| {
            talker.matched() == 2 && stays.matched() == 1 && comes.matched() == 1
        });
        assert!(talker.publish(&Text { data: round.to_string() }));
        turn_until("heard", &mut [&mut a, &mut b, &mut c], |speakers| {
            !speakers[1].heard.is_empty() && speakers[2].heard.len() == round
        });
        assert_eq!(b.heard, [round.to_string()]);
        drop((comes, b));
        turn_until("gone", &mut [&mut a, &mut c], |_| talker.matched() == 1);
    }
}

#[test]
fn who_was_stopped_is_heard_again() {
    if is_alone() {
        return;
    }
    let lab = Lab::new(&["/a", "/b"]);
    let other = alone(&lab, "/a", "security::ours::who_was_stopped_is_heard_again");
    let mut b = Speaker::new(lab.options("/b"), "b");
    let listener = b.listen();
    turn_until("heard", &mut [&mut b], |speakers| !speakers[0].heard.is_empty());
    other.signal("STOP");
    // Its lease is over.
    let deadline = Instant::now() + 2 * PATIENCE;
    while listener.matched() > 0 {
        assert!(Instant::now() < deadline, "who is silent is forgotten");
        b.turn();
    }
    b.heard.clear();
    other.signal("CONT");
    turn_until("heard again", &mut [&mut b], |speakers| !speakers[0].heard.is_empty());
}

fn serve(speaker: &Speaker) {
    speaker
        .event_loop
        .serve::<AddTwoInts>(&speaker.node, "add", |_, request, responder| {
            responder.reply(&AddTwoIntsResponse { sum: request.a + request.b });
        })
        .unwrap();
    speaker
        .event_loop
        .action_server::<Fibonacci>(
            &speaker.node,
            "fibonacci",
            |_, _, _| GoalResponse::Execute,
            |_, goal: GoalHandle<Fibonacci>| {
                goal.publish_feedback(FibonacciFeedback { sequence: vec![0, 1] });
                goal.succeed(FibonacciResult { sequence: vec![0, 1, 1] }).unwrap();
            },
            |_, _| CancelResponse::Reject,
        )
        .unwrap();
    speaker.node.declare_parameter("rate", 10i64).unwrap();
}

#[test]
fn services_actions_and_parameters_work_under_security() {
    for governance in [Governance::Encrypted, Governance::Signed] {
        ask_everything(&Lab::governed(governance, &["/server", "/asker"]));
    }
}

fn ask_everything(lab: &Lab) {
    let mut server = Speaker::new(lab.options("/server"), "server");
    serve(&server);
    let mut asker = Speaker::new(lab.options("/asker"), "asker");
    let client = asker.event_loop.client::<AddTwoInts>(&asker.node, "add").unwrap();
    let action = asker.event_loop.action_client::<Fibonacci>(&asker.node, "fibonacci").unwrap();
    turn_until("servers", &mut [&mut server, &mut asker], |_| client.is_ready() && action.is_ready());
    type App = Vec<String>;
    client.call(&AddTwoIntsRequest { a: 20, b: 22 }, PATIENCE, |app: &mut App, answer| {
        app.push(format!("sum {}", answer.unwrap().sum));
    });
    action.send_goal(FibonacciGoal { order: 2 }, PATIENCE, PATIENCE, |app: &mut App, update| match update {
        GoalUpdate::Feedback(feedback) => app.push(format!("feedback {:?}", feedback.sequence)),
        GoalUpdate::Ended(_, result) => app.push(format!("result {:?}", result.sequence)),
        GoalUpdate::Failed(error) => panic!("{error}"),
        _ => {}
    });
    let parameters = asker.event_loop.parameters_of(&asker.node, "/server");
    let rate = ("rate".to_owned(), 25i64.into());
    parameters
        .set(&[rate], PATIENCE, |app: &mut App, results| {
            app.push(format!("set {}", results.unwrap()[0].successful))
        })
        .unwrap();
    turn_until("answers", &mut [&mut server, &mut asker], |speakers| speakers[1].heard.len() >= 4);
    asker.heard.sort();
    assert_eq!(asker.heard, ["feedback [0, 1]", "result [0, 1, 1]", "set true", "sum 42"]);
    let set = server.node.parameter::<i64>("rate");
    assert_eq!(set.ok(), Some(25));
}
