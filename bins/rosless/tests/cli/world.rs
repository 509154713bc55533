//! A graph to look at, and the command under test.

use std::{
    process::{Command, Output},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use rosless_graph::{
    Context, ContextOptions, EventLoop, Publisher, TopicQos,
    action::{CancelResponse, GoalHandle, GoalResponse},
    lifecycle::CallbackReturn,
    parameters::Descriptor,
};
use rosless_tests::{Daemon, DomainLease};
use rosless_wire::{
    example_interfaces::{
        action::{Fibonacci, FibonacciFeedback, FibonacciResult},
        srv::{AddTwoInts, AddTwoIntsResponse},
    },
    std_msgs::msg,
};

pub(crate) const SOON: Duration = Duration::from_secs(20);

/// The nodes `/talker` and `/lc_talker` in a domain of their own, until dropped.
pub(crate) struct World {
    domain: DomainLease,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl World {
    pub(crate) fn new() -> Self {
        let domain = DomainLease::acquire();
        let stop = Arc::new(AtomicBool::new(false));
        let (id, stopped) = (domain.id(), stop.clone());
        let thread = thread::spawn(move || live(id, &stopped));
        Self { domain, stop, thread: Some(thread) }
    }

    pub(crate) fn domain(&self) -> u16 {
        self.domain.id()
    }

    /// Runs `rosless` with these arguments to its end.
    pub(crate) fn rosless(&self, arguments: &[&str]) -> Ran {
        let output = self.command(arguments).output().expect("rosless can be started");
        Ran::new(arguments, output)
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.command_of(env!("CARGO_BIN_EXE_rosless"), arguments)
    }

    /// Another program, in the same domain.
    pub(crate) fn command_of(&self, program: &str, arguments: &[&str]) -> Command {
        self.domain.command(program, arguments)
    }

    /// Publishes over and over with `rosless topic pub` until dropped; returns when it has begun.
    pub(crate) fn publish(&self, arguments: &[&str]) -> Daemon {
        let all = [&["topic", "pub", "-r", "20", "-w", "0"], arguments].concat();
        let publisher = Daemon::spawn(self.command(&all));
        publisher.wait_for_line("publisher: beginning loop", SOON);
        publisher
    }

    /// Runs commands side by side and checks the output and exit code of each.
    pub(crate) fn expect(&self, table: &[(&[&str], &str)]) {
        self.side_by_side(table, |run, expected| {
            assert_eq!(run.stdout, expected, "{run:?}");
            assert_eq!(run.code, 0, "{run:?}");
        });
    }

    /// Runs commands side by side; each must fail with this exit code and say this.
    pub(crate) fn expect_failures(&self, code: i32, table: &[(&[&str], &str)]) {
        self.side_by_side(table, |run, expected| {
            assert_eq!(run.code, code, "{run:?}");
            assert!(run.stderr.contains(expected), "{run:?} does not say {expected:?}");
        });
    }

    fn side_by_side(&self, table: &[(&[&str], &str)], check: impl Fn(&Ran, &str)) {
        thread::scope(|scope| {
            let runs: Vec<_> = table
                .iter()
                .map(|(arguments, expected)| (scope.spawn(|| self.rosless(arguments)), *expected))
                .collect();
            for (run, expected) in runs {
                check(&run.join().expect("the command ran"), expected);
            }
        });
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join)
            && !thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ran {
    #[expect(dead_code, reason = "shown when an assertion fails")]
    arguments: String,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: i32,
}

impl Ran {
    fn new(arguments: &[&str], output: Output) -> Self {
        Self {
            arguments: arguments.join(" "),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
            code: output.status.code().unwrap_or(-1),
        }
    }
}

/// The `qos_overrides` of `/talker`, as `param dump` shows them.
pub(crate) fn talkers_qos() -> String {
    let topics = [
        ("chatter", "publisher", 7, "volatile"),
        ("heard", "publisher", 1, "transient_local"),
        ("listen", "subscription", 10, "volatile"),
        ("map", "publisher", 1, "transient_local"),
        ("parameter_events", "publisher", 1000, "volatile"),
    ];
    let topic = |(topic, side, depth, durability): (&str, &str, u32, &str)| {
        format!(
            "      /{topic}:\n        {side}:\n          depth: {depth}\n          durability: {durability}\n          \
             history: keep_last\n          reliability: reliable\n"
        )
    };
    format!("    qos_overrides:\n{}", topics.map(topic).concat())
}

struct App {
    count: u32,
    chatter: Publisher<msg::String>,
}

fn live(domain: u16, stop: &AtomicBool) {
    let context = Context::new(ContextOptions::for_domain(domain)).unwrap();
    let talker = context.node("talker").unwrap();
    let managed = context.node("lc_talker").unwrap();
    let events = EventLoop::new(&context).unwrap();
    let mut app = App { count: 0, chatter: talker.publisher("chatter".keep_last(7)).unwrap() };
    let map = talker.publisher::<msg::Int32MultiArray>("map".latched()).unwrap();
    map.publish(&msg::Int32MultiArray { data: (0..200).collect(), ..Default::default() });
    events.timer(Duration::from_millis(100), |app: &mut App| {
        app.count += 1;
        app.chatter.publish(&msg::String { data: format!("Hello World: {}", app.count) });
    });
    let heard = talker.publisher::<msg::String>("heard".latched()).unwrap();
    events
        .subscribe::<msg::String>(&talker, "listen", move |_, sample| {
            heard.publish(&sample.message);
        })
        .unwrap();
    events
        .serve::<AddTwoInts>(&talker, "add_two_ints", |_, request, responder| {
            responder.reply(&AddTwoIntsResponse { sum: request.a + request.b });
        })
        .unwrap();
    let rate = Descriptor::new("rate").description("Messages per second").integer_range(1, 100, 1);
    talker.declare_parameter(rate, 10_i64).unwrap();
    talker.declare_parameter("gains.p", 0.5).unwrap();
    talker.declare_parameter("numbers", vec![1_i64, 2, 3]).unwrap();
    talker.declare_parameter("words", vec!["a".to_owned()]).unwrap();
    events.lifecycle(&managed, |_, _| CallbackReturn::Success).unwrap();
    events
        .action_server::<Fibonacci>(
            &talker,
            "fibonacci",
            |_, _, goal| if goal.order < 0 { GoalResponse::Reject } else { GoalResponse::Execute },
            |_, goal: GoalHandle<Fibonacci>| {
                let sequence = vec![0, 1, 1];
                goal.publish_feedback(FibonacciFeedback { sequence: sequence.clone() });
                goal.succeed(FibonacciResult { sequence }).unwrap();
            },
            |_, _| CancelResponse::Reject,
        )
        .unwrap();
    while !stop.load(Ordering::Relaxed) {
        events.run_for(&mut app, Duration::from_millis(20)).unwrap();
    }
}
