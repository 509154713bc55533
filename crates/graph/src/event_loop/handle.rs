//! What callbacks and programs register: timers, engines, descriptors, followers of the graph.

use std::{
    cell::RefCell,
    io,
    os::fd::{AsFd, AsRawFd},
    rc::{Rc, Weak},
    time::Duration,
};

use mio::{Interest, Registry, Token, unix::SourceFd};
use rosless_engine::Engine;

use super::{Callback, Core, EngineDeadline, Source, TimerEntry, monotonic, now};
use crate::{Context, Error, Graph, Result, context::IncompatibleQos};

/// A way to an event loop that may be cloned into callbacks. It does not keep the loop alive.
pub struct Handle<S> {
    pub(super) core: Weak<Core<S>>,
}

impl<S> Clone for Handle<S> {
    fn clone(&self) -> Self {
        Self { core: self.core.clone() }
    }
}

impl<S> std::fmt::Debug for Handle<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Handle")
    }
}

/// A timer that can be stopped.
pub struct Timer<S> {
    handle: Handle<S>,
    id: usize,
}

impl<S> std::fmt::Debug for Timer<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Timer").field("id", &self.id).finish()
    }
}

impl<S> Timer<S> {
    /// It will not fire again.
    pub fn cancel(self) {
        if let Some(core) = self.handle.core.upgrade() {
            let due = core.due.borrow_mut().remove(&self.id);
            let entry = due.and_then(|due| core.timers.borrow_mut().remove(&(due, self.id)));
            // Whatever the callback owns may cancel timers of its own.
            drop(entry);
        }
    }
}

impl<S: 'static> Handle<S> {
    pub(crate) fn core(&self) -> Result<Rc<Core<S>>> {
        self.core.upgrade().ok_or(Error::LoopEnded)
    }

    /// Calls back every `period`. A callback that was late is not repeated for the periods it missed.
    pub fn timer(&self, period: Duration, callback: impl FnMut(&mut S) + 'static) -> Timer<S> {
        let period = period.max(Duration::from_nanos(1));
        self.add_timer(monotonic() + period, Some(period), Rc::new(RefCell::new(callback)))
    }

    /// Calls back once, after `delay`.
    pub fn once(&self, delay: Duration, callback: impl FnOnce(&mut S) + 'static) -> Timer<S> {
        let mut callback = Some(callback);
        let once = move |app: &mut S| {
            if let Some(callback) = callback.take() {
                callback(app);
            }
        };
        self.add_timer(monotonic() + delay, None, Rc::new(RefCell::new(once)))
    }

    fn add_timer(&self, due: Duration, period: Option<Duration>, callback: Callback<S>) -> Timer<S> {
        let id = self.core.upgrade().map_or(0, |core| {
            let id = core.new_id();
            core.due.borrow_mut().insert(id, due);
            core.timers.borrow_mut().insert((due, id), TimerEntry { period, callback });
            id
        });
        Timer { handle: self.clone(), id }
    }

    /// Drives an engine: `next` tells its deadline on the [`monotonic`] clock, `fire` is called once it has passed.
    pub fn engine_deadline(
        &self,
        next: impl FnMut(&mut S) -> Option<Duration> + 'static,
        fire: impl FnMut(&mut S, Duration) + 'static,
    ) {
        if let Some(core) = self.core.upgrade() {
            let engine =
                EngineDeadline { next: RefCell::new(Box::new(next)), fire: RefCell::new(Box::new(fire)) };
            core.engines.borrow_mut().push(Rc::new(engine));
        }
    }

    /// Runs an engine: wakes it at its deadline, and after every batch of events hands all that it wants done to `act`, one
    /// by one. This is the one place where it is drained: callbacks only tell it what happened.
    ///
    /// `engine` calls what it is given with the engine, wherever that is, if it is there.
    pub fn drive<E: Engine + 'static>(
        &self,
        engine: impl Fn(&mut S, &mut dyn FnMut(&mut E)) + Clone + 'static,
        mut act: impl FnMut(&mut S, E::Output) + 'static,
    ) {
        let (asked, woken) = (engine.clone(), engine.clone());
        self.engine_deadline(
            move |app| {
                let mut deadline = None;
                asked(app, &mut |engine| deadline = engine.next_deadline());
                deadline
            },
            move |app, _| woken(app, &mut |engine| engine.wake(now())),
        );
        self.after_batch(move |app| {
            loop {
                let mut output = None;
                engine(app, &mut |engine| output = engine.poll_output());
                match output {
                    Some(output) => act(app, output),
                    None => return,
                }
            }
        });
    }

    /// Calls back after every batch of events, before the loop waits again: the place to drain engines' outputs.
    pub fn after_batch(&self, callback: impl FnMut(&mut S) + 'static) {
        if let Some(core) = self.core.upgrade() {
            core.after_batch.borrow_mut().push(Rc::new(RefCell::new(callback)));
        }
    }

    /// Calls back once per batch in which anything about the graph changed.
    pub fn on_graph_change(&self, callback: impl FnMut(&mut S, &Graph) + 'static) {
        if let Some(core) = self.core.upgrade() {
            core.on_graph_change.borrow_mut().push(Rc::new(RefCell::new(callback)));
        }
    }

    /// Calls back for every endpoint that would match one of ours if its quality of service fitted. It is logged anyway.
    pub fn on_incompatible_qos(&self, callback: impl FnMut(&mut S, &IncompatibleQos) + 'static) {
        if let Some(core) = self.core.upgrade() {
            core.on_incompatible_qos.borrow_mut().push(Rc::new(RefCell::new(callback)));
        }
    }

    /// Calls back when a descriptor (stdin, a socket) can be read. It is watched until the callback returns `false`.
    ///
    /// Readiness is reported on change only: read until `WouldBlock`, or read what is there once for a terminal.
    pub fn watch<F: AsFd + 'static>(
        &self,
        fd: F,
        callback: impl FnMut(&mut S, &mut F) -> bool + 'static,
    ) -> Result<()> {
        self.watch_for(fd, Interest::READABLE, callback)
    }

    /// Like [`watch`](Self::watch), also when the descriptor can be written to again.
    pub fn watch_both_ways<F: AsFd + 'static>(
        &self,
        fd: F,
        callback: impl FnMut(&mut S, &mut F) -> bool + 'static,
    ) -> Result<()> {
        self.watch_for(fd, Interest::READABLE | Interest::WRITABLE, callback)
    }

    fn watch_for<F: AsFd + 'static>(
        &self,
        fd: F,
        interest: Interest,
        callback: impl FnMut(&mut S, &mut F) -> bool + 'static,
    ) -> Result<()> {
        let core = self.core()?;
        let token = core.new_id();
        core.registry
            .register(&mut SourceFd(&fd.as_fd().as_raw_fd()), Token(token), interest)
            .map_err(Error::io("cannot watch the descriptor"))?;
        let source =
            FdSource { handle: self.clone(), token, fd: RefCell::new(fd), callback: RefCell::new(callback) };
        core.sources.borrow_mut().insert(token, Rc::new(source));
        Ok(())
    }

    /// Makes [`EventLoop::run`](super::EventLoop::run) return after the current batch.
    pub fn stop(&self) {
        if let Some(core) = self.core.upgrade() {
            core.stopping.set(true);
        }
    }

    /// The context the loop serves; `None` when the loop has ended.
    pub fn context(&self) -> Option<Context> {
        Some(self.core.upgrade()?.context.clone())
    }
}

struct FdSource<S, F, C> {
    handle: Handle<S>,
    token: usize,
    fd: RefCell<F>,
    callback: RefCell<C>,
}

impl<S: 'static, F: AsFd + 'static, C: FnMut(&mut S, &mut F) -> bool> Source<S> for FdSource<S, F, C> {
    fn ready(&self, app: &mut S) -> bool {
        let go_on = (self.callback.borrow_mut())(app, &mut self.fd.borrow_mut());
        if !go_on && let Ok(core) = self.handle.core() {
            core.remove_source(self.token);
        }
        false
    }

    fn deregister(&self, registry: &Registry) -> io::Result<()> {
        registry.deregister(&mut SourceFd(&self.fd.borrow().as_fd().as_raw_fd()))
    }
}
