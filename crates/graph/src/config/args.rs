//! The `--ros-args` part of a command line.

use std::str::FromStr;

use super::{Distro, ParameterOverrides, UsageError, params_file::parse_value};
use crate::{
    console::Severity,
    names::{EndpointKind, check_namespace, check_node_name, expand},
};

/// What a remapping rule changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemapKind {
    /// `__node:=name`.
    NodeName,
    /// `__ns:=/name`.
    Namespace,
    /// `rostopic://from:=to`.
    Topic,
    /// `rosservice://from:=to`.
    Service,
    /// `from:=to` without a scheme: topics and services alike.
    TopicOrService,
}

/// One `-r` rule: `[node:]from:=to`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemapRule {
    /// What it renames.
    pub kind: RemapKind,
    /// The node the rule is limited to, when it is.
    pub node: Option<String>,
    /// Empty for node name and namespace.
    pub from: String,
    /// What it is called from now on.
    pub replacement: String,
}

impl RemapRule {
    /// Whether it is for the node of this name.
    pub fn applies_to(&self, node: &str) -> bool {
        self.node.as_deref().is_none_or(|name| name == node)
    }

    /// Whether it is for names of this kind.
    pub fn covers(&self, kind: EndpointKind) -> bool {
        match self.kind {
            RemapKind::Topic => kind == EndpointKind::Topic,
            RemapKind::Service => kind == EndpointKind::Service,
            RemapKind::TopicOrService => true,
            RemapKind::NodeName | RemapKind::Namespace => false,
        }
    }
}

/// Splits `node:rest` when a node name stands in front; `rest` must not begin with `=` or `//`.
fn split_node(text: &str) -> (Option<&str>, &str) {
    match text.split_once(':') {
        Some((node, rest)) if !rest.starts_with(['=', '/']) && check_node_name(node).is_ok() => {
            (Some(node), rest)
        }
        _ => (None, text),
    }
}

impl FromStr for RemapRule {
    type Err = UsageError;

    fn from_str(text: &str) -> Result<Self, UsageError> {
        let bad = |reason: &str| UsageError::new(format!("remapping rule '{text}' is not usable: {reason}"));
        let (left, replacement) = text.split_once(":=").ok_or_else(|| bad("expected [node:]from:=to"))?;
        if replacement.is_empty() {
            return Err(bad("nothing follows ':='"));
        }
        // The node may be followed by an absolute name, so the scheme's "//" must be looked for first.
        let (node, from) = match left.split_once(':') {
            Some(("rostopic" | "rosservice", rest)) if rest.starts_with("//") => (None, left),
            Some((node, rest)) if check_node_name(node).is_ok() => (Some(node), rest),
            Some(_) => return Err(bad("what precedes ':' is no node name")),
            None => (None, left),
        };
        let (kind, from) = match from {
            "__node" | "__name" => {
                check_node_name(replacement).map_err(|error| bad(&error.to_string()))?;
                (RemapKind::NodeName, "")
            }
            "__ns" => {
                check_namespace(replacement).map_err(|error| bad(&error.to_string()))?;
                (RemapKind::Namespace, "")
            }
            name => {
                let (kind, name) =
                    match (name.strip_prefix("rostopic://"), name.strip_prefix("rosservice://")) {
                        (Some(name), _) => (RemapKind::Topic, name),
                        (_, Some(name)) => (RemapKind::Service, name),
                        _ => (RemapKind::TopicOrService, name),
                    };
                for side in [name, replacement] {
                    expand(side, "node", "/").map_err(|error| bad(&error.to_string()))?;
                }
                (kind, name)
            }
        };
        Ok(Self {
            kind,
            node: node.map(str::to_owned),
            from: from.to_owned(),
            replacement: replacement.to_owned(),
        })
    }
}

/// Everything that `--ros-args` can say.
#[derive(Debug, Clone, PartialEq)]
pub struct RosArguments {
    /// In the order given: the first that matches counts.
    pub remaps: Vec<RemapRule>,
    /// `-p` and `--params-file`.
    pub parameters: ParameterOverrides,
    /// A parameter that no node declares is an error, not a warning (`--strict-params`, an option of ours that may stand
    /// anywhere).
    pub strict_parameters: bool,
    /// `--log-level level`.
    pub log_level: Option<Severity>,
    /// `--log-level logger:=level`, in the order given.
    pub logger_levels: Vec<(String, Severity)>,
    /// `--enclave`, which may stand anywhere.
    pub enclave: String,
    /// Log lines on the console (`--disable-stdout-logs`).
    pub console_logs: bool,
    /// Log records on /rosout (`--disable-rosout-logs`).
    pub rosout_logs: bool,
    /// `--ros-distro`, an option of ours that may stand anywhere.
    pub distro: Option<Distro>,
}

impl Default for RosArguments {
    fn default() -> Self {
        Self {
            remaps: Vec::new(),
            parameters: ParameterOverrides::default(),
            strict_parameters: false,
            log_level: None,
            logger_levels: Vec::new(),
            enclave: "/".to_owned(),
            console_logs: true,
            rosout_logs: true,
            distro: None,
        }
    }
}

impl RosArguments {
    /// Takes the ROS sections (`--ros-args … [--]`, any number of them) out of `args` and returns the rest in order.
    pub fn parse(
        args: impl IntoIterator<Item = String>,
        read_file: impl Fn(&str) -> std::io::Result<String>,
    ) -> Result<(Self, Vec<String>), UsageError> {
        let mut parsed = Self::default();
        let mut rest = Vec::new();
        let mut in_ros_section = false;
        let mut only_positional = false;
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            if arg == "--ros-args" {
                in_ros_section = true;
            } else if in_ros_section && arg == "--" {
                in_ros_section = false;
            } else if !only_positional && (arg == "--ros-distro" || arg.starts_with("--ros-distro=")) {
                let name = match arg.split_once('=') {
                    Some((_, name)) => name.to_owned(),
                    None => value_of(&arg, &mut args)?,
                };
                parsed.distro =
                    Some(name.parse().map_err(|e| UsageError::new(format!("--ros-distro: {e}")))?);
            } else if !only_positional && (arg == "--enclave" || arg.starts_with("--enclave=")) {
                let name = match arg.split_once('=') {
                    Some((_, name)) => name.to_owned(),
                    None => value_of(&arg, &mut args)?,
                };
                parsed.take_enclave(name)?;
            } else if !only_positional && arg == "--strict-params" {
                parsed.strict_parameters = true;
            } else if in_ros_section {
                parsed.take(&arg, &mut args, &read_file)?;
            } else {
                only_positional |= arg == "--";
                rest.push(arg);
            }
        }
        Ok((parsed, rest))
    }

    fn take(
        &mut self,
        flag: &str,
        args: &mut impl Iterator<Item = String>,
        read_file: &impl Fn(&str) -> std::io::Result<String>,
    ) -> Result<(), UsageError> {
        match flag {
            "-r" | "--remap" => self.remaps.push(value_of(flag, args)?.parse()?),
            "-p" | "--param" => self.take_parameter(&value_of(flag, args)?)?,
            "--params-file" => {
                let path = value_of(flag, args)?;
                let bad = |reason: String| UsageError::new(format!("parameter file '{path}': {reason}"));
                let yaml = read_file(&path).map_err(|error| bad(error.to_string()))?;
                self.parameters.add_file(&yaml).map_err(|error| bad(error.to_string()))?;
            }
            "--log-level" => {
                let text = value_of(flag, args)?;
                match text.split_once(":=") {
                    None => self.log_level = Some(text.parse()?),
                    Some(("", _)) => {
                        return Err(UsageError::new("--log-level: the logger's name is missing"));
                    }
                    Some((logger, level)) => self.logger_levels.push((logger.to_owned(), level.parse()?)),
                }
            }
            "-e" => self.take_enclave(value_of(flag, args)?)?,
            // Files of a logging back end that we do not have; taken so that launch files work unchanged.
            "--log-config-file" | "--log-file-name" => drop(value_of(flag, args)?),
            "--enable-external-lib-logs" | "--disable-external-lib-logs" => {}
            "--enable-stdout-logs" => self.console_logs = true,
            "--disable-stdout-logs" => self.console_logs = false,
            "--enable-rosout-logs" => self.rosout_logs = true,
            "--disable-rosout-logs" => self.rosout_logs = false,
            other => {
                let hint = if other.contains(":=") { " (a remapping needs -r, a parameter -p)" } else { "" };
                return Err(UsageError::new(format!(
                    "unknown ROS argument '{other}'{hint}; use '--' to end the ROS arguments"
                )));
            }
        }
        Ok(())
    }

    fn take_enclave(&mut self, name: String) -> Result<(), UsageError> {
        check_namespace(&name).map_err(|error| UsageError::new(format!("--enclave: {error}")))?;
        self.enclave = name;
        Ok(())
    }

    fn take_parameter(&mut self, text: &str) -> Result<(), UsageError> {
        let bad =
            |reason: &str| UsageError::new(format!("parameter assignment '{text}' is not usable: {reason}"));
        let (left, value) = text.split_once(":=").ok_or_else(|| bad("expected [node:]name:=value"))?;
        let (node, name) = split_node(left);
        if name.is_empty() || name.contains(':') {
            return Err(bad("expected [node:]name:=value"));
        }
        let value = parse_value(value).map_err(|error| bad(&error.to_string()))?;
        self.parameters.set(node.unwrap_or("/**"), name, value)
    }
}

fn value_of(flag: &str, args: &mut impl Iterator<Item = String>) -> Result<String, UsageError> {
    args.next()
        .filter(|value| value != "--" && value != "--ros-args")
        .ok_or_else(|| UsageError::new(format!("{flag} needs a value")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::parameters::ParameterValue as V;

    fn parse(line: &str) -> Result<(RosArguments, Vec<String>), UsageError> {
        RosArguments::parse(line.split_whitespace().map(str::to_owned), |path| match path {
            "good.yaml" => Ok("/**:\n  ros__parameters: {a: 5, b: text}".to_owned()),
            "bad.yaml" => Ok("n: 1".to_owned()),
            _ => Err(std::io::Error::new(std::io::ErrorKind::NotFound, "no such file")),
        })
    }

    #[test]
    fn ros_sections_are_taken_out_and_the_rest_is_left_in_order() {
        let (ros, rest) = parse("prog --fast --ros-args -r a:=b -- file --ros-args -r c:=d").unwrap();
        assert_eq!(rest, ["prog", "--fast", "file"]);
        assert_eq!(ros.remaps.len(), 2);
        let (ros, rest) = parse("prog x --ros-args -- -- --ros-distro y").unwrap();
        assert_eq!(rest, ["prog", "x", "--", "--ros-distro", "y"]);
        assert_eq!(ros, RosArguments::default());
    }

    #[test]
    fn every_flag_is_understood() {
        let (ros, rest) = parse(
            "prog --ros-args --remap __node:=n -r m:__ns:=/ns -r rosservice://~/x:=/y -p rate:=2.5 -p m:names:=[a,b] \
             --params-file good.yaml --log-level WARN --log-level ns.n:=debug -e /en --log-config-file f \
             --disable-stdout-logs --disable-rosout-logs --enable-external-lib-logs --log-file-name g --ros-distro humble",
        )
        .unwrap();
        assert_eq!(rest, ["prog"]);
        let kinds: Vec<_> = ros.remaps.iter().map(|r| r.kind).collect();
        assert_eq!(kinds, [RemapKind::NodeName, RemapKind::Namespace, RemapKind::Service]);
        assert_eq!(ros.remaps[1].node.as_deref(), Some("m"));
        assert_eq!(ros.remaps[2].from, "~/x");
        let parameters = ros.parameters.for_node("/m");
        assert_eq!(parameters["rate"], V::Double(2.5));
        assert_eq!(parameters["names"], V::StringArray(vec!["a".into(), "b".into()]));
        assert_eq!(parameters["a"], V::Integer(5));
        assert!(!ros.parameters.for_node("/other").contains_key("names"));
        assert_eq!(ros.log_level, Some(Severity::Warn));
        assert_eq!(ros.logger_levels, [("ns.n".to_owned(), Severity::Debug)]);
        assert_eq!(ros.enclave, "/en");
        assert_eq!((ros.console_logs, ros.rosout_logs), (false, false));
        assert_eq!(ros.distro, Some(Distro::Humble));
    }

    #[test]
    fn our_distro_option_may_stand_anywhere() {
        for line in
            ["prog --ros-distro iron x", "prog x --ros-distro=iron", "prog x --ros-args --ros-distro iron"]
        {
            let (ros, rest) = parse(line).unwrap();
            assert_eq!((ros.distro, rest), (Some(Distro::Iron), vec!["prog".to_owned(), "x".to_owned()]));
        }
    }

    #[test]
    fn the_enclave_may_stand_anywhere() {
        for line in [
            "p --enclave /a/b x",
            "p x --enclave=/a/b",
            "p x --ros-args --enclave /a/b",
            "p x --ros-args -e /a/b",
        ] {
            let (ros, rest) = parse(line).unwrap();
            assert_eq!((&*ros.enclave, rest.join(" ")), ("/a/b", "p x".to_owned()), "{line}");
        }
        assert!(parse("p --enclave ../keys").unwrap_err().to_string().contains("--enclave"));
    }

    #[test]
    fn a_later_assignment_wins() {
        let (ros, _) = parse("prog --ros-args -p a:=1 -p a:=2").unwrap();
        assert_eq!(ros.parameters.for_node("/n")["a"], V::Integer(2));
        let (ros, _) = parse("prog --ros-args --params-file good.yaml -p a:=1").unwrap();
        assert_eq!(ros.parameters.for_node("/n")["a"], V::Integer(1));
    }

    #[test]
    fn bad_arguments_are_named() {
        for (line, parts) in [
            ("p --ros-args -r", &["-r needs a value"][..]),
            ("p --ros-args -r --", &["-r needs a value"]),
            ("p --ros-args -r ab", &["'ab'", "from:=to"]),
            ("p --ros-args -r a:=", &["nothing follows"]),
            ("p --ros-args -r a:=b//c", &["two '/'"]),
            ("p --ros-args -r __node:=a/b", &["node name 'a/b' is not valid"]),
            ("p --ros-args -r __ns:=rel", &["namespace 'rel' is not valid"]),
            ("p --ros-args -r 1x:a:=b", &["no node name"]),
            ("p --ros-args -p a", &["'a'", "name:=value"]),
            ("p --ros-args -p a:=[1,x]", &["one type"]),
            ("p --ros-args -p a:=", &["no value"]),
            ("p --ros-args --params-file nowhere.yaml", &["nowhere.yaml", "no such file"]),
            ("p --ros-args --params-file bad.yaml", &["bad.yaml", "line 1"]),
            ("p --ros-args --log-level loud", &["loud", "DEBUG"]),
            ("p --ros-args -e x", &["--enclave", "'x'"]),
            ("p --ros-args --speed", &["unknown ROS argument '--speed'"]),
            ("p --ros-args a:=b", &["'a:=b'", "needs -r"]),
            ("p --ros-distro noetic", &["noetic", "jazzy"]),
        ] {
            let error = parse(line).unwrap_err().to_string();
            assert!(parts.iter().all(|part| error.contains(part)), "{line}: {error}");
            assert_eq!(error.lines().count(), 1);
        }
    }

    proptest! {
        #[test]
        fn any_arguments_are_read_or_refused(args in proptest::collection::vec(
            prop_oneof![
                Just("--ros-args".to_owned()), Just("--".to_owned()), Just("-r".to_owned()), Just("-p".to_owned()),
                "[a-z_~/:={}\\[\\]]{0,12}", "[a-z]{1,3}:=[a-z0-9]{1,3}",
            ], 0..12)) {
            let no_file = |_: &str| Err(std::io::Error::other("none"));
            if let Ok((_, rest)) = RosArguments::parse(args.clone(), no_file) {
                // What is left is a subsequence of what was given.
                let mut given = args.iter();
                prop_assert!(rest.iter().all(|arg| given.any(|g| g == arg)));
            }
        }
    }
}
