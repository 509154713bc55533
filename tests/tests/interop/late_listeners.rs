//! Answers to somebody who asks first and listens then, as rclcpp and rclpy clients do.

use std::{cell::RefCell, rc::Rc};

use rosless_graph::{Sample, action::GoalHandle};
use rosless_tests::{DomainLease, ForeignPeer, Rig, Vendor};
use rosless_wire::{
    Message,
    action::{FeedbackMessage, SendGoal, SendGoalRequest},
    cdr,
    example_interfaces::action::{Fibonacci, FibonacciFeedback, FibonacciGoal},
    names,
    std_msgs::msg::String as Text,
    unique_identifier_msgs::msg::UUID,
};

use crate::{
    actions::{fibonacci_server, heard, read_topic},
    first_contact::rounds,
    foreign_client::ForeignClient,
    ours::typehash,
};

/// Waits until nobody subscribes to the topic any more. The next peer gets the ports of this one, and with them what is sent
/// to a subscription that is believed to be there.
fn gone<S: std::fmt::Debug + 'static>(ours: &mut Rig<S>, topic: &str) {
    let node = ours.node.clone();
    ours.until("it has left", |_| node.context().graph().subscriptions(topic).is_empty());
}

#[test]
fn an_answer_waits_until_its_asker_listens() {
    for vendor in Vendor::ALL {
        let domain = DomainLease::acquire();
        let mut ours = Rig::beside(&domain, "oracle", 0);
        let answers = ours.node.publisher::<Text>("answers").unwrap();
        let answer = answers.clone();
        let asked = move |asked: &mut usize, sample: Sample<Text>| {
            *asked += 1;
            answer.publish_for(sample.info.publisher.prefix(), &sample.message);
        };
        ours.events.subscribe(&ours.node, "questions", asked).unwrap();
        for (round, qos) in
            (0..rounds()).zip(["reliable,volatile,10", "best_effort,volatile,10"].iter().cycle())
        {
            let Some(mut peer) = vendor.start(domain.id()) else { return };
            let dds_type = names::type_to_dds(Text::TYPE_NAME).expect("a valid name");
            let hash = typehash(Text::TYPE_HASH);
            peer.writer("ask", "rt/questions", &dds_type, "reliable,volatile,10", &hash);
            ours.until("matched", |_| peer.matched("ask") == 1);
            let question = Text { data: format!("question {round}") };
            peer.write("ask", &cdr::to_payload(&question));
            ours.until("asked", |asked| *asked == round + 1);
            assert_eq!(answers.matched(), 0, "answered before anybody listens");
            peer.reader("hear", "rt/answers", &dds_type, qos, &hash);
            ours.until("answered", |_| !peer.samples("hear").is_empty());
            assert_eq!(
                cdr::from_payload(&peer.samples("hear")[0].payload),
                Ok(question),
                "{vendor:?}, {qos}"
            );
            peer.delete("hear");
            ours.until("it has left", |_| answers.matched() == 0);
        }
    }
}

/// A subscription that is being discovered while the answers are given hears all of them as they were said.
#[test]
fn an_asker_whose_subscription_is_new_hears_every_answer_once_and_in_order() {
    for vendor in Vendor::ALL {
        let domain = DomainLease::acquire();
        let mut ours = Rig::beside(&domain, "oracle", ());
        let answers = ours.node.publisher::<Text>("answers").unwrap();
        let answer = move |(): &mut (), sample: Sample<Text>| {
            answers.publish_for(sample.info.publisher.prefix(), &sample.message);
        };
        ours.events.subscribe(&ours.node, "questions", answer).unwrap();
        for _ in 0..rounds() {
            let Some(mut peer) = vendor.start(domain.id()) else { return };
            let dds_type = names::type_to_dds(Text::TYPE_NAME).expect("a valid name");
            let hash = typehash(Text::TYPE_HASH);
            peer.writer("ask", "rt/questions", &dds_type, "reliable,volatile,10", &hash);
            ours.until("matched", |()| peer.matched("ask") == 1);
            peer.reader("hear", "rt/answers", &dds_type, "reliable,volatile,10", &hash);
            let mut said: Vec<_> = (0..8).map(|number| Text { data: format!("{number}") }).collect();
            said.iter().for_each(|text| peer.write("ask", &cdr::to_payload(text)));
            let heard = |peer: &ForeignPeer| -> Vec<Text> {
                let samples = peer.samples("hear");
                samples.iter().map(|sample| cdr::from_payload(&sample.payload).expect("a text")).collect()
            };
            ours.until("all answers", |()| heard(&peer).len() >= said.len());
            // What comes after one that was asked for when all had been heard is no late repetition.
            said.push(Text { data: "end".to_owned() });
            peer.write("ask", &cdr::to_payload(&said[8]));
            ours.until("the end", |()| heard(&peer).last() == said.last());
            assert_eq!(heard(&peer), said, "{vendor:?}");
            peer.delete("hear");
            gone(&mut ours, "/answers");
        }
    }
}

/// `rclcpp_action` subscribes to feedback when it makes the client, but nobody says that discovery is as fast as a goal.
#[test]
fn the_first_feedback_waits_until_its_asker_listens() {
    for vendor in Vendor::ALL {
        let domain = DomainLease::acquire();
        let mut ours = fibonacci_server(&domain);
        for round in 0..rounds() {
            let Some(peer) = vendor.start(domain.id()) else { return };
            let peer = Rc::new(RefCell::new(peer));
            let mut send = ForeignClient::<SendGoal<Fibonacci>>::new(&peer, "/fibonacci/_action/send_goal");
            ours.until("matched", |_| send.is_matched());
            let goal_id = UUID { uuid: [round as u8; 16] };
            send.call(&SendGoalRequest::<Fibonacci> { goal_id, goal: FibonacciGoal { order: 3 } });
            ours.until("the goal begun", |goals| goals.len() == round + 1);
            let tell = |goal: &GoalHandle<Fibonacci>, count| {
                goal.publish_feedback(FibonacciFeedback { sequence: vec![1; count] });
            };
            tell(&ours.seen[round], 1);
            tell(&ours.seen[round], 2);
            type Feedback = FeedbackMessage<Fibonacci>;
            read_topic::<Feedback>(
                &peer,
                "feedback",
                "rt/fibonacci/_action/feedback",
                "reliable,volatile,10",
            );
            ours.until("the first feedback", |_| peer.borrow().samples("feedback").len() >= 2);
            tell(&ours.seen[round], 3);
            ours.until("all feedback", |_| peer.borrow().samples("feedback").len() >= 3);
            let lengths: Vec<_> =
                heard::<Feedback>(&peer, "feedback").iter().map(|m| m.feedback.sequence.len()).collect();
            assert_eq!(lengths, [1, 2, 3], "{vendor:?}");
            peer.borrow_mut().delete("feedback");
            gone(&mut ours, "/fibonacci/_action/feedback");
        }
    }
}
