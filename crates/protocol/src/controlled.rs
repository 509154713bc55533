//! The controlled side: decides what a system does about a control message. No sockets, no clock, no lifecycle of its own.
//!
//! The driver feeds messages and lifecycle states in, then drains [`Controlled::poll_output`] until it is empty. Every
//! [`Output::Transition`] must be answered by one [`Input::Finished`]; until then further commands wait their turn, so a
//! slow activation neither loses a STOP nor is started twice.

use std::{collections::VecDeque, time::Duration};

use rosless_engine::{Engine, Now};

use crate::{
    controller::Participant,
    dialect::Dialect,
    message::{Command, Control, Kind, State},
    name::SystemId,
};

/// START and STOP alternate in the queue, so this many waiting commands already mean that somebody is toggling wildly.
const MAX_WAITING: usize = 8;
/// Whoever makes an appointment must stay until then; nobody stays longer.
const FARTHEST: Duration = Duration::from_secs(3600);

/// What happened.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the fields are what the sentence above each speaks of")]
pub enum Input {
    /// A control message arrived in this dialect.
    Control(Dialect, Control),
    /// The node's lifecycle state is now this one, whoever caused it.
    State(State),
    /// The transition asked for by [`Output::Transition`] has ended.
    Finished { succeeded: bool },
    /// This participant is no longer there.
    Lost(Participant),
}

/// What to do about it, in this order.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Trigger ACTIVATE (start) or DEACTIVATE (stop).
    Transition(Command),
    /// Publish this acknowledgement in this dialect.
    Publish(Dialect, Control),
    /// Call the user's `control_start` or `control_stop` with the original message.
    Hook(Command, Control),
    /// A line for the log at warning level.
    Warn(String),
    /// A line for the log at error level.
    Error(String),
}

/// The protocol engine of one controlled system.
#[derive(Debug)]
pub struct Controlled {
    id: SystemId,
    state: State,
    running: Option<(Dialect, Command, Control)>,
    waiting: VecDeque<(Dialect, Command, Control)>,
    armed: Option<Armed>,
    outputs: VecDeque<Output>,
}

/// A START for later.
#[derive(Debug)]
struct Armed {
    at: Duration,
    by: Participant,
    dialect: Dialect,
    message: Control,
}

impl Controlled {
    /// An engine for the node `id`, which is unconfigured until [`Input::State`] says otherwise.
    pub fn new(id: SystemId) -> Self {
        Self {
            id,
            state: State::Unconfigured,
            running: None,
            waiting: VecDeque::new(),
            armed: None,
            outputs: VecDeque::new(),
        }
    }

    /// Obeys `message`, a START, at its stamp, provided that `by` stays until then. An earlier appointment is replaced.
    ///
    /// # Errors
    /// With the reason, when it could not start then.
    pub fn arm(
        &mut self,
        by: Participant,
        dialect: Dialect,
        message: Control,
        now: Now,
    ) -> Result<(), String> {
        if self.state != State::Inactive || self.running.is_some() {
            return Err(format!("it cannot be armed in state {}", self.state.label()));
        }
        let ahead = u64::try_from(message.stamp.since(now.wall)).map(Duration::from_nanos);
        let ahead = ahead.map_err(|_| "by its clock the instant has passed".to_owned())?;
        if ahead > FARTHEST {
            return Err(format!("by its clock the instant is more than {} s ahead", FARTHEST.as_secs()));
        }
        self.armed = Some(Armed { at: now.mono + ahead, by, dialect, message });
        Ok(())
    }

    /// The message that is being obeyed, while the transition it asks for is under way.
    pub fn obeying(&self) -> Option<&Control> {
        self.running.as_ref().map(|(_, _, message)| message)
    }

    /// Who has armed it.
    pub fn armed_by(&self) -> Option<Participant> {
        self.armed.as_ref().map(|armed| armed.by)
    }

    fn disarm(&mut self, why: &str) {
        if let Some(armed) = self.armed.take() {
            let session = armed.message.session;
            self.outputs
                .push_back(Output::Warn(format!("disarmed, session {session:?} is not started: {why}")));
        }
    }

    fn receive(&mut self, dialect: Dialect, message: Control) {
        let meant = message.systems.is_empty() || message.systems.iter().any(|s| self.id.is_meant_by(s));
        let command = match message.kind {
            Kind::Start if meant => Command::Start,
            Kind::Stop if meant => Command::Stop,
            _ => return,
        };
        self.disarm(&format!("{} came from {:?}", command.verb().to_uppercase(), message.source));
        let Some((_, running, _)) = &self.running else { return self.begin(dialect, command, message) };
        // A repetition of what is under way will be answered by what is under way.
        let last = self.waiting.back().map_or(*running, |(_, waiting, _)| *waiting);
        if last == command {
            return;
        }
        if self.waiting.len() == MAX_WAITING {
            self.waiting.pop_front();
            self.outputs.push_back(Output::Warn(
                "more commands than can wait for the running transition: the oldest is dropped".into(),
            ));
        }
        self.waiting.push_back((dialect, command, message));
    }

    fn begin(&mut self, dialect: Dialect, command: Command, message: Control) {
        if self.state == command.needed() {
            self.running = Some((dialect, command, message));
            self.outputs.push_back(Output::Transition(command));
        } else if command == Command::Start {
            let advice = match self.state {
                State::Active => "already active",
                State::Unconfigured => "configure it first",
                _ => "not possible now",
            };
            let text = format!("Activation requested in state {}: {advice}", self.state.label());
            self.outputs.push_back(Output::Warn(text));
        }
    }

    fn finished(&mut self, succeeded: bool, now: Now) {
        let Some((dialect, command, message)) = self.running.take() else { return };
        if succeeded {
            let ack = Control {
                kind: command.ack(),
                stamp: now.wall,
                source: self.id.bare().to_owned(),
                session: String::new(),
                systems: Vec::new(),
            };
            self.outputs.push_back(Output::Publish(dialect, ack));
            self.outputs.push_back(Output::Hook(command, message));
        } else {
            self.outputs.push_back(Output::Error(format!(
                "{} requested by {:?} failed and is not acknowledged; the state is {}",
                if command == Command::Start { "activation" } else { "deactivation" },
                message.source,
                self.state.label(),
            )));
        }
        while self.running.is_none() {
            let Some((dialect, command, message)) = self.waiting.pop_front() else { return };
            self.begin(dialect, command, message);
        }
    }
}

impl Engine for Controlled {
    type Input<'a> = Input;
    type Output = Output;

    fn handle(&mut self, input: Input, now: Now) {
        match input {
            Input::Control(dialect, message) => self.receive(dialect, message),
            Input::State(state) => self.state = state,
            Input::Finished { succeeded } => self.finished(succeeded, now),
            Input::Lost(participant) => {
                if self.armed_by() == Some(participant) {
                    self.disarm("whoever armed it has left");
                }
            }
        }
    }

    fn wake(&mut self, now: Now) {
        if let Some(Armed { dialect, message, .. }) = self.armed.take_if(|armed| armed.at <= now.mono) {
            self.begin(dialect, Command::Start, message);
        }
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Transitions take the time they take; only an appointment is waited for.
    fn next_deadline(&self) -> Option<Duration> {
        self.armed.as_ref().map(|armed| armed.at)
    }
}

#[cfg(test)]
mod tests {

    use proptest::prelude::*;

    use super::*;
    use rosless_engine::Wall;

    const LATER: Now = Now { mono: Duration::from_secs(1), wall: Wall(77) };

    fn system(state: State) -> Controlled {
        let mut system = Controlled::new(SystemId::resolve("/lab", "cam").unwrap());
        system.handle(Input::State(state), Now::default());
        system
    }

    fn message(kind: Kind, systems: &[&str]) -> Control {
        Control {
            kind,
            stamp: Wall(5),
            source: "boss".into(),
            session: "session_1".into(),
            systems: systems.iter().map(ToString::to_string).collect(),
        }
    }

    fn tell(system: &mut Controlled, kind: Kind, systems: &[&str]) -> Vec<Output> {
        system.handle(Input::Control(Dialect::Mocap, message(kind, systems)), Now::default());
        drain(system)
    }

    fn finish(system: &mut Controlled, state: State, succeeded: bool) -> Vec<Output> {
        system.handle(Input::State(state), LATER);
        system.handle(Input::Finished { succeeded }, LATER);
        drain(system)
    }

    fn drain(system: &mut Controlled) -> Vec<Output> {
        std::iter::from_fn(|| system.poll_output()).collect()
    }

    #[test]
    fn start_activates_then_acknowledges_then_calls_the_hook() {
        let mut cam = system(State::Inactive);
        assert_eq!(tell(&mut cam, Kind::Start, &[]), [Output::Transition(Command::Start)]);
        let ack = Control {
            kind: Kind::AckStart,
            stamp: LATER.wall,
            source: "cam".into(),
            session: String::new(),
            systems: vec![],
        };
        let hook = Output::Hook(Command::Start, message(Kind::Start, &[]));
        let done = finish(&mut cam, State::Active, true);
        assert_eq!(done, [Output::Publish(Dialect::Mocap, ack.clone()), hook]);
        assert_eq!(tell(&mut cam, Kind::Stop, &["cam"]), [Output::Transition(Command::Stop)]);
        let done = finish(&mut cam, State::Inactive, true);
        assert_eq!(done[0], Output::Publish(Dialect::Mocap, Control { kind: Kind::AckStop, ..ack }));
    }

    #[test]
    fn only_the_named_react() {
        for list in [&["other"][..], &[""], &["/cam"], &["other", ""]] {
            assert_eq!(tell(&mut system(State::Inactive), Kind::Start, list), []);
        }
        for list in [&["cam"][..], &["", "cam"], &["/lab/cam"], &["lab/cam"]] {
            assert_eq!(
                tell(&mut system(State::Inactive), Kind::Start, list),
                [Output::Transition(Command::Start)]
            );
        }
    }

    #[test]
    fn wrong_state_start_warns_and_wrong_state_stop_is_silent() {
        for state in [State::Active, State::Unconfigured, State::Finalized, State::Configuring] {
            let outputs = tell(&mut system(state), Kind::Start, &[]);
            assert!(matches!(&outputs[..], [Output::Warn(text)]
                if text.starts_with(&format!("Activation requested in state {}", state.label()))));
        }
        for state in [State::Inactive, State::Unconfigured, State::Finalized] {
            assert_eq!(tell(&mut system(state), Kind::Stop, &[]), []);
        }
    }

    #[test]
    fn acknowledgements_and_unknown_types_are_ignored() {
        for kind in [Kind::AckStart, Kind::AckStop, Kind::Other(9)] {
            assert_eq!(tell(&mut system(State::Inactive), kind, &[]), []);
            assert_eq!(tell(&mut system(State::Active), kind, &[]), []);
        }
    }

    #[test]
    fn a_failed_activation_is_never_acknowledged() {
        let mut cam = system(State::Inactive);
        tell(&mut cam, Kind::Start, &[]);
        let outputs = finish(&mut cam, State::Inactive, false);
        assert!(
            matches!(&outputs[..], [Output::Error(text)] if text.contains("not acknowledged")),
            "{outputs:?}"
        );
        // It may be tried again.
        assert_eq!(tell(&mut cam, Kind::Start, &[]), [Output::Transition(Command::Start)]);
    }

    #[test]
    fn commands_during_a_slow_activation_wait_and_repetitions_do_not_count() {
        let mut cam = system(State::Inactive);
        tell(&mut cam, Kind::Start, &[]);
        for _ in 0..5 {
            assert_eq!(tell(&mut cam, Kind::Start, &[]), []);
        }
        assert_eq!(tell(&mut cam, Kind::Stop, &[]), []);
        let outputs = finish(&mut cam, State::Active, true);
        assert_eq!(outputs.last(), Some(&Output::Transition(Command::Stop)));
        assert_eq!(finish(&mut cam, State::Inactive, true).len(), 2);
    }

    #[test]
    fn an_armed_system_starts_at_the_instant_unless_it_is_disarmed() {
        let (boss, other) = (Participant([1; 12]), Participant([2; 12]));
        let now = Now { mono: Duration::from_secs(10), wall: Wall(1_000_000_000) };
        let at = |wall| Control { stamp: Wall(wall), ..message(Kind::Start, &[]) };
        let armed = |wall| {
            let mut cam = system(State::Inactive);
            cam.arm(boss, Dialect::Mocap, at(wall), now).map(|()| cam)
        };
        let instant = Now { mono: Duration::from_secs(12), ..now };
        let mut cam = armed(3_000_000_000).unwrap();
        assert_eq!(cam.next_deadline(), Some(instant.mono));
        cam.wake(Now { mono: Duration::from_millis(11_999), ..now });
        cam.handle(Input::Lost(other), now);
        assert_eq!(drain(&mut cam), []);
        cam.wake(instant);
        assert_eq!(drain(&mut cam), [Output::Transition(Command::Start)]);
        let done = finish(&mut cam, State::Active, true);
        assert_eq!(done[1], Output::Hook(Command::Start, at(3_000_000_000)));

        let disarming: [fn(&mut Controlled); 2] = [
            |cam| cam.handle(Input::Lost(Participant([1; 12])), LATER),
            |cam| cam.handle(Input::Control(Dialect::Mocap, message(Kind::Stop, &[])), LATER),
        ];
        for disarm in disarming {
            let mut cam = armed(3_000_000_000).unwrap();
            disarm(&mut cam);
            cam.wake(instant);
            assert!(matches!(&drain(&mut cam)[..], [Output::Warn(text)] if text.starts_with("disarmed")));
        }
        assert!(armed(999_999_999).is_err(), "it has passed");
        assert!(armed(i64::MAX).is_err(), "nobody waits so long");
        assert!(system(State::Active).arm(boss, Dialect::Mocap, at(3_000_000_000), now).is_err());
    }

    #[test]
    fn the_answer_comes_in_the_dialect_of_the_question() {
        let mut cam = system(State::Inactive);
        let question = Input::Control(Dialect::Device, message(Kind::Start, &[]));
        cam.handle(question, Now::default());
        drain(&mut cam);
        assert!(matches!(finish(&mut cam, State::Active, true)[0], Output::Publish(Dialect::Device, _)));
    }

    proptest! {
        #[test]
        fn never_a_transition_from_a_wrong_state_nor_two_at_once(
            steps in prop::collection::vec((0i8..6, any::<bool>(), 0u8..5), 1..200),
        ) {
            let mut cam = system(State::Inactive);
            let (mut state, mut running, mut acks) = (State::Inactive, None, 0);
            let mut successes = 0;
            for (kind, succeeds, other) in steps {
                match running.take() {
                    // Sometimes the transition ends before the next message, sometimes after.
                    Some(command) if other < 3 => {
                        if succeeds {
                            state = if command == Command::Start { State::Active } else { State::Inactive };
                            successes += 1;
                        }
                        cam.handle(Input::State(state), LATER);
                        cam.handle(Input::Finished { succeeded: succeeds }, LATER);
                    }
                    still => {
                        running = still;
                        if running.is_none() && other == 4 {
                            // Somebody uses the lifecycle services directly.
                            state = if succeeds { State::Active } else { State::Unconfigured };
                            cam.handle(Input::State(state), LATER);
                        }
                        cam.handle(Input::Control(Dialect::Mocap, message(kind.into(), &[])), LATER);
                    }
                }
                while let Some(output) = cam.poll_output() {
                    match output {
                        Output::Transition(command) => {
                            prop_assert!(running.is_none(), "two transitions at once");
                            prop_assert_eq!(state, command.needed());
                            running = Some(command);
                        }
                        Output::Publish(..) => acks += 1,
                        Output::Hook(..) | Output::Warn(_) | Output::Error(_) => {}
                    }
                }
                prop_assert_eq!(acks, successes);
            }
        }
    }
}
