//! A session becomes one take, also if the recorder dies in the middle of it.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use rosless_bag::{Bag, Filter};
use rosless_tests::{Daemon, DomainLease, Scratch, eventually, sibling_binary};
use serde_json::Value;

const SOON: Duration = Duration::from_secs(40);
const OWN: &str = env!("CARGO_BIN_EXE_session-recorder");

/// The only take below a folder.
fn take(dir: &Path) -> Option<PathBuf> {
    let mut takes = fs::read_dir(dir).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let first = takes.next();
    assert!(takes.next().is_none(), "one session is one take");
    first
}

fn manifest(dir: &Path) -> Option<Value> {
    serde_json::from_slice(&fs::read(take(dir)?.join("manifest.json")).ok()?).ok()
}

fn count(dir: &Path, topic: &str) -> u64 {
    let Some(bag) = take(dir).and_then(|take| Bag::open(&take).ok()) else { return 0 };
    let index = bag.topics.iter().position(|known| known.name == topic);
    index.map_or(0, |index| bag.counts[index])
}

fn markers(dir: &Path) -> u64 {
    count(dir, "/markers")
}

fn run(domain: &DomainLease, program: &Path, arguments: &[&str]) -> String {
    let output = domain.command(program, arguments).output().expect("it can be started");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_session_is_one_take_though_its_recorder_was_killed() {
    let domain = DomainLease::acquire();
    let dir = Scratch::make();
    let path = dir.display().to_string();
    let record = || {
        let recorder = Daemon::spawn(domain.command(OWN, &["--dir", &path, "--csv"]));
        recorder.wait_for_line("waiting for START", SOON);
        recorder
    };
    let (system, controller) = (sibling_binary(OWN, "mocap-system"), sibling_binary(OWN, "mocap-controller"));
    let first = record();
    let camera = Daemon::spawn(domain.command(&system, &["--kind", "dummy", "--name", "cam"]));
    camera.wait_for_line("is inactive", SOON);
    first.wait_for_line("Subscribed to topic '/markers'", SOON);
    let control = |arguments: &[&str]| run(&domain, &controller, arguments);
    control(&["start", "cam", "--session", "take_7"]);
    eventually("markers are on disk", SOON, || markers(&dir) > 30);
    first.signal("KILL");
    drop(first);
    let before = markers(&dir);
    let second = record();
    eventually("it goes on in a new part", SOON, || markers(&dir) > before + 30);
    let status: Value = serde_json::from_str(&control(&["status", "--json"])).expect("JSON");
    assert_eq!(
        (&status["recorder"]["recording"], &status["recorder"]["session"]),
        (&true.into(), &"take_7".into())
    );
    control(&["stop", "cam"]);
    eventually("the take is closed", SOON, || {
        manifest(&dir).is_some_and(|manifest| !manifest["stopped"].is_null())
    });
    eventually("the table is written", SOON, || {
        take(&dir).is_some_and(|take| take.join("cam/markers.csv").is_file())
    });
    drop(second);

    let manifest = manifest(&dir).expect("a manifest");
    assert_eq!((&manifest["session"], &manifest["restarts"]), (&"take_7".into(), &1.into()), "{manifest}");
    let camera = &manifest["systems"]["/cam"];
    assert!(camera["ack_start"].is_array() && camera["ack_stop"].is_array(), "{manifest}");
    assert!(camera["clock_at_stop"]["uncertainty"].is_i64(), "{manifest}");
    let bag = Bag::open(&take(&dir).expect("a take")).expect("a bag");
    assert_eq!(bag.metadata.files.len(), 2);
    assert!(bag.messages(&Filter::default()).all(|item| item.is_ok()));
    for (topic, count) in bag.topics.iter().zip(&bag.counts) {
        let told = &manifest["topics"][&topic.name]["messages"];
        assert_eq!(told, count, "{}: what the killed one had not written is not in the take", topic.name);
    }
    assert!(bag.topics.iter().any(|topic| topic.name == "/mocap_control"));
    assert_eq!(bag.attachments().first().map(|file| file.name.as_str()), Some("manifest.json"));
    fs::remove_dir_all(&dir).expect("nobody writes there any more");
}

#[test]
fn all_dialects_are_in_one_take_and_nobody_who_is_outside_of_the_session() {
    let domain = DomainLease::acquire();
    let dir = Scratch::make();
    let path = dir.display().to_string();
    let [system, controller, rosless] =
        ["mocap-system", "mocap-controller", "rosless"].map(|name| sibling_binary(OWN, name));
    let recorder = Daemon::spawn(
        domain
            .command(OWN, &["--dir", &path, "--csv", "--ros-args", "-p", "exclude_topics:=[/rigid_bodies]"]),
    );
    let start = |arguments: &[&str]| {
        let daemon = Daemon::spawn(domain.command(&system, arguments));
        daemon.wait_for_line("is inactive", SOON);
        daemon
    };
    let _systems = [
        start(&["--kind", "dummy", "--dialect", "mocap4r2", "--name", "cam"]),
        start(&["--kind", "imu", "--dialect", "device", "--name", "imu"]),
        start(&["--kind", "auxiliary", "--dialect", "mocap", "--name", "aux", "--topics", "nothing"]),
        start(&["--kind", "dummy", "--name", "lone", "--ros-args", "-r", "__ns:=/other"]),
    ];
    for topic in ["/markers", "/mocap_imu_data", "/other/markers"] {
        recorder.wait_for_line(&format!("Subscribed to topic '{topic}'"), SOON);
    }
    run(&domain, &rosless, &["lifecycle", "set", "/other/lone", "activate"]);
    recorder.wait_for_line("/other/lone is active and no START was heard", SOON);
    let names = ["cam", "imu", "aux"];
    run(&domain, &controller, &[&["start", "--session", "mixed"], &names[..]].concat());
    eventually("data of both is on disk", SOON, || markers(&dir) > 20 && count(&dir, "/mocap_imu_data") > 20);
    // What is no longer wanted was recorded until then.
    let exclude = ["param", "set", "/session_recorder", "exclude_topics", "[/rigid_bodies, /mocap_imu_data]"];
    run(&domain, &rosless, &exclude);
    run(&domain, &controller, &[&["stop"], &names[..]].concat());
    let table = || take(&dir).map(|take| take.join("imu/mocap_imu_data.csv"));
    eventually("the table is written", SOON, || {
        table().is_some_and(|table| fs::metadata(table).is_ok_and(|file| file.len() > 0))
    });
    recorder.signal("INT");
    drop(recorder);

    let manifest = manifest(&dir).expect("a manifest");
    for name in names {
        let system = &manifest["systems"][format!("/{name}")];
        assert!(system["ack_start"].is_array() && system["session"] == "mixed", "{name}: {manifest}");
    }
    assert_eq!(manifest["systems"]["/other/lone"]["outside_session"], true, "{manifest}");
    let told = &manifest["topics"]["/mocap_imu_data"]["messages"];
    assert_eq!(*told, count(&dir, "/mocap_imu_data"), "{manifest}");
    let topics: Vec<String> =
        Bag::open(&take(&dir).expect("a take")).expect("a bag").topics.into_iter().map(|t| t.name).collect();
    let has = |name: &str| topics.iter().any(|topic| topic == name);
    assert!(
        ["/mocap_control", "/device_control", "/mocap4r2_control"].iter().all(|topic| has(topic)),
        "{topics:?}"
    );
    assert!(!has("/other/markers") && !has("/rigid_bodies"), "{topics:?}");
    let row = fs::read_to_string(table().expect("a table")).expect("text");
    let fields: Vec<&str> = row.lines().next().expect("a row").split(',').collect();
    assert_eq!(fields.len(), 4, "t,ax,ay,az and no titles: {fields:?}");
    assert!(
        fields.iter().all(|field| field.split_once('.').is_some_and(|(_, d)| d.len() == 10)),
        "{fields:?}"
    );
    fs::remove_dir_all(&dir).expect("nobody writes there any more");
}
