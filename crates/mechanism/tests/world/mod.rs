//! Engine and model in virtual time: sensor samples at 30 Hz, engine deadlines exactly when due.

// Each test binary uses its own part of this.
#![allow(dead_code)]

use std::time::Duration;

use rosless_mechanism::{
    Engine, GoalId, Input, Outcome, Output, Profile, Settings, Time,
    doll::{self, Lift},
    engine::{Level, Which},
    model::{Fault, Model, Speeds},
    pedestal::Cylinders,
};

const SENSOR_PERIOD: Duration = Duration::from_millis(33);

pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) model: Model,
    pub(crate) now: Time,
    next_sample: Time,
    automatic: bool,
    pub(crate) outputs: Vec<(Time, Output)>,
}

impl World {
    pub(crate) fn new(settings: Settings, automatic: bool) -> Self {
        Self {
            engine: Engine::new(settings),
            model: Model::new(Speeds::default(), automatic, Time::ZERO),
            now: Time::ZERO,
            next_sample: Time::ZERO,
            automatic,
            outputs: Vec::new(),
        }
    }

    /// A world that has stood still long enough for the engine to know it.
    pub(crate) fn settled(profile: Profile, automatic: bool) -> Self {
        let mut world = Self::new(Settings::defaults(profile), automatic);
        world.run(1.5);
        world
    }

    /// Somebody opens and closes the clamp by hand, so that its sensors are seen to move.
    pub(crate) fn work_the_clamp(&mut self) {
        for open in [true, false] {
            self.model.command_pedestal([open, open, false, false], self.now);
            self.run(2.5);
        }
    }

    /// The mechanism restarts and is found as it first was, after `silence` seconds without a word from it.
    pub(crate) fn power_cycle(&mut self, silence: f64) {
        self.model = Model::new(Speeds::default(), self.automatic, self.now);
        self.model.add_fault(Fault::LostSensors(Which::Pedestal));
        self.model.add_fault(Fault::LostSensors(Which::Doll));
        if silence > 0.0 {
            self.run(silence);
        }
        // What was sent while nobody was there is lost.
        self.model = Model::new(Speeds::default(), self.automatic, self.now);
        self.sample();
    }

    /// The controller restarts and knows nothing of before; the mechanism stands where it stood.
    pub(crate) fn restart_controller(&mut self) {
        self.engine = Engine::new(self.engine.settings().clone());
        self.run(1.5);
        self.clear();
    }

    pub(crate) fn input(&mut self, input: Input) {
        self.engine.handle(input, self.now);
        self.drain();
    }

    pub(crate) fn phases(&mut self, pedestal: u8, doll: u8) {
        self.input(Input::MechaState { pedestal, doll, lantern: false });
    }

    pub(crate) fn goal(&mut self, which: Which, id: u8, command: u8) {
        self.input(Input::Goal { which, id: goal_id(id), command });
    }

    /// Asks for phases and runs until both mechanisms are idle.
    #[track_caller]
    pub(crate) fn play(&mut self, pedestal: u8, doll: u8) {
        self.phases(pedestal, doll);
        self.finish();
    }

    /// Asks for a goal and runs until both mechanisms are idle.
    #[track_caller]
    pub(crate) fn perform(&mut self, which: Which, id: u8, command: u8) {
        self.goal(which, id, command);
        self.finish();
    }

    pub(crate) fn set(&mut self, name: &str, value: f64) {
        let mut settings = self.engine.settings().clone();
        settings.set(name, value).expect("in range");
        self.engine.set_settings(settings);
    }

    /// The phases that pedestal and doll are in.
    pub(crate) fn reached(&self) -> (Option<u8>, Option<u8>) {
        let status = self.engine.status(self.now);
        (status.pedestal.reached, status.doll.reached)
    }

    fn drain(&mut self) {
        while let Some(output) = self.engine.poll_output() {
            match &output {
                Output::PedestalCommand(cylinders) => self.model.command_pedestal(*cylinders, self.now),
                Output::DollCommand(command) => self.model.command_doll(command, self.now),
                _ => {}
            }
            self.outputs.push((self.now, output));
        }
    }

    /// One event: the earlier of sensor sample and engine deadline.
    pub(crate) fn step(&mut self) {
        let deadline = self.engine.next_deadline(self.now);
        if let Some(deadline) = deadline.filter(|d| *d < self.next_sample) {
            self.now = self.now.max(deadline);
            self.model.advance(self.now);
            self.input(Input::Tick);
            return;
        }
        self.now = self.next_sample;
        self.next_sample += SENSOR_PERIOD;
        self.model.advance(self.now);
        self.sample();
    }

    fn sample(&mut self) {
        if let Some(sensors) = self.model.pedestal_sensors() {
            self.input(Input::PedestalSensors(Ok(sensors)));
        }
        if let Some(sensors) = self.model.doll_sensors() {
            self.input(Input::DollSensors(Ok(sensors)));
        }
    }

    pub(crate) fn run(&mut self, seconds: f64) {
        let end = self.now + Duration::from_secs_f64(seconds);
        while self.now < end {
            self.step();
        }
    }

    /// Runs until both mechanisms are idle.
    #[track_caller]
    pub(crate) fn finish(&mut self) {
        let end = self.now + Duration::from_secs(120);
        while self.engine.next_deadline(self.now).is_some() {
            assert!(self.now < end, "a sequence without an end: {:?}", self.engine.status(self.now));
            self.step();
        }
    }

    pub(crate) fn clear(&mut self) {
        self.outputs.clear();
    }

    /// Pedestal outputs as digits, repeats left out.
    pub(crate) fn pedestal_commands(&self) -> Vec<String> {
        let mut seen: Vec<String> = Vec::new();
        for (_, output) in &self.outputs {
            if let Output::PedestalCommand(c) = output {
                let text = digits(c);
                if seen.last() != Some(&text) {
                    seen.push(text);
                }
            }
        }
        seen
    }

    /// Doll outputs as tilt and lift, repeats left out.
    pub(crate) fn doll_commands(&self) -> Vec<(f64, Lift)> {
        let mut seen = Vec::new();
        for (_, output) in &self.outputs {
            if let Output::DollCommand(doll::Command { tilt, lift, .. }) = output
                && seen.last() != Some(&(*tilt, *lift))
            {
                seen.push((*tilt, *lift));
            }
        }
        seen
    }

    pub(crate) fn feedback(&self, id: u8) -> Vec<u8> {
        let of_goal = |output: &Output| match output {
            Output::GoalFeedback { id: got, code } if *got == goal_id(id) => Some(*code),
            _ => None,
        };
        self.outputs.iter().filter_map(|(_, o)| of_goal(o)).collect()
    }

    /// How a goal ended; `None` while it has not.
    pub(crate) fn ended(&self, id: u8) -> Option<(Outcome, String)> {
        let mut ends = self.outputs.iter().filter_map(|(_, output)| match output {
            Output::GoalEnded { id: got, outcome, reason } if *got == goal_id(id) => {
                Some((*outcome, reason.clone()))
            }
            _ => None,
        });
        let end = ends.next();
        assert_eq!(ends.next(), None, "goal {id} ended twice");
        end
    }

    /// A goal has ended like this, for a reason that contains these words.
    #[track_caller]
    pub(crate) fn assert_ended(&self, id: u8, outcome: Outcome, why: &str) {
        let (ended, reason) = self.ended(id).expect("it has ended");
        assert_eq!(ended, outcome, "{reason}");
        assert!(reason.contains(why), "{reason}");
    }

    pub(crate) fn reports(&self, at_least: Level) -> Vec<&str> {
        let text = |output| match output {
            &Output::Report { level, ref text, .. } if level >= at_least => Some(text.as_str()),
            _ => None,
        };
        self.outputs.iter().filter_map(|(_, o)| text(o)).collect()
    }
}

pub(crate) fn goal_id(id: u8) -> GoalId {
    [id; 16]
}

fn digits(cylinders: &Cylinders) -> String {
    cylinders.iter().map(|extended| if *extended { '1' } else { '0' }).collect()
}
