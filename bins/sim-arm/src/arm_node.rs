//! The node arm_controller.

use std::time::Duration;

use anyhow::Result;
use rosless_arm::{ArmController, ArmInput, ArmOutput, InitTime};
use rosless_graph::{Context, EventLoop, Node, Publisher, Qos, monotonic};
use rosless_wire::{
    robot3_18c1054::{
        msg::HandClose,
        srv::{GetHandState, GetHandStateResponse, GetInitTime, GetInitTimeResponse},
    },
    std_msgs::msg::{Float32, Float32MultiArray},
};

use crate::{
    BehaviourArgs,
    clock::wall,
    run::{App, array},
    settings,
    verdict::Verdicts,
};

/// A hand command that leaves later than this after its instant is worth a warning.
const LATE: Duration = Duration::from_millis(20);

const TARGET: &str = "target_arm_state";

pub(crate) struct ArmNode {
    node: Node,
    controller: ArmController,
    /// The arm's start on the monotonic clock.
    start: Duration,
    state: Publisher<Float32MultiArray>,
    hand: Publisher<HandClose>,
    verdicts: Verdicts,
}

impl ArmNode {
    pub(crate) fn new(
        context: &Context,
        event_loop: &EventLoop<App>,
        behaviour: &BehaviourArgs,
    ) -> Result<Self> {
        let node = context.node("arm_controller")?;
        settings::declare_arm(&node, behaviour)?;
        let config = settings::arm(&node)?;
        event_loop.on_parameter_change(&node, |app, _| {
            app.with_arm(|arm| match settings::arm(&arm.node) {
                Ok(config) => arm.controller.configure(config, arm.now()),
                Err(error) => log::error!(target: arm.node.logger(), "{error}"),
            });
        });
        event_loop.subscribe::<Float32MultiArray>(&node, TARGET, Qos::default(), |app, sample| {
            app.with_arm(|arm| arm.input(TARGET, ArmInput::Target(&sample.message.data)));
        })?;
        event_loop.subscribe::<Float32>(&node, "hand_close_reserve", Qos::default(), |app, sample| {
            app.with_arm(|arm| arm.input("hand_close_reserve", ArmInput::CloseAt(sample.message.data)));
        })?;
        event_loop.subscribe::<Float32MultiArray>(&node, "ang_debug", Qos::default(), |app, sample| {
            app.with_arm(|arm| arm.input("ang_debug", ArmInput::Angles(&sample.message.data)));
        })?;
        event_loop.serve::<GetHandState>(&node, "get_hand_state", |app, _, responder| {
            app.with_arm(|arm| {
                let hand_state = arm.controller.hand_state(arm.now()).to_array().to_vec();
                responder.reply(&GetHandStateResponse { hand_state });
            });
        })?;
        event_loop.serve::<GetInitTime>(&node, "get_init_time", |app, _, responder| {
            app.with_arm(|arm| responder.reply(&arm.init_time()));
        })?;
        event_loop.engine_deadline(
            |app| app.arm.as_ref().and_then(|arm| Some(arm.controller.next_deadline()? + arm.start)),
            |app, _| app.with_arm(ArmNode::advance),
        );
        let mut arm = Self {
            controller: ArmController::new(config),
            start: monotonic(),
            // Latched, so that planners and viewers started later know the posture of an arm at rest.
            state: node.publisher("arm_ang_angv", Qos::latched())?,
            hand: node.publisher("hand_close", Qos::default())?,
            verdicts: Verdicts::new(&node)?,
            node,
        };
        arm.carry_out("start");
        log::info!(target: arm.node.logger(), "arm ready, straight up, {:?} control", config.control);
        Ok(arm)
    }

    pub(crate) fn node(&self) -> &Node {
        &self.node
    }

    /// Time since the arm's start.
    fn now(&self) -> Duration {
        monotonic().saturating_sub(self.start)
    }

    /// The start as today's wall clock sees it, so that setting the clock does not split the processes' opinions.
    fn init_time(&self) -> GetInitTimeResponse {
        let InitTime { year, month, day, hour, minute, second, lower } =
            InitTime::new(wall().saturating_sub(self.now()));
        GetInitTimeResponse { year, month, day, hour, minute, second, lower }
    }

    fn input(&mut self, topic: &str, input: ArmInput<'_>) {
        self.controller.handle(input, self.now());
        self.carry_out(topic);
    }

    fn advance(&mut self) {
        self.controller.advance(self.now());
        self.carry_out("timer");
    }

    fn carry_out(&mut self, cause: &str) {
        while let Some(output) = self.controller.poll_output() {
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
                    log::info!(target: logger, "moving to /{cause}, {needs:.3} s at the limits' fastest");
                }
                ArmOutput::Refused(reason) => {
                    log::warn!(target: logger, "/{cause} refused: {reason}");
                    if cause == TARGET {
                        self.verdicts.not_attempted(&reason);
                    }
                }
                ArmOutput::Superseded { close_at } => {
                    let at = close_at.as_secs_f64();
                    log::warn!(target: logger, "the catch planned for {at:.3} s is given up for a newer throw");
                }
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
