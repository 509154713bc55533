//! The sign that a domain's daemons are up, and `rosless down`.

use std::{
    fs,
    io::{self, Read as _, Seek as _, Write as _},
    os::fd::AsFd as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use clap::Args;
use rosless_doctor::daemons;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::{
    Environment,
    failure::{Failure, Result},
    fleet::wait,
    output::out,
};

/// How long `up` may take to end everything.
const LONGEST_END: Duration = Duration::from_secs(10);

/// A locked file with our process id: says that this domain's daemons are up, and whom to tell to end them.
#[derive(Debug)]
pub(super) struct Mark {
    file: fs::File,
    path: PathBuf,
}

fn nothing(domain: u16) -> Failure {
    Failure::nobody(format!("nothing is up in domain {domain}; see ROS_DOMAIN_ID and --domain"))
}

/// What is wrong with one of the files.
pub(super) fn wrong(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::new(format!("{}: {error}", path.display()))
}

/// The file of a domain whose daemons are up, beside which lies what there is to know about them.
pub(super) fn find(domain: u16) -> Result<(fs::File, PathBuf)> {
    let path = daemons::lock(domain);
    let file = daemons::open(&path, fs::File::options().read(true)).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => nothing(domain),
        _ => wrong(&path, &error),
    })?;
    if file.try_lock().is_ok() {
        // Nobody holds it: what was up did not end by itself.
        let _ = fs::remove_file(&path);
        return Err(nothing(domain));
    }
    Ok((file, path))
}

impl Mark {
    pub(super) fn take(domain: u16) -> Result<Self> {
        let path = daemons::lock(domain);
        let failed = |error: io::Error| wrong(&path, &error);
        let options = &mut fs::File::options();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut file = daemons::open(&path, options).map_err(failed)?;
        file.try_lock().map_err(|_| {
            Failure::new(format!(
                "the daemons of domain {domain} are up already; end them with `rosless down`"
            ))
        })?;
        file.set_len(0).and_then(|()| write!(file, "{}", std::process::id())).map_err(failed)?;
        Ok(Self { file, path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }
}

/// Ends what `rosless up` runs in this domain, and waits until it has ended.
#[derive(Args, Debug)]
pub(crate) struct Down {}

impl Down {
    pub(crate) fn run(&self, environment: &Environment) -> Result<()> {
        let (mut file, path) = find(environment.settings.environment.domain_id)?;
        let mut text = String::new();
        let read = file.rewind().and_then(|()| file.read_to_string(&mut text));
        let pid = read.ok().and_then(|_| text.trim().parse().ok()).and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| Failure::new(format!("{} does not name a process", path.display())))?;
        let number = pid.as_raw_nonzero();
        let cannot = |error| Failure::new(format!("cannot end process {number}: {error}"));
        let process = pidfd_open(pid, PidfdFlags::empty()).map_err(cannot)?;
        pidfd_send_signal(&process, Signal::TERM).map_err(cannot)?;
        wait([process.as_fd()].into_iter(), Some(Instant::now() + LONGEST_END));
        if file.try_lock().is_err() {
            return Err(Failure::new(format!("process {number} does not end")));
        }
        out!("down");
        Ok(())
    }
}
