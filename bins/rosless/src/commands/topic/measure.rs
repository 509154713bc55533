//! What `topic hz`, `topic bw` and `topic delay` have in common: they listen, and print a line every second.

use std::{cell::RefCell, rc::Rc, time::Duration};

use clap::Args;
use rosless_graph::{Sample, monotonic};

use super::{SimTime, Source};
use crate::{
    Environment,
    cli::seconds,
    commands::names,
    failure::{Failure, Result},
    output,
    qos::{self, QosArgs},
};

#[derive(Args, Debug)]
pub(super) struct Measurement {
    #[arg(add = names::topics())]
    topic_name: String,
    /// Leave after this long; exit code 1 if there was nothing to measure
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    timeout: Option<Duration>,
    #[command(flatten)]
    qos: QosArgs,
    #[command(flatten)]
    sim_time: SimTime,
}

/// What is measured on a topic.
pub(super) trait Meter: 'static {
    /// Messages of this topic will come now.
    fn subscribed(&self, _: &Environment, _topic: &str) {}

    /// A message came.
    ///
    /// # Errors
    /// When such messages cannot be measured.
    fn arrived(&mut self, source: &Source, sample: &Sample<Vec<u8>>) -> Result<()>;

    /// Prints where things stand; `false` when it is too early.
    fn print(&self, environment: &Environment) -> bool;
}

impl Measurement {
    pub(super) fn run(self, environment: &Environment, meter: impl Meter) -> Result<()> {
        let session = environment.join()?;
        self.sim_time.remark();
        let patience = self.timeout.unwrap_or(Duration::MAX / 4);
        let source = Source::find(environment, &session, &self.topic_name, None, patience)?;
        let patience = patience.saturating_sub(source.waited);
        let qos = self.qos.apply(qos::to_hear_all(&source.publishers.iter().collect::<Vec<_>>()).0);
        let topic = source.topic.clone();
        // The meter, how many messages it got, and why it can go on no more.
        let state = Rc::new(RefCell::new((meter, 0_u64, None)));
        let (shared, (ty, hash)) = (state.clone(), source.known.name_and_hash());
        let (ty, hash) = (ty.to_owned(), hash.to_owned());
        session.event_loop.subscribe_raw(&session.node, &topic, &ty, &hash, qos, move |(), sample| {
            let (meter, count, problem) = &mut *shared.borrow_mut();
            *count += 1;
            if let Err(failure) = meter.arrived(&source, &sample) {
                *problem = Some(failure);
            }
        })?;
        state.borrow().0.subscribed(environment, &topic);
        let (mut next, mut printed, mut last) = (monotonic() + Duration::from_secs(1), 0, 0);
        let ended = session.run_until(patience, || {
            let (meter, count, problem) = &*state.borrow();
            if monotonic() >= next {
                next += Duration::from_secs(1);
                // Silence is shown as silence.
                if *count != last && meter.print(environment) {
                    printed += 1;
                }
                last = *count;
            }
            problem.is_some() || output::closed()
        });
        if let Some(failure) = state.borrow_mut().2.take() {
            return Err(failure);
        }
        match ended {
            Err(interrupted) if interrupted.code == 130 && printed > 0 => Ok(()),
            Err(other) => Err(other),
            Ok(_) if printed == 0 => Err(Failure::new(format!("too few messages on {topic} to measure"))),
            Ok(_) => Ok(()),
        }
    }
}
