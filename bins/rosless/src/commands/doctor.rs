//! `rosless doctor`: what could keep this machine and this graph from working, and what to do about it.

use clap::Args;
use rosless_cli::{output::Colour, table};
use rosless_doctor::{Finding, Level};

use crate::{
    Environment,
    failure::{Failure, Result},
    output::{self, out},
};

/// Checks interfaces, multicast, ports, clock, limits, the other participants, and the graph for endpoints that do not
/// fit together. Exit code 1 when a check fails; warnings do not change it.
#[derive(Args, Debug)]
pub(crate) struct Doctor {
    /// Accepted because ros2 has it: everything found is printed anyway
    #[arg(short, long, hide = true)]
    report: bool,
}

fn print(finding: &Finding) {
    let (colour, word) = match finding.level {
        Level::Ok => (Colour::Green, "OK  "),
        Level::Warn => (Colour::Yellow, "WARN"),
        Level::Fail => (Colour::Red, "FAIL"),
    };
    // Through a pipe each finding stays on its line.
    let width = if output::is_terminal() { output::terminal_size().0 } else { usize::MAX };
    let indent = " ".repeat(19);
    let text =
        |words: &str| table::wrapped(words, width.saturating_sub(indent.len())).join(&format!("\n{indent}"));
    let label = output::coloured(colour, word);
    output::raw(&format!("{label} {:<13} {}\n", finding.check, output::escape(&text(&finding.found))));
    if !finding.remedy.is_empty() {
        output::raw(&format!("{indent}{}\n", output::escape(&text(&format!("-> {}", finding.remedy)))));
    }
}

impl Doctor {
    pub(crate) fn run(&self, environment: &Environment) -> Result<()> {
        let mut findings = Vec::new();
        let mut report = |new: Vec<Finding>| {
            if !environment.json() {
                new.iter().for_each(print);
            }
            findings.extend(new);
        };
        let ros = &environment.settings.environment;
        let domain = ros.domain_id;
        report(vec![rosless_doctor::settings(ros)]);
        rosless_doctor::machine(ros, &mut report);
        match environment.join() {
            Err(failure) => report(vec![Finding::fail(
                "participant",
                format!("cannot join domain {domain}: {}", failure.message),
                "free a port of this domain, or choose another with ROS_DOMAIN_ID",
            )]),
            Ok(session) => {
                let graph = session.whole_graph()?;
                report(rosless_doctor::graph(&graph, session.context.gid().prefix()));
            }
        }
        report(rosless_doctor::daemons(domain));
        let failed = findings.iter().filter(|f| f.level == Level::Fail).count();
        let warned = findings.iter().filter(|f| f.level == Level::Warn).count();
        if environment.json() {
            output::json(&findings);
        }
        match failed {
            0 if environment.json() => Ok(()),
            0 if warned == 0 => {
                out!("\nAll is well.");
                Ok(())
            }
            0 => {
                out!("\nNothing failed; warnings: {warned}.");
                Ok(())
            }
            _ => {
                Err(Failure::new(format!("Checks that failed: {failed}; warnings: {warned}.")).told_in_json())
            }
        }
    }
}
