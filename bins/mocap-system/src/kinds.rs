//! What the kinds of systems do in their lifecycle.

use std::time::Duration;

use rosless_graph::{
    EventLoop, Handle, Result, Timer, TopicQos,
    lifecycle::{CallbackReturn, LifecyclePublisher, Step},
    parameters::Descriptor,
};
use rosless_protocol::node::{ControlledNode, Hook};
use rosless_wire::{
    geometry_msgs::msg::{Point, Pose, Quaternion},
    mocap4r2_msgs::msg::{Marker, Markers, RigidBodies, RigidBody},
    sensor_msgs::msg::Imu,
    std_msgs::msg::Header,
};

use crate::{App, Arguments, Kind, natnet::Driver};

const PERIOD: Duration = Duration::from_millis(30);

/// One system's publishers and timer.
#[derive(Debug, Default)]
pub(crate) struct Station {
    /// Counts on over stop and start.
    frame_number: u32,
    markers: Option<LifecyclePublisher<Markers>>,
    rigid_bodies: Option<LifecyclePublisher<RigidBodies>>,
    imu: Option<LifecyclePublisher<Imu>>,
    timer: Option<Timer<App>>,
    pub(crate) natnet: Option<Box<Driver>>,
}

/// What exists before the system is configured.
pub(crate) fn prepare(
    event_loop: &EventLoop<App>,
    number: usize,
    station: &mut Station,
    system: &ControlledNode<App>,
    arguments: &Arguments,
) -> rosless_cli::Result<()> {
    match arguments.kind {
        Kind::Dummy => {}
        Kind::Natnet => station.natnet = Some(Box::new(Driver::new(event_loop, number, system, arguments)?)),
        Kind::Imu => station.imu = Some(system.publisher("mocap_imu_data".sensor_data().reliable())?),
        Kind::Auxiliary => {
            let topics = Descriptor::new("topics").description("Topics the system is announced with.");
            system.node().declare_parameter(topics, arguments.topics.clone())?;
        }
    }
    Ok(())
}

/// The system's own code.
pub(crate) fn hook(
    event_loop: &EventLoop<App>,
    number: usize,
    arguments: Arguments,
) -> impl FnMut(&mut App, &ControlledNode<App>, Hook<'_>) -> CallbackReturn + 'static {
    let handle = event_loop.handle();
    move |app, system, hook| {
        let name = system.node().name();
        let logger = system.node().logger();
        let Some(station) = app.stations.get_mut(number) else { return CallbackReturn::Failure };
        match hook {
            Hook::Start(message) => {
                log::info!(target: logger, "System [{name}] started with topics:");
                for topic in system.topics() {
                    log::info!(target: logger, "  - [{}]", topic.escape_debug());
                }
                log::info!(target: logger, "session {:?} requested by {:?}", message.session, message.source);
            }
            Hook::Stop(message) => {
                log::info!(target: logger, "System [{name}] stopped");
                log::info!(target: logger, "stop requested by {:?}", message.source);
            }
            Hook::Lifecycle(Step::Activate) if arguments.fail_activate => {
                log::error!(target: logger, "activation fails because of --fail-activate");
                return CallbackReturn::Failure;
            }
            Hook::Lifecycle(step) => {
                return lifecycle(station, system, &handle, number, arguments.kind, step);
            }
        }
        CallbackReturn::Success
    }
}

fn lifecycle(
    station: &mut Station,
    system: &ControlledNode<App>,
    handle: &Handle<App>,
    number: usize,
    kind: Kind,
    step: Step,
) -> CallbackReturn {
    match (step, &mut station.natnet) {
        (Step::Activate, Some(natnet)) => return natnet.activate(system),
        (Step::Deactivate, Some(natnet)) => return natnet.deactivate(system),
        (Step::CleanUp, Some(natnet)) => natnet.clean_up(),
        (Step::Shutdown(_) | Step::Error(_), Some(natnet)) => natnet.leave(),
        _ => {}
    }
    match step {
        Step::Configure => {
            if let Err(error) = configure(station, system, kind) {
                log::error!(target: system.node().logger(), "cannot configure: {error}");
                return CallbackReturn::Failure;
            }
        }
        Step::Activate if kind != Kind::Auxiliary => {
            let system = system.clone();
            let timer = handle.timer(PERIOD, move |app| {
                if let Some(station) = app.stations.get_mut(number) {
                    tick(station, &system);
                }
            });
            station.timer = Some(timer);
        }
        Step::Activate => {}
        Step::CleanUp => {
            (station.markers, station.rigid_bodies) = (None, None);
        }
        Step::Deactivate | Step::Shutdown(_) | Step::Error(_) => {
            if let Some(timer) = station.timer.take() {
                timer.cancel();
            }
        }
    }
    CallbackReturn::Success
}

fn configure(station: &mut Station, system: &ControlledNode<App>, kind: Kind) -> Result<()> {
    match kind {
        Kind::Dummy => {
            station.markers = Some(system.publisher("markers".keep_last(1000))?);
            station.rigid_bodies = Some(system.publisher("rigid_bodies".keep_last(1000))?);
        }
        Kind::Natnet => {
            let configured = station.natnet.as_mut().map(|natnet| natnet.configure(system));
            configured.unwrap_or(Ok(())).map_err(rosless_graph::Error::Usage)?;
        }
        Kind::Imu => {}
        Kind::Auxiliary => {
            let topics: Vec<String> = system.node().parameter("topics").unwrap_or_default();
            system.set_topics(topics);
        }
    }
    Ok(())
}

fn tick(station: &mut Station, system: &ControlledNode<App>) {
    if let Some(imu) = &station.imu {
        imu.publish(&Imu { header: Header { stamp: system.stamp(), ..Header::default() }, ..Imu::default() });
    }
    station.frame_number = station.frame_number.wrapping_add(1);
    let header = || Header { stamp: system.stamp(), frame_id: "mocap".to_owned() };
    if let Some(publisher) = station.markers.as_ref().filter(|p| p.inner().matched() > 0) {
        publisher.publish(&Markers {
            header: header(),
            frame_number: station.frame_number,
            markers: three_markers(),
        });
    }
    if let Some(publisher) = station.rigid_bodies.as_ref().filter(|p| p.inner().matched() > 0) {
        let body = RigidBody {
            rigid_body_name: "rigid_body_0".to_owned(),
            markers: three_markers(),
            pose: Pose {
                orientation: Quaternion { w: 1.0, ..Quaternion::default() },
                position: Point::default(),
            },
        };
        publisher.publish(&RigidBodies {
            header: header(),
            frame_number: station.frame_number,
            rigidbodies: vec![body],
        });
    }
}

fn three_markers() -> Vec<Marker> {
    let places = [(0.0, 0.0), (0.1, 0.1), (0.1, -0.1)];
    let marker = |(index, (x, y)): (i32, (f64, f64))| Marker {
        id_type: Marker::USE_INDEX,
        marker_index: index,
        marker_name: String::new(),
        translation: Point { x, y, z: 0.0 },
    };
    (0..).zip(places).map(marker).collect()
}
