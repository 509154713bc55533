//! From the name in the source to the name on the graph: validation, expansion, remapping, in rcl's order.
//!
//! A node's own name is remapped first, then its namespace, then every topic and service name: expand, apply the
//! first rule whose expanded left side equals it, validate the result.

pub use rosless_wire::names::{NameError, check_full_name, check_namespace, check_node_name};

use crate::config::{RemapKind, RemapRule};

/// What kind of endpoint a name is for; remapping rules may be limited to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointKind {
    /// A publisher or a subscription.
    Topic,
    /// A server or a client; an action is made of services and topics.
    Service,
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn token_starting_with_digit(name: &str) -> Option<(&'static str, usize)> {
    let bytes = name.as_bytes();
    let index = (0..bytes.len()).find(|&i| bytes[i].is_ascii_digit() && (i == 0 || bytes[i - 1] == b'/'))?;
    Some(("must not have a token that starts with a number", index))
}

/// Checks a name as written in source, in a rule or on a command line: it may be relative, private (`~`) and
/// contain `{node}`, `{ns}` or `{namespace}`.
pub fn validate_name(name: &str) -> Result<(), NameError> {
    match written_name_problem(name) {
        None => Ok(()),
        Some((problem, at)) => {
            Err(NameError { what: "topic or service name", name: name.to_owned(), at, problem })
        }
    }
}

fn written_name_problem(name: &str) -> Option<(&'static str, usize)> {
    if name.is_empty() {
        return Some(("must not be empty", 0));
    }
    if name.ends_with('/') {
        return Some(("must not end with a '/'", name.len() - 1));
    }
    let mut open = None;
    for (index, c) in name.char_indices() {
        match (c, open) {
            ('{', None) => open = Some(index),
            ('{', Some(_)) => return Some(("must not nest '{'", index)),
            ('}', None) => return Some(("has an unbalanced '}'", index)),
            ('}', Some(start)) => {
                if !matches!(&name[start + 1..index], "node" | "ns" | "namespace") {
                    return Some((
                        "has an unknown substitution; known are {node}, {ns} and {namespace}",
                        start,
                    ));
                }
                open = None;
            }
            ('~', _) if index > 0 => {
                return Some(("must not have a '~' that is not the first character", index));
            }
            ('~', _) if !matches!(name.as_bytes().get(1), None | Some(b'/')) => {
                return Some(("must not have a '~' that is not followed by '/'", 1));
            }
            ('~' | '/', None) => {}
            (c, _) if is_name_char(c) => {}
            _ => {
                return Some((
                    "must not contain characters other than alphanumerics, '_', '~', '{', '}' and '/'",
                    index,
                ));
            }
        }
    }
    if let Some(start) = open {
        return Some(("has an unbalanced '{'", start));
    }
    if let Some(index) = name.find("//") {
        return Some(("must not contain two '/' in a row", index));
    }
    token_starting_with_digit(name)
}

/// The full name of `name` as written by a node called `node` in `namespace`, before remapping.
pub fn expand(name: &str, node: &str, namespace: &str) -> Result<String, NameError> {
    validate_name(name)?;
    let prefix = namespace.trim_end_matches('/');
    let mut full = match name.strip_prefix('~') {
        Some(rest) => format!("{prefix}/{node}{rest}"),
        None => name.to_owned(),
    };
    if full.contains('{') {
        full = full.replace("{node}", node);
        // In the root namespace the substitution is empty, so that "{ns}/x" does not become "//x".
        full = full.replace("{namespace}", prefix).replace("{ns}", prefix);
    }
    if !full.starts_with('/') {
        full = format!("{prefix}/{full}");
    }
    check_full_name(&full)?;
    Ok(full)
}

/// Who a node is after remapping, and how the names it uses appear on the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeIdentity {
    name: String,
    namespace: String,
    rules: Vec<RemapRule>,
}

impl NodeIdentity {
    /// `namespace` may be empty (root) or lack its leading `/`.
    pub fn new(name: &str, namespace: &str, rules: &[RemapRule]) -> Result<Self, NameError> {
        check_node_name(name)?;
        let applies = |rule: &RemapRule, kind, node: &str| rule.kind == kind && rule.applies_to(node);
        let name = rules
            .iter()
            .find(|r| applies(r, RemapKind::NodeName, name))
            .map_or(name, |rule| rule.replacement.as_str());
        let namespace = rules
            .iter()
            .find(|r| applies(r, RemapKind::Namespace, name))
            .map_or(namespace, |rule| rule.replacement.as_str());
        let namespace =
            if namespace.starts_with('/') { namespace.to_owned() } else { format!("/{namespace}") };
        check_node_name(name)?;
        check_namespace(&namespace)?;
        let rules = rules
            .iter()
            .filter(|r| !matches!(r.kind, RemapKind::NodeName | RemapKind::Namespace) && r.applies_to(name))
            .cloned()
            .collect();
        Ok(Self { name: name.to_owned(), namespace, rules })
    }

    /// After remapping, without namespace.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Absolute; `/` for the root namespace.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// `/namespace/name`.
    pub fn fully_qualified(&self) -> String {
        format!("{}/{}", self.namespace.trim_end_matches('/'), self.name)
    }

    /// The logger's name: the full name with dots, as in rcl.
    pub fn logger(&self) -> String {
        self.fully_qualified()[1..].replace('/', ".")
    }

    /// The full name of a topic or service of this node, expanded, remapped and checked.
    pub fn resolve(&self, kind: EndpointKind, name: &str) -> Result<String, NameError> {
        let full = expand(name, &self.name, &self.namespace)?;
        for rule in self.rules.iter().filter(|rule| rule.covers(kind)) {
            if expand(&rule.from, &self.name, &self.namespace)? == full {
                return expand(&rule.replacement, &self.name, &self.namespace);
            }
        }
        Ok(full)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rules(texts: &[&str]) -> Vec<RemapRule> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn names_expand_as_in_rcl() {
        for (name, namespace, full) in [
            ("chatter", "/", "/chatter"),
            ("chatter", "/ns", "/ns/chatter"),
            ("a/b", "/ns/sub", "/ns/sub/a/b"),
            ("/chatter", "/ns", "/chatter"),
            ("~", "/", "/talker"),
            ("~/chatter", "/", "/talker/chatter"),
            ("~/chatter", "/ns", "/ns/talker/chatter"),
            ("{node}/x", "/ns", "/ns/talker/x"),
            ("{ns}/x", "/ns", "/ns/x"),
            ("{namespace}/{node}", "/", "/talker"),
            ("/top/{node}", "/ns", "/top/talker"),
            ("x{node}y", "/", "/xtalkery"),
        ] {
            assert_eq!(expand(name, "talker", namespace).as_deref(), Ok(full), "{name} in {namespace}");
        }
    }

    #[test]
    fn wrong_names_say_where_and_why() {
        for (name, reason, index) in [
            ("", "must not be empty", 0),
            ("a/", "end with a '/'", 1),
            ("a//b", "two '/' in a row", 1),
            ("a b", "other than alphanumerics", 1),
            ("a/1b", "starts with a number", 2),
            ("1", "starts with a number", 0),
            ("a~", "not the first character", 1),
            ("~a", "not followed by '/'", 1),
            ("{node", "unbalanced '{'", 0),
            ("node}", "unbalanced '}'", 4),
            ("{who}", "unknown substitution", 0),
            ("grün", "other than alphanumerics", 2),
        ] {
            let error = expand(name, "n", "/").unwrap_err();
            assert!(error.to_string().contains(reason), "{name}: {error}");
            assert_eq!(error.at, index, "{name}");
        }
        assert!(check_node_name("a/b").unwrap_err().to_string().starts_with("node name 'a/b' is not valid"));
        assert!(check_node_name("2fast").is_err());
        assert!(check_namespace("/a/2b").is_err());
        assert!(check_namespace("a").unwrap_err().to_string().contains("start with '/'"));
        assert!(expand(&"x".repeat(247), "n", "/").is_err());
        assert!(expand(&"x".repeat(246), "n", "/").is_ok());
    }

    #[test]
    fn node_and_namespace_are_remapped_before_the_names_in_them() {
        let rules = rules(&["__node:=robot", "__ns:=/fleet/one", "chatter:=~/talk", "/fleet/one/b:=/c"]);
        let node = NodeIdentity::new("talker", "", &rules).unwrap();
        assert_eq!(node.fully_qualified(), "/fleet/one/robot");
        assert_eq!(node.logger(), "fleet.one.robot");
        assert_eq!(node.resolve(EndpointKind::Topic, "chatter").unwrap(), "/fleet/one/robot/talk");
        assert_eq!(node.resolve(EndpointKind::Topic, "b").unwrap(), "/c");
        assert_eq!(node.resolve(EndpointKind::Topic, "/b").unwrap(), "/b");
    }

    #[test]
    fn the_first_matching_rule_wins_and_is_applied_once() {
        let rules = rules(&["a:=b", "a:=c", "b:=d"]);
        let node = NodeIdentity::new("n", "/", &rules).unwrap();
        assert_eq!(node.resolve(EndpointKind::Topic, "a").unwrap(), "/b");
        assert_eq!(node.resolve(EndpointKind::Topic, "b").unwrap(), "/d");
    }

    #[test]
    fn rules_may_be_limited_to_a_node_and_to_a_kind() {
        let rules = rules(&["n:a:=b", "m:__node:=n", "rosservice://s:=t", "rostopic://u:=v", "n:__ns:=/ns"]);
        let node = NodeIdentity::new("n", "/", &rules).unwrap();
        assert_eq!(node.resolve(EndpointKind::Topic, "a").unwrap(), "/ns/b");
        assert_eq!(node.resolve(EndpointKind::Topic, "s").unwrap(), "/ns/s");
        assert_eq!(node.resolve(EndpointKind::Service, "s").unwrap(), "/ns/t");
        assert_eq!(node.resolve(EndpointKind::Service, "u").unwrap(), "/ns/u");
        assert_eq!(node.resolve(EndpointKind::Topic, "u").unwrap(), "/ns/v");
        let other = NodeIdentity::new("o", "/", &rules).unwrap();
        assert_eq!(other.resolve(EndpointKind::Topic, "a").unwrap(), "/a");
        // The new name decides about the rules that follow.
        assert_eq!(NodeIdentity::new("m", "/", &rules).unwrap().fully_qualified(), "/ns/n");
    }

    proptest! {
        #[test]
        fn what_expands_is_a_valid_full_name(name in "[~/{}a-z0-9_]{0,12}", ns in "(/[a-z]{1,3}){0,3}") {
            let ns = if ns.is_empty() { "/" } else { &ns };
            if let Ok(full) = expand(&name, "node", ns) {
                prop_assert!(check_full_name(&full).is_ok());
                prop_assert_eq!(expand(&full, "other", "/other").unwrap(), full);
            }
        }

        #[test]
        fn any_text_is_judged_without_panic(name in "\\PC*") {
            let _ = (validate_name(&name).is_ok(), check_node_name(&name).is_ok());
            if let Ok(full) = expand(&name, "node", "/") {
                prop_assert!(full.is_ascii());
            }
        }
    }
}
