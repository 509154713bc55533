//! A node for tests that need one on a host of its own: `host talk COUNT` or `host listen COUNT`.
//!
//! The talker waits for a listener, or for as many as `LISTENERS` says, then publishes the numbers 0 to COUNT − 1 reliably; the listener says so when it has
//! heard all of them in order, or what it heard instead.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test prints for people")]

use std::{error::Error, time::Duration};

use rosless_graph::{Context, EventLoop, Sample, TopicQos, config};
use rosless_wire::std_msgs::msg::Int32;

const TOPIC: &str = "numbers";
const PERIOD: Duration = Duration::from_millis(5);

fn main() -> Result<(), Box<dyn Error>> {
    let (settings, arguments) = config::settings_or_exit();
    let context = Context::new(settings)?;
    let count = arguments.get(2).ok_or("usage: host talk|listen COUNT")?.parse()?;
    match arguments[1].as_str() {
        "talk" => talk(&context, count),
        "listen" => listen(&context, count),
        other => Err(format!("unknown role {other}").into()),
    }
}

fn talk(context: &Context, count: i32) -> Result<(), Box<dyn Error>> {
    let node = context.node("talker")?;
    let publisher = node.publisher::<Int32>(TOPIC.keep_all())?;
    let event_loop = EventLoop::new(context)?;
    let listeners = std::env::var("LISTENERS").map_or(Ok(1), |number| number.parse())?;
    let mut next = 0;
    event_loop.timer(PERIOD, move |next: &mut i32| {
        if (*next == 0 && publisher.matched() < listeners) || *next == count {
            return;
        }
        if *next == 0 {
            println!("matched");
        }
        // What finds no room now is tried again at the next tick: nothing may be left out.
        if publisher.publish(&Int32 { data: *next }) {
            *next += 1;
            if *next == count {
                println!("said all");
            }
        }
    });
    Ok(event_loop.run(&mut next)?)
}

fn listen(context: &Context, count: i32) -> Result<(), Box<dyn Error>> {
    let node = context.node("listener")?;
    let event_loop = EventLoop::new(context)?;
    let hear = move |heard: &mut i32, sample: Sample<Int32>| {
        if sample.message.data != *heard {
            println!("expected {heard} but heard {}", sample.message.data);
        }
        *heard = sample.message.data + 1;
        if *heard == count / 2 {
            println!("half heard");
        }
        if *heard == count {
            println!("all heard");
        }
    };
    event_loop.subscribe(&node, TOPIC.keep_all(), hear)?;
    println!("listening");
    Ok(event_loop.run(&mut 0)?)
}
