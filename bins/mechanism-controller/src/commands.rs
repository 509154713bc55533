//! Commands that make the controller do something and wait for the outcome.

use std::{
    collections::VecDeque,
    io::{ErrorKind, Read},
    os::unix::net::UnixStream,
    thread,
    time::Duration,
};

use rosless_cli::{Failure, Result, err, exit, out, output, session::FOREVER};
use rosless_graph::{
    EventLoop, Publisher, Qos,
    action::{GoalState, GoalUpdate},
    config::Settings,
    monotonic,
};
use rosless_mechanism::{
    Status, doll,
    engine::{LEAVE_ALONE, Which},
    following::{BOTH, End, Following, Progress, SILENCE},
    pedestal,
    status::phase_name,
};
use rosless_wire::{
    mecha_control::{
        action::{DaizaCmd, DaizaCmdGoal, HinaCmd, HinaCmdGoal},
        msg::MechaState,
    },
    std_srvs::srv::{SetBool, SetBoolRequest},
};
use serde_json::json;

use crate::{
    Mechanism, Mechanisms, Phase, Wait,
    session::{App, Session, find, open},
};

pub(crate) fn phase(settings: &Settings, code: u8, options: &Phase) -> Result<()> {
    if code == 0 && options.mechanism == Mechanisms::Daiza {
        return Err(Failure::usage("the pedestal has nothing to prepare; `prepare hina` prepares the doll"));
    }
    let session = open::<()>(settings)?;
    let publisher = session.node.publisher::<MechaState>("mecha_state", Qos::default())?;
    find(&session, options.wait.find, || publisher.matched() > 0)?;
    session.settle(publisher.raw())?;
    match run_phase(&session, &publisher, code, options)? {
        true => Ok(()),
        false => Err(Failure::told()),
    }
}

/// Publishes the phase and follows it to its end; `false` when a mechanism did not get there.
fn run_phase<T>(
    session: &Session<T>,
    publisher: &Publisher<MechaState>,
    code: u8,
    options: &Phase,
) -> Result<bool> {
    let wanted: Vec<_> = BOTH.into_iter().filter(|which| options.mechanism.includes(*which)).collect();
    let before = session.with(|app| app.seen.clone()).unwrap_or_default();
    let mut following = Following::new(code, &wanted, &before, monotonic());
    if !following.is_over() {
        session.with(|app| app.restarted = false);
        publisher.publish(&following.message());
    }
    let done = session.wait(options.wait.timeout, |app| {
        let Some(seen) = &app.seen else { return false };
        if following.is_over() || app.restarted || app.silence() > SILENCE {
            return true;
        }
        for Progress { which, step, waiting_for } in following.look(seen, monotonic()) {
            if !output::is_json() {
                let (name, phase) = (which.name(), phase_name(code));
                out!("{name}: {phase} {}/{} {}, waits for {waiting_for}", step.number, step.of, step.what);
            }
        }
        if following.asks_again(seen, monotonic()) {
            publisher.publish(&following.message());
        }
        following.is_over()
    })?;
    let (seen, restarted) = session.with(|app| (app.seen.clone().unwrap_or_default(), app.restarted));
    let ends = following.ends(|which| match done {
        true if restarted => {
            ("no outcome", "the controller was restarted, or there are two: ask again".to_owned())
        }
        true => ("no outcome", format!("the controller has said nothing for {} s", SILENCE.as_secs())),
        false => ("no outcome in time", format!("the controller says: {}", seen.part(which).summary().1)),
    });
    tell_ends(&ends, &phase_name(code));
    Ok(ends.iter().all(|(_, end)| end.is_reached()))
}

/// Prints how it ended.
fn tell_ends(ends: &[(Which, End)], phase: &str) {
    let mut outcomes = serde_json::Map::new();
    for (which, end) in ends {
        let name = which.name();
        let (line, value) = match end {
            End::Reached { already, took } => {
                let seconds = took.as_secs_f64();
                let line = match already {
                    true => format!("{name}: {phase}: already there"),
                    false => format!("{name}: {phase} done in {seconds:.1} s"),
                };
                let outcome = "done";
                (
                    line,
                    json!({"phase": phase, "reached": true, "already": already, "outcome": outcome, "reason": null, "seconds": seconds}),
                )
            }
            End::Not { outcome, reason } => (
                format!("{name}: {phase} {outcome}: {reason}"),
                json!({"phase": phase, "reached": false, "already": false, "outcome": outcome, "reason": reason, "seconds": null}),
            ),
        };
        outcomes.insert(name.to_owned(), value);
        match end {
            _ if output::is_json() => {}
            End::Reached { .. } => out!("{line}"),
            End::Not { .. } => err!("{line}"),
        }
    }
    if output::is_json() {
        output::json_line(&outcomes);
    }
}

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

pub(crate) fn goal(settings: &Settings, mechanism: Mechanism, command: &str, wait: Wait) -> Result<()> {
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
            let id = client.send_goal(goal, wait.find, wait.timeout, move |app, update| match update {
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
            let id = client.send_goal(goal, wait.find, wait.timeout, move |app, update| match update {
                GoalUpdate::Feedback(f) => app.own.feedback(&HINA_FEEDBACK, f.feedback),
                GoalUpdate::Ended(state, result) => app.own.end = Some(Ok((state, result.result))),
                GoalUpdate::Rejected => app.own.failed("the goal was rejected"),
                GoalUpdate::Failed(error) => app.own.failed(error),
                GoalUpdate::Accepted(_) | GoalUpdate::Status(_) => {}
            });
            (before, Box::new(move || client.cancel(id, CANCELING, |_, _| {})))
        }
    };
    let patience = wait.find + wait.timeout + Duration::from_secs(1);
    let interrupted = match session.wait(patience, |app| app.own.end.is_some()) {
        Err(failure) if failure.is_interruption() => {
            // Whoever leaves does not leave the mechanism moving.
            cancel();
            session.wait(CANCELING, |app| app.own.end.is_some())?;
            true
        }
        ended => {
            ended?;
            false
        }
    };
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

pub(crate) fn stop(settings: &Settings, wait: Wait) -> Result<()> {
    let session = open::<GoalEnd>(settings)?;
    let daiza = session.event_loop.action_client::<DaizaCmd>(&session.node, "daiza_cmd")?;
    let hina = session.event_loop.action_client::<HinaCmd>(&session.node, "hina_cmd")?;
    find(&session, wait.find, || daiza.is_ready() && hina.is_ready())?;
    let goal = DaizaCmdGoal { command: DaizaCmdGoal::STOP };
    daiza.send_goal(goal, wait.find, wait.timeout, |app, update| match update {
        GoalUpdate::Ended(..) => app.own.updates.push("daiza".to_owned()),
        GoalUpdate::Failed(error) => app.own.failed(error),
        _ => {}
    });
    let goal = HinaCmdGoal { command: HinaCmdGoal::STOP };
    hina.send_goal(goal, wait.find, wait.timeout, |app, update| match update {
        GoalUpdate::Ended(..) => app.own.updates.push("hina".to_owned()),
        GoalUpdate::Failed(error) => app.own.failed(error),
        _ => {}
    });
    session.wait(wait.find + wait.timeout, |app| app.own.updates.len() == 2 || app.own.end.is_some())?;
    if let Some(Err(reason)) = session.with(|app| app.own.end.take()) {
        return Err(Failure::new(reason));
    }
    let stopped = session.with(|app| app.own.updates.clone());
    if stopped.len() != 2 {
        return Err(Failure::new(format!("only these have confirmed the stop: {stopped:?}")));
    }
    output::answer(&json!({ "stopped": true }), || "stopped".to_owned());
    Ok(())
}

const KEYS: &str = "\
q deploy daiza    w collect daiza   e place daiza   r stow daiza
a deploy hina     s collect hina    d place hina    f stow hina    p prepare hina
b bonbori on/off  x end             ? this help        (a letter, then Enter)";

/// What was typed and not obeyed yet.
#[derive(Debug, Default)]
struct Typed {
    keys: VecDeque<u8>,
    ended: bool,
}

/// Standard input on the event loop. A thread reads it, because a file cannot be polled.
fn listen_to_keys(event_loop: &EventLoop<App<Typed>>) -> Result<()> {
    let failed = |error| Failure::new(format!("cannot listen to standard input: {error}"));
    let (typed, mut writer) = UnixStream::pair().map_err(failed)?;
    typed.set_nonblocking(true).map_err(failed)?;
    thread::spawn(move || std::io::copy(&mut std::io::stdin().lock(), &mut writer));
    event_loop.watch(typed, |app, typed| {
        let mut buffer = [0; 256];
        loop {
            match typed.read(&mut buffer) {
                Ok(length @ 1..) => app.own.keys.extend(&buffer[..length]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                _ => {
                    app.own.ended = true;
                    return false;
                }
            }
        }
    })?;
    Ok(())
}

/// The sequence check controller: phases by keyboard, reports as they come.
pub(crate) fn keys(settings: &Settings, wait: Wait) -> Result<()> {
    let session = open::<Typed>(settings)?;
    let publisher = session.node.publisher::<MechaState>("mecha_state", Qos::default())?;
    find(&session, wait.find, || publisher.matched() > 0)?;
    session.settle(publisher.raw())?;
    listen_to_keys(&session.event_loop)?;
    out!("{KEYS}");
    loop {
        session.wait(FOREVER, |app| app.own.ended || !app.own.keys.is_empty() || output::closed())?;
        let key = session.with(|app| app.own.keys.pop_front()).filter(|_| !output::closed());
        let Some(key) = key else { return Ok(()) };
        let (mechanism, code) = match key {
            b'q' => (Mechanisms::Daiza, 1),
            b'w' => (Mechanisms::Daiza, 2),
            b'e' => (Mechanisms::Daiza, 3),
            b'r' => (Mechanisms::Daiza, 4),
            b'a' => (Mechanisms::Hina, 1),
            b's' => (Mechanisms::Hina, 2),
            b'd' => (Mechanisms::Hina, 3),
            b'f' => (Mechanisms::Hina, 4),
            b'p' => (Mechanisms::Hina, 0),
            b'b' => {
                let bonbori = session.with(|app| app.seen.clone()).unwrap_or_default().bonbori;
                let switch = |bonbori_state| {
                    publisher.publish(&MechaState {
                        daiza_state: LEAVE_ALONE,
                        hina_state: LEAVE_ALONE,
                        bonbori_state,
                    })
                };
                // Only a change of the flag switches at once.
                if bonbori.flag != bonbori.lit {
                    switch(bonbori.lit);
                }
                switch(!bonbori.lit);
                // The next key may ask for the light again.
                session.wait(wait.find, |app| {
                    app.seen.as_ref().is_some_and(|seen| seen.bonbori.lit != bonbori.lit)
                })?;
                out!("bonbori: {}", if bonbori.lit { "off" } else { "on" });
                continue;
            }
            b'x' => return Ok(()),
            b'\n' | b'\r' | b' ' => continue,
            _ => {
                out!("{KEYS}");
                continue;
            }
        };
        run_phase(&session, &publisher, code, &Phase { mechanism, wait })?;
    }
}
