//! Many systems, many times.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use rosless_protocol::{
    Dialect,
    controller::{Outcome, Proof, Settings, System, Targets},
    message::Command,
    name::SystemId,
};
use rosless_tests::Rig;

use crate::stage::{PATIENCE, Stage};

#[test]
fn twenty_systems_start_and_stop_a_hundred_times_with_nothing_missed() {
    let stage = Stage::new();
    let names: Vec<_> = (0..4).map(|n| format!("rig_{n}")).collect();
    let options = |name| ["--kind", "auxiliary", "--count", "5", "--topics", "data", "--name", name];
    let fleet: Vec<_> = names.iter().map(|name| stage.system(&options(name))).collect();
    for (process, name) in fleet.iter().zip(&names) {
        process.wait_for_line(&format!("system {name}_5 is inactive"), PATIENCE);
    }
    let mut observer = stage.observer(Dialect::Mocap);
    // A machine that is slow is none that loses: by default half a second of silence is enough for a second START.
    let controller = observer.controller_with(Settings {
        retry_period: PATIENCE,
        state_timeout: PATIENCE,
        deadline: 2 * PATIENCE,
        ..Settings::default()
    });
    let known = controller.clone();
    let reachable =
        || known.with_systems(|all| all.values().filter(|s| s.announced() && s.reachable()).count());
    let Rig { events, seen, .. } = &mut *observer;
    let done = events.run_until(seen, PATIENCE, |_| reachable() == 20).unwrap();
    assert!(
        done,
        "only {} of twenty systems are reachable: {:#?}",
        reachable(),
        known.with_systems(|all| {
            let known =
                |(id, s): (&SystemId, &System)| (id.to_string(), s.presence(), s.reachable(), s.participant);
            all.iter().map(known).collect::<Vec<_>>()
        })
    );
    let began = rosless_graph::monotonic();
    let mut quickest: BTreeMap<SystemId, Duration> = BTreeMap::new();
    for round in 0..100 {
        for command in [Command::Start, Command::Stop] {
            let report = observer.request(&controller, command, &format!("take_{round}"), Targets::All);
            assert_eq!((report.results.len(), report.messages), (20, 1), "round {round}: {report:?}");
            for (system, result) in &report.results {
                assert_eq!(result.outcome, Outcome::Done(Proof::Acknowledged), "round {round}, {system}");
                let round_trip = result.answered_after.expect("it was acknowledged");
                let least = quickest.entry(system.clone()).or_insert(round_trip);
                *least = round_trip.min(*least);
            }
        }
    }
    // The clock is known as well as the quickest round trip tells it, however slow this machine is, less what it may have
    // drifted since.
    let now = rosless_graph::monotonic();
    let drift = (now - began) / 10_000 + Duration::from_millis(1);
    for (system, round_trip) in quickest {
        let offset = controller.with_systems(|all| all[&system].offset_at(now)).expect("it has answered");
        let uncertainty = Duration::from_nanos(offset.uncertainty.unsigned_abs());
        assert!(uncertainty <= round_trip / 2 + drift, "{system}: {offset} after {round_trip:?}");
    }
    for process in &fleet {
        assert!(!process.output().contains("Activation requested"), "nobody was started twice");
    }
}

#[test]
fn fifty_systems_of_one_process_are_fifty_to_start_all_and_one_participant() {
    let stage = Stage::new();
    let process = stage.system(&["--kind", "auxiliary", "--count", "50", "--name", "rig"]);
    process.wait_for_line("system rig_50 is inactive", PATIENCE);
    let names: BTreeSet<_> = (1..=50).map(|n| format!("rig_{n}")).collect();
    // A process that has just said so may not have told others yet.
    let mut observer = stage.observer(Dialect::Mocap);
    let controller = observer.controller();
    let known = controller.clone();
    let reachable = || known.with_systems(|all| all.values().filter(|s| s.reachable()).count());
    observer.until("fifty systems are reachable", |_| reachable() == 50);
    let output = stage.command(&["start", "--all", "--session", "s1", "--json"]);
    assert!(output.status.success(), "{output:?}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let results = report["systems"].as_array().unwrap();
    let started: Option<BTreeSet<_>> =
        results.iter().map(|result| result["name"].as_str().map(str::to_owned)).collect();
    assert_eq!(started.as_ref(), Some(&names), "{report}");
    assert!(results.iter().all(|result| result["outcome"] == "done"), "{report}");
    let output = stage.command(&["stop", "--all"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && names.iter().all(|name| said.contains(name.as_str())), "{output:?}");

    let participants: BTreeSet<_> =
        controller.with_systems(|all| all.values().map(|system| system.participant).collect());
    assert_eq!(participants.len(), 1, "{participants:?}");
}
