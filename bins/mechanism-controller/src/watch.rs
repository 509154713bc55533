//! What the controller does, for people and for scripts.

use std::{
    fmt::Write as _,
    time::{Duration, SystemTime},
};

use rosless_cli::{Result, out, output, table::Live};
use rosless_graph::config::Settings;
use rosless_mechanism::{
    following::BOTH,
    status::{Part, Status},
};
use serde_json::{Value, json};

use crate::{
    Wait,
    session::{find, open},
};

/// A controller tells its status five times per second.
const GONE: Duration = Duration::from_millis(1500);

pub(crate) fn run(settings: &Settings, once: bool, wait: Wait) -> Result<()> {
    let session = open::<()>(settings)?;
    let first = find(&session, wait.find, || true)?;
    if once {
        match output::is_json() {
            true => output::json_line(&as_json(&first)),
            false => output::text(format_args!("{}", as_text(&first))),
        }
        return Ok(());
    }
    let (mut live, mut shown, mut gone) = (Live::new(), None, false);
    session.watch(None, |app| {
        let silent = app.silence() >= GONE;
        if silent && !gone {
            match output::is_json() {
                true => output::json_line(&json!({ "controller": "gone" })),
                false => out!("controller gone"),
            }
            live.forget();
            shown = None;
        } else if !silent && shown != app.seen {
            shown.clone_from(&app.seen);
            if let Some(seen) = &shown {
                live.show("", || as_text(seen), || as_json(seen));
            }
        }
        gone = silent;
        false
    })
}

fn seconds_since(part: &Part) -> Option<f64> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some((now.as_secs_f64() - part.since?).max(0.0))
}

/// The status as it is, with how long each has waited.
fn as_json(status: &Status) -> Value {
    let mut json = json!(status);
    for which in BOTH {
        json[which.name()]["waiting_seconds"] = json!(seconds_since(status.part(which)));
    }
    json
}

fn as_text(status: &Status) -> String {
    let mut text = String::new();
    for which in BOTH {
        let part = status.part(which);
        let waiting = seconds_since(part).map(|s| format!(" (for {s:.1} s)")).unwrap_or_default();
        let told = status.told(which).unwrap_or_else(|| "nothing yet".to_owned());
        let senses = status.senses(which).unwrap_or_else(|| "nothing".to_owned());
        let (name, (_, message)) = (which.name(), part.summary());
        writeln!(text, "{name:8} {message}{waiting}\n         told   {told}\n         senses {senses}")
            .expect("a String takes all");
        let caught = status.trust.caught(which).join(", ");
        if !caught.is_empty() {
            writeln!(text, "         not believed until seen to move: {caught}").expect("a String takes all");
        }
    }
    let light = if status.bonbori.lit { "on" } else { "off" };
    writeln!(text, "bonbori  {light}").expect("a String takes all");
    text
}
