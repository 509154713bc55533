//! A managed talker: `cargo run --example lifecycle`, then `rosless lifecycle set /managed_talker configure` and
//! `… activate`; `rosless topic echo /chatter` hears it only while it is active.

use std::time::Duration;

use rosless_graph::{
    Context, EventLoop, Result, config,
    lifecycle::{CallbackReturn, LifecyclePublisher, Step},
};
use rosless_wire::std_msgs::msg;

struct Talker {
    count: u32,
    publisher: LifecyclePublisher<msg::String>,
}

fn main() -> Result<()> {
    let (settings, _args) = config::settings_or_exit();
    let context = Context::new(settings)?;
    let node = context.node("managed_talker")?;
    let event_loop = EventLoop::<Talker>::new(&context)?;
    let lifecycle = event_loop.lifecycle(&node, |talker, step| {
        match step {
            Step::Configure => talker.count = 0,
            Step::Activate => log::info!("speaks"),
            Step::Deactivate => log::info!("is silent after {} words", talker.count),
            Step::CleanUp | Step::Shutdown(_) | Step::Error(_) => {}
        }
        // `Failure` leads back, `Error` to error processing; `Pending` keeps the asker waiting for `LifecycleNode::finish`.
        CallbackReturn::Success
    })?;
    event_loop.timer(Duration::from_millis(200), |talker| {
        // Says nothing, and returns false, unless the node is active.
        if talker.publisher.publish(&msg::String { data: format!("word {}", talker.count + 1) }) {
            talker.count += 1;
        }
    });
    let publisher = lifecycle.publisher("chatter")?;
    event_loop.run(&mut Talker { count: 0, publisher })
}
