//! The commands that need no network.

use std::{
    fs::File,
    process::{Command, Output, Stdio},
};

use rosless_tests::Scratch;

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
fn best_catches_more_than_apex_and_nearly_all_of_the_bound() {
    let caught = |strategy| {
        let output =
            sim_arm(&["evaluate", "--throws", "60", "--seed", "3", "--json", "--strategy", strategy]);
        let report: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        let number = |key: &str| report["total"][key].as_u64().unwrap();
        let impossible = report["total"]["impossible"].as_object().unwrap().values();
        assert_eq!(number("bound") + impossible.map(|n| n.as_u64().unwrap()).sum::<u64>(), 60);
        (number("caught"), number("bound"))
    };
    let ((apex, _), (best, bound)) = (caught("apex"), caught("best"));
    assert!(best > apex && best * 100 >= bound * 95, "apex {apex}, best {best}, bound {bound}");
}

#[test]
fn the_plot_is_an_svg_with_both_views() {
    let folder = Scratch::make();
    let path = folder.join("plot.svg");
    let output =
        sim_arm(&["evaluate", "--throws", "20", "--strategy", "best", "--plot", path.to_str().unwrap()]);
    assert!(output.status.success() && stdout(&output).contains("of bound"));
    let svg = std::fs::read_to_string(&path).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("side view") && svg.contains("from above"));
    assert!(svg.matches("<polyline").count() > 40);
}

#[test]
fn wrong_usage_is_said_and_has_its_exit_code() {
    for (args, reason) in [
        (["evaluate", "--max-velocity", "0"], "must be a number from 0.01 to 1000"),
        (["evaluate", "--max-acceleration", "1e300"], "must be a number from 0.01 to 100000"),
        (["evaluate", "--latency", "nan"], "must be a number from 0 to 60000"),
        (["evaluate", "--latency", "1e300"], "must be a number from 0 to 60000"),
        (["evaluate", "--throws", "0"], "0 is not in 1..=1000000"),
        (["evaluate", "--throws", "4000000000"], "4000000000 is not in 1..=1000000"),
        (["run", "--nodes", "elbow"], "elbow"),
    ] {
        let output = sim_arm(&args);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {errors}");
        assert!(errors.contains(reason), "{args:?}: {errors}");
    }
    assert!(stdout(&sim_arm(&["urdf"])).contains("joint_6"));
    assert!(stdout(&sim_arm(&["rviz"])).contains("/catch_markers"));
}

#[test]
fn the_report_uses_the_words_of_the_options() {
    let output = sim_arm(&["evaluate", "--throws", "20", "--strategy", "best", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((&report["strategy"], &report["control"]), (&"best".into(), &"timed".into()));
    assert!(report["regions"].as_object().unwrap().keys().any(|name| name == "middle_side"), "{report}");
}

#[test]
fn readers_that_leave_and_full_disks_are_no_panic() {
    let commands: [&[&str]; 3] =
        [&["urdf"], &["evaluate", "--throws", "1"], &["evaluate", "--throws", "1", "--json"]];
    for args in commands {
        let run = |stdout: Stdio| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_sim-arm"));
            let output = command.args(args).stdout(stdout).stderr(Stdio::piped()).output().unwrap();
            (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
        };
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        assert_eq!(run(writer.into()), (Some(0), String::new()), "{args:?}");
        let (code, errors) = run(File::options().write(true).open("/dev/full").unwrap().into());
        assert!(
            code == Some(1) && errors.starts_with("error: cannot write to stdout: "),
            "{args:?}: {errors}"
        );
    }
}

#[test]
fn a_plot_that_cannot_be_written_is_said_before_the_work() {
    // Long enough to be noticed, had it been thrown.
    let output =
        sim_arm(&["evaluate", "--throws", "1000000", "--exhaustive", "--plot", "/nonexistent/x.svg"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write /nonexistent/x.svg"));
}
