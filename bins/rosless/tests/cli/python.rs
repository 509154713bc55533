//! What ros2 leaves to Python to print is printed as Python prints it.

use crate::world::{World, talkers_qos};

const JOINTS: &str =
    "{header: {frame_id: base}, name: [joint_1, it's], position: [1.0e-07, .nan, -.inf], velocity: []}";

#[test]
fn fields_and_rows_are_those_of_ros2() {
    let world = World::new();
    let _joints = world.publish(&["/joints", "sensor_msgs/msg/JointState", JOINTS, "-p", "0"]);
    let _byte = world.publish(&["/byte", "std_msgs/msg/Byte", "{data: 65}", "-p", "0"]);
    let once = ["topic", "echo", "--once", "--timeout", "20"];
    let joints = |more: &[&'static str]| [&once[..], &["/joints"], more].concat();
    world.expect(&[
        (&joints(&["--field", "name"]), "['joint_1', \"it's\"]\n---\n"),
        (&joints(&["--field", "name.1"]), "it's\n---\n"),
        (&joints(&["--field", "position"]), "array('d', [1e-07, nan, -inf])\n---\n"),
        (&joints(&["--field", "position.0"]), "1e-07\n---\n"),
        (&joints(&["--field", "velocity"]), "array('d')\n---\n"),
        (&joints(&["--field", "header"]), "stamp:\n  sec: 0\n  nanosec: 0\nframe_id: base\n---\n"),
        (&joints(&["--csv"]), "0,0,base,joint_1,it's,1e-07,nan,-inf,,\n"),
        (&joints(&["--csv", "-l", "1"]), "0,0,b...,j...,...,1e-07,...,,\n"),
        (&joints(&["--csv", "--no-str", "--field", "header"]), "0,0,<string length: <4>>\n"),
        (&[&once[..], &["/byte", "--field", "data"]].concat(), "b'A'\n---\n"),
        (&[&once[..], &["/byte", "--raw"]].concat(), "b'\\x00\\x01\\x00\\x00A\\x00\\x00\\x00'\n---\n"),
    ]);
    let nested = world.rosless(&[&once[..], &["/joints", "--csv", "--no-arr"]].concat());
    assert!(
        nested.stdout.contains(",base,<sequence type: string, length: 2>,<sequence type: double"),
        "{nested:?}"
    );
}

#[test]
fn message_info_has_the_form_of_ros2() {
    let world = World::new();
    let _byte = world.publish(&["/byte", "std_msgs/msg/Byte", "{data: 65}", "-p", "0"]);
    let echo = |more: &[&str]| {
        world.rosless(&[&["topic", "echo", "--once", "--timeout", "20", "/byte", "-i"], more].concat())
    };
    // Every number is the time's or the message's own.
    let form = |text: &str| -> String {
        let digits = |c: char| if c.is_ascii_digit() { '0' } else { c };
        let mut form: String = text.chars().map(digits).collect();
        while form.contains("00") {
            form = form.replace("00", "0");
        }
        form
    };
    assert_eq!(
        form(&echo(&[]).stdout),
        "publication_sequence_number: 0\nreceived_timestamp: 0\nreception_sequence_number: null\n\
         source_timestamp: 0\n---\ndata: A\n---\n"
    );
    assert_eq!(form(&echo(&["--csv"]).stdout), "0,0,0,None,b'A'\n");
    assert_eq!(
        form(&echo(&["--field", "data"]).stdout),
        "---Got new message, message info:---\n{'source_timestamp': 0, 'received_timestamp': 0, \
         'publication_sequence_number': 0, 'reception_sequence_number': None}\n---Message data:---\nb'A'\n---\n"
    );
}

#[test]
fn fixed_size_arrays_are_numpys() {
    let world = World::new();
    let run = world.rosless(&["topic", "pub", "-1", "-w", "0", "/imu", "sensor_msgs/msg/Imu"]);
    assert!(
        run.stdout.contains("orientation_covariance=array([0., 0., 0., 0., 0., 0., 0., 0., 0.]), "),
        "{run:?}"
    );
}

#[test]
fn parameters_that_are_no_finite_numbers_are_told() {
    let world = World::new();
    let infinite = ["param", "set", "/talker", "gains.p", "-.inf"];
    world.expect(&[(&infinite, "Set parameter successful\n")]);
    let dump = format!(
        "/talker:\n  ros__parameters:\n    gains:\n      p: -.inf\n    numbers:\n    - 1\n    - 2\n    - 3\n{}    rate: 10\n    \
         start_type_description_service: true\n    use_sim_time: false\n    words:\n    - a\n\n",
        talkers_qos()
    );
    world.expect(&[
        (&["param", "get", "/talker", "gains.p"], "Double value is: -inf\n"),
        (&["param", "dump", "/talker"], &dump),
    ]);
    let json = world.rosless(&["param", "dump", "/talker", "--json"]);
    assert!(json.stdout.contains("\"p\": \"-Infinity\""), "{json:?}");
}
