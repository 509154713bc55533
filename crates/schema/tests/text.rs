//! Text forms of messages: what `ros2 topic echo` prints, what `ros2 topic pub` takes, JSON, `interface show`.

use std::sync::Arc;

use rosless_schema::{Comments, DynamicMessage, Kind, MessageType, Registry, Source, Stamp, YamlStyle};

const NOW: Option<Stamp> = Some(Stamp { sec: 12, nanosec: 34 });

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

fn add(registry: &mut Registry, name: &str, text: &str) {
    registry.add_source(Source {
        kind: Kind::Msg,
        package: "demo",
        name,
        file: &format!("{name}.msg"),
        text,
    });
}

/// A package with every form of field.
fn registry() -> Registry {
    let mut registry = Registry::embedded();
    add(
        &mut registry,
        "Zoo",
        "# All forms.\nbool flag true\nbyte octet\nint8 small -5\nuint64 large\nfloat32 single\nfloat64 double 1.5\n\
         string text \"hi\"\nstring<=3 short\nwstring wide\nuint8[] blob [1, 2]\nbyte[2] octets\nint16[2] pair [7, 8]\n\
         string[<=2] words\nstd_msgs/Header header # when\nInner[] inners\nInner[2] two\nbuiltin_interfaces/Time[] times\n\
         std_msgs/Empty nothing\n",
    );
    add(&mut registry, "Inner", "# secret\nint32 A=1 # kept\nint32 a 3 # gone\n");
    registry
}

fn zoo() -> Arc<MessageType> {
    registry().message_type("demo/Zoo").unwrap()
}

#[test]
fn echo_prints_what_pyyaml_prints() {
    let registry = Registry::embedded();
    let table: Vec<serde_json::Value> =
        serde_json::from_str(include_str!("data/pyyaml_messages.json")).unwrap();
    for row in &table {
        let ty = registry.message_type(row["type"].as_str().unwrap()).unwrap();
        let payload = unhex(row["cdr_hex"].as_str().unwrap());
        let message = DynamicMessage::from_payload(&ty, &payload).unwrap();
        let plain = YamlStyle::default();
        assert_eq!(message.to_yaml(plain), row["block"].as_str().unwrap(), "{}", ty.name());
        let flow = YamlStyle { flow: true, ..plain };
        assert_eq!(message.to_yaml(flow), row["flow"].as_str().unwrap(), "{}", ty.name());
        let truncated = YamlStyle { truncate: Some(3), ..plain };
        assert_eq!(message.to_yaml(truncated), row["truncated_3"].as_str().unwrap(), "{}", ty.name());

        for style in [plain, flow] {
            let read = DynamicMessage::from_yaml(&ty, &message.to_yaml(style), None).unwrap();
            assert_eq!(read.to_payload(), message.to_payload(), "{}", ty.name());
        }
        let json = serde_json::to_string(&message).unwrap();
        let read = DynamicMessage::from_json(&ty, &json, None).unwrap();
        assert_eq!(read.to_payload(), message.to_payload(), "{}", ty.name());
    }
}

#[test]
fn defaults_fill_what_the_text_leaves_out() {
    let expected = "flag: true
octet: \"\\0\"
small: -5
large: 0
single: 0.0
double: 1.5
text: hi
short: ''
wide: ''
blob:
- 1
- 2
octets:
- \"\\0\"
- \"\\0\"
pair:
- 7
- 8
words: []
header:
  stamp:
    sec: 0
    nanosec: 0
  frame_id: ''
inners: []
two:
- a: 3
- a: 3
times: []
nothing: {}
";
    for text in ["", "  \n# nothing\n", "{}", "flag: true"] {
        let message = DynamicMessage::from_yaml(&zoo(), text, None).unwrap();
        assert_eq!(message.to_yaml(YamlStyle::default()), expected);
        assert_eq!(message, DynamicMessage::new(&zoo()));
    }
}

#[test]
fn yaml_as_people_type_it() {
    let text = "{flag: no, octet: 0x41, large: 18446744073709551615, single: 1e3, double: -.inf, text: 007,
                 short: yes, wide: ぼん, blob: [255], octets: [A, 11], header: auto, inners: [{}, {a: -1}],
                 times: [now, {sec: 1}], nothing: {}}";
    let message = DynamicMessage::from_yaml(&zoo(), text, NOW).unwrap();
    assert_eq!(
        message.to_yaml(YamlStyle { flow: true, ..YamlStyle::default() }),
        "{flag: false, octet: A, small: -5, large: 18446744073709551615, single: 1000.0, double: -.inf, \
         text: '007', short: 'yes', wide: ぼん, blob: [255], octets: [A, \"\\v\"], pair: [7, 8], words: [], \
         header: {stamp: {sec: 12, nanosec: 34}, frame_id: ''}, inners: [{a: 3}, {a: -1}], two: [{a: 3}, {a: 3}], \
         times: [{sec: 12, nanosec: 34}, {sec: 1, nanosec: 0}], nothing: {}}\n"
    );
    assert_eq!(message.get("header.stamp.sec"), Some(&rosless_schema::Value::Int(12)));
    assert_eq!(message.get("inners.1.a"), Some(&rosless_schema::Value::Int(-1)));
    assert_eq!(message.get("inners.2.a"), None);
    let decoded = DynamicMessage::from_payload(&zoo(), &message.to_payload()).unwrap();
    assert_eq!(decoded, message);
}

#[test]
fn errors_name_the_field_and_what_it_takes() {
    let table = [
        ("{nope: 1}", "unknown field 'nope'; demo/msg/Zoo has: flag, octet"),
        ("{header: {stam: 1}}", "unknown field 'header.stam'; std_msgs/msg/Header has: stamp, frame_id"),
        ("{small: 128}", "128 does not fit small: int8 takes whole numbers from -128 to 127"),
        ("{large: -1}", "-1 does not fit large: uint64"),
        ("{large: 99999999999999999999}", "does not fit large"),
        ("{small: 1.5}", "expected int8 for small"),
        ("{small: abc}", "'abc' is not valid, expected int8 for small"),
        ("{flag: 2}", "expected bool for flag"),
        ("{flag: maybe}", "expected bool for flag"),
        ("{single: 1.0e+39}", "does not fit single: it is too large for float32"),
        ("{double: x}", "'x' is not valid, expected float64 for double"),
        ("{short: abcd}", "short: 4 characters do not fit string<=3"),
        ("{text: [1]}", "expected string for text"),
        ("{text: {a: 1}}", "expected string for text"),
        ("{text: \"a\\0b\"}", "text must not contain NUL"),
        ("{blob: [1, 256]}", "256 does not fit blob[1]: uint8 takes"),
        ("{blob: 1}", "expected a list (uint8[]) for blob"),
        ("{blob: abc}", "expected a list (uint8[]) for blob"),
        ("{pair: [1]}", "pair: 1 elements are too few for int16[2]"),
        ("{pair: [1, 2, 3]}", "pair: 3 elements do not fit int16[2]"),
        ("{words: [a, b, c]}", "words: 3 elements do not fit string[<=2]"),
        ("{inners: [{a: x}]}", "expected int32 for inners[0].a"),
        ("{inners: {a: 1}}", "a mapping is not valid, expected a list (demo/msg/Inner[]) for inners"),
        (
            "{header: 5}",
            "expected a mapping with the fields of std_msgs/msg/Header (stamp, frame_id) for header",
        ),
        ("{header: now}", "'now' is not valid"),
        ("{small: 1, small: 2}", "small"),
        ("[1]", "a list is not valid, expected a mapping with the fields of demo/msg/Zoo"),
        ("5", "expected a mapping with the fields of demo/msg/Zoo"),
        ("{small: ", "while parsing a flow node"),
        ("{octet: AB}", "expected byte for octet"),
    ];
    for (text, expected) in table {
        let error = DynamicMessage::from_yaml(&zoo(), text, NOW).expect_err(text).to_string();
        assert!(error.contains(expected), "{text} gave: {error}\nexpected: {expected}");
    }
    let no_clock = DynamicMessage::from_yaml(&zoo(), "{header: auto}", None).unwrap_err().to_string();
    assert!(no_clock.contains("cannot be used here"), "{no_clock}");
    let json = DynamicMessage::from_json(&zoo(), "{\"small\": 1} x", None).unwrap_err().to_string();
    assert!(json.contains("trailing"), "{json}");
}

#[test]
fn abbreviations_of_echo() {
    let message = DynamicMessage::from_yaml(&zoo(), "{text: abcdef, words: [x]}", None).unwrap();
    let no_arrays = message.to_yaml(YamlStyle { no_arrays: true, ..YamlStyle::default() });
    for line in [
        "blob: '<sequence type: uint8, length: 2>'",
        "pair: '<array type: int16[2]>'",
        "words: '<sequence type: string[2], length: 1>'",
        "two: '<array type: demo/msg/Inner[2]>'",
    ] {
        assert!(no_arrays.lines().any(|l| l == line), "{line} is not in\n{no_arrays}");
    }
    let no_strings = message.to_yaml(YamlStyle { no_strings: true, ..YamlStyle::default() });
    assert!(no_strings.contains("text: '<string length: <6>>'\n"), "{no_strings}");
}

#[test]
fn python_form_is_that_of_service_call() {
    let registry = Registry::embedded();
    let ty = registry.message_type("lifecycle_msgs/srv/GetAvailableStates_Response").unwrap();
    let text = "{available_states: [{id: 0, label: unknown}, {id: 1, label: unconfigured}]}";
    assert_eq!(
        DynamicMessage::from_yaml(&ty, text, None).unwrap().to_python(),
        "lifecycle_msgs.srv.GetAvailableStates_Response(available_states=[\
         lifecycle_msgs.msg.State(id=0, label='unknown'), lifecycle_msgs.msg.State(id=1, label='unconfigured')])"
    );
    let request = registry.message_type("lifecycle_msgs/srv/GetAvailableStates_Request").unwrap();
    assert_eq!(DynamicMessage::new(&request).to_python(), "lifecycle_msgs.srv.GetAvailableStates_Request()");
    let parameter = registry.message_type("rcl_interfaces/msg/ParameterValue").unwrap();
    let value =
        DynamicMessage::from_yaml(&parameter, "{byte_array_value: [0, A], bool_value: true}", None).unwrap();
    let shown = value.to_python();
    assert!(shown.contains("bool_value=True, integer_value=0, double_value=0.0, string_value=''"), "{shown}");
    assert!(shown.contains("byte_array_value=[b'\\x00', b'A']"), "{shown}");
}

#[test]
fn fields_print_as_python_prints_them() {
    let text =
        "{octet: 65, single: 0.1, double: .nan, text: it's, blob: [1, 2], octets: [A, 10], pair: [-1, 300],
                 words: [a, it's], inners: [{a: 1}], nothing: {}}";
    let message = DynamicMessage::from_yaml(&zoo(), text, None).unwrap();
    let table = [
        ("flag", "True"),
        ("octet", "b'A'"),
        ("small", "-5"),
        ("single", "0.10000000149011612"),
        ("double", "nan"),
        ("text", "it's"),
        ("blob", "array('B', [1, 2])"),
        ("octets", "[b'A', b'\\n']"),
        ("pair", "[ -1 300]"),
        ("pair.1", "300"),
        ("words", "['a', \"it's\"]"),
        ("words.1", "it's"),
        ("inners", "[demo.msg.Inner(a=1)]"),
        ("times", "[]"),
    ];
    for (path, expected) in table {
        assert_eq!(message.get_python(path).as_deref(), Some(expected), "{path}");
    }
    assert_eq!(
        DynamicMessage::from_yaml(&zoo(), "{blob: []}", None).unwrap().get_python("blob").unwrap(),
        "array('B')"
    );
    let repr = message.to_python();
    assert!(
        repr.contains("blob=[1, 2], octets=[b'A', b'\\n'], pair=array([ -1, 300], dtype=int16), "),
        "{repr}"
    );
}

#[test]
fn csv_is_that_of_echo() {
    let registry = Registry::embedded();
    let csv = |ty: &str, text: &str, style: YamlStyle| {
        DynamicMessage::from_yaml(&registry.message_type(ty).unwrap(), text, None).unwrap().to_csv(style)
    };
    let full = YamlStyle::default();
    let joints = "{header: {frame_id: base}, name: [abcd, b], position: [1.0e-07, .nan, .inf], effort: [1]}";
    assert_eq!(csv("sensor_msgs/JointState", joints, full), "0,0,base,abcd,b,1e-07,nan,inf,,1.0");
    let cut = YamlStyle { truncate: Some(2), ..full };
    assert_eq!(csv("sensor_msgs/JointState", joints, cut), "0,0,ba...,ab...,b,1e-07,nan,...,,1.0");
    let bare = YamlStyle { no_arrays: true, no_strings: true, ..full };
    assert_eq!(
        csv("sensor_msgs/JointState", joints, bare),
        "0,0,<string length: <4>>,<sequence type: string, length: 2>,<sequence type: double, length: 3>,\
         <sequence type: double, length: 0>,<sequence type: double, length: 1>"
    );
    assert_eq!(csv("std_msgs/Byte", "{data: 65}", full), "b'A'");
    // numpy shows a float32 with its own digits, array.array widens it.
    let mut registry = Registry::new();
    add(&mut registry, "Singles", "float32[2] fixed\nfloat32[] free\n");
    let singles = registry.message_type("demo/Singles").unwrap();
    let message = DynamicMessage::from_yaml(&singles, "{fixed: [0.1, 1.0e-07], free: [0.1]}", None).unwrap();
    assert_eq!(message.to_csv(full), "0.1,1e-07,0.10000000149011612");
    assert_eq!(
        message.to_python(),
        "demo.msg.Singles(fixed=array([1.e-01, 1.e-07], dtype=float32), free=[0.10000000149011612])"
    );
}

#[test]
fn interface_show_nests_by_tabs() {
    let registry = registry();
    assert_eq!(
        registry.show("demo/msg/Inner", Comments::TopLevel).unwrap(),
        "# secret\nint32 A=1 # kept\nint32 a 3 # gone\n"
    );
    let shown = registry.show("demo/Zoo", Comments::TopLevel).unwrap();
    assert!(shown.starts_with("# All forms.\nbool flag true\n"), "{shown}");
    let nested = "std_msgs/Header header # when\n\tbuiltin_interfaces/Time stamp\n\t\tint32 sec\n\t\tuint32 nanosec\n\
                  \tstring frame_id\nInner[] inners\n\tint32 A=1 # kept\n\tint32 a 3\nInner[2] two\n";
    assert!(shown.contains(nested), "{shown}");
    let bare = registry.show("demo/Zoo", Comments::None).unwrap();
    assert!(bare.starts_with("bool flag true\n") && bare.contains("\nstd_msgs/Header header\n"), "{bare}");
    let all = registry.show("demo/Zoo", Comments::All).unwrap();
    assert!(all.contains("\n\t# secret\n") && all.contains("\tint32 a 3 # gone\n"), "{all}");
    let service = registry.show("std_srvs/srv/Trigger", Comments::None).unwrap();
    assert_eq!(service, "---\nbool success\nstring message\n");
    let implied = registry.show("std_srvs/srv/Trigger_Response", Comments::None).unwrap();
    assert_eq!(implied, "bool success\nstring message\n");
}

#[test]
fn a_whole_definition_has_every_type_once_and_can_be_read_again() {
    let registry = Registry::embedded();
    let text = registry.whole_definition("geometry_msgs/msg/PoseStamped").unwrap();
    let titles: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("MSG: ")).collect();
    let expected = [
        "std_msgs/Header",
        "builtin_interfaces/Time",
        "geometry_msgs/Pose",
        "geometry_msgs/Point",
        "geometry_msgs/Quaternion",
    ];
    assert_eq!(titles, expected);
    let request = registry.whole_definition("std_srvs/srv/SetBool_Request").unwrap();
    assert_eq!(request, "bool data\n");
    let goal = registry.whole_definition("mecha_control/action/DaizaCmd_Goal").unwrap();
    assert!(goal.contains("uint8 STOP=0\n") && goal.ends_with("uint8 command\n"), "{goal}");
}
