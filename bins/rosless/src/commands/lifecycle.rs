//! `rosless lifecycle`.

use std::time::Duration;

use clap::Subcommand;
use rosless_graph::Graph;
use rosless_wire::lifecycle_msgs::{
    msg::{Transition, TransitionDescription},
    srv::{
        ChangeState, ChangeStateRequest, GetAvailableTransitions, GetAvailableTransitionsRequest, GetState,
        GetStateRequest,
    },
};
use serde_json::json;

use super::{HiddenNodes, Named, names};
use crate::{
    Environment,
    cli::seconds,
    failure::{Failure, Result},
    output::{self, err, out},
    session::{Session, absolute, is_hidden},
};

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// List the nodes with a lifecycle
    Nodes {
        /// Show hidden nodes too
        #[arg(short, long)]
        all: bool,
        /// Print only how many there are
        #[arg(short, long)]
        count_nodes: bool,
    },
    /// Print the state of one node or of all
    Get {
        #[arg(add = names::nodes())]
        node_name: Option<String>,
        /// Show hidden nodes too
        #[arg(long)]
        include_hidden_nodes: bool,
    },
    /// Trigger a transition
    Set {
        #[arg(add = names::nodes())]
        node_name: String,
        /// Label or number, such as configure, activate, deactivate, cleanup, shutdown
        transition: String,
        /// Give up after this long; exit code 1
        #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "15", allow_negative_numbers = true)]
        timeout: Duration,
        #[command(flatten)]
        _hidden: HiddenNodes,
    },
    /// List the transitions a node can make now
    List {
        #[arg(add = names::nodes())]
        node_name: String,
        /// List all transitions it has
        #[arg(short, long)]
        all: bool,
        #[command(flatten)]
        _hidden: HiddenNodes,
    },
}

const ANSWER: Duration = Duration::from_secs(5);

impl Command {
    pub(crate) fn run(self, environment: &Environment) -> Result<()> {
        let session = environment.join()?;
        match self {
            Self::Nodes { all, count_nodes } => {
                let nodes = lifecycle_nodes(&*session.whole_graph()?, all);
                match (environment.json(), count_nodes) {
                    (true, _) => output::json(&nodes),
                    (_, true) => out!("{}", nodes.len()),
                    _ => nodes.iter().for_each(|node| out!("{node}")),
                }
                Ok(())
            }
            Self::Get { node_name: Some(node), .. } => {
                let node = find(&session, &node)?;
                let state =
                    session.call::<GetState>(&format!("{node}/get_state"), &GetStateRequest {}, ANSWER)?;
                let state = state.current_state;
                match environment.json() {
                    true => output::json(&json!({"node": node, "id": state.id, "state": state.label})),
                    false => out!("{} [{}]", state.label, state.id),
                }
                Ok(())
            }
            Self::Get { node_name: None, include_hidden_nodes } => {
                get_all(environment, &session, include_hidden_nodes)
            }
            Self::Set { node_name, transition, timeout, .. } => {
                set(environment, &session, &node_name, &transition, timeout)
            }
            Self::List { node_name, all, .. } => {
                let node = find(&session, &node_name)?;
                let service = if all { "get_transition_graph" } else { "get_available_transitions" };
                let transitions = transitions(&session, &node, service)?;
                if environment.json() {
                    output::json(&transitions);
                    return Ok(());
                }
                for TransitionDescription { transition, start_state, goal_state } in transitions {
                    out!("- {} [{}]", transition.label, transition.id);
                    out!("\tStart: {}\n\tGoal: {}", start_state.label, goal_state.label);
                }
                Ok(())
            }
        }
    }
}

fn lifecycle_nodes(graph: &Graph, include_hidden: bool) -> Vec<String> {
    let services = graph.services();
    let mut nodes: Vec<_> = graph.nodes().iter().map(ToString::to_string).collect();
    nodes.retain(|node| (include_hidden || !is_hidden(node)) && has_lifecycle(&services, node));
    nodes.dedup();
    nodes
}

/// Whether somebody tells the state of a node, which need not be the node itself: it may be behind a bridge.
fn has_lifecycle(services: &Named, node: &str) -> bool {
    let state = services.get(&format!("{node}/get_state"));
    state.is_some_and(|types| types.contains("lifecycle_msgs/srv/GetState"))
}

/// Waits for a node with a lifecycle.
fn find(session: &Session, name: &str) -> Result<String> {
    let node = absolute(name);
    let graph = session.look_for(|graph| has_lifecycle(&graph.services(), &node))?;
    if has_lifecycle(&graph.services(), &node) {
        return Ok(node);
    }
    if graph.has_node(&node) {
        return Err(Failure::new(format!(
            "{node} has no lifecycle; `rosless lifecycle nodes` lists those that have"
        )));
    }
    let nodes = lifecycle_nodes(&graph, true);
    Err(Failure::unknown("node", &node, nodes.iter().map(String::as_str)))
}

fn transitions(session: &Session, node: &str, service: &str) -> Result<Vec<TransitionDescription>> {
    let request = GetAvailableTransitionsRequest {};
    let service = format!("{node}/{service}");
    Ok(session.call::<GetAvailableTransitions>(&service, &request, ANSWER)?.available_transitions)
}

fn get_all(environment: &Environment, session: &Session, include_hidden: bool) -> Result<()> {
    let mut states = Vec::new();
    for node in lifecycle_nodes(&*session.whole_graph()?, include_hidden) {
        match session.call::<GetState>(&format!("{node}/get_state"), &GetStateRequest {}, ANSWER) {
            Ok(response) => states.push((node, response.current_state)),
            Err(failure) if failure.code == 130 => return Err(failure),
            Err(failure) => err!("{node}: {}", failure.message),
        }
    }
    if environment.json() {
        let state = |(node, state): &(String, rosless_wire::lifecycle_msgs::msg::State)| json!({"node": node, "id": state.id, "state": state.label});
        output::json(&states.iter().map(state).collect::<Vec<_>>());
    } else {
        states.iter().for_each(|(node, state)| out!("{node}: {} [{}]", state.label, state.id));
    }
    Ok(())
}

fn set(
    environment: &Environment,
    session: &Session,
    node: &str,
    wanted: &str,
    timeout: Duration,
) -> Result<()> {
    let node = find(session, node)?;
    let available = transitions(session, &node, "get_available_transitions")?;
    let chosen =
        available.iter().map(|t| &t.transition).find(|t| t.label == wanted || t.id.to_string() == wanted);
    let Some(Transition { id, label }) = chosen.cloned() else {
        let list: Vec<_> =
            available.iter().map(|t| format!("- {} [{}]", t.transition.label, t.transition.id)).collect();
        return Err(Failure::new(format!(
            "Unknown transition requested, available ones are:\n{}",
            list.join("\n")
        )));
    };
    let request = ChangeStateRequest { transition: Transition { id, label: label.clone() } };
    if !session.call::<ChangeState>(&format!("{node}/change_state"), &request, timeout)?.success {
        return Err(Failure::new("Transitioning failed"));
    }
    match environment.json() {
        true => output::json(&json!({"node": node, "id": id, "transition": label, "success": true})),
        false => out!("Transitioning successful"),
    }
    Ok(())
}
