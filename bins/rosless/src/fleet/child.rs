//! A child process that does not outlive us.

use std::{
    env,
    io::{BufRead as _, BufReader, Read},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::process::CommandExt as _,
    },
    path::Path,
    process::{self, Command, ExitStatus, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, getppid, kill_process, pidfd_open, set_parent_process_death_signal},
};

use crate::failure::{Failure, Result};

/// Gets every line that a program prints, on a thread of its own.
pub(crate) type LineSink = Arc<dyn Fn(&str) + Send + Sync>;

/// How long a program may take to leave when it is asked to.
const FAREWELL: Duration = Duration::from_secs(3);
/// Makes this program become another one that ends with its parent; see [`become_child`].
const BECOME: &str = "__become";

#[derive(Debug)]
pub(crate) struct Child {
    pub(crate) name: String,
    process: process::Child,
    /// Readable once it has ended.
    end: OwnedFd,
}

impl Child {
    pub(crate) fn start(name: &str, command: &Command, lines: LineSink) -> Result<Self> {
        let program = command.get_program().to_string_lossy().into_owned();
        if !Path::new(&program).is_file() {
            return Err(Failure::new(format!("cannot start {program}: there is no such file")));
        }
        let mut process = bound_to_us(command)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| Failure::new(format!("cannot start {program}: {error}")))?;
        let end = pidfd_open(Pid::from_child(&process), PidfdFlags::empty())
            .map_err(|error| Failure::new(format!("cannot watch {program}: {error}")))?;
        let outputs: [Option<Box<dyn Read + Send>>; 2] = [
            process.stdout.take().map(|pipe| Box::new(pipe) as _),
            process.stderr.take().map(|pipe| Box::new(pipe) as _),
        ];
        for output in outputs.into_iter().flatten() {
            let lines = lines.clone();
            thread::spawn(move || {
                for line in BufReader::new(output).split(b'\n').map_while(std::io::Result::ok) {
                    lines(&String::from_utf8_lossy(&line));
                }
            });
        }
        Ok(Self { name: name.to_owned(), process, end })
    }

    /// Readable once it has ended.
    pub(crate) fn end(&self) -> BorrowedFd<'_> {
        self.end.as_fd()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// How it ended, if it did.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.process.try_wait().ok().flatten()
    }

    fn signal(&mut self, signal: Signal) {
        // Asked first, because the number of a process that was waited for may belong to another by now.
        if self.ended().is_none() {
            let _ = kill_process(Pid::from_child(&self.process), signal);
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.process.wait();
    }
}

/// Asks all of them to leave and ends those that do not; how many had to be forced.
pub(crate) fn stop_all(mut children: Vec<Child>) -> usize {
    children.iter_mut().for_each(|child| child.signal(Signal::INT));
    let deadline = Instant::now() + FAREWELL;
    loop {
        children.retain_mut(|child| child.ended().is_none());
        if children.is_empty() || Instant::now() >= deadline {
            return children.len();
        }
        wait(children.iter().map(Child::end), Some(deadline));
    }
}

/// Waits until a descriptor is readable, or it is time.
pub(crate) fn wait<'a>(descriptors: impl Iterator<Item = BorrowedFd<'a>>, until: Option<Instant>) {
    let mut list: Vec<_> = descriptors.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    // An interruption by a signal is one more reason to look.
    let _ = poll(&mut list, left.and_then(|left| Timespec::try_from(left).ok()).as_ref());
}

/// The command, run by way of this very program: only a process itself can ask for a signal at its parent's death, so
/// that none is left behind even when we are killed.
fn bound_to_us(command: &Command) -> Command {
    let mut bound = Command::new("/proc/self/exe");
    bound.arg(BECOME).arg(process::id().to_string()).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => bound.env(name, value),
            None => bound.env_remove(name),
        };
    }
    bound
}

/// If this process was started to become another program, it does; returns only why it could not, or if it was not.
pub(crate) fn become_child() -> Option<Failure> {
    let mut words = env::args_os().skip(1);
    if words.next()? != BECOME {
        return None;
    }
    let parent = words.next()?.to_str()?.parse().ok().and_then(Pid::from_raw)?;
    let program = words.next()?;
    if let Err(error) = set_parent_process_death_signal(Some(Signal::TERM)) {
        return Some(Failure::new(format!("cannot be bound to the parent process: {error}")));
    }
    if getppid() != Some(parent) {
        return Some(Failure::new("the parent process is gone already"));
    }
    let error = Command::new(&program).args(words).exec();
    Some(Failure::new(format!("cannot start {}: {error}", program.to_string_lossy())))
}
