//! Child processes of a test: output collected, signals by pid, ended when the test ends.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test prints for people")]

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use rustix::pty::OpenptFlags;

use crate::{Scratch, eventually_some};

/// A command line as people write it, for arguments without spaces in them.
pub fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// A running program under test. Dropping it kills it, so no test leaves a process behind.
#[derive(Debug)]
pub struct Daemon {
    name: String,
    child: Child,
    /// What it remembers beyond its life, unless the test says where: nothing of another test's.
    _state: Scratch,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Daemon {
    /// Starts `command` with stdout and stderr collected line by line.
    pub fn spawn(mut command: Command) -> Self {
        command.stdin(Stdio::null());
        Self::launch(command)
    }

    /// Like [`Daemon::spawn`], with a standard input for the test to write to.
    pub fn spawn_with_stdin(mut command: Command) -> (Self, ChildStdin) {
        command.stdin(Stdio::piped());
        let mut daemon = Self::launch(command);
        let stdin = daemon.child.stdin.take().expect("stdin is piped");
        (daemon, stdin)
    }

    /// Like [`Daemon::spawn`], with a terminal as standard input, and the end at which the test sits.
    ///
    /// # Panics
    /// Where the system has no terminal to give.
    pub fn spawn_at_terminal(mut command: Command) -> (Self, File) {
        let ours = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        rustix::pty::grantpt(&ours)
            .and_then(|()| rustix::pty::unlockpt(&ours))
            .expect("a terminal of our own");
        let name = rustix::pty::ptsname(&ours, Vec::new()).expect("terminals have names");
        let path = name.into_string().expect("a path");
        let theirs =
            File::options().read(true).write(true).open(path).expect("the other end of the terminal");
        command.stdin(theirs);
        (Self::launch(command), File::from(ours))
    }

    fn launch(mut command: Command) -> Self {
        let name = command.get_program().to_string_lossy().into_owned();
        let state = Scratch::make();
        if !command.get_envs().any(|(name, _)| name == "XDG_STATE_HOME") {
            command.env("XDG_STATE_HOME", &*state);
        }
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("cannot start {name}: {e}"));
        let lines = Arc::new(Mutex::new(Vec::new()));
        collect(child.stdout.take().expect("stdout is piped"), lines.clone());
        collect(child.stderr.take().expect("stderr is piped"), lines.clone());
        Self { name, child, _state: state, lines }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Everything printed so far, stdout and stderr interleaved by arrival.
    pub fn output(&self) -> String {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).join("\n")
    }

    /// What `pick` takes from the printed lines, oldest first.
    pub fn filter_map<T>(&self, pick: impl FnMut(&str) -> Option<T>) -> Vec<T> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().map(String::as_str).filter_map(pick).collect()
    }

    /// What `pick` takes from the newest line that has it.
    pub fn find_map_last<T>(&self, pick: impl FnMut(&str) -> Option<T>) -> Option<T> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().rev().map(String::as_str).find_map(pick)
    }

    /// Waits for a printed line that contains `needle` and returns it.
    #[track_caller]
    pub fn wait_for_line(&self, needle: &str, timeout: Duration) -> String {
        eventually_some(
            &format!("{} prints {needle:?}; so far:\n{}", self.name, self.output()),
            timeout,
            || {
                self.lines
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .iter()
                    .find(|l| l.contains(needle))
                    .cloned()
            },
        )
    }

    /// Sends a signal by name (`"INT"`, `"STOP"`, `"KILL"`) to this process only.
    pub fn signal(&self, signal: &str) {
        let status = Command::new("kill").arg(format!("-{signal}")).arg(self.pid().to_string()).status();
        assert!(status.is_ok_and(|s| s.success()), "cannot send {signal} to {}", self.name);
    }

    /// The exit status, if the process has ended.
    pub fn try_wait(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("child can be waited for")
    }

    /// Waits for the process to end by itself.
    #[track_caller]
    pub fn wait(&mut self, timeout: Duration) -> ExitStatus {
        let what = format!("{} ends", self.name);
        eventually_some(&what, timeout, || self.child.try_wait().expect("child can be waited for"))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // A stopped process takes SIGKILL too; failing only means that it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            eprintln!("--- output of {} ---\n{}", self.name, self.output());
        }
    }
}

fn collect(source: impl Read + Send + 'static, lines: Arc<Mutex<Vec<String>>>) {
    thread::spawn(move || {
        for line in BufReader::new(source).split(b'\n').map_while(Result::ok) {
            lines
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(String::from_utf8_lossy(&line).into_owned());
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collects_output_and_exit_code() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo err >&2; exit 3"]);
        let mut daemon = Daemon::spawn(command);
        assert_eq!(daemon.wait(Duration::from_secs(10)).code(), Some(3));
        daemon.wait_for_line("out", Duration::from_secs(10));
        daemon.wait_for_line("err", Duration::from_secs(10));
    }
}
