//! Parameters of all nodes for Foxglove clients, by names such as `/node.parameter`.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use rosless_foxglove::message;
use rosless_graph::{Qos, parameters::ParameterValue};
use rosless_web::ClientId;
use rosless_wire::rcl_interfaces::msg::ParameterEvent;
use serde_json::{Value, json};

use crate::{
    app::App,
    foxglove::words,
    operators::system_of_node,
    parameters::{Done, from_json, to_json},
};

/// `/node.parameter`, as the protocol's other servers name parameters of nodes.
fn parameter_name(node: &str, name: &str) -> String {
    format!("{node}.{name}")
}

fn parameter_json(name: &str, value: &ParameterValue) -> Value {
    let mut parameter = json!({"name": name, "value": to_json(value)});
    match value {
        ParameterValue::Double(_) => parameter["type"] = "float64".into(),
        ParameterValue::DoubleArray(_) => parameter["type"] = "float64_array".into(),
        _ => {}
    }
    parameter
}

impl App {
    /// The nodes whose parameters can be asked for.
    fn nodes_with_parameters(&self) -> Vec<String> {
        let own = self.node.full_name();
        let services = self.graph().services();
        let nodes =
            services.keys().filter_map(|name| name.strip_suffix("/list_parameters")).map(str::to_owned);
        nodes.filter(|node| *node != own).collect()
    }

    pub(crate) fn foxglove_parameters(&mut self, id: ClientId, names: Vec<String>, number: Option<String>) {
        let mut wanted = BTreeMap::<String, Option<Vec<String>>>::new();
        let nodes = self.nodes_with_parameters();
        if names.is_empty() {
            wanted.extend(nodes.into_iter().map(|node| (node, None)));
        } else {
            for name in names {
                let node = nodes
                    .iter()
                    .filter(|node| name.strip_prefix(*node).is_some_and(|rest| rest.starts_with('.')));
                if let Some(node) = node.max_by_key(|node| node.len()) {
                    let own = name[node.len() + 1..].to_owned();
                    wanted.entry(node.clone()).or_default().get_or_insert_default().push(own);
                }
            }
        }
        if wanted.is_empty() {
            return self.answer(id, message::parameter_values(&[], number.as_deref()));
        }
        // The answer goes out when the last node has answered, or has not in time.
        let found = Rc::new(RefCell::new((wanted.len(), Vec::<Value>::new())));
        for (node, names) in wanted {
            let (found, number, of) = (found.clone(), number.clone(), node.clone());
            let done = Box::new(move |app: &mut App, values: Result<Vec<Value>, String>| {
                let mut found = found.borrow_mut();
                found.0 -= 1;
                for value in values.unwrap_or_default() {
                    let kind = value["type"].as_u64().and_then(|kind| u8::try_from(kind).ok()).unwrap_or(0);
                    if let (Some(name), Ok(typed)) =
                        (value["name"].as_str(), from_json(&value["value"], kind))
                    {
                        found.1.push(parameter_json(&parameter_name(&of, name), &typed));
                    }
                }
                if found.0 == 0 {
                    app.answer(id, message::parameter_values(&found.1, number.as_deref()));
                }
            });
            match names {
                Some(names) => self.read_parameters(&node, names, false, done),
                None => self.list_parameters(&node, done),
            }
        }
    }

    pub(crate) fn foxglove_set(&mut self, id: ClientId, parameters: Vec<Value>, number: Option<String>) {
        let nodes = self.nodes_with_parameters();
        let mut names = Vec::new();
        let left = Rc::new(RefCell::new((0_usize, false)));
        for parameter in parameters {
            let full = parameter["name"].as_str().unwrap_or_default().to_owned();
            let node = nodes
                .iter()
                .filter(|node| full.strip_prefix(*node).is_some_and(|rest| rest.starts_with('.')));
            let Some(node) = node.max_by_key(|node| node.len()).cloned() else {
                self.remark(id, &format!("no node has a parameter {full}"));
                continue;
            };
            let kind = match parameter["type"].as_str() {
                Some("float64") => 3,
                Some("float64_array") => 8,
                _ => 0,
            };
            let value = match from_json(&parameter["value"], kind) {
                Ok(value) => value,
                Err(error) => {
                    self.remark(id, &format!("{full}: {error}"));
                    continue;
                }
            };
            if let Err(missing) = self.permit(id, &[system_of_node(&node)]) {
                self.remark(id, &format!("{full}: {}", words(missing)));
                continue;
            }
            let name = full[node.len() + 1..].to_owned();
            names.push(full.clone());
            left.borrow_mut().0 += 1;
            let (left, all, number) = (left.clone(), names.clone(), number.clone());
            let done = Box::new(move |app: &mut App, result: Result<(), String>| {
                if let Err(error) = result {
                    app.remark(id, &format!("{full}: {error}"));
                }
                let last = {
                    let mut left = left.borrow_mut();
                    left.0 -= 1;
                    left.0 == 0
                };
                // Whoever asked with a number gets the values as they are now.
                if last && number.is_some() {
                    app.foxglove_parameters(id, all, number);
                }
            });
            // JSON does not tell 1 from 1.0: the node's own type decides.
            self.set_like(&node, &name, value, done);
        }
    }

    /// Sets a parameter; a whole number becomes a double where the node has one.
    fn set_like(&mut self, node: &str, name: &str, value: ParameterValue, done: Done<()>) {
        let (of, own) = (node.to_owned(), name.to_owned());
        self.read_parameters(
            node,
            vec![name.to_owned()],
            false,
            Box::new(move |app, found| {
                let kind = found.ok().and_then(|found| found.first().and_then(|p| p["type"].as_u64()));
                let value = match (kind, &value) {
                    (Some(3), ParameterValue::Integer(whole)) => ParameterValue::Double(*whole as f64),
                    (Some(8), ParameterValue::IntegerArray(all)) => {
                        ParameterValue::DoubleArray(all.iter().map(|v| *v as f64).collect())
                    }
                    _ => value,
                };
                app.set_parameter(&of, &own, value, done);
            }),
        );
    }

    pub(crate) fn follow_parameters(&mut self) {
        if self.foxglove.parameter_events.is_some() {
            return;
        }
        let changed = |app: &mut App, sample: rosless_graph::Sample<ParameterEvent>| {
            let event = sample.message;
            let changed: Vec<_> = event
                .new_parameters
                .into_iter()
                .chain(event.changed_parameters)
                .map(|p| (parameter_name(&event.node, &p.name), ParameterValue::from(p.value)))
                .collect();
            for id in app.foxglove_clients() {
                let Some(session) = app.foxglove_session(id) else { continue };
                let wanted: Vec<_> = changed
                    .iter()
                    .filter(|(name, _)| session.parameters.contains(name))
                    .map(|(name, value)| parameter_json(name, value))
                    .collect();
                if !wanted.is_empty() {
                    app.answer(id, message::parameter_values(&wanted, None));
                }
            }
        };
        match self.handle.subscribe(&self.node, ("/parameter_events", Qos::parameter_events()), changed) {
            Ok(subscription) => self.foxglove.parameter_events = Some(subscription),
            Err(error) => log::warn!(target: self.node.logger(), "/parameter_events: {error}"),
        }
    }
}
