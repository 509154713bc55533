//! What the controller does, for people and for scripts.

use std::{
    fmt::Write as _,
    io::{self, ErrorKind, IsTerminal, Write as _},
    process::ExitCode,
    time::{Duration, SystemTime},
};

use rosless_graph::{Error, config::Settings};
use rosless_mechanism::engine::Which;
use serde_json::json;

use crate::{
    Wait,
    session::{App, Session},
    status::{Seen, SeenPart},
};

/// A controller tells its status five times per second.
const GONE: Duration = Duration::from_millis(1500);

/// Nobody reads any more.
#[derive(Debug, Default)]
struct Closed(bool);

pub(crate) fn run(settings: Settings, once: bool, wait: Wait) -> anyhow::Result<ExitCode> {
    let session = Session::<Closed>::new(settings)?;
    let mut app = App::default();
    let mut shown = session.find(&mut app, wait.find(), || true)?;
    let in_place = io::stdout().is_terminal() && !wait.json && !once;
    if once {
        show(&shown, wait.json, in_place)?;
        return Ok(ExitCode::SUCCESS);
    }
    if !io::stdout().is_terminal() {
        // A pipe tells when its reader has left; a file cannot be watched and has none.
        let _ = session.event_loop.watch(io::stdout(), |app: &mut App<Closed>, _| {
            app.own.0 = true;
            false
        });
    }
    let mut gone = false;
    let mut written = show(&shown, wait.json, in_place);
    loop {
        match written {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(ExitCode::SUCCESS),
            result => result?,
        }
        let changed = |app: &mut App<Closed>| {
            app.own.0 || app.seen.as_ref().is_some_and(|seen| *seen != shown) || gone && app.silence() < GONE
        };
        match session.event_loop.run_until(&mut app, Duration::from_millis(500), changed) {
            // Ctrl-C is how one stops watching.
            Err(Error::Interrupted) => return Ok(ExitCode::SUCCESS),
            result => result?,
        };
        if app.own.0 {
            return Ok(ExitCode::SUCCESS);
        }
        let silent = app.silence() >= GONE;
        written = match &app.seen {
            _ if silent && !gone => say_gone(wait.json),
            Some(seen) if !silent && (gone || *seen != shown) => {
                shown.clone_from(seen);
                show(&shown, wait.json, in_place)
            }
            _ => Ok(()),
        };
        gone = silent;
    }
}

fn say_gone(json: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if json {
        writeln!(out, "{}", json!({ "controller": "gone" }))?;
    } else {
        writeln!(out, "controller gone")?;
    }
    out.flush()
}

fn seconds_since(part: &SeenPart) -> Option<f64> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(now.saturating_sub(part.since?).as_secs_f64())
}

fn show(seen: &Seen, json: bool, in_place: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if json {
        writeln!(out, "{}", as_json(seen))?;
    } else {
        // Home and clear: the display stays in place like `top`.
        let home = if in_place { "\x1b[H\x1b[2J" } else { "" };
        write!(out, "{home}{}", as_text(seen))?;
    }
    out.flush()
}

fn as_json(seen: &Seen) -> serde_json::Value {
    let part = |which| {
        let part: &SeenPart = seen.part(which);
        json!({
            "running": part.running,
            "sequence": part.sequence,
            "step": part.step,
            "what": part.what,
            "waiting_for": part.waiting_for,
            "waiting_seconds": seconds_since(part),
            "reached": part.reached,
            "outcome": part.outcome,
            "reason": part.reason,
            "outputs": part.outputs,
            "sensed": part.sensed,
        })
    };
    json!({
        "profile": seen.profile,
        "daiza": part(Which::Pedestal),
        "hina": part(Which::Doll),
        "bonbori": seen.light,
    })
}

fn as_text(seen: &Seen) -> String {
    let mut text = String::new();
    for which in [Which::Pedestal, Which::Doll] {
        let part = seen.part(which);
        let waiting = seconds_since(part).map(|s| format!(" (for {s:.1} s)")).unwrap_or_default();
        let line = format!(
            "{:8} {}{waiting}\n         told   {}\n         senses {}",
            which.name(),
            part.message,
            if part.outputs.is_empty() { "nothing yet" } else { &part.outputs },
            if part.sensed.is_empty() { "nothing" } else { &part.sensed },
        );
        writeln!(text, "{line}").expect("a String takes all");
    }
    writeln!(text, "bonbori  {}", seen.light).expect("a String takes all");
    text
}
