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
    CallError, EventLoop, Publisher, Qos,
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
        // Unchanged, because a changed flag would switch the lantern.
        bonbori_state: seen.flag,
    }
}

pub(crate) fn phase(settings: Settings, code: u8, options: &Phase) -> anyhow::Result<ExitCode> {
    if code == 0 && options.mechanism == Mechanisms::Daiza {
        bail!("the pedestal has nothing to prepare; `prepare hina` prepares the doll");
    }
    let session = Session::<()>::new(settings)?;
    let publisher = session.node.publisher::<MechaState>("mecha_state", Qos::default())?;
    let mut app = App::default();
    session.find(&mut app, options.wait.find(), || publisher.matched() > 0)?;
    session.event_loop.settle(&mut app, publisher.raw())?;
    let reached = run_phase(&session, &mut app, &publisher, code, options)?;
    Ok(if reached { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

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
    let message = state(code, mechanisms, &before);
    publisher.publish(&message);
    let began = monotonic();
    // What was stopped or pre-empted a moment ago is not restarted by a mere repeat: ask again after the pause that makes
    // it a new wish.
    let gap = Duration::from_secs_f64(Params::defaults(Profile::Document).command_gap + 0.1);
    let mut ask_again = Some(began + gap);
    let mut shown = [const { String::new() }; 2];
    let mut seconds = [None; 2];
    let done = session.event_loop.run_until(app, options.wait.timeout(), |app| {
        let Some(seen) = &app.seen else { return false };
        if seen.messages == before.messages {
            return false;
        }
        for which in &wanted {
            let part = seen.part(*which);
            let line = format!("{}: {} {} {}", which.name(), part.sequence, part.step, part.what);
            let shown = &mut shown[*which as usize];
            if part.running && line != *shown && !options.wait.json {
                println!("{line}, waits for {}", part.waiting_for);
                *shown = line;
            }
        }
        let settled = |which: &Which| {
            let part = seen.part(*which);
            !part.running && (part.reached == Some(code) || part.runs > before.part(*which).runs)
        };
        for which in wanted.iter().filter(|which| settled(which)) {
            seconds[*which as usize].get_or_insert((monotonic() - began).as_secs_f64());
        }
        if wanted.iter().all(settled) {
            return true;
        }
        let ignored = wanted.iter().any(|w| !settled(w) && !seen.part(*w).running);
        if ignored && ask_again.is_some_and(|at| monotonic() >= at) {
            ask_again = None;
            publisher.publish(&message);
        }
        false
    })?;
    let seen = app.seen.clone().unwrap_or_default();
    let mut all_reached = true;
    let mut outcomes = serde_json::Map::new();
    for which in wanted {
        let (part, name) = (seen.part(which), which.name());
        let reached = done && part.reached == Some(code);
        all_reached &= reached;
        let phase = phase_name(code);
        let again = part.runs == before.part(which).runs;
        let outcome = match (reached, done) {
            (true, _) => "done",
            (false, true) => part.outcome.as_str(),
            (false, false) => "no outcome in time",
        };
        if options.wait.json {
            let reason = if reached { "" } else { part.reason.as_str() };
            outcomes.insert(
                name.to_owned(),
                json!({ "phase": phase, "reached": reached, "already": reached && again, "outcome": outcome, "reason": reason }),
            );
        } else if reached && again {
            println!("{name}: {phase}: already there");
        } else if reached {
            println!("{name}: {phase} done in {:.1} s", seconds[which as usize].unwrap_or_default());
        } else if done {
            println!("{name}: {phase} {outcome}: {}", part.reason);
        } else {
            println!("{name}: {phase}: {outcome}; the controller says: {}", part.message);
        }
    }
    if options.wait.json {
        println!("{}", serde_json::Value::Object(outcomes));
    }
    Ok(all_reached)
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
    text.parse()
        .with_context(|| format!("unknown command {text:?}: use a number or one of {}", names.join(", ")))
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
    let which = if mechanism == Mechanism::Daiza { Which::Pedestal } else { Which::Doll };
    let runs_before;
    match mechanism {
        Mechanism::Daiza => {
            let client = session.event_loop.action_client::<DaizaCmd>(&session.node, "daiza_cmd")?;
            runs_before = session.find(&mut app, wait.find(), || client.is_ready())?.part(which).runs;
            let goal = DaizaCmdGoal { command: code };
            client.send_goal(goal, wait.find(), wait.timeout(), move |app, update| match update {
                GoalUpdate::Feedback(f) => app.own.feedback(&DAIZA_FEEDBACK, f.feedback, json),
                GoalUpdate::Ended(state, result) => app.own.end = Some(Ok((state, result.result))),
                GoalUpdate::Rejected => app.own.failed("the goal was rejected"),
                GoalUpdate::Failed(error) => app.own.failed(error),
                GoalUpdate::Accepted(_) | GoalUpdate::Status(_) => {}
            });
        }
        Mechanism::Hina => {
            let client = session.event_loop.action_client::<HinaCmd>(&session.node, "hina_cmd")?;
            runs_before = session.find(&mut app, wait.find(), || client.is_ready())?.part(which).runs;
            let goal = HinaCmdGoal { command: code };
            client.send_goal(goal, wait.find(), wait.timeout(), move |app, update| match update {
                GoalUpdate::Feedback(f) => app.own.feedback(&HINA_FEEDBACK, f.feedback, json),
                GoalUpdate::Ended(state, result) => app.own.end = Some(Ok((state, result.result))),
                GoalUpdate::Rejected => app.own.failed("the goal was rejected"),
                GoalUpdate::Failed(error) => app.own.failed(error),
                GoalUpdate::Accepted(_) | GoalUpdate::Status(_) => {}
            });
        }
    }
    let patience = wait.find() + wait.timeout() + Duration::from_secs(1);
    session.event_loop.run_until(&mut app, patience, |app| app.own.end.is_some())?;
    match app.own.end.take().context("the goal was never answered")? {
        Ok((state, result)) => {
            let name = name_of(&RESULTS, result);
            // The result is a number; the words for it are in the status, which may come a moment later.
            let ran = |seen: &Seen| seen.part(which).runs > runs_before && !seen.part(which).running;
            let mut reason = String::new();
            if state != GoalState::Succeeded
                && session.event_loop.run_until(&mut app, Duration::from_millis(300), |app| {
                    app.seen.as_ref().is_some_and(ran)
                })?
                && let Some(seen) = &app.seen
            {
                reason.clone_from(&seen.part(which).reason);
            }
            if json {
                println!(
                    "{}",
                    json!({ "status": state.to_string(), "result": name, "reason": reason, "feedback": app.own.updates })
                );
            } else {
                let why = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
                println!("{state}: {name}{why}");
            }
            Ok(if state == GoalState::Succeeded { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Err(reason) => bail!(reason),
    }
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
b bonbori flag    x end             ? this help        (a letter, then Enter)";

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
                let flag = app.seen.as_ref().is_some_and(|seen| seen.flag);
                publisher.publish(&MechaState {
                    daiza_state: LEAVE_ALONE,
                    hina_state: LEAVE_ALONE,
                    bonbori_state: !flag,
                });
                // The next key may ask for the flag again.
                session.event_loop.run_until(&mut app, wait.find(), |app| {
                    app.seen.as_ref().is_some_and(|seen| seen.flag != flag)
                })?;
                println!("bonbori: {}", if flag { "off" } else { "on" });
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
