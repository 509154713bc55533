//! What time it is for the arm, asked from whoever serves get_init_time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use rosless_arm::{ArmClock, ClockNews, InitTime};
use rosless_graph::{Client, EventLoop, Node, monotonic};
use rosless_wire::robot3_18c1054::srv::{GetInitTime, GetInitTimeRequest, GetInitTimeResponse};

use crate::run::App;

/// How often to ask again: the arm may have been restarted, or the wall clock set.
const PERIOD: Duration = Duration::from_secs(1);

/// Time since the Unix epoch.
pub(crate) fn wall() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The process's idea of the arm's clock.
pub(crate) struct SharedClock {
    clock: ArmClock,
    client: Client<GetInitTime, App>,
    node: Node,
}

impl SharedClock {
    /// Asks with `node`, at once and then again and again.
    pub(crate) fn new(event_loop: &EventLoop<App>, node: &Node) -> Result<Self> {
        event_loop.timer(PERIOD, |app| app.clock.ask());
        event_loop.on_graph_change(|app, _| app.clock.ask());
        let client = event_loop.client(node, "get_init_time")?;
        Ok(Self { clock: ArmClock::default(), client, node: node.clone() })
    }

    pub(crate) fn now(&self) -> Duration {
        self.clock.now(monotonic())
    }

    fn ask(&self) {
        if !self.client.is_ready() || self.client.pending() > 0 {
            return;
        }
        self.client.call(&GetInitTimeRequest::default(), PERIOD, |app, answer| {
            if let Ok(answer) = answer
                && app.clock.learn(&answer) == Some(ClockNews::Restarted)
                && let Some(visualizer) = &mut app.visualizer
            {
                visualizer.arm_restarted();
            }
        });
    }

    fn learn(&mut self, answer: &GetInitTimeResponse) -> Option<ClockNews> {
        let &GetInitTimeResponse { year, month, day, hour, minute, second, lower } = answer;
        let Some(start) = (InitTime { year, month, day, hour, minute, second, lower }).start() else {
            log::warn!(target: self.node.logger(), "get_init_time gave an impossible time, ignored");
            return None;
        };
        let news = self.clock.learn(start, wall(), monotonic());
        match news {
            ClockNews::Found => log::info!(target: self.node.logger(), "using the arm's clock"),
            ClockNews::Restarted => {
                log::info!(target: self.node.logger(), "the arm was restarted, using its new clock")
            }
            ClockNews::Same => {}
        }
        Some(news)
    }
}
