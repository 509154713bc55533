//! Looks at a graph without knowing its types: `cargo run --example watch -- /chatter std_msgs/msg/String`. A line on
//! standard input is said to everybody, latched, on `/announcement`; its end ends the program.

use std::{collections::BTreeSet, io::Read as _};

use rosless_graph::{Context, Error, EventLoop, Publisher, Result, TopicQos as _, config};
use rosless_wire::std_msgs::msg;

struct Watcher {
    known: BTreeSet<String>,
    announcement: Publisher<msg::String>,
}

fn main() -> Result<()> {
    let (settings, args) = config::settings_or_exit();
    let context = Context::new(settings)?;
    let node = context.node("watcher")?;
    let event_loop = EventLoop::<Watcher>::new(&context)?;
    // Late joiners hear the last one, too.
    let announcement = node.publisher("announcement".latched())?;

    event_loop.on_graph_change(|watcher, graph| {
        let now: BTreeSet<String> = graph.nodes().iter().map(ToString::to_string).collect();
        now.difference(&watcher.known).for_each(|node| log::info!("{node} came"));
        watcher.known.difference(&now).for_each(|node| log::info!("{node} left"));
        watcher.known = now;
    });
    event_loop.on_incompatible_qos(|_, fault| {
        log::warn!(
            "{}: {} offers {:?}, asked for is {:?}",
            fault.topic,
            fault.policy,
            fault.offered,
            fault.requested
        );
    });
    match args.get(1..).unwrap_or_default() {
        [] => {}
        // Undecoded; without a hash any version of the type will do. `rosless_schema` decodes at run time.
        [topic, ty] => {
            drop(event_loop.subscribe_raw(&node, topic.best_effort(), (ty, ""), |_, sample| {
                log::info!("{} bytes from {}", sample.message.len(), sample.info.publisher);
            })?)
        }
        _ => return Err(Error::Usage("usage: watch [TOPIC TYPE]".into())),
    }
    let handle = event_loop.handle();
    event_loop.watch(std::io::stdin(), move |watcher, stdin| {
        let mut bytes = [0; 1024];
        let length = stdin.read(&mut bytes).unwrap_or_default();
        if length == 0 {
            handle.stop();
            return false;
        }
        let data = String::from_utf8_lossy(&bytes[..length]).trim_end().to_owned();
        watcher.announcement.publish(&msg::String { data });
        true
    })?;
    event_loop.run(&mut Watcher { known: BTreeSet::new(), announcement })
}
