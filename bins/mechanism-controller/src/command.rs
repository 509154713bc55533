//! Commands that make the controller do something and wait for the outcome.

use std::{
    collections::VecDeque,
    io::{ErrorKind, Read},
    os::unix::net::UnixStream,
    process::ExitCode,
    thread,
    time::Duration,
};

use anyhow::{Context as _, bail};
use rosless_graph::{
    CallError, Error, EventLoop, Publisher, Qos,
    action::{GoalState, GoalUpdate},
    config::Settings,
    monotonic,
};
use rosless_mechanism::{
    Params, Profile, doll,
    engine::{LEAVE_ALONE, Which},
    pedestal,
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
    session::{App, Session},
    status::{Seen, phase_name},
};

/// Both mechanisms, in the order of the messages.
const BOTH: [Which; 2] = [Which::Pedestal, Which::Doll];

fn state(code: u8, mechanisms: Mechanisms, seen: &Seen) -> MechaState {
    let code_of = |which| if mechanisms.includes(which) { code } else { LEAVE_ALONE };
    MechaState {
        daiza_state: code_of(Which::Pedestal),
        hina_state: code_of(Which::Doll),
        // A changed flag would switch the lantern, and so would one that asks for light in the dark.
        bonbori_state: seen.flag && seen.light == "on",
    }
}

pub(crate) fn phase(settings: Settings, code: u8, options: &Phase) -> anyhow::Result<ExitCode> {
    if code == 0 && options.mechanism == Mechanisms::Daiza {
        let reason = "the pedestal has nothing to prepare; `prepare hina` prepares the doll";
        return Err(Error::Usage(reason.to_owned()).into());
    }
    let session = Session::<()>::new(settings)?;
    let publisher = session.node.publisher::<MechaState>("mecha_state", Qos::default())?;
    let mut app = App::default();
    session.find(&mut app, options.wait.find(), || publisher.matched() > 0)?;
    session.event_loop.settle(&mut app, publisher.raw())?;
    let reached = run_phase(&session, &mut app, &publisher, code, options)?;
    Ok(if reached { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// How a phase ended for one mechanism.
#[derive(Clone, Debug)]
enum Ended {
    Reached { already: bool, seconds: f64 },
    Not { outcome: String, reason: String },
}

/// A controller that has said nothing for this long will not say how it ended.
const SILENCE: Duration = Duration::from_secs(5);
/// A phase that was published has begun within this time, or something else has taken its place.
const BEGINS: Duration = Duration::from_millis(300);

/// Publishes the phase and follows it to its end; `false` when a mechanism did not get there.
fn run_phase<T>(
    session: &Session<T>,
    app: &mut App<T>,
    publisher: &Publisher<MechaState>,
    code: u8,
    options: &Phase,
) -> anyhow::Result<bool> {
    let mechanisms = if code == 0 { Mechanisms::Hina } else { options.mechanism };
    let wanted: Vec<_> = BOTH.into_iter().filter(|which| mechanisms.includes(*which)).collect();
    let before = app.seen.clone().unwrap_or_default();
    let phase = phase_name(code);
    let json = options.wait.json;
    let not = |outcome: &str, reason: &str| {
        Some(Ended::Not { outcome: outcome.to_owned(), reason: reason.to_owned() })
    };
    let mut ended = [const { None }; 2];
    if code == 0 && before.profile.parse().is_ok_and(Profile::zero_is_no_phase) {
        let reason =
            "in the profile nucleo phase 0 means no command; use `mechanism-controller goal hina READY`";
        ended[Which::Doll as usize] = not("refused", reason);
        return Ok(tell_ends(&wanted, &phase, ended, json));
    }
    let message = state(code, mechanisms, &before);
    app.restarted = false;
    publisher.publish(&message);
    let began = monotonic();
    // What was stopped or pre-empted a moment ago is not restarted by a mere repeat: ask again after the pause that makes
    // it a new wish.
    let gap = Duration::from_secs_f64(Params::defaults(Profile::Document).command_gap + 0.1);
    let mut ask_again = Some(began + gap);
    let mut shown = [const { String::new() }; 2];
    // The run that this command is about.
    let mut run: [Option<u64>; 2] = [None; 2];
    // Silence is no event.
    let tick = session.event_loop.timer(Duration::from_millis(500), |_| {});
    let done = session.event_loop.run_until(app, options.wait.timeout(), |app| {
        let Some(seen) = &app.seen else { return false };
        if app.restarted || app.silence() > SILENCE {
            return true;
        }
        if seen.messages == before.messages {
            return false;
        }
        for which in &wanted {
            let (index, part, runs_before) = (*which as usize, seen.part(*which), before.part(*which).runs);
            if ended[index].is_some() {
                continue;
            }
            let ours = part.sequence == phase;
            if ours && part.runs > runs_before {
                run[index] = Some(part.runs);
            }
            if !ours && part.runs > run[index].unwrap_or(runs_before) {
                // What another client asked for just before this command is not what took its place.
                if run[index].is_some() || monotonic() - began > BEGINS {
                    ended[index] = not("pre-empted", &format!("{} was asked for", part.sequence));
                }
                continue;
            }
            let line = format!("{}: {} {} {}", which.name(), part.sequence, part.step, part.what);
            if part.running && line != shown[index] && !json {
                println!("{line}, waits for {}", part.waiting_for);
                shown[index] = line;
            }
            if !part.running && part.reached == Some(code) {
                let seconds = (monotonic() - began).as_secs_f64();
                ended[index] = Some(Ended::Reached { already: run[index].is_none(), seconds });
            } else if !part.running && run[index].is_some() {
                ended[index] = not(&part.outcome, &part.reason);
            }
        }
        let open = |which: &&Which| ended[**which as usize].is_none();
        if wanted.iter().filter(open).any(|which| !seen.part(*which).running)
            && ask_again.is_some_and(|at| monotonic() >= at)
        {
            ask_again = None;
            publisher.publish(&message);
        }
        wanted.iter().filter(open).count() == 0
    });
    tick.cancel();
    let done = done?;
    let restarted = "the controller was restarted, or there are two: ask again";
    let silent = format!("the controller has said nothing for {} s", SILENCE.as_secs());
    let seen = app.seen.clone().unwrap_or_default();
    for which in &wanted {
        let says = format!("the controller says: {}", seen.part(*which).message);
        let (outcome, reason) = match done {
            true if app.restarted => ("no outcome", restarted),
            true => ("no outcome", silent.as_str()),
            false => ("no outcome in time", says.as_str()),
        };
        let end = &mut ended[*which as usize];
        *end = end.take().or_else(|| not(outcome, reason));
    }
    Ok(tell_ends(&wanted, &phase, ended, json))
}

/// Prints how it ended; whether all got there.
fn tell_ends(wanted: &[Which], phase: &str, ended: [Option<Ended>; 2], json: bool) -> bool {
    let mut outcomes = serde_json::Map::new();
    let mut all_reached = true;
    for which in wanted {
        let name = which.name();
        let (line, value) = match &ended[*which as usize] {
            Some(Ended::Reached { already, seconds }) => (
                if *already {
                    format!("{name}: {phase}: already there")
                } else {
                    format!("{name}: {phase} done in {seconds:.1} s")
                },
                json!({ "phase": phase, "reached": true, "already": already, "outcome": "done", "reason": "" }),
            ),
            Some(Ended::Not { outcome, reason }) => {
                all_reached = false;
                (
                    format!("{name}: {phase} {outcome}: {reason}"),
                    json!({ "phase": phase, "reached": false, "already": false, "outcome": outcome, "reason": reason }),
                )
            }
            None => continue,
        };
        outcomes.insert(name.to_owned(), value);
        if !json {
            println!("{line}");
        }
    }
    if json {
        println!("{}", serde_json::Value::Object(outcomes));
    }
    all_reached
}

pub(crate) fn bonbori(settings: Settings, on: bool, wait: Wait) -> anyhow::Result<ExitCode> {
    let session = Session::<Option<Result<_, CallError>>>::new(settings)?;
    let client = session.event_loop.client::<SetBool>(&session.node, "set_bonbori")?;
    let mut app = App::default();
    session.find(&mut app, wait.find(), || client.is_ready())?;
    client.call(&SetBoolRequest { data: on }, wait.timeout(), |app, answer| app.own = Some(answer));
    session
        .event_loop
        .run_until(&mut app, wait.timeout() + Duration::from_secs(1), |app| app.own.is_some())?;
    let response = app.own.context("the call was never answered")??;
    if wait.json {
        println!("{}", json!({ "success": response.success, "message": response.message }));
    } else {
        println!("{}", response.message);
    }
    Ok(if response.success { ExitCode::SUCCESS } else { ExitCode::FAILURE })
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
    fn feedback(&mut self, names: &[&str], code: u8, json: bool) {
        let name = name_of(names, code);
        if !json {
            println!("feedback: {name}");
        }
        self.updates.push(name);
    }

    fn failed(&mut self, reason: impl ToString) {
        self.end = Some(Err(reason.to_string()));
    }
}

/// A command by name or number; numbers nobody defined are passed on, because refusing them is the controller's task.
fn command_code(text: &str, names: &[&str]) -> anyhow::Result<u8> {
    let wanted = text.to_uppercase();
    if let Some(code) = names.iter().position(|name| *name == wanted) {
        return Ok(u8::try_from(code)?);
    }
    text.parse().map_err(|_| {
        let names = names.join(", ");
        Error::Usage(format!("unknown command {text:?}: use a number up to 255 or one of {names}")).into()
    })
}

pub(crate) fn goal(
    settings: Settings,
    mechanism: Mechanism,
    command: &str,
    wait: Wait,
) -> anyhow::Result<ExitCode> {
    let pedestal_names = pedestal::GOALS.map(|sequence| sequence.name);
    let doll_names = doll::GOALS.map(|sequence| sequence.name);
    let code = match mechanism {
        Mechanism::Daiza => command_code(command, &pedestal_names)?,
        Mechanism::Hina => command_code(command, &doll_names)?,
    };
    let session = Session::<GoalEnd>::new(settings)?;
    let mut app = App::default();
    let json = wait.json;
    let (before, cancel): (Seen, Box<dyn Fn()>) = match mechanism {
        Mechanism::Daiza => {
            let client = session.event_loop.action_client::<DaizaCmd>(&session.node, "daiza_cmd")?;
            let before = session.find(&mut app, wait.find(), || client.is_ready())?;
            let goal = DaizaCmdGoal { command: code };
            let id = client.send_goal(goal, wait.find(), wait.timeout(), move |app, update| match update {
                GoalUpdate::Feedback(f) => app.own.feedback(&DAIZA_FEEDBACK, f.feedback, json),
                GoalUpdate::Ended(state, result) => app.own.end = Some(Ok((state, result.result))),
                GoalUpdate::Rejected => app.own.failed("the goal was rejected"),
                GoalUpdate::Failed(error) => app.own.failed(error),
                GoalUpdate::Accepted(_) | GoalUpdate::Status(_) => {}
            });
            (before, Box::new(move || client.cancel(id, CANCELING, |_, _| {})))
        }
        Mechanism::Hina => {
            let client = session.event_loop.action_client::<HinaCmd>(&session.node, "hina_cmd")?;
            let before = session.find(&mut app, wait.find(), || client.is_ready())?;
            let goal = HinaCmdGoal { command: code };
            let id = client.send_goal(goal, wait.find(), wait.timeout(), move |app, update| match update {
                GoalUpdate::Feedback(f) => app.own.feedback(&HINA_FEEDBACK, f.feedback, json),
                GoalUpdate::Ended(state, result) => app.own.end = Some(Ok((state, result.result))),
                GoalUpdate::Rejected => app.own.failed("the goal was rejected"),
                GoalUpdate::Failed(error) => app.own.failed(error),
                GoalUpdate::Accepted(_) | GoalUpdate::Status(_) => {}
            });
            (before, Box::new(move || client.cancel(id, CANCELING, |_, _| {})))
        }
    };
    let patience = wait.find() + wait.timeout() + Duration::from_secs(1);
    let ended = session.event_loop.run_until(&mut app, patience, |app| app.own.end.is_some());
    let interrupted = matches!(ended, Err(Error::Interrupted));
    if interrupted {
        // Whoever leaves does not leave the mechanism moving.
        cancel();
        session.event_loop.run_until(&mut app, CANCELING, |app| app.own.end.is_some())?;
    } else {
        ended?;
    }
    match app.own.end.take().context("the goal was never answered")? {
        Ok((state, result)) => {
            let name = name_of(&RESULTS, result);
            let reason = if state == GoalState::Succeeded || interrupted {
                String::new()
            } else {
                reason_of(&session, &mut app, mechanism, code, &before)?
            };
            if json {
                println!(
                    "{}",
                    json!({ "status": state.to_string(), "result": name, "reason": reason, "feedback": app.own.updates })
                );
            } else {
                let why = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
                println!("{state}: {name}{why}");
            }
            Ok(match state {
                _ if interrupted => ExitCode::from(Error::Interrupted.exit_code()),
                GoalState::Succeeded => ExitCode::SUCCESS,
                _ => ExitCode::FAILURE,
            })
        }
        Err(reason) => bail!(reason),
    }
}

/// Why a goal did not succeed. The result is a number; the words for it are in the status, which may come a moment later.
fn reason_of(
    session: &Session<GoalEnd>,
    app: &mut App<GoalEnd>,
    mechanism: Mechanism,
    code: u8,
    before: &Seen,
) -> anyhow::Result<String> {
    let (which, name) = match mechanism {
        Mechanism::Daiza => (Which::Pedestal, pedestal::GOALS.get(usize::from(code)).map(|goal| goal.name)),
        Mechanism::Hina => (Which::Doll, doll::GOALS.get(usize::from(code)).map(|goal| goal.name)),
    };
    let Some(name) = name else { return Ok(format!("there is no command {code}")) };
    if which == Which::Doll
        && let Some(reason) = before.profile.parse().ok().and_then(|profile| doll::unsupported(code, profile))
    {
        return Ok(reason);
    }
    let mut reason = String::new();
    session.event_loop.run_until(app, Duration::from_millis(300), |app| {
        let Some(part) = app.seen.as_ref().map(|seen| seen.part(which)) else { return false };
        let ran = part.runs > before.part(which).runs;
        if ran && part.sequence != name {
            reason = format!("{} was asked for", part.sequence);
        } else if ran && !part.running {
            reason.clone_from(&part.reason);
        }
        !reason.is_empty()
    })?;
    Ok(reason)
}

pub(crate) fn stop(settings: Settings, wait: Wait) -> anyhow::Result<ExitCode> {
    let session = Session::<GoalEnd>::new(settings)?;
    let daiza = session.event_loop.action_client::<DaizaCmd>(&session.node, "daiza_cmd")?;
    let hina = session.event_loop.action_client::<HinaCmd>(&session.node, "hina_cmd")?;
    let mut app = App::default();
    session.find(&mut app, wait.find(), || daiza.is_ready() && hina.is_ready())?;
    let goal = DaizaCmdGoal { command: DaizaCmdGoal::STOP };
    daiza.send_goal(goal, wait.find(), wait.timeout(), |app, update| match update {
        GoalUpdate::Ended(..) => app.own.updates.push("daiza".to_owned()),
        GoalUpdate::Failed(error) => app.own.failed(error),
        _ => {}
    });
    let goal = HinaCmdGoal { command: HinaCmdGoal::STOP };
    hina.send_goal(goal, wait.find(), wait.timeout(), |app, update| match update {
        GoalUpdate::Ended(..) => app.own.updates.push("hina".to_owned()),
        GoalUpdate::Failed(error) => app.own.failed(error),
        _ => {}
    });
    let patience = wait.find() + wait.timeout();
    session
        .event_loop
        .run_until(&mut app, patience, |app| app.own.updates.len() == 2 || app.own.end.is_some())?;
    if let Some(Err(reason)) = app.own.end {
        bail!(reason);
    }
    anyhow::ensure!(app.own.updates.len() == 2, "only these have confirmed the stop: {:?}", app.own.updates);
    println!("{}", if wait.json { json!({ "stopped": true }).to_string() } else { "stopped".to_owned() });
    Ok(ExitCode::SUCCESS)
}

const KEYS: &str = "\
q deploy daiza    w collect daiza   e place daiza   r stow daiza
a deploy hina     s collect hina    d place hina    f stow hina    p prepare hina
b bonbori on/off  x end             ? this help        (a letter, then Enter)";

const FOREVER: Duration = Duration::from_secs(u32::MAX as u64);

/// What was typed and not obeyed yet.
#[derive(Debug, Default)]
struct Typed {
    keys: VecDeque<u8>,
    ended: bool,
}

/// Standard input on the event loop. A thread reads it, because a file cannot be polled.
fn listen_to_keys(event_loop: &EventLoop<App<Typed>>) -> anyhow::Result<()> {
    let (typed, mut writer) = UnixStream::pair()?;
    typed.set_nonblocking(true)?;
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
pub(crate) fn keys(settings: Settings, wait: Wait) -> anyhow::Result<ExitCode> {
    let session = Session::<Typed>::new(settings)?;
    let publisher = session.node.publisher::<MechaState>("mecha_state", Qos::default())?;
    let mut app = App::default();
    session.find(&mut app, wait.find(), || publisher.matched() > 0)?;
    session.event_loop.settle(&mut app, publisher.raw())?;
    listen_to_keys(&session.event_loop)?;
    println!("{KEYS}");
    loop {
        session.event_loop.run_until(&mut app, FOREVER, |app| app.own.ended || !app.own.keys.is_empty())?;
        let Some(key) = app.own.keys.pop_front() else { return Ok(ExitCode::SUCCESS) };
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
                let seen = app.seen.clone().unwrap_or_default();
                let (light, flag) = (seen.light == "on", seen.flag);
                let switch = |bonbori_state| {
                    publisher.publish(&MechaState {
                        daiza_state: LEAVE_ALONE,
                        hina_state: LEAVE_ALONE,
                        bonbori_state,
                    })
                };
                // Only a change of the flag switches at once.
                if flag != light {
                    switch(light);
                }
                switch(!light);
                // The next key may ask for the light again.
                let wanted = if light { "off" } else { "on" };
                session.event_loop.run_until(&mut app, wait.find(), |app| {
                    app.seen.as_ref().is_some_and(|seen| seen.light == wanted)
                })?;
                println!("bonbori: {wanted}");
                continue;
            }
            b'x' => return Ok(ExitCode::SUCCESS),
            b'\n' | b'\r' | b' ' => continue,
            _ => {
                println!("{KEYS}");
                continue;
            }
        };
        run_phase(&session, &mut app, &publisher, code, &Phase { mechanism, wait })?;
    }
}
