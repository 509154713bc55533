//! The demo's place on the graph, its daemons and its display.

use std::{
    cell::RefCell,
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use rosless_graph::{config::Settings, lines::eprint_line};

use crate::{
    failure::{Failure, Result},
    fleet::{Child, Executables, LineSink, Place, Program, console, stop_all},
    output::{Colour, coloured, escape, out, raw},
    session::Session,
};

/// For what takes a moment on a busy machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);
/// Lines of a daemon that are shown when it dies.
const LAST_WORDS: usize = 8;

type Lines = Arc<Mutex<VecDeque<String>>>;

pub(super) struct Stage {
    pub(super) session: Session,
    children: RefCell<Vec<(Child, Lines)>>,
    began: Instant,
    quiet: bool,
    verbose: bool,
}

impl Stage {
    pub(super) fn open(settings: Settings, quiet: bool, verbose: bool) -> Result<Self> {
        let session = Session::join_as(&settings, "_rosless", ())?;
        Ok(Self { session, children: RefCell::default(), began: Instant::now(), quiet, verbose })
    }

    pub(super) fn start(&self, executables: &Executables, program: &Program) -> Result<()> {
        self.launch(executables, program).map(drop)
    }

    /// Starts the web console, which has the takes of this folder; the address to open.
    pub(super) fn start_console(&self, executables: &Executables, takes: &str) -> Result<String> {
        let args = vec!["--takes".to_owned(), takes.to_owned()];
        let lines = self.launch(executables, &Program { args, ..console() })?;
        let address = || {
            let lines = lines.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            lines.iter().find_map(|line| line.strip_prefix("console: ").map(str::to_owned))
        };
        self.wait("the console's address", PATIENCE, || address().is_some())?;
        Ok(address().unwrap_or_default())
    }

    fn launch(&self, executables: &Executables, program: &Program) -> Result<Lines> {
        let lines = Lines::default();
        let (kept, name, verbose) = (lines.clone(), program.name.clone(), self.verbose);
        let sink: LineSink = Arc::new(move |line| {
            if verbose {
                eprint_line(&format!("{name:>10} | {line}"));
            }
            let mut kept = kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            kept.push_back(line.to_owned());
            if kept.len() > LAST_WORDS {
                kept.pop_front();
            }
        });
        let domain = self.session.context.settings().environment.domain_id;
        let child = executables.start(program, &Place { domain, range: "LOCALHOST", ear: None }, sink)?;
        self.children.borrow_mut().push((child, lines.clone()));
        Ok(lines)
    }

    /// Runs until the condition holds; how long it took.
    ///
    /// # Errors
    /// When it does not hold in time, on Ctrl-C, and when a daemon dies.
    pub(super) fn wait(
        &self,
        what: &str,
        timeout: Duration,
        mut condition: impl FnMut() -> bool,
    ) -> Result<Duration> {
        let began = Instant::now();
        let mut death = None;
        let held = self.session.run_until(timeout, || {
            death = self.death();
            death.is_some() || condition()
        })?;
        match death {
            Some(death) => Err(death),
            None if held => Ok(began.elapsed()),
            None => Err(Failure::new(format!("{what}: not seen within {} s", timeout.as_secs()))),
        }
    }

    /// Until Ctrl-C.
    pub(super) fn stay(&self) -> Result<()> {
        self.session.watch(None, |()| self.death().is_some())
    }

    /// Whether a daemon has ended, and what it said last.
    fn death(&self) -> Option<Failure> {
        let mut children = self.children.borrow_mut();
        children.iter_mut().find_map(|(child, lines)| {
            let status = child.ended()?;
            let last = lines.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let last: Vec<_> = last.iter().map(|line| format!("  {line}")).collect();
            Some(Failure::new(format!(
                "{} died ({status}); its last words:\n{}",
                child.name,
                last.join("\n")
            )))
        })
    }

    /// Ends every daemon; how many had to be killed.
    pub(super) fn close(&self) -> usize {
        stop_all(self.children.take().into_iter().map(|(child, _)| child).collect())
    }

    pub(super) fn say(&self, text: &str) {
        if !self.quiet {
            out!("{text}");
        }
    }

    /// A step of the story that was seen to happen.
    pub(super) fn done(&self, what: &str, figure: &str) {
        if !self.quiet {
            let (seconds, tick) = (self.began.elapsed().as_secs_f64(), coloured(Colour::Green, "✓"));
            raw(&format!("{seconds:5.1} s  {tick} {}: {}\n", escape(what), escape(figure)));
        }
    }
}

/// Adds what is known to a failure.
pub(super) fn explain(failure: Failure, more: &str) -> Failure {
    Failure { message: format!("{} ({more})", failure.message), ..failure }
}
