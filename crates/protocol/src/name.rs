//! Names of systems: what a user writes, what a system calls itself, what stands in a target list.

use std::{collections::HashSet, fmt};

pub use rosless_wire::names::NameError;
use rosless_wire::names::check_full_name;

/// The fully qualified name of a system, e.g. `/lab/camera_1`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SystemId(String);

impl SystemId {
    /// The system `source` heard on the control topic of `namespace`; a leading slash (ROS 1) makes it absolute.
    pub fn resolve(namespace: &str, source: &str) -> Result<Self, NameError> {
        check(source)?;
        let namespace = namespace.trim_matches('/');
        Ok(Self(match source.strip_prefix('/') {
            Some(absolute) => format!("/{absolute}"),
            None if namespace.is_empty() => format!("/{source}"),
            None => format!("/{namespace}/{source}"),
        }))
    }

    /// The name that no system can have.
    pub(crate) fn nobody() -> Self {
        Self("/".to_owned())
    }

    /// With leading slash and namespace.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last part.
    pub fn bare(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// How people write it: without the slash when it lives in the root namespace.
    pub fn short(&self) -> &str {
        if self.0.rfind('/') == Some(0) { self.bare() } else { &self.0 }
    }

    /// Whether `text` in a target list means this system.
    ///
    /// A bare name means every system of that name, as in the originals. A name with a slash is a full name, with or
    /// without its leading slash. The empty text means nobody.
    pub fn is_meant_by(&self, text: &str) -> bool {
        if text.contains('/') { text.trim_start_matches('/') == &self.0[1..] } else { text == self.bare() }
    }
}

/// A list of targets in which names are looked up instead of compared one by one: it may be as long as there are systems,
/// and each of them is to be found in it.
#[derive(Debug)]
pub struct Listed<'a> {
    bare: HashSet<&'a str>,
    full: HashSet<&'a str>,
}

impl<'a> Listed<'a> {
    /// Of the texts in a message or a request.
    pub fn new(names: &'a [String]) -> Self {
        let (full, bare): (Vec<&str>, Vec<&str>) =
            names.iter().map(String::as_str).partition(|name| name.contains('/'));
        let full = full.into_iter().map(|name| name.trim_start_matches('/')).collect();
        Self { bare: bare.into_iter().collect(), full }
    }

    /// Whether one of them [means](SystemId::is_meant_by) this system.
    pub fn means(&self, id: &SystemId) -> bool {
        self.bare.contains(id.bare()) || self.full.contains(&id.0[1..])
    }
}

impl fmt::Display for SystemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.short())
    }
}

/// Checks that `name` could be the name of a node, possibly with namespace.
pub fn check(name: &str) -> Result<(), NameError> {
    let absolute = if name.starts_with('/') { name } else { &format!("/{name}") };
    check_full_name(absolute).map_err(|error| NameError {
        what: "system name",
        at: error.at.saturating_sub(absolute.len() - name.len()),
        name: name.to_owned(),
        problem: if name.is_empty() {
            "it is empty: name a system, or ask for all of them"
        } else {
            error.problem
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_may_use_bare_slashed_and_full_names() {
        let root = SystemId::resolve("/", "cam").unwrap();
        let lab = SystemId::resolve("/lab", "cam").unwrap();
        assert_eq!((root.as_str(), root.short()), ("/cam", "cam"));
        assert_eq!((lab.as_str(), lab.short(), lab.bare()), ("/lab/cam", "/lab/cam", "cam"));
        assert!(root.is_meant_by("cam") && root.is_meant_by("/cam"));
        assert!(lab.is_meant_by("cam") && lab.is_meant_by("/lab/cam") && lab.is_meant_by("lab/cam"));
        assert!(!lab.is_meant_by("/cam") && !root.is_meant_by("/lab/cam"));
        assert!(!root.is_meant_by("") && !root.is_meant_by("camera") && !root.is_meant_by("ca"));
        for text in ["cam", "/cam", "/lab/cam", "lab/cam", "//lab/cam", "", "camera", "ca"] {
            let list = ["other".to_owned(), text.to_owned()];
            let listed = Listed::new(&list);
            for id in [&root, &lab] {
                assert_eq!(listed.means(id), id.is_meant_by(text), "{text:?} and {id:?}");
            }
        }
        // A ROS 1 system calls itself by its full name.
        assert_eq!(SystemId::resolve("/lab", "/cam").unwrap(), root);
    }

    #[test]
    fn what_is_no_name_is_refused_with_the_reason() {
        let refusal = |name: &str| SystemId::resolve("", name).unwrap_err();
        assert!(refusal("").to_string().contains("name a system, or ask for all"));
        assert!(refusal(&"a".repeat(65_536)).problem.contains("too long"));
        for (bad, at) in
            [("a b", 1), ("1a", 0), ("a//b", 1), ("/", 0), ("a/", 1), ("\u{1b}[31m", 0), ("ä", 0), ("a\0", 1)]
        {
            assert_eq!(refusal(bad).at, at, "{bad:?}");
        }
    }
}
