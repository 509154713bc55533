//! What people and scripts read. Everything is shown in the form in which a running controller says it, whether one was
//! asked or not.

use rosless_cli::{err, out, table::columns};
use rosless_graph::monotonic;
use rosless_protocol::{
    clock::{Band, Offset},
    controller::{Failure, Membership, NoState, Outcome, Report, System},
    message::{Command, State, status_word},
    name::SystemId,
};
use rosless_wire::{
    builtin_interfaces::msg::Time,
    rosless_msgs::{
        msg::{SystemResult, SystemStatus},
        srv::SessionCommandResponse,
    },
};
use serde_json::{Value, json};

use crate::speech::Speech;

/// One system as a running controller tells of it.
pub(crate) fn system_status(id: &SystemId, system: &System) -> SystemStatus {
    let state = system.state.and_then(Result::ok);
    let clock = system.clock_at(monotonic());
    let since = match system.membership() {
        Membership::In(taking) => taking.since.to_stamp(),
        _ => (0, 0),
    };
    SystemStatus {
        name: id.as_str().to_owned(),
        dialects: system.dialects().map(|dialect| dialect.to_string()).collect(),
        state: state.map_or(0, State::id),
        status: state.map_or("ERROR", status_word).to_owned(),
        present: system.present(),
        announced: system.announced(),
        reachable: system.reachable(),
        ambiguous: system.ambiguous(),
        unresponsive: system.unresponsive() || system.state == Some(Err(NoState::NoAnswer)),
        session: system.session().unwrap_or_default().to_owned(),
        since: Time { sec: since.0, nanosec: since.1 },
        topics: system.topics.clone(),
        ros_version: if system.ros_version == 1 { 1 } else { 2 },
        clock_offset: seconds(clock.offset.map(|o| o.nanos)),
        clock_uncertainty: seconds(clock.offset.map(|o| o.uncertainty)),
        clock_at_least: seconds(clock.at_least),
        simulated_time: clock.simulated,
        stamps_apart: seconds(clock.apart.map(|o| o.nanos)),
        last_answer: system.last_answer.map_or("", |a| a.command.verb()).to_owned(),
        last_elapsed: seconds(system.last_answer.and_then(|a| a.elapsed)),
    }
}

/// NaN where there is nothing.
fn seconds(nanos: Option<i64>) -> f64 {
    nanos.map_or(f64::NAN, |nanos| nanos as f64 / 1e9)
}

/// A report as a running controller gives it.
pub(crate) fn response(report: &Report, speech: Speech) -> SessionCommandResponse {
    let systems: Vec<_> = report
        .results
        .iter()
        .map(|(id, result)| {
            let (outcome, explanation) = match &result.outcome {
                Outcome::Done(proof) => ("done", proof.to_string()),
                Outcome::Already(state) => {
                    ("already", already(report.command, *state, result.session.as_deref()))
                }
                // Whoever asked sees which of the two sessions is whose.
                Outcome::Failed(failure @ Failure::OtherSession(running)) => {
                    let explanation = format!(
                        "it is in session {running:?}, not in {:?}: stop it first, or start it anew with --restart; \
                         nobody was started",
                        report.session
                    );
                    (failure.word(), explanation)
                }
                Outcome::Failed(failure) => {
                    let speech = result.dialect.map_or(speech, Speech::One);
                    let topics = (speech.environment_topics(), speech.control_topics());
                    (failure.word(), failure.explain(id, report.command, &topics.0, &topics.1))
                }
            };
            let clock = result.clock;
            SystemResult {
                name: id.to_string(),
                success: result.outcome.is_success(),
                outcome: outcome.to_owned(),
                explanation,
                reason: result.reason.as_ref().map(ToString::to_string).unwrap_or_default(),
                session: result.session.clone().unwrap_or_default(),
                attempts: result.attempts,
                answered_after: result.answered_after.map_or(f64::NAN, |d| d.as_secs_f64()),
                elapsed: seconds(result.elapsed),
                clock_offset: seconds(clock.offset.map(|o| o.nanos)),
                clock_uncertainty: seconds(clock.offset.map(|o| o.uncertainty)),
                simulated_time: clock.simulated,
                stamps_apart: seconds(clock.apart.map(|o| o.nanos)),
                armed: result.armed,
                duplicates: result.duplicates,
            }
        })
        .collect();
    SessionCommandResponse {
        success: report.is_success(),
        message: summary(report.command, &systems, report.took.as_secs_f64(), speech),
        session: report.session.clone(),
        messages: report.messages,
        took: report.took.as_secs_f64(),
        last_answer_after: report.last_answer_after.map_or(f64::NAN, |d| d.as_secs_f64()),
        spread: seconds(report.spread.map(|o| o.nanos)),
        spread_uncertainty: seconds(report.spread.map(|o| o.uncertainty)),
        systems,
    }
}

/// One line: who did it, who was there before, who failed and why.
fn summary(command: Command, systems: &[SystemResult], took: f64, speech: Speech) -> String {
    let (verb, done) = words(command);
    let failures: Vec<_> =
        systems.iter().filter(|s| !s.success).map(|s| result_line(s, command, speech)).collect();
    let count = |outcome: &str| systems.iter().filter(|s| s.outcome == outcome).count();
    match (count("done"), count("already")) {
        _ if systems.is_empty() => format!("nobody to {verb}"),
        _ if !failures.is_empty() => failures.join("; "),
        (started, 0) => format!("{started} {done} in {:.1} ms", took * 1e3),
        (0, before) => format!("nothing to {verb}: all {before} were {done} before"),
        (started, before) => format!("{started} {done}, {before} were before, in {:.1} ms", took * 1e3),
    }
}

fn words(command: Command) -> (&'static str, &'static str) {
    match command {
        Command::Start => ("start", "started"),
        Command::Stop => ("stop", "stopped"),
    }
}

fn already(command: Command, state: State, session: Option<&str>) -> String {
    match (command, state, session) {
        (Command::Start, _, Some(session)) => format!("already started: it is active in session {session:?}"),
        (Command::Start, _, None) => {
            "already started: it is active, in a session that is not known".to_owned()
        }
        (Command::Stop, State::Inactive, _) => "already inactive".to_owned(),
        (Command::Stop, state, _) => format!("not active ({})", state.label()),
    }
}

fn offset(offset: f64, uncertainty: f64) -> Option<Offset> {
    let nanos = |seconds: f64| (seconds * 1e9).round() as i64;
    offset.is_finite().then(|| Offset { nanos: nanos(offset), uncertainty: nanos(uncertainty) })
}

/// In which band a clock is, for people: only where the whole interval is in it.
fn band_text(offset: Offset) -> &'static str {
    offset.certain_band().map_or("cannot tell", Band::word)
}

/// All that is to be said of a system's clock.
fn clock_text(system: &SystemStatus) -> String {
    let offset = offset(system.clock_offset, system.clock_uncertainty);
    let offset = offset.map(|offset| format!("{offset} {}", band_text(offset)));
    let at_least =
        || system.clock_at_least.is_finite().then(|| format!("≥ {:+.3} ms", system.clock_at_least * 1e3));
    let figure = offset.or_else(at_least).unwrap_or_else(|| "-".to_owned());
    match (system.simulated_time, apart_text(system.stamps_apart)) {
        (true, _) => format!("simulated time; machine {figure}"),
        (false, Some(apart)) => format!("{figure}; {apart}"),
        (false, None) => figure,
    }
}

fn apart_text(apart: f64) -> Option<String> {
    apart.is_finite().then(|| format!("stamps {:+.3} ms from its machine's clock", apart * 1e3))
}

/// One line per system in the words of the original command line, with the reason behind them.
pub(crate) fn result_line(system: &SystemResult, command: Command, speech: Speech) -> String {
    let (verb, done) = words(command);
    let SystemResult { name, explanation, .. } = system;
    let mut line = match (&*system.outcome, system.success) {
        ("already", _) => format!("{name} {explanation}"),
        (_, true) => {
            let mut line = format!("{name} {done}: {explanation}");
            if system.answered_after.is_finite() {
                line += &format!(" after {:.1} ms", system.answered_after * 1e3);
            }
            if let Some(offset) = offset(system.clock_offset, system.clock_uncertainty) {
                line += &format!(", clock offset {offset}");
            }
            if system.simulated_time {
                line += ", of its machine: it is on simulated time";
            }
            if let Some(apart) = apart_text(system.stamps_apart) {
                line += &format!(", {apart}");
            }
            line
        }
        ("unknown", _) => format!("{name} not in detected {}: {explanation}", speech.title()),
        ("wrong_state", _) => format!("Unable to {verb} {name}: {explanation}"),
        _ => format!(
            "Error {}ing {name}: {explanation}",
            if command == Command::Start { "start" } else { "stopp" }
        ),
    };
    if !system.reason.is_empty() {
        line += &format!(": {}", system.reason);
    }
    line
}

/// A running controller did not do what it was asked, and its message says why: then nothing was measured, while a report
/// has NaN where there was nothing to measure.
pub(crate) fn is_refusal(response: &SessionCommandResponse) -> bool {
    response.systems.is_empty() && !response.success && !response.last_answer_after.is_nan()
}

/// Successes on stdout, failures on stderr.
pub(crate) fn print_response(response: &SessionCommandResponse, command: Command, speech: Speech) {
    for system in &response.systems {
        let line = result_line(system, command, speech);
        if system.success {
            out!("{line}");
        } else {
            err!("{line}");
        }
    }
    if is_refusal(response) {
        err!("{}", response.message);
    } else if response.systems.is_empty() {
        err!("nobody to {}: no system announced itself on {}", command.verb(), speech.environment_topics());
    }
}

fn finite(value: f64, scale: f64) -> Value {
    if value.is_finite() { json!(value * scale) } else { Value::Null }
}

fn text(value: &str) -> Value {
    if value.is_empty() { Value::Null } else { json!(value) }
}

pub(crate) fn response_json(response: &SessionCommandResponse, command: Command) -> Value {
    let systems: Vec<_> = response
        .systems
        .iter()
        .map(|system| {
            json!({
                "name": system.name,
                "success": system.success,
                "outcome": system.outcome,
                "explanation": system.explanation,
                "reason": text(&system.reason),
                "session": text(&system.session),
                "attempts": system.attempts,
                "answered_after_ms": finite(system.answered_after, 1e3),
                "elapsed_s": finite(system.elapsed, 1.0),
                "clock_offset_ms": finite(system.clock_offset, 1e3),
                "clock_uncertainty_ms": finite(system.clock_uncertainty, 1e3),
                "simulated_time": system.simulated_time,
                "stamps_apart_ms": finite(system.stamps_apart, 1e3),
                "duplicates": system.duplicates,
            })
        })
        .collect();
    json!({
        "command": command.verb(),
        "session": response.session,
        "success": response.success,
        "messages": response.messages,
        "took_ms": response.took * 1e3,
        "last_answer_after_ms": finite(response.last_answer_after, 1e3),
        "systems": systems,
    })
}

fn state_label(system: &SystemStatus) -> &'static str {
    match State::from(system.state) {
        _ if !system.present => "gone",
        _ if system.unresponsive => "no answer",
        State::Unknown => "asking",
        state => state.label(),
    }
}

pub(crate) fn short(name: &str) -> &str {
    if name.rfind('/') == Some(0) { &name[1..] } else { name }
}

/// The original command line's lines: name, tab, status word.
pub(crate) fn status_lines(systems: &[SystemStatus]) -> String {
    systems.iter().map(|system| format!("{}\t{}\n", short(&system.name), system.status)).collect()
}

/// For people who want to know the state now.
pub(crate) fn table(systems: &[SystemStatus], now: f64) -> String {
    let rows = systems.iter().map(|system| {
        vec![
            short(&system.name).to_owned(),
            system.status.clone(),
            state_label(system).to_owned(),
            session(system, now),
            system.dialects.join(","),
            clock_text(system),
            system.topics.join(" "),
        ]
    });
    columns(&["SYSTEM", "STATUS", "STATE", "SESSION", "DIALECT", "CLOCK", "TOPICS"], rows)
}

/// The session and for how long.
fn session(system: &SystemStatus, now: f64) -> String {
    let since = f64::from(system.since.sec) + f64::from(system.since.nanosec) / 1e9;
    match &*system.session {
        "" => "-".to_owned(),
        name if since > 0.0 && now >= since => format!("{name} {:.0} s", now - since),
        name => name.to_owned(),
    }
}

/// The latest acknowledgement and how old its stamp was when it came.
fn answer_text(system: &SystemStatus) -> String {
    match &*system.last_answer {
        "" => "-".to_owned(),
        answer if system.last_elapsed.is_finite() => format!("{answer} {:+.1} ms", system.last_elapsed * 1e3),
        answer => answer.to_owned(),
    }
}

/// For people who want to see it change: what a system's data and the history of its clock look like is known there.
pub(crate) fn watch_table<'a>(
    systems: impl Iterator<Item = (&'a SystemStatus, String, String)>,
    now: f64,
) -> String {
    let rows = systems.map(|(system, data, history)| {
        let (name, state) = (short(&system.name).to_owned(), state_label(system).to_owned());
        vec![name, state, session(system, now), answer_text(system), clock_text(system), history, data]
    });
    columns(&["SYSTEM", "STATE", "SESSION", "ELAPSED", "CLOCK", "", "DATA"], rows)
}

pub(crate) fn systems_json(systems: &[SystemStatus], speech: Speech) -> Value {
    let systems: Vec<_> = systems
        .iter()
        .map(|system| {
            json!({
                "name": short(&system.name),
                "node": system.name,
                "dialects": system.dialects,
                "status": system.status,
                "state": state_label(system),
                "present": system.present,
                "announced": system.announced,
                "reachable": system.reachable,
                "ambiguous": system.ambiguous,
                "unresponsive": system.unresponsive,
                "session": text(&system.session),
                "topics": system.topics,
                "ros_version": system.ros_version,
                "clock_offset_ms": finite(system.clock_offset, 1e3),
                "clock_uncertainty_ms": finite(system.clock_uncertainty, 1e3),
                "clock_band": offset(system.clock_offset, system.clock_uncertainty).and_then(Offset::certain_band).map(Band::word),
                "clock_at_least_ms": finite(system.clock_at_least, 1e3),
                "simulated_time": system.simulated_time,
                "stamps_apart_ms": finite(system.stamps_apart, 1e3),
                "last_answer": text(&system.last_answer),
                "last_elapsed_s": finite(system.last_elapsed, 1.0),
            })
        })
        .collect();
    json!({ "dialect": speech.to_string(), "systems": systems })
}

/// What came of a start at one instant.
pub(crate) struct Scheduled<'a> {
    armed: Vec<&'a str>,
    not_armed: Vec<&'a str>,
    spread: Option<Offset>,
}

impl<'a> Scheduled<'a> {
    pub(crate) fn of(response: &'a SessionCommandResponse) -> Self {
        // Who was not asked at all was not told at the instant either.
        let asked = response.systems.iter().filter(|system| system.armed || system.attempts > 0);
        let (armed, not_armed): (Vec<_>, Vec<_>) = asked.partition(|system| system.armed);
        let names = |systems: Vec<&'a SystemResult>| systems.iter().map(|system| &*system.name).collect();
        let spread = offset(response.spread, response.spread_uncertainty);
        Self { armed: names(armed), not_armed: names(not_armed), spread }
    }

    pub(crate) fn json(&self) -> Value {
        let ms = |nanos: i64| nanos as f64 / 1e6;
        json!({
            "armed": self.armed,
            "not_armed": self.not_armed,
            "spread_ms": self.spread.map(|spread| ms(spread.nanos)),
            "spread_uncertainty_ms": self.spread.map(|spread| ms(spread.uncertainty)),
        })
    }

    pub(crate) fn print(&self) {
        for (names, how) in [(&self.armed, "armed"), (&self.not_armed, "not armed, told at the instant")] {
            if !names.is_empty() {
                out!("{how}: {}", names.join(" "));
            }
        }
        if let Some(spread) = self.spread {
            let ms = |nanos: i64| nanos as f64 / 1e6;
            out!("activations {:.3} ms apart, \u{b1} {:.3} ms", ms(spread.nanos), ms(spread.uncertainty));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_does_not_reach_the_terminal_as_it_is() {
        let system = SystemStatus {
            name: "/cam".into(),
            session: "\x1b[2J".into(),
            topics: vec!["\x1b]0;owned\x07".into(), "two\nlines".into(), "größe".into()],
            ..SystemStatus::default()
        };
        let watched = (&system, system.topics.join(" "), String::new());
        for table in [table(std::slice::from_ref(&system), 0.0), watch_table([watched].into_iter(), 0.0)] {
            assert_eq!(table.lines().count(), 2, "{table:?}");
            assert!(!table.contains(['\x1b', '\x07']), "{table:?}");
            assert!(table.contains(r"\u{1b}]0;owned\u{7} two\nlines größe"), "{table}");
        }
    }

    #[test]
    fn a_clock_is_told_with_what_is_certain_of_it() {
        let clock = |clock_offset, clock_uncertainty, clock_at_least, simulated_time, stamps_apart| {
            let status = SystemStatus {
                clock_offset,
                clock_uncertainty,
                clock_at_least,
                simulated_time,
                stamps_apart,
                ..SystemStatus::default()
            };
            clock_text(&status)
        };
        let none = f64::NAN;
        assert_eq!(clock(0.25, 0.2, none, false, none), "+250.000 ms ± 200.000 ms cannot tell");
        assert_eq!(clock(0.25, 0.01, none, false, none), "+250.000 ms ± 10.000 ms wrong");
        assert_eq!(clock(none, none, -0.0004, false, none), "≥ -0.400 ms");
        assert_eq!(clock(none, none, none, false, none), "-");
        assert_eq!(
            clock(0.0001, 0.0002, none, true, none),
            "simulated time; machine +0.100 ms ± 0.200 ms good"
        );
        assert_eq!(
            clock(-0.3, 0.001, none, false, -0.3),
            "-300.000 ms ± 1.000 ms wrong; stamps -300.000 ms from its machine's clock"
        );
    }

    #[test]
    fn a_summary_does_not_say_started_of_who_was_before() {
        let system = |outcome: &str, success| SystemResult {
            name: "a".into(),
            outcome: outcome.into(),
            success,
            explanation: "why".into(),
            reason: if success { String::new() } else { "'no such device' (its log, 12 ms before)".into() },
            ..SystemResult::default()
        };
        let say = |systems: &[SystemResult]| summary(Command::Start, systems, 0.01, Speech::Auto);
        assert_eq!(say(&[]), "nobody to start");
        assert_eq!(say(&[system("already", true)]), "nothing to start: all 1 were started before");
        assert_eq!(
            say(&[system("done", true), system("already", true)]),
            "1 started, 1 were before, in 10.0 ms"
        );
        let failed = say(&[system("done", true), system("transition_failed", false)]);
        assert_eq!(failed, "Error starting a: why: 'no such device' (its log, 12 ms before)");
    }
}
