//! Wakes the loop at a deadline, without a timer of its own for each wait.

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd},
    time::Duration,
};

use mio::{Interest, Registry, Token, event, unix::SourceFd};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

/// A timer of the kernel that is left alone while it rings early enough. A wait that has a timeout sets one and takes it
/// back, which on a virtual machine costs more than the message that the wait was for; and the timeout is in whole
/// milliseconds.
#[derive(Debug)]
pub(super) struct Alarm {
    timer: OwnedFd,
    /// When it rings, on the clock of [`monotonic`](super::monotonic).
    rings: Option<Duration>,
}

impl Alarm {
    pub(super) fn new() -> io::Result<Self> {
        let timer =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        Ok(Self { timer, rings: None })
    }

    /// Sees to it that it rings at `deadline` or before. Whether it had to be set for that.
    pub(super) fn set(&mut self, deadline: Duration, now: Duration) -> io::Result<bool> {
        if self.rings.is_some_and(|rings| now < rings && rings <= deadline) {
            return Ok(false);
        }
        // Zero would turn it off.
        let wait = deadline.saturating_sub(now).max(Duration::from_nanos(1));
        let it_value = Timespec::try_from(wait).map_err(io::Error::other)?;
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once)?;
        self.rings = Some(deadline);
        Ok(true)
    }
}

impl event::Source for Alarm {
    fn register(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        SourceFd(&self.timer.as_raw_fd()).register(registry, token, interests)
    }

    fn reregister(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        SourceFd(&self.timer.as_raw_fd()).reregister(registry, token, interests)
    }

    fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        SourceFd(&self.timer.as_raw_fd()).deregister(registry)
    }
}

#[cfg(test)]
mod tests {
    use mio::{Events, Poll};

    use super::*;
    use crate::monotonic;

    const LONG: Duration = Duration::from_secs(100);

    #[test]
    fn deadlines_that_move_away_do_not_set_it_again() {
        let mut alarm = Alarm::new().unwrap();
        let now = monotonic();
        assert!(alarm.set(now + LONG, now).unwrap());
        assert!(!alarm.set(now + LONG, now).unwrap());
        assert!(!alarm.set(now + 2 * LONG, now + LONG / 2).unwrap());
        assert!(alarm.set(now + LONG / 2, now).unwrap());
        // It has rung by then.
        assert!(alarm.set(now + 2 * LONG, now + LONG).unwrap());
    }

    #[test]
    fn it_rings_at_the_nearest_deadline_and_again_at_the_next() {
        let mut alarm = Alarm::new().unwrap();
        let mut poll = Poll::new().unwrap();
        poll.registry().register(&mut alarm, Token(7), Interest::READABLE).unwrap();
        let mut events = Events::with_capacity(4);
        alarm.set(monotonic() + LONG, monotonic()).unwrap();
        for _ in 0..3 {
            let deadline = monotonic() + Duration::from_micros(300);
            alarm.set(deadline, monotonic()).unwrap();
            poll.poll(&mut events, Some(LONG)).unwrap();
            assert_eq!(events.iter().map(|event| event.token()).collect::<Vec<_>>(), [Token(7)]);
            assert!(deadline <= monotonic(), "not before its time");
        }
        // Rung unheard, it does not ring at once when it is set again.
        alarm.set(monotonic() + Duration::from_nanos(1), monotonic()).unwrap();
        while alarm.rings.is_some_and(|rings| monotonic() <= rings) {}
        alarm.set(monotonic() + LONG, monotonic()).unwrap();
        poll.poll(&mut events, Some(Duration::ZERO)).unwrap();
        assert!(events.is_empty());
    }
}
