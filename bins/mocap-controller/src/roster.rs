//! Who and what is expected: a list on the command line, or a file.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use rosless_cli::{Failure, Result};
use serde::Deserialize;

/// A rig: the systems that belong to it, the topics that must flow, and how long a start may take.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Roster {
    #[serde(default)]
    pub(crate) systems: Vec<String>,
    /// Topic to the least number of samples per second.
    #[serde(default)]
    pub(crate) topics: BTreeMap<String, f64>,
    /// Seconds.
    pub(crate) timeout: Option<f64>,
}

impl Roster {
    /// What `--expect` says: a file if there is one of that name, else names with commas between them.
    pub(crate) fn read(text: &str) -> Result<Self> {
        let path = Path::new(text);
        let is_file = path.is_file() || [".yaml", ".yml"].iter().any(|end| text.ends_with(end));
        let roster = if is_file {
            let content =
                fs::read_to_string(path).map_err(|error| Failure::usage(format!("{text}: {error}")))?;
            serde_yaml_ng::from_str(&content).map_err(|error| {
                Failure::usage(format!(
                    "{text} is no roster (systems: […], topics: {{TOPIC: HZ}}, timeout: S): {error}"
                ))
            })?
        } else {
            Self { systems: text.split(',').map(|name| name.trim().to_owned()).collect(), ..Self::default() }
        };
        roster
            .systems
            .iter()
            .try_for_each(|name| rosless_protocol::name::check(name))
            .map_err(Failure::usage)?;
        if roster.topics.values().any(|hertz| !hertz.is_finite() || *hertz < 0.0) {
            return Err(Failure::usage(format!("{text}: a topic's rate is a number of samples per second")));
        }
        if roster.timeout.is_some_and(|s| !(0.01..=86_400.0).contains(&s)) {
            return Err(Failure::usage(format!("{text}: timeout is a number of seconds from 0.01 to 86400")));
        }
        Ok(roster)
    }

    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout.map(Duration::from_secs_f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_or_a_file_says_who_is_expected() {
        assert_eq!(Roster::read("a, /lab/b").unwrap().systems, ["a", "/lab/b"]);
        assert!(Roster::read("a,,b").is_err() && Roster::read("no_such.yaml").is_err());
        let folder = rosless_tests::Scratch::make();
        let path = folder.file("rig.yaml", "systems: [a, b]\ntopics: {markers: 20}\ntimeout: 8\n");
        let path = path.to_str().unwrap();
        let roster = Roster::read(path).unwrap();
        assert_eq!((roster.topics["markers"], roster.timeout()), (20.0, Some(Duration::from_secs(8))));
        for bad in ["system: [a]", "systems: [1 2]", "topics: {a: -1}", "timeout: 0"] {
            fs::write(path, bad).unwrap();
            assert!(Roster::read(path).is_err(), "{bad}");
        }
    }
}
