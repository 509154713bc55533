//! The node ball_initial_to_arm_target.

use std::time::Duration;

use rosless_arm::{Ball, CatchVerdict, Planner, Strategy};
use rosless_cli::{Failure, Result};
use rosless_graph::{Context, EventLoop, Node, Publisher, Sample, monotonic};
use rosless_wire::std_msgs::msg::{Float32, Float32MultiArray};

use crate::{
    BehaviourArguments,
    daemon::{App, array},
    listening, settings,
    verdict::Verdicts,
};

pub(crate) struct TargetNode {
    node: Node,
    planner: Planner,
    reserve: Publisher<Float32>,
    target: Publisher<Float32MultiArray>,
    verdicts: Verdicts,
    /// Throws that do not fit our idea of the arm's clock, until it has been asked for.
    waiting: Vec<Vec<f32>>,
}

/// A throw farther from now than this was released by another clock than ours.
const STRANGE: f64 = 0.2;
/// An arm that is told this much later than planned is worth a warning, s.
const LATE: f64 = 0.005;
/// More throws do not wait for the clock.
const MOST_WAITING: usize = 8;

impl App {
    /// A throw that seems to be long ago or far ahead asks for the clock first: the arm may have been restarted.
    fn hear_throw(&mut self, data: Vec<f32>) {
        let now = self.clock.now();
        let Some(target) = &mut self.target else { return };
        let strange = Ball::from_array(&data).is_ok_and(|b| (b.released - now.as_secs_f64()).abs() > STRANGE);
        if strange && target.waiting.len() < MOST_WAITING && self.clock.ask(App::plan_waiting) {
            target.waiting.push(data);
        } else {
            target.throw(&data, now);
        }
    }

    pub(crate) fn plan_waiting(&mut self) {
        let now = self.clock.now();
        if let Some(target) = &mut self.target {
            for data in std::mem::take(&mut target.waiting) {
                target.throw(&data, now);
            }
        }
    }
}

impl TargetNode {
    pub(crate) fn new(
        context: &Context,
        event_loop: &EventLoop<App>,
        behaviour: &BehaviourArguments,
    ) -> Result<Self> {
        let node = context.node("ball_initial_to_arm_target")?;
        settings::declare_planner(&node, behaviour)?;
        let chosen = settings::planner(&node).map_err(Failure::usage)?;
        event_loop.on_parameter_change(&node, |app, _| {
            if let Some(target) = &mut app.target {
                match settings::planner(&target.node) {
                    Ok(chosen) => target.planner.settings = chosen,
                    Err(error) => log::error!(target: target.node.logger(), "{error}"),
                }
            }
        });
        event_loop.subscribe::<Float32MultiArray>(&node, "ball_initial_state", |app, sample| {
            app.hear_throw(sample.message.data)
        })?;
        let hear = |app: &mut App, sample: Sample<Float32MultiArray>| {
            let now = app.clock.now();
            if let Some(target) = &mut app.target
                && let Err(reason) = target.planner.arm_state(&sample.message.data, now)
            {
                log::warn!(target: target.node.logger(), "arm_ang_angv ignored: {reason}");
            }
        };
        listening::subscribe(context, event_loop, &node, "arm_ang_angv", hear)?;
        event_loop.subscribe::<Float32MultiArray>(&node, "ang_debug", |app, sample| {
            let now = app.clock.now();
            if let Some(target) = &mut app.target {
                // Whoever moves says what is wrong with it.
                let _ = target.planner.angles(&sample.message.data, now);
            }
        })?;
        event_loop.announce(&node, format!("planning catches, strategy {:?}", chosen.strategy));
        Ok(Self {
            planner: Planner::new(chosen),
            reserve: node.publisher("hand_close_reserve")?,
            target: node.publisher("target_arm_state")?,
            verdicts: Verdicts::new(&node)?,
            waiting: Vec::new(),
            node,
        })
    }

    pub(crate) fn node(&self) -> &Node {
        &self.node
    }

    fn throw(&mut self, ball: &[f32], now: Duration) {
        let began = monotonic();
        let plan = self.planner.throw(ball, now);
        let took = monotonic() - began;
        if let Ok(catch) = &plan
            && self.planner.settings.strategy == Strategy::Best
            && (now + took).as_secs_f64() > catch.tell_by + LATE
        {
            let logger = self.node.logger();
            log::warn!(target: logger, "planning took {took:.1?}, longer than this machine should need: the arm starts late");
        }
        match plan {
            Ok(catch) => {
                // In this order, as the original: an arm drops the closing time when its target is out of reach.
                self.reserve.publish(&Float32 { data: catch.close_at as f32 });
                self.target.publish(&array(&catch.hand.to_array()));
                let spare = catch.slack.map(|s| format!(", {s:.3} s to spare")).unwrap_or_default();
                let [x, y, z]: [f64; 3] = catch.hand.position.into();
                log::info!(
                    target: self.node.logger(),
                    "catch at {:.3} s, ({x:.3}, {y:.3}, {z:.3}) m{spare}",
                    catch.close_at,
                );
            }
            Err(reason) => {
                log::warn!(target: self.node.logger(), "throw let go: {reason}");
                let released = Ball::from_array(ball).ok().map(|ball| ball.released);
                self.verdicts.tell(&CatchVerdict::not_attempted(released, reason));
            }
        }
    }
}
