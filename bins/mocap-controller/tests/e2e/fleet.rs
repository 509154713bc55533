//! Many systems, many times.

use rosless_protocol::{
    Dialect,
    controller::{Outcome, Proof, Targets},
    message::Command,
};

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
    let controller = observer.controller();
    let known = controller.clone();
    let reachable =
        || known.with_systems(|all| all.values().filter(|s| s.announced() && s.reachable()).count());
    let done = observer.event_loop.run_until(&mut observer.seen, PATIENCE, |_| reachable() == 20).unwrap();
    assert!(
        done,
        "only {} of twenty systems are reachable: {:#?}",
        reachable(),
        known
            .systems()
            .iter()
            .map(|(id, s)| (id.to_string(), s.presence(), s.reachable(), s.participant))
            .collect::<Vec<_>>()
    );
    for round in 0..100 {
        for command in [Command::Start, Command::Stop] {
            let report = observer.request(&controller, command, &format!("take_{round}"), Targets::All);
            assert_eq!((report.results.len(), report.messages), (20, 1), "round {round}: {report:?}");
            for (system, result) in &report.results {
                assert_eq!(result.outcome, Outcome::Done(Proof::Acknowledged), "round {round}, {system}");
            }
        }
    }
    let uncertain =
        controller.systems().values().filter_map(|s| s.offset()).map(|o| o.uncertainty).max().unwrap();
    assert!(uncertain < 50_000_000, "200 round trips narrow the clock estimate: {uncertain} ns");
    for process in &fleet {
        assert!(!process.output().contains("Activation requested"), "nobody was started twice");
    }
}
