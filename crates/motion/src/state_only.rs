//! A driver that knows only its status and whether it is ready, as many robots do: what the controller makes of such a one.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    handshake::{CommandInterfaces, ExecutionState, StateInterfaces},
    hardware::{Fault, FaultKind, Hardware, Watch},
    primitive::{Command, Timing},
};

/// How often its state is worth a look while it stands.
const LOOK: Duration = Duration::from_millis(50);

/// A robot that takes its time for every move and says nothing about it.
#[derive(Debug, Clone, Default)]
pub struct StateOnly {
    /// Seconds of a move that is given by velocity and acceleration.
    seconds: f64,
    status: Option<ExecutionState>,
    until: Option<Duration>,
    building: Option<f64>,
    fault: Option<Fault>,
}

impl StateOnly {
    /// Every move that is not given its time takes so many seconds.
    pub fn new(seconds: f64) -> Self {
        Self { seconds, ..Self::default() }
    }

    /// Something breaks, or is repaired.
    pub fn set_fault(&mut self, fault: Option<Fault>) {
        if fault.is_some() {
            self.until = None;
            self.status = None;
        }
        self.fault = fault;
    }

    /// How long the robot takes for it.
    fn takes(&self, timing: Timing) -> f64 {
        match timing {
            Timing::MoveTime(seconds) => seconds,
            Timing::Limits { .. } => self.seconds,
        }
    }

    fn go(&mut self, seconds: f64, now: Duration) {
        self.status = Some(ExecutionState::Executing);
        self.until = Some(now + Duration::from_secs_f64(seconds));
    }
}

impl Hardware for StateOnly {
    fn connect(&mut self, parameters: &BTreeMap<String, String>) -> Result<(), Fault> {
        for (name, value) in parameters {
            let wrong = |text| Fault { kind: FaultKind::Other, text };
            match name.as_str() {
                "seconds" => {
                    let seconds = value.parse().ok().filter(|seconds| (0.0..=3600.0).contains(seconds));
                    self.seconds = seconds.ok_or_else(|| {
                        wrong(format!("seconds is \"{value}\"; it must be between 0 and 3600"))
                    })?;
                }
                other => {
                    return Err(wrong(format!("this driver has no parameter \"{other}\", only seconds")));
                }
            }
        }
        Ok(())
    }

    fn watch(&self) -> Watch {
        Watch::Poll(LOOK)
    }

    fn write(&mut self, commands: &mut CommandInterfaces, now: Duration) {
        let Some(command) = commands.take() else { return };
        let halted = matches!(self.status, Some(ExecutionState::Stopped | ExecutionState::Error));
        match command {
            Ok(Command::Stop) => {
                (self.until, self.building) = (None, None);
                self.status = Some(ExecutionState::Stopped);
            }
            Ok(Command::ResetStop) if self.status == Some(ExecutionState::Stopped) => self.status = None,
            _ if halted => {}
            Ok(Command::ResetStop) => {}
            Ok(Command::SequenceStart) => self.building = Some(0.0),
            Ok(Command::SequenceEnd) => {
                let seconds = self.building.take().unwrap_or(0.0);
                self.go(seconds, now);
            }
            Ok(Command::Move(primitive)) => {
                let seconds = self.takes(primitive.timing);
                match &mut self.building {
                    Some(sum) => *sum += seconds,
                    None => self.go(seconds, now),
                }
            }
            Err(_) => self.status = Some(ExecutionState::Error),
        }
    }

    fn read(&mut self, now: Duration) -> StateInterfaces {
        if self.until.is_some_and(|until| now >= until) {
            self.until = None;
            self.status = Some(ExecutionState::Success);
        }
        let status = self.status.unwrap_or(ExecutionState::Idle);
        let halted =
            matches!(status, ExecutionState::Error | ExecutionState::Stopped | ExecutionState::Executing);
        StateInterfaces { status, ready: !halted && self.fault.is_none() }
    }

    fn fault(&self) -> Option<Fault> {
        self.fault.clone()
    }
}
