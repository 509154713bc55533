//! Parameter values in YAML, from `--params-file` and `-p`, typed as rcl types them.
//!
//! The parser hands out scalars with their style, because `"yes"` is a string and `yes` is a boolean.

use std::collections::BTreeMap;

use rosless_schema::pyyaml::{self, Plain};
use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};

use super::UsageError;
use crate::{
    names::{check_namespace, check_node_name},
    parameters::{ParameterType, ParameterValue},
};

/// Files nested deeper than any sane configuration are refused instead of followed.
const MAX_DEPTH: usize = 64;
const PARAMETERS_KEY: &str = "ros__parameters";

/// Values given from outside for parameters of nodes that may be declared later.
///
/// A node is named by a pattern: `/ns/node`, with `*` for any one token and `**` for any number of them. Where
/// several patterns match, the one first seen is applied first and the later ones win, as in rclcpp.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParameterOverrides {
    nodes: Vec<(String, BTreeMap<String, ParameterValue>)>,
}

impl ParameterOverrides {
    /// Sets a value for the nodes that match `pattern`; without a leading `/` it is taken from the root.
    pub fn set(&mut self, pattern: &str, parameter: &str, value: ParameterValue) -> Result<(), UsageError> {
        self.node(pattern)?.insert(parameter.to_owned(), value);
        Ok(())
    }

    fn node(&mut self, pattern: &str) -> Result<&mut BTreeMap<String, ParameterValue>, UsageError> {
        let pattern = format!("/{}", pattern.strip_prefix('/').unwrap_or(pattern));
        let tokens: Vec<_> = pattern[1..].split('/').collect();
        let valid = tokens.iter().enumerate().all(|(i, token)| {
            let named = if i + 1 == tokens.len() {
                check_node_name(token).is_ok()
            } else {
                check_namespace(&format!("/{token}")).is_ok()
            };
            named || matches!(*token, "*" | "**")
        });
        if !valid {
            let message = format!(
                "'{pattern}' is no node name or pattern: expected /ns/node, with '*' or '**' for tokens"
            );
            return Err(UsageError::new(message));
        }
        let index = self.nodes.iter().position(|(p, _)| *p == pattern).unwrap_or_else(|| {
            self.nodes.push((pattern, BTreeMap::new()));
            self.nodes.len() - 1
        });
        Ok(&mut self.nodes[index].1)
    }

    /// Adds what a parameter file says; later values win over earlier ones of the same pattern.
    pub fn add_file(&mut self, yaml: &str) -> Result<(), UsageError> {
        let mut events = Events(Parser::new_from_str(yaml));
        loop {
            match events.next()? {
                (Event::MappingStart(..), _) => self.read_nodes(&mut events, "", 0)?,
                (Event::StreamEnd, _) => return Ok(()),
                (Event::Scalar(..) | Event::SequenceStart(..), span) => {
                    return Err(at(span, "expected node names with 'ros__parameters' below them"));
                }
                _ => {}
            }
        }
    }

    /// Everything that was given for the node with this full name.
    pub fn for_node(&self, full_name: &str) -> BTreeMap<String, ParameterValue> {
        let tokens: Vec<_> = full_name.split('/').skip(1).collect();
        let mut found = BTreeMap::new();
        for (pattern, values) in &self.nodes {
            if matches(&pattern.split('/').skip(1).collect::<Vec<_>>(), &tokens) {
                found.extend(values.iter().map(|(name, value)| (name.clone(), value.clone())));
            }
        }
        found
    }

    /// What was given for exactly this full name, and not by a pattern.
    pub fn for_name(&self, full_name: &str) -> BTreeMap<String, ParameterValue> {
        self.nodes
            .iter()
            .find(|(pattern, _)| pattern == full_name)
            .map_or_else(BTreeMap::new, |(_, v)| v.clone())
    }

    fn read_nodes(&mut self, events: &mut Events<'_>, path: &str, depth: usize) -> Result<(), UsageError> {
        while let Some((key, span)) = events.key()? {
            let start = events.next()?;
            match (key == PARAMETERS_KEY, &start.0) {
                (true, _) if path.is_empty() => {
                    return Err(at(span, "there is no node name above 'ros__parameters'"));
                }
                (true, Event::MappingStart(..)) => {
                    self.node(path).map_err(|error| at(span, &error.to_string()))?;
                    self.read_parameters(events, path, "", depth + 1)?;
                }
                (false, Event::MappingStart(..)) if depth < MAX_DEPTH => {
                    let key = key.trim_matches('/');
                    self.read_nodes(events, &format!("{path}/{key}"), depth + 1)?;
                }
                (false, Event::MappingStart(..)) => return Err(at(span, "nested too deeply")),
                (true, _) => return Err(at(span, "'ros__parameters' must hold parameter names and values")),
                (false, _) => return Err(at(start.1, "a value must be below 'ros__parameters'")),
            }
        }
        Ok(())
    }

    fn read_parameters(
        &mut self,
        events: &mut Events<'_>,
        node: &str,
        prefix: &str,
        depth: usize,
    ) -> Result<(), UsageError> {
        while let Some((key, span)) = events.key()? {
            let name = if prefix.is_empty() { key } else { format!("{prefix}.{key}") };
            match events.next()? {
                (Event::MappingStart(..), _) if depth < MAX_DEPTH => {
                    self.read_parameters(events, node, &name, depth + 1)?;
                }
                (Event::MappingStart(..), _) => return Err(at(span, "nested too deeply")),
                event => {
                    if let Some(value) = events.value(event)? {
                        self.set(node, &name, value)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The value that `text` is in YAML: a scalar or a list of scalars of one type.
pub fn parse_value(text: &str) -> Result<ParameterValue, UsageError> {
    let mut events = Events(Parser::new_from_str(text));
    let mut value = None;
    loop {
        match events.next()? {
            (Event::StreamEnd, _) => return value.ok_or_else(|| UsageError::new("there is no value")),
            (Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd, _) => {}
            (_, span) if value.is_some() => return Err(at(span, "there is more than one value")),
            event => value = Some(events.value(event)?.unwrap_or_default()),
        }
    }
}

/// The value that `ros2 param set` takes `text` for: Python's reading of YAML, and text where that gives no parameter.
pub fn guess_value(text: &str) -> ParameterValue {
    let is_node = |(event, _): &(Event<'_>, Span)| {
        !matches!(event, Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::StreamEnd)
    };
    let events: Option<Vec<_>> = Parser::new_from_str(text).map(Result::ok).collect();
    let events: Vec<_> =
        events.unwrap_or_default().into_iter().filter(is_node).map(|(event, _)| event).collect();
    let guess = match &events[..] {
        [scalar] => guess_scalar(scalar),
        [Event::SequenceStart(..), items @ .., Event::SequenceEnd] => {
            items.iter().map(guess_scalar).collect::<Option<Vec<_>>>().and_then(|items| guess_list(&items))
        }
        _ => None,
    };
    guess.unwrap_or_else(|| ParameterValue::String(text.to_owned()))
}

fn guess_scalar(event: &Event<'_>) -> Option<ParameterValue> {
    let Event::Scalar(text, style, _, tag) = event else { return None };
    let text = text.clone().into_owned();
    let is_text = tag.as_deref().is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str");
    if is_text || *style != ScalarStyle::Plain {
        return Some(ParameterValue::String(text));
    }
    Some(match pyyaml::resolve(&text) {
        Plain::Bool(value) => ParameterValue::Bool(value),
        Plain::Int(value) => ParameterValue::Integer(i64::try_from(value?).ok()?),
        Plain::Float(value) => ParameterValue::Double(value),
        Plain::Text => ParameterValue::String(text),
        Plain::Null | Plain::Other => return None,
    })
}

/// Python's `True` is a kind of 1, and nothing is a list of booleans.
fn guess_list(items: &[ParameterValue]) -> Option<ParameterValue> {
    use ParameterValue as V;
    fn all<T>(items: &[V], pick: impl Fn(&V) -> Option<T>) -> Option<Vec<T>> {
        items.iter().map(pick).collect()
    }
    let boolean = |item: &V| if let V::Bool(value) = item { Some(*value) } else { None };
    let integer = |item: &V| match item {
        V::Bool(value) => Some(i64::from(*value)),
        V::Integer(value) => Some(*value),
        _ => None,
    };
    let double = |item: &V| if let V::Double(value) = item { Some(*value) } else { None };
    let text = |item: &V| if let V::String(value) = item { Some(value.clone()) } else { None };
    None.or_else(|| all(items, boolean).map(V::BoolArray))
        .or_else(|| all(items, integer).map(V::IntegerArray))
        .or_else(|| all(items, double).map(V::DoubleArray))
        .or_else(|| all(items, text).map(V::StringArray))
}

fn matches(pattern: &[&str], tokens: &[&str]) -> bool {
    match (pattern.split_first(), tokens.split_first()) {
        (None, None) => true,
        (Some((&"**", rest)), _) => {
            matches(rest, tokens) || (!tokens.is_empty() && matches(pattern, &tokens[1..]))
        }
        (Some((first, rest)), Some((token, tokens))) => {
            (*first == "*" || first == token) && matches(rest, tokens)
        }
        _ => false,
    }
}

fn at(span: Span, message: &str) -> UsageError {
    UsageError::new(format!("line {}: {message}", span.start.line()))
}

/// The stream of YAML events; its end is an event as well, so running dry is an error.
struct Events<'a>(Parser<'a, saphyr_parser::StrInput<'a>>);

impl<'a> Events<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), UsageError> {
        match self.0.next_event() {
            Some(Ok((Event::Alias(_), span))) => Err(at(span, "aliases are not supported")),
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => {
                Err(UsageError::new(format!("line {}: {}", error.marker().line(), error.info())))
            }
            None => Err(UsageError::new("the YAML text ends too early")),
        }
    }

    /// The next key of the mapping being read, or `None` at its end.
    fn key(&mut self) -> Result<Option<(String, Span)>, UsageError> {
        match self.next()? {
            (Event::MappingEnd, _) => Ok(None),
            (Event::Scalar(key, ..), span) if !key.is_empty() => Ok(Some((key.into_owned(), span))),
            (_, span) => Err(at(span, "a key must be a name")),
        }
    }

    /// The value that begins with `event`; `None` for an empty list, whose type nobody can know.
    fn value(&mut self, (event, span): (Event<'a>, Span)) -> Result<Option<ParameterValue>, UsageError> {
        match event {
            Event::Scalar(text, style, _, tag) => scalar(&text, style, tag.as_deref(), span).map(Some),
            Event::SequenceStart(..) => self.list(),
            _ => Err(at(span, "expected a value or a list of values")),
        }
    }

    fn list(&mut self) -> Result<Option<ParameterValue>, UsageError> {
        let mut list = None;
        loop {
            let (event, span) = self.next()?;
            let item = match event {
                Event::SequenceEnd => return Ok(list),
                Event::Scalar(text, style, _, tag) => scalar(&text, style, tag.as_deref(), span)?,
                _ => return Err(at(span, "a list must hold plain values")),
            };
            let kind = item.kind();
            match (&mut list, item) {
                (None, ParameterValue::Bool(v)) => list = Some(ParameterValue::BoolArray(vec![v])),
                (None, ParameterValue::Integer(v)) => list = Some(ParameterValue::IntegerArray(vec![v])),
                (None, ParameterValue::Double(v)) => list = Some(ParameterValue::DoubleArray(vec![v])),
                (None, ParameterValue::String(v)) => list = Some(ParameterValue::StringArray(vec![v])),
                (Some(ParameterValue::BoolArray(list)), ParameterValue::Bool(v)) => list.push(v),
                (Some(ParameterValue::IntegerArray(list)), ParameterValue::Integer(v)) => list.push(v),
                (Some(ParameterValue::DoubleArray(list)), ParameterValue::Double(v)) => list.push(v),
                (Some(ParameterValue::StringArray(list)), ParameterValue::String(v)) => list.push(v),
                (list, _) => {
                    let first = list.as_ref().map_or(ParameterType::NotSet, ParameterValue::kind);
                    return Err(at(span, &format!("a list holds values of one type: {kind} in a {first}")));
                }
            }
        }
    }
}

fn scalar(
    text: &str,
    style: ScalarStyle,
    tag: Option<&Tag>,
    span: Span,
) -> Result<ParameterValue, UsageError> {
    let quoted = matches!(style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted);
    if quoted || tag.is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str") {
        return Ok(ParameterValue::String(text.to_owned()));
    }
    // The parser reports a missing value as "~".
    if matches!(text, "" | "~") {
        return Err(at(span, "there is no value"));
    }
    Ok(boolean(text)
        .map(ParameterValue::Bool)
        .or_else(|| integer(text).map(ParameterValue::Integer))
        .or_else(|| double(text).map(ParameterValue::Double))
        .unwrap_or_else(|| ParameterValue::String(text.to_owned())))
}

/// The YAML 1.1 booleans.
fn boolean(text: &str) -> Option<bool> {
    match text {
        "Y" | "y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Some(true),
        "N" | "n" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

/// Whole numbers as C writes them: decimal, `0x` hexadecimal, leading `0` octal.
fn integer(text: &str) -> Option<i64> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (radix, digits) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => (16, hex),
        None if digits.len() > 1 && digits.starts_with('0') => (8, &digits[1..]),
        None => (10, digits),
    };
    // Another sign would be accepted by the standard library, but not by C.
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let magnitude = i128::from_str_radix(digits, radix).ok()?;
    i64::try_from(if negative { -magnitude } else { magnitude }).ok()
}

fn double(text: &str) -> Option<f64> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    match rest {
        ".inf" | ".Inf" | ".INF" => return Some(sign * f64::INFINITY),
        ".nan" | ".NaN" | ".NAN" => return Some(f64::NAN),
        _ => {}
    }
    let value: f64 = text.parse().ok()?;
    // A number too large for a double stays text instead of becoming infinite.
    (value.is_finite() || rest.starts_with(|c: char| c.is_ascii_alphabetic())).then_some(value)
}

#[cfg(test)]
mod tests {
    use ParameterValue as V;
    use proptest::prelude::*;

    use super::*;

    fn file(yaml: &str) -> ParameterOverrides {
        let mut overrides = ParameterOverrides::default();
        overrides.add_file(yaml).unwrap();
        overrides
    }

    #[test]
    fn parameters_of_patterns_are_told_from_those_of_a_name() {
        let file = "{/**: {ros__parameters: {a: 1}}, /ns/n: {ros__parameters: {b: {c: 2}}}, ns: {n: {ros__parameters: \
                    {d: 3}}, '*': {ros__parameters: {e: 4}}}}";
        let mut overrides = ParameterOverrides::default();
        overrides.add_file(file).unwrap();
        assert_eq!(overrides.for_name("/ns/n").into_keys().collect::<Vec<_>>(), ["b.c", "d"]);
        assert_eq!(overrides.for_node("/ns/n").len(), 4);
    }

    #[test]
    fn scalars_get_the_type_rcl_gives_them() {
        for (text, value) in [
            ("true", V::Bool(true)),
            ("On", V::Bool(true)),
            ("y", V::Bool(true)),
            ("no", V::Bool(false)),
            ("'yes'", V::from("yes")),
            ("tRue", V::from("tRue")),
            ("1", V::Integer(1)),
            ("-5", V::Integer(-5)),
            ("+5", V::Integer(5)),
            ("0x1F", V::Integer(31)),
            ("010", V::Integer(8)),
            ("-9223372036854775808", V::Integer(i64::MIN)),
            ("9223372036854775808", V::Double(9223372036854775808.0)),
            ("1.5", V::Double(1.5)),
            ("1e3", V::Double(1000.0)),
            (".5", V::Double(0.5)),
            ("5.", V::Double(5.0)),
            ("-.inf", V::Double(f64::NEG_INFINITY)),
            ("1e999", V::from("1e999")),
            ("\"1\"", V::from("1")),
            ("!!str 1", V::from("1")),
            ("1.2.3", V::from("1.2.3")),
            ("hello world", V::from("hello world")),
            ("''", V::from("")),
            ("[1, 2]", V::IntegerArray(vec![1, 2])),
            ("[1.0, 2.5]", V::DoubleArray(vec![1.0, 2.5])),
            ("[yes, off]", V::BoolArray(vec![true, false])),
            ("[a, '1']", V::StringArray(vec!["a".into(), "1".into()])),
            ("[]", V::NotSet),
        ] {
            assert_eq!(parse_value(text), Ok(value), "{text}");
        }
        assert!(matches!(parse_value(".nan"), Ok(V::Double(v)) if v.is_nan()));
    }

    #[test]
    fn param_set_guesses_as_rclpy_does() {
        let texts = |texts: &[&str]| V::StringArray(texts.iter().map(|text| (*text).to_owned()).collect());
        for (text, value) in [
            ("y", V::from("y")),
            ("yes", V::Bool(true)),
            ("010", V::Integer(8)),
            ("1e3", V::from("1e3")),
            ("1.0e+3", V::Double(1000.0)),
            ("'1'", V::from("1")),
            ("!!str 1", V::from("1")),
            ("hello world", V::from("hello world")),
            ("null", V::from("null")),
            ("", V::from("")),
            ("a: b", V::from("a: b")),
            ("{a: 1}", V::from("{a: 1}")),
            ("[x, y]", texts(&["x", "y"])),
            ("[y, n]", texts(&["y", "n"])),
            ("[yes, no]", V::BoolArray(vec![true, false])),
            ("[]", V::BoolArray(vec![])),
            ("[true, 2]", V::IntegerArray(vec![1, 2])),
            ("[1, 2]", V::IntegerArray(vec![1, 2])),
            ("[1.0, 2.5]", V::DoubleArray(vec![1.0, 2.5])),
            ("[1, 2.5]", V::from("[1, 2.5]")),
            ("[1, a]", V::from("[1, a]")),
            ("[[1]]", V::from("[[1]]")),
            ("[1", V::from("[1")),
            ("9223372036854775808", V::from("9223372036854775808")),
        ] {
            assert_eq!(guess_value(text), value, "{text}");
        }
    }

    #[test]
    fn wrong_values_are_refused() {
        for (text, reason) in [
            ("", "no value"),
            ("[1, 2.0]", "double in a integer_array"),
            ("[[1]]", "plain values"),
            ("{a: 1}", "expected a value"),
            ("[1", "expected ',' or ']'"),
        ] {
            let error = parse_value(text).unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn a_file_names_nodes_by_path_and_by_wildcard() {
        let overrides = file(
            "
/**:
  ros__parameters:
    rate: 1
    common: true
talker:
  ros__parameters:
    rate: 2
ns:
  talker:
    ros__parameters:
      rate: 3
      gains: {p: 1.0, inner: {i: [1, 2]}}
/ns/other:
  ros__parameters:
    rate: 4
/*/third:
  ros__parameters: {rate: 5}
/**/deep:
  ros__parameters: {rate: 6}
",
        );
        let rate = |node: &str| overrides.for_node(node)["rate"].clone();
        assert_eq!(rate("/talker"), V::Integer(2));
        assert_eq!(rate("/ns/talker"), V::Integer(3));
        assert_eq!(rate("/ns/other"), V::Integer(4));
        assert_eq!(rate("/any/third"), V::Integer(5));
        assert_eq!(rate("/third"), V::Integer(1));
        assert_eq!(rate("/a/b/third"), V::Integer(1));
        assert_eq!(rate("/deep"), V::Integer(6));
        assert_eq!(rate("/a/b/deep"), V::Integer(6));
        let talker = overrides.for_node("/ns/talker");
        assert_eq!(talker["common"], V::Bool(true));
        assert_eq!(talker["gains.p"], V::Double(1.0));
        assert_eq!(talker["gains.inner.i"], V::IntegerArray(vec![1, 2]));
    }

    #[test]
    fn of_two_matching_patterns_the_later_wins() {
        let overrides = file("/n:\n  ros__parameters: {a: 1, b: 1}\n/**:\n  ros__parameters: {a: 2}\n");
        let node = overrides.for_node("/n");
        assert_eq!((&node["a"], &node["b"]), (&V::Integer(2), &V::Integer(1)));
    }

    #[test]
    fn broken_files_say_the_line() {
        for (yaml, line, reason) in [
            ("ros__parameters:\n  a: 1", 1, "no node name"),
            ("n:\n  a: 1", 2, "below 'ros__parameters'"),
            ("n:\n  ros__parameters: 5", 2, "names and values"),
            ("n:\n  ros__parameters:\n    a:\n", 3, "no value"),
            ("n:\n  ros__parameters:\n    a: [1, x]\n", 3, "one type"),
            ("n:\n  ros__parameters:\n    a: &x 1\n    b: *x\n", 4, "aliases"),
            ("n-1:\n  ros__parameters:\n    a: 1\n", 2, "no node name or pattern"),
            ("- a\n", 1, "expected node names"),
            ("n: [\n", 2, ""),
        ] {
            let error = ParameterOverrides::default().add_file(yaml).unwrap_err().to_string();
            assert!(error.contains(reason), "{yaml}: {error}");
            assert!(error.contains(&format!("line {line}")) || reason.is_empty(), "{yaml}: {error}");
        }
        assert!(file("").for_node("/n").is_empty());
    }

    #[test]
    fn deep_nesting_is_refused() {
        let deep = format!("n: {{ros__parameters: {}1{}}}", "{a: ".repeat(200), "}".repeat(200));
        assert!(ParameterOverrides::default().add_file(&deep).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[a-z0-9:\\[\\]{}&*!'\", \n./~-]{0,60}") {
            let _ = (parse_value(&text), guess_value(&text));
            let _ = ParameterOverrides::default().add_file(&text);
        }

        #[test]
        fn integers_and_doubles_survive(i in any::<i64>(), d in any::<f64>().prop_filter("finite", |d| d.is_finite())) {
            prop_assert_eq!(parse_value(&i.to_string()), Ok(V::Integer(i)));
            prop_assert_eq!(parse_value(&format!("{d:?}")), Ok(V::Double(d)));
        }
    }
}
