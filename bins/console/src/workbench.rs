//! The debug controller: single actuators of a mechanism, straight to it, as long as somebody looks at it.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use rosless_graph::{Gid, Publisher, Qos, Subscription, TopicQos, monotonic};
use rosless_mechanism::{
    Profile, Status, Time,
    engine::Which,
    messages::{Dialect, Document, Nucleo},
    profile::ActuatorArrays,
    single::{Actuator, Outputs},
    sources::{Kind, STAND_IN_NODE, Source},
    status::{NODE, TOPIC},
    workbench::{Output, Workbench},
};
use rosless_web::ClientId;
use rosless_wire::{Message, mecha_control, nucleo_agent, std_msgs::msg::String as Text};
use serde_json::json;

use crate::{app::App, service_calls::Answer};

/// How often moves are looked at.
const TURN: Duration = Duration::from_millis(50);
/// What is seen is told this often even if nothing changed: a page must know that it is not old.
const TELL: Duration = Duration::from_millis(500);
/// A publisher whose node is not found by then has none.
const FIND_NODE: Duration = Duration::from_secs(2);
/// As the hardware can, in degrees.
const TILT: std::ops::RangeInclusive<f64> = -45.0..=185.0;

const TOPICS: [(Which, &str, &str); 2] =
    [(Which::Pedestal, "daiza_clamp", "daiza_state"), (Which::Doll, "hina_dastpan", "hina_state")];

enum Outlet {
    Document(Publisher<mecha_control::msg::ActuatorCommands>),
    Nucleo(Publisher<nucleo_agent::msg::ActuatorCommands>),
}

impl Outlet {
    fn matched(&self) -> usize {
        match self {
            Self::Document(publisher) => publisher.matched(),
            Self::Nucleo(publisher) => publisher.matched(),
        }
    }

    fn send(&self, arrays: ActuatorArrays) {
        match self {
            Self::Document(publisher) => publisher.publish(&arrays.into()),
            Self::Nucleo(publisher) => publisher.publish(&arrays.into()),
        };
    }
}

/// One mechanism on the graph, by its namespace.
pub(crate) struct OpenBench {
    bench: Workbench,
    watchers: BTreeSet<ClientId>,
    subscriptions: Vec<Subscription<App>>,
    outlets: [Option<Outlet>; 2],
    /// Since when publishers of sensors are known.
    seen: BTreeMap<Gid, Time>,
    /// Who waits for which move.
    jobs: BTreeMap<u64, (ClientId, Answer)>,
    next: u64,
    last: String,
    told: Duration,
}

impl OpenBench {
    /// Who published a sample, as far as that is known.
    fn source(&mut self, gid: Gid, app: &rosless_graph::Graph) -> Source {
        let first = *self.seen.entry(gid).or_insert_with(monotonic);
        let (name, kind) = match app.node_of(&gid) {
            Some(node) if node.name == STAND_IN_NODE => (node.to_string(), Kind::StandIn),
            Some(node) => (node.to_string(), Kind::Hardware),
            None if monotonic().saturating_sub(first) > FIND_NODE => {
                (format!("publisher {gid}"), Kind::Hardware)
            }
            None => (gid.to_string(), Kind::Unknown),
        };
        Source { id: gid.0, name, kind }
    }
}

impl App {
    /// Which hardware publishes its sensors in this namespace.
    fn profile_of(&self, space: &str) -> Option<Profile> {
        let topics = self.graph().topics();
        let types: BTreeSet<&String> = TOPICS
            .iter()
            .filter_map(|(_, _, sensors)| topics.get(&format!("{space}/{sensors}")))
            .flatten()
            .collect();
        let is = |name: &str| types.iter().any(|ty| *ty == name);
        match (is(<Document as Dialect>::Sensors::TYPE_NAME), is(<Nucleo as Dialect>::Sensors::TYPE_NAME)) {
            (true, _) => Some(Profile::Document),
            (false, true) => Some(Profile::Nucleo),
            _ => None,
        }
    }

    /// Lets a page look at a mechanism, and move single actuators of it.
    pub(crate) fn open_bench(&mut self, id: ClientId, space: &str) -> Result<(), String> {
        if !self.benches.contains_key(space) {
            let profile = self
                .profile_of(space)
                .ok_or_else(|| format!("no mechanism publishes {space}/daiza_state or {space}/hina_state"))?;
            let bench = OpenBench {
                bench: Workbench::new(profile),
                watchers: BTreeSet::from([id]),
                subscriptions: Vec::new(),
                outlets: [None, None],
                seen: BTreeMap::new(),
                jobs: BTreeMap::new(),
                next: 0,
                last: String::new(),
                told: Duration::ZERO,
            };
            self.benches.insert(space.to_owned(), bench);
            let opened = match profile {
                Profile::Document => self.listen_at::<Document>(space),
                Profile::Nucleo => self.listen_at::<Nucleo>(space),
            };
            match opened {
                Ok(subscriptions) => {
                    if let Some(open) = self.benches.get_mut(space) {
                        open.subscriptions = subscriptions;
                    }
                }
                Err(error) => {
                    self.benches.remove(space);
                    return Err(error.to_string());
                }
            }
            self.turn_bench(space.to_owned());
        }
        if let Some(open) = self.benches.get_mut(space) {
            open.watchers.insert(id);
            open.last.clear();
        }
        Ok(())
    }

    /// The page looks no more; what it began ends.
    pub(crate) fn leave_benches(&mut self, id: ClientId, space: Option<&str>) {
        for (name, open) in &mut self.benches {
            if space.is_none_or(|space| space == name) {
                open.watchers.remove(&id);
                let own: BTreeSet<u64> =
                    open.jobs.iter().filter(|(_, (client, _))| *client == id).map(|(job, _)| *job).collect();
                open.bench.stop("its page is gone", monotonic(), |job| own.contains(&job));
            }
        }
        self.settle_benches();
    }

    /// STOP, and a take-over: whatever is moved from here stands.
    pub(crate) fn stop_benches(&mut self) {
        for open in self.benches.values_mut() {
            open.bench.stop("stopped", monotonic(), |_| true);
        }
        self.settle_benches();
    }

    fn settle_benches(&mut self) {
        for space in self.benches.keys().cloned().collect::<Vec<_>>() {
            self.obey_bench(&space);
        }
    }

    fn listen_at<D: Dialect>(&self, space: &str) -> rosless_graph::Result<Vec<Subscription<App>>> {
        let (handle, node, qos) = (&self.handle, &self.node, Qos::default().best_effort());
        let mut all = Vec::new();
        for (which, commands, sensors) in TOPICS {
            let name = space.to_owned();
            let heard = move |app: &mut App, sample: rosless_graph::Sample<D::Sensors>| {
                let graph = app.graph();
                let Some(open) = app.benches.get_mut(&name) else { return };
                let source = open.source(sample.info.publisher, &graph);
                let (arrays, now) = (sample.message.into(), monotonic());
                match which {
                    Which::Pedestal => {
                        open.bench.sense_pedestal(D::PROFILE.read_pedestal_sensors(&arrays), &source, now);
                    }
                    Which::Doll => {
                        open.bench.sense_doll(D::PROFILE.read_doll_sensors(&arrays), &source, now);
                    }
                }
            };
            all.push(handle.subscribe::<D::Sensors>(node, (&format!("{space}/{sensors}"), qos), heard)?);
            let (name, own) = (space.to_owned(), self.context.gid().prefix());
            let told = move |app: &mut App, sample: rosless_graph::Sample<D::Actuators>| {
                let Some(open) = app.benches.get_mut(&name) else { return };
                if sample.info.publisher.prefix() == own {
                    return;
                }
                let (arrays, now) = (sample.message.into(), monotonic());
                match which {
                    Which::Pedestal => {
                        let command = D::PROFILE.read_pedestal_command(&arrays);
                        command.into_iter().for_each(|command| open.bench.tell_pedestal(command, now));
                    }
                    Which::Doll => {
                        let command = D::PROFILE.read_doll_command(&arrays, open.bench.settings());
                        command.into_iter().for_each(|command| open.bench.tell_doll(command, now));
                    }
                }
            };
            all.push(handle.subscribe::<D::Actuators>(node, (&format!("{space}/{commands}"), qos), told)?);
        }
        let name = space.to_owned();
        let topic = format!("{space}/{NODE}/{TOPIC}");
        all.push(handle.subscribe::<Text>(node, topic.latched(), move |app: &mut App, sample| {
            if let (Some(open), Ok(status)) =
                (app.benches.get_mut(&name), Status::from_json(&sample.message.data))
            {
                open.bench.hear_controller(status, monotonic());
            }
        })?);
        Ok(all)
    }

    /// Moves one actuator; answered when it has arrived, or will not.
    pub(crate) fn actuate(&mut self, id: ClientId, space: &str, actuator: Actuator, done: Answer) {
        let refused = match actuator {
            Actuator::Tilt { degrees } if !TILT.contains(&degrees) => {
                Some(format!("the tilt goes from {}° to {}°", TILT.start(), TILT.end()))
            }
            _ => None,
        };
        let Some(open) = self.benches.get_mut(space).filter(|_| refused.is_none()) else {
            return done(self, Err(refused.unwrap_or_else(|| "open its debug controller first".to_owned())));
        };
        open.next += 1;
        let job = open.next;
        open.jobs.insert(job, (id, done));
        open.bench.actuate(job, actuator, monotonic());
        self.obey_bench(space);
    }

    /// Does what the bench says.
    fn obey_bench(&mut self, space: &str) {
        let Some(open) = self.benches.get_mut(space) else { return };
        let mut ended = Vec::new();
        while let Some(output) = open.bench.poll_output() {
            match output {
                Output::Send(outputs) => {
                    let (settings, profile) = (open.bench.settings(), open.bench.settings().profile);
                    let (which, arrays) = match outputs {
                        Outputs::Pedestal(command) => (Which::Pedestal, profile.pedestal_command(&command)),
                        Outputs::Doll(command) => (Which::Doll, profile.doll_command(&command, settings)),
                    };
                    if let Some(outlet) = &open.outlets[which as usize] {
                        outlet.send(arrays);
                    }
                }
                Output::Ended(job, result) => {
                    ended.extend(open.jobs.remove(&job).map(|(_, done)| (done, result)));
                }
            }
        }
        for (done, result) in ended {
            done(self, result.map(|()| json!({"arrived": true})));
        }
    }

    /// Keeps publishers only where a move needs one, looks at the moves, tells what is seen, and comes again.
    fn turn_bench(&mut self, space: String) {
        let (graph, now) = (self.graph(), monotonic());
        let own = self.context.gid().prefix();
        let Some(open) = self.benches.get_mut(&space) else { return };
        for (which, commands, _) in TOPICS {
            let outlet = &mut open.outlets[which as usize];
            let topic = format!("{space}/{commands}");
            match (open.bench.wants_publisher(which, now), outlet.is_some()) {
                (true, false) => {
                    let made = match open.bench.settings().profile {
                        Profile::Document => self.node.publisher(&topic).map(Outlet::Document),
                        Profile::Nucleo => self.node.publisher(&topic).map(Outlet::Nucleo),
                    };
                    match made {
                        Ok(made) => *outlet = Some(made),
                        Err(error) => log::warn!(target: self.node.logger(), "{topic}: {error}"),
                    }
                }
                (false, true) => *outlet = None,
                _ => {}
            }
            let listening = graph.subscriptions(&topic).iter().filter(|s| s.gid.prefix() != own).count();
            let matched = outlet.as_ref().map_or(0, Outlet::matched);
            open.bench.reach(which, matched, listening);
        }
        open.bench.tick(now);
        open.seen.retain(|gid, _| graph.endpoint(gid).is_some());
        let view = serde_json::to_value(open.bench.view(now)).unwrap_or_default();
        // The age changes all the time and is told with the rest.
        let mut bare = view.clone();
        bare["age"] = json!(null);
        let (bare, watchers) = (bare.to_string(), open.watchers.clone());
        let gone = open.watchers.is_empty()
            && open.jobs.is_empty()
            && TOPICS.iter().all(|(which, ..)| !open.bench.wants_publisher(*which, now));
        if bare != open.last || now >= open.told + TELL {
            (open.last, open.told) = (bare, now);
            let text = json!({"op": "bench", "space": space, "view": view}).to_string();
            watchers.into_iter().for_each(|id| self.data(id, text.clone()));
        }
        self.obey_bench(&space);
        if gone {
            if let Some(open) = self.benches.remove(&space) {
                open.subscriptions.into_iter().for_each(Subscription::close);
            }
            return;
        }
        self.handle.once(TURN, move |app| app.turn_bench(space));
    }
}
