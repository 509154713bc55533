//! Publishes a text twice per second: `cargo run --example talker`.

use std::time::Duration;

use rosless_graph::{Context, EventLoop, Result, config};
use rosless_wire::std_msgs::msg;

struct Talker {
    count: u32,
}

fn main() -> Result<()> {
    let (settings, _args) = config::settings_or_exit();
    let context = Context::new(settings)?;
    let node = context.node("talker")?;
    let publisher = node.publisher::<msg::String>("chatter")?;

    let event_loop = EventLoop::new(&context)?;
    event_loop.timer(Duration::from_millis(500), move |talker: &mut Talker| {
        talker.count += 1;
        let data = format!("Hello World: {}", talker.count);
        log::info!("Publishing: '{data}'");
        publisher.publish(&msg::String { data });
    });
    event_loop.run(&mut Talker { count: 0 })
}
