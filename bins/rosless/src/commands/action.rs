//! `rosless action`.

use std::{cell::RefCell, collections::BTreeSet, rc::Rc, sync::Arc, time::Duration};

use clap::{Args, Subcommand};
use rosless_graph::{
    Graph,
    action::{GoalId, GoalState},
    graph::{Endpoint, Role},
};
use rosless_schema::{DynamicMessage, Element, MessageType, Registry, Value, YamlStyle};
use rosless_wire::{
    action_msgs::{
        msg::GoalInfo,
        srv::{CancelGoal, CancelGoalRequest},
    },
    builtin_interfaces::msg::Time,
};
use serde_json::json;

use super::{action_echo, joined, list, names, read_stdin, service::service_types};
use crate::{
    Environment,
    cli::seconds,
    failure::{Failure, Result},
    output::{self, err, out},
    session::{Session, absolute},
    types,
};

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// List the actions on the graph
    List {
        /// Show the types too
        #[arg(short = 't', long)]
        show_types: bool,
        /// Print only how many there are
        #[arg(short, long)]
        count_actions: bool,
    },
    /// Print who serves and who uses an action
    Info {
        #[arg(add = names::actions())]
        action_name: String,
        /// Show the types too
        #[arg(short = 't', long)]
        show_types: bool,
        /// Print only how many there are
        #[arg(short, long)]
        count: bool,
    },
    /// Print an action's type
    Type {
        #[arg(add = names::actions())]
        action_name: String,
    },
    /// List the actions of a type
    Find {
        action_type: String,
        /// Print only how many there are
        #[arg(short, long)]
        count_actions: bool,
    },
    /// Print feedback, states and, where introspection is on, the calls of an action
    Echo(action_echo::Echo),
    /// Send a goal and wait for its result; Ctrl-C cancels the goal
    #[command(name = "send_goal", visible_alias = "send")]
    SendGoal(SendGoal),
}

#[derive(Args, Debug)]
pub(crate) struct SendGoal {
    #[arg(add = names::actions())]
    action_name: String,
    action_type: String,
    /// The goal as YAML, such as "{order: 5}"
    #[arg(default_value = "{}")]
    goal: String,
    /// Read the goal from standard input instead
    #[arg(long, conflicts_with = "goal")]
    stdin: bool,
    /// Print the feedback
    #[arg(short, long)]
    feedback: bool,
    /// Give up, and cancel the goal, after this long; exit code 1
    #[arg(short, long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    timeout: Option<Duration>,
}

/// How long a server may take to accept, refuse or cancel a goal.
const ANSWER: Duration = Duration::from_secs(10);

impl Command {
    pub(crate) fn run(self, environment: &Environment) -> Result<()> {
        let session = environment.join()?;
        match self {
            Self::List { show_types, count_actions } => {
                let graph = session.whole_graph()?;
                list(environment, &graph.actions(), show_types, count_actions);
                Ok(())
            }
            Self::Info { action_name, show_types, count } => {
                let graph = session.whole_graph()?;
                info(environment, &graph, &absolute(&action_name), show_types, count)
            }
            Self::Type { action_name } => {
                let action = absolute(&action_name);
                let graph = session.look_for(|graph| graph.actions().contains_key(&action))?;
                let types = graph.actions().remove(&action).ok_or_else(|| unknown(&graph, &action))?;
                match environment.json() {
                    true => output::json(&types),
                    false => types.iter().for_each(|ty| out!("{ty}")),
                }
                Ok(())
            }
            Self::Find { action_type, count_actions } => {
                let mut actions = session.whole_graph()?.actions();
                actions.retain(|_, types| types.contains(&action_type));
                list(environment, &actions, false, count_actions);
                Ok(())
            }
            Self::Echo(echo) => echo.run(environment, &session),
            Self::SendGoal(send) => send.run(environment, &session),
        }
    }
}

pub(super) fn unknown(graph: &Graph, action: &str) -> Failure {
    let actions = graph.actions();
    Failure::unknown("action", action, actions.keys().map(String::as_str))
}

fn info(environment: &Environment, graph: &Graph, action: &str, types: bool, count: bool) -> Result<()> {
    let goal_service = format!("{action}/_action/send_goal");
    let of = |role: Role| -> Vec<(String, String)> {
        let owner = |endpoint: &Endpoint| {
            let ty = endpoint.type_name();
            let node =
                graph.node_of(&endpoint.gid).map_or_else(|| "unknown node".to_owned(), |n| n.to_string());
            (node, ty.strip_suffix("_SendGoal_Request").unwrap_or(&ty).to_owned())
        };
        graph.endpoints().filter(|e| e.role() == Some(role.clone())).map(owner).collect()
    };
    let clients = of(Role::Client(goal_service.clone()));
    let servers = of(Role::Server(goal_service));
    if clients.is_empty() && servers.is_empty() {
        return Err(unknown(graph, action));
    }
    if environment.json() {
        let owners = |owners: &[(String, String)]| -> Vec<_> {
            owners.iter().map(|(node, ty)| json!({"node": node, "type": ty})).collect()
        };
        let (clients, servers) = (owners(&clients), owners(&servers));
        output::json(&json!({"action": action, "clients": clients, "servers": servers}));
        return Ok(());
    }
    out!("Action: {action}");
    for (title, owners) in [("clients", clients), ("servers", servers)] {
        out!("Action {title}: {}", owners.len());
        for (node, ty) in owners.iter().filter(|_| !count) {
            match types {
                true => out!("    {node} [{ty}]"),
                false => out!("    {node}"),
            }
        }
    }
    Ok(())
}

impl SendGoal {
    fn run(&self, environment: &Environment, session: &Session) -> Result<()> {
        let action = absolute(&self.action_name);
        let registry = environment.registry()?;
        let known = registry.full_name(&self.action_type);
        // A type that nobody knows here may be known to its server, under its full name.
        let ty = known.as_ref().unwrap_or(&self.action_type).clone();
        let say = |text: String| {
            if !environment.json() {
                out!("{text}")
            }
        };
        let values = if self.stdin { read_stdin()? } else { self.goal.clone() };
        let read = |goal: &Arc<MessageType>| {
            DynamicMessage::from_yaml(goal, &values, None)
                .map_err(|error| Failure::usage(format!("{ty}: {error}")))
        };
        let goal = match &known {
            Ok(_) => Some(read(&registry.message_type(&format!("{ty}_Goal"))?)?),
            Err(_) => None,
        };
        say("Waiting for an action server to become available...".to_owned());
        let offered = self.find_server(session, &action)?;
        if !offered.contains(&ty) {
            known?;
            return Err(Failure::new(format!("{action} is a {}, not a {ty}", joined(&offered))));
        }
        let service = format!("{action}/_action/send_goal");
        let types = service_types(environment, session, &service, &format!("{ty}_SendGoal"))?;
        let goal = match goal {
            Some(goal) => goal,
            None => read(&goal_of(&types[0].ty).ok_or_else(|| Failure::new(format!("{ty} has no goal")))?)?,
        };
        let id = GoalId::random();
        let feedback = Rc::new(RefCell::new(Feedback { early: Some(Vec::new()), json: environment.json() }));
        if self.feedback {
            follow_feedback(session, &registry, &action, &ty, id, feedback.clone())?;
        }
        say(format!("Sending goal:\n     {}", goal.to_yaml(YamlStyle::default())));
        let request = with_id(&types[0], id, Some(&goal))?;
        let names = [types[0].name_and_hash(), types[1].name_and_hash()];
        let client = session.raw_client(&service, names)?;
        let reply = session.call_raw(&client, request, ANSWER);
        client.close();
        let reply = reply?;
        let reply = DynamicMessage::from_payload(&types[1].ty, &reply).map_err(undecodable)?;
        if reply.get("accepted") != Some(&Value::Bool(true)) {
            return Err(Failure::new("Goal was rejected."));
        }
        say(format!("Goal accepted with ID: {}\n", hex(id)));
        feedback.borrow_mut().accepted();
        self.result(environment, session, &action, &ty, id)
    }

    fn find_server(&self, session: &Session, action: &str) -> Result<BTreeSet<String>> {
        let there = |graph: &Graph| graph.actions().contains_key(action);
        if !there(&*session.discover(there)?)
            && !session.run_until(self.timeout.unwrap_or(ANSWER), || there(&session.graph()))?
        {
            return Err(unknown(&session.graph(), action));
        }
        Ok(session.graph().actions().remove(action).unwrap_or_default())
    }

    fn result(
        &self,
        environment: &Environment,
        session: &Session,
        action: &str,
        ty: &str,
        id: GoalId,
    ) -> Result<()> {
        let service = format!("{action}/_action/get_result");
        let types = service_types(environment, session, &service, &format!("{ty}_GetResult"))?;
        let [request, response] = &types;
        let client = session.event_loop.raw_client(
            &session.node,
            &service,
            request.name_and_hash(),
            response.name_and_hash(),
        )?;
        let answer = Rc::new(RefCell::new(None));
        let slot = answer.clone();
        let patience = self.timeout.unwrap_or(Duration::from_secs(u32::MAX.into()));
        client.call(with_id(request, id, None)?, patience + ANSWER, move |(), reply| {
            *slot.borrow_mut() = Some(reply);
        });
        let arrived = || answer.borrow().is_some();
        let ended = session.run_until(patience, arrived);
        let interrupted = match ended {
            Ok(true) => None,
            Ok(false) => Some(Failure::new("no result in time; the goal was canceled")),
            Err(failure) => Some(failure),
        };
        if interrupted.is_some() {
            cancel(session, action, id)?;
            session.run_until(ANSWER, arrived)?;
        }
        let reply = answer.borrow_mut().take();
        let Some(reply) = reply else {
            return Err(interrupted.unwrap_or_else(|| Failure::new("the server sent no result")));
        };
        let reply = DynamicMessage::from_payload(&response.ty, &reply?).map_err(undecodable)?;
        let state = match reply.get("status") {
            Some(Value::Int(status)) => GoalState::from_id(*status as i8),
            _ => GoalState::Unknown,
        };
        let status = state.to_string().to_uppercase();
        let result = reply.get("result");
        if environment.json() {
            output::json_line(&json!({"goal_id": hex(id), "status": status, "result": result}));
        } else {
            if let Some(Value::Message(result)) = result {
                out!("Result:\n    {}", result.to_yaml(YamlStyle::default()));
            }
            out!("Goal finished with status: {status}");
        }
        match interrupted {
            Some(failure) => Err(failure),
            None if state == GoalState::Succeeded => Ok(()),
            None => Err(Failure::new(format!("the goal did not succeed: {status}")).told_in_json()),
        }
    }
}

/// Prints feedback, but none before the goal's acceptance: it may overtake the answer.
struct Feedback {
    early: Option<Vec<Value>>,
    json: bool,
}

impl Feedback {
    fn arrived(&mut self, feedback: Value) {
        match &mut self.early {
            Some(early) => early.push(feedback),
            None if self.json => output::json_line(&json!({"feedback": feedback})),
            None => {
                if let Value::Message(feedback) = feedback {
                    out!("Feedback:\n    {}", feedback.to_yaml(YamlStyle::default()));
                }
            }
        }
    }

    fn accepted(&mut self) {
        self.early.take().into_iter().flatten().for_each(|feedback| self.arrived(feedback));
    }
}

fn follow_feedback(
    session: &Session,
    registry: &Registry,
    action: &str,
    ty: &str,
    id: GoalId,
    feedback: Rc<RefCell<Feedback>>,
) -> Result<()> {
    let topic = format!("{action}/_action/feedback");
    let name = format!("{ty}_FeedbackMessage");
    let graph = session.discover(|graph| !graph.publishers(&topic).is_empty())?;
    let known = types::resolve(registry, session, &name, &graph.publishers(&topic))?;
    let (name, hash) = known.name_and_hash();
    let ty = known.ty.clone();
    session.event_loop.subscribe_raw(&session.node, &topic, (name, hash), move |(), sample| {
        let Ok(message) = DynamicMessage::from_payload(&ty, &sample.message) else { return };
        if message.get("goal_id.uuid") == Some(&Value::Bytes(id.0.to_vec()))
            && let Some(news) = message.get("feedback")
        {
            feedback.borrow_mut().arrived(news.clone());
        }
    })?;
    Ok(())
}

fn cancel(session: &Session, action: &str, id: GoalId) -> Result<()> {
    err!("Canceling goal...");
    let goal_info = GoalInfo { goal_id: id.into(), stamp: Time::default() };
    let service = format!("{action}/_action/cancel_goal");
    let response = session.call::<CancelGoal>(&service, &CancelGoalRequest { goal_info }, ANSWER)?;
    match response.goals_canceling.is_empty() {
        true => err!("Failed to cancel goal (code {})", response.return_code),
        false => err!("Goal canceled."),
    }
    Ok(())
}

/// The type of the goal in a request.
fn goal_of(request: &MessageType) -> Option<Arc<MessageType>> {
    let field = request.fields().iter().find(|field| field.name() == "goal")?;
    match &field.value_type().element {
        Element::Message(goal) => Some(goal.clone()),
        Element::Base(_) => None,
    }
}

/// A request about one goal, with the goal itself where it is offered.
fn with_id(known: &types::KnownType, id: GoalId, goal: Option<&DynamicMessage>) -> Result<Vec<u8>> {
    let mut request = json!({"goal_id": {"uuid": id.0}});
    if let Some(goal) = goal {
        request["goal"] = json!(goal);
    }
    let message = DynamicMessage::from_json(&known.ty, &request.to_string(), None)
        .map_err(|error| Failure::new(format!("{}: {error}", known.name())))?;
    Ok(message.to_payload())
}

/// As `ros2 action` prints it: without dashes.
fn hex(id: GoalId) -> String {
    id.to_string().replace('-', "")
}

fn undecodable(error: rosless_schema::DecodeError) -> Failure {
    Failure::new(format!("the server's answer cannot be decoded: {error}"))
}
