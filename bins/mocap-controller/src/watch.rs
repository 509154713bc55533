//! `watch`: a picture of all systems that changes with them.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use rosless_cli::{Result, output as printer, table::Live};
use rosless_graph::{config, monotonic};
use rosless_protocol::{Wall, controller::Settings};
use rosless_wire::rosless_msgs::msg::SystemStatus;
use serde_json::{Value, json};

use crate::{Scope, commands, data::Rates, output};

/// How often the picture is drawn.
const REFRESH: Duration = Duration::from_millis(500);
/// In a pipe, where only what happens is shown at once, rates and clocks are shown so often.
const STILL: Duration = Duration::from_secs(5);
/// Clocks are asked for so often, and one figure each time is kept.
const CLOCKS: Duration = Duration::from_secs(1);
/// Figures of a clock that are shown.
const HISTORY: usize = 16;

pub(crate) fn watch(
    ros: &config::Settings,
    scope: &Scope,
    duration: Option<Duration>,
    with_data: bool,
) -> Result<()> {
    let settings = Settings { poll_period: Some(CLOCKS), ..commands::settings() };
    let (session, controller) = commands::open(ros, scope, settings)?;
    let (mut live, mut due, mut shown) = (Live::new(), monotonic() + REFRESH, monotonic());
    session.with(|app| app.quiet = live.is_in_place());
    let mut rates = with_data.then(|| Rates::new(&session, &controller));
    let mut histories = Histories::default();
    session.watch(duration, |app| {
        if monotonic() < due {
            return false;
        }
        due = monotonic() + REFRESH;
        let systems = commands::statuses(&controller);
        histories.note(&systems, monotonic());
        if let Some(rates) = &mut rates {
            rates.follow();
        }
        let changed = std::mem::take(&mut app.changed);
        // A terminal shows passing time too; a pipe gets a new picture when something happened.
        if live.is_in_place() || changed || monotonic() >= shown + STILL {
            shown = monotonic();
            let data = |system: &SystemStatus| rates.as_ref().map_or_else(Vec::new, |rates| rates.of(system));
            live.show(
                &format!("{}: {} systems", scope.dialect.title(), systems.len()),
                || picture(&systems, data, &histories, &app.errors),
                || json(&systems, data, &histories, &app.errors, scope),
            );
        }
        false
    })
}

/// Errors first: the end of a long table may not fit.
fn picture(
    systems: &[SystemStatus],
    data: impl Fn(&SystemStatus) -> Vec<(String, Option<f64>)>,
    histories: &Histories,
    errors: &VecDeque<(Wall, String)>,
) -> String {
    let now = commands::wall_seconds();
    let error = |(at, text): &(Wall, String)| {
        let ago = (now - at.0 as f64 / 1e9).max(0.0);
        format!("{ago:.0} s ago: {}\n", printer::escape_line(text))
    };
    let mut picture: String = errors.iter().map(error).collect();
    if !errors.is_empty() {
        picture.push('\n');
    }
    let rate = |(topic, hertz): (String, Option<f64>)| match hertz {
        Some(hertz) => format!("{topic} {hertz:.0} Hz"),
        None => format!("{topic} -"),
    };
    let rows = systems.iter().map(|system| {
        let data: Vec<_> = data(system).into_iter().map(rate).collect();
        let data = if data.is_empty() { system.topics.join(" ") } else { data.join(", ") };
        (system, data, histories.line(system))
    });
    picture + &output::watch_table(rows, now)
}

fn json(
    systems: &[SystemStatus],
    data: impl Fn(&SystemStatus) -> Vec<(String, Option<f64>)>,
    histories: &Histories,
    errors: &VecDeque<(Wall, String)>,
    scope: &Scope,
) -> Value {
    let mut json = output::systems_json(systems, scope.dialect);
    for (system, value) in systems.iter().zip(json["systems"].as_array_mut().into_iter().flatten()) {
        let rate = |(topic, hertz): (String, Option<f64>)| json!({ "topic": topic, "hertz": hertz });
        value["data"] = data(system).into_iter().map(rate).collect();
        value["clock_history_ms"] = histories.of(system).iter().map(|offset| json!(offset * 1e3)).collect();
    }
    let error = |(at, text): &(Wall, String)| json!({ "stamp": at.0 as f64 / 1e9, "text": text });
    json["errors"] = errors.iter().map(error).collect();
    json
}

/// What clocks showed lately, in seconds.
#[derive(Debug, Default)]
struct Histories {
    systems: BTreeMap<String, VecDeque<f64>>,
    due: Duration,
}

impl Histories {
    fn note(&mut self, systems: &[SystemStatus], now: Duration) {
        if now < self.due {
            return;
        }
        self.due = now + CLOCKS;
        self.systems.retain(|name, _| systems.iter().any(|system| system.present && system.name == *name));
        for system in systems.iter().filter(|system| system.present && system.clock_offset.is_finite()) {
            let history = self.systems.entry(system.name.clone()).or_default();
            if history.len() == HISTORY {
                history.pop_front();
            }
            history.push_back(system.clock_offset);
        }
    }

    fn of(&self, system: &SystemStatus) -> VecDeque<f64> {
        self.systems.get(&system.name).cloned().unwrap_or_default()
    }

    /// One character a second. What is within the uncertainty looks flat, because it is not known to be otherwise.
    fn line(&self, system: &SystemStatus) -> String {
        const STEPS: [char; 7] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇'];
        let history = self.of(system);
        let (low, high) =
            history.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(*x), h.max(*x)));
        let span = (high - low).max(2.0 * system.clock_uncertainty).max(1e-6);
        let middle = (low + high) / 2.0;
        let step = |x: &f64| (((x - middle) / span * 6.0).round() + 3.0).clamp(0.0, 6.0) as usize;
        history.iter().map(|x| STEPS[step(x)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(clock_offset: f64, clock_uncertainty: f64) -> SystemStatus {
        SystemStatus {
            name: "/cam".into(),
            present: true,
            clock_offset,
            clock_uncertainty,
            topics: vec!["markers".into()],
            ..SystemStatus::default()
        }
    }

    fn history(offsets: &[f64], uncertainty: f64) -> Histories {
        let mut histories = Histories::default();
        for (second, offset) in (0..).zip(offsets) {
            histories.note(&[system(*offset, uncertainty)], Duration::from_secs(second));
        }
        histories
    }

    #[test]
    fn a_clock_that_was_set_shows_and_one_that_is_only_uncertain_does_not() {
        assert_eq!(history(&[0.0, 0.0, 0.3, 0.3], 1e-4).line(&system(0.3, 1e-4)), "▁▁▇▇");
        let still = history(&[0.0, 2e-5, -1e-5], 1e-2);
        assert_eq!(
            still.line(&system(0.0, 1e-2)).chars().collect::<std::collections::BTreeSet<_>>().len(),
            1
        );
        assert_eq!(history(&[0.0; 40], 0.1).of(&system(0.0, 0.1)).len(), HISTORY);
        let mut gone = history(&[0.0], 0.1);
        gone.note(&[], Duration::from_secs(1));
        assert_eq!(gone.line(&system(0.0, 0.1)), "", "nothing is remembered of who left");
    }

    #[test]
    fn errors_stay_in_view_above_the_table_with_rates_in_it() {
        let errors = VecDeque::from([(Wall(0), "[cam] left\x1b".to_owned())]);
        let data = |_: &SystemStatus| vec![("markers".to_owned(), Some(33.3)), ("tf".to_owned(), None)];
        let picture = picture(&[system(0.25, 0.2)], data, &Histories::default(), &errors);
        let lines: Vec<_> = picture.lines().collect();
        assert!(lines[0].ends_with(r"s ago: [cam] left\u{1b}") && lines[1].is_empty(), "{picture}");
        assert!(lines[3].contains("cannot tell") && lines[3].ends_with("markers 33 Hz, tf -"), "{picture}");
    }
}
