//! One module per word that follows `rosless`.

pub(crate) mod action;
pub(crate) mod action_echo;
pub(crate) mod bag;
pub(crate) mod doctor;
pub(crate) mod elsewhere;
pub(crate) mod generate;
pub(crate) mod interface;
pub(crate) mod lifecycle;
pub(crate) mod new;
pub(crate) mod node;
pub(crate) mod param;
pub(crate) mod security;
pub(crate) mod service;
pub(crate) mod tf;
pub(crate) mod top;
pub(crate) mod topic;
pub(crate) mod version;

use std::collections::{BTreeMap, BTreeSet};

use clap::Args;
use serde_json::{Value, json};

use rosless_graph::Graph;

use crate::{
    Environment,
    failure::{Failure, Result},
    output::{self, err, out},
    session::is_hidden,
};

/// Names of the running graph behind the Tab key.
pub(crate) mod names {
    use rosless_cli::{
        completion::{Completer, from_graph},
        session::is_hidden,
    };
    use rosless_graph::Graph;

    fn visible<T>(named: std::collections::BTreeMap<String, T>) -> Vec<String> {
        named.into_keys().filter(|name| !is_hidden(name)).collect()
    }

    pub(crate) fn topics() -> Completer {
        from_graph(|graph| visible(graph.topics()))
    }

    pub(crate) fn services() -> Completer {
        from_graph(|graph| visible(graph.services()))
    }

    pub(crate) fn actions() -> Completer {
        from_graph(|graph| visible(graph.actions()))
    }

    pub(crate) fn nodes() -> Completer {
        let nodes = |graph: &Graph| graph.nodes().iter().map(ToString::to_string).collect::<Vec<_>>();
        from_graph(move |graph| nodes(graph).into_iter().filter(|name| !is_hidden(name)).collect())
    }
}

/// Accepted because ros2 has it: a node that is named is found, hidden or not.
#[derive(Args, Debug)]
pub(crate) struct HiddenNodes {
    #[arg(long, hide = true)]
    include_hidden_nodes: bool,
}

/// All of standard input, for `--stdin`.
fn read_stdin() -> Result<String> {
    std::io::read_to_string(std::io::stdin())
        .map_err(|error| Failure::usage(format!("standard input cannot be read: {error}")))
}

/// Says on stderr, beside an empty answer, why the graph may look empty.
fn remark_empty(environment: &Environment, graph: &Graph) {
    if graph.nodes().iter().all(|node| is_hidden(&node.to_string())) {
        let settings = &environment.settings.environment;
        err!(
            "Nobody is on DDS domain {}, discovery range {:?}. Is ROS_DOMAIN_ID the same there? `rosless doctor` looks for the reason.",
            settings.domain_id,
            settings.discovery_range
        );
    }
}

/// Names with their types: topics, services or actions.
type Named = BTreeMap<String, BTreeSet<String>>;

/// Lists as `ros2 topic|service|action list` do.
fn list(environment: &Environment, named: &Named, show_types: bool, count: bool) {
    if environment.json() {
        let entry = |(name, types): (&String, &BTreeSet<String>)| json!({"name": name, "types": types});
        output::json(&named.iter().map(entry).collect::<Vec<Value>>());
    } else if count {
        out!("{}", named.len());
    } else {
        for (name, types) in named {
            match show_types {
                true => out!("{name} [{}]", joined(types)),
                false => out!("{name}"),
            }
        }
    }
}

fn joined<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    names.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}
