//! What `rosless up` is told to run: the file, and what is wrong with it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use crate::failure::{Failure, Result};

/// Those that publish what only one may publish, in a place and of a kind.
const SIMULATORS: [&str; 7] = [
    "sim-arm",
    "shooter",
    "primitive-queue",
    "mechanism-controller",
    "dummy-mechanism",
    "sim-ur",
    "mocap-system",
];

/// A day: nobody waits longer for a sign of life, and clocks have an end.
const LONGEST_PATIENCE: u64 = 86_400;

/// One daemon to run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Program {
    /// What logs and `--only` call it.
    pub(crate) name: String,
    /// The program: one of ours, or any other by its name in PATH or by its path.
    pub(crate) run: String,
    #[serde(default)]
    pub(crate) args: Vec<String>,
    /// Where its nodes and relative names live; `nodes` are below it.
    pub(crate) namespace: Option<String>,
    /// Parameters of its nodes; relative to the file that names it.
    pub(crate) params_file: Option<PathBuf>,
    #[serde(default)]
    pub(crate) environment: BTreeMap<String, String>,
    /// Daemons that have to be ready before this one is started.
    #[serde(default)]
    pub(crate) after: Vec<String>,
    /// Nodes of anybody that have to be on the graph before.
    #[serde(default)]
    pub(crate) wait_for: Vec<String>,
    #[serde(default)]
    pub(crate) restart: Restart,
    /// Seconds without a sign of life after which it counts as hung, once it has given one; 0: never.
    #[serde(default = "patience")]
    pub(crate) watchdog: u64,
    /// The nodes it brings, by full name: it counts as hung when they are not on the graph.
    #[serde(default)]
    pub(crate) nodes: Vec<String>,
}

/// What becomes of a daemon that has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Restart {
    #[default]
    Always,
    OnFailure,
    Never,
}

/// Whoever is busy for this long does not do its work.
fn patience() -> u64 {
    20
}

impl Program {
    pub(crate) fn new(name: &str, run: &str, args: &[&str]) -> Self {
        let args = args.iter().map(ToString::to_string).collect();
        Self { name: name.to_owned(), run: run.to_owned(), args, watchdog: patience(), ..Self::default() }
    }

    /// Its arguments, and those that namespace and parameters come to.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let mut ros = Vec::new();
        if let Some(namespace) = &self.namespace {
            ros.extend(["-r".to_owned(), format!("__ns:={namespace}")]);
        }
        if let Some(file) = &self.params_file {
            ros.extend(["--params-file".to_owned(), file.display().to_string()]);
        }
        if !ros.is_empty() {
            ros.insert(0, "--ros-args".to_owned());
        }
        self.args.iter().cloned().chain(ros).collect()
    }

    /// The nodes it brings, where they are.
    pub(crate) fn expected_nodes(&self) -> Vec<String> {
        let namespace = self.namespace.as_deref().unwrap_or_default().trim_end_matches('/');
        self.nodes.iter().map(|node| format!("{namespace}{node}")).collect()
    }

    /// The program's own name.
    fn program(&self) -> &str {
        Path::new(&self.run).file_name().and_then(|name| name.to_str()).unwrap_or(&self.run)
    }

    /// Where its topics are.
    fn place(&self) -> &str {
        self.namespace.as_deref().unwrap_or_default().trim_end_matches('/')
    }

    /// What there may be one of in a place; nothing where it is not known what the arguments make of it.
    fn simulates(&self) -> Option<(&str, &str)> {
        let program = SIMULATORS.iter().find(|simulator| **simulator == self.program())?;
        let mut words = self.args.iter().map(String::as_str);
        let kind =
            words.find_map(|word| word.strip_prefix("--kind")).map(|rest| rest.trim_start_matches('='));
        let kind = kind
            .map_or("dummy", |kind| if kind.is_empty() { words.next().unwrap_or_default() } else { kind });
        let is_known = !self.args.iter().any(|word| word == "--ros-args");
        // Others of that program speak for devices, or publish nothing.
        let is_one = *program != "mocap-system" || matches!(kind, "dummy" | "imu");
        (is_known && is_one).then_some((*program, kind))
    }

    pub(crate) fn is_looked_for(&self) -> bool {
        self.watchdog > 0 && !self.nodes.is_empty()
    }
}

/// How much of what daemons say is kept on disk.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LogSettings {
    /// Otherwise in the folder where programs keep such things.
    pub(crate) folder: Option<PathBuf>,
    /// A file that has grown to this is put aside.
    pub(crate) megabytes: u64,
    /// So many that were put aside are kept per daemon; 0 and nothing is written.
    pub(crate) files: u32,
}

impl LogSettings {
    fn check(&self) -> std::result::Result<(), &'static str> {
        match self {
            Self { megabytes: 1..=1_000_000, files: 0..=1000, .. } => Ok(()),
            Self { files: 0..=1000, .. } => Err("`megabytes` goes from 1 to 1000000"),
            _ => Err("`files` goes from 0 to 1000"),
        }
    }
}

impl Default for LogSettings {
    fn default() -> Self {
        Self { folder: None, megabytes: 10, files: 4 }
    }
}

/// What to run, and how.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// Beyond this machine; the same as `--lan`.
    #[serde(default)]
    pub(crate) lan: bool,
    #[serde(default)]
    pub(crate) logs: LogSettings,
    pub(crate) daemons: Vec<Program>,
}

impl Settings {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let wrong = |error: &dyn std::fmt::Display| Failure::usage(format!("{}: {error}", path.display()));
        let text = fs::read_to_string(path).map_err(|error| wrong(&error))?;
        Self::parse(&text, path.parent().unwrap_or(Path::new(""))).map_err(|error| wrong(&error))
    }

    /// `folder` is where relative paths begin.
    fn parse(text: &str, folder: &Path) -> std::result::Result<Self, String> {
        let mut settings: Self =
            serde_yaml_ng::from_str(text).map_err(|error| with_line(text, error.to_string()))?;
        settings.logs.check().map_err(|complaint| with_line(text, format!("`logs`: {complaint}")))?;
        for program in &mut settings.daemons {
            let file = program.params_file.as_mut().map(|file| *file = folder.join(&*file));
            let missing = file.and(program.params_file.as_ref()).filter(|file| !file.is_file());
            if let Some(file) = missing {
                let complaint = format!("there is no params_file {}", file.display());
                return Err(at(text, &program.name, &complaint));
            }
        }
        if let Some((name, complaint)) = complaint(&settings.daemons) {
            return Err(at(text, &name, &complaint));
        }
        Ok(settings)
    }

    /// Keeps those that are named; what they would have waited for and is not run is not waited for.
    pub(crate) fn keep_only(&mut self, names: &[String]) -> Result<()> {
        if let Some(stranger) = names.iter().find(|name| self.daemons.iter().all(|p| p.name != **name)) {
            let known: Vec<_> = self.daemons.iter().map(|p| p.name.as_str()).collect();
            return Err(Failure::usage(format!(
                "no daemon is called '{stranger}': there are {}",
                known.join(", ")
            )));
        }
        if !names.is_empty() {
            self.daemons.retain(|program| names.contains(&program.name));
            self.daemons.iter_mut().for_each(|program| program.after.retain(|name| names.contains(name)));
        }
        Ok(())
    }
}

/// The complaint with the line on which the daemon is named.
fn at(text: &str, name: &str, complaint: &str) -> String {
    let names = |line: &str| {
        let after = line.split("name:").skip(1).map(|rest| rest.trim_start().trim_start_matches(['"', '\'']));
        after
            .filter_map(|rest| rest.strip_prefix(name))
            .any(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_'))
    };
    // Of two that share a name the second is one too many.
    let lines: Vec<_> =
        text.lines().zip(1..).filter(|(line, _)| names(line)).map(|(_, number)| number).collect();
    match lines.last() {
        Some(line) => format!("'{name}' at line {line}: {complaint}"),
        None => format!("'{name}': {complaint}"),
    }
}

/// The complaint with the line of the key that it quotes first, where it names none.
fn with_line(text: &str, complaint: String) -> String {
    let key = complaint.split('`').nth(1).filter(|_| !complaint.contains(" at line "));
    let begins =
        |line: &str, key| line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'));
    match key.and_then(|key| text.lines().position(|line| begins(line, key))) {
        Some(index) => format!("{complaint} at line {}", index + 1),
        None => complaint,
    }
}

/// Which daemon cannot be run like this, and why.
fn complaint(programs: &[Program]) -> Option<(String, String)> {
    let mut names = BTreeSet::new();
    for (index, program) in programs.iter().enumerate() {
        let wrong = |text: String| Some((program.name.clone(), text));
        if program.name.is_empty()
            || program.name.contains(|c: char| c == '/' || c.is_control() || c.is_whitespace())
        {
            return wrong("a name has letters, digits, '-', '_' and '.'".to_owned());
        }
        if !names.insert(&program.name) {
            return wrong("this name is taken by another daemon".to_owned());
        }
        if let Some(Err(error)) = program.namespace.as_deref().map(rosless_wire::names::check_namespace) {
            return wrong(format!("namespace: {error}"));
        }
        let unknown = program.after.iter().find(|name| programs.iter().all(|other| other.name != **name));
        if let Some(name) = unknown {
            return wrong(format!("it is to start after '{name}', and no daemon is called so"));
        }
        let named = program.nodes.iter().chain(&program.wait_for);
        if let Some(error) = named.filter_map(|node| rosless_wire::names::check_full_name(node).err()).next()
        {
            return wrong(error.to_string());
        }
        if program.watchdog > LONGEST_PATIENCE {
            return wrong(format!("`watchdog` is at most {LONGEST_PATIENCE} seconds; 0 for never"));
        }
        if let Some(variable) =
            program.environment.keys().find(|key| key.is_empty() || key.contains(['=', '\0']))
        {
            return wrong(format!("no variable of the environment can be called {variable:?}"));
        }
        let simulated = program.simulates();
        let is_twin = |other: &&Program| other.place() == program.place() && other.simulates() == simulated;
        if let Some(twin) = programs[..index].iter().find(is_twin).filter(|_| simulated.is_some()) {
            return wrong(format!(
                "it would publish the same topics as '{}', which is {} too; give one of them a `namespace:`",
                twin.name,
                program.program()
            ));
        }
    }
    let circle = programs.iter().find(|program| is_before_itself(programs, program))?;
    Some((circle.name.clone(), "it would wait for itself: look at `after`".to_owned()))
}

fn is_before_itself(programs: &[Program], program: &Program) -> bool {
    let mut seen = BTreeSet::new();
    let mut open: Vec<&String> = program.after.iter().collect();
    while let Some(name) = open.pop() {
        if *name == program.name {
            return true;
        }
        if seen.insert(name) {
            open.extend(programs.iter().filter(|p| p.name == *name).flat_map(|p| &p.after));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Settings::parse(text, Path::new("/nowhere")).unwrap_err()
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, expected) in [
            ("daemons:\n  - {name: a, run: x, colour: red}\n", "line 2"),
            ("daemons:\n  - {name: a, run: [x]}\n", "line 2"),
            ("daemons:\n  - {name: a}\n", "line 2"),
            ("daemons:\n  - {name: a, run: x, restart: sometimes}\n", "line 2"),
            (
                "daemons:\n  - name: a\n    run: x\n  - name: b\n    run: x\n    after: [c]\n",
                "'b' at line 4: it is to start after 'c', and no daemon is called so",
            ),
            (
                "daemons:\n  - {name: a, run: x}\n  - {name: a, run: y}\n",
                "'a' at line 3: this name is taken by another daemon",
            ),
            (
                "daemons:\n  - {name: a, run: x, after: [b]}\n  - {name: b, run: x, after: [a]}\n",
                "'a' at line 2: it would wait for itself",
            ),
            ("daemons:\n  - {name: a, run: x, namespace: 'left arm'}\n", "'a' at line 2: namespace:"),
            (
                "daemons:\n  - {name: a, run: x, params_file: p.yaml}\n",
                "'a' at line 2: there is no params_file /nowhere/p.yaml",
            ),
            ("daemons:\n  - {name: a, run: x, nodes: [b]}\n", "'a' at line 2:"),
            (
                "daemons:\n  - {name: one, run: sim-arm}\n  - {name: two, run: sim-arm}\n",
                "'two' at line 3: it would publish the same topics as 'one'",
            ),
            (
                "daemons:\n  - {name: one, run: sim-arm, namespace: /}\n  - {name: two, run: /opt/bin/sim-arm}\n",
                "'two' at line 3: it would publish the same topics as 'one', which is sim-arm too",
            ),
            (
                "daemons:\n  - {name: a, run: mocap-system, args: [--kind, dummy, --name, a]}\n  \
                 - {name: b, run: mocap-system, args: [--kind=dummy, --name, b]}\n",
                "'b' at line 3: it would publish the same topics as 'a'",
            ),
            ("logs: {megabytes: 1}\nspeed: 3\ndaemons: []\n", "line 2"),
            (
                "daemons: []\nlogs: {megabytes: 18446744073709551615}\n",
                "`megabytes` goes from 1 to 1000000 at line 2",
            ),
            ("daemons: []\nlogs: {files: 4294967295}\n", "`files` goes from 0 to 1000 at line 2"),
            (
                "daemons:\n  - {name: a, run: x, watchdog: 18446744073709551615}\n",
                "'a' at line 2: `watchdog` is at most",
            ),
            ("daemons:\n  - {name: a, run: x, environment: {'A=B': c}}\n", "'a' at line 2: no variable"),
        ] {
            let error = error(text);
            assert!(error.contains(expected), "{text}{error}");
        }
    }

    #[test]
    fn a_namespace_makes_room_for_a_second_simulator_and_moves_its_nodes() {
        let text = "lan: true\nlogs: {megabytes: 1}\ndaemons:
  - {name: left, run: sim-arm, args: [run], namespace: /left, nodes: [/arm_controller]}
  - {name: right, run: sim-arm, args: [run], namespace: /right, restart: on-failure, after: [left]}";
        let settings = Settings::parse(text, Path::new("")).unwrap();
        assert!(settings.lan && settings.logs == LogSettings { megabytes: 1, ..LogSettings::default() });
        let [left, right] = &settings.daemons[..] else { panic!("two daemons") };
        assert_eq!(left.arguments(), ["run", "--ros-args", "-r", "__ns:=/left"]);
        assert_eq!(left.expected_nodes(), ["/left/arm_controller"]);
        assert_eq!(right.restart, Restart::OnFailure);
        let mut settings = settings;
        settings.keep_only(&["right".to_owned()]).unwrap();
        assert!(settings.daemons[0].after.is_empty(), "who is not run is not waited for");
        assert!(settings.keep_only(&["middle".to_owned()]).is_err());
    }
}
