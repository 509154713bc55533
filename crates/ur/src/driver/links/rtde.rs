//! The real-time port: the handshake, and what the robot tells many times a second.

use rosless_kinematics::Joints;
use rosless_motion::{Fault, FaultKind, JointState};

use super::{Link, SILENCE, Step};
use crate::{
    driver::{Driver, Sample},
    modes::{RobotMode, RuntimeState, SafetyMode},
    pose,
    rtde::{self, Reply, Request, SoftwareVersion, Type, Value},
};

/// The oldest software with this protocol.
const OLDEST: SoftwareVersion = SoftwareVersion { major: 3, minor: 4, bugfix: 0, build: 0 };
/// PolyScope X, which has no dashboard.
const POLYSCOPE_X: u32 = 10;

const FIELDS: [(&str, Type); 8] = [
    ("actual_q", Type::Vector6d),
    ("actual_qd", Type::Vector6d),
    ("actual_TCP_pose", Type::Vector6d),
    ("robot_mode", Type::Int32),
    ("safety_mode", Type::Int32),
    ("runtime_state", Type::Uint32),
    ("speed_scaling", Type::Double),
    ("target_speed_fraction", Type::Double),
];
const SPEED_INPUTS: [&str; 2] = ["speed_slider_mask", "speed_slider_fraction"];

impl Driver {
    pub(super) fn rtde_ask(&mut self, step: Step) {
        self.rtde.step = step;
        self.rtde.heard = self.now;
        let frequency = self.settings.as_ref().map_or(125.0, |settings| settings.frequency);
        let request = match step {
            Step::Version => Request::Version(rtde::VERSION),
            Step::Controller => Request::Controller,
            Step::Outputs => Request::Outputs {
                frequency,
                names: FIELDS.iter().map(|(name, _)| (*name).to_owned()).collect(),
            },
            Step::Inputs => Request::Inputs(SPEED_INPUTS.map(str::to_owned).to_vec()),
            Step::Start => Request::Start,
            Step::Streaming => return,
        };
        self.send(Link::Rtde, request.encode());
    }

    pub(super) fn rtde_received(&mut self, bytes: &[u8]) {
        if !self.rtde.dial.is_up() {
            return;
        }
        self.rtde.packages.push(bytes);
        loop {
            let reply = match self.rtde.packages.next_package() {
                Ok(None) => return,
                Ok(Some((kind, content))) => Reply::decode(kind, content),
                Err(wrong) => Err(wrong),
            };
            match reply {
                Ok(reply) => {
                    if let Err(reason) = self.rtde_says(reply) {
                        return self.drop_link(Link::Rtde, &reason);
                    }
                }
                Err(wrong) => {
                    return self
                        .drop_link(Link::Rtde, &format!("what came on the RTDE port is not RTDE: {wrong}"));
                }
            }
        }
    }

    fn rtde_says(&mut self, reply: Reply) -> Result<(), String> {
        let unfit = |kind, text: String| Some(Fault { kind, text });
        match (self.rtde.step, reply) {
            (_, Reply::Text { message, source, level }) => {
                let level = if level <= 1 { log::Level::Warn } else { log::Level::Info };
                self.log(level, format!("the controller says: {message} ({source})"));
            }
            (Step::Version, Reply::Version(true)) => self.rtde_ask(Step::Controller),
            (Step::Version, Reply::Version(false)) => {
                self.unfit = unfit(
                    FaultKind::Other,
                    "version too old: the controller does not speak version 2 of RTDE; update its software"
                        .into(),
                );
                return Err("the controller does not speak RTDE version 2".into());
            }
            (Step::Controller, Reply::Controller(version)) => {
                self.rtde.version = Some(version);
                self.unfit = self.judge_version(version);
                // Which questions make sense depends on it.
                self.dashboard.next_look = self.now;
                self.rtde_ask(Step::Outputs);
            }
            (Step::Outputs, Reply::Outputs { types, .. }) => {
                let expected: Vec<&str> = FIELDS.iter().map(|(_, kind)| kind.name()).collect();
                if types != expected {
                    let names: Vec<&str> = FIELDS.iter().map(|(name, _)| *name).collect();
                    let missing =
                        names.iter().zip(&types).zip(&expected).find(|((_, found), kind)| found != *kind);
                    let what = missing.map_or("fields are missing".to_owned(), |((name, found), _)| {
                        format!("{name} is {found}")
                    });
                    self.unfit = unfit(
                        FaultKind::Other,
                        format!("version too old: the controller does not tell all that is needed ({what})"),
                    );
                    return Err(format!("the controller's answer to the recipe is {types:?}"));
                }
                self.rtde_ask(Step::Inputs);
            }
            (Step::Inputs, Reply::Inputs { recipe, .. }) => {
                self.rtde.slider = (recipe != 0).then_some(recipe);
                self.rtde_ask(Step::Start);
            }
            (Step::Start, Reply::Start(true)) => {
                self.rtde.step = Step::Streaming;
                let version = self.rtde.version.unwrap_or_default();
                let address = self.settings.as_ref().map(|settings| settings.address);
                self.log(
                    log::Level::Info,
                    format!(
                        "connected to {}, software {version}",
                        address.map(|a| a.to_string()).unwrap_or_default()
                    ),
                );
            }
            (Step::Streaming, Reply::Data { payload, .. }) => self.told(&payload)?,
            // A data package may come before the answer to something later.
            (_, Reply::Data { .. }) => {}
            (step, reply) => return Err(format!("an answer out of turn: {reply:?} in {step:?}")),
        }
        self.rtde.heard = self.now;
        Ok(())
    }

    fn judge_version(&self, version: SoftwareVersion) -> Option<Fault> {
        let robot = &self.planner.robot.name;
        let other = |text: String| Some(Fault { kind: FaultKind::Other, text });
        if version < OLDEST {
            return other(format!(
                "version too old: the controller runs {version}, it needs 3.4 or later; update its software"
            ));
        }
        if version.major >= POLYSCOPE_X {
            return other(format!(
                "the controller runs {version} (PolyScope X), which has no dashboard; this driver is for CB3 and e-series"
            ));
        }
        let cb3 = ["ur3", "ur5", "ur10"].contains(&robot.as_str());
        let e_series = robot.starts_with("ur") && !cb3;
        if (version.major < 5 && e_series) || (version.major >= 5 && cb3) {
            let series = if version.major < 5 { "CB3" } else { "e-series" };
            return other(format!(
                "wrong model: the controller is one of the {series} (software {version}), --robot is {robot}"
            ));
        }
        None
    }

    /// The controller's state.
    fn told(&mut self, payload: &[u8]) -> Result<(), String> {
        let types = FIELDS.map(|(_, kind)| kind);
        let values = rtde::values(&types, payload).map_err(|wrong| wrong.to_string())?;
        let [
            Value::Vector6d(q),
            Value::Vector6d(qd),
            Value::Vector6d(hand),
            Value::Int32(mode),
            Value::Int32(safety),
            Value::Uint32(runtime),
            Value::Double(scaling),
            Value::Double(slider),
        ] = values[..]
        else {
            return Err("values of other types than the recipe's".into());
        };
        if !q.iter().chain(&qd).chain(&hand).chain([&scaling, &slider]).all(|value| value.is_finite()) {
            return Err("joint angles that are no numbers".into());
        }
        let before = self.sample;
        let joints = JointState {
            position: Joints::from_column_slice(&q),
            velocity: Joints::from_column_slice(&qd),
            acceleration: Joints::zeros(),
        };
        let sample = Sample {
            at: self.now,
            joints,
            hand: pose::from_numbers(hand),
            mode: RobotMode::from_number(mode),
            safety: SafetyMode::from_number(safety),
            runtime: RuntimeState::from_number(runtime),
            scaling,
            slider,
        };
        self.news |= before.is_none_or(|before| (before.mode, before.safety) != (sample.mode, sample.safety));
        self.sample = Some(sample);
        let elapsed = before.map_or(0.0, |before| self.now.saturating_sub(before.at).as_secs_f64());
        // A program that is held does not work, whatever the slider says.
        let share = if sample.runtime == RuntimeState::Paused { 0.0 } else { scaling.clamp(0.0, 1.0) };
        self.worked(elapsed.min(SILENCE.as_secs_f64()) * share);
        Ok(())
    }

    /// True if the controller lets us.
    pub(in crate::driver) fn say_speed(&mut self, share: f64) -> bool {
        let Some(recipe) = self.rtde.slider.filter(|_| self.rtde.is_streaming()) else { return false };
        let mut payload = Vec::new();
        Value::Uint32(1).put(&mut payload);
        Value::Double(share).put(&mut payload);
        self.send(Link::Rtde, Request::Data { recipe, payload }.encode());
        true
    }
}
