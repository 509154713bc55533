//! One situation per test, told step by step.

use super::*;

fn at(millis: u64) -> Now {
    Now { mono: Duration::from_millis(millis), wall: Wall(1_000_000_000_000 + millis as i64 * 1_000_000) }
}

fn id(name: &str) -> SystemId {
    SystemId::resolve("/", name).unwrap()
}

fn process_number(number: u8) -> Participant {
    Participant([number; 12])
}

fn named(names: &[&str]) -> Targets {
    Targets::Named(names.iter().map(ToString::to_string).collect())
}

fn control(kind: Kind, source: &str, session: &str) -> Control {
    Control { kind, stamp: Wall(7), source: source.into(), session: session.into(), systems: vec![] }
}

/// A message of nobody in particular, on the channel of the root namespace.
fn said(message: Control) -> Input {
    Input::Control { channel: "/".into(), sender: None, participant: None, message }
}

fn announced(source: &str, topics: &[&str]) -> Input {
    let topics = topics.iter().map(ToString::to_string).collect();
    let announcement = Announcement { source: source.into(), ros_version: 0, topics };
    Input::Announced { channel: "/".into(), sender: None, participant: None, announcement }
}

/// A controller and everything it said.
struct Rig {
    controller: Controller,
    said: Vec<Output>,
    millis: u64,
}

impl Rig {
    /// With these systems announced, matched, and heard of long ago.
    fn with(systems: &[&str]) -> Self {
        Self::with_settings(Settings::default(), systems)
    }

    fn with_settings(settings: Settings, systems: &[&str]) -> Self {
        let controller = Controller::new(settings, "boss", "/", at(0));
        let mut rig = Self { controller, said: Vec::new(), millis: 0 };
        for system in systems {
            rig.announce("/", system, 0);
        }
        rig.said.clear();
        rig
    }

    fn announce(&mut self, channel: &str, system: &str, millis: u64) {
        let announcement =
            Announcement { source: system.into(), ros_version: 0, topics: vec!["data".into()] };
        let full = SystemId::resolve(channel, system).unwrap();
        self.put(
            Input::Announced { channel: channel.into(), sender: None, participant: None, announcement },
            millis,
        );
        self.put(Input::Reachable { node: full.as_str().into(), reachable: true }, millis);
    }

    /// An announcement by the process with this number.
    fn announce_by(&mut self, process: u8, system: &str, millis: u64) {
        let announcement =
            Announcement { source: system.into(), ros_version: 0, topics: vec!["data".into()] };
        let full = id(system).as_str().to_owned();
        let participant = Some(process_number(process));
        self.put(Input::Announced { channel: "/".into(), sender: None, participant, announcement }, millis);
        self.put(Input::Reachable { node: full, reachable: true }, millis);
    }

    fn put(&mut self, input: Input, millis: u64) {
        self.millis = millis;
        self.controller.handle(input, at(millis));
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(output) = self.controller.poll_output() {
            self.said.push(output);
        }
    }

    fn request(&mut self, command: Command, targets: Targets, millis: u64) {
        self.start(Ask::new(command, "s1", targets), millis);
    }

    fn start(&mut self, ask: Ask, millis: u64) -> u64 {
        self.millis = millis;
        let number = self.controller.ask(ask, at(millis)).unwrap();
        self.drain();
        number
    }

    /// With these systems told to start at 1000, all of which were inactive.
    fn starting(systems: &[&str]) -> Self {
        let mut rig = Self::with(systems);
        rig.start_inactive(Targets::All, 1000);
        rig
    }

    fn start_inactive(&mut self, targets: Targets, millis: u64) {
        self.request(Command::Start, targets, millis);
        self.answer(|_| INACTIVE, millis + 1);
    }

    /// It acknowledges a START, and whoever is asked then is active.
    fn starts(&mut self, system: &str, millis: u64) {
        self.ack(system, Kind::AckStart, 0, millis);
        self.answer(|_| ACTIVE, millis + 1);
    }

    /// It acknowledges a STOP, and whoever is asked then is inactive.
    fn stops(&mut self, system: &str, millis: u64) {
        self.ack(system, Kind::AckStop, 0, millis);
        self.answer(|_| INACTIVE, millis + 1);
    }

    /// Answers every open question with the state `of` gives.
    fn answer(&mut self, of: impl Fn(&SystemId) -> Result<State, NoState>, millis: u64) {
        let (questions, rest): (Vec<_>, Vec<_>) =
            self.said.drain(..).partition(|o| matches!(o, Output::QueryState { .. }));
        self.said = rest;
        for question in questions {
            if let Output::QueryState { system, query } = question {
                let result = of(&system);
                self.put(Input::State { system, query, result }, millis);
            }
        }
    }

    fn ack(&mut self, system: &str, kind: Kind, offset_ms: i64, millis: u64) {
        let stamp = Wall(at(millis).wall.0 + offset_ms * 1_000_000);
        let message = Control { kind, stamp, source: system.into(), session: String::new(), systems: vec![] };
        self.put(said(message), millis);
    }

    /// A line of a system's log, stamped then and heard now.
    fn log(&mut self, logger: &str, text: &str, stamped: u64, millis: u64) {
        let (logger, text, stamp) = (logger.into(), text.into(), at(stamped).wall);
        self.put(Input::Log { logger, error: true, text, stamp }, millis);
    }

    /// A system's own word that its activation failed then, heard now.
    fn failed_transition(&mut self, system: &str, stamped: u64, millis: u64) {
        let (from, to, stamp) = (State::Activating, State::Inactive, Some(at(stamped).wall));
        self.put(Input::Transition { system: id(system), from, to, stamp }, millis);
    }

    /// Answers about the state of a system bring the time of its machine: so much ahead of ours, asked 2 ms before.
    fn hear_clock(&mut self, system: &str, offset_ms: i64, millis: u64) {
        let stamp = Wall(at(millis - 1).wall.0 + offset_ms * 1_000_000);
        let (node, how) = (id(system).as_str().to_owned(), Hearing::Reply { sent: at(millis - 2).mono });
        self.put(Input::Heard { node, participant: None, stamp, how }, millis);
    }

    /// Systems that are asked for their state at this moment.
    fn queried(&self) -> usize {
        self.said.iter().filter(|o| matches!(o, Output::QueryState { .. })).count()
    }

    fn reports(&self) -> Vec<&Report> {
        self.said
            .iter()
            .filter_map(|o| if let Output::Finished(report) = o { Some(report) } else { None })
            .collect()
    }

    /// Everybody named acknowledges a START and is active, from a state in which all were inactive.
    fn run_session(&mut self, session: &str, systems: &[&str], millis: u64) {
        let number = self.start(Ask::new(Command::Start, session, named(systems)), millis);
        self.answer(|_| INACTIVE, millis + 1);
        for system in systems {
            self.ack(system, Kind::AckStart, 0, millis + 2);
        }
        self.answer(|_| ACTIVE, millis + 3);
        assert!(self.reports().iter().any(|r| r.request == number && r.is_success()), "{:?}", self.reports());
        self.said.clear();
    }

    fn published(&mut self) -> Vec<(String, Vec<String>)> {
        let mut lists = Vec::new();
        self.said.retain(|output| match output {
            Output::Publish { channel, message } => {
                lists.push((channel.namespace.clone(), message.systems.clone()));
                false
            }
            _ => true,
        });
        lists
    }

    fn report(&self) -> Option<&Report> {
        self.said.iter().find_map(|o| if let Output::Finished(report) = o { Some(report) } else { None })
    }

    fn outcome(&self, system: &str) -> Outcome {
        self.report().expect("the request has ended").results[&id(system)].outcome.clone()
    }

    fn events(&self) -> Vec<&Event> {
        self.said.iter().filter_map(|o| if let Output::Event(e) = o { Some(e) } else { None }).collect()
    }

    /// Follows the engine's own deadlines until it asks for states.
    fn run_until_queried(&mut self) {
        while !self.said.iter().any(|o| matches!(o, Output::QueryState { .. })) {
            let next = self.controller.next_deadline().expect("a request has a deadline");
            self.put(Input::Wake, u64::try_from(next.as_millis()).unwrap() + 1);
        }
    }

    /// Follows the engine's own deadlines until the request ends.
    fn run_until_report(&mut self, of: impl Fn(&SystemId) -> Result<State, NoState>) -> u64 {
        for _ in 0..1000 {
            self.answer(&of, self.millis);
            if self.report().is_some() {
                return self.millis;
            }
            let next = self.controller.next_deadline().expect("a request has a deadline");
            let millis = u64::try_from(next.as_millis()).unwrap() + 1;
            self.put(Input::Wake, millis);
            self.answer(&of, millis);
            if self.report().is_some() {
                return millis;
            }
        }
        panic!("the request does not end");
    }
}

const INACTIVE: Result<State, NoState> = Ok(State::Inactive);
const ACTIVE: Result<State, NoState> = Ok(State::Active);

#[test]
fn all_start_with_one_message_and_success_needs_the_state_too() {
    let mut rig = Rig::with(&["a", "b"]);
    rig.request(Command::Start, Targets::All, 1000);
    assert_eq!(rig.published(), [], "states are asked first");
    rig.answer(|_| INACTIVE, 1001);
    assert_eq!(rig.published(), [("/".into(), vec![])]);
    rig.ack("a", Kind::AckStart, 0, 1003);
    rig.ack("b", Kind::AckStart, 0, 1004);
    assert!(rig.report().is_none(), "acknowledgements alone are not trusted");
    rig.answer(|_| ACTIVE, 1005);
    let report = rig.report().unwrap();
    assert!(report.is_success());
    assert_eq!((report.messages, report.last_answer_after), (1, Some(Duration::from_millis(3))));
    assert_eq!(rig.outcome("a"), Outcome::Done(Proof::Acknowledged));
    assert_eq!(rig.controller.systems()[&id("b")].session(), Some("s1"));
}

#[test]
fn only_the_named_are_asked_by_the_names_they_use() {
    let mut rig = Rig::with(&["a", "b", "/ros1"]);
    rig.start_inactive(named(&["/a", "ros1"]), 1000);
    assert_eq!(rig.published(), [("/".into(), vec!["a".into(), "/ros1".into()])]);
}

#[test]
fn systems_of_one_name_in_two_namespaces_are_told_apart() {
    let mut rig = Rig::with(&[]);
    rig.announce("/left", "cam", 0);
    rig.announce("/right", "cam", 0);
    rig.start_inactive(named(&["/left/cam"]), 1000);
    assert_eq!(rig.published(), [("/left".into(), vec!["cam".into()])]);
    // On one shared topic only the full name tells them apart.
    let mut rig = Rig::with(&[]);
    for node in ["/left/cam", "/right/cam"] {
        let announcement = Announcement { source: "cam".into(), ..Announcement::default() };
        rig.put(
            Input::Announced {
                channel: "/".into(),
                sender: Some(node.into()),
                participant: None,
                announcement,
            },
            0,
        );
        rig.put(Input::Reachable { node: node.into(), reachable: true }, 0);
    }
    rig.start_inactive(named(&["/right/cam"]), 1000);
    assert_eq!(rig.published(), [("/".into(), vec!["/right/cam".into()])]);
}

#[test]
fn nobody_selected_starts_nobody() {
    for names in [&[][..], &[""]] {
        let mut rig = Rig::with(&["a"]);
        rig.request(Command::Start, named(names), 1000);
        assert_eq!(rig.published(), []);
        let report = rig.report().unwrap();
        assert!(report.results.is_empty() && !report.is_success());
    }
}

#[test]
fn a_named_system_is_waited_for_before_anything_is_sent() {
    let mut rig = Rig::with(&[]);
    rig.request(Command::Start, named(&["/a"]), 0);
    rig.put(Input::Wake, 500);
    assert!(rig.said.is_empty());
    rig.put(announced("a", &[]), 600);
    rig.answer(|_| INACTIVE, 700);
    assert_eq!(rig.published(), [], "announced but not matched: a volatile message would be lost");
    rig.put(Input::Reachable { node: "/a".into(), reachable: true }, 800);
    rig.answer(|_| INACTIVE, 801);
    assert_eq!(rig.published(), [("/".into(), vec!["a".into()])]);
}

#[test]
fn a_bare_name_waits_for_namesakes_to_show_up() {
    let mut rig = Rig::with(&[]);
    rig.announce("/left", "cam", 100);
    rig.request(Command::Start, named(&["cam"]), 200);
    rig.announce("/right", "cam", 400);
    rig.run_until_queried();
    rig.answer(|_| INACTIVE, 1000);
    let both = [("/left".into(), vec!["cam".into()]), ("/right".into(), vec!["cam".into()])];
    assert_eq!(rig.published(), both);
}

#[test]
fn an_absent_system_is_named() {
    let mut rig = Rig::with(&["a"]);
    rig.request(Command::Start, named(&["a", "nobody"]), 1000);
    rig.run_until_report(|_| ACTIVE);
    assert_eq!(rig.outcome("a"), Outcome::Already(State::Active));
    assert_eq!(rig.outcome("nobody"), Outcome::Failed(Failure::Unknown));
    assert!(!rig.report().unwrap().is_success());
}

#[test]
fn too_short_a_time_is_not_blamed_on_the_system() {
    let settings = Settings { deadline: Duration::from_millis(50), ..Settings::default() };
    let mut rig = Rig::with_settings(settings, &["a"]);
    rig.request(Command::Start, Targets::All, 1000);
    rig.put(Input::Wake, 1050);
    assert_eq!(rig.outcome("a"), Outcome::Failed(Failure::NotAsked));
    assert_eq!(rig.published(), []);
}

#[test]
fn a_lost_acknowledgement_is_made_good_by_the_state() {
    let mut rig = Rig::starting(&["a"]);
    rig.run_until_report(|_| ACTIVE);
    assert_eq!(rig.outcome("a"), Outcome::Done(Proof::StateOnly));
    assert_eq!(rig.report().unwrap().messages, 1, "an active system must not be started again");
}

#[test]
fn a_lost_start_is_sent_again_to_the_silent_one_only() {
    let mut rig = Rig::starting(&["a", "b"]);
    rig.published();
    rig.starts("a", 1002);
    rig.put(Input::Wake, 1501);
    rig.answer(|_| INACTIVE, 1502);
    assert_eq!(rig.published(), [], "its log is read first");
    rig.put(Input::Wake, 1802);
    rig.answer(|_| INACTIVE, 1803);
    assert_eq!(rig.published(), [("/".into(), vec!["b".into()])]);
    rig.starts("b", 1810);
    let result = &rig.report().unwrap().results[&id("b")];
    assert_eq!((&result.outcome, result.attempts), (&Outcome::Done(Proof::Acknowledged), 2));
    assert_eq!(result.answered_after, Some(Duration::from_millis(809)));
}

#[test]
fn a_failed_activation_is_told_from_silence() {
    let mut rig = Rig::with(&["a"]);
    rig.request(Command::Start, Targets::All, 1000);
    let end = rig.run_until_report(|_| INACTIVE);
    assert_eq!(rig.outcome("a"), Outcome::Failed(Failure::Refused(State::Inactive)));
    assert_eq!(rig.report().unwrap().results[&id("a")].attempts, 4, "asked once and thrice again");
    assert!((11_000..11_010).contains(&end), "it may still begin until the deadline: {end}");

    let mut rig = Rig::with(&["a"]);
    rig.request(Command::Start, Targets::All, 1000);
    let end = rig.run_until_report(|_| Err(NoState::NoAnswer));
    assert_eq!(rig.outcome("a"), Outcome::Failed(Failure::NoAnswer));
    assert!((11_000..11_010).contains(&end), "silence is waited for until the deadline, not longer: {end}");
}

#[test]
fn a_slow_system_is_waited_for_although_it_shows_nothing_yet() {
    for (command, before, after, kind) in [
        (Command::Start, State::Inactive, State::Active, Kind::AckStart),
        (Command::Stop, State::Active, State::Inactive, Kind::AckStop),
    ] {
        let mut rig = Rig::with(&["a"]);
        rig.request(command, Targets::All, 1000);
        rig.answer(|_| Ok(before), 1001);
        let mut millis = 1001;
        while millis < 7000 {
            let next = rig.controller.next_deadline().expect("a request has a deadline");
            millis = u64::try_from(next.as_millis()).unwrap() + 1;
            rig.put(Input::Wake, millis);
            rig.answer(|_| Ok(before), millis);
        }
        assert_eq!(rig.report(), None);
        rig.ack("a", kind, 0, millis + 1);
        rig.answer(|_| Ok(after), millis + 2);
        assert_eq!(rig.outcome("a"), Outcome::Done(Proof::Acknowledged));
    }
}

#[test]
fn an_activation_seen_to_begin_and_fail_is_reported_at_once() {
    // Seen by its state.
    let mut rig = Rig::starting(&["a"]);
    rig.put(Input::Wake, 1502);
    rig.answer(|_| Ok(State::Activating), 1503);
    rig.put(Input::Wake, 2004);
    rig.answer(|_| INACTIVE, 2005);
    rig.put(Input::Wake, 2306);
    assert_eq!(rig.outcome("a"), Outcome::Failed(Failure::Aborted(State::Inactive)));
    assert_eq!(rig.report().unwrap().results[&id("a")].reason, None, "it says nothing about it");
    // Too quick for that: seen by its own word.
    let mut rig = Rig::starting(&["a"]);
    let watch = Output::WatchTransitions { system: id("a") };
    assert!(!rig.said.contains(&watch), "those who do as they are told are not watched");
    rig.put(Input::Wake, 1502);
    assert!(!rig.said.contains(&watch), "it may be active, and only its acknowledgement late");
    rig.answer(|_| INACTIVE, 1503);
    assert!(rig.said.contains(&watch));
    let (activating, inactive) = (State::Activating, State::Inactive);
    rig.put(Input::Transition { system: id("a"), from: inactive, to: activating, stamp: None }, 1504);
    rig.put(Input::Transition { system: id("a"), from: activating, to: inactive, stamp: None }, 1504);
    rig.answer(|_| INACTIVE, 1505);
    assert!(rig.said.contains(&Output::ReadLogs));
    rig.log("a", "no such device", 1493, 1506);
    assert_eq!(rig.outcome("a"), Outcome::Failed(Failure::Aborted(State::Inactive)));
    let reason = rig.report().unwrap().results[&id("a")].reason.clone().unwrap();
    assert_eq!(reason.to_string(), "'no such device' (its log, 13 ms before)");
    let text = Failure::Aborted(State::Inactive).explain(&id("a"), Command::Start, "e", "c");
    assert!(text.contains("configured but not active"), "{text}");
}

#[test]
fn an_unrelated_error_after_a_lost_start_is_not_taken_for_its_failure() {
    let mut rig = Rig::with(&["a"]);
    rig.hear_clock("a", 0, 900);
    // It failed yesterday and still says so to latecomers; today it has trouble with something else.
    let request = |rig: &mut Rig| {
        rig.start_inactive(Targets::All, 1000);
        rig.published();
        rig.put(Input::Wake, 1502);
        rig.failed_transition("a", 400, 1502);
        rig.log("a", "fan too slow", 1200, 1503);
        rig.answer(|_| INACTIVE, 1503);
        rig.put(Input::Wake, 1810);
        rig.answer(|_| INACTIVE, 1811);
    };
    request(&mut rig);
    assert!(rig.report().is_none(), "{:?}", rig.report());
    assert_eq!(rig.published(), [("/".into(), vec!["a".into()])], "START was lost, so it is sent again");
    rig.starts("a", 1812);
    assert_eq!(rig.outcome("a"), Outcome::Done(Proof::Acknowledged));

    // Where the activation did fail, what is said after that is not its reason.
    let mut rig = Rig::with(&["a"]);
    rig.hear_clock("a", 0, 900);
    rig.start_inactive(Targets::All, 1000);
    rig.put(Input::Wake, 1502);
    rig.failed_transition("a", 1100, 1502);
    rig.answer(|_| INACTIVE, 1503);
    rig.log("a", "fan too slow", 1200, 1504);
    assert!(rig.report().is_none(), "its reason may yet come");
    rig.put(Input::Wake, 1900);
    let result = &rig.report().unwrap().results[&id("a")];
    assert_eq!(
        (&result.outcome, &result.reason),
        (&Outcome::Failed(Failure::Aborted(State::Inactive)), &None)
    );
    assert_eq!(result.attempts, 1, "it is not done to a device again blindly");
}

#[test]
fn clocks_are_known_before_a_start_and_said_when_they_deviate() {
    let mut rig = Rig::with(&["a"]);
    rig.hear_clock("a", 0, 900);
    assert_eq!(rig.events(), [] as [&Event; 0], "a clock that is right is no news");
    rig.hear_clock("a", -300, 1900);
    let events = rig.events();
    assert!(matches!(events[..], [Event::ClockStepped { .. }, Event::Clock { .. }]), "{events:?}");
    assert_eq!(events[1].level(), Level::Error);
    let reading = rig.controller.systems()[&id("a")].clock_at(at(1900).mono);
    assert_eq!(reading.offset.unwrap().certain_band(), Some(crate::clock::Band::Wrong));
    rig.said.clear();
    rig.hear_clock("a", -300, 2900);
    assert_eq!(rig.events(), [] as [&Event; 0], "it is said once");
    // START is acknowledged by the same clock, and by one that is not the machine's.
    for (offset, apart) in [(-300, None), (500, Some(800_000_000))] {
        rig.start_inactive(Targets::All, 3000);
        rig.ack("a", Kind::AckStart, offset, 3002);
        rig.answer(|_| ACTIVE, 3003);
        let clock = rig.report().unwrap().results[&id("a")].clock;
        assert!((clock.offset.unwrap().nanos - offset * 1_000_000).abs() < 3_000_000, "{clock:?}");
        assert_eq!(clock.apart.map(|apart| (apart.nanos + 50_000_000) / 100_000_000 * 100_000_000), apart);
        rig.put(Input::Gone { node: "/b".into(), participant: None }, 3004);
        rig.request(Command::Stop, Targets::All, 3005);
        rig.ack("a", Kind::AckStop, offset, 3006);
        rig.answer(|_| INACTIVE, 3007);
        rig.said.clear();
    }
    // Another process by that name may run on another machine.
    rig.put(Input::Gone { node: "/a".into(), participant: None }, 4000);
    rig.announce("/", "a", 4001);
    assert_eq!(rig.controller.systems()[&id("a")].clock_at(at(4001).mono), crate::clock::Reading::default());
}

#[test]
fn an_unreachable_system_is_not_taken_for_one_that_failed() {
    for targets in [named(&["a"]), Targets::All] {
        let mut rig = Rig::with(&["a"]);
        rig.put(Input::Reachable { node: "/a".into(), reachable: false }, 500);
        rig.request(Command::Start, targets.clone(), 1000);
        let end = rig.run_until_report(|_| INACTIVE);
        assert_eq!(rig.outcome("a"), Outcome::Failed(Failure::Unreachable));
        assert!((11_000..11_010).contains(&end), "it may yet be matched: {end}");
        assert!(rig.published().len() < 2, "nobody hears it");
        assert!(!rig.events().iter().any(|e| matches!(e, Event::Retry { .. })));

        // Matched late, it is asked then.
        let mut rig = Rig::with(&["a"]);
        rig.put(Input::Reachable { node: "/a".into(), reachable: false }, 500);
        rig.request(Command::Start, targets, 1000);
        rig.run_until_queried();
        rig.answer(|_| INACTIVE, 3010);
        rig.published();
        rig.put(Input::Reachable { node: "/a".into(), reachable: true }, 4000);
        for millis in [4001, 4400, 4800] {
            rig.put(Input::Wake, millis);
            rig.answer(|_| INACTIVE, millis + 1);
        }
        assert_eq!(rig.published(), [("/".into(), vec!["a".into()])]);
        rig.starts("a", 4803);
        assert_eq!(rig.outcome("a"), Outcome::Done(Proof::Acknowledged));
    }
}

#[test]
fn an_acknowledged_but_failed_activation_is_no_success() {
    let mut rig = Rig::starting(&["a"]);
    rig.ack("a", Kind::AckStart, 0, 1002);
    rig.answer(|_| INACTIVE, 1003);
    rig.run_until_report(|_| INACTIVE);
    assert_eq!(rig.outcome("a"), Outcome::Failed(Failure::FalseAck(State::Inactive)));
}

#[test]
fn a_late_acknowledgement_of_an_earlier_start_does_not_count_for_this_one() {
    let mut rig = Rig::with(&["a"]);
    rig.request(Command::Start, named(&["a"]), 1000);
    rig.run_until_report(|_| INACTIVE);
    rig.said.clear();
    rig.start_inactive(named(&["a"]), 20_000);
    // This one answers the first request.
    rig.ack("a", Kind::AckStart, -17_000, 20_002);
    rig.answer(|_| INACTIVE, 20_003);
    assert!(rig.report().is_none());
    rig.starts("a", 20_100);
    assert_eq!(rig.outcome("a"), Outcome::Done(Proof::Acknowledged));
    let offset = rig.controller.systems()[&id("a")].offset_at(at(20_101).mono).unwrap();
    assert_eq!(offset.band(), crate::clock::Band::Good, "{offset}");
}

#[test]
fn wrong_states_are_not_asked_and_get_their_reason() {
    for (state, command) in [(State::Unconfigured, Command::Start), (State::Finalized, Command::Stop)] {
        let mut rig = Rig::with(&["a"]);
        rig.request(command, named(&["a"]), 1000);
        rig.answer(|_| Ok(state), 1001);
        assert_eq!(rig.published(), []);
        assert_eq!(rig.outcome("a"), Outcome::Failed(Failure::WrongState(state)));
    }
    let mut rig = Rig::with(&["a"]);
    rig.request(Command::Start, named(&["a"]), 1000);
    rig.answer(|_| ACTIVE, 1001);
    assert_eq!(rig.outcome("a"), Outcome::Already(State::Active));
    assert_eq!(rig.published(), []);
}

#[test]
fn stop_can_be_targeted_and_carries_no_session() {
    let mut rig = Rig::with(&["a", "b"]);
    rig.request(Command::Stop, named(&["b"]), 1000);
    rig.answer(|_| ACTIVE, 1001);
    let sent = rig.said.iter().find_map(|o| match o {
        Output::Publish { message, .. } => Some(message.clone()),
        _ => None,
    });
    let sent = sent.unwrap();
    assert_eq!((sent.kind, sent.session.as_str(), sent.systems), (Kind::Stop, "", vec!["b".to_string()]));
}

#[test]
fn a_system_that_dies_while_asked_is_named_and_the_others_are_unaffected() {
    let mut rig = Rig::starting(&["a", "b"]);
    rig.ack("a", Kind::AckStart, 0, 1002);
    rig.ack("b", Kind::AckStart, 0, 1002);
    rig.put(Input::Gone { node: "/b".into(), participant: None }, 1003);
    rig.answer(|_| ACTIVE, 1004);
    assert_eq!(rig.outcome("a"), Outcome::Done(Proof::Acknowledged));
    assert_eq!(rig.outcome("b"), Outcome::Failed(Failure::Gone));
}

#[test]
fn leaving_and_joining_during_a_session_is_reported_with_the_session() {
    let mut rig = Rig::starting(&["a", "b"]);
    rig.ack("a", Kind::AckStart, 0, 1002);
    rig.starts("b", 1002);
    rig.said.clear();
    rig.put(Input::Gone { node: "/a".into(), participant: None }, 2000);
    rig.announce("/", "c", 3000);
    let events = rig.events();
    assert_eq!(events[0], &Event::Left { system: id("a"), session: Some("s1".into()) });
    assert_eq!(events[0].level(), Level::Error);
    assert!(matches!(events[1], Event::Joined { running_session: Some(s), .. } if s == "s1"), "{events:?}");
}

/// A rig that polls, with system `a` of process 1 active in session `s1` since 1004.
fn session_of_one() -> Rig {
    let settings = Settings { poll_period: Some(Duration::from_secs(1)), ..Settings::default() };
    let mut rig = Rig::with_settings(settings, &[]);
    rig.announce_by(1, "a", 0);
    rig.start_inactive(Targets::All, 1000);
    rig.ack("a", Kind::AckStart, 0, 1002);
    rig.answer(|_| ACTIVE, 1004);
    assert!(rig.report().unwrap().is_success());
    rig.said.clear();
    rig
}

#[test]
fn a_crash_is_reported_although_the_successor_comes_before_the_lease_ends() {
    let mut rig = session_of_one();
    rig.announce_by(2, "a", 1500);
    let left = Event::Left { system: id("a"), session: Some("s1".into()) };
    let joined = Event::Joined { system: id("a"), topics: vec!["data".into()], running_session: None };
    assert_eq!(rig.events(), [&left, &joined]);
    assert_eq!(rig.controller.session(), None);
    // The lease of the old one ends: the new one is still there.
    rig.said.clear();
    rig.put(Input::Gone { node: "/a".into(), participant: Some(process_number(1)) }, 11_000);
    assert_eq!(rig.events(), Vec::<&Event>::new());
    let system = &rig.controller.systems()[&id("a")];
    assert!(system.present() && !system.ambiguous() && system.rivals().count() == 0);
    rig.put(Input::Gone { node: "/a".into(), participant: Some(process_number(2)) }, 12_000);
    assert_eq!(rig.events(), [&Event::Left { system: id("a"), session: None }]);
}

#[test]
fn leaving_a_session_unasked_is_an_error_and_a_stop_by_anybody_is_not() {
    let stop = control(Kind::Stop, "other", "");
    for stopped_after in [None, Some(500), Some(0)] {
        let mut rig = session_of_one();
        rig.put(Input::Wake, 2005);
        rig.answer(|_| INACTIVE, 2006);
        if let Some(after) = stopped_after {
            // It may be heard of later than the state it caused.
            rig.put(said(stop.clone()), 2006 + after);
        }
        rig.put(Input::Wake, 3010);
        let dropped = Event::Dropped { system: id("a"), session: "s1".into(), state: State::Inactive };
        assert_eq!(dropped.level(), Level::Error);
        assert_eq!(rig.events().contains(&&dropped), stopped_after.is_none(), "{:?}", rig.events());
    }
    let mut rig = session_of_one();
    rig.request(Command::Stop, Targets::All, 2000);
    rig.answer(|_| ACTIVE, 2001);
    rig.stops("a", 2002);
    rig.put(Input::Wake, 4000);
    assert!(!rig.events().iter().any(|e| matches!(e, Event::Dropped { .. })), "{:?}", rig.events());
}

#[test]
fn other_topics_are_told() {
    let mut rig = Rig::with(&["a"]);
    rig.announce("/", "a", 100);
    assert_eq!(rig.events(), Vec::<&Event>::new());
    rig.put(announced("a", &["more"]), 200);
    assert_eq!(rig.events(), [&Event::Topics { system: id("a"), topics: vec!["more".into()] }]);
}

#[test]
fn two_living_systems_of_one_name_are_no_success() {
    let twins = Event::Twins { system: id("a") };
    // Both there when the controller comes.
    let mut rig = Rig::with(&[]);
    rig.announce_by(1, "a", 0);
    rig.announce_by(2, "a", 300);
    assert!(rig.events().contains(&&twins));
    rig.request(Command::Stop, named(&["a"]), 1000);
    rig.answer(|_| INACTIVE, 1001);
    assert_eq!(rig.published().len(), 1, "the other one may be active");
    rig.run_until_report(|_| INACTIVE);
    assert_eq!(rig.outcome("a"), Outcome::Failed(Failure::Ambiguous));
    // One of them leaves: the other is what it is called.
    rig.said.clear();
    rig.put(Input::Gone { node: "/a".into(), participant: Some(process_number(1)) }, 20_000);
    let system = &rig.controller.systems()[&id("a")];
    assert!(system.present() && !system.ambiguous() && system.participant == Some(process_number(2)));

    // The older one is heard after the newer one had come.
    let mut rig = Rig::with(&[]);
    rig.announce_by(1, "a", 0);
    rig.announce_by(2, "a", 5000);
    assert!(!rig.events().contains(&&twins), "it may have been restarted");
    let message = control(Kind::AckStart, "a", "");
    let participant = Some(process_number(1));
    rig.put(Input::Control { channel: "/".into(), sender: None, participant, message }, 6000);
    assert!(rig.events().contains(&&twins));

    // Or it outlives every lease.
    let mut rig = Rig::with(&[]);
    rig.announce_by(1, "a", 0);
    rig.announce_by(2, "a", 5000);
    rig.put(Input::Wake, 34_999);
    assert!(!rig.events().contains(&&twins));
    assert_eq!(rig.controller.next_deadline(), Some(Duration::from_secs(35)));
    rig.put(Input::Wake, 35_000);
    assert!(rig.events().contains(&&twins));
}

#[test]
fn a_short_time_is_not_spent_on_waiting_for_more_systems() {
    let settings = Settings {
        settle: Duration::from_millis(1200),
        deadline: Duration::from_secs(1),
        ..Settings::default()
    };
    for targets in [Targets::All, named(&["a"])] {
        let mut rig = Rig::with_settings(settings.clone(), &[]);
        rig.request(Command::Start, targets, 0);
        rig.announce("/", "a", 300);
        rig.run_until_queried();
        rig.answer(|_| INACTIVE, 502);
        assert_eq!(rig.published().len(), 1);
        rig.starts("a", 503);
        assert!(rig.report().unwrap().is_success());
    }
}

#[test]
fn what_needs_no_stopping_is_reported_with_its_state() {
    let mut rig = Rig::with(&["a"]);
    rig.request(Command::Stop, Targets::All, 1000);
    rig.answer(|_| Ok(State::Unconfigured), 1001);
    rig.put(Input::Wake, 2000);
    assert_eq!(rig.outcome("a"), Outcome::Already(State::Unconfigured));
}

#[test]
fn duplicated_unexpected_and_late_acknowledgements_are_called_so() {
    let mut rig = Rig::with(&["a", "b"]);
    rig.ack("a", Kind::AckStart, 0, 500);
    rig.put(Input::Wake, 1600);
    assert!(rig.events().contains(&&Event::Unexpected { system: id("a"), command: Command::Start }));
    rig.said.clear();
    rig.start_inactive(named(&["a"]), 2000);
    rig.ack("a", Kind::AckStart, 0, 2002);
    rig.ack("a", Kind::AckStart, 0, 2003);
    assert!(rig.events().contains(&&Event::Duplicate { system: id("a"), command: Command::Start }));
    rig.answer(|_| ACTIVE, 2004);
    assert_eq!(rig.report().unwrap().results[&id("a")].duplicates, 1);
    rig.said.clear();
    rig.request(Command::Start, named(&["b"]), 3000);
    rig.run_until_report(|_| Err(NoState::NoAnswer));
    rig.ack("b", Kind::AckStart, 0, 20_000);
    assert!(rig.events().contains(&&Event::Late { system: id("b"), command: Command::Start }));
}

#[test]
fn clock_deviation_is_reported_in_bands_for_both_signs() {
    for (offset, level) in
        [(0, Level::Info), (50, Level::Warn), (-50, Level::Warn), (500, Level::Error), (-500, Level::Error)]
    {
        let mut rig = Rig::starting(&["a"]);
        rig.ack("a", Kind::AckStart, offset, 1003);
        let answered =
            rig.events().into_iter().find(|e| matches!(e, Event::Answered { .. })).cloned().unwrap();
        assert_eq!(answered.level(), level, "{answered}");
        let seconds = format!("[a] start elapsed = {:.6} secs", -offset as f64 / 1e3);
        assert!(answered.to_string().starts_with(&seconds), "{answered}");
    }
}

#[test]
fn an_old_estimate_does_not_vouch_for_the_clock_in_another_controllers_session() {
    for (offset, stepped) in [(-500, false), (500, true)] {
        let mut rig = Rig::starting(&["a"]);
        rig.starts("a", 1002);
        rig.said.clear();
        let stop = control(Kind::Stop, "other", "");
        rig.put(said(stop), 2000);
        rig.ack("a", Kind::AckStop, offset, 2001);
        let answered = rig.events().into_iter().find(|e| matches!(e, Event::Answered { .. })).unwrap();
        assert_eq!(answered.level(), Level::Error, "{answered}");
        let step = rig.events().into_iter().any(|e| matches!(e, Event::ClockStepped { .. }));
        assert_eq!(step, stepped, "only a stamp from the future cannot be explained by the way it took");
    }
}

#[test]
fn other_controllers_are_heard_and_our_own_echo_is_not_one() {
    let mut rig = Rig::starting(&["a"]);
    let own = rig.said.iter().find_map(|o| match o {
        Output::Publish { message, .. } => Some(message.clone()),
        _ => None,
    });
    let own = own.unwrap();
    rig.said.clear();
    rig.put(said(own.clone()), 1002);
    assert_eq!(rig.events(), Vec::<&Event>::new());
    let other = Control { stamp: Wall(7), session: "theirs".into(), ..own };
    rig.put(said(other), 1003);
    assert!(matches!(rig.events()[..], [Event::Foreign { .. }]));
}

#[test]
fn a_session_opened_by_another_controller_is_followed() {
    let mut rig = Rig::with(&["a"]);
    let start = Control { systems: vec!["a".into()], ..control(Kind::Start, "mocap4r2cli", "theirs") };
    rig.put(said(start.clone()), 1000);
    rig.starts("a", 1001);
    assert_eq!(rig.controller.session(), Some("theirs"));
    // The acknowledgement may come first: it has another publisher.
    let mut rig = Rig::with(&["a"]);
    rig.ack("a", Kind::AckStart, 0, 1000);
    rig.put(said(start), 1001);
    rig.answer(|_| ACTIVE, 1002);
    rig.put(Input::Wake, 5000);
    assert_eq!(rig.controller.session(), Some("theirs"));
    assert!(!rig.events().iter().any(|e| matches!(e, Event::Unexpected { .. })));
}

#[test]
fn a_system_without_lifecycle_services_is_believed_its_acknowledgement() {
    let mut rig = Rig::with(&["/ros1"]);
    rig.request(Command::Start, named(&["ros1"]), 1000);
    rig.answer(|_| Err(NoState::NoService), 1001);
    rig.ack("/ros1", Kind::AckStart, 0, 1002);
    rig.answer(|_| Err(NoState::NoService), 1003);
    assert_eq!(rig.outcome("ros1"), Outcome::Done(Proof::AckOnly));
}

#[test]
fn an_acknowledgement_of_a_system_that_should_tell_its_state_and_does_not_is_no_success() {
    let mut rig = Rig::with(&["a"]);
    rig.request(Command::Start, Targets::All, 1000);
    rig.answer(|_| Err(NoState::NoAnswer), 2000);
    rig.ack("a", Kind::AckStart, 0, 2001);
    rig.run_until_report(|_| Err(NoState::NoAnswer));
    assert_eq!(rig.outcome("a"), Outcome::Failed(Failure::Unconfirmed));
}

#[test]
fn an_unannounced_system_that_answers_a_start_to_all_is_in_the_report() {
    let mut rig = Rig::starting(&["a"]);
    rig.ack("shy", Kind::AckStart, 0, 1002);
    rig.starts("a", 1002);
    assert_eq!(rig.outcome("shy"), Outcome::Done(Proof::Acknowledged));
}

#[test]
fn a_newer_request_replaces_an_older_one_and_both_are_reported() {
    let mut rig = Rig::starting(&["a"]);
    rig.published();
    rig.request(Command::Stop, Targets::All, 1002);
    assert_eq!(rig.outcome("a"), Outcome::Failed(Failure::Superseded));
    rig.said.retain(|o| !matches!(o, Output::Finished(_)));
    rig.answer(|_| INACTIVE, 1003);
    assert_eq!(rig.published(), [("/".into(), vec![])], "the START may still be on its way");
    rig.run_until_report(|_| INACTIVE);
    assert_eq!(rig.outcome("a"), Outcome::Done(Proof::StateOnly));
}

#[test]
fn hostile_names_are_refused_and_lose_nothing() {
    let mut rig = Rig::with(&["a"]);
    let long = "x".repeat(65_536);
    let refused = rig.controller.request(Command::Start, "s", Targets::Named(vec![long.clone()]), at(1000));
    assert!(refused.unwrap_err().problem.contains("too long"));
    for source in [long.as_str(), "", "\u{1b}[2J", "a b"] {
        rig.put(announced(source, &[]), 1000);
        rig.ack(source, Kind::AckStart, 0, 1000);
    }
    assert_eq!(rig.controller.systems().len(), 1);
    assert!(rig.events().iter().all(|e| matches!(e, Event::Malformed(text) if text.len() < 400)));
}

#[test]
fn more_systems_than_anyone_has_do_not_grow_the_memory() {
    let mut rig = Rig::with(&["a"]);
    for n in 0..3 * MAX_SYSTEMS {
        rig.announce("/", &format!("flood_{n}"), 1000);
    }
    assert_eq!(rig.controller.systems().len(), MAX_SYSTEMS);
}

#[test]
fn invented_acknowledgements_do_not_keep_systems_out() {
    let mut rig = Rig::with(&["a"]);
    for n in 0..2 * MAX_SYSTEMS {
        rig.ack(&format!("flood_{n}"), Kind::AckStart, 0, 1000 + n as u64);
    }
    assert_eq!(rig.controller.systems().len(), MAX_SYSTEMS);
    rig.announce("/", "b", 9000);
    assert!(rig.controller.systems()[&id("a")].announced() && rig.controller.systems()[&id("b")].announced());
}

#[test]
fn silent_systems_are_noticed_by_polling() {
    let settings = Settings { poll_period: Some(Duration::from_secs(1)), ..Settings::default() };
    let mut rig = Rig::with_settings(settings, &[]);
    rig.announce("/", "a", 0);
    rig.answer(|_| ACTIVE, 1);
    assert!(rig.events().contains(&&Event::State { system: id("a"), from: None, to: State::Active }));
    let mut millis = 0;
    while !rig.events().iter().any(|e| matches!(e, Event::Unresponsive { .. })) {
        millis = u64::try_from(rig.controller.next_deadline().unwrap().as_millis()).unwrap() + 1;
        assert!(millis < 10_000, "noticed in time");
        rig.put(Input::Wake, millis);
        rig.answer(|_| Err(NoState::NoAnswer), millis + 999);
    }
    assert!(millis > 3000, "one lost answer is no alarm");
}

#[test]
fn a_start_while_another_session_runs_fails_and_names_both() {
    let mut rig = Rig::with(&["a", "b"]);
    rig.run_session("take_1", &["a"], 1000);
    rig.start(Ask::new(Command::Start, "take_2", Targets::All), 5000);
    rig.answer(|id| if id.bare() == "a" { ACTIVE } else { INACTIVE }, 5001);
    assert_eq!(rig.published(), [], "no session of two names is begun");
    let report = rig.report().unwrap();
    assert!(!report.is_success() && report.session == "take_2");
    assert_eq!(rig.outcome("a"), Outcome::Failed(Failure::OtherSession("take_1".into())));
    assert_eq!(rig.outcome("b"), Outcome::Failed(Failure::Withheld));
    // The same session again is what it is already in.
    rig.said.clear();
    rig.start(Ask::new(Command::Start, "take_1", named(&["a"])), 6000);
    rig.answer(|_| ACTIVE, 6001);
    assert_eq!(rig.outcome("a"), Outcome::Already(State::Active));
    assert_eq!(rig.report().unwrap().results[&id("a")].session.as_deref(), Some("take_1"));
}

#[test]
fn a_restart_stops_first_and_starts_anew() {
    let mut rig = Rig::with(&["a", "b"]);
    rig.run_session("take_1", &["a"], 1000);
    rig.start(Ask { restart: true, ..Ask::new(Command::Start, "take_2", Targets::All) }, 5000);
    rig.answer(|id| if id.bare() == "a" { ACTIVE } else { INACTIVE }, 5001);
    let kinds = |rig: &mut Rig| -> Vec<_> {
        let sent: Vec<_> = rig
            .said
            .iter()
            .filter_map(|o| match o {
                Output::Publish { message, .. } => Some((message.kind, message.systems.clone())),
                _ => None,
            })
            .collect();
        rig.said.retain(|o| !matches!(o, Output::Publish { .. }));
        sent
    };
    // The STOP is a request of its own and looks first.
    rig.answer(|_| ACTIVE, 5002);
    assert_eq!(kinds(&mut rig), [(Kind::Stop, vec!["a".to_owned()])]);
    rig.stops("a", 5003);
    assert_eq!(kinds(&mut rig), [(Kind::Start, vec![])], "then all at once");
    rig.ack("a", Kind::AckStart, 0, 5005);
    rig.starts("b", 5005);
    let reports = rig.reports();
    assert_eq!(reports.len(), 1, "what it did on the way is no report of its own");
    assert!(reports[0].is_success() && reports[0].messages == 2, "{reports:?}");
    assert_eq!(rig.controller.systems()[&id("a")].session(), Some("take_2"));
}

#[test]
fn who_is_in_a_session_and_does_not_tell_its_state_is_stopped_before_it_is_started_anew() {
    let mut rig = Rig::with(&["a"]);
    rig.run_session("take_1", &["a"], 1000);
    rig.start(Ask { restart: true, ..Ask::new(Command::Start, "take_2", named(&["/a"])) }, 5000);
    rig.answer(|_| Err(NoState::NoAnswer), 6000);
    rig.answer(|_| Err(NoState::NoAnswer), 7000);
    let sent = rig.said.iter().filter_map(|o| match o {
        Output::Publish { message, .. } => Some(message.kind),
        _ => None,
    });
    assert_eq!(
        sent.collect::<Vec<_>>(),
        [Kind::Stop],
        "a START alone would be ignored, and its state tell of take_1"
    );
}

#[test]
fn a_stop_goes_also_to_who_says_it_is_inactive() {
    let mut rig = Rig::with(&["a", "b"]);
    rig.request(Command::Stop, named(&["a"]), 1000);
    rig.answer(|_| INACTIVE, 1001);
    assert_eq!(rig.published(), [("/".into(), vec!["a".into()])], "an activation may be under way");
    assert_eq!(rig.outcome("a"), Outcome::Already(State::Inactive));
    let mut rig = Rig::with(&["a", "b"]);
    rig.request(Command::Stop, Targets::All, 1000);
    rig.answer(|id| if id.bare() == "a" { INACTIVE } else { ACTIVE }, 1001);
    assert_eq!(rig.published(), [("/".into(), vec![])]);
}

#[test]
fn a_stop_that_waited_for_another_is_sent_as_well() {
    let mut rig = Rig::with(&["a"]);
    rig.run_session("s", &["a"], 1000);
    rig.request(Command::Stop, named(&["/a"]), 5000);
    rig.answer(|_| ACTIVE, 5001);
    rig.request(Command::Stop, named(&["/a"]), 5002);
    rig.published();
    rig.stops("a", 5003);
    rig.answer(|_| INACTIVE, 5005);
    // Somebody else may have started it between the two.
    assert_eq!(rig.published(), [("/".into(), vec!["a".into()])]);
}

#[test]
fn two_operators_start_and_stop_different_systems_at_the_same_moment() {
    let mut rig = Rig::with(&["a", "b"]);
    rig.run_session("s0", &["b"], 500);
    let start = rig.start(Ask::new(Command::Start, "one", named(&["a"])), 5000);
    let stop = rig.start(Ask::new(Command::Stop, "", named(&["b"])), 5000);
    rig.answer(|id| if id.bare() == "a" { INACTIVE } else { ACTIVE }, 5001);
    rig.ack("b", Kind::AckStop, 0, 5002);
    rig.ack("a", Kind::AckStart, 0, 5003);
    rig.answer(|id| if id.bare() == "a" { ACTIVE } else { INACTIVE }, 5004);
    let reports: BTreeMap<_, _> = rig.reports().into_iter().map(|r| (r.request, r)).collect();
    for (number, system) in [(start, "a"), (stop, "b")] {
        let report = reports[&number];
        assert!(report.is_success(), "{report:?}");
        assert_eq!(report.results.keys().map(SystemId::bare).collect::<Vec<_>>(), [system]);
    }
}

#[test]
fn the_same_command_waits_for_its_turn_and_the_opposite_one_takes_over() {
    let mut rig = Rig::with(&["a"]);
    let first = rig.start(Ask::new(Command::Start, "one", named(&["a"])), 1000);
    rig.answer(|_| INACTIVE, 1001);
    let second = rig.start(Ask::new(Command::Start, "two", named(&["a"])), 1002);
    assert_eq!(rig.published().len(), 1);
    rig.starts("a", 1003);
    rig.answer(|_| ACTIVE, 1005);
    let reports: BTreeMap<_, _> = rig.reports().into_iter().map(|r| (r.request, r.clone())).collect();
    assert!(reports[&first].is_success());
    let told = &reports[&second].results[&id("a")].outcome;
    assert_eq!(told, &Outcome::Failed(Failure::OtherSession("one".into())), "true, and in its order");

    let mut rig = Rig::with(&["a", "b"]);
    let start = rig.start(Ask::new(Command::Start, "one", Targets::All), 1000);
    rig.answer(|_| INACTIVE, 1001);
    let stop = rig.start(Ask::new(Command::Stop, "", named(&["a"])), 1002);
    rig.ack("b", Kind::AckStart, 0, 1003);
    rig.answer(|id| if id.bare() == "b" { ACTIVE } else { INACTIVE }, 1004);
    rig.run_until_report(|_| INACTIVE);
    let reports: BTreeMap<_, _> = rig.reports().into_iter().map(|r| (r.request, r.clone())).collect();
    assert_eq!(reports[&start].results[&id("a")].outcome, Outcome::Failed(Failure::Superseded));
    assert_eq!(reports[&start].results[&id("b")].outcome, Outcome::Done(Proof::Acknowledged));
    assert!(!reports.contains_key(&stop) || reports[&stop].is_success());
}

#[test]
fn without_an_expected_member_nobody_is_started() {
    let mut rig = Rig::with(&["a", "b"]);
    let expect = vec!["a".into(), "camera".into()];
    rig.start(Ask { expect, ..Ask::new(Command::Start, "s", Targets::All) }, 1000);
    rig.run_until_report(|_| INACTIVE);
    assert_eq!(rig.published(), []);
    assert_eq!(rig.outcome("camera"), Outcome::Failed(Failure::Unknown));
    assert_eq!(rig.outcome("a"), Outcome::Failed(Failure::Withheld));
    // The same when it is named, too.
    rig.said.clear();
    let expect = vec!["a".into(), "camera".into()];
    rig.start(Ask { expect, ..Ask::new(Command::Start, "s", named(&["a", "camera"])) }, 15_000);
    rig.run_until_report(|_| INACTIVE);
    assert_eq!(rig.published(), []);
    assert_eq!(rig.outcome("a"), Outcome::Failed(Failure::Withheld));
    // All there.
    rig.said.clear();
    rig.start(Ask { expect: vec!["a".into()], ..Ask::new(Command::Start, "s", Targets::All) }, 20_000);
    rig.answer(|_| INACTIVE, 20_001);
    assert_eq!(rig.published().len(), 1);
}

#[test]
fn all_or_none_starts_nobody_unless_all_are_ready_and_stops_the_rest_when_one_fails() {
    let atomic = |targets| Ask { atomic: true, ..Ask::new(Command::Start, "s", targets) };
    let mut rig = Rig::with(&["a", "b"]);
    rig.start(atomic(Targets::All), 1000);
    rig.answer(|id| if id.bare() == "a" { INACTIVE } else { Ok(State::Unconfigured) }, 1001);
    assert_eq!(rig.published(), []);
    assert_eq!(rig.outcome("a"), Outcome::Failed(Failure::Withheld));
    assert_eq!(rig.outcome("b"), Outcome::Failed(Failure::WrongState(State::Unconfigured)));

    let mut rig = Rig::with(&["a", "b"]);
    rig.start(atomic(Targets::All), 1000);
    rig.answer(|_| INACTIVE, 1001);
    rig.starts("a", 1002);
    rig.published();
    rig.put(Input::Wake, 1502);
    rig.answer(|_| INACTIVE, 1503);
    rig.failed_transition("b", 1003, 1504);
    rig.answer(|_| INACTIVE, 1505);
    rig.answer(|_| ACTIVE, 1812);
    assert_eq!(rig.published(), [("/".into(), vec!["a".into()])], "a is stopped again");
    rig.stops("a", 1813);
    rig.log("b", "no such device", 1002, 1815);
    rig.log("b", "so it is not acknowledged", 1003, 1816);
    rig.put(Input::Wake, 2120);
    assert_eq!(rig.outcome("a"), Outcome::Failed(Failure::Undone { stopped: true }));
    assert_eq!(rig.outcome("b"), Outcome::Failed(Failure::Aborted(State::Inactive)));
    let reason = rig.report().unwrap().results[&id("b")].reason.clone();
    assert_eq!(reason.map(|r| r.text).as_deref(), Some("no such device"));
    assert_eq!(rig.controller.session(), None);
}

#[test]
fn sessions_are_known_to_the_next_controller() {
    let rig = session_of_one();
    let memory = rig.controller.memory().clone();
    assert_eq!(memory.systems["/a"].session, "s1");
    let settings = Settings { poll_period: Some(Duration::from_secs(1)), ..Settings::default() };
    let again = |memory: &Memory| {
        let mut controller = Controller::new(settings.clone(), "boss", "/", at(0));
        controller.recall_all(memory.clone(), false, at(0));
        Rig { controller, said: Vec::new(), millis: 0 }
    };
    // Still there, still active; then it dies.
    let mut rig = again(&memory);
    rig.announce_by(1, "a", 100);
    rig.answer(|_| ACTIVE, 101);
    assert_eq!(rig.controller.session(), Some("s1"));
    rig.put(Input::Gone { node: "/a".into(), participant: Some(process_number(1)) }, 3000);
    let left = Event::Left { system: id("a"), session: Some("s1".into()) };
    assert!(rig.events().contains(&&left) && rig.controller.memory().systems.is_empty());
    // Restarted meanwhile: it is another process.
    let mut rig = again(&memory);
    rig.announce_by(2, "a", 100);
    assert!(rig.events().contains(&&left));
    rig.answer(|_| ACTIVE, 101);
    assert_eq!(rig.controller.session(), None, "whatever it is in now");
    // Ended meanwhile by somebody.
    let mut rig = again(&memory);
    rig.announce_by(1, "a", 100);
    rig.answer(|_| INACTIVE, 101);
    assert!(rig.events().contains(&&Event::Ended { system: id("a"), session: "s1".into() }));
    // Gone meanwhile.
    let mut rig = again(&memory);
    rig.put(Input::Wake, 15_000);
    assert_eq!(rig.events(), [&left]);
}

#[test]
fn nobody_is_missed_by_a_controller_that_could_not_hear_of_it() {
    let memory = session_of_one().controller.memory().clone();
    let settings = Settings { poll_period: Some(Duration::from_secs(1)), ..Settings::default() };
    for (dialect, home, confined) in [(Dialect::Device, "/", false), (Dialect::Mocap, "/lab", true)] {
        let mut controller = Controller::speaking(
            Speaker { dialects: &[dialect], source: "boss", home },
            settings.clone(),
            at(0),
        );
        controller.recall_all(memory.clone(), confined, at(0));
        let mut rig = Rig { controller, said: Vec::new(), millis: 0 };
        rig.put(Input::Wake, 20_000);
        assert_eq!(rig.events(), Vec::<&Event>::new());
        assert_eq!(rig.controller.memory(), &memory, "and its session is not forgotten");
    }
}

#[test]
fn another_controllers_start_that_is_not_answered_is_an_error() {
    let start = control(Kind::Start, "other", "theirs");
    let settings = Settings { poll_period: Some(Duration::from_secs(60)), ..Settings::default() };
    let unanswered = |rig: &Rig| {
        let told = rig.events().into_iter().find(|e| matches!(e, Event::Unanswered { .. }));
        told.map(|e| (e.level(), e.to_string()))
    };
    for (acknowledges, state, told) in [
        (false, INACTIVE, true),
        (true, ACTIVE, false),
        (false, ACTIVE, false),
        (false, Err(NoState::NoAnswer), true),
    ] {
        let mut rig = Rig::with_settings(settings.clone(), &["a"]);
        rig.answer(|_| INACTIVE, 1);
        rig.put(said(start.clone()), 1000);
        if acknowledges {
            rig.ack("a", Kind::AckStart, 0, 1001);
        }
        rig.answer(|_| state, 1002);
        rig.put(Input::Wake, 6001);
        rig.answer(|_| state, 6002);
        assert_eq!(unanswered(&rig).is_some(), told, "{acknowledges} {state:?}");
        if let Some((level, text)) = unanswered(&rig) {
            assert!(level == Level::Error && text.contains("\"theirs\"") && text.contains("other"), "{text}");
        } else {
            assert_eq!(rig.controller.session(), Some("theirs"));
        }
    }
}

#[test]
fn what_was_given_up_does_not_outlive_the_system() {
    let mut rig = Rig::with(&[]);
    rig.announce_by(1, "a", 0);
    rig.request(Command::Start, named(&["a"]), 1000);
    rig.run_until_report(|_| INACTIVE);
    rig.put(Input::Gone { node: "/a".into(), participant: Some(process_number(1)) }, 12_000);
    rig.announce_by(2, "a", 13_000);
    rig.said.clear();
    rig.ack("a", Kind::AckStart, 0, 14_000);
    rig.put(Input::Wake, 16_000);
    assert!(rig.events().contains(&&Event::Unexpected { system: id("a"), command: Command::Start }));
    assert!(!rig.events().iter().any(|e| matches!(e, Event::Late { .. })), "{:?}", rig.events());
}

#[test]
fn a_node_that_listens_without_an_announcement_is_not_configured() {
    let mut rig = Rig::with(&[]);
    let listening = Input::Listening { node: "/cam".into(), channel: "/".into(), participant: None };
    rig.put(listening.clone(), 100);
    rig.put(listening, 200);
    assert_eq!(rig.events(), [&Event::Listening { system: id("cam") }]);
    rig.put(Input::Reachable { node: "/cam".into(), reachable: true }, 100);
    rig.request(Command::Start, named(&["/cam"]), 1000);
    rig.answer(|_| Ok(State::Unconfigured), 1001);
    assert_eq!(rig.outcome("cam"), Outcome::Failed(Failure::WrongState(State::Unconfigured)));
    rig.announce("/", "cam", 2000);
    assert!(rig.controller.systems()[&id("cam")].announced());
}

#[test]
fn a_state_that_was_just_learnt_is_not_asked_for_again() {
    let mut rig = Rig::with(&["a"]);
    rig.run_session("s", &["a"], 1000);
    rig.request(Command::Stop, Targets::All, 1500);
    assert_eq!((rig.queried(), rig.published().len()), (0, 1), "it is known to be active");
    rig.ack("a", Kind::AckStop, 0, 1501);
    assert_eq!(rig.queried(), 1, "one question per command");
}

#[test]
fn a_system_of_several_dialects_is_one_system() {
    let mut rig = Rig::with(&[]);
    rig.controller = Controller::speaking(
        Speaker { dialects: &Dialect::ALL, source: "boss", home: "/" },
        Settings::default(),
        at(0),
    );
    for dialect in [Dialect::Device, Dialect::Mocap] {
        let announcement = Announcement { source: "a".into(), ..Announcement::default() };
        let (channel, participant) = (Channel::new(dialect, "/"), Some(process_number(1)));
        rig.put(Input::Announced { channel, sender: None, participant, announcement }, 0);
    }
    rig.put(Input::Reachable { node: "/a".into(), reachable: true }, 0);
    let dialects: Vec<_> = rig.controller.systems()[&id("a")].dialects().collect();
    assert_eq!(dialects, [Dialect::Device, Dialect::Mocap]);
    rig.start(Ask::new(Command::Start, "s", named(&["a"])), 1000);
    rig.answer(|_| INACTIVE, 1001);
    let sent: Vec<_> = rig
        .said
        .iter()
        .filter_map(|o| match o {
            Output::Publish { channel, .. } => Some(channel.dialect),
            _ => None,
        })
        .collect();
    assert_eq!(sent, [Dialect::Device], "asked once, in the first that was heard");
}

#[test]
fn a_thousand_systems_start_in_one_message_and_leave_nothing_behind() {
    let names: Vec<_> = (0..1000).map(|n| format!("system_{n}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let mut rig = Rig::starting(&names);
    assert_eq!(rig.published().len(), 1);
    for name in &names {
        rig.ack(name, Kind::AckStart, 0, 1002);
    }
    rig.answer(|_| ACTIVE, 1003);
    assert!(rig.report().unwrap().is_success());
    assert_eq!(rig.controller.deadlines.len(), 0, "nothing is waited for any more");
}

#[test]
fn what_an_event_costs_does_not_grow_with_the_systems() {
    for count in [10, 50, 1000] {
        let names: Vec<_> = (0..count).map(|n| format!("system_{n}")).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let mut rig = Rig::with(&names);
        rig.request(Command::Start, Targets::All, 1000);
        request::roll::walked::take();
        rig.answer(|_| INACTIVE, 1001);
        for name in &names {
            rig.ack(name, Kind::AckStart, 0, 1002);
        }
        rig.answer(|_| ACTIVE, 1003);
        assert!(rig.report().unwrap().is_success());
        // Three events for each of them; all of them are looked at when the first message is sent, and at the end.
        let walked = request::roll::walked::take();
        assert!(walked <= 10 * count, "{walked} records looked at for {count} systems");
        let kept = rig.said.iter().filter(|o| **o == Output::Remember).count();
        assert!(kept <= count, "{kept}");
    }
}

#[test]
fn a_memory_that_changed_is_told_of_once_until_somebody_listens() {
    let mut rig = Rig::starting(&["a", "b", "c"]);
    for name in ["a", "b", "c"] {
        rig.ack(name, Kind::AckStart, 0, 1002);
    }
    let questions: Vec<_> = rig.said.drain(..).collect();
    for question in questions {
        if let Output::QueryState { system, query } = question {
            rig.controller.handle(Input::State { system, query, result: ACTIVE }, at(1003));
        }
    }
    rig.drain();
    assert_eq!(rig.said.iter().filter(|o| **o == Output::Remember).count(), 1);
    assert_eq!(rig.controller.memory().systems.len(), 3);
}

#[test]
fn an_acknowledgement_slower_than_its_state_is_heard_all_the_same() {
    let mut rig = Rig::starting(&["a", "b"]);
    rig.put(Input::Wake, 1501);
    rig.answer(|id| if id.bare() == "a" { ACTIVE } else { Ok(State::Activating) }, 1502);
    rig.ack("a", Kind::AckStart, 0, 1600);
    rig.starts("b", 1700);
    let result = &rig.report().unwrap().results[&id("a")];
    assert_eq!(result.outcome, Outcome::Done(Proof::Acknowledged));
    assert_eq!(result.answered_after, Some(Duration::from_millis(599)));
    assert!(!rig.events().iter().any(|e| matches!(e, Event::Late { .. })), "{:?}", rig.events());
}

#[test]
fn a_system_that_starts_after_the_patience_is_in_the_session_it_was_started_for() {
    let mut rig = Rig::with(&["lazy"]);
    rig.start(Ask::new(Command::Start, "take_1", Targets::All), 1000);
    let ended = rig.run_until_report(|_| INACTIVE);
    rig.said.clear();
    rig.ack("lazy", Kind::AckStart, 0, ended + 1000);
    rig.answer(|_| ACTIVE, ended + 1001);
    assert_eq!(rig.controller.session(), Some("take_1"));
    rig.said.clear();
    rig.start(Ask::new(Command::Start, "take_2", Targets::All), ended + 5000);
    rig.answer(|_| ACTIVE, ended + 5001);
    assert_eq!(rig.outcome("lazy"), Outcome::Failed(Failure::OtherSession("take_1".into())));
}

#[test]
fn all_or_none_stops_also_who_may_start_yet() {
    let mut rig = Rig::with(&["lazy", "quick"]);
    rig.start(Ask { atomic: true, ..Ask::new(Command::Start, "s", Targets::All) }, 1000);
    rig.answer(|_| INACTIVE, 1001);
    rig.ack("quick", Kind::AckStart, 0, 1002);
    rig.answer(|id| if id.bare() == "quick" { ACTIVE } else { INACTIVE }, 1003);
    let state = |id: &SystemId| if id.bare() == "quick" { ACTIVE } else { INACTIVE };
    let stopped = |rig: &Rig| {
        rig.said.iter().find_map(|o| match o {
            Output::Publish { message, .. } if message.kind == Kind::Stop => Some(message.systems.clone()),
            _ => None,
        })
    };
    for _ in 0..100 {
        rig.answer(state, rig.millis);
        if stopped(&rig).is_some() {
            break;
        }
        let next = rig.controller.next_deadline().unwrap();
        rig.put(Input::Wake, next.as_millis() as u64 + 1);
    }
    assert_eq!(stopped(&rig), Some(vec!["quick".to_owned(), "lazy".to_owned()]));
}

#[test]
fn a_start_waits_for_a_restart_and_its_stop_is_not_taken_from_it() {
    let mut rig = Rig::with(&["a"]);
    rig.run_session("take_1", &["a"], 1000);
    let restart = Ask { restart: true, ..Ask::new(Command::Start, "take_2", named(&["a"])) };
    let first = rig.start(restart, 5000);
    // One comes while its state is asked for, another one while it is being stopped.
    let second = rig.start(Ask::new(Command::Start, "take_3", named(&["a"])), 5000);
    rig.answer(|_| ACTIVE, 5001);
    rig.answer(|_| ACTIVE, 5002);
    let third = rig.start(Ask::new(Command::Start, "take_2", named(&["a"])), 5002);
    rig.stops("a", 5003);
    rig.ack("a", Kind::AckStart, 0, 5005);
    for millis in 5006..5010 {
        rig.answer(|_| ACTIVE, millis);
    }
    let outcome = |number| {
        let report = rig.reports().into_iter().find(|r| r.request == number);
        report.unwrap_or_else(|| panic!("{number} in {:?}", rig.said)).results[&id("a")].outcome.clone()
    };
    assert_eq!(outcome(first), Outcome::Done(Proof::Acknowledged));
    assert_eq!(outcome(second), Outcome::Failed(Failure::OtherSession("take_2".into())));
    assert_eq!(outcome(third), Outcome::Already(State::Active));
}

#[test]
fn who_waits_for_a_request_that_is_cancelled_comes_to_its_turn_at_once() {
    let mut rig = Rig::with(&["a"]);
    let first = rig.start(Ask::new(Command::Start, "one", named(&["/a"])), 1000);
    rig.answer(|_| INACTIVE, 1001);
    rig.start(Ask::new(Command::Start, "one", named(&["/a"])), 1002);
    rig.said.clear();
    rig.controller.cancel(first, at(1003));
    rig.drain();
    assert_eq!(rig.queried(), 1, "{:?}", rig.said);
}

#[test]
fn simulated_time_is_said_to_be_so() {
    let mut rig = Rig::with(&["a"]);
    let now = |millis| Now { wall: Wall(at(millis).wall.0 + 1_790_000_000_000_000_000), ..at(millis) };
    rig.controller.request(Command::Start, "s", Targets::All, now(1000)).unwrap();
    rig.drain();
    rig.answer(|_| INACTIVE, 1001);
    let stamp = Wall::from_stamp(12, 0);
    let message =
        Control { kind: Kind::AckStart, stamp, source: "a".into(), session: String::new(), systems: vec![] };
    rig.controller.handle(said(message), now(1002));
    rig.drain();
    rig.answer(|_| ACTIVE, 1003);
    let simulated = Event::Simulated { system: id("a"), command: Command::Start };
    assert!(rig.events().contains(&&simulated) && simulated.level() == Level::Info);
    let result = &rig.report().unwrap().results[&id("a")];
    assert_eq!((result.elapsed, result.clock.offset), (None, None), "no deviation of fifty years");
    assert!(result.clock.simulated);
}

#[test]
fn a_scheduled_start_arms_those_that_can_be_and_tells_the_others_at_the_instant() {
    let mut rig = Rig::with(&["cam", "old"]);
    let ask = Ask { at: Some(at(5_000).wall), ..Ask::new(Command::Start, "s1", named(&["/cam", "/old"])) };
    let request = rig.start(ask, 3_000);
    rig.answer(|_| INACTIVE, 3_010);
    let arms = rig.said.iter().filter(|o| matches!(o, Output::Arm { .. })).count();
    assert_eq!((arms, rig.published()), (2, vec![]));
    let (sent, clock) = (at(3_010).mono, Some(at(3_012).wall));
    rig.put(Input::Armed { request, system: id("cam"), sent, clock }, 3_014);
    rig.put(Input::Armed { request, system: id("old"), sent, clock: None }, 4_010);
    rig.put(Input::Wake, 4_999);
    assert_eq!(rig.published(), vec![]);
    rig.put(Input::Wake, 5_000);
    assert_eq!(rig.published(), [("/".to_owned(), vec!["old".to_owned()])], "cam starts by itself");
    rig.ack("cam", Kind::AckStart, 0, 5_001);
    rig.ack("old", Kind::AckStart, 0, 5_004);
    rig.answer(|_| ACTIVE, 5_010);
    let report = rig.report().unwrap();
    assert!(report.is_success() && report.results[&id("cam")].armed && !report.results[&id("old")].armed);
    assert_eq!(report.last_answer_after, Some(Duration::from_millis(4)));
    let spread = report.spread.unwrap();
    assert!((spread.nanos - 3_000_000).abs() <= spread.uncertainty, "{spread}");
    assert!(spread.uncertainty < 5_000_000, "the clocks were compared when it was armed: {spread}");
}

/// A camera that has been told the instant of its start, and the request that told it.
fn armed_camera() -> (Rig, u64) {
    let mut rig = Rig::with(&["cam"]);
    let ask = Ask { at: Some(at(5_000).wall), ..Ask::new(Command::Start, "s1", named(&["/cam"])) };
    let request = rig.start(ask, 3_000);
    rig.answer(|_| INACTIVE, 3_010);
    let (sent, clock) = (at(3_010).mono, Some(at(3_012).wall));
    rig.put(Input::Armed { request, system: id("cam"), sent, clock }, 3_014);
    (rig, request)
}

#[test]
fn an_armed_system_that_stays_where_it_is_gets_its_start_after_all() {
    let (mut rig, _) = armed_camera();
    rig.run_until_report(|_| INACTIVE);
    assert!(!rig.report().unwrap().is_success());
    assert!(!rig.published().is_empty(), "it is not left waiting for an instant that has passed");
}

#[test]
fn who_cancels_a_scheduled_start_disarms() {
    let asked = || {
        let mut rig = Rig::with(&["cam"]);
        let ask = Ask { at: Some(at(5_000).wall), ..Ask::new(Command::Start, "s1", named(&["/cam"])) };
        let request = rig.start(ask, 3_000);
        rig.answer(|_| INACTIVE, 3_010);
        (rig, request)
    };
    // Whether it has said that it is armed, or not yet.
    for (mut rig, request) in [armed_camera(), asked()] {
        rig.controller.cancel(request, at(3_020));
        rig.drain();
        rig.answer(|_| INACTIVE, 3_021);
        let stop = |o: &Output| matches!(o, Output::Publish { message, .. } if message.kind == Kind::Stop);
        assert!(rig.said.iter().any(stop), "{:?}", rig.said);
    }
}

fn foreign_start(session: &str, system: &str) -> Input {
    let (source, systems) = ("mocap4r2cli".into(), vec![system.into()]);
    let message = Control { kind: Kind::Start, stamp: Wall(7), source, session: session.into(), systems };
    said(message)
}

#[test]
fn an_acknowledgement_to_another_controller_does_not_count_for_a_start_that_was_given_up() {
    for theirs_first in [true, false] {
        let settings = Settings { poll_period: Some(Duration::from_secs(1)), ..Settings::default() };
        let mut rig = Rig::with_settings(settings, &["a"]);
        rig.start(Ask::new(Command::Start, "ours", Targets::All), 1000);
        let ended = rig.run_until_report(|_| INACTIVE);
        // Its state tells that nothing came of it.
        for second in 1..4 {
            rig.put(Input::Wake, ended + second * 1000);
            rig.answer(|_| INACTIVE, ended + second * 1000 + 1);
        }
        rig.said.clear();
        if theirs_first {
            rig.put(foreign_start("theirs", "a"), ended + 5000);
        }
        rig.ack("a", Kind::AckStart, 0, ended + 5001);
        if !theirs_first {
            rig.put(foreign_start("theirs", "a"), ended + 5002);
        }
        rig.answer(|_| ACTIVE, ended + 5003);
        rig.put(Input::Wake, ended + 7000);
        assert_eq!(rig.controller.session(), Some("theirs"));
        assert!(!rig.events().iter().any(|e| matches!(e, Event::Late { .. })), "{:?}", rig.events());
    }
}

#[test]
fn another_controllers_start_takes_nobody_from_a_session_who_only_was_silent() {
    let settings = Settings { poll_period: Some(Duration::from_secs(1)), ..Settings::default() };
    let mut rig = Rig::with_settings(settings, &["a"]);
    rig.run_session("ours", &["a"], 1000);
    for second in 2..10 {
        rig.put(Input::Wake, second * 1000);
        rig.answer(|_| Err(NoState::NoAnswer), second * 1000 + 900);
    }
    assert!(rig.controller.systems()[&id("a")].unresponsive());
    rig.put(foreign_start("theirs", "a"), 11_000);
    for second in 12..20 {
        rig.put(Input::Wake, second * 1000);
        rig.answer(|_| ACTIVE, second * 1000 + 900);
    }
    assert_eq!(rig.controller.session(), Some("ours"));
}

#[test]
fn who_was_taken_for_dead_and_lives_is_in_its_session_again() {
    let mut rig = session_of_one();
    let lease_ends = Input::Gone { node: "/a".into(), participant: Some(process_number(1)) };
    rig.put(lease_ends.clone(), 2000);
    assert_eq!(rig.controller.session(), None);
    rig.said.clear();
    rig.announce_by(1, "a", 20_000);
    rig.answer(|_| ACTIVE, 20_001);
    assert_eq!(rig.controller.session(), Some("s1"));
    assert_eq!(rig.controller.memory().systems["/a"].session, "s1");
    let joined = Event::Joined { system: id("a"), topics: vec!["data".into()], running_session: None };
    assert!(rig.events().contains(&&joined), "{:?}", rig.events());
    // A successor is in none.
    rig.put(lease_ends, 30_000);
    rig.announce_by(2, "a", 40_000);
    rig.answer(|_| ACTIVE, 40_001);
    assert_eq!(rig.controller.session(), None);
}

#[test]
fn nobody_is_told_to_start_when_the_time_is_up() {
    let settings = Settings { deadline: Duration::from_millis(50), ..Settings::default() };
    let mut rig = Rig::with_settings(settings, &[]);
    rig.start(Ask::new(Command::Start, "s", named(&["nobody"])), 1000);
    rig.put(Input::Wake, 1050);
    assert_eq!(rig.outcome("nobody"), Outcome::Failed(Failure::Unknown));
    assert_eq!(rig.published(), []);
}

#[test]
fn a_stop_is_not_confirmed_by_the_state_of_before_a_start_that_is_not_answered() {
    let mut rig = Rig::with(&["lazy"]);
    let start = rig.start(Ask::new(Command::Start, "s", named(&["/lazy"])), 1000);
    rig.answer(|_| INACTIVE, 1001);
    rig.controller.cancel(start, at(2000));
    rig.drain();
    rig.said.clear();
    // It takes its time and tells nothing of it.
    rig.start(Ask::new(Command::Stop, "", named(&["/lazy"])), 2000);
    for millis in (2100..6000).step_by(100) {
        rig.answer(|_| INACTIVE, millis);
        rig.put(Input::Wake, millis);
    }
    assert_eq!(rig.report(), None);
    rig.starts("lazy", 6000);
    rig.stops("lazy", 6002);
    assert_eq!(rig.outcome("lazy"), Outcome::Done(Proof::Acknowledged));
    // What nobody can know is not said.
    rig.said.clear();
    let start = rig.start(Ask::new(Command::Start, "s", named(&["/lazy"])), 20_000);
    rig.answer(|_| INACTIVE, 20_001);
    rig.controller.cancel(start, at(20_100));
    rig.drain();
    rig.said.clear();
    let ask = Ask::new(Command::Stop, "", named(&["/lazy"]));
    rig.start(Ask { deadline: Some(Duration::from_secs(3)), ..ask }, 20_200);
    rig.run_until_report(|_| INACTIVE);
    assert_eq!(rig.outcome("lazy"), Outcome::Failed(Failure::InDoubt));
}

#[test]
fn who_answers_nothing_is_not_said_to_be_where_it_was() {
    let mut rig = session_of_one();
    rig.start(Ask::new(Command::Stop, "", named(&["/a"])), 2000);
    rig.run_until_report(|_| Err(NoState::NoAnswer));
    assert_eq!(rig.outcome("a"), Outcome::Failed(Failure::NoAnswer));
}

#[test]
fn the_log_of_who_failed_is_read_before_the_others_are_done() {
    let mut rig = Rig::starting(&["broken", "slow"]);
    rig.run_until_queried();
    let state = |id: &SystemId| if id.bare() == "slow" { Ok(State::Activating) } else { INACTIVE };
    rig.answer(state, rig.millis);
    rig.failed_transition("broken", 1100, rig.millis + 1);
    rig.answer(state, rig.millis + 1);
    assert!(rig.said.contains(&Output::ReadLogs), "{:?}", rig.said);
    rig.log("broken", "no such device", 1100, rig.millis + 10);
    rig.run_until_report(state);
    let reason = rig.report().unwrap().results[&id("broken")].reason.clone();
    assert_eq!(reason.map(|reason| reason.text), Some("no such device".to_owned()));
}
