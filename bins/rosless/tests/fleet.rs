//! Child processes: the demo, and what `up` keeps running. Nothing may be left behind.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::mpsc::channel,
    time::{Duration, Instant},
};

use rosless_graph::supervision::{Ear, Word};
use rosless_tests::{Daemon, DomainLease, Scratch, assert_documented, eventually, sibling_binary};

/// Enough to build the daemons first, where nobody has.
const DEMO: Duration = Duration::from_secs(900);
const SOON: Duration = Duration::from_secs(20);

fn rosless(arguments: &[&str], domain: Option<&DomainLease>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rosless"));
    command.args(arguments).env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST");
    if let Some(domain) = domain {
        command.env("ROS_DOMAIN_ID", domain.id().to_string());
    }
    command
}

fn children(pid: u32) -> Vec<u32> {
    // A thread's own children are listed under it; all of ours are started by the first.
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name in parentheses may contain anything.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// One that has begun, and leaves its takes here.
fn demo(folder: &Scratch) -> Daemon {
    let mut demo = rosless(&["demo"], None);
    demo.env("TMPDIR", &**folder);
    let demo = Daemon::spawn(demo);
    demo.wait_for_line("everybody found", DEMO);
    demo
}

#[test]
fn the_demo_sees_what_it_claims_and_leaves_nothing_behind() {
    let folder = Scratch::make();
    let mut demo = demo(&folder);
    let daemons = children(demo.pid());
    assert_eq!(daemons.len(), 9, "{}", demo.output());
    let status = demo.wait(DEMO);
    assert!(status.success(), "{status}\n{}", demo.output());
    for part in ["discovery", "systems", "data", "throws", "motion", "mechanism", "session end", "recording"]
    {
        let claim = format!("| {part} ");
        assert!(demo.output().contains(&claim), "no {claim:?} in\n{}", demo.output());
    }
    assert!(daemons.iter().all(|pid| !is_running(*pid)), "a daemon is left");
}

#[test]
fn the_demo_cleans_up_after_ctrl_c_and_after_a_death() {
    for signal in ["INT", "KILL"] {
        let folder = Scratch::make();
        let mut demo = demo(&folder);
        let daemons = children(demo.pid());
        let code = match signal {
            "INT" => {
                demo.signal("INT");
                130
            }
            _ => {
                let killed = Command::new("kill").args(["-KILL", &daemons[3].to_string()]).status().unwrap();
                assert!(killed.success());
                1
            }
        };
        assert_eq!(demo.wait(SOON).code(), Some(code), "{}", demo.output());
        assert!(daemons.iter().all(|pid| !is_running(*pid)), "a daemon is left after SIG{signal}");
        assert_eq!(signal == "KILL", demo.output().contains("arm died"), "{}", demo.output());
    }
}

#[test]
fn nothing_is_left_behind_even_when_the_parent_is_killed() {
    let folder = Scratch::make();
    let mut demo = demo(&folder);
    let daemons = children(demo.pid());
    assert_eq!(daemons.len(), 9, "{}", demo.output());
    demo.signal("KILL");
    demo.wait(SOON);
    eventually("all daemons end", SOON, || daemons.iter().all(|pid| !is_running(*pid)));
}

#[test]
fn up_goes_on_when_nothing_can_be_printed() {
    let domain = DomainLease::acquire();
    let folder = Scratch::make();
    let path = config(&folder);
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$0\" up --config \"$1\" >/dev/full 2>/dev/full"]);
    command.arg(env!("CARGO_BIN_EXE_rosless")).arg(&path).env("ROS_DOMAIN_ID", domain.id().to_string());
    let mut up = Daemon::spawn(command);
    let lives = folder.join("lives");
    let count = || fs::read_to_string(&lives).unwrap_or_default().lines().count();
    eventually("the failing one is started again", SOON, || count() >= 3);
    let down = rosless(&["down"], Some(&domain)).output().unwrap();
    assert!(down.status.success(), "{down:?}");
    assert!(up.wait(SOON).success());
}

/// A file of daemons that are no daemons.
fn config(folder: &Scratch) -> PathBuf {
    let lives = folder.join("lives");
    let text = format!(
        "daemons:
  - {{name: sleeper, run: sleep, args: ['1000']}}
  - {{name: failing, run: /bin/sh, args: [-c, 'echo born >> {}; echo I cannot; exit 3']}}
",
        lives.display()
    );
    folder.file("fleet.yaml", &text)
}

#[test]
fn up_restarts_what_dies_and_down_ends_it_all() {
    let domain = DomainLease::acquire();
    let folder = Scratch::make();
    let path = config(&folder);
    let arguments = ["up", "--config", path.to_str().unwrap()];
    let mut up = Daemon::spawn(rosless(&arguments, Some(&domain)));
    up.wait_for_line("failing | I cannot", SOON);
    up.wait_for_line("failing ended (exit status: 3); starting it again in 0.5 s", SOON);
    up.wait_for_line("starting it again in 1.0 s", SOON);
    let sleeper = children(up.pid()).into_iter().find(|pid| {
        fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default().contains("/sleep")
    });
    let sleeper = sleeper.expect("the sleeper runs");
    let run = |arguments: &[&str]| -> Output { rosless(arguments, Some(&domain)).output().unwrap() };
    let second = run(&arguments);
    assert_eq!(second.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&second.stderr).contains("up already"));
    let down = run(&["down"]);
    assert!(down.status.success(), "{down:?}");
    assert!(up.wait(SOON).success(), "{}", up.output());
    eventually("the sleeper ends", SOON, || !is_running(sleeper));
    assert_eq!(run(&["down"]).status.code(), Some(3), "nothing is up any more");
    assert_eq!(run(&["status"]).status.code(), Some(3));
    let unknown = run(&["up", "--only", "nobody"]);
    assert_eq!(unknown.status.code(), Some(2));
}

#[test]
fn up_starts_in_order_each_in_its_place_keeps_what_they_say_and_tells_how_they_are() {
    let domain = DomainLease::acquire();
    let system = sibling_binary(env!("CARGO_BIN_EXE_rosless"), "mocap-system");
    let folder = Scratch::make();
    let path = folder.join("fleet.yaml");
    let text = format!(
        "logs: {{folder: {logs}, megabytes: 1, files: 2}}
daemons:
  - {{name: third, run: sleep, args: ['1000'], wait_for: [/left/imu], watchdog: 0}}
  - {{name: second, run: /bin/sh, args: [-c, 'echo here; exec sleep 1000'], after: [first], watchdog: 0}}
  - {{name: first, run: {system}, args: [--kind, imu], namespace: /left, params_file: imu.yaml, nodes: [/imu]}}
  - {{name: once, run: /bin/sh, args: [-c, 'echo A is $A'], restart: never, environment: {{A: seen}}}}
",
        logs = folder.join("logs").display(),
        system = system.display()
    );
    fs::write(&path, &text).unwrap();
    let run = |arguments: &[&str]| -> Output { rosless(arguments, Some(&domain)).output().unwrap() };
    let arguments = ["up", "--config", path.to_str().unwrap()];
    let wrong = run(&arguments);
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert_eq!(wrong.status.code(), Some(2), "{said}");
    assert!(said.contains("fleet.yaml: 'first' at line 5: there is no params_file"), "{said}");
    fs::write(folder.join("imu.yaml"), "/**:\n  ros__parameters: {rate: 5.0}\n").unwrap();
    // The node has a name of its own, which the file knows.
    fs::write(&path, text.replace("[--kind, imu]", "[--kind, imu, --name, imu]")).unwrap();
    let mut up = Daemon::spawn(rosless(&arguments, Some(&domain)));
    up.wait_for_line("second waits for first", SOON);
    up.wait_for_line("third waits for node /left/imu", SOON);
    up.wait_for_line("once ended (exit status: 0); it is not started again", SOON);
    up.wait_for_line("second | here", SOON);
    let status = || -> serde_json::Value {
        let status = run(&["status", "--json"]);
        serde_json::from_slice(&status.stdout).unwrap_or_else(|error| panic!("{error}: {status:?}"))
    };
    let states = || -> Vec<String> {
        let daemons = status()["daemons"].as_array().unwrap().clone();
        daemons.iter().map(|daemon| daemon["state"].as_str().unwrap().to_owned()).collect()
    };
    eventually("all are where they should be", SOON, || {
        states() == ["running", "running", "running", "ended"]
    });
    assert_documented("rosless status", &status());
    let shown = run(&["status"]);
    assert!(shown.status.success(), "who ended well is no failure: {shown:?}");
    let logs = run(&["logs", "once"]);
    assert_eq!(String::from_utf8_lossy(&logs.stdout), "once | A is seen\n");
    assert_eq!(run(&["logs", "nobody"]).status.code(), Some(3));
    let silent = run(&["logs", "third"]);
    assert!(silent.status.success() && silent.stdout.is_empty(), "it runs and says nothing: {silent:?}");
    assert!(run(&["down"]).status.success());
    assert!(up.wait(SOON).success(), "{}", up.output());
}

#[test]
fn up_ends_when_all_have_ended_for_good_and_says_who_failed() {
    let domain = DomainLease::acquire();
    let folder = Scratch::make();
    let path = folder.join("ends.yaml");
    let up = |text: &str| -> Output {
        fs::write(&path, text).unwrap();
        let mut up = rosless(&["up", "--config", path.to_str().unwrap()], Some(&domain));
        let up = up.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (pid, (sender, receiver)) = (up.id(), channel());
        std::thread::spawn(move || sender.send(up.wait_with_output()));
        receiver.recv_timeout(SOON).unwrap_or_else(|_| panic!("process {pid} does not end")).unwrap()
    };
    let well = up("daemons:\n  - {name: once, run: 'true', restart: never}\n");
    assert!(well.status.success(), "{well:?}");
    let badly = up("daemons:
  - {name: once, run: 'true', restart: on-failure}
  - {name: twice, run: 'false', restart: never}
");
    assert_eq!(badly.status.code(), Some(1), "{badly:?}");
    assert!(String::from_utf8_lossy(&badly.stderr).contains("ended in failure: twice"), "{badly:?}");
}

/// Anybody may put something where temporary files are.
#[test]
fn what_others_put_where_up_keeps_its_files_is_not_believed() {
    let domain = DomainLease::acquire();
    let folder = Scratch::make();
    let lock = folder.join(format!("rosless-up-{}.pid", domain.id()));
    let report = lock.with_extension("json");
    let sleeper = folder.file("fleet.yaml", "daemons: [{name: sleeper, run: sleep, args: ['1000']}]");
    let (up, status, down) =
        (&["up", "--config", sleeper.to_str().unwrap()][..], &["status"][..], &["down"][..]);
    let refused = |command: &[&str], reason: &str| {
        let mut command = rosless(command, Some(&domain));
        command.env("XDG_RUNTIME_DIR", &*folder);
        let mut command = Daemon::spawn(command);
        assert_eq!(command.wait(SOON).code(), Some(1), "{}", command.output());
        command.wait_for_line(reason, SOON);
    };
    let pipe = |path: &Path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    fs::write(&lock, std::process::id().to_string()).unwrap();
    let held = File::open(&lock).unwrap();
    held.lock().unwrap();
    pipe(&report);
    refused(status, "no ordinary file");
    fs::remove_file(&lock).unwrap();
    pipe(&lock);
    for command in [status, down, up] {
        refused(command, "no ordinary file");
    }
    // A link to what somebody else wants to be written over.
    fs::remove_file(&lock).unwrap();
    let precious = folder.file("precious", "text");
    std::os::unix::fs::symlink(&precious, &lock).unwrap();
    refused(up, "symbolic link");
    assert_eq!(fs::read_to_string(&precious).unwrap(), "text");
    fs::remove_file(&lock).unwrap();
    // Who names a process of ours wants it ended. Only root can make a file somebody else's.
    fs::write(&lock, std::process::id().to_string()).unwrap();
    if std::os::unix::fs::chown(&lock, Some(65534), Some(65534)).is_ok() {
        let mut sleep = Command::new("sleep");
        sleep.arg("1000");
        let mut sleeper = Daemon::spawn(sleep);
        fs::write(&lock, sleeper.pid().to_string()).unwrap();
        let held = File::open(&lock).unwrap();
        held.lock().unwrap();
        refused(down, "belongs to user 65534");
        assert!(sleeper.try_wait().is_none(), "it was ended for a stranger");
    }
}

/// Who is refused has not begun: neither people nor scripts may take it for running.
#[test]
fn a_daemon_that_refuses_its_parameters_says_nothing_else() {
    let domain = DomainLease::acquire();
    for (program, arguments) in [
        ("mocap-controller", &["run"][..]),
        ("mocap-system", &["--kind", "dummy"]),
        ("mocap-companion", &["visualise"]),
        ("sim-arm", &["run"]),
        ("shooter", &["run"]),
        ("primitive-queue", &["run"]),
        ("mechanism-controller", &["run"]),
        ("dummy-mechanism", &["run", "--auto"]),
        ("session-recorder", &["--dir", "/nowhere"]),
    ] {
        let program = sibling_binary(env!("CARGO_BIN_EXE_rosless"), program);
        let mut command = Command::new(program);
        command.args(arguments).args(["--strict-params", "--ros-args", "-p", "nonsense:=1"]);
        let environment =
            [("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST"), ("ROS_DOMAIN_ID", &domain.id().to_string())];
        let refused = command.envs(environment).output().unwrap();
        let said = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(refused.stdout.is_empty() && said.lines().count() == 1, "{arguments:?}: {said}");
        assert!(said.starts_with("error: parameter 'nonsense' was given, but /"), "{said}");
    }
}

#[test]
fn up_kills_and_restarts_what_runs_but_shows_no_sign_of_life() {
    let domain = DomainLease::acquire();
    let system = sibling_binary(env!("CARGO_BIN_EXE_rosless"), "mocap-system");
    let folder = Scratch::make();
    let path = folder.join("hung.yaml");
    let text = format!(
        "daemons:
  - {{name: mocap, run: {}, watchdog: 2}}
  - {{name: silent, run: sleep, args: ['1000'], watchdog: 1}}
",
        system.display()
    );
    fs::write(&path, text).unwrap();
    // It has a supervisor of its own, which its children have nothing to do with.
    let ear = Ear::new(Duration::from_secs(1)).unwrap();
    let mut command = rosless(&["up", "--config", path.to_str().unwrap()], Some(&domain));
    command.envs(ear.environment());
    let mut up = Daemon::spawn(command);
    up.wait_for_line("mocap | ", SOON);
    let command = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mocap = children(up.pid()).into_iter().find(|pid| command(pid).contains("mocap-system"));
    let mocap = mocap.expect("it runs");
    // Signs of life go on for longer than silence is borne.
    let count = |up: &Daemon| up.filter_map(|line| line.contains("no sign of life").then_some(())).len();
    let calm_until = Instant::now() + Duration::from_secs(6);
    eventually("time passes", SOON, || Instant::now() > calm_until);
    assert_eq!(count(&up), 0, "{}", up.output());
    assert!(Command::new("kill").args(["-STOP", &mocap.to_string()]).status().unwrap().success());
    up.wait_for_line("mocap runs but shows no sign of life", SOON);
    eventually("the hung one is gone", SOON, || !is_running(mocap));
    eventually("another one runs", SOON, || {
        children(up.pid()).iter().any(|pid| command(pid).contains("mocap-system"))
    });
    assert_eq!(count(&up), 1, "who never spoke is left alone: {}", up.output());
    let heard = ear.listen();
    assert_eq!(heard[..2], [Word::Ready, Word::Alive], "{heard:?}");
    up.signal("INT");
    assert!(up.wait(SOON).success(), "{}", up.output());
    assert_eq!(ear.listen().last(), Some(&Word::Stopping));
}

#[test]
fn up_kills_and_restarts_what_runs_but_is_not_on_the_graph() {
    let domain = DomainLease::acquire();
    let system = sibling_binary(env!("CARGO_BIN_EXE_rosless"), "mocap-system");
    let folder = Scratch::make();
    let path = folder.join("gone.yaml");
    // One that stays, one whose node leaves while the process goes on, one that never joins.
    let text = format!(
        r#"daemons:
  - {{name: imu, run: {system}, args: [--kind, imu], nodes: [/controlled_device_example]}}
  - name: leaving
    run: /bin/sh
    args: [-c, 'unset NOTIFY_SOCKET; timeout -s INT 8 "$0" & p=$!; trap "kill $p; exit" INT TERM; wait $p; exec sleep 1000', {system}]
    nodes: [/mocap4r2_dummy_driver_node]
    watchdog: 1
  - {{name: absent, run: sleep, args: ['1000'], nodes: [/nobody], watchdog: 1}}
"#,
        system = system.display()
    );
    fs::write(&path, text).unwrap();
    let mut up = Daemon::spawn(rosless(&["up", "--config", path.to_str().unwrap()], Some(&domain)));
    let patience = 4 * SOON;
    up.wait_for_line(
        "leaving runs but its node /mocap4r2_dummy_driver_node is gone from the graph, and was killed; starting it again",
        patience,
    );
    up.wait_for_line("absent runs but its node /nobody has not come to the graph for 3", patience);
    assert!(!up.output().contains("imu runs but"), "{}", up.output());
    up.signal("INT");
    assert!(up.wait(SOON).success(), "{}", up.output());
}

#[test]
fn an_installed_program_does_not_build_but_says_what_is_missing() {
    let domain = DomainLease::acquire();
    // Not cargo's folder, whatever its name.
    let scratch = Scratch::make();
    let folder = scratch.join("release");
    fs::create_dir_all(&folder).unwrap();
    let installed = folder.join("rosless");
    fs::copy(env!("CARGO_BIN_EXE_rosless"), &installed).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&installed);
        command.args(arguments).env("ROS_DOMAIN_ID", domain.id().to_string());
        command.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap()
    };
    let up = run(&["up", "--only", "arm"]);
    let said = String::from_utf8(up.stderr).unwrap();
    assert_eq!(up.status.code(), Some(1), "{said}");
    assert!(said.contains("sim-arm not found beside") && !said.contains("building"), "{said}");
    let config = folder.join("fleet.yaml");
    fs::write(&config, "daemons: [{name: x, run: no-such-program}]").unwrap();
    let up = run(&["up", "--config", config.to_str().unwrap()]);
    let said = String::from_utf8(up.stderr).unwrap();
    assert_eq!(up.status.code(), Some(1), "{said}");
    assert!(said.contains("no-such-program not found: neither beside"), "{said}");
}
