//! What a scenario measured. Times are shown and never asserted.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test prints for people")]

use std::{fmt::Write as _, fs, path::Path, time::Duration};

/// A table, printed when the scenario ends and kept in `target/scenarios/`.
#[derive(Debug)]
pub struct Report {
    scenario: String,
    rows: Vec<(String, String)>,
}

impl Report {
    pub fn new(scenario: &str) -> Self {
        Self { scenario: scenario.to_owned(), rows: Vec::new() }
    }

    pub fn row(&mut self, what: &str, figure: impl Into<String>) {
        self.rows.push((what.to_owned(), figure.into()));
    }

    /// A row with a time.
    pub fn took(&mut self, what: &str, time: Duration) {
        self.row(what, format!("{:.2} s", time.as_secs_f64()));
    }

    fn table(&self) -> String {
        let width = |text: &str| text.chars().count();
        let first = self.rows.iter().map(|(what, _)| width(what)).max().unwrap_or_default();
        let second = self.rows.iter().map(|(_, figure)| width(figure)).max().unwrap_or_default();
        let mut table = format!("{}\n", self.scenario);
        for (what, figure) in &self.rows {
            let _ = writeln!(table, "  {what:first$}  {figure:>second$}");
        }
        table
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        // A scenario that failed shows how far it came.
        print!("{}", self.table());
        let exe = std::env::current_exe().unwrap_or_default();
        if let Some(target) = exe.ancestors().nth(3).map(Path::to_owned) {
            let folder = target.join("scenarios");
            let name = self.scenario.replace(|c: char| !c.is_alphanumeric(), "-");
            let _ = fs::create_dir_all(&folder)
                .and_then(|()| fs::write(folder.join(format!("{name}.txt")), self.table()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut report = Report::new("three daemons");
        report.took("the arm is back", Duration::from_millis(1234));
        report.row("lost", "0");
        assert_eq!(report.table(), "three daemons\n  the arm is back  1.23 s\n  lost                  0\n");
    }
}
