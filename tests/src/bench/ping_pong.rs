//! Texts that go to another node and back: what a round trip takes.

use std::{
    thread,
    time::{Duration, Instant},
};

use rosless_graph::{Context, EventLoop, Node};
use rosless_wire::std_msgs::msg::String as Text;

use super::keep_apart;

const PATIENCE: Duration = Duration::from_secs(60);

/// How a ping-pong is played.
#[derive(Clone, Copy, Debug)]
pub struct PingPong {
    /// Characters of the text.
    pub text: usize,
    /// Rounds that are played first and not counted.
    pub warm_up: usize,
    /// Rounds that count.
    pub rounds: usize,
}

impl PingPong {
    /// What each round took, between the participants that `join` makes under the two names. The echo has a thread and, where there
    /// is one, a core of its own.
    ///
    /// # Panics
    /// When they do not meet, or a text is lost.
    pub fn play(self, join: impl Fn(&str) -> Context + Sync, [echo, asker]: [&str; 2]) -> Vec<Duration> {
        thread::scope(|scope| {
            scope.spawn(|| {
                keep_apart(1);
                send_back(&join(echo), echo);
            });
            let (event_loop, node) = loop_and_node(&join(asker), asker);
            self.ask(&event_loop, &node)
        })
    }

    /// The same between two nodes of one participant, on one thread.
    ///
    /// # Panics
    /// When a text is lost.
    pub fn play_within(self, context: &Context, [echo, asker]: [&str; 2]) -> Vec<Duration> {
        let (event_loop, echo) = loop_and_node(context, echo);
        let back = echo.publisher::<Text>("pong").expect("the name is valid");
        event_loop
            .subscribe::<Text>(&echo, "ping", move |_, sample| {
                back.publish(&sample.message);
            })
            .expect("the name is valid");
        self.ask(&event_loop, &context.node(asker).expect("the name is valid"))
    }

    /// The rounds that count, of all.
    pub fn settled(self, stamps: &[Instant]) -> Vec<Duration> {
        stamps[self.warm_up..].windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    fn ask(self, event_loop: &EventLoop<Vec<Instant>>, node: &Node) -> Vec<Duration> {
        let publisher = node.publisher::<Text>("ping").expect("the name is valid");
        let again = publisher.clone();
        let text = || Text { data: "x".repeat(self.text) };
        let message = text();
        let all = self.warm_up + self.rounds + 2;
        let subscription = event_loop
            .subscribe::<Text>(node, "pong", move |stamps: &mut Vec<_>, _| {
                stamps.push(Instant::now());
                let last = stamps.len() >= all - 1;
                again.publish(if last { const { &Text { data: String::new() } } } else { &message });
            })
            .expect("the name is valid");
        let mut stamps = Vec::new();
        event_loop
            .run_until(&mut stamps, PATIENCE, |_| publisher.matched() == 1 && subscription.matched() == 1)
            .expect("the poll works");
        // The echo may hear before it has found out who listens to it.
        while stamps.is_empty() {
            publisher.publish(&text());
            let second = Duration::from_secs(1);
            event_loop.run_until(&mut stamps, second, |stamps| !stamps.is_empty()).expect("the poll works");
        }
        event_loop.run_until(&mut stamps, PATIENCE, |stamps| stamps.len() >= all).expect("the poll works");
        assert_eq!(stamps.len(), all, "round trips");
        self.settled(&stamps)
    }
}

fn loop_and_node<S: 'static>(context: &Context, name: &str) -> (EventLoop<S>, Node) {
    (EventLoop::new(context).expect("descriptors are left"), context.node(name).expect("the name is valid"))
}

/// Until it is sent nothing.
fn send_back(context: &Context, name: &str) {
    let (event_loop, node) = loop_and_node::<bool>(context, name);
    let back = node.publisher::<Text>("pong").expect("the name is valid");
    let answers = back.clone();
    event_loop
        .subscribe::<Text>(&node, "ping", move |done, sample| {
            *done = sample.message.data.is_empty();
            answers.publish(&sample.message);
        })
        .expect("the name is valid");
    event_loop.run_until(&mut false, PATIENCE, |done| *done).expect("the poll works");
    back.wait_acknowledged(PATIENCE);
}
