//! The commands that look or act once and leave.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    path::Path,
    time::Duration,
};

use rosless_cli::{
    Failure, Result, Session, err, exit, output as printer,
    session::{absolute, is_hidden},
};
use rosless_graph::{Graph, config, monotonic, now};
use rosless_protocol::{
    Dialect, Wall,
    controller::{Ask, Event, Level, Report, Settings, System, SystemResult, Targets},
    message::Command,
    name::SystemId,
    node::{ControllerNode, ControllerOptions, Notice, StateFile},
};
use rosless_wire::rosless_msgs::{msg::SystemStatus, srv::SessionCommandResponse};

use crate::{Scope, data, output, recorder, running::Running, speech::Speech};

/// The longest that a command waits for those that discovery says are there.
const HEARING: Duration = Duration::from_secs(5);
/// Errors that stay in view.
const ERRORS: usize = 5;
/// How long whoever was interrupted waits for those that are to be stopped.
const STOPPING: Duration = Duration::from_secs(10);

/// How patient the commands are unless told otherwise.
pub(crate) fn settings() -> Settings {
    // Commands hear everybody before they ask anybody.
    Settings { settle: Duration::ZERO, ..Settings::default() }
}

#[derive(Default)]
pub(crate) struct App {
    /// By request.
    reports: BTreeMap<u64, Report>,
    pub(crate) changed: bool,
    state: Option<StateFile>,
    /// The latest, newest first.
    pub(crate) errors: VecDeque<(Wall, String)>,
    /// Log lines would go through the middle of a picture.
    pub(crate) quiet: bool,
}

pub(crate) fn open(
    ros: &config::Settings,
    scope: &Scope,
    settings: Settings,
) -> Result<(Session<App>, ControllerNode<App>)> {
    let session = Session::join(ros, scope.dialect.names().cli_node, App::default())?;
    let (event_loop, node) = (&session.event_loop, &session.node);
    let state = scope.state_file(session.domain());
    let options = ControllerOptions {
        dialects: scope.dialect.dialects(),
        confined: scope.namespace.is_some(),
        settings,
        memory: state.as_ref().map(|s| s.memory().clone()).unwrap_or_default(),
    };
    session.with(|app| app.state = state);
    let controller = ControllerNode::new(event_loop, node, options, |app: &mut App, notice| match notice {
        Notice::Message(_) => {}
        Notice::Event(event) => {
            app.changed = true;
            if event.level() == Level::Error {
                app.errors.truncate(ERRORS - 1);
                app.errors.push_front((now().wall, event.to_string()));
            }
            // Expected of a newcomer: it was not there when the session began, and clocks are in what it shows.
            let expected =
                matches!(event, Event::Unexpected { .. } | Event::Joined { .. } | Event::Clock { .. });
            if !expected && !app.quiet {
                complain(event);
            }
        }
        Notice::Finished(report) => {
            app.reports.insert(report.request, report.clone());
        }
        Notice::Remember(memory) => {
            if let Some(state) = &mut app.state
                && let Err(error) = state.keep(memory)
            {
                log::warn!("sessions are not remembered: {error}");
            }
        }
    })?;
    Ok((session, controller))
}

/// Names behind the Tab key: who announces itself as a system, in any dialect.
pub(crate) fn system_names(graph: &Graph) -> Vec<String> {
    let topics = Dialect::ALL.map(|d| d.names().environment_topic);
    let publishers = topics.iter().flat_map(|topic| graph.publishers(&absolute(topic)));
    let nodes = publishers.filter_map(|publisher| graph.node_of(&publisher.gid));
    nodes.map(|node| node.to_string()).filter(|name| !is_hidden(name)).collect()
}

/// What hearing came to.
struct Heard {
    running: Option<Running>,
    /// Nobody who is there can have been missed.
    everybody: bool,
}

/// Waits until a running controller is found, or until every system that is there can be known; says so if that took too
/// long.
fn hear(
    session: &Session<App>,
    controller: &ControllerNode<App>,
    scope: &Scope,
    patience: Duration,
    mut enough: impl FnMut() -> bool,
) -> Result<Heard> {
    let mut completeness = session.context.completeness();
    let mut running = None;
    let everybody = session.wait(patience, |_| {
        running = Running::find(&session.graph(), scope);
        running.is_some() || enough() || completeness.is_complete() && controller.all_heard()
    })?;
    if !everybody {
        printer::error(&format!(
            "not everybody was heard within {} s, so systems may be missing: {}. Name those you mean instead of all, or try again: who \
             answers is heard then, and who hangs is forgotten when its lease ends, after 20 s at most",
            patience.as_secs_f64(),
            controller.unheard()
        ));
    }
    Ok(Heard { running, everybody })
}

fn complain(event: &Event) {
    match event.level() {
        Level::Info => log::debug!("{event}"),
        Level::Warn => log::warn!("{event}"),
        Level::Error => log::error!("{event}"),
    }
}

/// Which data must flow once all are started.
pub(crate) struct Flows {
    /// All that was announced.
    pub(crate) announced: bool,
    /// The least rates of topics.
    pub(crate) least: BTreeMap<String, f64>,
}

/// Starts or stops, through a running controller if there is one; `flows` asks whether data flows afterwards, `ahead` for
/// a start at one instant.
pub(crate) fn act(
    ros: &config::Settings,
    scope: &Scope,
    mut ask: Ask,
    settings: Settings,
    flows: Option<Flows>,
    ahead: Option<Duration>,
) -> Result<()> {
    let (command, deadline) = (ask.command, settings.deadline);
    // Whoever has been found is to have at least half of the time.
    let hearing = HEARING.min(deadline / 2);
    let (session, controller) = open(ros, scope, settings)?;
    // A bare name may mean more than one; full names are waited for by name.
    let by_name = match &ask.targets {
        Targets::Named(names) if names.iter().all(|name| name.contains('/')) => Some(names.clone()),
        _ => None,
    };
    let reachable = |systems: &BTreeMap<SystemId, System>, name: &String| {
        systems.iter().any(|(id, system)| id.is_meant_by(name) && system.reachable())
    };
    // Data is looked at here, so its systems must be known here, all of them.
    let scope = &Scope { direct: scope.direct || flows.is_some(), ..scope.clone() };
    let Heard { running, everybody } = hear(&session, &controller, scope, hearing, || {
        let all =
            |names: &Vec<String>| controller.with_systems(|s| names.iter().all(|name| reachable(s, name)));
        by_name.as_ref().is_some_and(all)
    })?;
    // Who asks for all is told so only if it is so.
    let complete = everybody || ask.targets != Targets::All;
    let response = match running {
        Some(running) => {
            // What it sees and says counts, not what is overheard beside it.
            session.with(|app| app.quiet = true);
            let answer = running.ask(&session, &ask, ahead, deadline);
            if command == Command::Start && answer.as_ref().is_err_and(Failure::is_interruption) {
                err!("interrupted: the running controller goes on with the start");
                let left = left_to(&running, &session, &ask.targets);
                offer_stop(&session, left, |names| running.ask(&session, &stop(names), None, STOPPING))?;
            }
            answer?
        }
        None => {
            if ask.session == "auto" && command == Command::Start {
                let take = session.with(|app| app.state.as_mut().map(StateFile::next_take));
                let take = take.ok_or_else(|| Failure::usage("takes cannot be numbered without --state"))?;
                ask.session =
                    take.map_err(|error| Failure::new(format!("takes cannot be numbered: {error}")))?;
            }
            ask.at = ahead.map(|ahead| Wall(now().wall.0.saturating_add(ahead.as_nanos() as i64)));
            let report = direct(&session, &controller, ask, deadline + ahead.unwrap_or_default(), scope)?;
            output::response(&report, scope.dialect)
        }
    };
    let scheduled = ahead.map(|_| output::Scheduled::of(&response));
    let flows = match flows.filter(|_| response.success) {
        Some(Flows { announced, least }) => {
            let started = |id: &SystemId| response.systems.iter().any(|s| id.is_meant_by(&s.name));
            let announced = |id: &SystemId| announced && started(id);
            let topics =
                controller.with_systems(|s| data::announced(s.iter().filter(|(id, _)| announced(id))));
            data::check(&session, topics, &least)?
        }
        None => Vec::new(),
    };
    if printer::is_json() {
        let mut json = output::response_json(&response, command);
        json["success"] = (response.success && complete).into();
        json["complete"] = complete.into();
        if !flows.is_empty() {
            json["data"] = flows.iter().map(data::Flow::json).collect();
        }
        if let Some(scheduled) = &scheduled {
            json["scheduled"] = scheduled.json();
        }
        printer::json_line(&json);
    } else {
        output::print_response(&response, command, scope.dialect);
        if let Some(scheduled) = &scheduled {
            scheduled.print();
        }
        flows.iter().for_each(data::Flow::print);
    }
    let unknown = response.systems.iter().all(|system| system.outcome == "unknown");
    let nobody = unknown && !output::is_refusal(&response);
    if nobody {
        hint(&session.graph(), scope.dialect, session.domain());
    }
    match response.success && complete && flows.iter().all(data::Flow::is_enough) {
        true => Ok(()),
        false if nobody => Err(Failure { code: exit::NOBODY, ..Failure::told() }),
        false => Err(Failure::told()),
    }
}

/// Asks the systems themselves.
fn direct(
    session: &Session<App>,
    controller: &ControllerNode<App>,
    ask: Ask,
    deadline: Duration,
    scope: &Scope,
) -> Result<Report> {
    let command = ask.command;
    let number = controller.ask(ask).map_err(Failure::usage)?;
    // Stopping first, or stopping again, has a time of its own.
    let ended = report_of(session, number, deadline * 3 + Duration::from_secs(1));
    if let Err(interruption) = ended {
        controller.cancel(number);
        if command == Command::Start {
            let left = report_of(session, number, STOPPING)?.map(|report| left_behind(&report));
            offer_stop(session, left.unwrap_or_default(), |names| {
                let number = controller.ask(stop(names)).map_err(Failure::usage)?;
                let report = report_of(session, number, STOPPING * 2)?;
                let report = report.ok_or_else(|| Failure::new("the stop did not end in time"))?;
                Ok(output::response(&report, scope.dialect))
            })?;
        }
        return Err(interruption);
    }
    ended?.ok_or_else(|| Failure::new("the request did not end by its deadline"))
}

/// The end of a request, if it comes in time.
fn report_of(session: &Session<App>, number: u64, limit: Duration) -> Result<Option<Report>> {
    session.wait(limit, |app| app.reports.contains_key(&number))?;
    Ok(session.with(|app| app.reports.remove(&number)))
}

fn stop(names: Vec<String>) -> Ask {
    Ask { deadline: Some(STOPPING), ..Ask::new(Command::Stop, "", Targets::Named(names)) }
}

/// What a start that was broken off leaves behind, by full name.
#[derive(Default)]
struct Left {
    running: Vec<String>,
    /// They were told to start, and have not answered.
    asked: Vec<String>,
}

/// The same where a running controller goes on with it.
fn left_to(running: &Running, session: &Session<App>, targets: &Targets) -> Left {
    let status = running.status(session).ok().flatten().unwrap_or_default();
    let meant = |name: &str| match targets {
        Targets::All => true,
        Targets::Named(names) => {
            SystemId::resolve("", name).is_ok_and(|id| names.iter().any(|name| id.is_meant_by(name)))
        }
    };
    let theirs = status.systems.into_iter().filter(|system| system.present && meant(&system.name));
    let (running, asked): (Vec<_>, Vec<_>) = theirs.partition(|system| !system.session.is_empty());
    let names = |systems: Vec<SystemStatus>| systems.into_iter().map(|system| system.name).collect();
    Left { running: names(running), asked: names(asked) }
}

fn left_behind(report: &Report) -> Left {
    let names = |which: &dyn Fn(&SystemResult) -> bool| {
        let results = report.results.iter().filter(|(_, result)| which(result));
        results.map(|(id, _)| id.as_str().to_owned()).collect()
    };
    // An appointment is taken back by a STOP.
    let asked = |result: &SystemResult| !result.outcome.is_success() && result.attempts > 0 && !result.armed;
    Left { running: names(&|result| result.outcome.is_success()), asked: names(&asked) }
}

/// Who interrupted a start should know what is left behind, and can have it stopped; a second Ctrl-C leaves.
fn offer_stop(
    session: &Session<App>,
    left: Left,
    stop: impl FnOnce(Vec<String>) -> Result<SessionCommandResponse>,
) -> Result<()> {
    let short = |names: &[String]| names.iter().map(|name| output::short(name)).collect::<Vec<_>>().join(" ");
    let state = match (&left.running[..], &left.asked[..]) {
        ([], []) => {
            err!("interrupted: nobody was told to start");
            return Ok(());
        }
        (running, []) => format!("{} running already", short(running)),
        ([], asked) => format!("{} may still start", short(asked)),
        (running, asked) => format!("{} running already, {} may still start", short(running), short(asked)),
    };
    let names = [left.running, left.asked].concat();
    err!("interrupted: {state}; stop with: mocap-controller stop {}", short(&names));
    if session.confirm("stop them?")? == Some(true) {
        let response = stop(names)?;
        for system in &response.systems {
            err!("{}", output::result_line(system, Command::Stop, Speech::Auto));
        }
    }
    Ok(())
}

/// Why nobody may have been found.
fn hint(graph: &Graph, speech: Speech, domain: u16) {
    if !network_is_up(Path::new("/sys/class/net")) {
        err!("no network interface is up: only systems on this machine can be found");
    }
    let sockets =
        ["/proc/net/udp", "/proc/net/udp6"].map(|file| std::fs::read_to_string(file).unwrap_or_default());
    let others: Vec<_> = domains(&sockets.concat()).into_iter().filter(|other| *other != domain).collect();
    let here: BTreeSet<_> = graph.endpoints().map(|endpoint| endpoint.gid.prefix()).collect();
    // Whoever meets somebody is where others are.
    if here.len() <= 1 && !others.is_empty() {
        let names = others.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        err!(
            "this is domain {domain}, and on this machine there is somebody in domain {names}: is another ROS_DOMAIN_ID meant?"
        );
    }
    // Systems of another dialect than the one asked for.
    let Speech::One(asked) = speech else { return };
    for dialect in Dialect::ALL.into_iter().filter(|dialect| *dialect != asked) {
        let topic = dialect.names().environment_topic;
        let elsewhere = graph.endpoints().filter(|e| e.ros_name().rsplit('/').next() == Some(topic)).count();
        if elsewhere > 0 {
            err!(
                "but somebody speaks {dialect} on {topic}: leave out --dialect {asked}, or say --dialect {dialect}"
            );
        }
    }
}

/// The domains in which programs of this machine are, by the port on which participants of a domain hear newcomers
/// (RTPS 2.5, 9.6.2.3), as the kernel lists its sockets. Only ports below those it gives to anybody.
fn domains(sockets: &str) -> BTreeSet<u16> {
    let port = |line: &str| {
        let local = line.split_whitespace().nth(1)?;
        u16::from_str_radix(local.rsplit_once(':')?.1, 16).ok()
    };
    let ports = sockets.lines().filter_map(port).filter(|port| (7400..32_768).contains(port));
    ports.filter(|port| (port - 7400) % 250 == 0).map(|port| (port - 7400) / 250).collect()
}

/// Whether there is an interface to other machines, or none can be told of.
fn network_is_up(interfaces: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(interfaces) else { return true };
    let is_up = |interface: std::fs::DirEntry| {
        // A tunnel or bridge has no state of its own to tell.
        let state = std::fs::read_to_string(interface.path().join("operstate")).unwrap_or_default();
        interface.file_name() != "lo" && ["up", "unknown"].contains(&state.trim())
    };
    entries.flatten().any(is_up)
}

pub(crate) fn statuses(controller: &ControllerNode<App>) -> Vec<SystemStatus> {
    controller.with_systems(|systems| systems.iter().map(|(id, s)| output::system_status(id, s)).collect())
}

pub(crate) fn wall_seconds() -> f64 {
    now().wall.0 as f64 / 1e9
}

pub(crate) fn status(ros: &config::Settings, scope: &Scope, wait: Duration) -> Result<()> {
    let settings = Settings { poll_period: Some(Duration::from_secs(60)), ..settings() };
    let (session, controller) = open(ros, scope, settings)?;
    let began = monotonic();
    let Heard { running, everybody } = hear(&session, &controller, scope, HEARING.min(wait), || false)?;
    let known = running.map(|running| running.status(&session)).transpose()?.flatten();
    let systems = match known {
        Some(status) => status.systems,
        None => {
            let left = (began + wait).saturating_sub(monotonic());
            session.wait(left, |_| {
                controller.with_systems(|systems| {
                    !systems.is_empty() && systems.values().all(|s| !s.present() || s.state.is_some())
                })
            })?;
            statuses(&controller)
        }
    };
    let systems: Vec<_> = systems.into_iter().filter(|system| system.present).collect();
    let recorder = recorder::find(&session)?;
    if printer::is_json() {
        let mut json = output::systems_json(&systems, scope.dialect);
        json["complete"] = everybody.into();
        json["recorder"] = recorder::json(recorder.as_ref());
        printer::json_line(&json);
    } else if printer::is_terminal() {
        printer::text(format_args!("{}", output::table(&systems, wall_seconds())));
    } else {
        printer::text(format_args!("{}", output::status_lines(&systems)));
    }
    if let Some((name, status)) = recorder.as_ref().filter(|_| !printer::is_json()) {
        recorder::tell(name, status);
    }
    if !systems.is_empty() {
        return Ok(());
    }
    hint(&session.graph(), scope.dialect, session.domain());
    Err(Failure::nobody(format!(
        "no system announced itself on {} within {} s: is one running and configured, in this ROS_DOMAIN_ID ({})?",
        scope.dialect.environment_topics(),
        wait.as_secs_f64(),
        session.domain()
    ))
    .told_in_json())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_are_read_from_the_sockets_of_the_machine() {
        // 7400, 7410 (a participant's own), 7400 + 250 * 42, and one that anybody may have got.
        let sockets = "  sl  local_address rem_address   st\n \
                       12: 00000000:1CE8 00000000:0000 07 00000000:00000000\n \
                       13: 00000000:1CF2 00000000:0000 07 00000000:00000000\n \
                       14: 00000000000000000000000000000000:45EC 00000000:0000 07\n \
                       15: 00000000:9358 00000000:0000 07 00000000:00000000\nnonsense\n";
        assert_eq!(domains(sockets), BTreeSet::from([0, 42]));
    }

    #[test]
    fn loopback_alone_and_cables_pulled_are_no_network() {
        let folder = rosless_tests::Scratch::make();
        let set = |name: &str, state: &str| {
            std::fs::create_dir_all(folder.join(name)).unwrap();
            std::fs::write(folder.join(name).join("operstate"), format!("{state}\n")).unwrap();
        };
        set("lo", "unknown");
        set("eth0", "down");
        assert!(!network_is_up(&folder));
        set("tun0", "unknown");
        assert!(network_is_up(&folder));
        set("tun0", "down");
        set("eth0", "up");
        assert!(network_is_up(&folder));
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(network_is_up(&folder), "nothing is claimed where nothing can be read");
    }
}
