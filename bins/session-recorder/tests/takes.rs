//! A session becomes one take, also if the recorder dies in the middle of it.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use rosless_bag::{Bag, Filter};
use rosless_tests::{Daemon, DomainLease, eventually, sibling_binary};
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

fn markers(dir: &Path) -> u64 {
    let Some(bag) = take(dir).and_then(|take| Bag::open(&take).ok()) else { return 0 };
    let index = bag.topics.iter().position(|topic| topic.name == "/markers");
    index.map_or(0, |index| bag.counts[index])
}

#[test]
fn a_session_is_one_take_though_its_recorder_was_killed() {
    let domain = DomainLease::acquire();
    let dir = std::env::temp_dir().join(format!("rosless-takes-{}", std::process::id()));
    let _ = fs::remove_dir_all(&dir);
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
    let control = |arguments: &[&str]| {
        let output = domain.command(&controller, arguments).output().expect("the controller can be started");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
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
    assert!(bag.topics.iter().any(|topic| topic.name == "/mocap_control"));
    assert_eq!(bag.attachments().first().map(|file| file.name.as_str()), Some("manifest.json"));
    fs::remove_dir_all(&dir).expect("nobody writes there any more");
}
