//! Commands that ask for a phase and follow it to its end.

use std::time::Duration;

use rosless_cli::{Failure, Result, err, exit, out, output};
use rosless_graph::{Publisher, config::Settings, monotonic};
use rosless_mechanism::{
    engine::Which,
    following::{BOTH, End, Following, Progress, SILENCE},
    status::{NODE, phase_name},
};
use rosless_wire::{
    mecha_control::msg::MechaState,
    std_srvs::srv::{Trigger, TriggerRequest},
};
use serde_json::json;

use crate::{
    Mechanisms, Phase,
    brake::{Brake, STOPPING},
    session::{Session, find, open},
};

/// A message that was sent has been heard within this time, or nobody listens.
const HEARD: Duration = Duration::from_millis(500);

pub(crate) fn run(settings: &Settings, code: u8, options: &Phase) -> Result<()> {
    if code == 0 && options.mechanism == Mechanisms::Daiza {
        return Err(Failure::usage("the pedestal has nothing to prepare; `prepare hina` prepares the doll"));
    }
    let session = open::<()>(settings)?;
    let publisher = session.node.publisher::<MechaState>("mecha_state")?;
    let brake = Brake::new(&session)?;
    find(&session, options.wait.find, || publisher.matched() > 0 && brake.is_ready())?;
    session.settle(publisher.raw())?;
    let wanted: Vec<_> = BOTH.into_iter().filter(|which| options.mechanism.includes(*which)).collect();
    if options.again {
        for which in &wanted {
            let service = format!("{NODE}/forget_{}", which.name());
            session.call::<Trigger>(&service, &TriggerRequest {}, options.wait.find)?;
        }
    }
    follow(&session, &publisher, &brake, (code, &wanted), options)
}

/// Publishes the phase and follows it to its end. Whoever leaves before stops what it has started.
fn follow(
    session: &Session<()>,
    publisher: &Publisher<MechaState>,
    brake: &Brake<()>,
    (code, wanted): (u8, &[Which]),
    options: &Phase,
) -> Result<()> {
    let before = session.with(|app| app.seen.clone()).unwrap_or_default();
    let mut following = Following::new(code, wanted, &before, monotonic());
    if !following.is_over() {
        session.with(|app| app.restarted = false);
        publisher.publish(&following.message());
    }
    let waited = session.wait(options.wait.timeout, |app| {
        let Some(seen) = &app.seen else { return false };
        if following.is_over() || app.restarted || app.silence() > SILENCE {
            return true;
        }
        following.look(seen, monotonic()).iter().for_each(|step| tell_step(code, step));
        if following.asks_again(seen, monotonic()) {
            publisher.publish(&following.message());
        }
        following.is_over()
    });
    let (done, interrupted) = match waited {
        Err(failure) if failure.is_interruption() => (false, true),
        waited => (waited?, false),
    };
    let mut stopped = Vec::new();
    let mut goes_on = Vec::new();
    if !done {
        // What was sent a moment ago may begin only now.
        let heard = |app: &mut crate::session::App<()>| {
            app.seen.as_ref().is_some_and(|seen| seen.messages > before.messages)
        };
        let _ = session.wait(HEARD, heard);
        let under_way = session.with(|app| app.seen.as_ref().map(|seen| following.under_way(seen)));
        match options.keep_going {
            true => goes_on = under_way.unwrap_or_default(),
            false => stopped = brake.stop(session, &under_way.unwrap_or_default(), STOPPING, STOPPING)?,
        }
    }
    let (seen, restarted) = session.with(|app| (app.seen.clone().unwrap_or_default(), app.restarted));
    let leaving = match interrupted {
        true => "the command was interrupted".to_owned(),
        false => format!("no outcome within {} s", options.wait.timeout.as_secs_f64()),
    };
    let ends = following.ends(|which| match stopped.iter().find(|stopped| stopped.which == which) {
        Some(stopped) if stopped.confirmed => {
            let what = stopped.goes_on.as_ref().map(|what| format!("; {what}")).unwrap_or_default();
            ("stopped", format!("{leaving}{what}"))
        }
        Some(stopped) => ("no outcome in time", format!("{leaving}; {}", stopped.text())),
        None if goes_on.contains(&which) => ("goes on", leaving.clone()),
        None if done && restarted => {
            ("no outcome", "the controller was restarted, or there are two: ask again".to_owned())
        }
        None if done => {
            ("no outcome", format!("the controller has said nothing for {} s", SILENCE.as_secs()))
        }
        None => ("no outcome in time", format!("the controller says: {}", seen.part(which).summary().1)),
    });
    tell_ends(&ends, &phase_name(code));
    match ends.iter().all(|(_, end)| end.is_reached()) {
        true => Ok(()),
        false if interrupted => Err(Failure { code: exit::INTERRUPTED, ..Failure::told() }),
        false => Err(Failure::told()),
    }
}

/// Prints a step that has begun.
pub(crate) fn tell_step(code: u8, Progress { which, step, waiting_for }: &Progress) {
    if !output::is_json() {
        let (name, phase) = (which.name(), phase_name(code));
        out!("{name}: {phase} {}/{} {}, waits for {waiting_for}", step.number, step.of, step.what);
    }
}

/// Prints how it ended.
pub(crate) fn tell_ends(ends: &[(Which, End)], phase: &str) {
    let mut outcomes = serde_json::Map::new();
    for (which, end) in ends {
        let name = which.name();
        let (line, value) = match end {
            End::Reached { already, took } => {
                let seconds = took.as_secs_f64();
                let line = match already {
                    true => format!("{name}: {phase}: already there; --again runs it again"),
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
