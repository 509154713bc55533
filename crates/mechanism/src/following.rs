//! A command that asked for a phase follows it to its end by the controller's statuses. No I/O, no clock.

use std::time::Duration;

use rosless_wire::mecha_control::msg::MechaState;

use crate::{
    Time,
    engine::{LEAVE_ALONE, Which},
    status::{Status, Step, phase_name},
};

/// Both mechanisms, in the order of the messages.
pub const BOTH: [Which; 2] = [Which::Pedestal, Which::Doll];

/// A controller that has said nothing for this long will not say how it ended.
pub const SILENCE: Duration = Duration::from_secs(5);
/// A phase that was published has begun within this time, or something else has taken its place.
const BEGINS: Duration = Duration::from_millis(300);

/// How a phase ended for one mechanism.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// The mechanism is where it was asked to be.
    Reached {
        /// It was there before.
        already: bool,
        /// How long it took.
        took: Duration,
    },
    /// It is not.
    Not {
        /// In a word or two.
        outcome: &'static str,
        /// Why.
        reason: String,
    },
}

impl End {
    fn not(outcome: &'static str, reason: impl Into<String>) -> Self {
        Self::Not { outcome, reason: reason.into() }
    }

    /// Whether the mechanism is where it was asked to be.
    pub fn is_reached(&self) -> bool {
        matches!(self, Self::Reached { .. })
    }
}

/// A step that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Whose.
    pub which: Which,
    /// Which one.
    pub step: Step,
    /// What it waits for.
    pub waiting_for: String,
}

/// One phase on its way.
#[derive(Clone, Debug)]
pub struct Following {
    code: u8,
    phase: String,
    wanted: Vec<Which>,
    before: Status,
    began: Time,
    /// When to ask once more: what was stopped or pre-empted a moment ago is not restarted by a mere repeat, but by a
    /// wish after the pause that makes it a new one.
    ask_again: Option<Time>,
    ended: [Option<End>; 2],
    /// The run that this command is about.
    run: [Option<u64>; 2],
    shown: [Option<Step>; 2],
}

impl Following {
    /// Asks for a phase of `wanted`, knowing the controller's last status.
    pub fn new(code: u8, wanted: &[Which], before: &Status, now: Time) -> Self {
        // The pedestal has nothing to prepare.
        let wanted = wanted.iter().copied().filter(|which| code != 0 || *which == Which::Doll).collect();
        let gap = Duration::try_from_secs_f64(before.command_gap).unwrap_or_default();
        let mut following = Self {
            code,
            phase: phase_name(code),
            wanted,
            before: before.clone(),
            began: now,
            ask_again: Some(now.saturating_add(gap + Duration::from_millis(100))),
            ended: [const { None }; 2],
            run: [None; 2],
            shown: [const { None }; 2],
        };
        if code == 0 && before.profile.zero_is_no_phase() {
            let reason =
                "in the profile nucleo phase 0 means no command; use `mechanism-controller goal hina READY`";
            following.ended[Which::Doll as usize] = Some(End::not("refused", reason));
        }
        following
    }

    /// The message that asks for it.
    pub fn message(&self) -> MechaState {
        let code_of = |which| if self.wanted.contains(&which) { self.code } else { LEAVE_ALONE };
        MechaState {
            daiza_state: code_of(Which::Pedestal),
            hina_state: code_of(Which::Doll),
            // A changed flag would switch the lantern, and so would one that asks for light in the dark.
            bonbori_state: self.before.bonbori.flag && self.before.bonbori.lit,
        }
    }

    /// A status has come, or is looked at again; steps that have begun since the last look.
    pub fn look(&mut self, status: &Status, now: Time) -> Vec<Progress> {
        let mut news = Vec::new();
        if status.messages == self.before.messages {
            return news;
        }
        for which in self.wanted.clone() {
            let (index, part) = (which as usize, status.part(which));
            let runs_before = self.before.part(which).runs;
            if self.ended[index].is_some() {
                continue;
            }
            let ours = part.sequence() == self.phase;
            if ours && part.runs > runs_before {
                self.run[index] = Some(part.runs);
            }
            if !ours && part.runs > self.run[index].unwrap_or(runs_before) {
                // What another client asked for just before this command is not what took its place.
                if self.run[index].is_some() || now.saturating_sub(self.began) > BEGINS {
                    let reason = format!("{} was asked for", part.sequence());
                    self.ended[index] = Some(End::not("pre-empted", reason));
                }
                continue;
            }
            if part.running && part.step != self.shown[index] {
                self.shown[index].clone_from(&part.step);
                let waiting_for = part.waiting_for.clone().unwrap_or_default();
                news.extend(part.step.clone().map(|step| Progress { which, step, waiting_for }));
            }
            if !part.running && part.reached == Some(self.code) {
                let took = now.saturating_sub(self.began);
                self.ended[index] = Some(End::Reached { already: self.run[index].is_none(), took });
            } else if !part.running
                && self.run[index].is_some()
                && let Some(ended) = &part.ended
            {
                self.ended[index] = Some(End::not(ended.outcome.word(), &ended.reason));
            }
        }
        news
    }

    /// Whether to publish the message once more, now.
    pub fn asks_again(&mut self, status: &Status, now: Time) -> bool {
        let idle = |which: &Which| self.ended[*which as usize].is_none() && !status.part(*which).running;
        let again = self.wanted.iter().any(idle) && self.ask_again.is_some_and(|at| now >= at);
        if again {
            self.ask_again = None;
        }
        again
    }

    /// The mechanisms on which this command's own run has begun and is not known to have ended, or may begin yet because the
    /// controller has not said what became of the command: those it must stop when it leaves.
    pub fn under_way(&self, status: &Status) -> Vec<Which> {
        let ours = |which: &Which| {
            let part = status.part(*which);
            let unheard = part.runs <= self.before.part(*which).runs;
            let runs = part.running && part.sequence() == self.phase;
            self.ended[*which as usize].is_none() && (unheard || runs)
        };
        self.wanted.iter().copied().filter(ours).collect()
    }

    /// The phase's name.
    pub fn phase(&self) -> &str {
        &self.phase
    }

    /// Whether every mechanism's end is known.
    pub fn is_over(&self) -> bool {
        self.wanted.iter().all(|which| self.ended[*which as usize].is_some())
    }

    /// How it ended; `(outcome, reason)` for those whose end is not known.
    pub fn ends(self, otherwise: impl Fn(Which) -> (&'static str, String)) -> Vec<(Which, End)> {
        let Self { wanted, mut ended, .. } = self;
        let end = |which: Which| {
            let end = ended[which as usize].take();
            let (outcome, reason) = otherwise(which);
            (which, end.unwrap_or(End::Not { outcome, reason }))
        };
        wanted.into_iter().map(end).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Outcome, Profile,
        status::{Ended, Part},
    };

    fn at(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    fn status(messages: u64, daiza: Part) -> Status {
        Status { messages, daiza, command_gap: 2.0, ..Status::default() }
    }

    fn running(sequence: &str, runs: u64, number: usize) -> Part {
        let step = Step { number, of: 2, what: "lower the arm".into() };
        Part { sequence: Some(sequence.into()), running: true, runs, step: Some(step), ..Part::default() }
    }

    fn idle(sequence: &str, runs: u64) -> Part {
        Part { sequence: Some(sequence.into()), runs, ..Part::default() }
    }

    fn deploy() -> Following {
        Following::new(1, &[Which::Pedestal], &status(7, idle("stow", 3)), at(0))
    }

    fn end(following: Following) -> End {
        following.ends(|_| ("no outcome", String::new())).remove(0).1
    }

    #[test]
    fn a_phase_is_followed_step_by_step_to_its_place() {
        let mut following = deploy();
        assert_eq!((following.message().daiza_state, following.message().hina_state), (1, LEAVE_ALONE));
        assert!(following.look(&status(7, idle("stow", 3)), at(10)).is_empty(), "not heard yet");
        assert_eq!(following.look(&status(8, running("deploy", 4, 1)), at(20)).len(), 1);
        assert!(following.look(&status(8, running("deploy", 4, 1)), at(30)).is_empty(), "told once");
        assert_eq!(following.look(&status(8, running("deploy", 4, 2)), at(40)).len(), 1);
        assert!(!following.is_over());
        following.look(&status(8, Part { reached: Some(1), ..idle("deploy", 4) }), at(50));
        assert!(following.is_over());
        assert_eq!(end(following), End::Reached { already: false, took: at(50) });
    }

    #[test]
    fn what_is_there_already_is_said() {
        let mut following = deploy();
        following.look(&status(8, Part { reached: Some(1), ..idle("deploy", 3) }), at(9));
        assert_eq!(end(following), End::Reached { already: true, took: at(9) });
    }

    #[test]
    fn a_failure_has_its_reason_and_a_pre_emption_its_cause() {
        let mut following = deploy();
        following.look(&status(8, running("deploy", 4, 1)), at(20));
        let ended = Some(Ended { outcome: Outcome::TimedOut, reason: "cylinder 4".into() });
        following.look(&status(8, Part { ended, ..idle("deploy", 4) }), at(30));
        assert_eq!(end(following), End::not("timed out", "cylinder 4"));

        let mut following = deploy();
        following.look(&status(8, running("deploy", 4, 1)), at(20));
        following.look(&status(9, running("stow", 5, 1)), at(30));
        assert_eq!(end(following), End::not("pre-empted", "stow was asked for"));
    }

    #[test]
    fn what_ran_just_before_did_not_take_its_place() {
        let mut following = deploy();
        following.look(&status(8, running("collect", 4, 1)), at(100));
        assert!(!following.is_over());
        following.look(&status(9, running("deploy", 5, 1)), at(200));
        following.look(&status(9, Part { reached: Some(1), ..idle("deploy", 5) }), at(300));
        assert!(end(following).is_reached());

        let mut following = deploy();
        following.look(&status(8, running("collect", 4, 1)), at(301));
        assert!(following.is_over(), "nothing of ours has begun");
    }

    #[test]
    fn a_mere_repeat_is_asked_again_after_the_controllers_own_pause_and_once_only() {
        let mut following = deploy();
        let still = status(8, idle("stow", 3));
        assert!(!following.asks_again(&still, at(2000)));
        assert!(following.asks_again(&still, at(2100)));
        assert!(!following.asks_again(&still, at(9000)));
        // The pause is the controller's, not a guess.
        let patient = Status { command_gap: 30.0, ..still };
        let mut following = Following::new(1, &[Which::Pedestal], &patient, at(0));
        assert!(!following.asks_again(&patient, at(30_000)));
        assert!(following.asks_again(&patient, at(30_100)));
    }

    #[test]
    fn prepare_is_the_dolls_and_means_nothing_to_the_action_era_robot() {
        let following = Following::new(0, &BOTH, &Status::default(), at(0));
        assert_eq!((following.message().daiza_state, following.message().hina_state), (LEAVE_ALONE, 0));
        let nucleo = Status { profile: Profile::Nucleo, ..Status::default() };
        let following = Following::new(0, &BOTH, &nucleo, at(0));
        assert!(following.is_over());
        assert!(!end(following).is_reached());
    }

    #[test]
    fn the_light_that_burns_is_not_switched() {
        for (lit, flag, expected) in [(true, true, true), (false, true, false), (true, false, false)] {
            let before = Status { bonbori: crate::status::Lantern { lit, flag }, ..Status::default() };
            let message = Following::new(1, &BOTH, &before, at(0)).message();
            assert_eq!(message.bonbori_state, expected, "{lit} {flag}");
        }
    }
}
