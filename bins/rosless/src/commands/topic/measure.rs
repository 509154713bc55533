//! What `topic hz`, `topic bw` and `topic delay` have in common: they listen, and print a line or a table every second.

use std::{cell::RefCell, rc::Rc, time::Duration};

use clap::Args;
use rosless_cli::table::columns;
use rosless_graph::{Sample, monotonic};
use serde_json::Value;

use super::{SimTime, Source, time, visible};
use crate::{
    Environment,
    cli::seconds,
    commands::names,
    failure::{Failure, Result},
    output::{self, err, out},
    qos::{self, QosArguments},
    session::{FOREVER, Session, absolute},
};

#[derive(Args, Debug)]
pub(super) struct Measurement {
    #[arg(add = names::topics(), required_unless_present = "all")]
    topic_name: Vec<String>,
    /// Every topic on the graph, also those that come later
    #[arg(short, long, conflicts_with = "topic_name")]
    all: bool,
    /// Leave after this long; exit code 1 if there was nothing to measure
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    timeout: Option<Duration>,
    #[command(flatten)]
    qos: QosArguments,
    #[command(flatten)]
    sim_time: SimTime,
}

/// Where a measurement stands.
pub(super) struct Figures {
    pub(super) json: Value,
    /// As ros2 prints it for one topic.
    pub(super) text: String,
    /// A row of the table for several.
    pub(super) cells: Vec<String>,
}

/// What is measured on a topic.
pub(super) trait Meter: Clone + 'static {
    /// What stands above the cells.
    const TITLES: &'static [&'static str];

    /// What is said when messages of a topic will come.
    fn welcome(_topic: &str) -> Option<String> {
        None
    }

    /// A message came.
    ///
    /// # Errors
    /// When such messages cannot be measured.
    fn arrived(&mut self, source: &Source, sample: &Sample<Vec<u8>>, now: Duration) -> Result<()>;

    /// Where things stand; nothing when it is too early.
    fn figures(&self, now: Duration) -> Option<Figures>;
}

/// The meter of a topic, how many messages it got, and why it can go on no more.
struct State<M> {
    meter: M,
    count: u64,
    problem: Option<Failure>,
}

struct Listener<M> {
    topic: String,
    state: Rc<RefCell<State<M>>>,
    /// How many messages had come when it was looked at last.
    looked: u64,
}

impl Measurement {
    /// Whether times are those of /clock.
    pub(super) fn is_simulated(&self) -> bool {
        self.sim_time.use_sim_time
    }

    /// Measures with a meter like this one for every topic; `wall` when simulated time is not wanted for it.
    pub(super) fn run<M: Meter>(self, environment: &Environment, meter: M, wall: bool) -> Result<()> {
        let session = self.sim_time.join(environment, None)?;
        let simulated = self.sim_time.use_sim_time && !wall;
        let many = self.all || self.topic_name.len() > 1;
        let begin = monotonic();
        let left = || self.timeout.map_or(FOREVER, |timeout| (begin + timeout).saturating_sub(monotonic()));
        let mut listeners = Vec::new();
        let names: Vec<_> = self.topic_name.iter().map(|name| absolute(name)).collect();
        for name in &names {
            listeners.push(self.listen(environment, &session, name, left(), &meter, simulated)?);
        }
        let (mut next, mut printed, mut refused) = (monotonic() + Duration::from_secs(1), 0_u64, Vec::new());
        let ended = loop {
            if self.all {
                self.listen_to_new(environment, &session, &mut listeners, &mut refused, &meter, simulated)?;
            }
            let broken = || listeners.iter().any(|listener| listener.state.borrow().problem.is_some());
            let pause = next.saturating_sub(monotonic()).min(left());
            match session.run_until(pause, || (!self.all && broken()) || output::closed()) {
                Ok(false) => {}
                ended => break ended.map(|_| ()),
            }
            let now = if simulated { time(&session.node) } else { monotonic() };
            if monotonic() >= next {
                next += Duration::from_secs(1);
                printed += show(environment, &mut listeners, many, now);
            }
            if left().is_zero() {
                break Ok(());
            }
        };
        if let Some(failure) = listeners.iter().find_map(|l| l.state.borrow_mut().problem.take())
            && !self.all
        {
            return Err(failure);
        }
        match ended {
            Err(interrupted) if interrupted.code == 130 && printed > 0 => Ok(()),
            Err(other) => Err(other),
            Ok(()) if printed == 0 => {
                let topics = if names.is_empty() { "the graph".to_owned() } else { names.join(", ") };
                Err(Failure::new(format!("too few messages on {topics} to measure")))
            }
            Ok(()) => Ok(()),
        }
    }

    fn listen<M: Meter>(
        &self,
        environment: &Environment,
        session: &Session,
        topic: &str,
        patience: Duration,
        meter: &M,
        simulated: bool,
    ) -> Result<Listener<M>> {
        let source = Source::find(environment, session, topic, None, patience)?;
        let qos = self.qos.apply(qos::to_hear_all(&source.publishers.iter().collect::<Vec<_>>()).0);
        let topic = source.topic.clone();
        let state = Rc::new(RefCell::new(State { meter: meter.clone(), count: 0, problem: None }));
        let (shared, node) = (state.clone(), session.node.clone());
        let (ty, hash) = (source.known.name().to_owned(), source.known.hash.clone());
        session.event_loop.subscribe_raw(&session.node, (&topic, qos), (&ty, &hash), move |(), sample| {
            let now = if simulated { time(&node) } else { monotonic() };
            let state = &mut *shared.borrow_mut();
            state.count += 1;
            if let Err(failure) = state.meter.arrived(&source, &sample, now) {
                state.problem = Some(failure);
            }
        })?;
        if let Some(welcome) = M::welcome(&topic).filter(|_| !environment.json()) {
            out!("{welcome}");
        }
        Ok(Listener { topic, state, looked: 0 })
    }

    /// For `--all`: topics that have come. One whose type cannot be known is named once.
    fn listen_to_new<M: Meter>(
        &self,
        environment: &Environment,
        session: &Session,
        listeners: &mut Vec<Listener<M>>,
        refused: &mut Vec<String>,
        meter: &M,
        simulated: bool,
    ) -> Result<()> {
        let graph = if listeners.is_empty() { session.whole_graph()? } else { session.graph() };
        for topic in visible(&graph, false).into_keys() {
            let known = refused.contains(&topic) || listeners.iter().any(|listener| listener.topic == topic);
            if known || graph.publishers(&topic).is_empty() {
                continue;
            }
            match self.listen(environment, session, &topic, Duration::ZERO, meter, simulated) {
                Ok(listener) => listeners.push(listener),
                Err(failure) if failure.code == 130 => return Err(failure),
                Err(failure) => {
                    err!("{topic}: {}", failure.message);
                    refused.push(topic);
                }
            }
        }
        Ok(())
    }
}

/// Prints where things stand on the topics of which something came; how many these are.
fn show<M: Meter>(
    environment: &Environment,
    listeners: &mut [Listener<M>],
    many: bool,
    now: Duration,
) -> u64 {
    let mut rows = Vec::new();
    let mut shown = 0;
    for listener in listeners {
        let state = listener.state.borrow();
        // Silence is shown as silence.
        let silent = std::mem::replace(&mut listener.looked, state.count) == state.count;
        let Some(figures) = state.meter.figures(now).filter(|_| !silent) else { continue };
        shown += 1;
        match (environment.json(), many) {
            (true, false) => output::json_line(&figures.json),
            (true, true) => {
                let mut json = figures.json;
                json["topic"] = listener.topic.clone().into();
                output::json_line(&json);
            }
            (false, false) => out!("{}", figures.text),
            (false, true) => rows.push([vec![listener.topic.clone()], figures.cells].concat()),
        }
    }
    if !rows.is_empty() {
        out!("{}", columns(&[&["topic"], M::TITLES].concat(), rows));
    }
    shown
}
