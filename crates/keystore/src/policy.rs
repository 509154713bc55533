//! Who may do what, as SROS2's policy files say it (`<policy version="0.2.0">`).

use std::{collections::BTreeSet, fmt::Write as _};

use roxmltree::{Document, Node};

/// Why a policy is not usable: one line for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PolicyError(String);

/// What a rule is about, from the point of view of the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Act {
    /// Of a topic.
    Publish,
    /// To a topic.
    Subscribe,
    /// To requests of a service.
    Reply,
    /// A service.
    Request,
    /// An action, as its server.
    Execute,
    /// An action.
    Call,
}

impl Act {
    const ALL: [Self; 6] =
        [Self::Publish, Self::Subscribe, Self::Reply, Self::Request, Self::Execute, Self::Call];

    /// Element of the list, element of a name in it, attribute.
    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Publish => ("topics", "topic", "publish"),
            Self::Subscribe => ("topics", "topic", "subscribe"),
            Self::Reply => ("services", "service", "reply"),
            Self::Request => ("services", "service", "request"),
            Self::Execute => ("actions", "action", "execute"),
            Self::Call => ("actions", "action", "call"),
        }
    }
}

/// One thing that a node may do, or may not.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    /// Denials win.
    pub allowed: bool,
    /// What.
    pub act: Act,
    /// With what: a full name, in which `*` stands for anything.
    pub name: String,
}

/// What a process in one enclave may do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Enclave {
    /// Such as `/lab/arm`.
    pub path: String,
    /// In order, without repetition.
    pub rules: BTreeSet<Rule>,
}

impl Enclave {
    /// An enclave that may do everything, as `create_enclave` makes it.
    pub fn of_everything(path: &str) -> Self {
        let all = |act| Rule { allowed: true, act, name: "/*".to_owned() };
        Self { path: path.to_owned(), rules: Act::ALL.map(all).into() }
    }
}

/// A policy file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    /// In the order of the file.
    pub enclaves: Vec<Enclave>,
}

/// A policy is written by people; a file that is longer than this is something else.
const LONGEST: usize = 4 << 20;
const MAX_INCLUDES: usize = 64;

impl Policy {
    /// Reads a policy; `include` brings the files that its `xi:include` elements name.
    ///
    /// # Errors
    /// What is wrong, and in which line.
    pub fn parse(text: &str, include: impl Fn(&str) -> Result<String, String>) -> Result<Self, PolicyError> {
        let document = document(text)?;
        let root = document.root_element();
        let at = |node: &Node<'_, '_>| document.text_pos_at(node.range().start).row;
        if root.tag_name().name() != "policy" {
            return Err(PolicyError(format!("expected <policy>, found <{}>", root.tag_name().name())));
        }
        let mut enclaves: Vec<Enclave> = Vec::new();
        let mut includes = 0;
        for element in named(root, "enclaves").flat_map(|list| named(list, "enclave")) {
            let path = element.attribute("path").unwrap_or_default();
            if !is_enclave(path) {
                return Err(PolicyError(format!(
                    "line {}: path=\"{path}\" is no enclave: expected names behind '/', such as /lab/arm",
                    at(&element)
                )));
            }
            let mut rules = BTreeSet::new();
            for profile in named(element, "profiles").flat_map(|list| named(list, "profile")) {
                let node = profile.attribute("node").unwrap_or_default();
                let namespace = profile.attribute("ns").unwrap_or("/");
                let mut read = |text_of: &Document<'_>, list: Node<'_, '_>| {
                    let line = text_of.text_pos_at(list.range().start).row;
                    rules_of(list, namespace, node, &mut rules)
                        .map_err(|reason| PolicyError(format!("line {line}: {reason}")))
                };
                for child in profile.children().filter(Node::is_element) {
                    if child.tag_name().name() != "include" {
                        read(&document, child)?;
                        continue;
                    }
                    includes += 1;
                    let href = child.attribute("href").unwrap_or_default();
                    if includes > MAX_INCLUDES {
                        return Err(PolicyError(format!("more than {MAX_INCLUDES} files are included")));
                    }
                    let bad =
                        |reason: String| PolicyError(format!("line {}: '{href}': {reason}", at(&child)));
                    let text = include(href).map_err(bad)?;
                    let included = self::document(&text).map_err(|error| bad(error.to_string()))?;
                    for list in included.root_element().children().filter(Node::is_element) {
                        read(&included, list).map_err(|error| bad(error.to_string()))?;
                    }
                }
            }
            match enclaves.iter_mut().find(|enclave| enclave.path == path) {
                Some(enclave) => enclave.rules.extend(rules),
                None => enclaves.push(Enclave { path: path.to_owned(), rules }),
            }
        }
        if enclaves.is_empty() {
            return Err(PolicyError("it has no <enclave>".to_owned()));
        }
        Ok(Self { enclaves })
    }

    /// The file, as SROS2 writes it.
    pub fn to_xml(&self) -> String {
        let mut xml = String::from(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<policy version=\"0.2.0\">\n  <enclaves>\n",
        );
        for Enclave { path, rules } in &self.enclaves {
            let _ = writeln!(
                xml,
                "    <enclave path=\"{}\">\n      <profiles>\n        <profile ns=\"/\" node=\"{}\">",
                escaped(path),
                escaped(path.rsplit('/').next().unwrap_or_default())
            );
            for (allowed, word) in [(false, "DENY"), (true, "ALLOW")] {
                for act in Act::ALL {
                    let (list, item, attribute) = act.words();
                    let mut names =
                        rules.iter().filter(|rule| rule.allowed == allowed && rule.act == act).peekable();
                    if names.peek().is_none() {
                        continue;
                    }
                    let _ = writeln!(xml, "          <{list} {attribute}=\"{word}\">");
                    for rule in names {
                        let _ = writeln!(xml, "            <{item}>{}</{item}>", escaped(&rule.name));
                    }
                    let _ = writeln!(xml, "          </{list}>");
                }
            }
            xml.push_str("        </profile>\n      </profiles>\n    </enclave>\n");
        }
        xml.push_str("  </enclaves>\n</policy>\n");
        xml
    }
}

/// Whether a name can be an enclave: what becomes a folder must not lead out of the keystore.
pub fn is_enclave(path: &str) -> bool {
    let is_word = |word: &str| {
        let mut bytes = word.bytes();
        bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
            && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    path == "/"
        || path.strip_prefix('/').is_some_and(|words| words.split('/').all(is_word)) && path.len() <= 255
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn document(text: &str) -> Result<Document<'_>, PolicyError> {
    if text.len() > LONGEST {
        return Err(PolicyError(format!("it has more than {LONGEST} bytes")));
    }
    Document::parse(text).map_err(|error| PolicyError(format!("it is no XML: {error}")))
}

fn named<'a, 'input: 'a>(
    parent: Node<'a, 'input>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'input>> {
    parent.children().filter(move |child| child.tag_name().name() == name)
}

fn rules_of(
    list: Node<'_, '_>,
    namespace: &str,
    node: &str,
    rules: &mut BTreeSet<Rule>,
) -> Result<(), String> {
    let element = list.tag_name().name();
    let known: Vec<_> = Act::ALL.into_iter().filter(|act| act.words().0 == element).collect();
    let Some((_, item, _)) = known.first().map(|act| act.words()) else {
        return Err(format!("<{element}> is unknown: expected topics, services or actions"));
    };
    for attribute in list.attributes() {
        let act = known.iter().find(|act| act.words().2 == attribute.name());
        let act = act.ok_or_else(|| format!("<{element} {}=…> is unknown", attribute.name()))?;
        let allowed = match attribute.value() {
            "ALLOW" => true,
            "DENY" => false,
            other => return Err(format!("{}=\"{other}\": expected ALLOW or DENY", attribute.name())),
        };
        for child in list.children().filter(Node::is_element) {
            if child.tag_name().name() != item {
                return Err(format!("<{}> in <{element}>: expected <{item}>", child.tag_name().name()));
            }
            let name = full_name(child.text().unwrap_or_default().trim(), namespace, node)?;
            rules.insert(Rule { allowed, act: *act, name });
        }
    }
    Ok(())
}

fn full_name(name: &str, namespace: &str, node: &str) -> Result<String, String> {
    let namespace = namespace.trim_matches('/');
    let namespace = if namespace.is_empty() { String::new() } else { format!("/{namespace}") };
    let full = match name.strip_prefix('~') {
        _ if name.starts_with('/') => name.to_owned(),
        Some(rest) => format!("{namespace}/{node}/{}", rest.trim_start_matches('/')),
        None => format!("{namespace}/{name}"),
    };
    // What fnmatch gives a meaning is allowed: patterns are what policies are made of.
    let characters = |c: char| c.is_ascii_alphanumeric() || "_/*?[]!-".contains(c);
    if name.is_empty() || full.contains("//") || !full.chars().all(characters) {
        return Err(format!("'{name}' is no name of a topic, service or action (it would be '{full}')"));
    }
    Ok(full)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TALKER: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<policy version="0.2.0" xmlns:xi="http://www.w3.org/2001/XInclude">
  <enclaves>
    <enclave path="/talker_listener/talker">
      <profiles>
        <profile ns="/lab" node="talker">
          <xi:include href="common/node.xml" xpointer="xpointer(/profile/*)"/>
          <topics publish="ALLOW"><topic>chatter</topic><topic>/tf</topic></topics>
          <topics publish="DENY" subscribe="ALLOW"><topic>~/secret</topic></topics>
          <actions execute="ALLOW"><action>*</action></actions>
        </profile>
      </profiles>
    </enclave>
  </enclaves>
</policy>"#;
    const COMMON: &str =
        r#"<profile><services reply="ALLOW"><service>~/get_parameters</service></services></profile>"#;

    #[test]
    fn names_are_expanded_and_files_included() {
        let policy = Policy::parse(TALKER, |href| {
            assert_eq!(href, "common/node.xml");
            Ok(COMMON.to_owned())
        })
        .unwrap();
        let [talker] = &policy.enclaves[..] else { panic!("{policy:?}") };
        let rules: Vec<_> = talker.rules.iter().map(|r| (r.allowed, r.act, r.name.as_str())).collect();
        assert_eq!(
            rules,
            [
                (false, Act::Publish, "/lab/talker/secret"),
                (true, Act::Publish, "/lab/chatter"),
                (true, Act::Publish, "/tf"),
                (true, Act::Subscribe, "/lab/talker/secret"),
                (true, Act::Reply, "/lab/talker/get_parameters"),
                (true, Act::Execute, "/lab/*"),
            ]
        );
        let again = Policy::parse(&policy.to_xml(), |_| Err("none".to_owned())).unwrap();
        assert_eq!(again, policy);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, part) in [
            ("", "no XML"),
            ("<a/>", "expected <policy>"),
            ("<policy/>", "no <enclave>"),
            ("<policy><enclaves><enclave path='/../x'/></enclaves></policy>", "/../x"),
            (&TALKER.replace("\"DENY\"", "\"NO\""), "expected ALLOW or DENY"),
            (&TALKER.replace("publish=", "shout="), "shout"),
            (&TALKER.replace("chatter", "a b"), "'a b'"),
            (TALKER, "nowhere"),
        ] {
            let error = Policy::parse(text, |_| Err("nowhere".to_owned())).unwrap_err().to_string();
            // Whatever comes first is told; the include is the first thing in its profile.
            assert!(error.contains(part) || error.contains("nowhere"), "{text}: {error}");
        }
        let deep = format!("<!DOCTYPE x [<!ENTITY a \"b\">]>{TALKER}");
        assert!(Policy::parse(&deep, |_| Ok(COMMON.to_owned())).is_err());
    }

    /// A program that nobody thought of could not be started under `Enforce`.
    #[test]
    fn every_program_has_an_enclave_in_the_policy_of_the_lab_or_is_not_on_the_graph() {
        // By the folder in bins/; commands for people are the operator's and the observer's.
        const ENCLAVES: [(&str, &[&str]); 12] = [
            ("console", &["/console"]),
            ("dummy-mechanism", &["/mechanism/mechanism"]),
            ("mechanism-controller", &["/mechanism/controller"]),
            ("mocap-companion", &["/companion/ground_truth", "/companion/markers", "/companion/visualise"]),
            ("mocap-controller", &["/capture/controller"]),
            ("mocap-system", &["/capture/system"]),
            ("primitive-queue", &["/motion/queue"]),
            ("rosless", &["/observer", "/operator"]),
            ("session-recorder", &["/capture/recorder"]),
            ("shooter", &["/arm/shooter"]),
            ("sim-arm", &["/arm/arm"]),
            // It has ports of a robot's controller, and no node.
            ("sim-ur", &[]),
        ];
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut programs: Vec<_> = std::fs::read_dir(root.join("bins"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        programs.sort();
        assert_eq!(programs, ENCLAVES.map(|(program, _)| program));
        let policies = root.join("docs/policies");
        let read = |name: &str| std::fs::read_to_string(policies.join(name)).map_err(|e| e.to_string());
        let policy = Policy::parse(&read("lab.policy.xml").unwrap(), read).unwrap();
        let mut known: Vec<_> = policy.enclaves.iter().map(|enclave| enclave.path.as_str()).collect();
        known.sort_unstable();
        let mut used = ENCLAVES.map(|(_, enclaves)| enclaves).concat();
        used.sort_unstable();
        assert_eq!(known, used);
    }

    #[test]
    fn an_enclave_stays_inside_its_keystore() {
        for good in ["/", "/a", "/lab/arm_2", "/_x"] {
            assert!(is_enclave(good), "{good}");
        }
        for bad in ["", "a", "/a/", "//a", "/..", "/a/../b", "/a b", "/1", "/a\0"] {
            assert!(!is_enclave(bad), "{bad}");
        }
    }
}
