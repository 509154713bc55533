//! Time and allocations of encoding and decoding, beside the `cdr` crate, in one table:
//! `cargo bench -p rosless-wire --bench codec`. Ratios above 1 mean that this crate is faster.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints for people")]
#![forbid(unsafe_code)]

use ::cdr::{CdrLe, Infinite};
use rosless_tests::bench::{Figure, effort};
use rosless_wire::builtin_interfaces::msg::{Duration, Time};
use rosless_wire::control_msgs::msg::{MotionArgument, MotionPrimitive};
use rosless_wire::geometry_msgs::msg::{Pose, PoseStamped, TransformStamped};
use rosless_wire::mocap_control_msgs::msg::Control;
use rosless_wire::mocap4r2_msgs::msg::{Marker as MocapMarker, Markers};
use rosless_wire::rcl_interfaces::msg::{Log, Parameter, ParameterEvent, ParameterValue};
use rosless_wire::rmw_dds_common::msg::{Gid, NodeEntitiesInfo, ParticipantEntitiesInfo};
use rosless_wire::sensor_msgs::msg::{Image, Imu, JointState};
use rosless_wire::std_msgs::msg::{Empty, Float32MultiArray, Header, String as Text};
use rosless_wire::tf2_msgs::msg::TFMessage;
use rosless_wire::trajectory_msgs::msg::{JointTrajectory, JointTrajectoryPoint};
use rosless_wire::visualization_msgs::msg::{Marker, MarkerArray};
use rosless_wire::{Message, cdr};
use std::hint::black_box;
use std::time::Instant;

/// Types that must not be slower than with the `cdr` crate, and of these the arrays, meant to be three times as fast.
const COMPARED: [&str; 4] =
    ["Float32MultiArray (24)", "Float32MultiArray (10 000)", "JointState (6)", "Control (10 names)"];
const ARRAYS: &str = "Float32MultiArray";

/// Nanoseconds per call of two functions: the best of several rounds, because everything else on the machine only adds;
/// in turns, so that it adds to both.
fn time<A, B>(mut ours: impl FnMut() -> A, mut theirs: impl FnMut() -> B) -> (f64, f64) {
    fn once<R>(calls: u32, call: &mut impl FnMut() -> R) -> f64 {
        let start = Instant::now();
        for _ in 0..calls {
            black_box(call());
        }
        start.elapsed().as_nanos() as f64 / f64::from(calls)
    }
    let nanoseconds = once(1, &mut ours).max(20.0);
    let calls = (2e6 / nanoseconds).clamp(1.0, 50_000.0) as u32;
    (0..effort(25, 5)).fold((f64::INFINITY, f64::INFINITY), |(a, b), _| {
        (a.min(once(calls, &mut ours)), b.min(once(calls, &mut theirs)))
    })
}

fn allocations<R>(call: impl FnOnce() -> R) -> u64 {
    allocation_counter::measure(|| drop(black_box(call()))).count_total
}

fn row<M: Message>(label: &str, value: M) {
    let payload = cdr::to_payload(&value);
    let ours_out = || cdr::to_payload(black_box(&value));
    let ours_in = || cdr::from_payload::<M>(black_box(&payload)).unwrap();
    let theirs_out = || ::cdr::serialize::<_, _, CdrLe>(black_box(&value), Infinite).unwrap();
    let theirs_in = || ::cdr::deserialize::<M>(black_box(&payload)).unwrap();
    let ((a, b), (c, d)) = (time(ours_out, theirs_out), time(ours_in, theirs_in));
    let [e, f, g, h] =
        [allocations(ours_out), allocations(theirs_out), allocations(ours_in), allocations(theirs_in)];
    println!(
        "| {label:<30} | {:>6} | {a:>9.0} | {b:>9.0} | {:>6.1} | {e:>3}/{f:<3} | {c:>9.0} | {d:>9.0} | {:>6.1} | {g:>3}/{h:<3} |",
        payload.len(),
        b / a,
        d / c,
    );
    for (what, ours, theirs, allocated) in [("encode", a, b, (e, f)), ("decode", c, d, (g, h))] {
        let figure = Figure::new("wire", format!("{what} {label}"), ours, "ns").against("cdr", theirs);
        let figure = figure.note(format!("allocations {}, cdr {}", allocated.0, allocated.1));
        let figure = if COMPARED.contains(&label) { figure.ratio_at_most(1.0) } else { figure };
        let figure = if label.starts_with(ARRAYS) { figure.ratio_aims_at(0.33) } else { figure };
        figure.tell();
    }
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("joint_or_system_{i}")).collect()
}

fn header() -> Header {
    Header { stamp: Time { sec: 1, nanosec: 2 }, frame_id: "base_link".into() }
}

fn main() {
    println!(
        "| type                           |  bytes | encode ns |   cdr ns |  ratio |  alloc  | decode ns |   cdr ns |  ratio |  alloc  |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    let numbers = |count: usize| (0..count).map(|i| i as f64 * 0.1).collect::<Vec<_>>();
    let floats = |count: usize| Float32MultiArray { data: vec![1.5; count], ..Default::default() };
    row("Float32MultiArray (24)", floats(24));
    row("Float32MultiArray (10 000)", floats(10_000));
    let joints = || JointState {
        header: header(),
        name: names(6),
        position: numbers(6),
        velocity: numbers(6),
        effort: numbers(6),
    };
    row("JointState (6)", joints());
    row(
        "Control (10 names)",
        Control {
            system_source: "controller".into(),
            capture_session_id: "session_1".into(),
            capture_systems: names(10),
            ..Default::default()
        },
    );
    row("Empty", Empty {});
    row("String (20)", Text { data: "x".repeat(20) });
    row("Imu", Imu { header: header(), ..Default::default() });
    row(
        "Image (640x480 RGB)",
        Image { header: header(), data: vec![7; 640 * 480 * 3], ..Default::default() },
    );
    row(
        "TFMessage (10)",
        TFMessage { transforms: vec![TransformStamped { header: header(), ..Default::default() }; 10] },
    );
    row("Marker", Marker { header: header(), ns: "marker".into(), ..Default::default() });
    row(
        "MarkerArray (20)",
        MarkerArray { markers: vec![Marker { header: header(), ..Default::default() }; 20] },
    );
    row(
        "mocap4r2 Markers (30)",
        Markers {
            header: header(),
            frame_number: 1,
            markers: vec![MocapMarker { marker_name: "m".into(), ..Default::default() }; 30],
        },
    );
    let argument = |name: &str| MotionArgument { name: name.into(), value: 0.5 };
    row(
        "MotionPrimitive",
        MotionPrimitive {
            additional_arguments: vec![argument("velocity"), argument("acceleration")],
            poses: vec![PoseStamped { header: header(), pose: Pose::default() }; 2],
            joint_positions: numbers(6),
            ..Default::default()
        },
    );
    let point = JointTrajectoryPoint {
        positions: numbers(6),
        velocities: numbers(6),
        time_from_start: Duration { sec: 1, nanosec: 0 },
        ..Default::default()
    };
    row(
        "JointTrajectory (6 x 50)",
        JointTrajectory { header: header(), joint_names: names(6), points: vec![point; 50] },
    );
    row(
        "Log",
        Log {
            name: "node".into(),
            msg: "a line of text".into(),
            file: "main.rs".into(),
            ..Default::default()
        },
    );
    let parameter = || Parameter {
        name: "rate".into(),
        value: ParameterValue { double_array_value: numbers(6), ..Default::default() },
    };
    row(
        "ParameterEvent (4)",
        ParameterEvent { node: "/node".into(), new_parameters: vec![parameter(); 4], ..Default::default() },
    );
    let node = NodeEntitiesInfo {
        node_namespace: "/".try_into().expect("short"),
        node_name: "node".try_into().expect("short"),
        reader_gid_seq: vec![Gid { data: [1; 16] }; 10],
        writer_gid_seq: vec![Gid { data: [2; 16] }; 12],
    };
    row(
        "ParticipantEntitiesInfo (4)",
        ParticipantEntitiesInfo { gid: Gid { data: [3; 16] }, node_entities_info_seq: vec![node; 4] },
    );
}
