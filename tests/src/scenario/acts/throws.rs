//! Balls are thrown, the arm tries to catch them, verdicts are heard.

use std::time::{Duration, Instant};

use rosless_graph::{Publisher, TopicQos};
use rosless_wire::std_msgs::msg::{Float32, Float32MultiArray, String as Text};

use crate::scenario::{Heard, Observer, PATIENCE, Role};

/// From where (x, z, heading, elevation) and how fast.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Launch {
    pub place: [f32; 4],
    pub speed: f32,
}

impl Launch {
    /// One that the arm catches.
    pub const EASY: Self = Self { place: [0.0, -1.0, 0.0, 0.9], speed: 4.0 };
    /// Another one.
    pub const ASIDE: Self = Self { place: [0.2, -1.2, -0.15, 1.0], speed: 4.5 };
    /// One that flies past.
    pub const PAST: Self = Self { place: [2.0, -6.0, 1.0, 1.2], speed: 6.0 };
}

/// What became of a ball.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    pub caught: bool,
    /// As it was published, in JSON.
    pub text: String,
    /// From the trigger to the verdict.
    pub took: Duration,
}

/// Launcher, arm and judge.
#[derive(Debug)]
pub struct Range<'a> {
    observer: &'a Observer,
    aim: Publisher<Float32MultiArray>,
    trigger: Publisher<Float32>,
    launcher: Heard<Float32MultiArray>,
    pub balls: Heard<Float32MultiArray>,
    pub verdicts: Heard<Text>,
}

impl<'a> Range<'a> {
    pub fn new(observer: &'a Observer) -> Self {
        Self {
            observer,
            aim: observer.publisher("/shooter_state_input"),
            trigger: observer.publisher("/shoot_value"),
            launcher: observer.hear("/shooter_state".latched()),
            balls: observer.hear("/ball_initial_state"),
            verdicts: observer.hear("/catch_verdict"),
        }
    }

    /// Waits for launcher and judges, throws one ball and waits for its verdict.
    #[track_caller]
    pub fn throw(&self, launch: Launch) -> Verdict {
        let ready = || {
            let listens = self.aim.matched() > 0 && self.trigger.matched() > 0;
            listens && self.balls.publishers() > 0 && self.verdicts.publishers() >= Role::Arm.nodes().len()
        };
        self.observer.wait("launcher and judges", PATIENCE, ready);
        let balls = self.balls.len();
        let verdict = self.try_throw(launch, PATIENCE).unwrap_or_else(|reason| panic!("{reason}"));
        // A verdict on a hopeless throw may be here first.
        self.observer.wait("the ball", PATIENCE, || self.balls.len() > balls);
        assert_eq!(self.balls.len(), balls + 1, "one throw, one ball");
        verdict
    }

    /// Throws one ball, whoever is there, and waits for its verdict.
    ///
    /// # Errors
    /// When the launcher does not move or there is no verdict within `patience`.
    pub fn try_throw(&self, launch: Launch, patience: Duration) -> Result<Verdict, String> {
        let until = |what: &str, condition: &dyn Fn() -> bool| {
            let held = self.observer.event_loop.run_until(&mut (), patience, |()| condition());
            held.expect("the event loop runs").then_some(()).ok_or_else(|| format!("{what}: not seen"))
        };
        let place = launch.place.to_vec();
        self.launcher.clear();
        self.aim.publish(&Float32MultiArray { data: place.clone(), ..Default::default() });
        until("the launcher in its place", &|| {
            self.launcher.samples().last().is_some_and(|s| s.message.data == place)
        })?;
        let (verdicts, began) = (self.verdicts.len(), Instant::now());
        self.trigger.publish(&Float32 { data: launch.speed });
        until("a verdict", &|| self.verdicts.len() > verdicts)?;
        let text = self.verdicts.samples()[verdicts].message.data.clone();
        Ok(Verdict { caught: text.contains("\"caught\":true"), text, took: began.elapsed() })
    }
}
