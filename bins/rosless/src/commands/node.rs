//! `rosless node`.

use std::collections::BTreeMap;

use clap::Subcommand;
use rosless_graph::{
    Graph,
    graph::{EndpointKind, Role},
};
use serde_json::json;

use super::{Named, joined, names, remark_empty};
use crate::{
    Environment,
    failure::Result,
    output::{self, err, out},
    session::is_hidden,
};

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// List the nodes on the graph
    List {
        /// Show nodes whose name begins with an underscore too
        #[arg(short, long)]
        all: bool,
        /// Print only how many there are
        #[arg(short, long)]
        count_nodes: bool,
    },
    /// Print what a node publishes, subscribes to, serves and calls
    Info {
        /// Full name of the node
        #[arg(add = names::nodes())]
        node_name: String,
        /// Show hidden topics, services and actions too
        #[arg(long)]
        include_hidden: bool,
    },
}

impl Command {
    pub(crate) fn run(self, environment: &Environment) -> Result<()> {
        let session = environment.join()?;
        match self {
            Self::List { all, count_nodes } => {
                let graph = session.whole_graph()?;
                remark_empty(environment, &graph);
                let nodes: Vec<_> = graph.nodes().iter().map(ToString::to_string).collect();
                let nodes: Vec<_> = nodes.into_iter().filter(|name| all || !is_hidden(name)).collect();
                if nodes.windows(2).any(|pair| pair[0] == pair[1]) {
                    err!(
                        "WARNING: Be aware that there are nodes in the graph that share an exact name, \
                         which can have unintended side effects."
                    );
                }
                match (environment.json(), count_nodes) {
                    (true, _) => output::json(&nodes),
                    (_, true) => out!("{}", nodes.len()),
                    _ => nodes.iter().for_each(|name| out!("{name}")),
                }
                Ok(())
            }
            Self::Info { node_name, include_hidden } => {
                let name = session.find_node(&node_name)?;
                let graph = session.whole_graph()?;
                let count = graph.nodes().iter().filter(|node| node.to_string() == name).count();
                if count > 1 {
                    err!(
                        "There are {count} nodes in the graph with the exact name \"{name}\". \
                         You are seeing what they have together."
                    );
                }
                info(environment, &graph, &name, include_hidden);
                Ok(())
            }
        }
    }
}

/// The six lists of `node info`, in its order.
fn sections(graph: &Graph, node: &str, include_hidden: bool) -> [(&'static str, Named); 6] {
    let mut lists: [Named; 6] = Default::default();
    let mut add = |list: usize, name: &str, ty: String| {
        if include_hidden || !is_hidden(name) {
            lists[list].entry(name.to_owned()).or_default().insert(ty);
        }
    };
    for (role, endpoint) in graph.endpoints_of(node) {
        let ty = endpoint.type_name();
        let service_type = || ty.strip_suffix("_Request").unwrap_or(&ty).to_owned();
        match &role {
            Role::Subscription(name) => add(0, name, ty.clone()),
            Role::Publisher(name) => add(1, name, ty.clone()),
            Role::Server(name) => add(2, name, service_type()),
            Role::Client(name) => add(3, name, service_type()),
        }
        if let (Role::Server(name) | Role::Client(name), Some(action)) =
            (&role, service_type().strip_suffix("_SendGoal"))
            && let Some(name) = name.strip_suffix("/_action/send_goal")
        {
            add(if endpoint.kind == EndpointKind::Reader { 4 } else { 5 }, name, action.to_owned());
        }
    }
    let titles = [
        "Subscribers",
        "Publishers",
        "Service Servers",
        "Service Clients",
        "Action Servers",
        "Action Clients",
    ];
    let mut lists = lists.into_iter();
    titles.map(|title| (title, lists.next().unwrap_or_default()))
}

fn info(environment: &Environment, graph: &Graph, node: &str, include_hidden: bool) {
    let sections = sections(graph, node, include_hidden);
    if environment.json() {
        let lists: BTreeMap<_, _> =
            sections.iter().map(|(title, named)| (title.to_lowercase().replace(' ', "_"), named)).collect();
        output::json(&json!({"node": node, "endpoints": lists}));
        return;
    }
    out!("{node}");
    for (title, named) in sections {
        out!("  {title}:");
        named.iter().for_each(|(name, types)| out!("    {name}: {}", joined(types)));
        if named.is_empty() {
            out!();
        }
    }
}
