//! A process that cannot do its work any more ends, so that its supervisor can start it anew.

use std::{
    env, panic, process,
    sync::{
        Once,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use rustdds::liveness::Fault;

use crate::lines::eprint_line;

/// The exit code after a panic (`EX_SOFTWARE`): none that a program of ours ends with otherwise.
pub const CRASHED: u8 = 70;

/// What the names of RustDDS's threads begin with.
const DDS_THREADS: &str = "RustDDS";

static OWNS_PROCESS: AtomicBool = AtomicBool::new(false);

/// From now on a panic in a thread of RustDDS ends the process, because nothing is heard or said after it. Where the
/// whole process is ours, a panic in any thread does; elsewhere (tests, embedding) other threads are none of our business.
pub(crate) fn end_on_panic(owns_process: bool) {
    static HOOK: Once = Once::new();
    OWNS_PROCESS.fetch_or(owns_process, Ordering::Relaxed);
    HOOK.call_once(|| {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            report(panic);
            let thread = thread::current();
            let name = thread.name().unwrap_or("without a name");
            if OWNS_PROCESS.load(Ordering::Relaxed) || name.starts_with(DDS_THREADS) {
                // Not logged: whatever a logger needs may be in the hands of the code that panicked.
                eprint_line(&format!(
                    "[FATAL]: thread {name} panicked; this process ends with code {CRASHED}"
                ));
                process::exit(CRASHED.into());
            }
        }));
    });
}

/// What a test wants to happen to a thread of this process, by its place in `DomainParticipant::liveness`; `None` in its
/// place means the event loop's own. Builds for use do not look.
pub(crate) fn fault_for_test() -> Option<(Option<usize>, Fault)> {
    let wish = env::var("ROSLESS_TEST_FAULT").ok().filter(|_| cfg!(debug_assertions))?;
    let (fault, thread) = wish.split_once('-')?;
    let fault = if fault == "hang" { Fault::Hang } else { Fault::Panic };
    Some((["receiving", "discovery"].iter().position(|name| *name == thread), fault))
}
