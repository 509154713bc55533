//! May the arm move, and why not?

use rosless_motion::{ExecutionState, Fault, FaultKind};

use super::{Driver, Program};
use crate::modes::SafetyMode;

fn fault(kind: FaultKind, text: impl Into<String>) -> Option<Fault> {
    Some(Fault { kind, text: text.into() })
}

fn safety_fault(safety: SafetyMode) -> Option<Fault> {
    let other = FaultKind::Other;
    match safety {
        SafetyMode::Normal | SafetyMode::Reduced => None,
        SafetyMode::ProtectiveStop => fault(
            FaultKind::ProtectiveStop,
            "the arm has felt a collision or a limit: look at it, then acknowledge at the pendant",
        ),
        SafetyMode::RobotEmergencyStop => fault(
            FaultKind::EmergencyStop,
            "a button at the robot is pressed: release it, then switch the arm on",
        ),
        SafetyMode::SystemEmergencyStop => fault(
            FaultKind::EmergencyStop,
            "a button of the cell is pressed: release it, then switch the arm on",
        ),
        SafetyMode::SafeguardStop | SafetyMode::AutomaticModeSafeguardStop => {
            fault(other, "safeguard stop: a fence or a light curtain is open")
        }
        SafetyMode::ThreePositionEnablingStop => fault(other, "the enabling switch is not held"),
        SafetyMode::Recovery => {
            fault(other, "recovery: a joint is outside its safety limits; move it back at the pendant")
        }
        SafetyMode::Violation => fault(other, "a safety limit was violated: see the pendant"),
        SafetyMode::Fault => fault(other, "the safety system has a fault: see the pendant"),
        SafetyMode::ValidateJointId | SafetyMode::Undefined => {
            fault(other, "the safety system does not know its arm: see the pendant")
        }
        SafetyMode::Unknown(number) => {
            fault(other, format!("the safety system is in mode {number}, which is not known here"))
        }
    }
}

impl Driver {
    /// What keeps the program from being started.
    pub(super) fn obstacle(&self) -> Option<Fault> {
        let settings = self.settings.as_ref()?;
        let at = |port: u16| format!("{}:{port}", settings.address);
        if !self.rtde.is_streaming() {
            // A controller that cannot be used is not worth a second look.
            return self.unfit.clone().or_else(|| {
                fault(
                    FaultKind::Disconnected,
                    format!("no RTDE at {}: {}", at(settings.rtde_port), self.rtde.dial.reason),
                )
            });
        }
        if self.unfit.is_some() {
            return self.unfit.clone();
        }
        let Some(sample) = &self.sample else {
            return fault(FaultKind::Disconnected, "the controller has not told its state yet");
        };
        if let Some(stop) = safety_fault(sample.safety) {
            return Some(stop);
        }
        if let Some(text) = sample.mode.obstacle() {
            return fault(FaultKind::Other, text);
        }
        if !self.dashboard.dial.is_up() {
            let (at, reason) = (at(settings.dashboard_port), &self.dashboard.dial.reason);
            return fault(FaultKind::Disconnected, format!("no dashboard at {at}: {reason}"));
        }
        if let Some(wrong) = self.other_model() {
            return Some(wrong);
        }
        let is_e_series = self.rtde.version.is_some_and(|version| version.major >= 5);
        if self.dashboard.model.is_none() || (is_e_series && self.dashboard.remote.is_none()) {
            return fault(FaultKind::Disconnected, "the dashboard has not answered yet");
        }
        if self.dashboard.remote == Some(Some(false)) && !settings.external {
            return fault(
                FaultKind::NotInRemoteControl,
                "control is at the pendant: switch it to Remote Control, top right (Settings > System > Remote Control \
                 must be enabled), or set start=external and run a program with External Control",
            );
        }
        None
    }

    /// What is wrong now.
    pub(super) fn live_fault(&self) -> Option<Fault> {
        // A robot that was stopped needs no program before it is reset.
        self.obstacle().or_else(|| self.no_program().filter(|_| self.status != ExecutionState::Stopped))
    }

    fn no_program(&self) -> Option<Fault> {
        let settings = self.settings.as_ref().filter(|settings| settings.external && self.active);
        if let Some(settings) = settings
            && matches!(self.program, Program::Off(_))
        {
            let address = settings.reverse_address.or(self.local).map(|a| a.to_string()).unwrap_or_default();
            let port = self.listening.unwrap_or(0);
            return fault(
                FaultKind::NotInRemoteControl,
                format!(
                    "no program runs: start one with External Control at the pendant, host {address}, port {port}"
                ),
            );
        }
        fault(FaultKind::Other, self.refused.clone()?)
    }

    /// What is wrong, or was and is not yet acknowledged.
    pub(super) fn whole_fault(&self) -> Option<Fault> {
        self.latched.clone().or_else(|| self.live_fault())
    }

    /// A fault that stays until STOP and RESET: whatever was under way is not gone on with.
    pub(super) fn latch(&mut self, kind: FaultKind, text: &str) {
        let text = format!("{text}. Then send STOP_MOTION (66) and RESET_STOP (67)");
        self.log(log::Level::Error, text.clone());
        self.latched = Some(Fault { kind, text });
        self.acknowledged = false;
        self.stopping = None;
        self.ended = None;
        self.moves.clear();
        self.building = None;
        self.failed = None;
        self.preview.clear();
        self.set_status(ExecutionState::Error);
        self.news = true;
    }

    /// A stop of the safety system, or a loss of power in motion, is not gone on with when it is over.
    pub(super) fn watch_safety(&mut self) {
        let Some(sample) = self.sample.filter(|_| self.rtde.is_streaming()) else { return };
        let stop = safety_fault(sample.safety).or_else(|| {
            let text = sample.mode.obstacle().filter(|_| self.in_motion())?;
            fault(FaultKind::Other, format!("in motion: {text}"))
        });
        let Some(stop) = stop else { return };
        let is_known = self
            .latched
            .as_ref()
            .is_some_and(|known| known.kind == stop.kind && known.text.starts_with(&stop.text));
        if !is_known {
            let text = stop.text.trim_end_matches('.').to_owned();
            // The program must not go on with its motion when somebody unlocks the arm.
            if self.callers.control.is_some() {
                self.control(crate::program::Control::End);
                self.dashboard_say("stop");
                self.forget_program();
            }
            self.latch(stop.kind, &text);
        }
    }

    /// The robot has worked for so long, measured at full speed.
    pub(super) fn worked(&mut self, seconds: f64) {
        if self.status == ExecutionState::Executing
            && let Some((number, planned)) = self.moves.worked(seconds)
        {
            self.stop();
            self.latch(
                FaultKind::Other,
                &format!(
                    "the robot has not finished command {number}, for which {planned:.1} s at full speed were planned; it \
                     was told to stop"
                ),
            );
        }
    }

    /// Nothing moves without a connection.
    pub(super) fn watch_motion(&mut self) {
        if self.status == ExecutionState::Executing && self.latched.is_none() && self.ended.is_none() {
            // Remote control may be taken away in motion: the controller ends the program then.
            let gone = self.callers.control.is_none() || self.callers.moves.is_none();
            if gone {
                self.latch(FaultKind::Disconnected, "the program on the robot is gone in motion");
            }
        }
    }
}
