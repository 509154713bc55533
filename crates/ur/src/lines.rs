//! Lines of the dashboard and of everything else that speaks in lines.

/// A line longer than this is no answer and no command.
pub const LONGEST: usize = 4096;

/// A line without end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a line of more than {LONGEST} bytes")]
pub struct TooLong;

/// Cuts a stream into lines.
#[derive(Debug, Clone, Default)]
pub struct Lines {
    bytes: Vec<u8>,
}

impl Lines {
    /// Takes what came.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// The next whole line, without its end; bytes that are no text are replaced.
    ///
    /// # Errors
    /// When a line does not end.
    pub fn next_line(&mut self) -> Result<Option<String>, TooLong> {
        let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') else {
            return if self.bytes.len() > LONGEST { Err(TooLong) } else { Ok(None) };
        };
        if end > LONGEST {
            return Err(TooLong);
        }
        let line: Vec<u8> = self.bytes.drain(..=end).collect();
        Ok(Some(String::from_utf8_lossy(&line).trim_end().to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_and_a_line_without_end_is_an_error() {
        let mut lines = Lines::default();
        lines.push(b"Robotmode: RUN");
        assert_eq!(lines.next_line(), Ok(None));
        lines.push(b"NING\r\nSafety");
        assert_eq!(lines.next_line(), Ok(Some("Robotmode: RUNNING".into())));
        lines.push(&[b'x'; LONGEST]);
        assert_eq!(lines.next_line(), Err(TooLong));
    }
}
