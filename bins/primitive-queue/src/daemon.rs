//! The controller as a lifecycle node.
//!
//! Topics and actions are there from configure to cleanup; commands are obeyed while the node is active. The engine
//! turns at the control rate while there is something to do, and not at all otherwise.

use std::{cell::Cell, rc::Rc};

use rosless_cli::Failure;
use rosless_graph::{
    Context, EventLoop, Handle, Node, Result,
    action::{GoalError, GoalHandle, GoalId},
    config,
    lifecycle::{CallbackReturn, LifecycleNode, Request, Step},
    monotonic,
};
use rosless_motion::{GoalOutcome, Paced, messages::SequenceAction};
use rosless_wire::control_msgs::action::ExecuteMotionPrimitiveSequenceResult;

use crate::{
    NODE_NAME,
    running::Running,
    settings::{Driver, Settings},
    ur,
};

/// The process.
pub(crate) struct App {
    pub(crate) running: Option<Running>,
    /// Shared with the judge of new parameter values.
    configured: Rc<Cell<bool>>,
}

/// Runs the node until a signal ends it; `defaults` are the parameters that nobody sets.
///
/// # Errors
/// When the domain cannot be joined or a parameter's type is wrong. Parameters that make no controller end the process
/// with exit code 1, unless `autostart` is off: then configuring fails as often as somebody asks for it.
pub fn run(settings: config::Settings, defaults: Settings, autostart: bool) -> Result<(), Failure> {
    let context = Context::new(settings)?;
    let node = context.node(NODE_NAME)?;
    defaults.declare(&node)?;
    let configured = Rc::new(Cell::new(false));
    let mut app = App { running: None, configured: configured.clone() };
    node.validate_parameters(move |values| match values.iter().find(|(name, _)| Settings::has(name)) {
        Some((name, _)) if configured.get() => {
            Err(format!("{name} is read when the node is configured: deactivate and clean up first"))
        }
        _ => Ok(()),
    });

    let events = EventLoop::new(&context)?;
    let (handle, owner) = (events.handle(), node.clone());
    let lifecycle = events.lifecycle(&node, move |app: &mut App, step| app.step(step, &handle, &owner))?;
    events.drive(
        |app: &mut App, with: &mut dyn FnMut(&mut Paced<Driver>)| {
            if let Some(running) = &mut app.running {
                with(&mut running.controller);
            }
        },
        |app, output| {
            if let Some(running) = &mut app.running {
                running.act(output, None);
            }
        },
    );
    ur::drive(&events.handle());
    events.after_batch(|app: &mut App| {
        if let Some(running) = &mut app.running {
            running.publish_changes();
        }
    });
    let handle = events.handle();
    events.on_incompatible_qos(move |app: &mut App, problem| {
        if let Some(running) = &mut app.running
            && let Err(error) = running.hear_best_effort(&handle, &problem.topic)
        {
            log::error!(target: running.node.logger(), "{}: {error}", problem.topic);
        }
    });
    events.on_graph_change(|app: &mut App, graph| {
        if let Some(running) = &mut app.running {
            running.forget_left(graph);
        }
    });
    events.check_parameters()?;
    if autostart {
        for request in [Request::CONFIGURE, Request::ACTIVATE] {
            if lifecycle.trigger(&mut app, request) != Ok(CallbackReturn::Success) {
                // The log says why.
                return Err(Failure::told());
            }
        }
    } else {
        log::info!(target: node.logger(), "unconfigured: waits for the lifecycle transition 'configure'");
    }
    events.run(&mut app)?;
    leave(&lifecycle, &mut app);
    Ok(())
}

/// Ends goals with a reason before the node vanishes.
fn leave(lifecycle: &LifecycleNode<App>, app: &mut App) {
    if let Err(error) = lifecycle.trigger(app, Request::SHUTDOWN) {
        log::debug!(target: lifecycle.node().logger(), "{error}");
    }
}

impl App {
    fn step(&mut self, step: Step, handle: &Handle<Self>, node: &Node) -> CallbackReturn {
        let now = monotonic();
        match (step, &mut self.running) {
            (Step::Configure, _) => match Running::new(handle, node) {
                Ok(running) => self.running = Some(running),
                Err(reason) => {
                    log::error!(target: node.logger(), "cannot be configured: {reason}");
                    return CallbackReturn::Failure;
                }
            },
            (Step::Activate, Some(running)) => {
                if let Err(fault) = running.activate(now) {
                    log::error!(target: node.logger(), "cannot be activated: {fault}");
                    return CallbackReturn::Failure;
                }
            }
            (Step::Deactivate, Some(running)) => running.deactivate(now),
            (Step::CleanUp | Step::Shutdown(_) | Step::Error(_), _) => {
                if let Some(running) = self.running.take() {
                    running.close();
                }
            }
            (Step::Activate | Step::Deactivate, None) => return CallbackReturn::Error,
        }
        self.configured.set(self.running.is_some());
        CallbackReturn::Success
    }
}

/// A goal of any of the actions.
pub(crate) trait ActiveGoal {
    fn id(&self) -> GoalId;
    fn feedback(&self, index: u8);
    fn end(&self, outcome: &GoalOutcome) -> Result<(), GoalError>;
}

impl<A: SequenceAction> ActiveGoal for GoalHandle<A> {
    fn id(&self) -> GoalId {
        self.id()
    }

    fn feedback(&self, index: u8) {
        self.publish_feedback(A::feedback(index));
    }

    fn end(&self, outcome: &GoalOutcome) -> Result<(), GoalError> {
        use ExecuteMotionPrimitiveSequenceResult as Code;
        match outcome {
            GoalOutcome::Succeeded => {
                self.succeed(A::result(Code::SUCCESSFUL, "Motion primitives executed successfully".into()))
            }
            GoalOutcome::Aborted(reason) => self.abort(A::result(Code::INVALID_GOAL, reason.clone())),
            GoalOutcome::Canceled => self.canceled(A::Result::default()),
        }
    }
}
