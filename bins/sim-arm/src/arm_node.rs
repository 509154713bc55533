//! The node arm_controller.

use std::time::Duration;

use rosless_arm::{ArmController, ArmInput, ArmOutput, CatchVerdict, InitTime, LetGo};
use rosless_cli::{Failure, Result};
use rosless_engine::{Engine as _, Since};
use rosless_graph::{Context, EventLoop, Node, Publisher, TopicQos, monotonic, now};
use rosless_wire::{
    robot3_18c1054::{
        msg::HandClose,
        srv::{GetHandState, GetHandStateResponse, GetInitTime, GetInitTimeResponse},
    },
    std_msgs::msg::{Float32, Float32MultiArray},
};

use crate::{
    BehaviourArguments,
    clock::wall,
    daemon::{App, array},
    settings,
    verdict::Verdicts,
};

/// A hand command that leaves later than this after its instant is worth a warning.
const LATE: Duration = Duration::from_millis(20);

pub(crate) struct ArmNode {
    node: Node,
    controller: Since<ArmController>,
    state: Publisher<Float32MultiArray>,
    hand: Publisher<HandClose>,
    verdicts: Verdicts,
}

impl ArmNode {
    pub(crate) fn new(
        context: &Context,
        event_loop: &EventLoop<App>,
        behaviour: &BehaviourArguments,
    ) -> Result<Self> {
        let node = context.node("arm_controller")?;
        let gains = settings::declare_arm(&node, behaviour)?;
        let chosen = settings::arm(&node, &gains).map_err(Failure::usage)?;
        event_loop.on_parameter_change(&node, move |app, _| {
            app.with_arm(|arm| match settings::arm(&arm.node, &gains) {
                Ok(chosen) => arm.controller.engine.configure(chosen, arm.now()),
                Err(error) => log::error!(target: arm.node.logger(), "{error}"),
            });
        });
        // In this order: of what arrives together, the topic subscribed to first is read first.
        event_loop.subscribe::<Float32MultiArray>(&node, "ball_initial_state", |app, s| {
            app.with_arm(|arm| arm.input("ball_initial_state", ArmInput::Ball(&s.message.data)));
        })?;
        event_loop.subscribe::<Float32>(&node, "hand_close_reserve", |app, s| {
            app.with_arm(|arm| arm.input("hand_close_reserve", ArmInput::CloseAt(s.message.data)));
        })?;
        event_loop.subscribe::<Float32MultiArray>(&node, "target_arm_state", |app, s| {
            app.with_arm(|arm| arm.input("target_arm_state", ArmInput::Target(&s.message.data)));
        })?;
        event_loop.subscribe::<Float32MultiArray>(&node, "ang_debug", |app, s| {
            app.with_arm(|arm| arm.input("ang_debug", ArmInput::Angles(&s.message.data)));
        })?;
        event_loop.serve::<GetHandState>(&node, "get_hand_state", |app, _, responder| {
            app.with_arm(|arm| {
                let hand_state = arm.controller.engine.hand_state(arm.now()).to_array().to_vec();
                responder.reply(&GetHandStateResponse { hand_state });
            });
        })?;
        event_loop.serve::<GetInitTime>(&node, "get_init_time", |app, _, responder| {
            app.with_arm(|arm| responder.reply(&arm.init_time()));
        })?;
        event_loop.drive(
            |app: &mut App, with: &mut dyn FnMut(&mut Since<ArmController>)| {
                app.with_arm(|arm| with(&mut arm.controller));
            },
            |app, output| app.with_arm(|arm| arm.act(output, "timer")),
        );
        let mut arm = Self {
            controller: Since { engine: ArmController::new(chosen), start: monotonic() },
            // Latched, so that planners and viewers started later know the posture of an arm at rest.
            state: node.publisher("arm_ang_angv".latched())?,
            // Likewise for the hand; a few samples, because every closing is judged, not only the last.
            hand: node.publisher("hand_close".transient_local())?,
            verdicts: Verdicts::new(&node)?,
            node,
        };
        arm.carry_out("start");
        event_loop.announce(&arm.node, format!("arm ready, straight up, {:?} control", chosen.control));
        Ok(arm)
    }

    pub(crate) fn node(&self) -> &Node {
        &self.node
    }

    /// Time since the arm's start.
    fn now(&self) -> Duration {
        monotonic().saturating_sub(self.controller.start)
    }

    /// The start as today's wall clock sees it, so that setting the clock does not split the processes' opinions.
    fn init_time(&self) -> GetInitTimeResponse {
        let InitTime { year, month, day, hour, minute, second, lower } =
            InitTime::new(wall().saturating_sub(self.now()));
        GetInitTimeResponse { year, month, day, hour, minute, second, lower }
    }

    fn input(&mut self, topic: &str, input: ArmInput<'_>) {
        self.controller.handle(input, now());
        self.carry_out(topic);
    }

    fn full_name(&self, topic: &str) -> String {
        self.node.resolve_topic(topic).unwrap_or_else(|_| topic.to_owned())
    }

    fn carry_out(&mut self, cause: &str) {
        while let Some(output) = self.controller.poll_output() {
            self.act(output, cause);
        }
    }

    /// Does one thing that the engine wants done because of what came on a topic, or of the time.
    fn act(&mut self, output: ArmOutput, cause: &str) {
        let logger = self.node.logger();
        match output {
            ArmOutput::State(state) => {
                self.state.publish(&array(&state));
            }
            ArmOutput::Hand { closed, at } => {
                self.hand.publish(&HandClose { close: closed, time_stamp: at.as_secs_f32() });
                let late = self.now().saturating_sub(at);
                if late > LATE {
                    log::warn!(target: logger, "hand command sent {late:.1?} late: the machine is overloaded");
                }
                log::info!(target: logger, "hand {} at {:.3} s", if closed { "closed" } else { "opened" }, at.as_secs_f64());
            }
            ArmOutput::Accepted { needs } => {
                let topic = self.full_name(cause);
                log::info!(target: logger, "moving to {topic}, {needs:.3} s at the limits' fastest");
            }
            ArmOutput::Surplus { values } => {
                let topic = self.full_name(cause);
                log::warn!(target: logger, "{topic}: {values} values after the six angles ignored: speeds are six or none");
            }
            ArmOutput::Refused(reason) => {
                log::warn!(target: logger, "{} refused: {reason}", self.full_name(cause));
            }
            ArmOutput::LetGo { released, reason } => {
                match reason {
                    LetGo::Refused(why) => {
                        log::warn!(target: logger, "{} refused: {why}", self.full_name(cause));
                    }
                    LetGo::HandBusy { .. } | LetGo::Superseded { .. } => {
                        log::warn!(target: logger, "{reason}")
                    }
                }
                self.verdicts.tell(&CatchVerdict::not_attempted(released, reason));
            }
        }
    }
}

impl App {
    fn with_arm(&mut self, act: impl FnOnce(&mut ArmNode)) {
        if let Some(arm) = &mut self.arm {
            act(arm);
        }
    }
}
