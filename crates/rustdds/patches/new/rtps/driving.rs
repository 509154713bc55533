//! Who does a participant's work: the application, on its own poll, for as long as that
//! turns; else the participant's thread, which stands in for it.
//!
//! Whoever works holds the lock. Both watch the sockets with a poll of their own, so
//! that it does no harm when both work for a moment.

use std::{
  cell::RefCell,
  rc::Rc,
  sync::{
    atomic::{AtomicBool, AtomicU64, Ordering},
    Arc, Mutex, MutexGuard, PoisonError,
  },
  thread::{self, Thread},
  time::{Duration, Instant},
};

use mio1::{event::Source, unix::SourceFd, Events, Interest, Poll, Registry, Token, Waker};

use crate::{
  polling::LoopWaker,
  rtps::{constant::LOOP_WAKE_TOKEN, dp_event_loop::DPEventLoop},
  structure::guid::{EntityId, EntityKind},
};

/// An application that neither waits nor has come to wait again for so long is busy with
/// something else.
const PATIENCE: Duration = Duration::from_millis(250);
/// One that hardly ever has anything to do is looked at less often.
const IDLE_PATIENCE: Duration = Duration::from_secs(1);
const IDLE_TURNS: u64 = 10;

/// How many tokens a participant uses in the application's poll.
pub const TOKENS: usize = 80;

/// A poll that watches the participant's sockets.
pub(crate) struct Watch {
  pub registry: Registry,
  first_token: usize,
}

impl Watch {
  pub fn own(registry: Registry) -> Self {
    Self {
      registry,
      first_token: EntityKind::POLL_TOKEN_BASE,
    }
  }

  pub fn of_application(registry: Registry, first_token: usize) -> Self {
    Self {
      registry,
      first_token,
    }
  }

  fn outer(&self, token: Token) -> Token {
    Token(token.0 - EntityKind::POLL_TOKEN_BASE + self.first_token)
  }

  /// The token that the participant knows, if this is one of its.
  pub fn inner(&self, token: Token) -> Option<Token> {
    let number = token.0.checked_sub(self.first_token)?;
    (number < TOKENS).then_some(Token(number + EntityKind::POLL_TOKEN_BASE))
  }

  pub fn register(&self, fd: i32, token: Token, interest: Interest) -> std::io::Result<()> {
    SourceFd(&fd).register(&self.registry, self.outer(token), interest)
  }

  /// Watches a socket that is read. On Linux the poll comes back for as long as there is
  /// something to read, so that nobody has to ask whether there is more; mio would tell only
  /// of what has come since.
  pub fn register_listener(&self, fd: i32, token: Token) -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    {
      use std::os::fd::AsRawFd;

      use nix::libc;

      let mut event = libc::epoll_event {
        events: libc::EPOLLIN as u32,
        u64: self.outer(token).0 as u64,
      };
      // SAFETY: both descriptors are open, and the event is only read.
      let done =
        unsafe { libc::epoll_ctl(self.registry.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &mut event) };
      if done == 0 {
        Ok(())
      } else {
        Err(std::io::Error::last_os_error())
      }
    }
    #[cfg(not(target_os = "linux"))]
    self.register(fd, token, Interest::READABLE)
  }

  pub fn deregister(&self, fd: i32) {
    let _ = SourceFd(&fd).deregister(&self.registry);
  }
}

/// What the participant's thread and the queues know of the application that drives it.
pub(crate) struct Application {
  waker: Waker,
  stand_in: Thread,
  driving: AtomicBool,
  waiting: AtomicBool,
  turns: AtomicU64,
}

impl Application {
  pub fn drives(&self) -> bool {
    self.driving.load(Ordering::SeqCst)
  }

  /// Something was put into a queue. Who does not wait looks there before waiting: the
  /// application says that it waits, and looks after that.
  pub fn wake(&self) {
    if self.waiting.load(Ordering::SeqCst) {
      self.interrupt();
    }
  }

  fn interrupt(&self) {
    if let Err(e) = self.waker.wake() {
      log::debug!("Cannot wake the application: {e}");
    }
  }

  /// Lets the participant's thread do the work at once, because the application is about
  /// to block.
  pub fn hand_over(&self) {
    self.driving.store(false, Ordering::SeqCst);
    self.stand_in.unpark();
  }

  // Returns when the participant's thread has to do the work.
  fn drive(&self) {
    let (mut turns, mut looked) = (self.turns.load(Ordering::Relaxed), Instant::now());
    let mut patience = PATIENCE;
    while self.drives() {
      thread::park_timeout(patience.saturating_sub(looked.elapsed()));
      if looked.elapsed() < patience {
        continue; // handed over, or woken without a reason
      }
      let now = self.turns.load(Ordering::Relaxed);
      let waits = self.waiting.load(Ordering::SeqCst);
      if !waits && turns == now {
        self.driving.store(false, Ordering::SeqCst);
      }
      let is_idle = waits && now.wrapping_sub(turns) <= IDLE_TURNS;
      patience = if is_idle { IDLE_PATIENCE } else { PATIENCE };
      (turns, looked) = (now, Instant::now());
    }
  }
}

/// Readers that have got something which the application has not been told of.
#[derive(Default)]
pub(crate) struct ReadyReaders {
  // Of the list: a reader that knows it is on it already.
  generation: u64,
  readers: Vec<EntityId>,
  told: bool,
}

impl ReadyReaders {
  pub fn add(&mut self, reader: EntityId, known_generation: &mut Option<u64>) {
    if known_generation.replace(self.generation) != Some(self.generation) {
      self.readers.push(reader);
    }
  }

  pub fn readers(&self) -> &[EntityId] {
    &self.readers
  }

  fn take(&mut self, ready: &mut Vec<EntityId>) {
    if !self.readers.is_empty() {
      ready.append(&mut self.readers);
      self.generation += 1;
      self.told = false;
    }
  }
}

pub(crate) type SharedReadyReaders = Rc<RefCell<ReadyReaders>>;

struct Work(DPEventLoop);

// SAFETY: a DPEventLoop is not Send because of the Rcs in it. All of their clones are
// inside of it, too, in the readers and writers that it makes from what came to it
// through channels, so they only ever move together, and the lock keeps it to one thread
// at a time.
unsafe impl Send for Work {}

#[derive(Clone)]
pub(crate) struct SharedWork(Arc<Mutex<Option<Work>>>);

impl SharedWork {
  pub fn new(event_loop: DPEventLoop) -> Self {
    Self(Arc::new(Mutex::new(Some(Work(event_loop)))))
  }

  fn lock(&self) -> MutexGuard<'_, Option<Work>> {
    self.0.lock().unwrap_or_else(PoisonError::into_inner)
  }

  /// The participant's thread.
  pub fn stand_in(&self, mut poll: Poll, waker: &LoopWaker) {
    if let Err(e) = waker.install(&poll, LOOP_WAKE_TOKEN) {
      panic!("dp_event_loop failed to install waker: {e}");
    }
    let mut events = Events::with_capacity(16); // too small capacity just delays events to next poll
    loop {
      // Work first: what was enqueued while nobody was woken for it would be left.
      let timeout = {
        let mut work = self.lock();
        let Some(Work(event_loop)) = work.as_mut() else {
          return;
        };
        event_loop.turned_by(false);
        for event in &events {
          event_loop.take_event(event.token());
        }
        if event_loop.turn(Instant::now()) {
          *work = None;
          return;
        }
        let mut ready = event_loop.ready_readers.borrow_mut();
        if !ready.readers.is_empty() && !std::mem::replace(&mut ready.told, true) {
          waker.application().map(Application::interrupt);
        }
        drop(ready);
        event_loop.next_timeout()
      };
      if let Some(application) = waker.application().filter(|application| application.drives()) {
        application.drive();
        events.clear();
        continue;
      }
      match poll.poll(&mut events, Some(timeout)) {
        Ok(()) => {}
        Err(e) if e.kind() == std::io::ErrorKind::Interrupted => events.clear(),
        Err(e) => panic!("Failed in waiting of poll: {e}"),
      }
    }
  }
}

/// Does a participant's work on the thread that made it, with its sockets in the poll
/// that it was built with.
///
/// The application calls [`before_wait`](Self::before_wait) and
/// [`after_wait`](Self::after_wait) around each wait, and [`send`](Self::send) after
/// each write, unless it writes with `try_write_driven`. While it is busy with anything
/// else for longer than a quarter of a second, or than a second if it had little to do
/// before, the participant's own thread does the work.
pub struct Driver {
  work: SharedWork,
  waker: LoopWaker,
}

impl Driver {
  pub(crate) fn new(
    work: SharedWork,
    waker: LoopWaker,
    stand_in: Thread,
    registry: &Registry,
    first_token: usize,
  ) -> std::io::Result<Self> {
    let watch = Watch::of_application(registry.try_clone()?, first_token);
    let application = Application {
      waker: Waker::new(registry, watch.outer(LOOP_WAKE_TOKEN))?,
      stand_in,
      driving: AtomicBool::new(false),
      waiting: AtomicBool::new(false),
      turns: AtomicU64::new(0),
    };
    if let Some(Work(event_loop)) = work.lock().as_mut() {
      event_loop.watch_for_application(watch)?;
    }
    waker.set_application(application);
    Ok(Self { work, waker })
  }

  fn application(&self) -> &Application {
    self.waker.application().expect("it was set in new()")
  }

  // When there is more to do, if it is asked for. None if the participant has ended.
  fn turn(
    &self,
    tokens: impl Iterator<Item = Token>,
    ready: &mut Vec<EntityId>,
    now: Instant,
    is_about_to_wait: bool,
  ) -> Option<Duration> {
    let mut work = self.work.lock();
    let Work(event_loop) = work.as_mut()?;
    event_loop.turned_by(true);
    for token in tokens {
      if let Some(token) = event_loop.application_token(token) {
        event_loop.take_event(token);
      }
    }
    if event_loop.turn(now) {
      *work = None;
      return None;
    }
    event_loop.ready_readers.borrow_mut().take(ready);
    is_about_to_wait.then(|| event_loop.next_timeout())
  }

  /// The application is about to wait for its poll. Does what can be done now, adds the
  /// readers that have something to `ready`, and tells after which time from `now` there is
  /// more to do.
  pub fn before_wait(&self, ready: &mut Vec<EntityId>, now: Instant) -> Option<Duration> {
    let application = self.application();
    application.waiting.store(true, Ordering::SeqCst);
    if !application.driving.swap(true, Ordering::SeqCst) {
      self.waker.wake_own();
    }
    self.turn(std::iter::empty(), ready, now, true)
  }

  /// The poll has come back with these tokens, perhaps among others. Does what they ask
  /// for and adds the readers that have something to `ready`.
  pub fn after_wait(&self, tokens: impl Iterator<Item = Token>, ready: &mut Vec<EntityId>) {
    let application = self.application();
    application.turns.fetch_add(1, Ordering::Relaxed);
    application.waiting.store(false, Ordering::SeqCst);
    self.turn(tokens, ready, Instant::now(), false);
  }

  /// Sends what was written just now, without delay. False if that is left to whoever
  /// turns next.
  pub fn send(&self, writer: EntityId) -> bool {
    let is_sent = self.work.0.try_lock().is_ok_and(|mut work| {
      work.as_mut().is_some_and(|Work(event_loop)| {
        event_loop.turned_by(true);
        event_loop.send_written(writer)
      })
    });
    // The stand-in has to look when there is more to do.
    is_sent && self.application().drives()
  }

  /// The application is about to block on something that needs the participant's work.
  pub fn hand_over(&self) {
    self.application().hand_over();
  }
}
