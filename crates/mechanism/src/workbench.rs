//! The debug controller as something that stays open: one actuator at a time of each mechanism, what was told and what is
//! sensed side by side, with or without a sequence controller. No I/O, no clock.
//!
//! The driver feeds sensors, commands of others and the controller's status, keeps a publisher for each mechanism only as
//! long as [`Workbench::wants_publisher`] says so (a second publisher of the outputs ends what the controller runs), and
//! does what [`Workbench::poll_output`] says.

use std::collections::VecDeque;

use serde::Serialize;

use crate::{
    Profile, Settings, Status, Time, doll,
    engine::Which,
    pedestal::{self, Cylinders},
    profile::BadSample,
    single::{Actuator, Bench, Move, Outputs, Refusal, Wish},
    sources::{Arrival, Source, Sources},
    status,
};

/// How long a move may wait for its beginning, and then for its end.
const PATIENCE: Time = Time::from_secs(5);
/// What was told longer ago and is not where the sensors are, is not what holds the actuators there.
const UNDER_WAY: Time = Time::from_secs(5);
/// A controller that has said nothing for this long is gone.
const CONTROLLER_GONE: Time = Time::from_secs(3);
/// How long the last word may take to arrive before its publisher goes.
const LINGER: Time = Time::from_millis(300);

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Publish this.
    Send(Outputs),
    /// The move with this number is over: arrived, or why not.
    Ended(u64, Result<(), String>),
}

#[derive(Debug)]
struct Job {
    id: u64,
    actuator: Actuator,
    began: Time,
    moved: Option<(Move, Time)>,
}

/// One of the two mechanisms.
#[derive(Debug, Default)]
struct Side {
    job: Option<Job>,
    /// When a sample of its sensors counted, when somebody told it something.
    sensed: Option<Time>,
    told: Option<Time>,
    /// Why the last sample did not count.
    refused: Option<String>,
    /// The publisher is kept until then.
    linger: Time,
    /// How many of those who listen are reached.
    reached: (usize, usize),
}

/// What there is to see.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct View {
    /// The hardware.
    pub profile: Profile,
    /// What was told last, by anybody.
    pub told: status::Outputs,
    /// What is sensed.
    pub sensed: status::Sensed,
    /// How many seconds old the sensors are; nothing when none came.
    pub age: [Option<f64>; 2],
    /// Why samples of the sensors do not count, pedestal first.
    pub refused: [Option<String>; 2],
    /// What keeps its actuators from being moved one by one, pedestal first.
    pub locked: [Option<String>; 2],
    /// Whether a move is under way.
    pub moving: [bool; 2],
    /// Whether there is a sequence controller.
    pub controller: bool,
}

/// The bench with its tools.
#[derive(Debug)]
pub struct Workbench {
    settings: Settings,
    bench: Bench,
    sources: Sources,
    told: status::Outputs,
    controller: Option<(Status, Time)>,
    sides: [Side; 2],
    outputs: VecDeque<Output>,
}

const BOTH: [Which; 2] = [Which::Pedestal, Which::Doll];

impl Workbench {
    /// For this hardware.
    pub fn new(profile: Profile) -> Self {
        Self {
            settings: Settings::defaults(profile),
            bench: Bench::default(),
            sources: Sources::default(),
            told: status::Outputs::default(),
            controller: None,
            sides: [Side::default(), Side::default()],
            outputs: VecDeque::new(),
        }
    }

    /// What its numbers are.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    fn side(&mut self, which: Which) -> &mut Side {
        &mut self.sides[which as usize]
    }

    /// Whether the sample counts; why not is remembered.
    fn admit(&mut self, which: Which, source: &Source, now: Time) -> bool {
        let late = Time::from_secs_f64(self.settings.sensor_timeout);
        let judged = self.sources.judge(Arrival { which, source, stamps: None }, late, now);
        let admitted = judged.is_ok();
        self.side(which).refused = judged.err().map(|bad| bad.to_string());
        admitted
    }

    fn sample<T>(
        &mut self,
        which: Which,
        sample: Result<T, BadSample>,
        source: &Source,
        now: Time,
    ) -> Option<T> {
        if !self.admit(which, source, now) {
            return None;
        }
        match sample {
            Ok(sample) => {
                self.side(which).sensed = Some(now);
                Some(sample)
            }
            Err(bad) => {
                self.side(which).refused = Some(bad.to_string());
                None
            }
        }
    }

    /// The pedestal told its sensors.
    pub fn sense_pedestal(
        &mut self,
        sample: Result<pedestal::Sensors, BadSample>,
        source: &Source,
        now: Time,
    ) {
        if let Some(sensors) = self.sample(Which::Pedestal, sample, source, now) {
            self.bench.sense_pedestal(sensors, &self.settings, now);
        }
    }

    /// The doll told its sensors.
    pub fn sense_doll(&mut self, sample: Result<doll::Sensors, BadSample>, source: &Source, now: Time) {
        if let Some(sensors) = self.sample(Which::Doll, sample, source, now) {
            self.bench.sense_doll(sensors, now);
        }
    }

    /// Somebody told the pedestal.
    pub fn tell_pedestal(&mut self, command: Cylinders, now: Time) {
        self.told.daiza = Some(command);
        self.side(Which::Pedestal).told = Some(now);
        self.bench.tell_pedestal(command, now);
    }

    /// Somebody told the doll.
    pub fn tell_doll(&mut self, command: doll::Command, now: Time) {
        self.told.hina = Some(command);
        self.side(Which::Doll).told = Some(now);
        self.bench.tell_doll(command);
    }

    /// The sequence controller told its status.
    pub fn hear_controller(&mut self, status: Status, now: Time) {
        // What it told before anybody listened here.
        if self.told.daiza.is_none()
            && let Some(command) = status.outputs.daiza
        {
            self.tell_pedestal(command, now);
        }
        if self.told.hina.is_none()
            && let Some(command) = status.outputs.hina
        {
            self.tell_doll(command, now);
        }
        self.controller = Some((status, now));
    }

    /// How many of those who listen to a mechanism's commands the publisher reaches.
    pub fn reach(&mut self, which: Which, matched: usize, listening: usize) {
        self.side(which).reached = (matched, listening);
    }

    /// Whether a publisher of this mechanism's commands is needed.
    pub fn wants_publisher(&self, which: Which, now: Time) -> bool {
        let side = &self.sides[which as usize];
        side.job.is_some() || now < side.linger
    }

    /// Moves one actuator. A move of the same mechanism that is under way ends where it is.
    pub fn actuate(&mut self, id: u64, actuator: Actuator, now: Time) {
        let which = actuator.which();
        self.end(which, Err("another move was asked for".to_owned()), now);
        self.side(which).job = Some(Job { id, actuator, began: now, moved: None });
    }

    /// Ends what moves where it is: all, or the moves of which `which` says so by their number.
    pub fn stop(&mut self, reason: &str, now: Time, mut which: impl FnMut(u64) -> bool) {
        for side in BOTH {
            if self.sides[side as usize].job.as_ref().is_some_and(|job| which(job.id)) {
                self.end(side, Err(reason.to_owned()), now);
            }
        }
    }

    /// Sends what lets everything stand, and tells what came of it.
    fn end(&mut self, which: Which, result: Result<(), String>, now: Time) {
        let Some(job) = self.side(which).job.take() else { return };
        let mut result = result;
        if let Some((moved, _)) = &job.moved {
            if let Some(rest) = self.bench.rest(moved, &self.settings) {
                self.send(rest, now);
            }
            if let (Err(reason), Some(what)) = (&mut result, self.bench.goes_on(moved, &self.settings)) {
                *reason = format!("{reason}; {what}");
            }
            self.side(which).linger = now + LINGER;
        }
        self.outputs.push_back(Output::Ended(job.id, result));
    }

    fn send(&mut self, outputs: Outputs, now: Time) {
        match outputs {
            Outputs::Pedestal(command) => self.tell_pedestal(command, now),
            Outputs::Doll(command) => self.tell_doll(command, now),
        }
        self.outputs.push_back(Output::Send(outputs));
    }

    /// Why its actuators cannot be moved one by one now.
    fn lock(&self, which: Which, now: Time) -> Option<String> {
        let side = &self.sides[which as usize];
        let fresh = Time::from_secs_f64(self.settings.sensor_timeout);
        match (side.sensed, &side.refused) {
            (_, Some(reason)) => return Some(format!("its sensors do not count: {reason}")),
            (None, _) => return Some("nothing was heard of its sensors yet".to_owned()),
            (Some(at), _) if now.saturating_sub(at) > fresh => {
                return Some("its sensors are silent".to_owned());
            }
            _ => {}
        }
        let (status, heard) = self.controller.as_ref()?;
        let part = status.part(which);
        (part.running && now.saturating_sub(*heard) < CONTROLLER_GONE).then(|| {
            format!("the sequence controller runs {}: wait for its end, or STOP it", part.sequence())
        })
    }

    /// What was told long ago and is not where the mechanism stands does not hold it there, as after a restart of it:
    /// sending it again would move what nobody asked for.
    fn forget_stale(&mut self, which: Which, now: Time) {
        let Some(at) = self.sides[which as usize].told else { return };
        if now.saturating_sub(at) < UNDER_WAY {
            return;
        }
        let tolerance = 2.0 * self.settings.tolerance;
        let apart = match which {
            Which::Pedestal => {
                self.told.daiza.zip(self.bench.pedestal).is_some_and(|(told, s)| told != s.cylinders)
            }
            Which::Doll => self.told.hina.zip(self.bench.doll).is_some_and(|(told, s)| {
                let lift = told.lift != doll::Lift::Hold && s.end() != Some(told.lift);
                lift || (told.tilt - s.tilt).abs() > tolerance
            }),
        };
        if apart {
            match which {
                Which::Pedestal => self.told.daiza = None,
                Which::Doll => self.told.hina = None,
            }
            self.side(which).told = None;
            self.bench.forget_told(which);
        }
    }

    /// Looks at the clock; twenty times a second is right while a move is under way.
    pub fn tick(&mut self, now: Time) {
        for which in BOTH {
            self.forget_stale(which, now);
            let Some(job) = &self.sides[which as usize].job else { continue };
            match &job.moved {
                Some((moved, _)) if self.bench.arrived(moved) => self.end(which, Ok(()), now),
                Some((_, at)) if now.saturating_sub(*at) > PATIENCE => {
                    let seconds = PATIENCE.as_secs();
                    self.end(which, Err(format!("not arrived within {seconds} s: held")), now);
                }
                Some(_) => {
                    if let Some(reason) = self.lock(which, now) {
                        self.end(which, Err(format!("{reason}: held")), now);
                    }
                }
                None => self.begin(which, now),
            }
        }
    }

    fn begin(&mut self, which: Which, now: Time) {
        let side = &self.sides[which as usize];
        let Some(job) = &side.job else { return };
        let late = now.saturating_sub(job.began) > PATIENCE;
        let (actuator, (matched, listening)) = (job.actuator, side.reached);
        if let Some(reason) = self.lock(which, now) {
            return self.end(which, Err(reason), now);
        }
        let is_told = side.told.is_some();
        let wait = if matched == 0 || matched < listening {
            Some("nobody listens to the commands")
        } else if !is_told && !self.bench.rests(which, &self.settings, now) {
            Some("it does not come to rest")
        } else {
            None
        };
        match wait {
            Some(reason) if late => return self.end(which, Err(reason.to_owned()), now),
            Some(_) => return,
            None => {}
        }
        // Sensors confirm nothing right after a command: an interlock may be satisfied a moment later.
        let settle = Time::from_secs_f64(self.settings.settle);
        let settles = self.sides[which as usize].told.is_some_and(|at| now.saturating_sub(at) <= settle);
        let alive = |(_, at): &&(Status, Time)| now.saturating_sub(*at) < CONTROLLER_GONE;
        let trust = self.controller.as_ref().filter(alive).map(|(status, _)| &status.trust);
        match self.bench.plan(&Wish { actuator, told: &self.told, trust, force: false }, &self.settings, now)
        {
            Err(Refusal::Interlock(_)) if settles && !late => {}
            Err(Refusal::Interlock(reason)) => self.end(which, Err(format!("interlock: {reason}")), now),
            Err(refusal) => self.end(which, Err(refusal.to_string()), now),
            Ok(moved) => {
                self.send(moved.outputs, now);
                if let Some(job) = &mut self.side(which).job {
                    job.moved = Some((moved, now));
                }
            }
        }
    }

    /// The next thing to do.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// What there is to see now.
    pub fn view(&self, now: Time) -> View {
        let each = |f: &dyn Fn(Which) -> Option<String>| BOTH.map(f);
        View {
            profile: self.settings.profile,
            told: self.told,
            sensed: status::Sensed { daiza: self.bench.pedestal, hina: self.bench.doll },
            age: BOTH.map(|w| self.sides[w as usize].sensed.map(|at| now.saturating_sub(at).as_secs_f64())),
            refused: each(&|w| self.sides[w as usize].refused.clone()),
            locked: each(&|w| self.lock(w, now)),
            moving: BOTH.map(|w| self.sides[w as usize].job.is_some()),
            controller: self
                .controller
                .as_ref()
                .is_some_and(|(_, at)| now.saturating_sub(*at) < CONTROLLER_GONE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{doll::Lift, sources::Kind};

    fn at(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    fn source() -> Source {
        Source { id: [1; 16], name: "/dummy_mechanism".to_owned(), kind: Kind::StandIn }
    }

    const UP: doll::Sensors = doll::Sensors {
        up: true,
        down: false,
        walls: [false; 2],
        stowed: false,
        tilt: 90.0,
        latches: [false; 2],
    };

    /// A bench whose sensors said this for two seconds, and with somebody who listens.
    fn bench(cylinders: Cylinders, doll: doll::Sensors) -> Workbench {
        let mut bench = Workbench::new(Profile::Document);
        for millis in (0..=2000).step_by(100) {
            sense(&mut bench, cylinders, doll, millis);
        }
        for which in BOTH {
            bench.reach(which, 1, 1);
        }
        bench
    }

    fn sense(bench: &mut Workbench, cylinders: Cylinders, doll: doll::Sensors, millis: u64) {
        bench.sense_pedestal(Ok(pedestal::Sensors { pedestal: false, cylinders }), &source(), at(millis));
        bench.sense_doll(Ok(doll), &source(), at(millis));
        bench.tick(at(millis));
    }

    fn outputs(bench: &mut Workbench) -> Vec<Output> {
        std::iter::from_fn(|| bench.poll_output()).collect()
    }

    #[test]
    fn one_actuator_moves_arrives_and_its_publisher_goes() {
        let mut bench = bench([false; 4], UP);
        assert!(!bench.wants_publisher(Which::Doll, at(2000)), "nothing is published unasked");
        bench.actuate(6, Actuator::Lift(Lift::Down), at(2000));
        bench.tick(at(2000));
        let ended = outputs(&mut bench);
        let unseen = |reason: &String| reason.contains("the potentiometer has not been seen to move");
        assert!(matches!(&ended[..], [Output::Ended(6, Err(reason))] if unseen(reason)), "{ended:?}");
        // Somebody tips the tray and rights it again.
        for millis in (0..=2000).step_by(100) {
            let tilt = if millis < 200 { 80.0 } else { 90.0 };
            sense(&mut bench, [false; 4], doll::Sensors { tilt, ..UP }, millis);
        }
        bench.actuate(7, Actuator::Lift(Lift::Down), at(2000));
        bench.tick(at(2010));
        let told = |lift, tilt| doll::Command { tilt, lift, guide: doll::Guide::Out, latches: [false; 2] };
        assert_eq!(outputs(&mut bench), [Output::Send(Outputs::Doll(told(Lift::Down, 90.0)))]);
        assert!(bench.wants_publisher(Which::Doll, at(2010)) && bench.view(at(2010)).moving[1]);
        sense(&mut bench, [false; 4], doll::Sensors { up: false, ..UP }, 2500);
        assert_eq!(outputs(&mut bench), []);
        sense(&mut bench, [false; 4], doll::Sensors { up: false, down: true, ..UP }, 4000);
        let stands = Output::Send(Outputs::Doll(told(Lift::Hold, 90.0)));
        assert_eq!(outputs(&mut bench), [stands, Output::Ended(7, Ok(()))]);
        assert!(
            bench.wants_publisher(Which::Doll, at(4100)) && !bench.wants_publisher(Which::Doll, at(4400))
        );
    }

    #[test]
    fn interlocks_refuse_in_words_and_send_nothing() {
        let mut bench = bench([false; 4], doll::Sensors { tilt: 180.0, stowed: true, ..UP });
        bench.actuate(1, Actuator::Lift(Lift::Down), at(2000));
        bench.tick(at(2010));
        let refused = outputs(&mut bench);
        let [Output::Ended(1, Err(reason))] = &refused[..] else { panic!("{refused:?}") };
        assert!(reason.starts_with("interlock: ") && !reason.contains("--force"), "{reason}");
        bench.actuate(2, Actuator::Guide(doll::Guide::In), at(2020));
        bench.tick(at(2030));
        let refused = outputs(&mut bench);
        assert!(matches!(&refused[..], [Output::Ended(2, Err(reason))] if reason.contains("nucleo")));
    }

    #[test]
    fn a_stop_holds_and_a_new_move_ends_the_old_one() {
        let mut bench = bench([false; 4], UP);
        bench.actuate(1, Actuator::Tilt { degrees: 20.0 }, at(2000));
        bench.tick(at(2010));
        sense(&mut bench, [false; 4], doll::Sensors { tilt: 60.0, ..UP }, 2300);
        outputs(&mut bench);
        bench.stop("STOP", at(2310), |_| true);
        let stopped = outputs(&mut bench);
        assert!(
            matches!(&stopped[..], [Output::Send(Outputs::Doll(held)), Output::Ended(1, Err(why))] if held.tilt == 60.0 && why == "STOP"),
            "{stopped:?}"
        );
        bench.actuate(2, Actuator::Tilt { degrees: 20.0 }, at(2400));
        bench.tick(at(2410));
        bench.actuate(3, Actuator::Tilt { degrees: 80.0 }, at(2420));
        let replaced = outputs(&mut bench);
        assert!(matches!(replaced.last(), Some(Output::Ended(2, Err(_)))), "{replaced:?}");
    }

    #[test]
    fn silence_of_the_sensors_and_a_running_sequence_lock_it() {
        let mut bench = bench([false; 4], UP);
        assert_eq!(bench.view(at(2100)).locked, [None, None]);
        assert!(bench.view(at(9000)).locked.iter().all(|l| l.as_deref() == Some("its sensors are silent")));
        bench.actuate(1, Actuator::Cylinder { number: 1, out: true }, at(9000));
        bench.tick(at(9010));
        assert_eq!(outputs(&mut bench), [Output::Ended(1, Err("its sensors are silent".to_owned()))]);
        sense(&mut bench, [false; 4], UP, 9100);
        let mut status = Status::default();
        status.daiza.running = true;
        status.daiza.sequence = Some("deploy".to_owned());
        bench.hear_controller(status, at(9100));
        let locked = bench.view(at(9150)).locked;
        assert!(locked[0].as_ref().is_some_and(|l| l.contains("runs deploy")) && locked[1].is_none());
        // Nobody else's sensors count beside the first.
        let other = Source { id: [2; 16], name: "/other".to_owned(), kind: Kind::StandIn };
        bench.sense_doll(Ok(UP), &other, at(9160));
        assert!(bench.view(at(9160)).locked[1].as_ref().is_some_and(|l| l.contains("two publish it")));
    }

    #[test]
    fn what_was_told_before_a_restart_of_the_mechanism_is_not_told_again() {
        let mut bench = bench([false; 4], UP);
        bench.tell_pedestal([true, true, true, true], at(2000));
        for millis in (2100..9000).step_by(100) {
            sense(&mut bench, [(3100..4000).contains(&millis); 4], UP, millis);
        }
        bench.actuate(1, Actuator::Cylinder { number: 3, out: true }, at(9000));
        bench.tick(at(9010));
        let sent = outputs(&mut bench);
        assert_eq!(sent[..1], [Output::Send(Outputs::Pedestal([false, false, true, false]))], "{sent:?}");
    }
}
