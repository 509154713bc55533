//! Names of systems: what a user writes, what a system calls itself, what stands in a target list.

use std::fmt;

/// Longer names are not ROS names, whoever sends them.
const MAX_LEN: usize = 255;

/// Why a text is no system name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("the name is empty: name a system, or ask for all of them")]
    Empty,
    #[error("the name has {0} bytes: a ROS name has at most {MAX_LEN}")]
    TooLong(usize),
    #[error(
        "the name {0:?} is not a ROS name: use letters, digits, '_' and '/' between parts, no part starting with a digit"
    )]
    Invalid(String),
}

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

impl fmt::Display for SystemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.short())
    }
}

/// Checks that `name` could be the name of a node, possibly with namespace.
pub fn check(name: &str) -> Result<(), NameError> {
    if name.is_empty() {
        return Err(NameError::Empty);
    }
    if name.len() > MAX_LEN {
        return Err(NameError::TooLong(name.len()));
    }
    let part_ok = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let parts = name.strip_prefix('/').unwrap_or(name);
    if parts.split('/').all(part_ok) { Ok(()) } else { Err(NameError::Invalid(name.to_owned())) }
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
        // A ROS 1 system calls itself by its full name.
        assert_eq!(SystemId::resolve("/lab", "/cam").unwrap(), root);
    }

    #[test]
    fn what_is_no_name_is_refused_with_the_reason() {
        assert_eq!(SystemId::resolve("", ""), Err(NameError::Empty));
        assert_eq!(SystemId::resolve("", &"a".repeat(65_536)), Err(NameError::TooLong(65_536)));
        for bad in ["a b", "1a", "a//b", "/", "a/", "\u{1b}[31m", "ä", "a\0"] {
            assert!(matches!(SystemId::resolve("", bad), Err(NameError::Invalid(_))), "{bad:?}");
        }
    }
}
