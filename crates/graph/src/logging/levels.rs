//! Which records are shown.

use std::collections::BTreeMap;

use crate::console::Severity;

/// Which records are worth showing: a level per logger, inherited along the dots of its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LoggerLevels {
    default: Severity,
    loggers: BTreeMap<String, Severity>,
}

impl Default for LoggerLevels {
    fn default() -> Self {
        Self { default: Severity::Info, loggers: BTreeMap::new() }
    }
}

impl LoggerLevels {
    /// The least severity that `logger` shows.
    pub(super) fn level(&self, logger: &str) -> Severity {
        let mut name = logger;
        loop {
            if let Some(level) = self.loggers.get(name) {
                return *level;
            }
            match name.rfind('.') {
                Some(dot) => name = &name[..dot],
                None => return self.default,
            }
        }
    }

    /// What was set for exactly this logger.
    pub(super) fn named(&self, logger: &str) -> Option<Severity> {
        self.loggers.get(logger).copied()
    }

    pub(super) fn is_enabled(&self, logger: &str, severity: Severity) -> bool {
        severity >= self.level(logger)
    }

    /// The least severity shown by any logger: what is below it needs no look at the names.
    pub(super) fn lowest(&self) -> Severity {
        self.loggers.values().copied().fold(self.default, Severity::min)
    }
}

impl From<&crate::config::RosArguments> for LoggerLevels {
    fn from(arguments: &crate::config::RosArguments) -> Self {
        let mut levels = Self::default();
        levels.default = arguments.log_level.unwrap_or(levels.default);
        levels.loggers.extend(arguments.logger_levels.iter().cloned());
        levels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loggers_inherit_their_level_along_the_dots() {
        let loggers = [("ns", Severity::Warn), ("ns.node", Severity::Debug)];
        let loggers = loggers.map(|(name, level)| (name.to_owned(), level)).into();
        let levels = LoggerLevels { loggers, ..LoggerLevels::default() };
        assert!(levels.is_enabled("ns.node.part", Severity::Debug));
        assert!(!levels.is_enabled("ns.other", Severity::Info));
        assert!(levels.is_enabled("nsx", Severity::Info));
        assert!(!levels.is_enabled("nsx", Severity::Debug));
        assert_eq!(levels.lowest(), Severity::Debug);
    }
}
