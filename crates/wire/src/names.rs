//! ROS names: what is allowed, and how they read on DDS.
//!
//! | ROS | DDS |
//! |---|---|
//! | topic `/a/b` | `rt/a/b` |
//! | service `/a/s` | `rq/a/sRequest`, `rr/a/sReply` |
//! | type `std_msgs/msg/String` | `std_msgs::msg::dds_::String_` |
//!
//! All names here are fully qualified; `~` and substitutions are resolved before they get here.

/// Longest topic or service name, so that prefix and suffix still fit the 255 bytes DDS allows.
pub const MAX_TOPIC_LEN: usize = 247;
/// Longest namespace.
pub const MAX_NAMESPACE_LEN: usize = 245;
/// Longest node name.
pub const MAX_NODE_NAME_LEN: usize = 255;

/// Why a name is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} '{}' is not valid at character {}: {problem}", self.shown(), self.at + 1)]
pub struct NameError {
    /// Kind of name: "topic name", "node name"…
    pub what: &'static str,
    /// The name as given.
    pub name: String,
    /// Byte at which the problem lies.
    pub at: usize,
    /// What is wrong and what is allowed.
    pub problem: &'static str,
}

impl NameError {
    /// Shortened, because a name may be wrong by being endless.
    fn shown(&self) -> String {
        self.name.chars().take(80).collect()
    }
}

fn fail(what: &'static str, name: &str, at: usize, problem: &'static str) -> Result<(), NameError> {
    Err(NameError { what, name: name.to_owned(), at, problem })
}

/// Checks letters, digits, underscores; `offset` is where `token` stands in `name`.
fn check_token(what: &'static str, name: &str, offset: usize, token: &str) -> Result<(), NameError> {
    if let Some(at) = token.find(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
        return fail(what, name, offset + at, "only letters, digits and underscores are allowed");
    }
    if token.starts_with(|c: char| c.is_ascii_digit()) {
        return fail(what, name, offset, "a part must not start with a digit");
    }
    Ok(())
}

fn check_path(what: &'static str, name: &str, max_len: usize) -> Result<(), NameError> {
    if name.is_empty() {
        return fail(what, name, 0, "it is empty");
    }
    let Some(path) = name.strip_prefix('/') else {
        return fail(what, name, 0, "it must start with '/'");
    };
    let mut offset = 1;
    for token in path.split('/') {
        if token.is_empty() {
            let problem =
                if offset >= name.len() { "it must not end with '/'" } else { "'//' is not allowed" };
            return fail(what, name, offset - 1, problem);
        }
        check_token(what, name, offset, token)?;
        offset += token.len() + 1;
    }
    if name.len() > max_len {
        return fail(what, name, max_len, "it is too long");
    }
    Ok(())
}

/// Checks the full name of a topic or service.
pub fn check_full_name(name: &str) -> Result<(), NameError> {
    check_path("topic or service name", name, MAX_TOPIC_LEN)
}

/// Checks a namespace: `/` or `/a/b`.
pub fn check_namespace(name: &str) -> Result<(), NameError> {
    if name == "/" { Ok(()) } else { check_path("namespace", name, MAX_NAMESPACE_LEN) }
}

/// Checks a node name without namespace.
pub fn check_node_name(name: &str) -> Result<(), NameError> {
    if name.is_empty() {
        return fail("node name", name, 0, "it is empty");
    }
    check_token("node name", name, 0, name)?;
    if name.len() > MAX_NODE_NAME_LEN {
        return fail("node name", name, MAX_NODE_NAME_LEN, "it is too long");
    }
    Ok(())
}

/// Checks a type name: `package/msg/Type`, `package/srv/Type` or `package/action/Type`.
pub fn check_type(name: &str) -> Result<(), NameError> {
    let what = "type name";
    let mut offset = 0;
    let mut parts = 0;
    for (i, part) in name.split('/').enumerate() {
        if part.is_empty() {
            return fail(what, name, offset, "a part is empty; package/msg/Type is expected");
        }
        check_token(what, name, offset, part)?;
        if i == 1 && !matches!(part, "msg" | "srv" | "action") {
            return fail(what, name, offset, "the second part must be msg, srv or action");
        }
        offset += part.len() + 1;
        parts = i + 1;
    }
    if parts != 3 {
        return fail(what, name, name.len(), "three parts are expected: package/msg/Type");
    }
    Ok(())
}

/// DDS topic of a ROS topic.
pub fn topic_to_dds(topic: &str) -> Result<String, NameError> {
    check_full_name(topic).map(|()| format!("rt{topic}"))
}

/// DDS topic that carries the requests of a service.
pub fn service_request_topic(service: &str) -> Result<String, NameError> {
    check_full_name(service).map(|()| format!("rq{service}Request"))
}

/// DDS topic that carries the replies of a service.
pub fn service_reply_topic(service: &str) -> Result<String, NameError> {
    check_full_name(service).map(|()| format!("rr{service}Reply"))
}

/// What a DDS topic is in ROS terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RosTopic<'a> {
    /// A topic of this name.
    Topic(&'a str),
    /// Requests of the service of this name.
    Request(&'a str),
    /// Replies of the service of this name.
    Reply(&'a str),
}

/// The ROS meaning of a DDS topic; `None` if it does not belong to ROS.
pub fn topic_from_dds(dds: &str) -> Option<RosTopic<'_>> {
    let (prefix, name) = dds.split_at_checked(2)?;
    let topic = match prefix {
        "rt" => RosTopic::Topic(name),
        "rq" => RosTopic::Request(name.strip_suffix("Request")?),
        "rr" => RosTopic::Reply(name.strip_suffix("Reply")?),
        _ => return None,
    };
    let (RosTopic::Topic(name) | RosTopic::Request(name) | RosTopic::Reply(name)) = topic;
    check_full_name(name).ok().map(|()| topic)
}

/// DDS name of a ROS type.
pub fn type_to_dds(name: &str) -> Result<String, NameError> {
    check_type(name)?;
    let (path, name) = name.rsplit_once('/').expect("a checked type name has three parts");
    Ok(format!("{}::dds_::{name}_", path.replace('/', "::")))
}

/// ROS name of a DDS type; `None` if it is not a ROS type.
pub fn type_from_dds(dds: &str) -> Option<String> {
    let (path, name) = dds.split_once("::dds_::")?;
    let name = format!("{}/{}", path.replace("::", "/"), name.strip_suffix('_')?);
    check_type(&name).ok().map(|()| name)
}

/// The services and topics of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionNames {
    /// Service that takes goals.
    pub send_goal: String,
    /// Service that cancels goals.
    pub cancel_goal: String,
    /// Service that hands out results.
    pub get_result: String,
    /// Topic of progress reports.
    pub feedback: String,
    /// Topic of goal states.
    pub status: String,
}

impl ActionNames {
    /// Names below a fully qualified action name.
    pub fn new(action: &str) -> Result<Self, NameError> {
        check_path("action name", action, MAX_TOPIC_LEN - "/_action/cancel_goal".len())?;
        let below = |part| format!("{action}/_action/{part}");
        Ok(ActionNames {
            send_goal: below("send_goal"),
            cancel_goal: below("cancel_goal"),
            get_result: below("get_result"),
            feedback: below("feedback"),
            status: below("status"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_map_both_ways() {
        assert_eq!(topic_to_dds("/a/b").unwrap(), "rt/a/b");
        assert_eq!(topic_from_dds("rt/a/b"), Some(RosTopic::Topic("/a/b")));
        assert_eq!(service_request_topic("/a/s").unwrap(), "rq/a/sRequest");
        assert_eq!(topic_from_dds("rq/a/sRequest"), Some(RosTopic::Request("/a/s")));
        assert_eq!(service_reply_topic("/a/s").unwrap(), "rr/a/sReply");
        assert_eq!(topic_from_dds("rr/a/sReply"), Some(RosTopic::Reply("/a/s")));
        assert_eq!(type_to_dds("std_msgs/msg/String").unwrap(), "std_msgs::msg::dds_::String_");
        assert_eq!(type_from_dds("std_msgs::msg::dds_::String_").unwrap(), "std_msgs/msg/String");
        assert_eq!(
            type_to_dds("a/action/Do_SendGoal_Request").unwrap(),
            "a::action::dds_::Do_SendGoal_Request_"
        );
    }

    #[test]
    fn what_is_not_ros_is_left_alone() {
        for dds in [
            "",
            "r",
            "rt",
            "rtx",
            "ros_discovery_info",
            "rq/a",
            "rr/aRequest",
            "rt//a",
            "rt/a/",
            "é/a",
            "rqRequest",
        ] {
            assert_eq!(topic_from_dds(dds), None, "{dds}");
        }
        for dds in ["", "String", "a::b", "std_msgs::msg::dds_::String", "x::dds_::Y_", "a::idl::dds_::B_"] {
            assert_eq!(type_from_dds(dds), None, "{dds}");
        }
    }

    #[test]
    fn bad_names_are_refused_with_the_place() {
        let cases = [
            ("", 0, "empty"),
            ("a", 0, "start with '/'"),
            ("/", 0, "end with '/'"),
            ("/a/", 2, "end with '/'"),
            ("/a//b", 2, "'//'"),
            ("/a b", 2, "letters"),
            ("/a/é", 3, "letters"),
            ("/a/1b", 3, "digit"),
            ("/~/x", 1, "letters"),
        ];
        for (name, at, problem) in cases {
            let error = check_full_name(name).unwrap_err();
            assert_eq!(error.at, at, "{error}");
            assert!(error.problem.contains(problem), "{error}");
        }
        assert_eq!(
            check_full_name("/a/1b").unwrap_err().to_string(),
            "topic or service name '/a/1b' is not valid at character 4: a part must not start with a digit"
        );
    }

    #[test]
    fn limits_hold() {
        assert!(check_full_name(&format!("/{}", "a".repeat(MAX_TOPIC_LEN - 1))).is_ok());
        assert!(check_full_name(&format!("/{}", "a".repeat(MAX_TOPIC_LEN))).is_err());
        assert!(check_node_name(&"a".repeat(MAX_NODE_NAME_LEN)).is_ok());
        assert!(check_node_name(&"a".repeat(MAX_NODE_NAME_LEN + 1)).is_err());
        assert!(check_namespace("/").is_ok());
        assert!(check_namespace("/a/b").is_ok());
        assert!(check_namespace("a").is_err());
        for bad in ["", "a/b", "1a", "a-b", "a b"] {
            assert!(check_node_name(bad).is_err(), "{bad}");
        }
        for bad in ["", "a/b", "a/idl/B", "a/msg/B/C", "a/msg/", "a//B", "/msg/B"] {
            assert!(check_type(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn action_names_follow_the_convention() {
        let names = ActionNames::new("/arm/move").unwrap();
        assert_eq!(names.send_goal, "/arm/move/_action/send_goal");
        assert_eq!(names.status, "/arm/move/_action/status");
        assert!(service_request_topic(&names.cancel_goal).is_ok());
    }
}
