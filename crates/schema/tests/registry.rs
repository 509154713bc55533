//! Names, directories, received descriptions.

use std::{fs, path::Path};

use rosless_schema::{Comments, DynamicMessage, Kind, Registry, SchemaError, Source, TypeDescription};
use rosless_tests::Scratch;

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn with(sources: &[(&str, &str)]) -> Registry {
    let mut registry = Registry::embedded();
    for (name, text) in sources {
        let file = &format!("{name}.msg");
        registry.add_source(Source { kind: Kind::Msg, package: "demo", name, file, text });
    }
    registry
}

#[test]
fn short_names_find_messages_first() {
    let registry = Registry::embedded();
    assert_eq!(registry.full_name("std_msgs/String").unwrap(), "std_msgs/msg/String");
    assert_eq!(registry.full_name("std_srvs/Trigger").unwrap(), "std_srvs/srv/Trigger");
    assert_eq!(
        registry.full_name("example_interfaces/Fibonacci").unwrap(),
        "example_interfaces/action/Fibonacci"
    );
    assert_eq!(registry.full_name("control_msgs/GripperCommand").unwrap(), "control_msgs/msg/GripperCommand");
    assert_eq!(
        registry.full_name("example_interfaces/action/Fibonacci_SendGoal_Request").unwrap(),
        "example_interfaces/action/Fibonacci_SendGoal_Request"
    );
    assert!(registry.names().contains(&"std_srvs/srv/Trigger"));
    assert!(!registry.names().iter().any(|n| n.contains("Trigger_Request")));
}

#[test]
fn unknown_names_get_a_suggestion() {
    let registry = Registry::embedded();
    let table = [
        ("std_msgs/msg/Strin", Some("std_msgs/msg/String")),
        ("std_msg/String", Some("std_msgs/msg/String")),
        ("std_msgs/srv/String", Some("std_msgs/msg/String")),
        ("geometry_msgs/Possed", Some("geometry_msgs/msg/Pose")),
        ("JointState", Some("sensor_msgs/msg/JointState")),
        ("std_srvs/srv/Triger_Request", Some("std_srvs/srv/Trigger")),
        ("qqqq/wwww", None),
        ("", None),
        ("///", None),
    ];
    for (name, expected) in table {
        match registry.type_hash(name) {
            Err(SchemaError::Unknown { suggestion, .. }) => {
                assert_eq!(suggestion.as_deref(), expected, "for {name}");
            }
            other => panic!("{name} gave {other:?}"),
        }
    }
    let error = registry.type_hash("std_msgs/Strin").unwrap_err().to_string();
    assert_eq!(error, "unknown type 'std_msgs/Strin'; did you mean 'std_msgs/msg/String'?");
}

#[test]
fn directories_of_three_forms_are_read() {
    let dir = Scratch::make();
    write(&dir, "prefix/share/my_pkg/msg/One.msg", "int32 a\n");
    write(&dir, "prefix/share/my_pkg/srv/Two.srv", "One one\n---\n");
    write(&dir, "prefix/share/my_pkg/srv/notes.txt", "not a definition");
    write(&dir, "prefix/share/no_interfaces/package.xml", "<package/>");
    for (path, count) in [("prefix", 2), ("prefix/share", 2), ("prefix/share/my_pkg", 2)] {
        let mut registry = Registry::embedded();
        assert_eq!(registry.load_dir(&dir.join(path)).unwrap(), count, "{path}");
        let request = registry.message_type("my_pkg/srv/Two_Request").unwrap();
        assert_eq!(
            DynamicMessage::new(&request).to_python(),
            "my_pkg.srv.Two_Request(one=my_pkg.msg.One(a=0))"
        );
    }

    let mut registry = Registry::embedded();
    let empty = registry.load_dir(&dir.join("prefix/share/no_interfaces")).unwrap_err().to_string();
    assert!(empty.contains("no interface definitions here"), "{empty}");
    let absent = registry.load_dir(Path::new("/does/not/exist")).unwrap_err().to_string();
    assert!(absent.starts_with("/does/not/exist: "), "{absent}");

    write(&dir, "bad/my_pkg/msg/Bad.msg", "int32 Wrong\n");
    write(&dir, "bad/my_pkg/msg/Good.msg", "int32 right\n");
    registry.load_dir(&dir.join("bad")).unwrap();
    assert!(registry.type_hash("my_pkg/Good").is_ok(), "a bad neighbour does no harm");
    let bad = registry.type_hash("my_pkg/Bad").unwrap_err().to_string();
    assert!(bad.contains("my_pkg/msg/Bad.msg:1:7: field name 'Wrong'"), "{bad}");
}

#[test]
fn what_is_no_text_is_refused_where_it_stops_to_be_one() {
    let dir = Scratch::make();
    write(&dir, "my_pkg/msg/Bad.msg", "");
    fs::write(dir.join("my_pkg/msg/Bad.msg"), b"int8 a\n# caf\xe9\n").unwrap();
    let refused = Registry::new().load_dir(&dir).unwrap_err().to_string();
    assert!(refused.ends_with("my_pkg/msg/Bad.msg:2:6: this is not UTF-8"), "{refused}");
    // A folder, as a pipe or a device would be.
    write(&dir, "other/my_pkg/msg/Folder.msg/x", "");
    let refused = Registry::new().load_dir(&dir.join("other")).unwrap_err().to_string();
    assert!(refused.ends_with("Folder.msg: this is not a file"), "{refused}");
}

#[test]
fn bare_header_is_that_of_std_msgs_unless_the_package_has_one() {
    let registry = with(&[("Stamped", "Header header\n")]);
    let description = registry.description("demo/Stamped").unwrap();
    assert_eq!(description.type_description.fields[0].ty.nested_type_name, "std_msgs/msg/Header");
    let registry = with(&[("Stamped", "Header header\n"), ("Header", "int32 a\n")]);
    let description = registry.description("demo/Stamped").unwrap();
    assert_eq!(description.type_description.fields[0].ty.nested_type_name, "demo/msg/Header");
}

#[test]
fn types_that_cannot_be_are_errors() {
    let registry = with(&[
        ("Loop", "Knot knot\n"),
        ("Knot", "Loop[] loops\n"),
        ("Huge", "float64[4294967295] a\n"),
        ("Lost", "elsewhere/Thing thing\n"),
    ]);
    let message = |name: &str| registry.message_type(name).unwrap_err().to_string();
    assert!(message("demo/Loop").contains("the type contains itself"));
    assert!(message("demo/Huge").contains("field 'a' makes every message larger"));
    assert!(message("demo/Lost").contains("unknown type 'elsewhere/msg/Thing'"));
    let hash = registry.type_hash("demo/Lost").unwrap_err().to_string();
    assert!(hash.contains("'elsewhere/msg/Thing', which demo/msg/Lost contains, is not known"), "{hash}");
    let shown = registry.show("demo/Loop", Comments::All).unwrap_err().to_string();
    assert!(shown.contains("nested more than"), "{shown}");

    // Two fields per level: the layout is shared, but a message of it would have 2^30 values.
    let levels: Vec<(String, String)> = (0..31)
        .map(|i| {
            (
                format!("L{i}"),
                if i == 30 { "int8 a\n".to_owned() } else { format!("L{0} a\nL{0} b\n", i + 1) },
            )
        })
        .collect();
    let levels: Vec<(&str, &str)> = levels.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let registry = with(&levels);
    let error = registry.message_type("demo/L0").unwrap_err().to_string();
    assert!(error.contains("makes every message larger"), "{error}");
    assert!(registry.show("demo/L0", Comments::None).unwrap_err().to_string().contains("lines"));
    assert!(registry.type_hash("demo/L0").is_ok());
}

#[test]
fn descriptions_carry_defaults_as_python_prints_them() {
    let registry = with(&[(
        "Defaults",
        "bool a true\nint32 b -3\nfloat64 c 1e-7\nstring d \"x y\"\nfloat32[2] e [1, 2.5]\nstring[] f ['p', \"q\"]\nint8 g\n",
    )]);
    let description = registry.description("demo/Defaults").unwrap();
    let shown: Vec<_> =
        description.type_description.fields.iter().map(|f| f.default_value.as_str()).collect();
    assert_eq!(shown, ["True", "-3", "1e-07", "x y", "(1.0, 2.5)", "('p', 'q')", ""]);
    let plain =
        with(&[("Defaults", "bool a\nint32 b\nfloat64 c\nstring d\nfloat32[2] e\nstring[] f\nint8 g\n")]);
    assert_eq!(
        registry.type_hash("demo/Defaults").unwrap(),
        plain.type_hash("demo/Defaults").unwrap(),
        "defaults are not part of the hash"
    );
}

#[test]
fn a_received_description_is_enough_to_decode() {
    let known =
        with(&[("Inner", "string<=8 text\nwstring[<=3] wide\n"), ("Outer", "Inner[2] inners\nbyte[] raw\n")]);
    let description = known.description("demo/Outer").unwrap();
    // As it travels: through the message's own JSON form.
    let json = serde_json::to_string(&description).unwrap();
    let received: TypeDescription = serde_json::from_str(&json).unwrap();

    let mut registry = Registry::new();
    registry.add_description(&received).unwrap();
    assert_eq!(registry.type_hash("demo/Outer").unwrap(), known.type_hash("demo/Outer").unwrap());
    assert_eq!(registry.names(), ["demo/msg/Inner", "demo/msg/Outer"]);
    let (ours, theirs) =
        (registry.message_type("demo/Outer").unwrap(), known.message_type("demo/Outer").unwrap());
    let sent = DynamicMessage::from_yaml(&theirs, "{inners: [{text: a}, {wide: [ぼ, 😀]}], raw: [1]}", None)
        .unwrap();
    let got = DynamicMessage::from_payload(&ours, &sent.to_payload()).unwrap();
    assert_eq!(got, sent);
    assert_eq!(
        registry.show("demo/Outer", Comments::All).unwrap(),
        "demo/Inner[2] inners\n\tstring<=8 text\n\twstring[<=3] wide\nbyte[] raw\n"
    );
    registry.add_description(&received).unwrap();
}

type Change<'a> = &'a dyn Fn(&mut TypeDescription);

#[test]
fn descriptions_that_do_not_fit_are_refused() {
    let known = with(&[("Inner", "int32 a\n"), ("Outer", "Inner inner\n")]);
    let good = known.description("demo/Outer").unwrap();
    let refuse = |registry: &mut Registry, change: Change<'_>| {
        let mut description = good.clone();
        change(&mut description);
        registry.add_description(&description).unwrap_err().to_string()
    };
    let empty = &mut Registry::new();
    let table: [(Change<'_>, &str); 6] = [
        (&|d| d.type_description.type_name = "Outer".into(), "not a type name"),
        (&|d| d.type_description.fields[0].name = "Bad\n".into(), "field name 'Bad\\n' is not valid"),
        (&|d| d.type_description.fields[0].ty.type_id = 12, "field 'inner': type_id 12 is not supported"),
        (&|d| d.type_description.fields[0].ty.type_id = 50, "0 is not a size"),
        (&|d| d.referenced_type_descriptions.clear(), "'demo/msg/Inner', which demo/msg/Outer contains"),
        (
            &|d| d.referenced_type_descriptions = vec![d.type_description.clone(); 2000],
            "refers to more than 1024 types",
        ),
    ];
    for (change, expected) in table {
        let error = refuse(empty, change);
        assert!(error.contains(expected), "{error}\nexpected: {expected}");
        assert!(empty.names().is_empty(), "a refused description leaves nothing behind");
    }
    let mut other = with(&[("Inner", "int64 a\n")]);
    let error = refuse(&mut other, &|_| ());
    assert!(error.contains("type demo/msg/Inner: differs from the definition that is known here"), "{error}");
}

/// Fields that a distribution has and that of `idl/` has not, and the other way round.
#[test]
fn definitions_that_differ_are_those_of_the_distribution() {
    let has = |distribution: &str, ty: &str, field: &str| {
        let registry = Registry::embedded_for(distribution);
        registry.structure(ty).unwrap().fields.iter().any(|known| known.name == field)
    };
    let table = [
        ("sensor_msgs/msg/Range", "variance", [false, true, true]),
        ("control_msgs/msg/JointTrajectoryControllerState", "desired", [true, false, false]),
        ("control_msgs/msg/JointTrajectoryControllerState", "speed_scaling_factor", [false, true, true]),
        ("control_msgs/msg/PidState", "p_gain", [false, false, true]),
        ("control_msgs/msg/PidState", "p_error", [true, true, false]),
        ("control_msgs/msg/SteeringControllerStatus", "traction_command", [false, false, true]),
        ("control_msgs/action/FollowJointTrajectory_Feedback", "multi_dof_index", [false, false, true]),
    ];
    for (ty, field, expected) in table {
        assert_eq!(["humble", "jazzy", "kilted"].map(|name| has(name, ty, field)), expected, "{ty}.{field}");
    }
    for (name, kin) in [("foxy", "humble"), ("iron", "jazzy"), ("lyrical", "kilted"), ("rolling", "kilted")] {
        let hash = |name| Registry::embedded_for(name).type_hash("control_msgs/msg/PidState").unwrap();
        assert_eq!(hash(name), hash(kin), "{name}");
    }
    let versions =
        Registry::embedded_versions().map(|version| version.type_hash("control_msgs/PidState").unwrap());
    assert_eq!(versions.collect::<std::collections::BTreeSet<_>>().len(), 2);
}
