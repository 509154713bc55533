//! All daemons under load for a while: nothing that they take from the machine may grow.
//!
//! Two minutes by default, `ROSLESS_SOAK_MINUTES=600` for a night. The plot is in `target/soak/`.

use std::{
    fs,
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use rosless_tests::{
    Daemon,
    scenario::{
        Observer, PATIENCE, Report, Role, System,
        acts::{Capture, Launch, Mechanism, Range, Robot},
    },
    soak::{Recording, plot},
};

/// Who works with the daemons leaves after this long and comes back as a new participant.
const STAY: Duration = Duration::from_secs(20);
/// A night's plot does not need more.
const MOST_SAMPLES: u32 = 3600;

fn minutes() -> f64 {
    match std::env::var("ROSLESS_SOAK_MINUTES") {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("ROSLESS_SOAK_MINUTES={text} is no number")),
        Err(_) => 2.0,
    }
}

/// How often each kind of work was done.
#[derive(Default)]
struct Done {
    sessions: AtomicU32,
    throws: AtomicU32,
    sequences: AtomicU32,
    cycles: AtomicU32,
    commands: AtomicU32,
    guests: AtomicU32,
    killed_guests: AtomicU32,
}

fn count(counter: &AtomicU32) -> u32 {
    counter.fetch_add(1, Ordering::Relaxed)
}

/// The people and programs that keep the daemons busy.
struct Load<'a> {
    system: &'a System,
    deadline: Instant,
    /// Set when one of them panics: there is nothing left to wait for.
    failed: AtomicBool,
    done: Done,
}

impl Load<'_> {
    fn goes_on(&self) -> bool {
        Instant::now() < self.deadline && !self.failed.load(Ordering::Relaxed)
    }

    /// Runs `act` again and again, with a new participant every [`STAY`].
    fn repeat(&self, act: impl Fn(&Observer, &dyn Fn() -> bool)) {
        while self.goes_on() {
            let leave = Instant::now() + STAY;
            let observer = self.system.observer();
            act(&observer, &|| Instant::now() < leave && self.goes_on());
        }
    }

    fn sessions(&self) {
        self.repeat(|observer, goes_on| {
            let capture = Capture::listen(observer);
            observer.wait("both systems are announced", PATIENCE, || capture.announced().len() == 2);
            while goes_on() {
                capture.start();
                capture.wait_for_data(30);
                capture.stop();
                count(&self.done.sessions);
            }
        });
    }

    fn throws(&self) {
        self.repeat(|observer, goes_on| {
            let range = Range::new(observer);
            while goes_on() {
                range.throw(if count(&self.done.throws).is_multiple_of(2) {
                    Launch::EASY
                } else {
                    Launch::ASIDE
                });
            }
        });
    }

    fn sequences(&self) {
        self.repeat(|observer, goes_on| {
            let robot = Robot::new(observer);
            while goes_on() {
                robot.square();
                count(&self.done.sequences);
            }
        });
    }

    fn cycles(&self) {
        self.repeat(|observer, goes_on| {
            let mechanism = Mechanism::new(observer);
            while goes_on() {
                mechanism.cycle();
                mechanism.phase(Mechanism::STOW);
                count(&self.done.cycles);
            }
        });
    }

    /// People who look at the graph with `rosless`.
    fn commands(&self) {
        const ASKED: [&[&str]; 5] = [
            &["node", "list"],
            &["topic", "echo", "/joint_states", "--once"],
            &["node", "info", "/arm_controller"],
            &["param", "list", "/sequence_controller"],
            &["service", "list"],
        ];
        while self.goes_on() {
            let arguments = ASKED[count(&self.done.commands) as usize % ASKED.len()];
            let mut command = self.system.command(Role::Controller, "rosless");
            command.args(arguments);
            let mut daemon = Daemon::spawn(command);
            let status = daemon.wait(PATIENCE);
            assert!(status.success(), "rosless {arguments:?}: {status}:\n{}", daemon.output());
        }
    }

    /// Systems that come and go, every fifth one without a word.
    fn guests(&self) {
        while self.goes_on() {
            let name = format!("guest_{}", count(&self.done.guests));
            // Of another dialect than the controller's, which would have to wait for a system that died.
            let arguments = ["--kind", "auxiliary", "--dialect", "mocap4r2", "--name", &name];
            let observer = self.system.observer();
            let mut command = self.system.command(Role::Mocap, Role::Mocap.program());
            command.args(arguments);
            let mut guest = Daemon::spawn(command);
            let full_name = format!("/{name}");
            observer.wait(&name, PATIENCE, || observer.context.graph().has_node(&full_name));
            observer.linger(Duration::from_secs(1));
            if !self.done.guests.load(Ordering::Relaxed).is_multiple_of(5) {
                guest.signal("INT");
                assert!(guest.wait(PATIENCE).success(), "{name} did not leave well:\n{}", guest.output());
                observer.wait(&format!("{name} is gone"), PATIENCE, || {
                    !observer.context.graph().has_node(&full_name)
                });
            } else {
                guest.signal("KILL");
                count(&self.done.killed_guests);
            }
        }
    }
}

/// Ends the others' work when one of them panics.
struct Alarm<'a>(&'a AtomicBool);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

#[test]
fn nothing_grows_under_load() {
    let length = Duration::from_secs_f64(minutes() * 60.0);
    let period = (length / MOST_SAMPLES).max(Duration::from_secs(1));
    let mut system = System::start();
    system.observer().wait_for_nodes(&Role::ALL);
    let mut recordings: Vec<_> = system
        .daemons()
        .map(|(role, daemon)| {
            let kind = if let Role::Mocap = role {
                " dummy"
            } else if let Role::Imu = role {
                " imu"
            } else {
                ""
            };
            (daemon.pid(), Recording::new(format!("{}{kind}", role.program())))
        })
        .collect();

    let begin = Instant::now();
    let load = Load {
        system: &system,
        deadline: begin + length,
        failed: AtomicBool::new(false),
        done: Done::default(),
    };
    thread::scope(|scope| {
        let work: [Box<dyn FnOnce() + Send>; 6] = [
            Box::new(|| load.sessions()),
            Box::new(|| load.throws()),
            Box::new(|| load.sequences()),
            Box::new(|| load.cycles()),
            Box::new(|| load.commands()),
            Box::new(|| load.guests()),
        ];
        for work in work {
            let failed = &load.failed;
            scope.spawn(move || {
                let _alarm = Alarm(failed);
                work();
            });
        }
        let mut next = begin;
        while load.goes_on() {
            for (pid, recording) in &mut recordings {
                if let Err(error) = recording.sample(*pid, begin.elapsed()) {
                    load.failed.store(true, Ordering::Relaxed);
                    panic!("{}: {error}", recording.name);
                }
            }
            next += period;
            thread::sleep(next.saturating_duration_since(Instant::now()));
        }
    });
    let done = load.done;
    system.assert_all_run();
    let recordings: Vec<_> = recordings.into_iter().map(|(_, recording)| recording).collect();
    show(&recordings, &done, length);
    let judged: Result<Vec<_>, _> = recordings.iter().map(Recording::growth).collect();
    let grown: Vec<String> = judged.unwrap().iter().flatten().map(ToString::to_string).collect();
    assert!(grown.is_empty(), "growth beyond noise:\n{}", grown.join("\n"));
    system.end();
}

/// Writes plot and table.
fn show(recordings: &[Recording], done: &Done, length: Duration) {
    let mut report = Report::new("soak");
    report.row("minutes", format!("{:.1}", length.as_secs_f64() / 60.0));
    for (what, counter) in [
        ("sessions started and stopped", &done.sessions),
        ("throws judged", &done.throws),
        ("primitive sequences", &done.sequences),
        ("mechanism cycles", &done.cycles),
        ("rosless commands", &done.commands),
        ("systems that came and went", &done.guests),
        ("of these killed", &done.killed_guests),
    ] {
        let times = counter.load(Ordering::Relaxed);
        report.row(what, times.to_string());
        assert!(times > 0, "{what}: never, so nothing was tried");
    }
    let title = format!("All daemons under load, {:.0} minutes", length.as_secs_f64() / 60.0);
    let program = std::env::current_exe().expect("a test knows its file");
    let folder = program.ancestors().nth(3).expect("tests lie in target/<profile>/deps").join("soak");
    let file = folder.join("soak.svg");
    fs::create_dir_all(&folder)
        .and_then(|()| fs::write(&file, plot(&title, recordings)))
        .expect("target is writable");
    report.row("plot", file.display().to_string());
}
