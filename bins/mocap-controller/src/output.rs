//! What people and scripts read.

use std::collections::BTreeMap;

use rosless_cli::{
    err, out,
    table::{columns, rough},
};
use rosless_graph::monotonic;
use rosless_protocol::{
    Dialect,
    clock::Offset,
    controller::{Failure, NoState, Outcome, Report, System, SystemResult},
    message::{self, Command, State},
    name::SystemId,
};
use serde_json::{Value, json};

type Systems = BTreeMap<SystemId, System>;

/// The word `ros2 mocap4r2 status` has for it.
fn status_word(system: &System) -> &'static str {
    match system.state {
        Some(Ok(state)) => message::status_word(state),
        _ => "ERROR",
    }
}

fn state_label(system: &System) -> String {
    match system.state {
        _ if !system.present => "gone".to_owned(),
        Some(Ok(state)) => state.label().to_owned(),
        Some(Err(NoState::NoService)) => "no lifecycle service".to_owned(),
        Some(Err(NoState::NoAnswer)) => "no answer".to_owned(),
        None => "asking".to_owned(),
    }
}

/// The original command line's lines: name, tab, status word.
pub(crate) fn status_lines(systems: &Systems) -> String {
    systems.iter().map(|(id, system)| format!("{id}\t{}\n", status_word(system))).collect()
}

/// For people who want to know the state now.
pub(crate) fn table(systems: &Systems) -> String {
    let rows = systems.iter().map(|(id, system)| {
        vec![id.to_string(), status_word(system).to_owned(), state_label(system), system.topics.join(" ")]
    });
    columns(&["SYSTEM", "STATUS", "STATE", "TOPICS"], rows)
}

/// For people who want to see it change.
pub(crate) fn watch_table(systems: &Systems) -> String {
    let rows = systems.iter().map(|(id, system)| {
        let offset = system.offset().map_or_else(|| "-".to_owned(), |o| o.to_string());
        let answer = system.last_answer.map_or_else(
            || "-".to_owned(),
            |a| format!("{} {} ago", a.command.verb(), rough(monotonic().saturating_sub(a.at))),
        );
        vec![
            id.to_string(),
            state_label(system),
            system.session.clone().unwrap_or_else(|| "-".to_owned()),
            system.topics.join(" "),
            offset,
            answer,
        ]
    });
    columns(&["SYSTEM", "STATE", "SESSION", "TOPICS", "CLOCK OFFSET", "LAST ANSWER"], rows)
}

fn millis(nanos: i64) -> f64 {
    nanos as f64 / 1e6
}

fn offset_json(offset: Option<Offset>) -> (Value, Value) {
    match offset {
        Some(o) => (json!(millis(o.nanos)), json!(millis(o.uncertainty))),
        None => (Value::Null, Value::Null),
    }
}

pub(crate) fn systems_json(systems: &Systems, dialect: Dialect) -> Value {
    let systems: Vec<_> = systems
        .iter()
        .map(|(id, system)| {
            let (offset_ms, uncertainty_ms) = offset_json(system.offset());
            json!({
                "name": id.to_string(),
                "node": id.as_str(),
                "status": status_word(system),
                "state": state_label(system),
                "present": system.present,
                "reachable": system.reachable,
                "ambiguous": system.ambiguous,
                "session": system.session,
                "topics": system.topics,
                "ros_version": if system.ros_version == 1 { 1 } else { 2 },
                "clock_offset_ms": offset_ms,
                "clock_uncertainty_ms": uncertainty_ms,
                "last_answer": system.last_answer.map(|a| a.command.verb()),
            })
        })
        .collect();
    json!({ "dialect": dialect.to_string(), "systems": systems })
}

pub(crate) fn report_json(report: &Report, dialect: Dialect) -> Value {
    let systems: Vec<_> = report
        .results
        .iter()
        .map(|(id, result)| {
            let (offset_ms, uncertainty_ms) = offset_json(result.offset);
            let (outcome, explanation) = match result.outcome {
                Outcome::Done(proof) => ("done", proof.to_string()),
                Outcome::Already(state) => ("already", already(id, report.command, state)),
                Outcome::Failed(failure) => (failure.word(), failure.explain(id, report.command, dialect)),
            };
            json!({
                "name": id.to_string(),
                "success": result.outcome.is_success(),
                "outcome": outcome,
                "explanation": explanation,
                "attempts": result.attempts,
                "answered_after_ms": result.answered_after.map(|d| d.as_secs_f64() * 1e3),
                "elapsed_s": result.elapsed.map(|n| n as f64 / 1e9),
                "clock_offset_ms": offset_ms,
                "clock_uncertainty_ms": uncertainty_ms,
                "duplicates": result.duplicates,
            })
        })
        .collect();
    json!({
        "command": report.command.verb(),
        "session": report.session,
        "success": report.is_success(),
        "messages": report.messages,
        "took_ms": report.took.as_secs_f64() * 1e3,
        "last_answer_after_ms": report.last_answer_after.map(|d| d.as_secs_f64() * 1e3),
        "systems": systems,
    })
}

fn already(id: &SystemId, command: Command, state: State) -> String {
    match (command, state) {
        (Command::Start, _) => format!("{id} already started: it is active"),
        (Command::Stop, State::Inactive) => format!("{id} already inactive"),
        (Command::Stop, state) => format!("{id} not active ({})", state.label()),
    }
}

/// One line per system in the words of the original command line, with the reason behind them.
pub(crate) fn result_line(
    id: &SystemId,
    result: &SystemResult,
    command: Command,
    dialect: Dialect,
) -> String {
    let (done, doing, verb) = match command {
        Command::Start => ("started", "starting", "start"),
        Command::Stop => ("stopped", "stopping", "stop"),
    };
    match result.outcome {
        Outcome::Done(proof) => {
            let mut line = format!("{id} {done}: {proof}");
            if let Some(after) = result.answered_after {
                line += &format!(" after {:.1} ms", after.as_secs_f64() * 1e3);
            }
            if let Some(offset) = result.offset {
                line += &format!(", clock offset {offset}");
            }
            line
        }
        Outcome::Already(state) => already(id, command, state),
        Outcome::Failed(failure) => {
            let why = failure.explain(id, command, dialect);
            match failure {
                Failure::Unknown => format!("{id} not in detected {}: {why}", dialect.names().title),
                Failure::WrongState(_) => format!("Unable to {verb} {id}: {why}"),
                _ => format!("Error {doing} {id}: {why}"),
            }
        }
    }
}

/// Successes on stdout, failures on stderr.
pub(crate) fn print_report(report: &Report, dialect: Dialect) {
    for (id, result) in &report.results {
        let line = result_line(id, result, report.command, dialect);
        if result.outcome.is_success() {
            out!("{line}");
        } else {
            err!("{line}");
        }
    }
    if report.results.is_empty() {
        let (verb, topic) = (report.command.verb(), dialect.names().environment_topic);
        err!("nobody to {verb}: no system announced itself on {topic}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_does_not_reach_the_terminal_as_it_is() {
        let mut system = System::default();
        system.session = Some("\x1b[2J".into());
        system.topics = vec!["\x1b]0;owned\x07".into(), "two\nlines".into(), "größe".into()];
        let systems = Systems::from([(SystemId::resolve("/", "cam").unwrap(), system)]);
        for table in [table(&systems), watch_table(&systems)] {
            assert_eq!(table.lines().count(), 2, "{table:?}");
            assert!(!table.contains(['\x1b', '\x07']), "{table:?}");
            assert!(table.contains(r"\u{1b}]0;owned\u{7} two\nlines größe"), "{table}");
        }
    }
}
