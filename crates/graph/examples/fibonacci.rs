//! An action server: `cargo run --example fibonacci`, then
//! `rosless action send_goal --feedback /fibonacci example_interfaces/action/Fibonacci '{order: 5}'`.

use std::time::Duration;

use rosless_graph::{
    Context, EventLoop, Result,
    action::{CancelResponse, GoalHandle, GoalResponse},
    config,
};
use rosless_wire::example_interfaces::action::{Fibonacci, FibonacciFeedback, FibonacciResult};

/// How often each goal gets a number.
const STEP: Duration = Duration::from_millis(100);

fn main() -> Result<()> {
    let (settings, _) = config::settings_or_exit();
    let context = Context::new(settings)?;
    let node = context.node("fibonacci_server")?;
    let event_loop = EventLoop::<Vec<(GoalHandle<Fibonacci>, Vec<i32>)>>::new(&context)?;
    event_loop.action_server::<Fibonacci>(
        &node,
        "fibonacci",
        |_, _, goal| {
            if (0..=46).contains(&goal.order) { GoalResponse::Execute } else { GoalResponse::Reject }
        },
        |goals, goal| {
            // The first feedback comes at once.
            goal.publish_feedback(FibonacciFeedback { sequence: vec![0, 1] });
            goals.push((goal, vec![0, 1]));
        },
        |_, _| CancelResponse::Accept,
    )?;
    event_loop.timer(STEP, |goals| goals.retain_mut(|(goal, sequence)| goes_on(goal, sequence)));
    event_loop.run(&mut Vec::new())
}

/// Computes one number more, or ends the goal.
fn goes_on(goal: &GoalHandle<Fibonacci>, sequence: &mut Vec<i32>) -> bool {
    let done = sequence.len() > usize::try_from(goal.goal().order).unwrap_or_default();
    let result = FibonacciResult { sequence: sequence.clone() };
    let ended = match (goal.is_canceling(), done) {
        (true, _) => goal.canceled(result),
        (false, true) => goal.succeed(result),
        (false, false) => {
            sequence.push(sequence[sequence.len() - 2] + sequence[sequence.len() - 1]);
            goal.publish_feedback(FibonacciFeedback { sequence: sequence.clone() });
            return true;
        }
    };
    if let Err(error) = ended {
        log::warn!("{error}");
    }
    false
}
