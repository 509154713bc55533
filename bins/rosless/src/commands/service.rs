//! `rosless service`.

use std::time::Duration;

use clap::{Args, Subcommand};
use rosless_graph::{
    Graph,
    graph::{Endpoint, Role},
};
use rosless_schema::DynamicMessage;
use serde_json::json;

use super::{
    Named, joined, list, names, read_stdin, remark_empty,
    topic::{Echo, describe_endpoint, endpoint_json},
};
use crate::{
    Environment,
    cli::{hertz, seconds},
    failure::{Failure, Result},
    output::{self, err, out},
    session::{Session, absolute, is_hidden},
    types::{self, KnownType},
};

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// List the services on the graph
    List {
        /// Show the types too
        #[arg(short = 't', long)]
        show_types: bool,
        /// Print only how many there are
        #[arg(short, long)]
        count_services: bool,
        /// Show services with a part that begins with an underscore too
        #[arg(long)]
        include_hidden_services: bool,
    },
    /// Call a service and print the response
    Call(Call),
    /// Print a service's type
    Type {
        #[arg(add = names::services())]
        service_name: String,
    },
    /// List the services of a type
    Find {
        service_type: String,
        /// Print only how many there are
        #[arg(short, long)]
        count_services: bool,
        /// Look at hidden services too
        #[arg(long)]
        include_hidden_services: bool,
    },
    /// Print a service's type and how many serve and call it
    Info {
        #[arg(add = names::services())]
        service_name: String,
        /// Show node, type hash, gid and quality of service of every endpoint
        #[arg(short, long)]
        verbose: bool,
    },
    /// Print what is told of a service's calls, where introspection is on
    /// (`-p service_introspection:=contents` for nodes of this project)
    Echo(Echo),
}

#[derive(Args, Debug)]
pub(crate) struct Call {
    #[arg(add = names::services())]
    service_name: String,
    service_type: String,
    /// The request as YAML, such as "{a: 1, b: 2}"
    #[arg(default_value = "{}")]
    values: String,
    /// Read the request from standard input instead
    #[arg(long, conflicts_with = "values")]
    stdin: bool,
    /// Call again and again, this often per second
    #[arg(short, long, value_name = "HZ", value_parser = hertz, allow_negative_numbers = true)]
    rate: Option<Duration>,
    /// Give up after this long; exit code 1
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "15", allow_negative_numbers = true)]
    timeout: Duration,
}

impl Command {
    pub(crate) fn run(self, environment: &Environment) -> Result<()> {
        if let Self::Echo(echo) = self {
            return echo.of_service().run(environment);
        }
        let session = environment.join()?;
        match self {
            Self::Echo(_) => Ok(()),
            Self::List { show_types, count_services, include_hidden_services } => {
                let graph = session.whole_graph()?;
                remark_empty(environment, &graph);
                let services = visible(&graph, include_hidden_services);
                list(environment, &services, show_types, count_services);
                Ok(())
            }
            Self::Call(call) => call.run(environment, &session),
            Self::Type { service_name } => {
                let (_, _, types) = find(&session, &service_name)?;
                match environment.json() {
                    true => output::json(&types),
                    false => types.iter().for_each(|ty| out!("{ty}")),
                }
                Ok(())
            }
            Self::Find { service_type, count_services, include_hidden_services } => {
                let mut services = visible(&*session.whole_graph()?, include_hidden_services);
                services.retain(|_, types| types.contains(&service_type));
                list(environment, &services, false, count_services);
                Ok(())
            }
            Self::Info { service_name, verbose } => {
                session.whole_graph()?;
                info(environment, find(&session, &service_name)?, verbose)
            }
        }
    }
}

fn info(
    environment: &Environment,
    (graph, service, types): (std::rc::Rc<Graph>, String, Vec<String>),
    verbose: bool,
) -> Result<()> {
    let of = |role: Role| graph.endpoints().filter(|e| e.role() == Some(role.clone())).collect::<Vec<_>>();
    let (clients, servers) = (of(Role::Client(service.clone())), of(Role::Server(service.clone())));
    if environment.json() {
        let mut answer =
            json!({"service": service, "types": types, "clients": clients.len(), "servers": servers.len()});
        if verbose {
            let all = |of: &[&Endpoint]| of.iter().map(|e| endpoint_json(&graph, e)).collect::<Vec<_>>();
            answer["client_endpoints"] = all(&clients).into();
            answer["server_endpoints"] = all(&servers).into();
        }
        output::json(&answer);
        return Ok(());
    }
    out!("Type: {}", types.join(", "));
    for (title, kind, endpoints) in [("Clients", "CLIENT", clients), ("Services", "SERVER", servers)] {
        out!("{title} count: {}", endpoints.len());
        if verbose {
            out!();
            endpoints.iter().for_each(|endpoint| describe_endpoint(&graph, endpoint, kind));
        }
    }
    Ok(())
}

fn visible(graph: &Graph, include_hidden: bool) -> Named {
    let mut services = graph.services();
    services.retain(|name, _| include_hidden || !is_hidden(name));
    services
}

/// Waits for a service; its full name and types.
fn find(session: &Session, name: &str) -> Result<(std::rc::Rc<Graph>, String, Vec<String>)> {
    let name = absolute(name);
    let graph = session.look_for(|graph| graph.services().contains_key(&name))?;
    let mut services = graph.services();
    match services.remove(&name) {
        Some(types) => Ok((graph, name, types.into_iter().collect())),
        None => Err(Failure::unknown("service", &name, services.keys().map(String::as_str))),
    }
}

/// The two types of a service, as known here or as the server describes them.
pub(super) fn service_types(
    environment: &Environment,
    session: &Session,
    service: &str,
    name: &str,
) -> Result<[KnownType; 2]> {
    let registry = environment.registry()?;
    let (name, unknown) = match registry.full_name(name) {
        Ok(full) if full.contains("/msg/") => {
            return Err(Failure::usage(format!("{full} is a message, not a service")));
        }
        Ok(full) => (full, None),
        Err(unknown) => (name.to_owned(), Some(unknown)),
    };
    let speaks = |ty: &str, e: &Endpoint| e.ros_name() == service && e.type_name() == ty;
    let part = |part: &str| {
        let name = format!("{name}_{part}");
        // A service is known by the end that takes requests; the one that answers may come later.
        let graph = session.discover(|graph| graph.endpoints().any(|e| speaks(&name, e)))?;
        let endpoints: Vec<_> = graph.endpoints().filter(|e| speaks(&name, e)).collect();
        types::resolve(&registry, session, &name, &endpoints)
    };
    // The user named the service's type, not that of its request.
    let parts = part("Request").and_then(|request| Ok([request, part("Response")?]));
    parts.map_err(|failure| match unknown {
        Some(unknown) if failure.code != 130 => unknown.into(),
        _ => failure,
    })
}

impl Call {
    fn run(&self, environment: &Environment, session: &Session) -> Result<()> {
        let service = absolute(&self.service_name);
        let there = |graph: &Graph| graph.services().contains_key(&service);
        if !there(&*session.discover(there)?) {
            err!("waiting for service to become available...");
            if !session.run_until(self.timeout, || there(&session.graph()))? {
                let services = session.graph().services();
                return Err(Failure::unknown("service", &service, services.keys().map(String::as_str)));
            }
        }
        let offered = session.graph().services().remove(&service).unwrap_or_default();
        let wanted = environment.registry()?.full_name(&self.service_type);
        let wanted = wanted.unwrap_or_else(|_| self.service_type.clone());
        if !offered.contains(&wanted) {
            return Err(Failure::new(format!("{service} is a {}, not a {wanted}", joined(&offered))));
        }
        let [request, response] = service_types(environment, session, &service, &wanted)?;
        let values = if self.stdin { read_stdin()? } else { self.values.clone() };
        let message = DynamicMessage::from_yaml(&request.ty, &values, None)
            .map_err(|error| Failure::usage(format!("{}: {error}", request.name())))?;
        // One for all calls: making a client and being found by its server takes longer than a call.
        let client = session.raw_client(&service, [request.name_and_hash(), response.name_and_hash()])?;
        loop {
            if !environment.json() {
                out!("requester: making request: {}\n", message.to_python());
            }
            let payload = session.call_raw(&client, message.to_payload(), self.timeout)?;
            let answer = DynamicMessage::from_payload(&response.ty, &payload)
                .map_err(|error| Failure::new(format!("the response cannot be decoded: {error}")))?;
            match environment.json() {
                true => output::json_line(&answer),
                false => out!("response:\n{}\n", answer.to_python()),
            }
            match self.rate {
                Some(period) if !output::closed() => session.run_until(period, || false)?,
                _ => return Ok(()),
            };
        }
    }
}
