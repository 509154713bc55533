//! Capture systems are started and stopped in one session.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant, UNIX_EPOCH},
};

use rosless_graph::{Sample, TopicQos};
use rosless_wire::{
    lifecycle_msgs::srv::{GetState, GetStateRequest},
    mocap_control_msgs::msg::{Control, MocapInfo},
    mocap4r2_msgs::msg::Markers,
    sensor_msgs::msg::Imu,
    std_srvs::srv::{Trigger, TriggerRequest},
};

use crate::scenario::{Heard, Observer, PATIENCE, Role};

/// The controller's own deadline is 10 s; its answer needs the way back.
const ANSWER: Duration = Duration::from_secs(15);

/// The conversation between the controller and its two systems.
#[derive(Debug)]
pub struct Capture<'a> {
    observer: &'a Observer,
    pub announcements: Heard<MocapInfo>,
    pub controls: Heard<Control>,
    pub markers: Heard<Markers>,
    pub imu: Heard<Imu>,
}

/// Without the slash, as systems call themselves.
fn system_name(role: Role) -> &'static str {
    role.nodes()[0].trim_start_matches('/')
}

impl<'a> Capture<'a> {
    pub fn listen(observer: &'a Observer) -> Self {
        Self {
            observer,
            announcements: observer.hear("/mocap_environment".keep_all().transient_local()),
            controls: observer.hear("/mocap_control".keep_all()),
            markers: observer.hear("/markers".keep_last(1000)),
            imu: observer.hear("/mocap_imu_data".sensor_data()),
        }
    }

    /// Systems that have announced themselves, with their topics.
    pub fn announced(&self) -> BTreeMap<String, Vec<String>> {
        let samples = self.announcements.samples();
        samples.iter().map(|s| (s.message.system_source.clone(), s.message.topics.clone())).collect()
    }

    /// Who sent such a message (`Control::ACK_START`, …), each as often as it did.
    pub fn senders(&self, control_type: i8) -> Vec<String> {
        let samples = self.controls.samples();
        let meant = samples.iter().filter(|s| s.message.control_type == control_type);
        meant.map(|s| s.message.system_source.clone()).collect()
    }

    /// How far a system's clock is ahead, from its latest acknowledgement. Includes its way to us.
    pub fn clock_offset(&self, role: Role) -> Option<f64> {
        let is_ack = |s: &&Sample<Control>| {
            [Control::ACK_START, Control::ACK_STOP].contains(&s.message.control_type)
                && s.message.system_source == system_name(role)
        };
        let samples = self.controls.samples();
        let ack = samples.iter().rev().find(is_ack)?;
        let stamp = Duration::new(ack.message.stamp.sec.max(0) as u64, ack.message.stamp.nanosec);
        let received = ack.info.reception_stamp.duration_since(UNIX_EPOCH).unwrap_or_default();
        Some(stamp.as_secs_f64() - received.as_secs_f64())
    }

    /// Asks the controller for `start` or `stop`.
    ///
    /// # Errors
    /// With its reason when it could not, or when it does not answer within `patience`.
    pub fn ask(&self, what: &str, patience: Duration) -> Result<(), String> {
        let service = format!("/mocap_controller/{what}_all");
        let answer = self.observer.call::<Trigger>(&service, &TriggerRequest {}, patience)?;
        answer.success.then_some(()).ok_or(answer.message)
    }

    /// Starts a session: both systems acknowledge and are active. How long that took.
    #[track_caller]
    pub fn start(&self) -> Duration {
        self.controls.clear();
        let began = Instant::now();
        self.ask("start", ANSWER).unwrap_or_else(|reason| panic!("start: {reason}"));
        let took = began.elapsed();
        self.expect(Control::ACK_START, "active");
        took
    }

    /// Stops the session: both systems acknowledge and are inactive. How long that took.
    #[track_caller]
    pub fn stop(&self) -> Duration {
        self.controls.clear();
        let began = Instant::now();
        self.ask("stop", ANSWER).unwrap_or_else(|reason| panic!("stop: {reason}"));
        let took = began.elapsed();
        self.expect(Control::ACK_STOP, "inactive");
        took
    }

    #[track_caller]
    fn expect(&self, ack: i8, state: &str) {
        let systems = [Role::Mocap, Role::Imu];
        let wanted: BTreeSet<_> = systems.map(|role| system_name(role).to_owned()).into();
        let all = || self.senders(ack).into_iter().collect::<BTreeSet<_>>() == wanted;
        self.observer.wait("the acknowledgements of both systems", PATIENCE, all);
        for role in systems {
            assert_eq!(self.state(role), state, "{role:?}");
        }
    }

    /// The lifecycle state of a system.
    #[track_caller]
    pub fn state(&self, role: Role) -> String {
        self.try_state(role, ANSWER).unwrap_or_else(|reason| panic!("{reason}"))
    }

    /// The lifecycle state of a system.
    ///
    /// # Errors
    /// When it does not answer within `patience`.
    pub fn try_state(&self, role: Role, patience: Duration) -> Result<String, String> {
        let service = format!("{}/get_state", role.nodes()[0]);
        let answer = self.observer.call::<GetState>(&service, &GetStateRequest {}, patience)?;
        Ok(answer.current_state.label)
    }

    /// Waits until both systems have said this much more. How long that took.
    #[track_caller]
    pub fn wait_for_data(&self, samples: usize) -> Duration {
        let (markers, imu) = (self.markers.len() + samples, self.imu.len() + samples);
        let enough = || self.markers.len() >= markers && self.imu.len() >= imu;
        self.observer.wait("markers and IMU data", PATIENCE, enough)
    }
}
