//! Commands that talk to the controller's actions and services.

use std::time::Duration;

use rosless_cli::{Failure, Result, err, exit, out, output, session::FOREVER};
use rosless_graph::{
    action::{GoalState, GoalUpdate},
    config::Settings,
};
use rosless_mechanism::{Status, doll, engine::Which, pedestal};
use rosless_wire::{
    mecha_control::action::{DaizaCmd, DaizaCmdGoal, HinaCmd, HinaCmdGoal},
    std_srvs::srv::{SetBool, SetBoolRequest},
};
use serde_json::json;

use crate::{
    Mechanism, Wait,
    brake::{Brake, judge, stop_both},
    session::{App, Session, find, open},
};

pub(crate) fn bonbori(settings: &Settings, on: bool, wait: Wait) -> Result<()> {
    let session = open::<()>(settings)?;
    find(&session, wait.find, || true)?;
    let response = session.call::<SetBool>("set_bonbori", &SetBoolRequest { data: on }, wait.timeout)?;
    output::answer(&json!({ "success": response.success, "lit": on }), || response.message.clone());
    if response.success { Ok(()) } else { Err(Failure::told()) }
}

/// What became of a goal.
#[derive(Debug, Default)]
struct GoalEnd {
    updates: Vec<String>,
    /// State and result code, or why there are none.
    end: Option<Result<(GoalState, u8), String>>,
}

/// How long a goal may take to be cancelled.
const CANCELING: Duration = Duration::from_secs(2);

const RESULTS: [&str; 5] = ["OK", "ABORTED", "ERR_UNEXPECTED_ARG", "ERR_CANNOT_PROCESS", "ERR_TIMEOUT"];
const DAIZA_FEEDBACK: [&str; 7] = [
    "STOPPING",
    "PREV_ACTION_ABORTED",
    "EXPANDED_AT_EXPAND_AND_UNCLAMP",
    "CLAMPED_AT_CLAMP_AND_CONTRACT",
    "EXPANDED_AT_EXPAND_AND_PLACE",
    "EXPANDED_AT_EXPAND_AND_PLACE_AND_CONTRACT",
    "PLACE_AT_EXPAND_AND_PLACE_AND_CONTRACT",
];
const HINA_FEEDBACK: [&str; 5] =
    ["STOPPING", "PREV_ACTION_ABORTED", "DOWN_AT_DOWN_AND_TAKE", "UP_AT_UP_AND_CARRY", "UP_AT_UP_AND_PLACE"];

fn name_of(names: &[&str], code: u8) -> String {
    names.get(usize::from(code)).map_or_else(|| code.to_string(), |name| (*name).to_owned())
}

impl GoalEnd {
    fn feedback(&mut self, names: &[&str], code: u8) {
        let name = name_of(names, code);
        if !output::is_json() {
            out!("feedback: {name}");
        }
        self.updates.push(name);
    }

    fn failed(&mut self, reason: impl ToString) {
        self.end = Some(Err(reason.to_string()));
    }
}

/// A command by name or number; numbers nobody defined are passed on, because refusing them is the controller's task.
fn command_code(text: &str, names: &[&str]) -> Result<u8> {
    let wanted = text.to_uppercase();
    if let Some(code) = names.iter().position(|name| *name == wanted) {
        return u8::try_from(code).map_err(Failure::usage);
    }
    text.parse().map_err(|_| {
        let names = names.join(", ");
        Failure::usage(format!("unknown command {text:?}: use a number up to 255 or one of {names}"))
    })
}

pub(crate) fn goal(
    settings: &Settings,
    mechanism: Mechanism,
    command: &str,
    wait: Wait,
    keep_going: bool,
) -> Result<()> {
    let pedestal_names = pedestal::GOALS.map(|sequence| sequence.name);
    let doll_names = doll::GOALS.map(|sequence| sequence.name);
    let code = match mechanism {
        Mechanism::Daiza => command_code(command, &pedestal_names)?,
        Mechanism::Hina => command_code(command, &doll_names)?,
    };
    let session = open::<GoalEnd>(settings)?;
    let (before, cancel): (Status, Box<dyn Fn()>) = match mechanism {
        Mechanism::Daiza => {
            let client = session.event_loop.action_client::<DaizaCmd>(&session.node, "daiza_cmd")?;
            let before = find(&session, wait.find, || client.is_ready())?;
            let goal = DaizaCmdGoal { command: code };
            let id = client.send_goal(goal, wait.find, FOREVER, move |app, update| match update {
                GoalUpdate::Feedback(f) => app.own.feedback(&DAIZA_FEEDBACK, f.feedback),
                GoalUpdate::Ended(state, result) => app.own.end = Some(Ok((state, result.result))),
                GoalUpdate::Rejected => app.own.failed("the goal was rejected"),
                GoalUpdate::Failed(error) => app.own.failed(error),
                GoalUpdate::Accepted(_) | GoalUpdate::Status(_) => {}
            });
            (before, Box::new(move || client.cancel(id, CANCELING, |_, _| {})))
        }
        Mechanism::Hina => {
            let client = session.event_loop.action_client::<HinaCmd>(&session.node, "hina_cmd")?;
            let before = find(&session, wait.find, || client.is_ready())?;
            let goal = HinaCmdGoal { command: code };
            let id = client.send_goal(goal, wait.find, FOREVER, move |app, update| match update {
                GoalUpdate::Feedback(f) => app.own.feedback(&HINA_FEEDBACK, f.feedback),
                GoalUpdate::Ended(state, result) => app.own.end = Some(Ok((state, result.result))),
                GoalUpdate::Rejected => app.own.failed("the goal was rejected"),
                GoalUpdate::Failed(error) => app.own.failed(error),
                GoalUpdate::Accepted(_) | GoalUpdate::Status(_) => {}
            });
            (before, Box::new(move || client.cancel(id, CANCELING, |_, _| {})))
        }
    };
    let interrupted = match session.wait(wait.timeout, |app| app.own.end.is_some()) {
        Err(failure) if failure.is_interruption() => true,
        ended => {
            ended?;
            false
        }
    };
    if session.with(|app| app.own.end.is_none()) {
        let seconds = wait.timeout.as_secs_f64();
        if keep_going {
            let why =
                if interrupted { "interrupted".to_owned() } else { format!("no outcome within {seconds} s") };
            let code = if interrupted { exit::INTERRUPTED } else { exit::FAILED };
            return Err(Failure { code, message: format!("{why}: the goal goes on") });
        }
        // Whoever leaves does not leave the mechanism moving.
        cancel();
        session.wait(CANCELING, |app| app.own.end.is_some())?;
        if !interrupted {
            err!("no outcome within {seconds} s: the goal is cancelled");
        }
    }
    let end = session.with(|app| app.own.end.take());
    let (state, result) =
        end.unwrap_or_else(|| Err("the goal was never answered".to_owned())).map_err(Failure::new)?;
    let name = name_of(&RESULTS, result);
    let reason = match state == GoalState::Succeeded || interrupted {
        true => None,
        false => Some(reason_of(&session, mechanism, code, &before)?).filter(|reason| !reason.is_empty()),
    };
    let feedback = session.with(|app| app.own.updates.clone());
    let json = json!({ "status": state.to_string(), "result": name, "reason": reason, "feedback": feedback });
    output::answer(&json, || {
        let why = reason.map(|reason| format!(" ({reason})"));
        format!("{state}: {name}{}", why.unwrap_or_default())
    });
    match state {
        _ if interrupted => Err(Failure { code: exit::INTERRUPTED, ..Failure::told() }),
        GoalState::Succeeded => Ok(()),
        _ => Err(Failure::told()),
    }
}

/// Why a goal did not succeed. The result is a number; the words for it are in the status, which may come a moment later.
fn reason_of(session: &Session<GoalEnd>, mechanism: Mechanism, code: u8, before: &Status) -> Result<String> {
    let (which, name) = match mechanism {
        Mechanism::Daiza => (Which::Pedestal, pedestal::GOALS.get(usize::from(code)).map(|goal| goal.name)),
        Mechanism::Hina => (Which::Doll, doll::GOALS.get(usize::from(code)).map(|goal| goal.name)),
    };
    let Some(name) = name else { return Ok(format!("there is no command {code}")) };
    if which == Which::Doll
        && let Some(reason) = doll::unsupported(code, before.profile)
    {
        return Ok(reason);
    }
    if code == 0 {
        // A stop is no sequence; it fails when something goes on.
        let goes_on = |app: &mut App<GoalEnd>| app.seen.as_ref()?.part(which).goes_on.clone();
        return Ok(session.with(goes_on).unwrap_or_default());
    }
    let mut reason = String::new();
    session.wait(Duration::from_millis(300), |app| {
        let Some(part) = app.seen.as_ref().map(|seen| seen.part(which)) else { return false };
        let ran = part.runs > before.part(which).runs;
        if ran && part.sequence() != name {
            reason = format!("{} was asked for", part.sequence());
        } else if ran
            && !part.running
            && let Some(ended) = &part.ended
        {
            reason.clone_from(&ended.reason);
        }
        !reason.is_empty()
    })?;
    Ok(reason)
}

/// Ends what runs on both mechanisms. What the hardware cannot stop is said.
pub(crate) fn stop(settings: &Settings, wait: Wait) -> Result<()> {
    let session = open::<()>(settings)?;
    let brake = Brake::new(&session)?;
    find(&session, wait.find, || brake.is_ready())?;
    let stopped = stop_both(&brake, &session)?;
    let judged = judge(&stopped);
    let goes_on: Vec<_> = stopped.iter().filter_map(|each| each.goes_on.clone()).collect();
    output::answer(&json!({ "stopped": judged.is_ok(), "goes_on": goes_on }), || {
        if stopped.iter().all(|each| each.confirmed && each.goes_on.is_none()) {
            return "stopped".to_owned();
        }
        let line = |each: &crate::brake::Stopped| format!("{}: {}", each.which.name(), each.text());
        stopped.iter().map(line).collect::<Vec<_>>().join("\n")
    });
    judged
}
