//! Pedestal and doll go through their phases, and the lantern is lit at the end.

use std::time::Duration;

use rosless_graph::{Publisher, TopicQos};
use rosless_wire::{
    diagnostic_msgs::msg::DiagnosticArray,
    mecha_control::msg::{MechaState, SensorStates},
    std_msgs::msg::Bool,
};

use crate::scenario::{Heard, Observer, PATIENCE};

/// Leaves a mechanism alone.
const NOT_CONCERNED: u8 = 255;

/// Sequence controller and mechanism.
#[derive(Debug)]
pub struct Mechanism<'a> {
    observer: &'a Observer,
    desired: Publisher<MechaState>,
    status: Heard<DiagnosticArray>,
    pub pedestal: Heard<SensorStates>,
    pub doll: Heard<SensorStates>,
    lantern: Heard<Bool>,
}

/// The mechanisms that have such a phase.
fn concerned(phase: u8) -> &'static [&'static str] {
    match phase {
        Mechanism::PREPARE => &["hina"],
        Mechanism::STOW => &["daiza"],
        _ => &["hina", "daiza"],
    }
}

impl<'a> Mechanism<'a> {
    pub const PREPARE: u8 = 0;
    pub const DEPLOY: u8 = 1;
    pub const COLLECT: u8 = 2;
    pub const PLACE: u8 = 3;
    /// The pedestal's way back to where it began; only then does the scene bring another one.
    pub const STOW: u8 = 4;

    pub fn new(observer: &'a Observer) -> Self {
        Self {
            observer,
            desired: observer.publisher("/mecha_state"),
            status: observer.hear("/sequence_controller/status".latched()),
            pedestal: observer.hear("/daiza_state"),
            doll: observer.hear("/hina_state"),
            lantern: observer.hear("/bonbori_msg".latched()),
        }
    }

    /// What the controller said last of a mechanism (`daiza`, `hina`).
    pub fn status(&self, mechanism: &str, key: &str) -> Option<String> {
        let samples = self.status.samples();
        let statuses = samples.iter().rev().flat_map(|sample| &sample.message.status);
        let mut values = statuses.filter(|status| status.name.ends_with(&format!(": {mechanism}")));
        values.next()?.values.iter().find(|pair| pair.key == key).map(|pair| pair.value.clone())
    }

    /// Whether the lantern was told to shine.
    pub fn is_lit(&self) -> bool {
        self.lantern.samples().last().is_some_and(|sample| sample.message.data)
    }

    /// Asks both for a phase, once the controller listens and the sensors speak.
    #[track_caller]
    pub fn ask(&self, phase: u8) {
        self.pedestal.clear();
        self.doll.clear();
        self.observer.wait("the sequence controller and the sensors", PATIENCE, || {
            self.desired.matched() > 0 && !self.pedestal.is_empty() && !self.doll.is_empty()
        });
        let of = |mechanism| if concerned(phase).contains(&mechanism) { phase } else { NOT_CONCERNED };
        let (daiza_state, hina_state) = (of("daiza"), of("hina"));
        self.desired.publish(&MechaState { daiza_state, hina_state, bonbori_state: false });
    }

    /// Asks both for a phase and waits until it is reached. How long that took.
    #[track_caller]
    pub fn phase(&self, phase: u8) -> Duration {
        self.try_phase(phase).unwrap_or_else(|reason| panic!("phase {phase}: {reason}"))
    }

    /// Asks both for a phase and waits until it is reached or has failed. How long that took.
    ///
    /// # Errors
    /// With the controller's reason when it failed.
    pub fn try_phase(&self, phase: u8) -> Result<Duration, String> {
        let mechanisms = concerned(phase);
        let is =
            |mechanism: &str, key: &str, value: &str| self.status(mechanism, key).as_deref() == Some(value);
        let code = phase.to_string();
        let reached = |mechanism: &&str| is(mechanism, "reached", &code) && is(mechanism, "running", "false");
        // Forgets what it said of earlier phases.
        self.status.clear();
        self.ask(phase);
        let failed = |mechanism: &&str| {
            let reason = self.status(mechanism, "reason").unwrap_or_default();
            let over = is(mechanism, "desired", &code) && is(mechanism, "running", "false");
            (over && !reached(mechanism) && !reason.is_empty()).then_some(reason)
        };
        let took = self.observer.wait(&format!("the end of phase {phase}"), PATIENCE, || {
            mechanisms.iter().all(reached) || mechanisms.iter().any(|mechanism| failed(mechanism).is_some())
        });
        mechanisms.iter().find_map(failed).map_or(Ok(took), Err)
    }

    /// All phases and the lantern. How long that took.
    #[track_caller]
    pub fn cycle(&self) -> Duration {
        let took = [Self::PREPARE, Self::DEPLOY, Self::COLLECT, Self::PLACE].map(|phase| self.phase(phase));
        took.iter().sum::<Duration>() + self.observer.wait("the lantern shines", PATIENCE, || self.is_lit())
    }
}
