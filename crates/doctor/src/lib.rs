//! What could keep a machine and a graph from working, and what to do about it: the checks of `rosless doctor`, which the
//! console shows, too.
//!
//! ```
//! use rosless_doctor::{Level, graph};
//! use rosless_graph::{GidPrefix, Graph};
//!
//! // Nobody is there yet: worth a look, and it says what to do.
//! for finding in graph(&Graph::default(), GidPrefix([1; 12])) {
//!     assert!(finding.level == Level::Ok || !finding.remedy.is_empty(), "{finding:?}");
//! }
//! ```
#![forbid(unsafe_code)]

pub mod daemons;
mod graph;
mod machine;

use rosless_graph::{
    GidPrefix, Graph,
    config::{DiscoveryRange, Environment},
};
use serde::Serialize;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Level {
    /// As it should be.
    #[serde(rename = "OK")]
    Ok,
    /// It may be meant so.
    #[serde(rename = "WARN")]
    Warn,
    /// Something does not work.
    #[serde(rename = "FAIL")]
    Fail,
}

/// One line of the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub level: Level,
    /// What was looked at, in a word.
    pub check: &'static str,
    /// What was found.
    pub found: String,
    /// Empty where there is nothing to do.
    pub remedy: String,
}

impl Finding {
    fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self { level: Level::Ok, check, found: found.into(), remedy: String::new() }
    }

    fn warn(check: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { level: Level::Warn, check, found: found.into(), remedy: remedy.into() }
    }

    /// Something does not work.
    pub fn fail(check: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { level: Level::Fail, check, found: found.into(), remedy: remedy.into() }
    }
}

/// What ROS was told by its environment.
pub fn settings(settings: &Environment) -> Finding {
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
    match settings.discovery_range {
        DiscoveryRange::Off => Finding::warn(
            "settings",
            found,
            "discovery is off: unset ROS_AUTOMATIC_DISCOVERY_RANGE to see others",
        ),
        _ => Finding::ok("settings", found),
    }
}

/// What was lost, and what had to be said again, of the daemons of `rosless up` in this domain.
pub fn daemons(domain: u16) -> Vec<Finding> {
    daemons::examine(&daemons::lock(domain))
}

/// Network, clock and limits, told one after the other: some take a second.
pub fn machine(environment: &Environment, mut tell: impl FnMut(Vec<Finding>)) {
    tell(machine::surroundings(|name| std::env::var(name).ok()));
    tell(machine::interfaces(environment));
    tell(machine::multicast(environment));
    tell(machine::ports(environment.domain_id));
    tell(machine::clock());
    tell(machine::limits());
    tell(machine::drops(environment.domain_id));
}

/// Who is there besides `own`, and which endpoints do not fit together.
pub fn graph(graph: &Graph, own: GidPrefix) -> Vec<Finding> {
    let mut findings = graph::participants(graph, own);
    findings.extend(graph::names(graph));
    findings.extend(graph::types(graph));
    findings.extend(graph::quality_of_service(graph));
    findings.extend(graph::single_sources(graph));
    findings
}
