//! What is said of the systems' clocks, before, in and after a session.

use rosless_protocol::Dialect;
use rosless_wire::rcl_interfaces::{
    msg::{Parameter, ParameterType, ParameterValue},
    srv::{SetParameters, SetParametersRequest},
};
use serde_json::Value;

use crate::stage::{PATIENCE, Stage};

fn clock(status: &Value, name: &str) -> (f64, f64, Value) {
    let systems = status["systems"].as_array().unwrap();
    let system = systems.iter().find(|s| s["name"] == name).unwrap_or_else(|| panic!("{name} in {status}"));
    let number = |field: &str| system[field].as_f64().unwrap_or_else(|| panic!("{field} in {system}"));
    (number("clock_offset_ms"), number("clock_uncertainty_ms"), system["clock_band"].clone())
}

#[track_caller]
fn assert_around(status: &Value, name: &str, truth: f64) {
    let (offset, uncertainty, _) = clock(status, name);
    assert!((offset - truth).abs() <= uncertainty + 0.001, "{name}: {offset} ± {uncertainty} is not {truth}");
}

#[test]
fn status_has_a_figure_before_any_start_and_a_clock_that_is_set_is_noticed() {
    let stage = Stage::new();
    let _ahead = stage.system(&["--kind", "auxiliary", "--name", "ahead", "--clock-offset", "0.5"]);
    let _right = stage.system(&["--kind", "auxiliary", "--name", "right"]);
    let status = || -> Value {
        let output = stage.command(&["status", "--json"]);
        let status = serde_json::from_slice(&output.stdout).unwrap();
        rosless_tests::assert_documented("mocap-controller status", &status);
        status
    };
    let direct = status();
    assert_around(&direct, "ahead", 500.0);
    assert_around(&direct, "right", 0.0);
    assert_eq!(clock(&direct, "ahead").2, "wrong", "{direct}");

    // So has a controller that stays, and it says what is wrong before anybody is started.
    let daemon = stage.controller(&["run"]);
    let line = daemon.wait_for_line("[ahead] its clock deviates", PATIENCE);
    assert!(line.starts_with("[ERROR]"), "{line}");
    daemon.wait_for_line("[right] is inactive", PATIENCE);
    assert!(!daemon.output().contains("[right] its clock"), "{}", daemon.output());
    rosless_tests::eventually("the daemon's figure", PATIENCE, || {
        let status = status();
        let known = |name| {
            status["systems"]
                .as_array()
                .unwrap()
                .iter()
                .any(|s| s["name"] == name && !s["clock_offset_ms"].is_null())
        };
        known("ahead") && known("right")
    });
    assert_around(&status(), "ahead", 500.0);

    // In the middle of a session, and nobody starts or stops anything.
    assert!(stage.command(&["start", "--all", "--session", "s"]).status.success());
    let mut observer = stage.observer(Dialect::Mocap);
    let value = ParameterValue {
        r#type: ParameterType::PARAMETER_DOUBLE,
        double_value: -2.0,
        ..ParameterValue::default()
    };
    let parameters = vec![Parameter { name: "clock_offset".to_owned(), value }];
    observer.call::<SetParameters>("/right/set_parameters", &SetParametersRequest { parameters });
    daemon.wait_for_line("[right] its clock or ours was set by -", PATIENCE);
    let line = daemon.wait_for_line("[right] its clock deviates", PATIENCE);
    assert!(line.starts_with("[ERROR]"), "{line}");
}

#[test]
fn stamps_of_simulated_time_are_said_to_be_so_and_the_machines_clock_is_known() {
    let stage = Stage::new();
    let simulated = ["--kind", "auxiliary", "--name", "sim", "--ros-args", "-p", "use_sim_time:=true"];
    let _simulated = stage.system(&simulated);
    let output = stage.command(&["start", "sim", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(output.status.success(), "{report}");
    let system = &report["systems"][0];
    assert_eq!(
        (&system["simulated_time"], &system["elapsed_s"]),
        (&Value::Bool(true), &Value::Null),
        "{report}"
    );
    assert!(system["clock_offset_ms"].as_f64().is_some_and(|ms| ms.abs() < 10_000.0), "{report}");
}

#[test]
fn watch_shows_rates_clocks_and_errors() {
    let stage = Stage::new();
    let mut cam = stage.system(&["--kind", "imu", "--name", "cam"]);
    let watch = stage.controller(&["watch", "--json"]);
    watch.wait_for_line("\"cam\"", PATIENCE);
    assert!(stage.command(&["start", "cam", "--session", "s"]).status.success());
    let last = || watch.find_map_last(|line| serde_json::from_str::<Value>(line).ok()).unwrap();
    rosless_tests::eventually("data and clocks are measured", PATIENCE, || {
        let system = &last()["systems"][0];
        let flows = system["data"][0]["hertz"].as_f64().is_some_and(|hertz| hertz > 0.0);
        flows && system["clock_history_ms"].as_array().is_some_and(|history| history.len() > 1)
    });
    rosless_tests::assert_documented("mocap-controller watch", &last());
    cam.signal("KILL");
    cam.wait(PATIENCE);
    rosless_tests::eventually("the error stays", PATIENCE, || {
        let errors = last()["errors"].to_string();
        errors.contains("[cam] left while session") || errors.contains("[cam] does not answer")
    });
}
