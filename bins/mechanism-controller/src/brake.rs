//! Stopping, for commands that leave: nobody leaves a mechanism moving without saying so.

use std::{cell::RefCell, rc::Rc, time::Duration};

use rosless_cli::{Failure, Result};
use rosless_graph::{
    action::{ActionClient, GoalUpdate},
    monotonic,
};
use rosless_mechanism::{engine::Which, following::BOTH};
use rosless_wire::{
    Action,
    mecha_control::action::{DaizaCmd, DaizaCmdGoal, HinaCmd, HinaCmdGoal},
};

use crate::session::{App, Session};

/// How long a controller may take to confirm a stop.
pub(crate) const STOPPING: Duration = Duration::from_secs(2);

/// The STOP goals of both mechanisms, matched beforehand so that no time is lost when they are needed.
pub(crate) struct Brake<T: 'static> {
    daiza: ActionClient<DaizaCmd, App<T>>,
    hina: ActionClient<HinaCmd, App<T>>,
}

/// What a stop came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stopped {
    pub(crate) which: Which,
    /// The controller has said that it is done.
    pub(crate) confirmed: bool,
    /// What the hardware could not stop.
    pub(crate) goes_on: Option<String>,
}

impl Stopped {
    /// For people, after the mechanism's name.
    pub(crate) fn text(&self) -> String {
        match (self.confirmed, &self.goes_on) {
            (false, _) => "not stopped: the controller does not answer".to_owned(),
            (true, Some(what)) => format!("the sequence is stopped; {what}"),
            (true, None) => "stopped".to_owned(),
        }
    }
}

type Ends = Rc<RefCell<Vec<Which>>>;

fn send<A: Action, T: 'static>(
    client: &ActionClient<A, App<T>>,
    goal: A::Goal,
    which: Which,
    (find, timeout): (Duration, Duration),
    ended: &Ends,
) {
    let ended = ended.clone();
    client.send_goal(goal, find, timeout, move |_, update| {
        if let GoalUpdate::Ended(..) = update {
            ended.borrow_mut().push(which);
        }
    });
}

impl<T: 'static> Brake<T> {
    pub(crate) fn new(session: &Session<T>) -> Result<Self> {
        let (events, node) = (&session.event_loop, &session.node);
        Ok(Self {
            daiza: events.action_client(node, "daiza_cmd")?,
            hina: events.action_client(node, "hina_cmd")?,
        })
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.daiza.is_ready() && self.hina.is_ready()
    }

    /// Stops these and waits for the confirmation.
    pub(crate) fn stop(
        &self,
        session: &Session<T>,
        which: &[Which],
        find: Duration,
        timeout: Duration,
    ) -> Result<Vec<Stopped>> {
        let ended = Ends::default();
        for which in which {
            let limits = (find, timeout);
            match which {
                Which::Pedestal => {
                    let goal = DaizaCmdGoal { command: DaizaCmdGoal::STOP };
                    send(&self.daiza, goal, *which, limits, &ended);
                }
                Which::Doll => {
                    let goal = HinaCmdGoal { command: HinaCmdGoal::STOP };
                    send(&self.hina, goal, *which, limits, &ended);
                }
            }
        }
        let confirmed = |which: &Which| ended.borrow().contains(which);
        let all = || which.iter().all(confirmed);
        let patience = monotonic() + find + timeout;
        // Signals come in twos when a terminal goes, and none of them hurries a stop.
        while !all() && monotonic() < patience {
            match session.wait(patience.saturating_sub(monotonic()), |_| all()) {
                Err(failure) if !failure.is_interruption() => return Err(failure),
                _ => {}
            }
        }
        // What goes on is told by the status, which may come a moment after the answer.
        let idle = |app: &mut App<T>| {
            app.seen.as_ref().is_some_and(|seen| which.iter().all(|which| !seen.part(*which).running))
        };
        let _ = all() && session.wait(Duration::from_millis(300), idle).is_ok();
        let goes_on = |which| session.with(|app| app.seen.as_ref()?.part(which).goes_on.clone());
        let stopped =
            |which: &Which| Stopped { which: *which, confirmed: confirmed(which), goes_on: goes_on(*which) };
        Ok(which.iter().map(stopped).collect())
    }
}

/// Stops both, for the command of that name and for keys.
pub(crate) fn stop_both<T: 'static>(brake: &Brake<T>, session: &Session<T>) -> Result<Vec<Stopped>> {
    brake.stop(session, &BOTH, STOPPING, STOPPING)
}

/// What a stop of these came to, as a failure when it is none: a lift that goes on is not stopped.
pub(crate) fn judge(stopped: &[Stopped]) -> Result<()> {
    let failed = |s: &&Stopped| !s.confirmed || s.goes_on.is_some() && s.which == Which::Doll;
    match stopped.iter().find(failed) {
        Some(_) => Err(Failure::told()),
        None => Ok(()),
    }
}
