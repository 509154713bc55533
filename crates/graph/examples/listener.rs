//! Prints what a talker says: `cargo run --example listener`.

use rosless_graph::{Context, EventLoop, Result, config};
use rosless_wire::std_msgs::msg;

fn main() -> Result<()> {
    let (settings, _args) = config::settings_or_exit();
    let context = Context::new(settings)?;
    let node = context.node("listener")?;

    let event_loop = EventLoop::<()>::new(&context)?;
    event_loop.subscribe::<msg::String>(&node, "chatter", |_, sample| {
        log::info!("I heard: [{}]", sample.message.data);
    })?;
    event_loop.run(&mut ())
}
