//! An action server and its client: `cargo run --example fibonacci`, then `… --example fibonacci -- 5` or
//! `rosless action send_goal --feedback /fibonacci example_interfaces/action/Fibonacci '{order: 5}'`.

use std::time::Duration;

use rosless_graph::{
    Context, Error, EventLoop, Result,
    action::{CancelResponse, GoalHandle, GoalResponse, GoalUpdate},
    config,
};
use rosless_wire::example_interfaces::action::{
    Fibonacci, FibonacciFeedback, FibonacciGoal, FibonacciResult,
};

/// How often each goal gets a number.
const STEP: Duration = Duration::from_millis(100);

fn main() -> Result<()> {
    let (settings, args) = config::settings_or_exit();
    let context = Context::new(settings)?;
    match args.get(1) {
        None => serve(&context),
        Some(text) => {
            let order = text.parse().map_err(|error| Error::Usage(format!("'{text}': {error}")))?;
            ask(&context, FibonacciGoal { order })
        }
    }
}

/// Sends a goal and follows it to its end.
fn ask(context: &Context, goal: FibonacciGoal) -> Result<()> {
    let node = context.node("fibonacci_client")?;
    let event_loop = EventLoop::<bool>::new(context)?;
    let client = event_loop.action_client::<Fibonacci>(&node, "fibonacci")?;
    let (answer, result) = (Duration::from_secs(5), Duration::from_secs(60));
    client.send_goal(goal, answer, result, |over, update| match update {
        GoalUpdate::Accepted(_) | GoalUpdate::Status(_) => {}
        GoalUpdate::Feedback(feedback) => log::info!("so far: {:?}", feedback.sequence),
        GoalUpdate::Ended(state, result) => {
            log::info!("{state:?}: {:?}", result.sequence);
            *over = true;
        }
        GoalUpdate::Rejected | GoalUpdate::Failed(_) => {
            log::error!("{update:?}");
            *over = true;
        }
    });
    event_loop.run_until(&mut false, answer + result, |over| *over).map(drop)
}

fn serve(context: &Context) -> Result<()> {
    let node = context.node("fibonacci_server")?;
    let event_loop = EventLoop::<Vec<(GoalHandle<Fibonacci>, Vec<i32>)>>::new(context)?;
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
