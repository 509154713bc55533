//! `rosless param`.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Subcommand;
use regex_lite::Regex;
use rosless_graph::{
    Graph,
    config::{ParameterOverrides, guess_value},
    parameters::{ParameterType, ParameterValue},
};
use rosless_schema::{Value, python, yaml_float, yaml_text};
use rosless_wire::rcl_interfaces::msg::ParameterDescriptor;
use serde_json::json;

use super::{HiddenNodes, names::nodes as node_names};
use crate::{
    Environment,
    failure::{Failure, Result},
    output::{self, err, out},
    session::{Session, is_hidden},
};

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// List the parameters of one node or of all
    List {
        #[arg(add = node_names())]
        node_name: Option<String>,
        /// Show hidden nodes too
        #[arg(long)]
        include_hidden_nodes: bool,
        /// Only parameters that begin with one of these
        #[arg(long, value_name = "PREFIX", num_args = 1..)]
        param_prefixes: Vec<String>,
        /// Only parameters whose names begin as this regular expression says
        #[arg(long, value_name = "REGEX", value_parser = beginning)]
        filter: Option<Regex>,
        /// Show the types too
        #[arg(long)]
        param_type: bool,
    },
    /// Print a parameter, or several
    Get {
        #[arg(add = node_names())]
        node_name: String,
        #[arg(required = true)]
        parameter_name: Vec<String>,
        /// Print the value only
        #[arg(long)]
        hide_type: bool,
        #[command(flatten)]
        _hidden: HiddenNodes,
    },
    /// Set a parameter, or several
    Set {
        #[arg(add = node_names())]
        node_name: String,
        parameter_name: String,
        /// As YAML: true, 1, 1.0, text, [1, 2]
        #[arg(allow_hyphen_values = true)]
        value: String,
        /// More names and values, each name before its value; set one after the other
        #[arg(allow_hyphen_values = true, value_name = "NAME VALUE")]
        more: Vec<String>,
        #[command(flatten)]
        _hidden: HiddenNodes,
    },
    /// Print what parameters are for and what they may be
    Describe {
        #[arg(add = node_names())]
        node_name: String,
        #[arg(required = true)]
        parameter_names: Vec<String>,
        #[command(flatten)]
        _hidden: HiddenNodes,
    },
    /// Print all parameters of a node as a parameter file
    Dump {
        #[arg(add = node_names())]
        node_name: String,
        #[command(flatten)]
        _hidden: HiddenNodes,
    },
    /// Set the parameters that a parameter file has for a node
    Load {
        #[arg(add = node_names())]
        node_name: String,
        /// As `param dump` writes it and `--params-file` reads it
        parameter_file: PathBuf,
        /// Leave out what the file has for nodes named by a pattern, such as `/**`
        #[arg(long)]
        no_use_wildcard: bool,
        #[command(flatten)]
        _hidden: HiddenNodes,
    },
    /// Take a parameter away that the node did not declare with a fixed type
    Delete {
        #[arg(add = node_names())]
        node_name: String,
        parameter_name: String,
        #[command(flatten)]
        _hidden: HiddenNodes,
    },
}

const ANSWER: Duration = Duration::from_secs(5);

impl Command {
    pub(crate) fn run(self, environment: &Environment) -> Result<()> {
        let session = environment.join()?;
        match self {
            Self::List { node_name, include_hidden_nodes, param_prefixes, filter, param_type } => {
                let nodes = match &node_name {
                    Some(name) => vec![find(&session, name)?],
                    None => nodes(&*session.whole_graph()?, include_hidden_nodes),
                };
                let names = |node: &str| -> Result<Vec<String>> {
                    let mut names = names(&session, node, param_prefixes.clone())?;
                    names.retain(|name| filter.as_ref().is_none_or(|filter| filter.is_match(name)));
                    Ok(names)
                };
                list(environment, &session, &nodes, names, node_name.is_none(), param_type)
            }
            Self::Get { node_name, parameter_name, hide_type, .. } => {
                let node = find(&session, &node_name)?;
                let values = get(&session, &node, parameter_name.clone())?;
                // A node that does not have all of them answers with less.
                if values.len() != parameter_name.len() || values.contains(&ParameterValue::NotSet) {
                    let known = names(&session, &node, Vec::new())?;
                    let unset = |(index, name): &(usize, &String)| match values.len() == parameter_name.len()
                    {
                        true => values[*index] == ParameterValue::NotSet,
                        false => !known.contains(name),
                    };
                    let missing = parameter_name.iter().enumerate().find(unset).map_or("", |(_, name)| name);
                    return Err(unknown(&node, missing, &known));
                }
                let text = |value: &ParameterValue| match hide_type {
                    true => shown(value),
                    false => format!("{} {}", label(value), shown(value)),
                };
                match (environment.json(), values.as_slice()) {
                    (true, [value]) => output::json(&value_json(value)),
                    (true, values) => {
                        let entries = parameter_name.iter().zip(values.iter().map(value_json));
                        output::json(&entries.collect::<BTreeMap<_, _>>());
                    }
                    (false, [value]) => out!("{}", text(value)),
                    (false, values) => {
                        for (name, value) in parameter_name.iter().zip(values) {
                            out!("{name}: {}", text(value));
                        }
                    }
                }
                Ok(())
            }
            Self::Set { node_name, parameter_name, value, more, .. } => {
                let words = [vec![parameter_name, value], more].concat();
                if let [name] = words.chunks_exact(2).remainder() {
                    return Err(Failure::usage(format!("parameter {name} has no value")));
                }
                let node = find(&session, &node_name)?;
                for pair in words.chunks_exact(2) {
                    let (name, value) = (&pair[0], guess_value(&pair[1]));
                    let named = if words.len() > 2 { format!(" {name}") } else { String::new() };
                    let reason = set(&session, &node, name, value.clone())?
                        .map_err(|reason| Failure::new(format!("Setting parameter{named} failed{reason}")))?;
                    match environment.json() {
                        true => output::json(
                            &json!({"node": node, "parameter": name, "value": value_json(&value)}),
                        ),
                        false => out!("Set parameter{named} successful{reason}"),
                    }
                }
                Ok(())
            }
            Self::Load { node_name, parameter_file, no_use_wildcard, .. } => {
                let node = find(&session, &node_name)?;
                load(environment, &session, &node, &parameter_file, no_use_wildcard)
            }
            Self::Delete { node_name, parameter_name, .. } => {
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
            Self::Describe { node_name, parameter_names, .. } => {
                let node = find(&session, &node_name)?;
                describe(environment, &session, &node, parameter_names)
            }
            Self::Dump { node_name, .. } => {
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
    let node = session.find_node_offering(name, "list_parameters")?;
    let service = format!("{node}/get_parameters");
    let graph = session.discover(|graph| graph.services().contains_key(&service))?;
    match graph.services().contains_key(&service) {
        true => Ok(node),
        false => Err(Failure::new(format!("{node} has no parameter services"))),
    }
}

/// A regular expression that a name has to begin with, as Python's `match` has it.
fn beginning(text: &str) -> std::result::Result<Regex, regex_lite::Error> {
    Regex::new(&format!("^(?:{text})"))
}

/// The names of a node's parameters, sorted.
fn names(session: &Session, node: &str, prefixes: Vec<String>) -> Result<Vec<String>> {
    let mut names = session.answered(|done| session.parameters(node).list(prefixes, ANSWER, done))?;
    names.sort();
    Ok(names)
}

/// What to say of a parameter that a node does not have.
fn unknown(node: &str, name: &str, known: &[String]) -> Failure {
    match Failure::unknown("parameter", name, known.iter().map(String::as_str)) {
        near if near.message.contains("did you mean") => Failure::new(near.message),
        _ => {
            Failure::new(format!("Parameter '{name}' is not set; `rosless param list {node}` lists what is"))
        }
    }
}

fn get(session: &Session, node: &str, names: Vec<String>) -> Result<Vec<ParameterValue>> {
    session.answered(|done| session.parameters(node).get(names, ANSWER, done))
}

fn list(
    environment: &Environment,
    session: &Session,
    nodes: &[String],
    names: impl Fn(&str) -> Result<Vec<String>>,
    with_node: bool,
    with_type: bool,
) -> Result<()> {
    let mut document = BTreeMap::new();
    for node in nodes {
        let names = match names(node) {
            Err(failure) if with_node && failure.code != 130 => {
                err!("{node}: {}", failure.message);
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
        return Err(unknown(node, missing, &known));
    }
    let descriptors = session.answered(|done| session.parameters(node).describe(names, ANSWER, done))?;
    if environment.json() {
        output::json(&descriptors);
        return Ok(());
    }
    for descriptor in descriptors {
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
        let step = (r.step != 0.0).then(|| python::float(r.step));
        range(python::float(r.from_value), python::float(r.to_value), step);
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
    let values = [(name.to_owned(), value)];
    let results = session.answered(|done| session.parameters(node).set(&values, ANSWER, done))?;
    let result = results.into_iter().next().unwrap_or_default();
    let reason = if result.reason.is_empty() { String::new() } else { format!(": {}", result.reason) };
    Ok(if result.successful { Ok(reason) } else { Err(reason) })
}

/// Sets what a file has for a node, one parameter after the other: what one refuses does not keep the others.
fn load(
    environment: &Environment,
    session: &Session,
    node: &str,
    path: &Path,
    no_wildcard: bool,
) -> Result<()> {
    let wrong = |error: &dyn std::fmt::Display| Failure::usage(format!("{}: {error}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| wrong(&error))?;
    let mut overrides = ParameterOverrides::default();
    overrides.add_file(&text).map_err(|error| wrong(&error))?;
    let values = if no_wildcard { overrides.for_name(node) } else { overrides.for_node(node) };
    if values.is_empty() {
        return Err(wrong(&format!("there is nothing for {node} in it")));
    }
    let mut answers = Vec::new();
    for (name, value) in values {
        let answer = set(session, node, &name, value.clone())?;
        if !environment.json() {
            match &answer {
                Ok(reason) => out!("Set parameter {name} successful{reason}"),
                Err(reason) => err!("Set parameter {name} failed{reason}"),
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
    for (name, value) in names.iter().zip(values) {
        tree.insert(name, value);
    }
    match environment.json() {
        true => output::json(&json!({node: {"ros__parameters": tree.json()}})),
        false if tree.0.is_empty() => out!("{}:\n  ros__parameters: {{}}\n", yaml_text(node, 0)),
        false => out!("{}:\n  ros__parameters:\n{}", yaml_text(node, 0), tree.yaml(4)),
    }
    Ok(())
}

/// Parameters nested at the dots of their names.
#[derive(Default)]
struct Tree(BTreeMap<String, Branch>);

enum Branch {
    Leaf(ParameterValue),
    Tree(Tree),
}

impl Tree {
    fn insert(&mut self, name: &str, value: ParameterValue) {
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

    fn json(&self) -> serde_json::Value {
        let entries = self.0.iter().map(|(name, branch)| match branch {
            Branch::Leaf(value) => (name.clone(), value_json(value)),
            Branch::Tree(tree) => (name.clone(), tree.json()),
        });
        serde_json::Value::Object(entries.collect())
    }

    /// As PyYAML writes it.
    fn yaml(&self, indent: usize) -> String {
        let mut text = String::new();
        for (name, branch) in &self.0 {
            text.push_str(&format!("{:indent$}{}:", "", yaml_text(name, indent)));
            match branch {
                Branch::Tree(tree) => text.push_str(&format!("\n{}", tree.yaml(indent + 2))),
                Branch::Leaf(value) => match yaml(value, indent + 2) {
                    Lines::One(value) => text.push_str(&format!(" {value}\n")),
                    Lines::Many(items) => {
                        let lines = items.iter().map(|item| format!("{:indent$}- {item}\n", ""));
                        text.push_str(&format!("\n{}", lines.collect::<String>()));
                    }
                },
            }
        }
        text
    }
}

enum Lines {
    One(String),
    Many(Vec<String>),
}

/// A parameter in YAML; text that goes over several lines continues at this indent.
fn yaml(value: &ParameterValue, indent: usize) -> Lines {
    fn all<T>(values: &[T], one: impl Fn(&T) -> String) -> Lines {
        match values {
            [] => Lines::One("[]".to_owned()),
            values => Lines::Many(values.iter().map(one).collect()),
        }
    }
    match value {
        ParameterValue::NotSet => Lines::One("null".to_owned()),
        ParameterValue::Bool(value) => Lines::One(value.to_string()),
        ParameterValue::Integer(value) => Lines::One(value.to_string()),
        ParameterValue::Double(value) => Lines::One(yaml_float(*value)),
        ParameterValue::String(value) => Lines::One(yaml_text(value, indent)),
        ParameterValue::ByteArray(values) => all(values, u8::to_string),
        ParameterValue::BoolArray(values) => all(values, bool::to_string),
        ParameterValue::IntegerArray(values) => all(values, i64::to_string),
        ParameterValue::DoubleArray(values) => all(values, |value| yaml_float(*value)),
        ParameterValue::StringArray(values) => all(values, |value| yaml_text(value, indent)),
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
        ParameterValue::Double(value) => json!(Value::F64(*value)),
        ParameterValue::String(value) => json!(value),
        ParameterValue::ByteArray(values) => json!(values),
        ParameterValue::BoolArray(values) => json!(values),
        ParameterValue::IntegerArray(values) => json!(values),
        ParameterValue::DoubleArray(values) => values.iter().map(|value| json!(Value::F64(*value))).collect(),
        ParameterValue::StringArray(values) => json!(values),
    }
}

/// The value as Python prints it.
fn shown(value: &ParameterValue) -> String {
    fn all<T>(values: &[T], one: impl Fn(&T) -> String) -> String {
        format!("[{}]", values.iter().map(one).collect::<Vec<_>>().join(", "))
    }
    let boolean = |value: &bool| if *value { "True".to_owned() } else { "False".to_owned() };
    match value {
        ParameterValue::NotSet => String::new(),
        ParameterValue::Bool(value) => boolean(value),
        ParameterValue::Integer(value) => value.to_string(),
        ParameterValue::Double(value) => python::float(*value),
        ParameterValue::String(value) => value.clone(),
        ParameterValue::ByteArray(values) => all(values, |byte| python::bytes(&[*byte])),
        ParameterValue::BoolArray(values) => all(values, boolean),
        ParameterValue::IntegerArray(values) => all(values, i64::to_string),
        ParameterValue::DoubleArray(values) => all(values, |value| python::float(*value)),
        ParameterValue::StringArray(values) => all(values, |text| python::string(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_nest_unless_the_prefix_is_a_parameter_itself() {
        let mut tree = Tree::default();
        for name in ["a", "a.b", "c.d.e", "c.d.f"] {
            tree.insert(name, ParameterValue::Integer(1));
        }
        assert_eq!(tree.json(), json!({"a": 1, "a.b": 1, "c": {"d": {"e": 1, "f": 1}}}));
        assert_eq!(tree.yaml(0), "a: 1\na.b: 1\nc:\n  d:\n    e: 1\n    f: 1\n");
    }

    #[test]
    fn values_print_as_ros2_prints_them() {
        use ParameterValue as V;
        let table = [
            (V::Bool(false), "False"),
            (V::Double(1.0), "1.0"),
            (V::Double(1e-7), "1e-07"),
            (V::Double(f64::NEG_INFINITY), "-inf"),
            (V::DoubleArray(vec![f64::NAN, 1e16]), "[nan, 1e+16]"),
            (V::IntegerArray(vec![1, -2]), "[1, -2]"),
            (V::IntegerArray(vec![]), "[]"),
            (V::StringArray(vec!["a".into(), "it's".into(), "\n".into()]), r#"['a', "it's", '\n']"#),
            (V::ByteArray(vec![65, 0]), r"[b'A', b'\x00']"),
        ];
        for (value, expected) in table {
            assert_eq!(shown(&value), expected);
        }
    }

    #[test]
    fn a_dump_is_what_pyyaml_writes_and_json_has_words_for_what_is_no_number() {
        use ParameterValue as V;
        let mut tree = Tree::default();
        for (name, value) in [
            ("big", V::Double(f64::INFINITY)),
            ("list", V::DoubleArray(vec![1e-7, f64::NAN, f64::NEG_INFINITY])),
            ("none", V::StringArray(vec![])),
            ("text", V::String("yes".into())),
            ("words", V::StringArray(vec!["1.0".into(), "a: b".into()])),
        ] {
            tree.insert(name, value);
        }
        assert_eq!(
            tree.yaml(2),
            "  big: .inf\n  list:\n  - 1.0e-07\n  - .nan\n  - -.inf\n  none: []\n  text: 'yes'\n  words:\n  \
             - '1.0'\n  - 'a: b'\n"
        );
        assert_eq!(tree.json()["big"], "Infinity");
        assert_eq!(tree.json()["list"], json!([1e-7, "NaN", "-Infinity"]));
    }
}
