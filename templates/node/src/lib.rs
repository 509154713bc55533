//! A managed node: parameters, a topic, a service and an action, with interfaces of its own.
//!
//! | name | what |
//! |---|---|
//! | `~/reading` | a `Reading`, `rate` times per second while the node is active |
//! | `~/calibrate` | the service `Calibrate` |
//! | `~/sweep` | the action `Sweep`, also while the node is inactive |
//! | `rate` | a parameter that can be changed at any time |
#![forbid(unsafe_code)]

pub mod sensor;

// The types of `interfaces/`, written by `build.rs`.
include!(concat!(env!("OUT_DIR"), "/interfaces.rs"));

use std::time::Duration;

use my_node_interfaces::{
    action::{Sweep, SweepFeedback, SweepResult},
    msg::Reading,
    srv::{Calibrate, CalibrateResponse},
};
use rosless_graph::{
    Context, ContextOptions, EventLoop, Handle, Node, Result, Timer,
    action::{CancelResponse, GoalHandle, GoalResponse},
    lifecycle::{CallbackReturn, LifecyclePublisher, Step},
    parameters::Descriptor,
};
use rosless_wire::std_msgs::msg::Header;
use sensor::Sensor;

/// A sweep takes one reading in this time.
const SWEEP_STEP: Duration = Duration::from_millis(50);

/// All that callbacks change; they get it one at a time.
struct App {
    node: Node,
    sensor: Sensor,
    /// Silent unless the node is active.
    readings: LifecyclePublisher<Reading>,
    timer: Option<Timer<App>>,
    /// The sweep that is under way, how many readings it has, and the nearest of them.
    sweep: Option<(GoalHandle<Sweep>, u16, Reading)>,
}

/// Joins the graph and runs until the process is told to end.
///
/// # Errors
/// What keeps it from joining: a parameter that does not fit, no sockets.
pub fn run(options: impl Into<ContextOptions>) -> Result<()> {
    let context = Context::new(options)?;
    let node = context.node("my_node")?;
    let rate = Descriptor::new("rate").description("Readings per second.").double_range(0.1, 100.0, 0.0);
    node.declare_parameter(rate, 10.0)?;

    let event_loop = EventLoop::<App>::new(&context)?;
    let handle = event_loop.handle();
    let lifecycle = event_loop.lifecycle(&node, move |app: &mut App, step| {
        match step {
            Step::Configure => app.sensor = Sensor::default(),
            Step::Activate => app.start(&handle),
            Step::Deactivate | Step::CleanUp | Step::Shutdown(_) | Step::Error(_) => app.stop(),
        }
        CallbackReturn::Success
    })?;
    let handle = event_loop.handle();
    event_loop.on_parameter_change(&node, move |app, _| {
        if app.timer.is_some() {
            app.start(&handle);
        }
    });
    event_loop.serve::<Calibrate>(&node, "~/calibrate", |app, request, responder| {
        responder.reply(&match app.sensor.calibrate(request.distance) {
            Ok(offset) => CalibrateResponse { success: true, offset, message: String::new() },
            Err(why) => CalibrateResponse { success: false, offset: 0.0, message: why.to_owned() },
        });
    })?;
    event_loop.action_server::<Sweep>(
        &node,
        "~/sweep",
        |app, _, goal| {
            let possible = goal.readings > 0 && goal.start.is_finite() && goal.end.is_finite();
            if possible && app.sweep.is_none() { GoalResponse::Execute } else { GoalResponse::Reject }
        },
        |app, goal| app.sweep = Some((goal, 0, Reading { distance: f64::INFINITY, ..Reading::default() })),
        |_, _| CancelResponse::Accept,
    )?;
    event_loop.timer(SWEEP_STEP, App::sweep_on);
    let readings = lifecycle.publisher("~/reading")?;
    event_loop.run(&mut App { node, sensor: Sensor::default(), readings, timer: None, sweep: None })
}

impl App {
    /// Publishes readings at the rate of the parameter.
    fn start(&mut self, handle: &Handle<App>) {
        self.stop();
        let rate = self.node.parameter("rate").unwrap_or(10.0);
        self.timer = Some(handle.timer(Duration::from_secs_f64(1.0 / rate), |app| {
            app.readings.publish(&app.read());
        }));
    }

    fn stop(&mut self) {
        if let Some(timer) = self.timer.take() {
            timer.cancel();
        }
    }

    fn read(&self) -> Reading {
        let (distance, quality) = match self.sensor.read() {
            Some(distance) => (distance, Reading::GOOD),
            None => (f64::INFINITY, Reading::OUT_OF_RANGE),
        };
        let header = Header { stamp: self.node.now(), frame_id: "my_node".to_owned() };
        Reading { header, angle: self.sensor.angle, distance, quality }
    }

    /// Takes the next reading of a sweep, or ends it.
    fn sweep_on(&mut self) {
        let Some((goal, mut done, mut nearest)) = self.sweep.take() else { return };
        let wanted = goal.goal().readings;
        if goal.is_canceling() || done == wanted {
            let result = SweepResult { nearest };
            let ended = if done == wanted { goal.succeed(result) } else { goal.canceled(result) };
            if let Err(error) = ended {
                log::warn!(target: self.node.logger(), "{error}");
            }
            return;
        }
        let part = f64::from(done) / f64::from(wanted.max(2) - 1);
        self.sensor.angle = goal.goal().start + part * (goal.goal().end - goal.goal().start);
        let reading = self.read();
        done += 1;
        if reading.distance < nearest.distance {
            nearest = reading.clone();
        }
        goal.publish_feedback(SweepFeedback { done, reading });
        self.sweep = Some((goal, done, nearest));
    }
}
