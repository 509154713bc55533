//! The lifecycle state machine of rcl, without callbacks of its own and without I/O.

use std::{cell::Cell, fmt};

pub use rosless_wire::lifecycle::State;

/// One edge of the state machine, numbered as in `lifecycle_msgs/msg/Transition`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    /// Its number on the wire.
    pub id: u8,
    /// Its name on the wire.
    pub label: &'static str,
    /// From where.
    pub start: State,
    /// To where.
    pub goal: State,
}

const fn edge(id: u8, label: &'static str, start: State, goal: State) -> Transition {
    Transition { id, label, start, goal }
}

const SUCCESS: &str = "transition_success";
const FAILURE: &str = "transition_failure";
const ERROR: &str = "transition_error";

/// Every transition, in the order rcl registers and `get_transition_graph` reports them.
pub const TRANSITIONS: [Transition; 25] = [
    edge(1, "configure", State::Unconfigured, State::Configuring),
    edge(10, SUCCESS, State::Configuring, State::Inactive),
    edge(11, FAILURE, State::Configuring, State::Unconfigured),
    edge(12, ERROR, State::Configuring, State::ErrorProcessing),
    edge(2, "cleanup", State::Inactive, State::CleaningUp),
    edge(20, SUCCESS, State::CleaningUp, State::Unconfigured),
    edge(21, FAILURE, State::CleaningUp, State::Inactive),
    edge(22, ERROR, State::CleaningUp, State::ErrorProcessing),
    edge(3, "activate", State::Inactive, State::Activating),
    edge(30, SUCCESS, State::Activating, State::Active),
    edge(31, FAILURE, State::Activating, State::Inactive),
    edge(32, ERROR, State::Activating, State::ErrorProcessing),
    edge(4, "deactivate", State::Active, State::Deactivating),
    edge(40, SUCCESS, State::Deactivating, State::Inactive),
    edge(41, FAILURE, State::Deactivating, State::Active),
    edge(42, ERROR, State::Deactivating, State::ErrorProcessing),
    edge(5, "shutdown", State::Unconfigured, State::ShuttingDown),
    edge(6, "shutdown", State::Inactive, State::ShuttingDown),
    edge(7, "shutdown", State::Active, State::ShuttingDown),
    edge(50, SUCCESS, State::ShuttingDown, State::Finalized),
    edge(51, FAILURE, State::ShuttingDown, State::Finalized),
    edge(52, ERROR, State::ShuttingDown, State::ErrorProcessing),
    edge(60, SUCCESS, State::ErrorProcessing, State::Unconfigured),
    edge(61, FAILURE, State::ErrorProcessing, State::Finalized),
    edge(62, ERROR, State::ErrorProcessing, State::Finalized),
];

/// How a node's own code answers a transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallbackReturn {
    /// It is done, and the node goes on to the asked state.
    Success,
    /// It cannot be done; mostly the node stays where it was.
    Failure,
    /// Something broke: the node tidies up next.
    Error,
    /// Not known yet, because others must be asked: the node stays in the transition state until
    /// [`LifecycleNode::finish`](super::LifecycleNode::finish) tells the answer. Error processing cannot wait, and fails.
    Pending,
}

/// A transition somebody asks for: by its label, or, without one, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request<'a> {
    /// As numbered in `lifecycle_msgs/msg/Transition`.
    Id(u8),
    /// As `configure` or `shutdown`.
    Label(&'a str),
}

impl Request<'static> {
    /// From unconfigured to inactive.
    pub const CONFIGURE: Self = Self::Label("configure");
    /// From inactive to unconfigured.
    pub const CLEANUP: Self = Self::Label("cleanup");
    /// From inactive to active.
    pub const ACTIVATE: Self = Self::Label("activate");
    /// From active to inactive.
    pub const DEACTIVATE: Self = Self::Label("deactivate");
    /// To finalized, from any primary state.
    pub const SHUTDOWN: Self = Self::Label("shutdown");
}

impl<'a> Request<'a> {
    /// The meaning of a `lifecycle_msgs/msg/Transition` in a request: a label, when there is one, decides alone.
    pub fn new(id: u8, label: &'a str) -> Self {
        if label.is_empty() { Self::Id(id) } else { Self::Label(label) }
    }
}

impl fmt::Display for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => write!(f, "transition {id}"),
            Self::Label(label) => write!(f, "transition '{label}'"),
        }
    }
}

/// The state machine does not offer the transition where it stands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{request} is not available in state '{state}'; available: {available}")]
pub struct NotAvailable {
    /// What was asked for.
    pub request: String,
    /// In which state it is not possible.
    pub state: State,
    available: String,
}

/// The lifecycle of one node. Its state is in a cell, so that a callback may look at it while it is in transition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateMachine {
    state: Cell<State>,
    /// Where the transition that waits for its answer came from.
    waiting: Cell<Option<State>>,
}

impl Default for StateMachine {
    fn default() -> Self {
        Self { state: Cell::new(State::Unconfigured), waiting: Cell::new(None) }
    }
}

impl StateMachine {
    /// Where it stands.
    pub fn state(&self) -> State {
        self.state.get()
    }

    /// What can be asked for now.
    pub fn available(&self) -> impl Iterator<Item = Transition> + use<> {
        let state = self.state();
        TRANSITIONS.into_iter().filter(move |transition| transition.start == state)
    }

    /// Enters the transition state; the node's callback runs next and [`Self::finish`] takes its answer.
    pub fn begin(&self, request: Request<'_>) -> Result<Transition, NotAvailable> {
        let wanted = |transition: &Transition| match request {
            Request::Id(id) => transition.id == id,
            Request::Label(label) => transition.label == label,
        };
        // While a callback runs only its answer may move the machine.
        let found = self.available().find(|t| !self.state().is_transition() && wanted(t));
        let transition = found.ok_or_else(|| {
            let labels: Vec<_> = self.available().map(|t| t.label).collect();
            let available = if labels.is_empty() { "none".to_owned() } else { labels.join(", ") };
            NotAvailable { request: request.to_string(), state: self.state(), available }
        })?;
        self.state.set(transition.goal);
        Ok(transition)
    }

    /// Leaves the transition state as the callback's answer says. `None` when no transition is under way.
    ///
    /// The new state is either a primary one or [`State::ErrorProcessing`], which has a callback of its own.
    pub fn finish(&self, answer: CallbackReturn) -> Option<Transition> {
        let label = match answer {
            CallbackReturn::Success => SUCCESS,
            CallbackReturn::Failure => FAILURE,
            CallbackReturn::Error => ERROR,
            CallbackReturn::Pending => return None,
        };
        let transition = self.available().find(|transition| transition.label == label)?;
        self.state.set(transition.goal);
        Some(transition)
    }

    /// A whole transition: `callback` is called with the transition state entered and the state it came from, and a
    /// second time for error processing when it answered with an error. Every edge taken is told to `notify`.
    ///
    /// Returns the answer of the first callback: only success is success. One that is pending is given to
    /// [`resume`](Self::resume).
    pub fn run(
        &self,
        request: Request<'_>,
        mut callback: impl FnMut(State, State) -> CallbackReturn,
        mut notify: impl FnMut(Transition),
    ) -> Result<CallbackReturn, NotAvailable> {
        let begun = self.begin(request)?;
        notify(begun);
        let answer = callback(self.state(), begun.start);
        self.conclude(answer, begun.start, callback, notify);
        Ok(answer)
    }

    /// The answer that was pending; `false` when none was.
    pub fn resume(
        &self,
        answer: CallbackReturn,
        callback: impl FnMut(State, State) -> CallbackReturn,
        notify: impl FnMut(Transition),
    ) -> bool {
        let from = self.waiting.take();
        if let Some(from) = from {
            self.conclude(answer, from, callback, notify);
        }
        from.is_some()
    }

    fn conclude(
        &self,
        mut answer: CallbackReturn,
        from: State,
        mut callback: impl FnMut(State, State) -> CallbackReturn,
        mut notify: impl FnMut(Transition),
    ) {
        if answer == CallbackReturn::Pending {
            return self.waiting.set(Some(from));
        }
        while let Some(transition) = self.finish(answer) {
            notify(transition);
            if self.state() != State::ErrorProcessing {
                break;
            }
            answer = match callback(State::ErrorProcessing, from) {
                CallbackReturn::Pending => CallbackReturn::Failure,
                answer => answer,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use CallbackReturn::{Error, Failure, Pending, Success};
    use proptest::prelude::*;

    use super::*;

    fn at(state: State) -> StateMachine {
        StateMachine { state: Cell::new(state), ..StateMachine::default() }
    }

    fn run(
        from: State,
        request: Request<'_>,
        answers: &[CallbackReturn],
    ) -> (Option<CallbackReturn>, State, Vec<u8>) {
        let machine = at(from);
        let mut answers = answers.iter();
        let mut edges = Vec::new();
        let answer =
            machine.run(request, |_, _| *answers.next().expect("answer prepared"), |t| edges.push(t.id));
        assert_eq!(answers.next(), None, "every answer was asked for");
        (answer.ok(), machine.state(), edges)
    }

    #[test]
    fn every_transition_ends_where_rcl_ends_it() {
        use State::*;
        for (from, request, answers, to, edges) in [
            (Unconfigured, Request::CONFIGURE, &[Success][..], Inactive, &[1, 10][..]),
            (Unconfigured, Request::CONFIGURE, &[Failure], Unconfigured, &[1, 11]),
            (Unconfigured, Request::CONFIGURE, &[Error, Success], Unconfigured, &[1, 12, 60]),
            (Unconfigured, Request::CONFIGURE, &[Error, Failure], Finalized, &[1, 12, 61]),
            (Unconfigured, Request::CONFIGURE, &[Error, Error], Finalized, &[1, 12, 62]),
            (Inactive, Request::CLEANUP, &[Success], Unconfigured, &[2, 20]),
            (Inactive, Request::CLEANUP, &[Failure], Inactive, &[2, 21]),
            (Inactive, Request::CLEANUP, &[Error, Success], Unconfigured, &[2, 22, 60]),
            (Inactive, Request::ACTIVATE, &[Success], Active, &[3, 30]),
            (Inactive, Request::ACTIVATE, &[Failure], Inactive, &[3, 31]),
            (Inactive, Request::ACTIVATE, &[Error, Success], Unconfigured, &[3, 32, 60]),
            (Active, Request::DEACTIVATE, &[Success], Inactive, &[4, 40]),
            (Active, Request::DEACTIVATE, &[Failure], Active, &[4, 41]),
            (Active, Request::DEACTIVATE, &[Error, Success], Unconfigured, &[4, 42, 60]),
            (Unconfigured, Request::SHUTDOWN, &[Success], Finalized, &[5, 50]),
            (Inactive, Request::SHUTDOWN, &[Failure], Finalized, &[6, 51]),
            (Active, Request::SHUTDOWN, &[Error, Failure], Finalized, &[7, 52, 61]),
            (Active, Request::Id(7), &[Success], Finalized, &[7, 50]),
        ] {
            let result = run(from, request, answers);
            assert_eq!(result, (Some(answers[0]), to, edges.to_vec()), "{from} {request}");
        }
    }

    #[test]
    fn a_transition_waits_for_an_answer_that_is_pending() {
        use State::*;
        for (answers, to) in [
            (&[Success][..], Active),
            (&[Failure], Inactive),
            (&[Error, Success], Unconfigured),
            // Error processing cannot wait.
            (&[Error, Pending], Finalized),
        ] {
            let machine = at(Inactive);
            assert!(!machine.resume(Success, |_, _| Success, |_| {}), "nothing was pending");
            assert_eq!(machine.run(Request::ACTIVATE, |_, _| Pending, |_| {}), Ok(Pending));
            assert_eq!(machine.state(), Activating);
            assert!(machine.begin(Request::DEACTIVATE).is_err());
            let mut later = answers[1..].iter();
            let asked = |state, from| {
                assert_eq!((state, from), (ErrorProcessing, Inactive));
                *later.next().expect("answer prepared")
            };
            assert!(machine.resume(answers[0], asked, |_| {}));
            assert_eq!(machine.state(), to, "{answers:?}");
            assert!(!machine.resume(Success, |_, _| Success, |_| {}), "it was told once");
        }
    }

    #[test]
    fn what_is_not_available_changes_nothing_and_says_what_is() {
        for (from, request) in [
            (State::Unconfigured, Request::ACTIVATE),
            (State::Unconfigured, Request::Id(6)),
            (State::Inactive, Request::CONFIGURE),
            (State::Active, Request::Id(97)),
            (State::Finalized, Request::SHUTDOWN),
            (State::Unconfigured, Request::Label("")),
        ] {
            assert_eq!(run(from, request, &[]), (None, from, vec![]));
        }
        let error = at(State::Inactive).begin(Request::CONFIGURE).unwrap_err().to_string();
        let expected = "transition 'configure' is not available in state 'inactive'; available: cleanup, activate, shutdown";
        assert_eq!(error, expected);
    }

    #[test]
    fn nobody_can_interfere_while_a_callback_runs() {
        let machine = StateMachine::default();
        machine.begin(Request::CONFIGURE).unwrap();
        assert!(machine.begin(Request::Label("transition_success")).is_err());
        assert!(machine.begin(Request::Id(10)).is_err());
        assert_eq!(machine.finish(Success).unwrap().goal, State::Inactive);
        assert_eq!(machine.finish(Success), None);
    }

    #[test]
    fn a_label_decides_over_the_number() {
        assert_eq!(Request::new(5, "configure"), Request::CONFIGURE);
        assert_eq!(Request::new(3, ""), Request::Id(3));
    }

    #[test]
    fn lists_are_those_of_the_ros2_command_line() {
        let list = |state| at(state).available().map(|t| (t.label, t.id)).collect::<Vec<_>>();
        assert_eq!(list(State::Unconfigured), [("configure", 1), ("shutdown", 5)]);
        assert_eq!(list(State::Inactive), [("cleanup", 2), ("activate", 3), ("shutdown", 6)]);
        assert_eq!(list(State::Active), [("deactivate", 4), ("shutdown", 7)]);
        assert_eq!(list(State::Finalized), []);
        let states: Vec<_> = State::ALL.iter().map(|s| (s.id(), s.label())).collect();
        assert_eq!(states[6..8], [(11, "cleaningup"), (12, "shuttingdown")]);
    }

    proptest! {
        #[test]
        fn a_machine_always_rests_in_a_primary_state(
            steps in proptest::collection::vec((any::<u8>(), prop_oneof![Just(Success), Just(Failure), Just(Error)]), 0..50)
        ) {
            let machine = StateMachine::default();
            for (id, answer) in steps {
                let before = machine.state();
                let result = machine.run(Request::Id(id % 10), |_, _| answer, |_| {});
                prop_assert!(!machine.state().is_transition());
                prop_assert!(machine.state() != State::Unknown);
                if result.is_err() || before == State::Finalized {
                    prop_assert_eq!(machine.state(), before);
                }
            }
        }
    }
}
