//! One measured figure with what it is compared with, as a line of JSON.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints for people")]

use serde::{Deserialize, Serialize};

/// Lines of a benchmark's output that begin so are for the gatherer.
const MARK: &str = "figure ";

/// One measured figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// What belongs together in one section of the report.
    pub group: String,
    pub name: String,
    /// `None`: it could not be measured here, and the note says why.
    pub value: Option<f64>,
    pub unit: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Target>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// The same measured for something else in the same run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    pub name: String,
    pub value: f64,
}

/// What the figure should be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    pub of: Of,
    pub limit: Limit,
    /// A wish beyond what is demanded.
    #[serde(default)]
    pub aim: bool,
}

/// What a target is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Of {
    Value,
    /// Value divided by the baseline's.
    Ratio,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

/// Whether a figure is as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    NoTarget,
    NotMeasured,
    Met,
    /// What is demanded is met, what is wished for is not.
    AimMissed,
    Missed,
}

impl Figure {
    pub fn new(group: &str, name: impl Into<String>, value: f64, unit: &str) -> Self {
        Self {
            group: group.into(),
            name: name.into(),
            value: Some(value),
            unit: unit.into(),
            baseline: None,
            targets: Vec::new(),
            note: String::new(),
        }
    }

    /// One that cannot be measured on this machine.
    pub fn not_measured(group: &str, name: impl Into<String>, reason: &str) -> Self {
        Self { value: None, note: format!("not measured: {reason}"), ..Self::new(group, name, 0.0, "") }
    }

    /// The same figure of something else, in the same unit.
    pub fn against(mut self, name: &str, value: f64) -> Self {
        self.baseline = Some(Baseline { name: name.into(), value });
        self
    }

    pub fn at_most(self, limit: f64) -> Self {
        self.target(Of::Value, Limit::AtMost(limit), false)
    }

    pub fn at_least(self, limit: f64) -> Self {
        self.target(Of::Value, Limit::AtLeast(limit), false)
    }

    pub fn ratio_at_most(self, limit: f64) -> Self {
        self.target(Of::Ratio, Limit::AtMost(limit), false)
    }

    /// Like [`Figure::ratio_at_most`], as a wish.
    pub fn ratio_aims_at(self, limit: f64) -> Self {
        self.target(Of::Ratio, Limit::AtMost(limit), true)
    }

    fn target(mut self, of: Of, limit: Limit, aim: bool) -> Self {
        self.targets.push(Target { of, limit, aim });
        self
    }

    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// Prints the figure for the gatherer, if one listens.
    pub fn tell(&self) {
        if std::env::var_os(super::GATHER).is_some() {
            println!("{}", self.line());
        }
    }

    fn line(&self) -> String {
        format!("{MARK}{}", serde_json::to_string(self).expect("names and numbers are JSON"))
    }

    /// Value divided by the baseline's.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.value? / self.baseline.as_ref()?.value)
    }

    pub fn verdict(&self) -> Verdict {
        let met = |target: &Target| {
            let measured = match target.of {
                Of::Value => self.value,
                Of::Ratio => self.ratio(),
            }?;
            Some(match target.limit {
                Limit::AtMost(limit) => measured <= limit,
                Limit::AtLeast(limit) => measured >= limit,
            })
        };
        let mut verdict = if self.targets.is_empty() { Verdict::NoTarget } else { Verdict::Met };
        for target in &self.targets {
            match met(target) {
                Some(true) => {}
                Some(false) if target.aim => verdict = Verdict::AimMissed,
                Some(false) => return Verdict::Missed,
                None => return Verdict::NotMeasured,
            }
        }
        verdict
    }
}

/// What a line of a benchmark's output is.
#[derive(Debug, PartialEq)]
pub enum Gathered<'a> {
    /// For the person who watches.
    Text(&'a str),
    Figure(Box<Figure>),
    /// Meant for the gatherer, but not to be understood.
    Broken(String),
}

impl<'a> Gathered<'a> {
    pub fn from_line(line: &'a str) -> Self {
        let Some(json) = line.strip_prefix(MARK) else { return Self::Text(line) };
        match serde_json::from_str(json) {
            Ok(figure) => Self::Figure(Box::new(figure)),
            Err(error) => Self::Broken(format!("{error}: {line}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(value: f64) -> Figure {
        Figure::new("graph", "round trip", value, "µs").against("bare RustDDS", 200.0)
    }

    #[test]
    fn a_figure_survives_the_way_through_its_line() {
        let told = figure(230.5).ratio_at_most(1.15).ratio_aims_at(1.0).note("median");
        assert_eq!(Gathered::from_line(&told.line()), Gathered::Figure(Box::new(told)));
        let missing = Figure::not_measured("graph", "idle", "needs root").at_most(0.1);
        assert_eq!(Gathered::from_line(&missing.line()), Gathered::Figure(Box::new(missing)));
    }

    #[test]
    fn tables_for_people_pass_and_broken_figures_are_named() {
        assert_eq!(Gathered::from_line("| figure | of a table |"), Gathered::Text("| figure | of a table |"));
        for broken in [
            "figure ",
            "figure {}",
            "figure {\"group\":1}",
            &figure(f64::NAN).line().replace("value", "valeu"),
        ] {
            assert!(matches!(Gathered::from_line(broken), Gathered::Broken(_)), "{broken}");
        }
    }

    #[test]
    fn a_measurement_that_is_not_a_number_counts_as_none() {
        let told = figure(f64::NAN).at_most(1.0).line();
        let Gathered::Figure(read) = Gathered::from_line(&told) else { panic!("{told}") };
        assert_eq!((read.value, read.verdict()), (None, Verdict::NotMeasured));
    }

    #[test]
    fn verdicts() {
        assert_eq!(figure(1.0).verdict(), Verdict::NoTarget);
        assert_eq!(figure(230.0).ratio_at_most(1.15).verdict(), Verdict::Met);
        assert_eq!(figure(231.0).ratio_at_most(1.15).verdict(), Verdict::Missed);
        assert_eq!(figure(199.0).ratio_at_most(1.0).ratio_aims_at(0.5).verdict(), Verdict::AimMissed);
        assert_eq!(figure(99.0).ratio_at_most(1.0).ratio_aims_at(0.5).verdict(), Verdict::Met);
        assert_eq!(figure(201.0).ratio_aims_at(0.5).ratio_at_most(1.0).verdict(), Verdict::Missed);
        assert_eq!(figure(100.0).at_least(100.0).verdict(), Verdict::Met);
        assert_eq!(figure(99.9).at_least(100.0).verdict(), Verdict::Missed);
        let lone = Figure::new("graph", "round trip", 1.0, "µs").ratio_at_most(1.0);
        assert_eq!(lone.verdict(), Verdict::NotMeasured);
    }
}
