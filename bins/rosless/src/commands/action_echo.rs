//! `rosless action echo`.

use std::{cell::Cell, rc::Rc, time::Duration};

use clap::Args;
use rosless_graph::qos::to_hear_all;
use rosless_schema::{DynamicMessage, YamlStyle};
use serde_json::json;

use super::{action::unknown, names};
use crate::{
    Environment,
    cli::seconds,
    failure::{Failure, Result},
    output::{self, err, out},
    session::{FOREVER, Session, absolute},
    types,
};

#[derive(Args, Debug)]
pub(crate) struct Echo {
    #[arg(add = names::actions())]
    action_name: String,
    /// Print each message on one line
    #[arg(long)]
    flow_style: bool,
    /// Leave after this long; exit code 1 if nothing came
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    timeout: Option<Duration>,
}

/// What an action is made of, with the end of its topic and of its type.
const PARTS: [(&str, &str, &str); 5] = [
    ("GOAL_SERVICE", "send_goal/_service_event", "_SendGoal_Event"),
    ("CANCEL_SERVICE", "cancel_goal/_service_event", ""),
    ("RESULT_SERVICE", "get_result/_service_event", "_GetResult_Event"),
    ("FEEDBACK_TOPIC", "feedback", "_FeedbackMessage"),
    ("STATUS_TOPIC", "status", ""),
];

/// The type of that part of an action; two are the same for all.
fn part_type(action_type: &str, interface: &str, suffix: &str) -> String {
    match interface {
        "CANCEL_SERVICE" => "action_msgs/srv/CancelGoal_Event".to_owned(),
        "STATUS_TOPIC" => "action_msgs/msg/GoalStatusArray".to_owned(),
        _ => format!("{action_type}{suffix}"),
    }
}

impl Echo {
    pub(crate) fn run(&self, environment: &Environment, session: &Session) -> Result<()> {
        let action = absolute(&self.action_name);
        let topics = PARTS.map(|(_, end, _)| format!("{action}/_action/{end}"));
        session.look_for(|graph| graph.actions().contains_key(&action))?;
        // An action is known by the end that takes goals; those that tell of it may come later.
        let graph = session.discover(|graph| topics.iter().all(|t| !graph.publishers(t).is_empty()))?;
        let found = graph.actions().remove(&action).ok_or_else(|| unknown(&graph, &action))?;
        let action_type = found.first().cloned().unwrap_or_default();
        let registry = environment.registry()?;
        let shown = Rc::new(Cell::new(0_u64));
        for (topic, (interface, _, suffix)) in topics.into_iter().zip(PARTS) {
            let publishers = graph.publishers(&topic);
            let name = part_type(&action_type, interface, suffix);
            let known = match types::resolve(&registry, session, &name, &publishers) {
                Ok(known) => known,
                Err(failure) if failure.is_interruption() => return Err(failure),
                Err(failure) => {
                    err!("{topic}: {}", failure.message);
                    continue;
                }
            };
            let (ty, counter, flow) = (known.ty.clone(), shown.clone(), self.flow_style);
            let qos = to_hear_all(&publishers).0.keep_last(100);
            session.event_loop.subscribe_raw(
                &session.node,
                (&topic, qos),
                (known.name(), &known.hash),
                move |(), sample| {
                    let Ok(message) = DynamicMessage::from_payload(&ty, &sample.message) else { return };
                    counter.set(counter.get() + 1);
                    match output::is_json() {
                        true => output::json_line(&json!({"interface": interface, "message": message})),
                        false => {
                            let style = YamlStyle { flow, ..YamlStyle::default() };
                            out!("interface: {interface}\n{}---", message.to_yaml(style));
                        }
                    }
                },
            )?;
        }
        match session.run_until(self.timeout.unwrap_or(FOREVER), output::closed) {
            Err(interrupted) if interrupted.is_interruption() && shown.get() > 0 => Ok(()),
            Err(other) => Err(other),
            Ok(_) if shown.get() == 0 && !output::closed() => {
                Err(Failure::new(format!("nothing was heard of {action}: no goal, no feedback, no state")))
            }
            Ok(_) => Ok(()),
        }
    }
}
