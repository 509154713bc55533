//! rosless.
use std::{collections::VecDeque, time::Duration};

use rosless_comparison::{Peer, run};
use rosless_graph::{Context, EventLoop, Publisher, config};
use rosless_wire::std_msgs::msg;

struct Ours {
    heard: VecDeque<String>,
    event_loop: EventLoop<VecDeque<String>>,
    publisher: Publisher<msg::String>,
}

impl Peer for Ours {
    fn join(domain: u16, says: &str, hears: &str) -> Self {
        let mut settings = config::Settings::default();
        settings.environment.domain_id = domain;
        let context = Context::new(settings).unwrap();
        let node = context.node("peer").unwrap();
        let event_loop = EventLoop::new(&context).unwrap();
        event_loop
            .subscribe::<msg::String>(&node, hears, |heard: &mut VecDeque<String>, sample| heard.push_back(sample.message.data))
            .unwrap();
        Self { heard: VecDeque::new(), publisher: node.publisher(says).unwrap(), event_loop }
    }

    fn say(&mut self, data: String) {
        self.publisher.publish(&msg::String { data });
    }

    fn hear(&mut self, patience: Duration) -> Option<String> {
        self.event_loop.run_until(&mut self.heard, patience, |heard| !heard.is_empty()).unwrap();
        self.heard.pop_front()
    }
}

fn main() {
    run::<Ours>();
}
