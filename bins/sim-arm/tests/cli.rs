//! The commands that need no network.

use std::process::{Command, Output};

fn sim_arm(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sim-arm")).args(args).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn evaluate_is_repeatable_and_counts_every_throw() {
    let args = ["evaluate", "--throws", "60", "--seed", "3", "--json"];
    let first = sim_arm(&args);
    assert!(first.status.success());
    assert_eq!(stdout(&first), stdout(&sim_arm(&args)));
    let report: serde_json::Value = serde_json::from_str(&stdout(&first)).unwrap();
    let number = |v: &serde_json::Value| v.as_u64().unwrap();
    let total = &report["total"];
    let reasons: u64 = total["reasons"].as_object().unwrap().values().map(number).sum();
    assert_eq!(number(&total["caught"]) + reasons, 60, "{report}");
    let regions = report["regions"].as_object().unwrap().values();
    assert_eq!(regions.map(|r| number(&r["throws"])).sum::<u64>(), 60);
}

#[test]
fn best_catches_more_than_apex_and_all_that_is_feasible() {
    let caught = |strategy| {
        let output =
            sim_arm(&["evaluate", "--throws", "60", "--seed", "3", "--json", "--strategy", strategy]);
        let report: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        let total = &report["total"];
        (total["caught"].as_u64().unwrap(), total["feasible"] == total["caught_of_feasible"])
    };
    let ((apex, _), (best, all)) = (caught("apex"), caught("best"));
    assert!(best > apex && all, "apex {apex}, best {best}, all feasible caught: {all}");
}

#[test]
fn the_plot_is_an_svg_with_both_views() {
    let path = std::env::temp_dir().join(format!("sim-arm-plot-{}.svg", std::process::id()));
    let output =
        sim_arm(&["evaluate", "--throws", "20", "--strategy", "best", "--plot", path.to_str().unwrap()]);
    assert!(output.status.success() && stdout(&output).contains("of feasible"));
    let svg = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("side view") && svg.contains("from above"));
    assert!(svg.matches("<polyline").count() > 40);
}

#[test]
fn wrong_usage_is_said_and_has_its_exit_code() {
    let output = sim_arm(&["evaluate", "--max-velocity", "0"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("must be a number above 0"));
    assert_eq!(sim_arm(&["evaluate", "--latency", "nan"]).status.code(), Some(2));
    assert_eq!(sim_arm(&["run", "--nodes", "elbow"]).status.code(), Some(2));
    assert!(stdout(&sim_arm(&["urdf"])).contains("joint_6"));
}
