//! Single keys from a terminal.

use std::io::{self, IsTerminal as _, Read as _};

use rosless_graph::Handle;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::failure::Result;

/// A terminal that tells every key at once; as it was when this is dropped.
#[derive(Debug)]
pub(crate) struct Keys(Option<Termios>);

impl Keys {
    /// Calls back for each key. Without a terminal there are none.
    pub(crate) fn watch<S: 'static>(
        handle: &Handle<S>,
        wanted: bool,
        mut pressed: impl FnMut(&mut S, u8) + 'static,
    ) -> Result<Self> {
        if !wanted || !io::stdin().is_terminal() {
            return Ok(Self(None));
        }
        let Ok(before) = tcgetattr(io::stdin()) else { return Ok(Self(None)) };
        let mut each = before.clone();
        each.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        if tcsetattr(io::stdin(), OptionalActions::Now, &each).is_err() {
            return Ok(Self(None));
        }
        let keys = Self(Some(before));
        handle.watch(io::stdin(), move |app, stdin| {
            let mut read = [0; 64];
            let count = stdin.read(&mut read).unwrap_or(0);
            read[..count].iter().for_each(|key| pressed(app, *key));
            count > 0
        })?;
        Ok(keys)
    }

    /// Whether somebody can press one.
    pub(crate) fn are_there(&self) -> bool {
        self.0.is_some()
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // Nothing can be done for a terminal that has gone.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}
