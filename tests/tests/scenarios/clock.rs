//! A clock is set while a session runs.

use rosless_graph::Qos;
use rosless_tests::scenario::{PATIENCE, Report, Role, System, acts::Capture};
use rosless_wire::rcl_interfaces::{
    msg::{Log, Parameter, ParameterType, ParameterValue},
    srv::{SetParameters, SetParametersRequest},
};

/// Seconds, from the IMU's usual quarter of a second ahead.
const SET_TO: f64 = -5.0;

#[test]
fn a_clock_that_is_set_is_named_and_costs_nothing_else() {
    let mut report = Report::new("a clock is set back by 5.25 s");
    let mut system = System::new();
    let roles = [Role::Controller, Role::Mocap, Role::Imu];
    roles.into_iter().for_each(|role| system.launch(role));
    let observer = system.observer();
    let (capture, logs) = (Capture::listen(&observer), observer.hear::<Log>(("/rosout", Qos::rosout())));
    observer.wait_for_nodes(&roles);
    observer.wait("both systems announce themselves", PATIENCE, || capture.announced().len() == 2);
    capture.start();

    let value = ParameterValue {
        r#type: ParameterType::PARAMETER_DOUBLE,
        double_value: SET_TO,
        ..Default::default()
    };
    let parameters = vec![Parameter { name: "clock_offset".to_owned(), value }];
    let service = format!("{}/set_parameters", Role::Imu.nodes()[0]);
    let answer = observer.call::<SetParameters>(&service, &SetParametersRequest { parameters }, PATIENCE);
    assert!(answer.unwrap().results[0].successful);
    // The data goes on with stamps of the new time.
    let offset = || {
        let sample = capture.imu.samples().last().cloned();
        sample.map(|s| f64::from(s.message.header.stamp.sec) - seconds(s.info.reception_stamp))
    };
    let stamped = observer.wait("IMU data of the new time", PATIENCE, || {
        offset().is_some_and(|offset| (offset - SET_TO).abs() < 2.0)
    });
    report.took("stamped with the new time after", stamped);

    report.took("the session is stopped", capture.stop());
    let difference = capture.clock_offset(Role::Imu).unwrap() - capture.clock_offset(Role::Mocap).unwrap();
    assert!((difference - SET_TO).abs() < 0.1, "clocks differ by {difference} s");
    let named =
        || logs.samples().iter().map(|s| s.message.msg.clone()).find(|text| text.contains("was set by"));
    observer.wait("the controller says that the clock was set", PATIENCE, || named().is_some());
    let named = named().unwrap();
    assert!(named.contains("[controlled_device_example]"), "{named}");
    report.row("the controller says", named);
    report.took("the next session", capture.start());
    capture.stop();
    system.end();
}

fn seconds(time: std::time::SystemTime) -> f64 {
    time.duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
