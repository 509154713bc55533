//! Systems are discovered, started in one session, observed, and stopped.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    rc::Rc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rosless_graph::TopicQos;
use rosless_wire::{
    lifecycle_msgs::{
        msg::State,
        srv::{GetState, GetStateRequest},
    },
    mocap_control_msgs::msg::{Control, MocapInfo},
    mocap4r2_msgs::msg::Markers,
    rosless_msgs::msg::RecorderStatus,
    sensor_msgs::msg::Imu,
    std_srvs::srv::{Trigger, TriggerRequest},
};
use serde_json::json;

use super::{
    Row,
    stage::{self, Stage},
};
use crate::failure::{Failure, Result};

pub(super) const DRIVER: &str = "/mocap4r2_dummy_driver_node";
pub(super) const DEVICE: &str = "/controlled_device_example";
/// Seconds the device's clock is ahead, as in the roster.
const CLOCK_OFFSET: f64 = 0.25;

const ANSWER: Duration = Duration::from_secs(12);
const SAMPLES: u32 = 30;

/// What was heard.
#[derive(Debug, Default)]
struct Heard {
    announced: BTreeMap<String, Vec<String>>,
    /// System to the offset of its clock in its ACK_START.
    started: BTreeMap<String, f64>,
    stopped: Vec<String>,
    markers: u32,
    imu: u32,
    /// What the recorder says of itself, and of its last take.
    recorder: Option<RecorderStatus>,
    take: Option<RecorderStatus>,
}

/// A running session.
pub(super) struct Session(Rc<RefCell<Heard>>);

pub(super) fn start(stage: &Stage, rows: &mut Vec<Row>) -> Result<Session> {
    let heard = Rc::new(RefCell::new(Heard::default()));
    listen(stage, &heard)?;
    stage.wait("two announced systems", stage::PATIENCE, || heard.borrow().announced.len() == 2)?;
    for (system, topics) in &heard.borrow().announced {
        stage.done("system announced", &format!("{system} with {}", topics.join(", ")));
    }
    stage.wait("the recorder", stage::PATIENCE, || heard.borrow().recorder.is_some())?;
    trigger(stage, "/mocap_controller/start_all")?;
    stage.wait("both ACK_START", ANSWER, || heard.borrow().started.len() == 2)?;
    expect_state(stage, State::PRIMARY_STATE_ACTIVE)?;
    for (system, offset) in &heard.borrow().started {
        stage.done("started, active", &format!("{system}, clock {:+.1} ms", offset * 1e3));
    }
    // Whoever is ahead by a quarter of a second is noticed, whatever the network adds.
    let device = heard.borrow().started.get(DEVICE.trim_start_matches('/')).copied().unwrap_or_default();
    let driver = heard.borrow().started.get(DRIVER.trim_start_matches('/')).copied().unwrap_or_default();
    let set = CLOCK_OFFSET;
    if (device - driver - set).abs() > 0.1 {
        return Err(Failure::new(format!(
            "clock offsets {device:.3} s and {driver:.3} s do not show the {set} s set"
        )));
    }
    let figure = format!("2 started, clocks {:+.1} ms and {:+.1} ms", driver * 1e3, device * 1e3);
    rows.push(Row { what: "systems", figure, facts: json!({"clock_offsets": heard.borrow().started}) });
    let enough = |heard: &Heard| heard.markers >= SAMPLES && heard.imu >= SAMPLES;
    let took = stage.wait("markers and IMU data", ANSWER, || enough(&heard.borrow()))?;
    let (markers, imu, seconds) = (heard.borrow().markers, heard.borrow().imu, took.as_secs_f64());
    let figure = format!("{markers} marker sets and {imu} IMU samples in {seconds:.1} s");
    stage.done("data flows", &figure);
    let facts = json!({"markers": markers, "imu": imu, "seconds": seconds});
    rows.push(Row { what: "data", figure, facts });
    Ok(Session(heard))
}

impl Session {
    pub(super) fn stop(&self, stage: &Stage, rows: &mut Vec<Row>) -> Result<()> {
        trigger(stage, "/mocap_controller/stop_all")?;
        stage.wait("both ACK_STOP", ANSWER, || self.0.borrow().stopped.len() == 2)?;
        expect_state(stage, State::PRIMARY_STATE_INACTIVE)?;
        let stopped = self.0.borrow().stopped.clone();
        let figure = format!("{} inactive", stopped.join(" and "));
        stage.done("session stopped", &figure);
        rows.push(Row { what: "session end", figure, facts: json!({"inactive": stopped}) });
        let is_closed =
            |heard: &Heard| heard.take.is_some() && heard.recorder.as_ref().is_some_and(|r| !r.recording);
        stage.wait("the recorder closes the take", ANSWER, || is_closed(&self.0.borrow()))?;
        let take = self.0.borrow().take.clone().unwrap_or_default();
        let figure = format!("{} topics in {}", take.topics, take.folder);
        stage.done("session recorded", &figure);
        let facts = json!({"folder": take.folder, "session": take.session, "topics": take.topics});
        rows.push(Row { what: "recording", figure, facts });
        Ok(())
    }
}

fn listen(stage: &Stage, heard: &Rc<RefCell<Heard>>) -> Result<()> {
    let (events, node) = (&stage.session.event_loop, &stage.session.node);
    let state = heard.clone();
    events.subscribe::<MocapInfo>(
        node,
        "/mocap_environment".keep_all().transient_local(),
        move |(), s| {
            let info = s.message;
            state.borrow_mut().announced.insert(info.system_source, info.topics);
        },
    )?;
    let state = heard.clone();
    events.subscribe::<Control>(node, "/mocap_control".keep_last(1000), move |(), s| {
        let stamp = Duration::new(s.message.stamp.sec.max(0) as u64, s.message.stamp.nanosec);
        let mut state = state.borrow_mut();
        match s.message.control_type {
            Control::ACK_START => {
                let offset = seconds(UNIX_EPOCH + stamp) - seconds(s.info.reception_stamp);
                state.started.insert(s.message.system_source, offset);
            }
            Control::ACK_STOP => state.stopped.push(s.message.system_source),
            _ => {}
        }
    })?;
    let state = heard.clone();
    events.subscribe::<Markers>(node, "/markers".keep_last(1000), move |(), _| {
        state.borrow_mut().markers += 1
    })?;
    let state = heard.clone();
    events.subscribe::<RecorderStatus>(node, "/session_recorder/status".latched(), move |(), s| {
        let mut state = state.borrow_mut();
        if s.message.recording {
            state.take = Some(s.message.clone());
        }
        state.recorder = Some(s.message);
    })?;
    let state = heard.clone();
    events
        .subscribe::<Imu>(node, "/mocap_imu_data".sensor_data(), move |(), _| state.borrow_mut().imu += 1)?;
    Ok(())
}

fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

fn trigger(stage: &Stage, service: &str) -> Result<()> {
    let answer = stage.session.call::<Trigger>(service, &TriggerRequest {}, ANSWER)?;
    match answer.success {
        true => Ok(()),
        false => Err(Failure::new(format!("{service}: {}", answer.message))),
    }
}

fn expect_state(stage: &Stage, wanted: u8) -> Result<()> {
    for system in [DRIVER, DEVICE] {
        let state =
            stage.session.call::<GetState>(&format!("{system}/get_state"), &GetStateRequest {}, ANSWER)?;
        if state.current_state.id != wanted {
            return Err(Failure::new(format!("{system} is {} and should not be", state.current_state.label)));
        }
    }
    Ok(())
}
