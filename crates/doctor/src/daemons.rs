//! What the daemons of `rosless up` tell of themselves: how much was lost of what they should have heard, and how much had
//! to be said again.

use std::{
    env,
    fs::{File, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use rosless_graph::Counters;
use rustix::{fs::OFlags, process::geteuid};
use serde::Deserialize;

use crate::Finding;

/// More than this is no report.
const LONGEST_REPORT: u64 = 1 << 20;

/// The file that `rosless up` keeps locked while it runs daemons in a domain.
pub fn lock(domain: u16) -> PathBuf {
    let folder = env::var_os("XDG_RUNTIME_DIR").map_or_else(env::temp_dir, PathBuf::from);
    folder.join(format!("rosless-up-{domain}.pid"))
}

/// Where it tells what they do, as long as it holds that lock.
pub fn report(lock: &Path) -> PathBuf {
    lock.with_extension("json")
}

/// What concerns a doctor of what stands there.
#[derive(Debug, Deserialize)]
struct Report {
    daemons: Vec<Daemon>,
}

#[derive(Debug, Deserialize)]
struct Daemon {
    name: String,
    /// Nothing where there is nothing to tell.
    counters: Option<Counters>,
}

/// Opens a file of `rosless up`, in a folder where anybody may have put something else: whoever opens a pipe waits for its other
/// end, and who believes a stranger's file ends the process that it names.
///
/// # Errors
/// It cannot be opened, is no ordinary file, or is neither ours nor root's.
pub fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = options.custom_flags(flags.bits().cast_signed()).open(path)?;
    let metadata = file.metadata()?;
    let own = geteuid().as_raw();
    match metadata.uid() {
        _ if !metadata.is_file() => Err(io::Error::other("is no ordinary file; who put it there?")),
        user if user != own && user != 0 => {
            let message = format!("belongs to user {user}; run this as that user, or remove the file");
            Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
        }
        _ => Ok(file),
    }
}

/// What stands in the report beside the lock.
///
/// # Errors
/// As of [`open`].
pub fn read_report(lock: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    open(&report(lock), File::options().read(true))?.take(LONGEST_REPORT).read_to_end(&mut text)?;
    Ok(text)
}

/// What they tell; nothing when none is up in this domain, on this machine.
fn told(lock: &Path) -> Option<Vec<Daemon>> {
    open(lock, File::options().read(true)).ok()?.try_lock_shared().is_err().then_some(())?;
    Some(serde_json::from_slice::<Report>(&read_report(lock).ok()?).ok()?.daemons)
}

/// What running daemons say of the samples they should have heard, and of what it took, by name.
pub(crate) fn examine(lock: &Path) -> Vec<Finding> {
    let Some(told) = told(lock).filter(|told| !told.is_empty()) else { return Vec::new() };
    let counted: Vec<_> = told.iter().filter_map(|daemon| Some((&daemon.name, daemon.counters?))).collect();
    let words = |is: fn(&Counters) -> bool| {
        let those = counted.iter().filter(|(_, counters)| is(counters));
        those.map(|(name, counters)| format!("{name}: {counters}")).collect::<Vec<_>>().join("; ")
    };
    let faulty = words(|counters| !counters.is_clean() || counters.is_laboured());
    if !faulty.is_empty() {
        return vec![Finding::warn(
            "daemons",
            faulty,
            "lost: best effort, a link that drops, or more than the machine can take (kernel drops above); sent or asked for \
             again: the same, made good; not decodable or of another type: another version of the messages; \
             `rosless logs` names the topics",
        )];
    }
    let mut found = format!("{} of `rosless up`, nothing lost that they should have heard", told.len());
    let repaired = words(|_| true);
    if !repaired.is_empty() {
        found += &format!(" ({repaired})");
    }
    vec![Finding::ok("daemons", found)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Level;

    fn examined(folder: &Path, report_text: &str) -> Vec<(Level, String)> {
        let lock = folder.join("up.pid");
        std::fs::write(&lock, "1").unwrap();
        std::fs::write(report(&lock), report_text).unwrap();
        assert!(examine(&lock).is_empty(), "nobody holds the lock: that is an old report");
        let held = File::open(&lock).unwrap();
        held.try_lock().unwrap();
        examine(&lock).into_iter().map(|finding| (finding.level, finding.found)).collect()
    }

    #[test]
    fn what_daemons_lost_and_repaired_is_told_by_name_and_nothing_where_none_runs() {
        let folder = rosless_tests::Scratch::make();
        let look = |report: &str| examined(&folder, report);

        assert!(examine(&folder.join("nobody.pid")).is_empty());
        assert!(look("{").is_empty(), "what is not a report is none");
        let quiet = "1 of `rosless up`, nothing lost that they should have heard".to_owned();
        let arm = r#"{"daemons": [{"name": "arm", "state": "running", "counters": null}]}"#;
        assert_eq!(look(arm), [(Level::Ok, quiet.clone())]);

        let with = |numbers: &str| {
            let counters = format!(r#"{{"undecodable": 0, "wrong_type": 0, "unanswered": 0, {numbers}}}"#);
            look(&arm.replace("null", &counters))
        };
        let lossy = with(r#""received": 9, "lost": 3"#);
        assert_eq!(lossy, [(Level::Warn, "arm: 9 samples received, 3 lost".to_owned())]);
        let repaired = with(r#""received": 9000, "lost": 0, "sent_again": 7, "asked_again": 2"#);
        let words = "arm: 9000 samples received, 7 sent again, 2 asked for again";
        assert_eq!(repaired, [(Level::Ok, format!("{quiet} ({words})"))]);
        let laboured = with(r#""received": 9000, "lost": 0, "asked_again": 900"#);
        assert_eq!(laboured, [(Level::Warn, "arm: 9000 samples received, 900 asked for again".to_owned())]);

        let lock = folder.join("up.pid");
        let held = File::open(&lock).unwrap();
        held.try_lock().unwrap();
        for planted in [report(&lock), lock.clone()] {
            std::fs::remove_file(&planted).unwrap();
            assert!(std::process::Command::new("mkfifo").arg(&planted).status().unwrap().success());
            assert!(examine(&lock).is_empty(), "nobody waits for the other end of a pipe");
        }
    }
}
