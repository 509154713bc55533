//! `rosless bag play`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::fd::OwnedFd,
    path::PathBuf,
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use clap::Args;
use regex_lite::Regex;
use rosless_bag::{Bag, Filter, Message};
use rosless_graph::{Publisher, RawPublisher, TopicQos, monotonic};
use rosless_recorder::{read_overrides, requested};
use rosless_schema::{DynamicMessage, MessageType};
use rosless_wire::{builtin_interfaces::msg::Time, rosgraph_msgs::msg::Clock};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use serde_json::json;

use super::{export::types, keys::Keys, open, progress::Progress, rewrite::latched_before, span};
use crate::{
    Environment,
    cli::seconds,
    failure::{Failure, Result},
    output::{self, err},
    session::{Session, absolute},
};

#[derive(Args, Debug)]
pub(crate) struct Play {
    /// Folder of a recording, or one file of it
    bag_path: PathBuf,
    /// How fast: 2 is twice as fast
    #[arg(short, long, default_value = "1.0", value_parser = rate, value_name = "FACTOR")]
    rate: f64,
    /// Begin anew at the end, until Ctrl-C
    #[arg(short, long)]
    r#loop: bool,
    /// Begin so long after the start of the recording
    #[arg(long, default_value = "0", value_parser = span, value_name = "SECONDS")]
    start_offset: Duration,
    /// Play so long of the recording
    #[arg(long, value_parser = span, value_name = "SECONDS")]
    playback_duration: Option<Duration>,
    /// Wait so long before the first message
    #[arg(short, long, default_value = "0", value_parser = seconds, value_name = "SECONDS")]
    delay: Duration,
    /// Begin paused; the space bar goes on
    #[arg(short = 'p', long)]
    start_paused: bool,
    /// Publish the recording's time on /clock, so often per second
    #[arg(long, value_name = "HZ", num_args = 0..=1, default_missing_value = "40", value_parser = rate)]
    clock: Option<f64>,
    /// Publish topics under other names: OLD:=NEW
    #[arg(short = 'm', long, value_name = "OLD:=NEW", num_args = 1..)]
    remap: Vec<String>,
    /// Only these topics
    #[arg(long, value_name = "TOPIC", num_args = 1..)]
    topics: Vec<String>,
    /// Only topics that have this regular expression in their name
    #[arg(short = 'e', long, value_name = "REGEX")]
    regex: Option<String>,
    /// No topics that have this regular expression in their name
    #[arg(short = 'x', long, alias = "exclude", value_name = "REGEX")]
    exclude_regex: Option<String>,
    /// Not these topics
    #[arg(long, value_name = "TOPIC", num_args = 1..)]
    exclude_topics: Vec<String>,
    /// YAML with the quality of service of topics where it is to differ from the recorded one
    #[arg(long, value_name = "FILE")]
    qos_profile_overrides_path: Option<PathBuf>,
    /// Wait until so many subscriptions listen, for each topic
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    wait_matching_subscriptions: usize,
    /// Wait at the end so long for reliable subscriptions to have everything, in milliseconds; negative: do not wait
    #[arg(long, value_name = "MS", default_value_t = 2000, allow_negative_numbers = true)]
    wait_for_all_acked: i64,
    /// Name of the node
    #[arg(long, default_value = "rosbag2_player", value_name = "NAME")]
    node_name: String,
    /// Do not listen to keys
    #[arg(long)]
    disable_keyboard_controls: bool,
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok().filter(|rate| rate.is_finite() && *rate > 0.0 && *rate <= 1e6);
    rate.ok_or_else(|| "expected a number above 0".to_owned())
}

/// Where the recording is in time, and what the keys ask for.
#[derive(Debug)]
struct Playhead {
    /// These are the same instant: of this machine's clock, and of the recording.
    anchor: (Duration, u64),
    rate: f64,
    paused: bool,
    steps: u64,
    /// The alarm has gone off.
    rang: bool,
    /// An arrow key has three parts.
    escape: Vec<u8>,
}

impl Playhead {
    fn new(rate: f64, paused: bool) -> Self {
        Self { anchor: (Duration::ZERO, 0), rate, paused, steps: 0, rang: false, escape: Vec::new() }
    }

    fn due(&self, time: u64) -> Duration {
        let after = time.saturating_sub(self.anchor.1) as f64 / 1e9 / self.rate;
        self.anchor.0 + Duration::try_from_secs_f64(after).unwrap_or(Duration::MAX / 4)
    }

    fn time(&self, now: Duration) -> u64 {
        self.anchor.1 + (now.saturating_sub(self.anchor.0).as_secs_f64() * self.rate * 1e9) as u64
    }

    fn change(&mut self, now: Duration, change: impl FnOnce(&mut Self)) {
        if !self.paused {
            self.anchor = (now, self.time(now));
        }
        change(self);
        self.anchor.0 = now;
    }

    fn key(&mut self, key: u8, now: Duration) {
        self.escape.push(key);
        match (&*self.escape, key) {
            ([0x1b] | [0x1b, b'['], _) => return,
            ([0x1b, b'[', b'C'], _) | (_, b's') => self.steps += u64::from(self.paused),
            ([0x1b, b'[', b'A'], _) | (_, b'+') => self.change(now, |head| head.rate *= 1.1),
            ([0x1b, b'[', b'B'], _) | (_, b'-') => self.change(now, |head| head.rate /= 1.1),
            (_, b' ') => self.change(now, |head| head.paused = !head.paused),
            _ => {}
        }
        self.escape.clear();
    }
}

/// A recording of one message is not repeated as fast as the machine can: nanoseconds.
const SHORTEST_ROUND: u64 = 100_000_000;

/// Wakes the loop at an instant; its own timers are rounded up to milliseconds, which is much between two messages.
struct Alarm(Option<Rc<OwnedFd>>);

impl Alarm {
    fn new(session: &Session<Playhead>) -> Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        // Where there is none the loop's timers must do.
        let Ok(timer) = timerfd_create(TimerfdClockId::Monotonic, flags) else { return Ok(Self(None)) };
        let timer = Rc::new(timer);
        session.event_loop.watch(timer.clone(), |head: &mut Playhead, timer| {
            head.rang |= rustix::io::read(&*timer, &mut [0; 8]).is_ok();
            true
        })?;
        Ok(Self(Some(timer)))
    }

    /// Goes off after so long.
    fn set(&self, after: Duration) {
        let time = |after: Duration| Timespec {
            tv_sec: i64::try_from(after.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: after.subsec_nanos().into(),
        };
        let once = Itimerspec {
            it_interval: time(Duration::ZERO),
            it_value: time(after.max(Duration::from_nanos(1))),
        };
        if let Some(timer) = &self.0 {
            // The loop's own timer is set, too.
            let _ = timerfd_settime(timer, TimerfdTimerFlags::empty(), &once);
        }
    }
}

struct Output {
    publisher: RawPublisher,
    ty: Option<Arc<MessageType>>,
}

impl Output {
    fn publish(&self, message: Message) -> bool {
        let is_big_endian = message.data.get(1).is_some_and(|order| order & 1 == 0);
        let turned = self.ty.as_ref().filter(|_| is_big_endian);
        let turned = turned.and_then(|ty| DynamicMessage::from_payload(ty, &message.data).ok());
        self.publisher.publish(turned.map_or(message.data, |message| message.to_payload()))
    }
}

impl Play {
    pub(crate) fn run(self, environment: &Environment) -> Result<()> {
        let bag = open(&self.bag_path)?;
        let filter = self.filter(&bag)?;
        let session = Session::join(
            &environment.settings,
            &self.node_name,
            Playhead::new(self.rate, self.start_paused),
        )?
        .spin_time(environment.global.spin_time);
        let outputs = self.outputs(environment, &session, &bag, &filter)?;
        let clock =
            self.clock.map(|hz| Ok::<_, Failure>((session.node.publisher("/clock".keep_last(1))?, hz)));
        let clock: Option<(Publisher<Clock>, f64)> = clock.transpose()?;
        // Who listens is to hear the first message.
        session.whole_graph()?;
        if self.wait_matching_subscriptions > 0 {
            let wanted = self.wait_matching_subscriptions;
            session.wait(rosless_cli::session::FOREVER, |_| {
                outputs.values().all(|o| o.publisher.matched() >= wanted)
            })?;
        }
        session.run_until(self.delay, || false)?;
        let keys =
            Keys::watch(&session.event_loop, !self.disable_keyboard_controls, |head: &mut Playhead, key| {
                head.key(key, monotonic());
            })?;
        if keys.are_there() {
            err!(
                "Press SPACE to pause and resume, CURSOR_RIGHT for one message, CURSOR_UP and DOWN for the rate"
            );
        }
        session.with(|head| head.anchor = (monotonic(), filter.start));
        if let Some((publisher, hz)) = clock {
            session.event_loop.timer(Duration::from_secs_f64(1.0 / hz), move |head: &mut Playhead| {
                let time = if head.paused { head.anchor.1 } else { head.time(monotonic()) };
                let (sec, nanosec) = (time / 1_000_000_000, (time % 1_000_000_000) as u32);
                publisher
                    .publish(&Clock { clock: Time { sec: i32::try_from(sec).unwrap_or(i32::MAX), nanosec } });
            });
        }
        let alarm = Alarm::new(&session)?;
        let mut tally = Tally::default();
        let ended = loop {
            match self.once(&session, &bag, &filter, (&outputs, &alarm), &mut tally) {
                Ok(()) if self.r#loop && tally.messages > 0 => {}
                other => break other,
            }
        };
        drop(keys);
        let acknowledged = u64::try_from(self.wait_for_all_acked).ok().map(Duration::from_millis);
        if ended.is_ok()
            && let Some(patience) = acknowledged
        {
            let late: Vec<_> =
                outputs.values().filter(|output| !output.publisher.wait_acknowledged(patience)).collect();
            if !late.is_empty() {
                err!("WARNING: not every reliable subscription confirmed all messages");
            }
        }
        tally.print();
        match ended {
            Err(failure) if failure.is_interruption() => Ok(()),
            other => other,
        }
    }

    fn filter(&self, bag: &Bag) -> Result<Filter> {
        let full =
            |names: &[String]| -> BTreeSet<String> { names.iter().map(|name| absolute(name)).collect() };
        let regex = |text: &Option<String>| {
            text.as_deref()
                .map(Regex::new)
                .transpose()
                .map_err(|error| Failure::usage(format!("no expression: {error}")))
        };
        let (topics, excluded) = (full(&self.topics), full(&self.exclude_topics));
        let (regex, exclude) = (regex(&self.regex)?, regex(&self.exclude_regex)?);
        let everything = topics.is_empty() && regex.is_none();
        let wanted = |name: &str| {
            let named = everything
                || topics.contains(name)
                || regex.as_ref().is_some_and(|regex| regex.is_match(name));
            named && !excluded.contains(name) && !exclude.as_ref().is_some_and(|regex| regex.is_match(name))
        };
        let start = bag.metadata.start + self.start_offset.as_nanos() as u64;
        let chosen: BTreeSet<String> =
            bag.topics.iter().map(|topic| topic.name.clone()).filter(|name| wanted(name)).collect();
        if chosen.is_empty() {
            return Err(Failure::new("nothing of the recording is chosen; see `rosless bag info`"));
        }
        let end = self.playback_duration.map(|duration| start + duration.as_nanos() as u64);
        Ok(Filter { topics: Some(chosen), start, end })
    }

    fn outputs(
        &self,
        environment: &Environment,
        session: &Session<Playhead>,
        bag: &Bag,
        filter: &Filter,
    ) -> Result<BTreeMap<usize, Output>> {
        let text = match &self.qos_profile_overrides_path {
            None => "{}".to_owned(),
            Some(path) => {
                fs::read_to_string(path).map_err(|e| Failure::usage(format!("{}: {e}", path.display())))?
            }
        };
        let overrides = read_overrides(&text).map_err(Failure::usage)?;
        let mut remaps = BTreeMap::new();
        for rule in &self.remap {
            let (old, new) = rule
                .split_once(":=")
                .ok_or_else(|| Failure::usage(format!("{rule:?} is not of the form OLD:=NEW")))?;
            remaps.insert(absolute(old), absolute(new));
        }
        let types = types(bag, &environment.registry()?);
        let mut outputs = BTreeMap::new();
        for (index, topic) in bag.topics.iter().enumerate() {
            if filter.topics.as_ref().is_some_and(|topics| !topics.contains(&topic.name)) {
                continue;
            }
            let name = remaps.get(&topic.name).unwrap_or(&topic.name);
            let mut qos = requested(&topic.qos);
            if let Some(change) = overrides.get(&topic.name) {
                qos = change(qos);
            }
            let publisher = session.node.raw_publisher((name, qos), (&topic.ty, &topic.type_hash))?;
            outputs.insert(index, Output { publisher, ty: types[index].clone() });
        }
        Ok(outputs)
    }

    /// From the beginning to the end.
    fn once(
        &self,
        session: &Session<Playhead>,
        bag: &Bag,
        filter: &Filter,
        (outputs, alarm): (&BTreeMap<usize, Output>, &Alarm),
        tally: &mut Tally,
    ) -> Result<()> {
        for (topic, message) in latched_before(bag, filter) {
            outputs.get(&topic).map(|output| output.publish(message));
        }
        let end = filter.end.unwrap_or(u64::MAX).min(bag.metadata.start + bag.metadata.duration);
        let span = end.saturating_sub(filter.start).max(1) as f64;
        let mut progress = Progress::new(false);
        session.with(|head| head.anchor = (monotonic(), filter.start.max(bag.metadata.start)));
        let mut since_wait = 0;
        for item in bag.messages(filter) {
            let Ok((topic, message)) = item.map_err(|error| err!("WARNING: {error}")) else { continue };
            let Some(output) = outputs.get(&topic) else { continue };
            let time = message.log_time;
            let done = time.saturating_sub(filter.start) as f64 / span;
            let (due, waited) = arrive(session, alarm, time, || {
                progress.tell_now(tally.messages, tally.bytes, Some(done), "paused");
            })?;
            since_wait = if waited { 1 } else { since_wait + 1 };
            // A burst must not keep the network waiting.
            if since_wait % 64 == 0 {
                session.run_until(Duration::ZERO, || false)?;
            }
            tally.errors.push(monotonic().saturating_sub(due).as_nanos() as u64);
            tally.messages += 1;
            tally.bytes += message.data.len() as u64;
            tally.dropped += u64::from(!output.publish(message));
            let rate = session.with(|head| head.rate);
            let more = if rate == self.rate { String::new() } else { format!("rate {rate:.2}") };
            progress.tell(tally.messages, tally.bytes, Some(done), &more);
        }
        if self.r#loop {
            // A round takes its time, however few of its messages are chosen.
            arrive(session, alarm, end.max(filter.start + SHORTEST_ROUND), || {})?;
        }
        progress.end();
        Ok(())
    }
}

/// Waits for an instant of the recording; when it was due, and whether there was something to wait for.
fn arrive(
    session: &Session<Playhead>,
    alarm: &Alarm,
    time: u64,
    mut pausing: impl FnMut(),
) -> Result<(Duration, bool)> {
    let mut waited = false;
    loop {
        let (due, paused, step) = session.with(|head| {
            let step = head.paused && head.steps > 0;
            head.steps -= u64::from(step);
            if step {
                head.anchor.1 = time;
            }
            (head.due(time), head.paused, step)
        });
        let now = monotonic();
        if step {
            return Ok((now, waited));
        }
        if !paused && due <= now {
            return Ok((due, waited));
        }
        let patience = if paused { rosless_cli::session::FOREVER } else { due - now };
        if paused {
            pausing();
        } else {
            alarm.set(patience);
        }
        let before = session.with(|head| {
            head.rang = false;
            (head.paused, head.rate, head.steps)
        });
        session.wait(patience, |head| {
            (!paused && head.rang) || (head.paused, head.rate, head.steps) != before
        })?;
        waited = true;
    }
}

/// What was played, and how far from its time.
#[derive(Debug, Default)]
struct Tally {
    messages: u64,
    bytes: u64,
    dropped: u64,
    /// Nanoseconds after the right instant.
    errors: Vec<u64>,
}

impl Tally {
    fn print(&mut self) {
        self.errors.sort_unstable();
        let at = |share: f64| {
            let last = self.errors.len().saturating_sub(1);
            self.errors.get((last as f64 * share) as usize).map_or(0.0, |error| *error as f64 / 1e6)
        };
        let (half, most, worst) = (at(0.5), at(0.99), at(1.0));
        let json = json!({"messages": self.messages, "bytes": self.bytes, "dropped": self.dropped,
            "timing_error_ms": {"p50": half, "p99": most, "max": worst}});
        output::answer(&json, || {
            let dropped =
                if self.dropped > 0 { format!(", {} dropped", self.dropped) } else { String::new() };
            format!(
                "Played {} messages{dropped}; timing error p50 {half:.3} ms, p99 {most:.3} ms, max {worst:.3} ms",
                self.messages
            )
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn time_stands_still_in_a_pause_and_goes_on_at_its_rate() {
        let seconds = Duration::from_secs;
        let mut head = Playhead { anchor: (seconds(10), 5 * SECOND), ..Playhead::new(2.0, false) };
        assert_eq!((head.due(7 * SECOND), head.time(seconds(11))), (seconds(11), 7 * SECOND));
        head.key(b' ', seconds(11));
        assert!(head.paused);
        head.key(b' ', seconds(20));
        assert_eq!((head.paused, head.due(9 * SECOND)), (false, seconds(21)));
        head.key(b's', seconds(20));
        assert_eq!(head.steps, 0, "steps are for pauses");
        for key in [b' ', 0x1b, b'[', b'C'] {
            head.key(key, seconds(21));
        }
        assert_eq!((head.steps, head.paused), (1, true));
        [0x1b, b'[', b'A'].into_iter().for_each(|key| head.key(key, seconds(21)));
        assert!((head.rate - 2.2).abs() < 1e-9);
    }
}
