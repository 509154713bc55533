//! An application that does its participant's work on a poll of its own.

use std::time::{Duration, Instant};

use rustdds::{
    bytes::Bytes,
    driving::{Driver, EntityId},
    mio1::{Events, Poll},
    DomainParticipant, DomainParticipantBuilder, Timestamp,
};

use super::{Writer, SOON};

pub struct Application {
    pub participant: DomainParticipant,
    pub driver: Driver,
    poll: Poll,
    events: Events,
}

impl Application {
    pub fn new(builder: DomainParticipantBuilder) -> Self {
        let poll = Poll::new().expect("poll");
        let (participant, driver) = builder.build_driven(poll.registry(), 1000).expect("participant");
        Self { participant, driver, poll, events: Events::with_capacity(16) }
    }

    /// Waits for something to happen, and tells which readers have something.
    pub fn turn(&mut self) -> Vec<EntityId> {
        self.turn_within(SOON)
    }

    /// The same, but waits no longer than that.
    pub fn turn_within(&mut self, patience: Duration) -> Vec<EntityId> {
        let mut ready = Vec::new();
        let due = self.driver.before_wait(&mut ready, Instant::now()).unwrap_or(SOON);
        let timeout = if ready.is_empty() { due.min(patience) } else { Duration::ZERO };
        self.poll.poll(&mut self.events, Some(timeout)).expect("events");
        self.driver.after_wait(self.events.iter().map(|event| event.token()), &mut ready);
        ready
    }

    pub fn turn_for(&mut self, duration: Duration) {
        let end = Instant::now() + duration;
        while Instant::now() < end {
            self.turn();
        }
    }

    pub fn write(&self, writer: &Writer, payload: &[u8]) {
        assert!(self.try_write(writer, payload), "sample is accepted");
    }

    /// False if there is no room.
    pub fn try_write(&self, writer: &Writer, payload: &[u8]) -> bool {
        let payload = Bytes::copy_from_slice(payload);
        writer.try_write_driven(payload, Some(Timestamp::now()).into(), &self.driver).is_ok()
    }
}
