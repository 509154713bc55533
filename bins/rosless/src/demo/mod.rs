//! `rosless demo`: every daemon at work, told as one story. Only what is seen on the wire counts.

mod mechanism;
mod mocap;
mod motion;
mod stage;
mod throws;

use std::time::Instant;

use clap::Args;
use rosless_graph::config::DiscoveryRange;
use serde_json::json;

use crate::{
    Environment,
    failure::{Failure, Result},
    fleet::{self, DomainLease, Executables},
    output::{self, out},
};
use stage::Stage;

/// Starts all daemons on this machine in a free DDS domain, lets them work, watches them over DDS and prints what was
/// seen. Exit code 0 only if everything claimed was observed. Nothing is left behind.
#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// Print what the daemons say
    #[arg(short, long)]
    verbose: bool,
    /// Start the web console, too, print its address, and stay until Ctrl-C
    #[arg(long)]
    open: bool,
}

/// One line of the summary: what was claimed and seen, for people and as JSON.
struct Row {
    what: &'static str,
    figure: String,
    facts: serde_json::Value,
}

impl Demo {
    pub(crate) fn run(&self, environment: &Environment) -> Result<()> {
        let mut programs: Vec<_> = fleet::roster().iter().map(fleet::Member::in_story).collect();
        let takes = std::env::temp_dir().join("rosless-demo").display().to_string();
        programs.push(fleet::Program::new("recorder", fleet::RECORDER, &["--dir", &takes]));
        let console = self.open.then(fleet::console);
        let executables = Executables::find(&programs.iter().cloned().chain(console).collect::<Vec<_>>())?;
        let lease = match environment.global.domain {
            Some(_) => None,
            None => Some(DomainLease::acquire()?),
        };
        let mut settings = environment.settings.clone();
        settings.environment.domain_id =
            lease.as_ref().map_or(settings.environment.domain_id, |lease| lease.id);
        settings.environment.discovery_range = DiscoveryRange::Localhost;
        settings.environment.static_peers.clear();
        let began = Instant::now();
        let mut stage = Stage::open(settings, environment.json(), self.verbose)?;
        stage.say(&format!(
            "{} daemons on this machine, DDS domain {}",
            programs.len(),
            stage.session.context.settings().environment.domain_id
        ));
        let address = self.open.then(|| stage.start_console(&executables, &takes)).transpose()?;
        if let Some(address) = &address {
            stage.say(&format!("look at it in a browser: {address}"));
        }
        let told = story(&mut stage, &executables, &programs);
        if told.is_ok()
            && let Some(address) = &address
        {
            stage.say(&format!("everything goes on at {address} until Ctrl-C"));
            stage.stay()?;
        }
        let forced = stage.close();
        let rows = told?;
        if forced > 0 {
            return Err(Failure::new(format!("{forced} daemons did not end when asked and were killed")));
        }
        let seconds = began.elapsed().as_secs_f64();
        if environment.json() {
            let rows: serde_json::Map<_, _> =
                rows.into_iter().map(|row| (row.what.to_owned(), row.facts)).collect();
            output::json(&json!({"observed": rows, "seconds": seconds}));
        } else {
            summary(&rows, seconds);
        }
        Ok(())
    }
}

fn story(stage: &mut Stage, executables: &Executables, programs: &[fleet::Program]) -> Result<Vec<Row>> {
    for program in programs {
        stage.start(executables, program)?;
    }
    let mut rows = vec![discovery(stage)?];
    let session = mocap::start(stage, &mut rows)?;
    throws::three(stage, &mut rows)?;
    motion::sequence(stage, &mut rows)?;
    mechanism::cycle(stage, &mut rows)?;
    session.stop(stage, &mut rows)?;
    Ok(rows)
}

fn discovery(stage: &Stage) -> Result<Row> {
    let nodes: Vec<_> = fleet::roster().into_iter().flat_map(|member| member.nodes).collect();
    let missing = || -> Vec<&str> {
        let graph = stage.session.graph();
        nodes.iter().map(String::as_str).filter(|node| !graph.has_node(node)).collect()
    };
    let took = stage
        .wait("all nodes", stage::PATIENCE, || missing().is_empty())
        .map_err(|failure| stage::explain(failure, &format!("missing: {}", missing().join(", "))))?;
    let graph = stage.session.graph();
    let (nodes, seconds) = (nodes.len(), took.as_secs_f64());
    let (topics, services) = (graph.topics().len(), graph.services().len());
    let actions = graph.actions().len();
    let figure =
        format!("{nodes} nodes, {topics} topics, {services} services, {actions} actions in {seconds:.1} s");
    stage.done("everybody found", &figure);
    let facts = json!({"nodes": nodes, "topics": topics, "services": services, "actions": actions, "seconds": seconds});
    Ok(Row { what: "discovery", figure, facts })
}

fn summary(rows: &[Row], seconds: f64) {
    let width = rows.iter().map(|row| row.what.len()).max().unwrap_or_default();
    let longest = rows.iter().map(|row| row.figure.chars().count()).max().unwrap_or_default();
    let rule = format!("+-{}-+-{}-+", "-".repeat(width), "-".repeat(longest));
    out!("\n{rule}");
    for Row { what, figure, .. } in rows {
        out!("| {what:width$} | {figure:longest$} |");
    }
    out!("{rule}\nall of it seen on the wire, in {seconds:.1} s; no process left behind");
}
