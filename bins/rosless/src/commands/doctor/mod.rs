//! `rosless doctor`: what could keep this machine and this graph from working, and what to do about it.

mod graph;
mod machine;

use clap::Args;
use rosless_graph::config::DiscoveryRange;
use serde::Serialize;

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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
enum Level {
    #[serde(rename = "OK")]
    Ok,
    #[serde(rename = "WARN")]
    Warn,
    #[serde(rename = "FAIL")]
    Fail,
}

/// One line of the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Finding {
    level: Level,
    check: &'static str,
    found: String,
    /// Empty where there is nothing to do.
    remedy: String,
}

impl Finding {
    fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self { level: Level::Ok, check, found: found.into(), remedy: String::new() }
    }

    fn warn(check: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { level: Level::Warn, check, found: found.into(), remedy: remedy.into() }
    }

    fn fail(check: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { level: Level::Fail, check, found: found.into(), remedy: remedy.into() }
    }

    fn print(&self) {
        let word = match self.level {
            Level::Ok => "OK  ",
            Level::Warn => "WARN",
            Level::Fail => "FAIL",
        };
        out!("{word} {:<13} {}", self.check, self.found);
        if !self.remedy.is_empty() {
            out!("     {:<13} -> {}", "", self.remedy);
        }
    }
}

impl Doctor {
    pub(crate) fn run(&self, environment: &Environment) -> Result<()> {
        let mut findings = vec![settings(environment)];
        let mut report = |new: Vec<Finding>| {
            if !environment.json() {
                new.iter().for_each(Finding::print);
            }
            findings.extend(new);
        };
        let domain = environment.settings.environment.domain_id;
        report(machine::interfaces(&environment.settings.environment));
        report(machine::multicast(&environment.settings.environment));
        report(machine::ports(domain));
        report(machine::clock());
        report(machine::limits());
        match environment.join() {
            Err(failure) => report(vec![Finding::fail(
                "participant",
                format!("cannot join domain {domain}: {}", failure.message),
                "free a port of this domain, or choose another with ROS_DOMAIN_ID",
            )]),
            Ok(session) => {
                let graph = session.whole_graph()?;
                report(graph::participants(&graph, session.context.gid().prefix()));
                report(graph::names(&graph));
                report(graph::types(&graph));
                report(graph::quality_of_service(&graph));
            }
        }
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

fn settings(environment: &Environment) -> Finding {
    let settings = &environment.settings.environment;
    let range = match settings.discovery_range {
        DiscoveryRange::Off => "OFF",
        DiscoveryRange::Localhost => "LOCALHOST",
        DiscoveryRange::Subnet => "SUBNET",
        DiscoveryRange::SystemDefault => "SYSTEM_DEFAULT",
    };
    let peers = match settings.static_peers.is_empty() {
        true => "none".to_owned(),
        false => settings.static_peers.join(";"),
    };
    let distro =
        settings.distro.map_or_else(|| "that of the peers".to_owned(), |distro| format!("{distro:?}"));
    let found = format!(
        "domain {}, discovery range {range}, static peers {peers}, distro {distro}",
        settings.domain_id
    );
    let finding = match settings.discovery_range {
        DiscoveryRange::Off => Finding::warn(
            "settings",
            found,
            "discovery is off: unset ROS_AUTOMATIC_DISCOVERY_RANGE to see others",
        ),
        _ => Finding::ok("settings", found),
    };
    if !environment.json() {
        finding.print();
    }
    finding
}
