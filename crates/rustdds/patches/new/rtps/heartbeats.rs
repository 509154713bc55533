//! When a writer says what it has, and when it wants an answer.

use std::time::{Duration, Instant};

use crate::structure::sequence_number::SequenceNumber;

/// The first HEARTBEAT after a sample comes no sooner, however fast answers come.
const SOONEST: Duration = Duration::from_millis(3);
/// Until answers have been timed.
const EXPECTED_ANSWER: Duration = Duration::from_millis(2);
/// So much longer than the quickest answer takes, that of a busy peer may take; and so much longer for each reader, because
/// asking many who are busy keeps them busy.
const BUSY: Duration = Duration::from_millis(12);
const BUSY_EACH: Duration = Duration::from_millis(2);
/// A HEARTBEAT, the answer to it, or what that asked for may get lost, too. Whoever has not
/// answered so many is perhaps not there, and is asked ever more slowly.
const QUICK_RETRIES: u32 = 3;
/// How often all writers for whom nothing is urgent are looked at together.
pub(crate) const TICK: Duration = Duration::from_secs(1);

/// What was sent may have got lost, with the HEARTBEAT that came with it. So another one
/// follows when all answers should have come, and further ones, ever more slowly, to
/// those that have not answered.
#[derive(Debug)]
pub(crate) struct Heartbeats {
  /// While everybody has everything.
  slow: Duration,
  /// At least so often while somebody has not.
  fast: Duration,
  /// How long answers take.
  answer_time: Duration,
  /// And how long they take when nothing delays them.
  quickest_answer: Duration,
  /// How many are to answer.
  readers: u32,
  /// When an answer was asked for, by a sample up to this.
  asked: Option<(Instant, SequenceNumber)>,
  last_asked: Option<Instant>,
  last_write: Option<Instant>,
  /// When those who are behind were told last, with a sample or without.
  told: Option<Instant>,
  retry: Duration,
  retries: u32,
  next: Instant,
  /// Everybody has everything: the next tick will do, without a timer of its own.
  idle: bool,
  /// The timer that fires first. Those that fire earlier were overtaken.
  armed: Option<Instant>,
}

impl Heartbeats {
  pub fn new(slow: Duration, fast: Duration, now: Instant) -> Self {
    Self {
      slow,
      fast,
      answer_time: EXPECTED_ANSWER.min(fast),
      quickest_answer: EXPECTED_ANSWER.min(fast),
      readers: 0,
      asked: None,
      last_asked: None,
      last_write: None,
      told: None,
      retry: fast,
      retries: 0,
      next: now + slow,
      idle: slow >= TICK,
      armed: None,
    }
  }

  fn patience(&self) -> Duration {
    let answers = 2 * self.answer_time + Duration::from_millis(1);
    // A busy peer is waited for, but not for so long that a loss becomes a pause.
    let longest = 4 * self.quickest_answer + BUSY + BUSY_EACH * self.readers;
    answers.min(longest).max(SOONEST).min(self.fast)
  }

  /// Samples up to `last` are sent to so many readers now. True if they should ask for an acknowledgement:
  /// in a burst that is left to the HEARTBEAT after it.
  pub fn written(&mut self, last: SequenceNumber, readers: usize, eager: bool, now: Instant) -> bool {
    self.readers = u32::try_from(readers).unwrap_or(u32::MAX).min(1000);
    let patience = self.patience();
    let longer_ago =
      |when: Option<Instant>, than| when.is_none_or(|when| now.saturating_duration_since(when) >= than);
    let ask = eager || longer_ago(self.last_write, patience) || longer_ago(self.last_asked, self.fast);
    if ask {
      self.last_asked = Some(now);
      self.asked = Some((now, last));
    }
    self.last_write = Some(now);
    self.told = Some(now);
    self.retry = patience;
    self.retries = 0;
    self.next = now + patience;
    self.idle = false;
    ask
  }

  /// A reader has everything before `before`.
  pub fn acknowledged(&mut self, before: SequenceNumber, now: Instant) {
    if let Some((asked, _)) = self.asked.filter(|(_, last)| before > *last) {
      let answer_time = now.saturating_duration_since(asked).min(self.fast);
      // Whoever has moved away gets slower for good.
      self.quickest_answer = answer_time.min(self.quickest_answer * 17 / 16);
      // The slowest reader counts.
      self.answer_time = if answer_time > self.answer_time {
        (self.answer_time + answer_time) / 2
      } else {
        (7 * self.answer_time + answer_time) / 8
      };
    }
  }

  /// A new reader was sent a HEARTBEAT, and counts only when it has answered: either may get lost.
  pub fn met(&mut self, now: Instant) {
    self.next = self.next.min(now + self.fast);
    self.idle = false;
  }

  /// A reader has asked for what it is missing. What it is sent may get lost as well, and it has shown how quickly it
  /// answers now, whatever others, or acknowledgements that could wait, have taken before.
  pub fn missing(&mut self, now: Instant) {
    if let Some(told) = self.told {
      let answer = 2 * now.saturating_duration_since(told) + Duration::from_millis(1);
      self.retry = self.retry.min(answer.max(SOONEST));
      self.next = self.next.min(now + self.retry);
      self.idle = false;
    }
  }

  /// All writers are looked at. True if a HEARTBEAT is due that has no timer.
  pub fn is_due_at_tick(&self) -> bool {
    self.idle
  }

  /// A timer has fired. True if a HEARTBEAT is due.
  pub fn is_due(&mut self, now: Instant) -> bool {
    if self.armed.is_some_and(|armed| armed > now) {
      return false;
    }
    self.armed = None;
    self.next <= now
  }

  /// It was sent to those who are behind, if any are.
  pub fn sent(&mut self, somebody_is_behind: bool, now: Instant) {
    self.idle = !somebody_is_behind && self.slow >= TICK;
    self.next = now
      + if somebody_is_behind {
        // Whose answer comes now cannot be told.
        self.asked = None;
        self.told = Some(now);
        self.retries = self.retries.saturating_add(1);
        if self.retries > QUICK_RETRIES {
          self.retry = (2 * self.retry).min(self.fast);
        }
        self.retry
      } else {
        self.slow
      };
  }

  /// After which time a timer has to fire, if none does in time.
  pub fn timer(&mut self, now: Instant) -> Option<Duration> {
    if self.idle || self.armed.is_some_and(|armed| armed <= self.next) {
      return None;
    }
    self.armed = Some(self.next);
    Some(self.next.saturating_duration_since(now))
  }
}
