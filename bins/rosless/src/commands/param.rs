//! `rosless param`.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Subcommand;
use rosless_graph::{
    Graph,
    config::{ParameterOverrides, parse_value},
    parameters::{ParameterType, ParameterValue},
};
use rosless_wire::rcl_interfaces::{
    msg::{Parameter, ParameterDescriptor},
    srv::{
        DescribeParameters, DescribeParametersRequest, GetParameters, GetParametersRequest, ListParameters,
        ListParametersRequest, SetParameters, SetParametersRequest,
    },
};
use serde_json::json;

use crate::{
    Environment,
    failure::{Failure, Result},
    output::{self, out},
    session::{Session, is_hidden},
};

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// List the parameters of one node or of all
    List {
        node_name: Option<String>,
        /// Show hidden nodes too
        #[arg(long)]
        include_hidden_nodes: bool,
        /// Only parameters that begin with one of these
        #[arg(long, value_name = "PREFIX", num_args = 1..)]
        param_prefixes: Vec<String>,
        /// Show the types too
        #[arg(long)]
        param_type: bool,
    },
    /// Print a parameter
    Get {
        node_name: String,
        parameter_name: String,
        /// Print the value only
        #[arg(long)]
        hide_type: bool,
    },
    /// Set a parameter
    Set {
        node_name: String,
        parameter_name: String,
        /// As YAML: true, 1, 1.0, text, [1, 2]
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Print what parameters are for and what they may be
    Describe {
        node_name: String,
        #[arg(required = true)]
        parameter_names: Vec<String>,
    },
    /// Print all parameters of a node as a parameter file
    Dump { node_name: String },
    /// Set the parameters that a parameter file has for a node
    Load {
        node_name: String,
        /// As `param dump` writes it and `--params-file` reads it
        parameter_file: PathBuf,
    },
    /// Take a parameter away that the node did not declare with a fixed type
    Delete { node_name: String, parameter_name: String },
}

const ANSWER: Duration = Duration::from_secs(5);

impl Command {
    pub(crate) fn run(self, environment: &Environment) -> Result<()> {
        let session = environment.join()?;
        match self {
            Self::List { node_name, include_hidden_nodes, param_prefixes, param_type } => {
                let nodes = match &node_name {
                    Some(name) => vec![find(&session, name)?],
                    None => nodes(&*session.whole_graph()?, include_hidden_nodes),
                };
                list(environment, &session, &nodes, node_name.is_none(), param_prefixes, param_type)
            }
            Self::Get { node_name, parameter_name, hide_type } => {
                let node = find(&session, &node_name)?;
                let value = get(&session, &node, vec![parameter_name.clone()])?.pop().unwrap_or_default();
                if value == ParameterValue::NotSet {
                    let known = names(&session, &node, Vec::new())?;
                    let known = known.iter().map(String::as_str);
                    return Err(match Failure::unknown("parameter", &parameter_name, known) {
                        near if near.message.contains("did you mean") => near,
                        _ => Failure::new(format!(
                            "Parameter '{parameter_name}' is not set; `rosless param list {node}` lists what is"
                        )),
                    });
                }
                match (environment.json(), hide_type) {
                    (true, _) => output::json(&value_json(&value)),
                    (_, true) => out!("{}", python(&value)),
                    _ => out!("{} {}", label(&value), python(&value)),
                }
                Ok(())
            }
            Self::Set { node_name, parameter_name, value } => {
                let value = parse_value(&value).unwrap_or(ParameterValue::String(value));
                let node = find(&session, &node_name)?;
                let reason = set(&session, &node, &parameter_name, value.clone())?
                    .map_err(|reason| Failure::new(format!("Setting parameter failed{reason}")))?;
                match environment.json() {
                    true => output::json(
                        &json!({"node": node, "parameter": parameter_name, "value": value_json(&value)}),
                    ),
                    false => out!("Set parameter successful{reason}"),
                }
                Ok(())
            }
            Self::Load { node_name, parameter_file } => {
                let node = find(&session, &node_name)?;
                load(environment, &session, &node, &parameter_file)
            }
            Self::Delete { node_name, parameter_name } => {
                let node = find(&session, &node_name)?;
                // Setting to "not set" is how ROS deletes.
                set(&session, &node, &parameter_name, ParameterValue::NotSet)?
                    .map_err(|reason| Failure::new(format!("Deleting parameter failed{reason}")))?;
                match environment.json() {
                    true => output::json(&json!({"node": node, "parameter": parameter_name})),
                    false => out!("Deleted parameter successfully"),
                }
                Ok(())
            }
            Self::Describe { node_name, parameter_names } => {
                let node = find(&session, &node_name)?;
                describe(environment, &session, &node, parameter_names)
            }
            Self::Dump { node_name } => {
                let node = find(&session, &node_name)?;
                dump(environment, &session, &node)
            }
        }
    }
}

fn nodes(graph: &Graph, include_hidden: bool) -> Vec<String> {
    let services = graph.services();
    let mut nodes: Vec<_> = graph.nodes().iter().map(ToString::to_string).collect();
    nodes.retain(|node| include_hidden || !is_hidden(node));
    nodes.retain(|node| services.contains_key(&format!("{node}/list_parameters")));
    nodes.dedup();
    nodes
}

/// Waits for a node with parameters.
fn find(session: &Session, name: &str) -> Result<String> {
    let node = session.find_node(name)?;
    let service = format!("{node}/get_parameters");
    let graph = session.discover(|graph| graph.services().contains_key(&service))?;
    match graph.services().contains_key(&service) {
        true => Ok(node),
        false => Err(Failure::new(format!("{node} has no parameter services"))),
    }
}

/// The names of a node's parameters, sorted.
fn names(session: &Session, node: &str, prefixes: Vec<String>) -> Result<Vec<String>> {
    let request = ListParametersRequest { prefixes, depth: 0 };
    let response = session.call::<ListParameters>(&format!("{node}/list_parameters"), &request, ANSWER)?;
    let mut names = response.result.names;
    names.sort();
    Ok(names)
}

fn get(session: &Session, node: &str, names: Vec<String>) -> Result<Vec<ParameterValue>> {
    let service = format!("{node}/get_parameters");
    let response = session.call::<GetParameters>(&service, &GetParametersRequest { names }, ANSWER)?;
    Ok(response.values.into_iter().map(ParameterValue::from).collect())
}

fn list(
    environment: &Environment,
    session: &Session,
    nodes: &[String],
    with_node: bool,
    prefixes: Vec<String>,
    with_type: bool,
) -> Result<()> {
    let mut document = BTreeMap::new();
    for node in nodes {
        let names = match names(session, node, prefixes.clone()) {
            Err(failure) if with_node && failure.code != 130 => {
                eprintln!("{node}: {}", failure.message);
                continue;
            }
            names => names?,
        };
        let values = if with_type { get(session, node, names.clone())? } else { Vec::new() };
        if environment.json() {
            document.insert(node, names);
            continue;
        }
        if with_node {
            out!("{node}:");
        }
        for (index, name) in names.iter().enumerate() {
            match values.get(index) {
                Some(value) => out!("  {name} (type: {})", type_name(value.kind())),
                None => out!("  {name}"),
            }
        }
    }
    if environment.json() {
        output::json(&document);
    }
    Ok(())
}

fn describe(environment: &Environment, session: &Session, node: &str, names: Vec<String>) -> Result<()> {
    let known = self::names(session, node, Vec::new())?;
    if let Some(missing) = names.iter().find(|name| !known.contains(name)) {
        return Err(Failure::unknown("parameter", missing, known.iter().map(String::as_str)));
    }
    let service = format!("{node}/describe_parameters");
    let response =
        session.call::<DescribeParameters>(&service, &DescribeParametersRequest { names }, ANSWER)?;
    if environment.json() {
        output::json(&response.descriptors);
        return Ok(());
    }
    for descriptor in response.descriptors {
        describe_one(&descriptor);
    }
    Ok(())
}

fn describe_one(descriptor: &ParameterDescriptor) {
    out!("Parameter name: {}", descriptor.name);
    out!("  Type: {}", type_name(kind(descriptor.r#type)));
    if !descriptor.description.is_empty() {
        out!("  Description: {}", descriptor.description);
    }
    out!("  Constraints:");
    if descriptor.read_only {
        out!("    Read only: true");
    }
    let range = |from: String, to: String, step: Option<String>| {
        out!("    Min value: {from}\n    Max value: {to}");
        if let Some(step) = step {
            out!("    Step: {step}");
        }
    };
    for r in descriptor.integer_range.iter() {
        let step = (r.step != 0).then(|| r.step.to_string());
        range(r.from_value.to_string(), r.to_value.to_string(), step);
    }
    for r in descriptor.floating_point_range.iter() {
        let step = (r.step != 0.0).then(|| format!("{:?}", r.step));
        range(format!("{:?}", r.from_value), format!("{:?}", r.to_value), step);
    }
    if !descriptor.additional_constraints.is_empty() {
        out!("    Additional constraints: {}", descriptor.additional_constraints);
    }
}

/// Sets one parameter. The node's answer: its remark, or why it refused.
fn set(
    session: &Session,
    node: &str,
    name: &str,
    value: ParameterValue,
) -> Result<std::result::Result<String, String>> {
    let parameters = vec![Parameter { name: name.to_owned(), value: value.into() }];
    let service = format!("{node}/set_parameters");
    let response = session.call::<SetParameters>(&service, &SetParametersRequest { parameters }, ANSWER)?;
    let result = response.results.into_iter().next().unwrap_or_default();
    let reason = if result.reason.is_empty() { String::new() } else { format!(": {}", result.reason) };
    Ok(if result.successful { Ok(reason) } else { Err(reason) })
}

/// Sets what a file has for a node, one parameter after the other: what one refuses does not keep the others.
fn load(environment: &Environment, session: &Session, node: &str, path: &Path) -> Result<()> {
    let wrong = |error: &dyn std::fmt::Display| Failure::usage(format!("{}: {error}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| wrong(&error))?;
    let mut overrides = ParameterOverrides::default();
    overrides.add_file(&text).map_err(|error| wrong(&error))?;
    let values = overrides.for_node(node);
    if values.is_empty() {
        return Err(wrong(&format!("there is nothing for {node} in it")));
    }
    let mut answers = Vec::new();
    for (name, value) in values {
        let answer = set(session, node, &name, value.clone())?;
        if !environment.json() {
            match &answer {
                Ok(reason) => out!("Set parameter {name} successful{reason}"),
                Err(reason) => eprintln!("Set parameter {name} failed{reason}"),
            }
        }
        answers.push(json!({"parameter": name, "value": value_json(&value), "successful": answer.is_ok(),
            "reason": answer.unwrap_or_else(|reason| reason).trim_start_matches(": ")}));
    }
    if environment.json() {
        output::json(&json!({"node": node, "parameters": answers}));
    }
    match answers.iter().filter(|answer| answer["successful"] == false).count() {
        0 => Ok(()),
        refused => Err(Failure::new(format!("{node} refused {refused} of {} parameters", answers.len()))),
    }
}

/// Parameters as a file that `--params-file` reads.
fn dump(environment: &Environment, session: &Session, node: &str) -> Result<()> {
    let names = names(session, node, Vec::new())?;
    let values = get(session, node, names.clone())?;
    let mut tree = Tree::default();
    for (name, value) in names.iter().zip(&values) {
        tree.insert(name, value_json(value));
    }
    let document = json!({node: {"ros__parameters": tree.into_json()}});
    match environment.json() {
        true => output::json(&document),
        false => output::text(format_args!("{}", serde_yaml_ng::to_string(&document).unwrap_or_default())),
    }
    Ok(())
}

/// Parameters nested at the dots of their names.
#[derive(Default)]
struct Tree(BTreeMap<String, Branch>);

enum Branch {
    Leaf(serde_json::Value),
    Tree(Tree),
}

impl Tree {
    fn insert(&mut self, name: &str, value: serde_json::Value) {
        match name.split_once('.') {
            // A name that is also a prefix of others cannot be nested; dots are fine in a key.
            Some((first, rest)) if !matches!(self.0.get(first), Some(Branch::Leaf(_))) => {
                let branch = self.0.entry(first.to_owned()).or_insert_with(|| Branch::Tree(Self::default()));
                if let Branch::Tree(tree) = branch {
                    tree.insert(rest, value);
                }
            }
            _ => {
                self.0.insert(name.to_owned(), Branch::Leaf(value));
            }
        }
    }

    fn into_json(self) -> serde_json::Value {
        let entries = self.0.into_iter().map(|(name, branch)| match branch {
            Branch::Leaf(value) => (name, value),
            Branch::Tree(tree) => (name, tree.into_json()),
        });
        serde_json::Value::Object(entries.collect())
    }
}

fn kind(id: u8) -> ParameterType {
    use ParameterType as T;
    let all = [
        T::Bool,
        T::Integer,
        T::Double,
        T::String,
        T::ByteArray,
        T::BoolArray,
        T::IntegerArray,
        T::DoubleArray,
        T::StringArray,
    ];
    all.into_iter().find(|kind| kind.id() == id).unwrap_or_default()
}

/// The type as `ros2 param` spells it.
fn type_name(kind: ParameterType) -> &'static str {
    match kind {
        ParameterType::NotSet => "not set",
        ParameterType::Bool => "boolean",
        ParameterType::Integer => "integer",
        ParameterType::Double => "double",
        ParameterType::String => "string",
        ParameterType::ByteArray => "byte array",
        ParameterType::BoolArray => "boolean array",
        ParameterType::IntegerArray => "integer array",
        ParameterType::DoubleArray => "double array",
        ParameterType::StringArray => "string array",
    }
}

fn label(value: &ParameterValue) -> &'static str {
    match value {
        ParameterValue::NotSet => "Parameter not set.",
        ParameterValue::Bool(_) => "Boolean value is:",
        ParameterValue::Integer(_) => "Integer value is:",
        ParameterValue::Double(_) => "Double value is:",
        ParameterValue::String(_) => "String value is:",
        ParameterValue::ByteArray(_) => "Byte values are:",
        ParameterValue::BoolArray(_) => "Boolean values are:",
        ParameterValue::IntegerArray(_) => "Integer values are:",
        ParameterValue::DoubleArray(_) => "Double values are:",
        ParameterValue::StringArray(_) => "String values are:",
    }
}

fn value_json(value: &ParameterValue) -> serde_json::Value {
    match value {
        ParameterValue::NotSet => serde_json::Value::Null,
        ParameterValue::Bool(value) => json!(value),
        ParameterValue::Integer(value) => json!(value),
        ParameterValue::Double(value) => json!(value),
        ParameterValue::String(value) => json!(value),
        ParameterValue::ByteArray(values) => json!(values),
        ParameterValue::BoolArray(values) => json!(values),
        ParameterValue::IntegerArray(values) => json!(values),
        ParameterValue::DoubleArray(values) => json!(values),
        ParameterValue::StringArray(values) => json!(values),
    }
}

/// The value as Python prints it.
fn python(value: &ParameterValue) -> String {
    fn all<T>(values: &[T], one: impl Fn(&T) -> String) -> String {
        format!("[{}]", values.iter().map(one).collect::<Vec<_>>().join(", "))
    }
    let boolean = |value: &bool| if *value { "True".to_owned() } else { "False".to_owned() };
    match value {
        ParameterValue::NotSet => String::new(),
        ParameterValue::Bool(value) => boolean(value),
        ParameterValue::Integer(value) => value.to_string(),
        ParameterValue::Double(value) => format!("{value:?}"),
        ParameterValue::String(value) => value.clone(),
        ParameterValue::ByteArray(values) => all(values, |byte| format!("b'\\x{byte:02x}'")),
        ParameterValue::BoolArray(values) => all(values, boolean),
        ParameterValue::IntegerArray(values) => format!("array('q', {})", all(values, i64::to_string)),
        ParameterValue::DoubleArray(values) => format!("array('d', {})", all(values, |v| format!("{v:?}"))),
        ParameterValue::StringArray(values) => all(values, |text| format!("'{text}'")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_nest_unless_the_prefix_is_a_parameter_itself() {
        let mut tree = Tree::default();
        for name in ["a", "a.b", "c.d.e", "c.d.f"] {
            tree.insert(name, json!(1));
        }
        assert_eq!(tree.into_json(), json!({"a": 1, "a.b": 1, "c": {"d": {"e": 1, "f": 1}}}));
    }

    #[test]
    fn values_print_as_ros2_prints_them() {
        assert_eq!(python(&ParameterValue::Bool(false)), "False");
        assert_eq!(python(&ParameterValue::Double(1.0)), "1.0");
        assert_eq!(python(&ParameterValue::IntegerArray(vec![1, -2])), "array('q', [1, -2])");
        assert_eq!(python(&ParameterValue::StringArray(vec!["a".into()])), "['a']");
    }
}
