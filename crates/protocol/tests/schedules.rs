//! Thousands of random schedules: a controller and simulated systems, both on the real engines, over a network that
//! loses, repeats, delays and reorders, with systems that fail, are slow, die and come back, and clocks that are off.

use std::{collections::BTreeMap, time::Duration};

use proptest::prelude::*;
use rosless_engine::{Engine as _, Now, Wall};
use rosless_protocol::{
    Dialect,
    controlled::{self, Controlled},
    controller::{
        self, Ask, Controller, Event, Failure, Hearing, Memory, NoState, Outcome, Output, Participant,
        Report, Settings, Targets,
    },
    message::{Announcement, Command, Control, Kind, State},
    name::SystemId,
};

/// One request of an operator.
#[derive(Clone, Debug, Default)]
struct Wish {
    start: bool,
    /// One of them, or all.
    whom: Option<u8>,
    /// Milliseconds after the one before.
    pause: u64,
    session: u8,
    atomic: bool,
    restart: bool,
    /// A start so many milliseconds later.
    ahead: Option<u64>,
    /// It is given up after so many milliseconds.
    patience: Option<u64>,
    /// Somebody else's controller says it.
    foreign: bool,
}

impl Wish {
    fn plain(start: bool, whom: Option<u8>, pause: u64) -> Self {
        Self { start, whom, pause, ..Self::default() }
    }

    /// As if it were the only one.
    fn alone(self) -> Self {
        Self { pause: 40_000, patience: None, ..self }
    }
}

/// What the network and the systems do to us.
#[derive(Clone, Debug)]
struct World {
    systems: usize,
    loss_percent: u64,
    repeat_percent: u64,
    /// Commands are repeated, too, not only answers.
    repeat_commands: bool,
    max_delay_ms: u64,
    /// Messages of one sender overtake each other; real DDS writers keep their order.
    reorder: bool,
    max_transition_ms: u64,
    fail_percent: u64,
    deaths: bool,
    /// Systems tell the state from before a transition until it has ended.
    blind: bool,
    seed: u64,
    requests: Vec<Wish>,
    /// The controller ends then and comes back so much later.
    controller_away: Option<(u64, u64)>,
}

impl World {
    fn peaceful(systems: usize, requests: Vec<Wish>) -> Self {
        Self {
            systems,
            loss_percent: 0,
            repeat_percent: 0,
            repeat_commands: false,
            max_delay_ms: 3,
            reorder: false,
            max_transition_ms: 20,
            fail_percent: 0,
            deaths: false,
            blind: false,
            seed: 1,
            requests,
            controller_away: None,
        }
    }

    /// How many of its requests are to be reported.
    fn ours(&self) -> usize {
        self.requests.iter().filter(|wish| !wish.foreign).count()
    }

    /// Everything arrives in its order, and nobody dies.
    fn reliable(self) -> Self {
        let (loss_percent, repeat_percent) = (0, 0);
        Self { loss_percent, repeat_percent, reorder: false, deaths: false, controller_away: None, ..self }
    }
}

#[derive(Clone, Debug)]
enum Happening {
    Tell(usize, Control),
    Hear(Control, Participant),
    Query(usize, u64, u64),
    /// With the time of its machine, if it comes from the system itself, and when it was asked.
    State(usize, u64, Result<State, NoState>, Option<(Wall, u64)>),
    TransitionEnds(usize, u32),
    TransitionEvent(usize, State, State, Wall),
    /// It complains of something that has nothing to do with us.
    Complains(usize),
    Dies(usize),
    IsMissed(usize, u32),
    Returns(usize),
    /// The controller hears of it, at once or after it came back.
    IsFound(usize, u32),
    Request(Wish),
    Cancel(u64),
    /// It is to start at this instant of its clock.
    Arm(usize, u64, Control, u64),
    Armed(usize, u64, u64, Option<Wall>),
    /// The instant has come, if it was not given up.
    Rings(usize),
    ControllerLeaves(u64),
    ControllerReturns,
}

struct Simulated {
    id: SystemId,
    engine: Controlled,
    state: State,
    alive: bool,
    /// Counts lives, so that a transition of an earlier life does not end in this one.
    life: u32,
    clock_offset_ms: i64,
    running: Option<Command>,
    /// Every state it was in and from when.
    history: Vec<(u64, State)>,
    activations: u32,
    watched: bool,
    /// Its last transition, kept for who listens late.
    last_transition: Option<(State, State, Wall)>,
    /// The session it was started in.
    session: Option<String>,
}

struct Simulation {
    world: World,
    random: u64,
    millis: u64,
    controller: Controller,
    /// What it left behind for its next life.
    memory: Memory,
    away: bool,
    systems: Vec<Simulated>,
    agenda: BTreeMap<(u64, u64), Happening>,
    sequence: u64,
    /// When the latest message on each link arrives, for links that keep order.
    links: BTreeMap<(usize, bool), u64>,
    begun: BTreeMap<u64, u64>,
    reports: Vec<(u64, Report)>,
    /// Deaths in a session that were told, and systems said to have left one by themselves.
    left: Vec<(u64, SystemId, String)>,
    dropped: Vec<SystemId>,
    /// Goes on after the last report.
    play_out: bool,
}

impl Simulation {
    fn new(world: World) -> Self {
        let mut simulation = Self {
            random: world.seed | 1,
            millis: 0,
            controller: controller(0),
            memory: Memory::default(),
            away: false,
            systems: Vec::new(),
            agenda: BTreeMap::new(),
            sequence: 0,
            links: BTreeMap::new(),
            begun: BTreeMap::new(),
            reports: Vec::new(),
            left: Vec::new(),
            dropped: Vec::new(),
            play_out: false,
            world,
        };
        for n in 0..simulation.world.systems {
            let id = SystemId::resolve("/", &format!("system_{n}")).unwrap();
            let offset = simulation.dice(2000) as i64 - 1000;
            simulation.systems.push(Simulated {
                engine: Controlled::new(id.clone()),
                id,
                state: State::Unconfigured,
                alive: false,
                life: 0,
                clock_offset_ms: offset,
                running: None,
                history: Vec::new(),
                activations: 0,
                watched: false,
                last_transition: None,
                session: None,
            });
            for _ in 0..3 {
                let when = simulation.dice(20_000);
                simulation.plan(when, Happening::Complains(n));
            }
            simulation.plan(0, Happening::Returns(n));
        }
        let mut when = 1000;
        for wish in simulation.world.requests.clone() {
            when += wish.pause;
            simulation.plan(when, Happening::Request(wish));
        }
        if let Some((when, long)) = simulation.world.controller_away {
            simulation.plan(when, Happening::ControllerLeaves(long));
        }
        if simulation.world.deaths {
            for n in 0..simulation.world.systems {
                let dies = 1000 + simulation.dice(20_000);
                let returns = dies + 1000 + simulation.dice(10_000);
                simulation.plan(dies, Happening::Dies(n));
                simulation.plan(returns, Happening::Returns(n));
            }
        }
        simulation
    }

    fn dice(&mut self, sides: u64) -> u64 {
        // xorshift64*: the schedule must follow from the seed alone.
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) % sides.max(1)
    }

    fn plan(&mut self, when: u64, what: Happening) {
        self.sequence += 1;
        self.agenda.insert((when, self.sequence), what);
    }

    /// Sends over the link of system `n`, in one of its two directions.
    fn send(&mut self, n: usize, upward: bool, what: Happening) {
        let repeated = self.dice(100) < self.world.repeat_percent && (upward || self.world.repeat_commands);
        // A call has one answer.
        let repeated = repeated && !matches!(what, Happening::Armed(..));
        let copies = 1 + u64::from(repeated);
        for _ in 0..copies {
            if self.dice(100) < self.world.loss_percent {
                continue;
            }
            let mut arrives = self.millis + self.dice(self.world.max_delay_ms + 1);
            if !self.world.reorder {
                let last = self.links.entry((n, upward)).or_default();
                arrives = arrives.max(*last);
                *last = arrives;
            }
            self.plan(arrives, what.clone());
        }
    }

    fn run(&mut self, until: u64) {
        loop {
            let happening = self.agenda.first_key_value().map(|((when, _), _)| *when);
            let deadline = self.controller.next_deadline().filter(|_| !self.away);
            let deadline = deadline.map(|d| d.as_millis() as u64 + 1);
            let Some(next) = happening.into_iter().chain(deadline).min() else { return };
            let all_reported = self.reports.len() == self.world.ours();
            if next > until || all_reported && !self.play_out {
                return;
            }
            self.millis = self.millis.max(next);
            if happening == Some(next) {
                let (_, what) = self.agenda.pop_first().unwrap();
                self.happen(what);
            } else {
                self.controller.handle(controller::Input::Wake, now(self.millis, 0));
                let again = self.controller.next_deadline();
                assert!(
                    again.is_none_or(|d| d > now(self.millis, 0).mono),
                    "woken in vain: a driver would spin"
                );
            }
            self.drain_controller();
        }
    }

    fn happen(&mut self, what: Happening) {
        let here = now(self.millis, 0);
        match what {
            // Nobody is there to hear it.
            Happening::Hear(..)
            | Happening::State(..)
            | Happening::TransitionEvent(..)
            | Happening::Complains(_)
            | Happening::IsMissed(..)
            | Happening::IsFound(..)
            | Happening::Armed(..)
            | Happening::Request(Wish { foreign: false, .. })
            | Happening::Cancel(_)
                if self.away => {}
            Happening::Tell(n, message) if self.systems[n].alive => {
                self.feed(n, controlled::Input::Control(Dialect::Mocap, message));
            }
            Happening::Hear(message, participant) => {
                let (channel, participant) = ("/".into(), Some(participant));
                let input = controller::Input::Control { channel, sender: None, participant, message };
                self.controller.handle(input, here);
            }
            Happening::Query(n, query, asked) if self.systems[n].alive => {
                let state = match self.systems[n].running.filter(|_| !self.world.blind) {
                    Some(Command::Start) => State::Activating,
                    Some(Command::Stop) => State::Deactivating,
                    None => self.systems[n].state,
                };
                let clock = now(self.millis, self.systems[n].clock_offset_ms).wall;
                self.send(n, true, Happening::State(n, query, Ok(state), Some((clock, asked))));
            }
            Happening::State(n, query, result, clock) => {
                let system = self.systems[n].id.clone();
                if let Some((stamp, asked)) = clock {
                    let node = system.as_str().to_owned();
                    let participant = Some(participant(self.systems[n].life));
                    let how = Hearing::Reply { sent: Duration::from_millis(asked) };
                    self.controller.handle(controller::Input::Heard { node, participant, stamp, how }, here);
                }
                self.controller.handle(controller::Input::State { system, query, result }, here);
            }
            Happening::TransitionEnds(n, life) if self.systems[n].alive && self.systems[n].life == life => {
                let command = self.systems[n].running.take().expect("one transition at a time");
                let succeeded = self.dice(100) >= self.world.fail_percent;
                let way = match command {
                    Command::Start => [State::Inactive, State::Activating, State::Active],
                    Command::Stop => [State::Active, State::Deactivating, State::Inactive],
                };
                let state = if succeeded { way[2] } else { way[0] };
                if succeeded {
                    self.enter(n, state);
                }
                let stamp = now(self.millis, self.systems[n].clock_offset_ms).wall;
                self.systems[n].last_transition = Some((way[1], state, stamp));
                if self.systems[n].watched {
                    self.send(n, true, Happening::TransitionEvent(n, way[1], state, stamp));
                }
                self.feed(n, controlled::Input::Finished { succeeded });
            }
            Happening::Complains(n) => {
                let (logger, text) = (self.systems[n].id.bare().to_owned(), "fan too slow".to_owned());
                let stamp = now(self.millis, self.systems[n].clock_offset_ms).wall;
                self.controller.handle(controller::Input::Log { logger, error: true, text, stamp }, here);
            }
            Happening::TransitionEvent(n, from, to, stamp) => {
                let (system, stamp) = (self.systems[n].id.clone(), Some(stamp));
                self.controller.handle(controller::Input::Transition { system, from, to, stamp }, here);
            }
            Happening::Dies(n) => {
                self.systems[n].alive = false;
                self.systems[n].running = None;
                // Long enough that its successor may come first.
                let lease = 1 + self.dice(6000);
                self.plan(self.millis + lease, Happening::IsMissed(n, self.systems[n].life));
            }
            Happening::IsMissed(n, life) => {
                let node = self.systems[n].id.as_str().to_owned();
                let participant = Some(participant(life));
                self.controller.handle(controller::Input::Gone { node, participant }, here);
            }
            Happening::Returns(n) => {
                let system = &mut self.systems[n];
                system.alive = true;
                system.life += 1;
                (system.watched, system.last_transition, system.session) = (false, None, None);
                system.engine = Controlled::new(system.id.clone());
                let life = system.life;
                self.enter(n, State::Inactive);
                self.happen(Happening::IsFound(n, life));
            }
            Happening::IsFound(n, life) if self.systems[n].alive && self.systems[n].life == life => {
                let (source, node) =
                    (self.systems[n].id.bare().to_owned(), self.systems[n].id.as_str().to_owned());
                let announcement = Announcement { source, ros_version: 0, topics: vec!["data".into()] };
                let (channel, participant) = ("/".into(), Some(participant(life)));
                let input = controller::Input::Announced { channel, sender: None, participant, announcement };
                self.controller.handle(input, here);
                self.controller.handle(controller::Input::Reachable { node, reachable: true }, here);
            }
            Happening::Request(wish) => self.request(&wish, here),
            Happening::Cancel(number) => self.controller.cancel(number, here),
            Happening::Arm(n, request, message, sent) if self.systems[n].alive => {
                let there = now(self.millis, self.systems[n].clock_offset_ms);
                let armed = self.systems[n].engine.arm(BOSS, Dialect::Mocap, message, there).is_ok();
                if let Some(at) = self.systems[n].engine.next_deadline() {
                    self.plan(at.as_millis() as u64 + 1, Happening::Rings(n));
                }
                self.send(n, true, Happening::Armed(n, request, sent, armed.then_some(there.wall)));
            }
            Happening::Armed(n, request, sent, clock) => {
                let (system, sent) = (self.systems[n].id.clone(), Duration::from_millis(sent));
                self.controller.handle(controller::Input::Armed { request, system, sent, clock }, here);
            }
            Happening::Rings(n) if self.systems[n].alive => {
                let there = now(self.millis, self.systems[n].clock_offset_ms);
                self.systems[n].engine.wake(there);
                self.drain_system(n);
            }
            Happening::ControllerLeaves(long) => {
                self.away = true;
                for n in 0..self.systems.len() {
                    self.feed(n, controlled::Input::Lost(BOSS));
                }
                self.plan(self.millis + long, Happening::ControllerReturns);
            }
            Happening::ControllerReturns => {
                self.away = false;
                self.controller = controller(self.millis);
                self.controller.recall_all(self.memory.clone(), false, here);
                for n in 0..self.systems.len() {
                    let found = self.millis + self.dice(3000);
                    self.plan(found, Happening::IsFound(n, self.systems[n].life));
                }
            }
            _ => {}
        }
    }

    fn request(&mut self, wish: &Wish, here: Now) {
        let command = if wish.start { Command::Start } else { Command::Stop };
        let names: Vec<_> =
            wish.whom.iter().map(|n| format!("system_{}", usize::from(*n) % self.world.systems)).collect();
        let session = format!("s{}", wish.session);
        if wish.foreign {
            let (kind, source) = (command.ask(), "somebody".to_owned());
            let message = Control { kind, stamp: here.wall, source, session, systems: names };
            for n in 0..self.systems.len() {
                self.send(n, false, Happening::Tell(n, message.clone()));
            }
            return self.happen(Happening::Hear(message, Participant([254; 12])));
        }
        let targets = if names.is_empty() { Targets::All } else { Targets::Named(names) };
        let ahead = wish.ahead.filter(|_| wish.start);
        let ask = Ask {
            atomic: wish.atomic,
            restart: wish.restart,
            at: ahead.map(|ahead| now(self.millis + ahead, 0).wall),
            ..Ask::new(command, &session, targets)
        };
        let number = self.controller.ask(ask, here).expect("names are good");
        self.begun.insert(number, self.millis);
        if let Some(patience) = wish.patience {
            self.plan(self.millis + patience, Happening::Cancel(number));
        }
    }

    fn enter(&mut self, n: usize, state: State) {
        let (millis, system) = (self.millis, &mut self.systems[n]);
        system.state = state;
        system.history.push((millis, state));
        self.feed(n, controlled::Input::State(state));
    }

    fn feed(&mut self, n: usize, input: controlled::Input) {
        let here = now(self.millis, self.systems[n].clock_offset_ms);
        self.systems[n].engine.handle(input, here);
        self.drain_system(n);
    }

    fn drain_system(&mut self, n: usize) {
        while let Some(output) = self.systems[n].engine.poll_output() {
            match output {
                controlled::Output::Transition(command) => {
                    let system = &mut self.systems[n];
                    assert!(system.running.is_none(), "two transitions at once");
                    let needed = if command == Command::Start { State::Inactive } else { State::Active };
                    assert_eq!(
                        system.state, needed,
                        "a transition from the wrong state, e.g. a double activation"
                    );
                    system.running = Some(command);
                    system.activations += u32::from(command == Command::Start);
                    let life = system.life;
                    let takes = self.dice(self.world.max_transition_ms + 1);
                    self.plan(self.millis + takes, Happening::TransitionEnds(n, life));
                }
                controlled::Output::Publish(_, message) => {
                    let from = participant(self.systems[n].life);
                    self.send(n, true, Happening::Hear(message, from));
                }
                controlled::Output::Hook(command, message) => {
                    self.systems[n].session = (command == Command::Start).then_some(message.session);
                }
                controlled::Output::Warn(_) | controlled::Output::Error(_) => {}
            }
        }
    }

    fn drain_controller(&mut self) {
        while let Some(output) = self.controller.poll_output() {
            match output {
                Output::Publish { message, .. } => {
                    for n in 0..self.systems.len() {
                        self.send(n, false, Happening::Tell(n, message.clone()));
                    }
                }
                Output::QueryState { system, query } => {
                    let n = self
                        .systems
                        .iter()
                        .position(|s| s.id == system)
                        .expect("only known systems are asked");
                    self.send(n, false, Happening::Query(n, query, self.millis));
                    // The driver answers every question in time.
                    let timeout = Happening::State(n, query, Err(NoState::NoAnswer), None);
                    self.plan(self.millis + 1000, timeout);
                }
                Output::WatchTransitions { system } => {
                    let n = self.systems.iter().position(|s| s.id == system);
                    let n = n.expect("only known systems are watched");
                    self.systems[n].watched = true;
                    if let Some((from, to, stamp)) = self.systems[n].last_transition {
                        self.send(n, true, Happening::TransitionEvent(n, from, to, stamp));
                    }
                }
                Output::Arm { request, system, session, at } => {
                    let n = self.systems.iter().position(|s| s.id == system);
                    let n = n.expect("only known systems are armed");
                    let (kind, source, systems) = (Kind::Start, "boss".to_owned(), Vec::new());
                    let message = Control { kind, stamp: at, source, session, systems };
                    self.send(n, false, Happening::Arm(n, request, message, self.millis));
                }
                Output::ReadLogs => {}
                Output::Remember => self.memory = self.controller.memory().clone(),
                Output::Event(event) => {
                    assert!(!event.to_string().is_empty());
                    match event {
                        Event::Left { system, session: Some(session) } => {
                            self.left.push((self.millis, system, session));
                        }
                        Event::Dropped { system, .. } => self.dropped.push(system),
                        _ => {}
                    }
                }
                Output::Finished(report) => self.reports.push((self.millis, report)),
            }
        }
    }

    /// Whether system `n` was in `state` at some time in the window.
    fn was(&self, n: usize, state: State, from: u64, to: u64) -> bool {
        let history = &self.systems[n].history;
        history.iter().enumerate().any(|(i, (since, s))| {
            let until = history.get(i + 1).map_or(u64::MAX, |(next, _)| *next);
            *s == state && *since <= to && until >= from
        })
    }
}

/// The process of the controller.
const BOSS: Participant = Participant([255; 12]);

fn controller(millis: u64) -> Controller {
    let settings = Settings { poll_period: Some(Duration::from_secs(2)), ..Settings::default() };
    Controller::new(settings, "boss", "/", now(millis, 0))
}

/// Every life is another process.
fn participant(life: u32) -> Participant {
    let mut prefix = [0; 12];
    prefix[..4].copy_from_slice(&life.to_le_bytes());
    Participant(prefix)
}

fn now(millis: u64, offset_ms: i64) -> Now {
    let wall = Wall((1_000_000 + millis as i64 + offset_ms) * 1_000_000);
    Now { mono: Duration::from_millis(millis), wall }
}

fn wanted(command: Command) -> State {
    if command == Command::Start { State::Active } else { State::Inactive }
}

fn wishes() -> impl Strategy<Value = Wish> {
    // Some come at the same moment, most while another is under way.
    let pause = prop_oneof![Just(0u64), 0u64..500, 0u64..12_000];
    let common = (any::<bool>(), prop::option::of(any::<u8>()), pause, 0u8..2);
    let seldom = || prop::bool::weighted(0.2);
    let times = (prop::option::weighted(0.15, 0u64..3000), prop::option::weighted(0.15, 0u64..8000));
    (common, seldom(), seldom(), seldom(), times).prop_map(|(common, atomic, restart, foreign, times)| Wish {
        start: common.0,
        whom: common.1,
        pause: common.2,
        session: common.3,
        atomic,
        restart,
        foreign,
        ahead: times.0,
        patience: times.1,
    })
}

fn worlds() -> impl Strategy<Value = World> {
    let requests = prop::collection::vec(wishes(), 1..8);
    let network = (0u64..40, 0u64..30, 0u64..900, any::<bool>(), any::<bool>());
    let systems = (1usize..6, 0u64..3000, 0u64..60, any::<bool>(), any::<bool>());
    (network, systems, requests, any::<u64>()).prop_map(|(network, systems, requests, seed)| World {
        systems: systems.0,
        loss_percent: network.0,
        repeat_percent: network.1,
        max_delay_ms: network.2,
        reorder: network.3,
        repeat_commands: network.4,
        max_transition_ms: systems.1,
        fail_percent: systems.2,
        deaths: systems.3,
        blind: systems.4,
        seed,
        requests,
        controller_away: None,
    })
}

/// `ROSLESS_SCHEDULES=50` runs fifty times as many.
fn cases(default: u32) -> ProptestConfig {
    let factor = std::env::var("ROSLESS_SCHEDULES").ok().and_then(|f| f.parse().ok()).unwrap_or(1);
    ProptestConfig::with_cases(default * factor)
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn no_schedule_makes_the_controller_claim_what_is_not_so(world in worlds()) {
        let mut simulation = Simulation::new(world.clone());
        simulation.run(400_000);
        prop_assert_eq!(simulation.reports.len(), world.ours(), "every request ends in one report");
        for (ended, report) in &simulation.reports {
            let begun = simulation.begun[&report.request];
            // Its own time, that of stopping first, that of stopping again, and the wait for the instant.
            prop_assert!(ended - begun <= 3 * 10_010 + 3000, "a request ends by its deadline");
            for (id, result) in &report.results {
                let n = simulation.systems.iter().position(|s| s.id == *id).unwrap();
                if result.outcome.is_success() {
                    let state = wanted(report.command);
                    prop_assert!(
                        simulation.was(n, state, begun, *ended),
                        "{id} is said to be {} but never was: {:?}", state.label(), report
                    );
                }
                // One command, one answer is what the estimate rests on, and what a DDS reader gives.
                let ours = !world.requests.iter().any(|wish| wish.foreign);
                if let Some(offset) =
                    result.clock.offset.filter(|_| ours && !world.deaths && !world.repeat_commands)
                {
                    let truth = simulation.systems[n].clock_offset_ms * 1_000_000;
                    prop_assert!((offset.nanos - truth).abs() <= offset.uncertainty + 1, "{offset} is not {truth}");
                }
            }
        }
    }

    #[test]
    fn on_ordered_links_success_holds_at_the_moment_of_the_report(world in worlds()) {
        // One request at a time, nobody dies, nothing overtakes: then a claim must be true when it is made.
        let ours = world.requests.iter().filter(|wish| !wish.foreign);
        let requests: Vec<_> = ours.cloned().map(Wish::alone).collect();
        let world = World { reorder: false, repeat_percent: 0, deaths: false, requests, ..world };
        let mut simulation = Simulation::new(world.clone());
        let mut checked = 0;
        for step in 0..100_000u64 {
            simulation.run(step * 10);
            for (_, report) in &simulation.reports[checked..] {
                for (id, result) in &report.results {
                    let system = simulation.systems.iter().find(|s| s.id == *id).unwrap();
                    if matches!(result.outcome, Outcome::Done(_)) && report.command == Command::Start {
                        prop_assert_eq!(system.state, State::Active, "{:?}", report);
                    }
                }
            }
            checked = simulation.reports.len();
            if checked == world.ours() {
                break;
            }
        }
        prop_assert_eq!(checked, world.ours());
    }
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn after_the_last_stop_nobody_becomes_active(world in worlds()) {
        // Nothing is lost and nobody dies, but transitions are slow and no state tells that one is under way.
        let mut requests = world.requests.clone();
        requests.push(Wish::plain(false, None, 100));
        let world = World { fail_percent: 0, requests, ..world.reliable() };
        let mut simulation = Simulation { play_out: true, ..Simulation::new(world.clone()) };
        simulation.run(200_000);
        prop_assert_eq!(simulation.reports.len(), world.ours(), "every request ends in one report");
        let stops = |wish: &Wish| !wish.start || wish.restart || wish.atomic;
        let only_stop = world.requests.iter().filter(|wish| stops(wish)).count() == 1;
        let (ended, last) = simulation.reports.iter().max_by_key(|(_, report)| report.request).unwrap();
        for system in &simulation.systems {
            prop_assert_eq!(system.state, State::Inactive, "{} after {:?}", system.id, simulation.reports);
            // Nor is one said to be stopped that is only about to start. (Which of two STOPs was acknowledged nobody can know.)
            let started = system.history.iter().any(|(since, state)| since > ended && *state == State::Active);
            let stopped = last.results.get(&system.id).is_some_and(|r| matches!(r.outcome, Outcome::Done(_)));
            prop_assert!(!(only_stop && started && stopped), "{}: {:?}, {last:?}", system.id, system.history);
        }
    }

    #[test]
    fn all_or_none_is_so_in_the_end_also_where_a_start_takes_longer_than_the_patience(
        world in worlds(), slow in 0u64..25_000
    ) {
        let start = Wish { atomic: true, ..Wish::plain(true, None, 0) };
        let world = World { max_transition_ms: slow, requests: vec![start], ..world.reliable() };
        let mut simulation = Simulation { play_out: true, ..Simulation::new(world) };
        simulation.run(200_000);
        let (_, report) = &simulation.reports[0];
        let wanted = if report.is_success() { State::Active } else { State::Inactive };
        for system in simulation.systems.iter().filter(|s| s.running.is_none()) {
            // A stop that fails leaves it active, and is told.
            let told = matches!(
                report.results[&system.id].outcome,
                Outcome::Failed(Failure::Undone { stopped: false })
            );
            let tried = simulation.world.fail_percent > 0;
            prop_assert!(told || tried || system.state == wanted, "{} is {:?}: {report:?}", system.id, system.state);
        }
    }

    #[test]
    fn starts_do_not_take_systems_from_each_other(world in worlds()) {
        // Nobody asks for a stop, so nobody is told that something newer took over, and restarts are not broken off.
        let wishes = world.requests.iter().cloned();
        let requests = wishes.map(|w| Wish { start: true, foreign: false, patience: None, ahead: None, ..w }).collect();
        let (max_transition_ms, max_delay_ms) = (world.max_transition_ms / 10, world.max_delay_ms / 10);
        let world = World { fail_percent: 0, max_transition_ms, max_delay_ms, requests, ..world.reliable() };
        let mut simulation = Simulation::new(world.clone());
        simulation.run(400_000);
        prop_assert_eq!(simulation.reports.len(), world.ours());
        for (_, report) in &simulation.reports {
            for (id, failure) in report.failures() {
                let broken_off = matches!(failure, Failure::Superseded | Failure::NotStopped | Failure::Cancelled);
                prop_assert!(!broken_off, "{id}: {failure:?} in {:?}", simulation.reports);
            }
        }
    }

    #[test]
    fn which_session_a_system_is_in_is_known_whoever_began_it_and_when_it_answers(world in worlds()) {
        let requests = world.requests.iter().map(|wish| Wish { pause: 40_000, ..wish.clone() }).collect();
        // Also where answers about states come after their time-out: nothing comes later than 0.9 s, one way.
        let world = World { fail_percent: 0, requests, ..world.reliable() };
        let mut simulation = Simulation { play_out: true, ..Simulation::new(world) };
        simulation.run(500_000);
        for system in &simulation.systems {
            let session = simulation.controller.systems()[&system.id].session();
            prop_assert_eq!(session, system.session.as_deref(), "{} is {:?}", system.id, system.state);
        }
        prop_assert!(simulation.left.is_empty() && simulation.dropped.is_empty(), "nobody left");
    }

    #[test]
    fn a_death_in_session_is_told_once_also_if_the_controller_was_not_there(
        world in worlds(), away in 6000u64..20_000, long in 0u64..20_000, deaths in any::<bool>()
    ) {
        // One start of all, long enough before that its end is known.
        let (max_transition_ms, max_delay_ms) = (world.max_transition_ms.min(1000), world.max_delay_ms.min(100));
        let requests = vec![Wish::plain(true, None, 0)];
        let world = World {
            fail_percent: 0, max_transition_ms, max_delay_ms, requests,
            ..world.reliable()
        };
        let world = World { deaths, controller_away: Some((away, long)), ..world };
        let mut simulation = Simulation { play_out: true, ..Simulation::new(world.clone()) };
        simulation.run(100_000);
        // It may have left before the end was known.
        prop_assume!(!simulation.reports.is_empty());
        let (ended, report) = simulation.reports[0].clone();
        for system in &simulation.systems {
            let lives = system.life;
            let told: Vec<_> = simulation.left.iter().filter(|(_, id, _)| *id == system.id).collect();
            let started = matches!(report.results.get(&system.id).map(|r| &r.outcome), Some(Outcome::Done(_)));
            // Its second life begins after it died, and all die after the start if they do.
            let died = system.history.iter().filter(|(since, state)| *since > ended && *state == State::Inactive).count();
            if started && died > 0 && lives > 1 {
                prop_assert_eq!(told.len(), 1, "{}: {:?}, {:?}", system.id, system.history, simulation.left);
            } else if lives == 1 {
                prop_assert!(told.is_empty(), "{}: {:?}", system.id, told);
            }
        }
        prop_assert!(simulation.dropped.is_empty(), "{:?}", simulation.dropped);
    }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn in_peace_every_request_succeeds_with_one_message(
        systems in 1usize..40,
        starts in 1usize..6,
        seed in any::<u64>(),
    ) {
        let requests = (0..2 * starts).map(|n| Wish::plain(n % 2 == 0, None, 3000)).collect();
        let mut simulation = Simulation::new(World { seed, ..World::peaceful(systems, requests) });
        simulation.run(200_000);
        prop_assert_eq!(simulation.reports.len(), 2 * starts);
        for (_, report) in &simulation.reports {
            prop_assert!(report.is_success(), "{:?}", report);
            prop_assert_eq!((report.results.len(), report.messages), (systems, 1));
        }
        prop_assert!(simulation.systems.iter().all(|s| s.activations as usize == starts));
    }
}
