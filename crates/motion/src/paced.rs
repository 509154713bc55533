//! A controller with a control rate: it turns at that rate while there is something to do, and not at all otherwise.

use std::{
    ops::{Deref, DerefMut},
    time::Duration,
};

use rosless_engine::{Engine, Now};

use crate::{Hardware, Output, QueueController, RawPrimitive, controller::Source};

/// A [`QueueController`] and its rhythm.
#[derive(Debug)]
pub struct Paced<H> {
    controller: QueueController<H>,
    period: Duration,
    last_cycle: Duration,
}

impl<H: Hardware> Paced<H> {
    /// Turns every `period` while it is busy.
    pub fn new(controller: QueueController<H>, period: Duration) -> Self {
        Self { controller, period, last_cycle: Duration::ZERO }
    }
}

impl<H> Deref for Paced<H> {
    type Target = QueueController<H>;

    fn deref(&self) -> &QueueController<H> {
        &self.controller
    }
}

impl<H> DerefMut for Paced<H> {
    fn deref_mut(&mut self) -> &mut QueueController<H> {
        &mut self.controller
    }
}

impl<H: Hardware> Engine for Paced<H> {
    type Input<'a> = (&'a RawPrimitive, Source);
    type Output = Output;

    fn handle(&mut self, (raw, source): (&RawPrimitive, Source), now: Now) {
        self.controller.reference(raw, source, now.mono);
    }

    fn wake(&mut self, now: Now) {
        let due = self.last_cycle + self.period;
        // Cycles keep their rhythm when one is a little late, and begin a new one after a pause.
        let late = now.mono.saturating_sub(due) > self.period;
        self.last_cycle = if late || due > now.mono { now.mono } else { due };
        self.controller.update(now.mono);
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.controller.poll_output()
    }

    fn next_deadline(&self) -> Option<Duration> {
        if self.controller.is_busy() {
            Some(self.last_cycle + self.period)
        } else {
            // A robot that stands may still have something to tell.
            let poll = self.controller.idle_poll().map(|period| self.last_cycle + period.max(self.period));
            self.controller.next_deadline().into_iter().chain(poll).min()
        }
    }
}
