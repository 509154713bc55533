//! What time it is for the arm, asked from whoever serves get_init_time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rosless_arm::{ArmClock, ClockNews, InitTime};
use rosless_cli::Result;
use rosless_graph::{Client, EventLoop, Node, graph::Role, monotonic};
use rosless_wire::robot3_18c1054::srv::{GetInitTime, GetInitTimeRequest, GetInitTimeResponse};

use crate::daemon::App;

/// How often to ask again: the arm may have been restarted, or the wall clock set.
const PERIOD: Duration = Duration::from_secs(1);
/// How long one question waits: one that went to an arm just killed is never answered.
const PATIENCE: Duration = Duration::from_millis(200);
/// More questions are not open at a time, however much the graph changes. Many, because those to a dead arm count too.
const MOST_OPEN: usize = 64;

/// Two arms are two only when both are there for so many periods: one that was killed is believed alive for a while.
const CROWDED: u32 = 15;

/// Time since the Unix epoch.
pub(crate) fn wall() -> Duration {
    since_epoch(SystemTime::now())
}

pub(crate) fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The process's idea of the arm's clock.
pub(crate) struct SharedClock {
    clock: ArmClock,
    client: Client<GetInitTime, App>,
    node: Node,
    /// For how many periods more than one arm has been there.
    crowded: u32,
}

impl SharedClock {
    /// Asks with `node`, at once and then again and again.
    pub(crate) fn new(event_loop: &EventLoop<App>, node: &Node) -> Result<Self> {
        event_loop.timer(PERIOD, |app| {
            app.clock.count_arms();
            if app.clock.client.pending() == 0 {
                app.clock.ask(|_| {});
            }
        });
        // Also beside an open question: that may have gone to an arm which is no more.
        event_loop.on_graph_change(|app, _| {
            app.clock.ask(|_| {});
        });
        let client = event_loop.client(node, "get_init_time")?;
        Ok(Self { clock: ArmClock::default(), client, node: node.clone(), crowded: 0 })
    }

    pub(crate) fn now(&self) -> Duration {
        self.clock.now(monotonic())
    }

    fn count_arms(&mut self) {
        let server = Role::Server(self.client.service().to_owned());
        let arms =
            self.node.context().graph().endpoints().filter(|e| e.role().as_ref() == Some(&server)).count();
        self.crowded = if arms > 1 { self.crowded.saturating_add(1) } else { 0 };
        if self.crowded == CROWDED {
            log::warn!(
                target: self.node.logger(),
                "{arms} arms serve {}: times, postures and catches get mixed up, give each its own namespace or domain",
                self.client.service(),
            );
        }
    }

    /// Asks, and goes on with `then` when there is an answer or none in time. `false`: there is nobody to ask.
    pub(crate) fn ask(&self, then: fn(&mut App)) -> bool {
        if !self.client.is_ready() || self.client.pending() >= MOST_OPEN {
            return false;
        }
        self.client.call(&GetInitTimeRequest::default(), PATIENCE, move |app, answer| {
            match answer {
                Ok(answer) => app.learn_clock(&answer),
                Err(_) if app.clock.client.pending() == 0 => {
                    app.clock.ask(|_| {});
                }
                Err(_) => {}
            }
            then(app);
        });
        true
    }
}

impl App {
    fn learn_clock(&mut self, answer: &GetInitTimeResponse) {
        let &GetInitTimeResponse { year, month, day, hour, minute, second, lower } = answer;
        let logger = self.clock.node.logger();
        let Some(start) = (InitTime { year, month, day, hour, minute, second, lower }).start() else {
            log::warn!(target: logger, "get_init_time gave an impossible time, ignored");
            return;
        };
        let news = self.clock.clock.learn(start, wall(), monotonic());
        self.plan_waiting();
        let logger = self.clock.node.logger();
        match news {
            ClockNews::Same => return,
            ClockNews::Found => log::info!(target: logger, "using the arm's clock"),
            ClockNews::Restarted => log::info!(target: logger, "the arm was restarted, using its new clock"),
        }
        if let Some(visualizer) = &mut self.visualizer {
            let clock = self.clock.clock;
            visualizer.clock_changed(news, &|monotonic| clock.seconds(monotonic));
        }
    }
}
