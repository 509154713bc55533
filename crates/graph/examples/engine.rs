//! A state machine without I/O, driven by the loop: says so when the chatter stops. `cargo run --example engine`.

use std::time::Duration;

use rosless_engine::{Engine, Now};
use rosless_graph::{Context, EventLoop, Result, config, now};
use rosless_wire::std_msgs::msg;

/// How long nobody may speak.
const PATIENCE: Duration = Duration::from_secs(2);

/// Decides; tests of it need no network and no waiting.
#[derive(Default)]
struct Watchdog {
    due: Option<Duration>,
    says: Option<&'static str>,
}

impl Engine for Watchdog {
    type Input<'a> = &'a msg::String;
    type Output = &'static str;

    fn handle(&mut self, _: &msg::String, now: Now) {
        if self.due.replace(now.mono + PATIENCE).is_none() {
            self.says = Some("somebody speaks");
        }
    }

    fn wake(&mut self, now: Now) {
        if self.due.take_if(|due| *due <= now.mono).is_some() {
            self.says = Some("silence");
        }
    }

    fn poll_output(&mut self) -> Option<&'static str> {
        self.says.take()
    }

    fn next_deadline(&self) -> Option<Duration> {
        self.due
    }
}

fn main() -> Result<()> {
    let (settings, _args) = config::settings_or_exit();
    let context = Context::new(settings)?;
    let node = context.node("watchdog")?;
    let event_loop = EventLoop::<Watchdog>::new(&context)?;
    event_loop
        .subscribe::<msg::String>(&node, "chatter", |dog, sample| dog.handle(&sample.message, now()))?;
    // The loop wakes it at its deadline and does what it says.
    event_loop.drive(|dog, with: &mut dyn FnMut(&mut Watchdog)| with(dog), |_, says| log::info!("{says}"));
    event_loop.run(&mut Watchdog::default())
}
