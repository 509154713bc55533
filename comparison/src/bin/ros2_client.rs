//! ros2-client, as its example `listener` waits: on a poll of mio.
use std::time::{Duration, Instant};

use ros2_client::{
    Context, ContextOptions, MessageTypeName, Name, Node, NodeName, NodeOptions, Publisher, QosProfile, Subscription,
    qos::{Durability, History, WhenFull},
};
use rosless_comparison::{Peer, run};
use rustdds::mio1::{Events, Interest, Poll, Token};

struct Ros2Client {
    _node: Node,
    publisher: Publisher<String>,
    subscription: Subscription<String>,
    poll: Poll,
}

impl Peer for Ros2Client {
    fn join(domain: u16, says: &str, hears: &str) -> Self {
        let context = Context::with_options(ContextOptions::new().domain_id(domain)).unwrap();
        let mut node = context.new_node(NodeName::new("/", "peer").unwrap(), NodeOptions::new()).unwrap();
        let qos = QosProfile::publisher_default()
            .reliability_reliable(WhenFull::DEFAULT)
            .durability(Durability::Volatile)
            .history(History::KeepLast { depth: 10 });
        let topic = |name: &str| {
            node.create_topic(&Name::new("/", name).unwrap(), MessageTypeName::new("std_msgs", "String"), &qos).unwrap()
        };
        let (says, hears) = (topic(says), topic(hears));
        let publisher = node.create_publisher::<String>(&says, None).unwrap();
        let mut subscription = node.create_subscription::<String>(&hears, None).unwrap();
        let poll = Poll::new().unwrap();
        poll.registry().register(&mut subscription, Token(1), Interest::READABLE).unwrap();
        Self { _node: node, publisher, subscription, poll }
    }

    fn say(&mut self, text: String) {
        self.publisher.publish(text).unwrap();
    }

    fn hear(&mut self, patience: Duration) -> Option<String> {
        let until = Instant::now() + patience;
        let mut events = Events::with_capacity(8);
        loop {
            if let Some((text, _)) = self.subscription.take().unwrap() {
                return Some(text);
            }
            let left = until.checked_duration_since(Instant::now())?;
            self.poll.poll(&mut events, Some(left)).unwrap();
        }
    }
}

fn main() {
    run::<Ros2Client>();
}
