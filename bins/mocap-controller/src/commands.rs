//! The commands that look or act once and leave.

use std::time::Duration;

use rosless_cli::{
    Failure, Result, Session, exit, output as printer,
    session::{absolute, is_hidden},
    table::Live,
};
use rosless_graph::{Graph, config, monotonic};
use rosless_protocol::{
    Dialect,
    controller::{Event, Failure as Unsuccessful, Level, Outcome, Report, Settings, Targets},
    message::Command,
    node::{ControllerNode, Notice},
};

use crate::output;

/// The longest that a command waits for those that discovery says are there.
const HEARING: Duration = Duration::from_secs(3);
/// How often a live table is drawn.
const REFRESH: Duration = Duration::from_millis(500);

/// How patient the commands are unless told otherwise.
pub(crate) fn settings() -> Settings {
    // Commands hear everybody before they ask anybody.
    Settings { settle: Duration::ZERO, ..Settings::default() }
}

#[derive(Default)]
struct App {
    report: Option<Report>,
    changed: bool,
}

fn open(
    ros: &config::Settings,
    dialect: Dialect,
    settings: Settings,
) -> Result<(Session<App>, ControllerNode<App>)> {
    let session = Session::join(ros, dialect.names().cli_node, App::default())?;
    let (event_loop, node) = (&session.event_loop, &session.node);
    let controller =
        ControllerNode::new(event_loop, node, dialect, settings, |app: &mut App, notice| match notice {
            Notice::Message(_) => {}
            Notice::Event(event) => {
                app.changed = true;
                // Expected of a newcomer: it was not there when the session began.
                if !matches!(event, Event::Unexpected { .. }) {
                    complain(event);
                }
            }
            Notice::Finished(report) => app.report = Some(report.clone()),
        })?;
    Ok((session, controller))
}

/// Names behind the Tab key: who announces itself as a system, in any dialect.
pub(crate) fn system_names(graph: &Graph) -> Vec<String> {
    let topics = [Dialect::Mocap, Dialect::Device, Dialect::Mocap4r2].map(|d| d.names().environment_topic);
    let publishers = topics.iter().flat_map(|topic| graph.publishers(&absolute(topic)));
    let nodes = publishers.filter_map(|publisher| graph.node_of(&publisher.gid));
    nodes.map(|node| node.to_string()).filter(|name| !is_hidden(name)).collect()
}

/// Waits until every system that is there can be known, and says so if that took too long.
fn hear_everybody(
    session: &Session<App>,
    controller: &ControllerNode<App>,
    patience: Duration,
) -> Result<()> {
    let all_heard = |_: &mut App| controller.silent_announcers() == 0 && controller.reaches_everyone();
    if !session.with(|app| session.event_loop.hear_everybody(app, patience, all_heard))? {
        let participants = session.context.completeness().outstanding();
        let silent = controller.silent_announcers();
        printer::error(&format!(
            "not everybody was heard within {} s, so systems may be missing: {participants} participants have not told \
             what they have, {silent} publishers of announcements have announced nothing",
            patience.as_secs_f64()
        ));
    }
    Ok(())
}

fn complain(event: &Event) {
    match event.level() {
        Level::Info => log::debug!("{event}"),
        Level::Warn => log::warn!("{event}"),
        Level::Error => log::error!("{event}"),
    }
}

pub(crate) fn start(
    ros: &config::Settings,
    dialect: Dialect,
    systems: Vec<String>,
    all: bool,
    session: &str,
    settings: Settings,
) -> Result<()> {
    if systems.is_empty() && !all {
        return Err(Failure::usage("name the systems to start, or say --all"));
    }
    let targets = if all { Targets::All } else { named(systems)? };
    act(ros, dialect, Command::Start, session, targets, settings)
}

pub(crate) fn stop(
    ros: &config::Settings,
    dialect: Dialect,
    systems: Vec<String>,
    settings: Settings,
) -> Result<()> {
    let targets = if systems.is_empty() { Targets::All } else { named(systems)? };
    act(ros, dialect, Command::Stop, "", targets, settings)
}

/// An empty name would mean "nobody" on the wire; typed by a person it is a mistake.
fn named(systems: Vec<String>) -> Result<Targets> {
    systems.iter().try_for_each(|name| rosless_protocol::name::check(name)).map_err(Failure::usage)?;
    Ok(Targets::Named(systems))
}

fn act(
    ros: &config::Settings,
    dialect: Dialect,
    command: Command,
    name: &str,
    targets: Targets,
    settings: Settings,
) -> Result<()> {
    let limit = settings.deadline + Duration::from_secs(1);
    // Whoever has been found is to have at least half of the time.
    let hearing = HEARING.min(settings.deadline / 2);
    let (session, controller) = open(ros, dialect, settings)?;
    // A bare name may mean more than one; full names are waited for by name.
    if !matches!(&targets, Targets::Named(names) if names.iter().all(|name| name.contains('/'))) {
        hear_everybody(&session, &controller, hearing)?;
    }
    controller.request(command, name, targets).map_err(Failure::usage)?;
    session.wait(limit, |app| app.report.is_some())?;
    let Some(report) = session.with(|app| app.report.take()) else {
        return Err(Failure::new("the request did not end by its deadline"));
    };
    let absent = |outcome: &Outcome| matches!(outcome, Outcome::Failed(Unsuccessful::Unknown));
    let nobody = report.results.values().all(|result| absent(&result.outcome));
    if printer::is_json() {
        printer::json_line(&output::report_json(&report, dialect));
    } else {
        output::print_report(&report, dialect);
    }
    match report.is_success() {
        true => Ok(()),
        false if nobody => Err(Failure { code: exit::NOBODY, ..Failure::told() }),
        false => Err(Failure::told()),
    }
}

pub(crate) fn status(ros: &config::Settings, dialect: Dialect, wait: Duration) -> Result<()> {
    let settings = Settings { poll_period: Some(Duration::from_secs(60)), ..settings() };
    let (session, controller) = open(ros, dialect, settings)?;
    let began = monotonic();
    hear_everybody(&session, &controller, HEARING.min(wait))?;
    let left = (began + wait).saturating_sub(monotonic());
    session.wait(left, |_| {
        let systems = controller.systems();
        !systems.is_empty() && systems.values().all(|s| !s.present || s.state.is_some())
    })?;
    let systems = controller.systems();
    if printer::is_json() {
        printer::json_line(&output::systems_json(&systems, dialect));
    } else if printer::is_terminal() {
        printer::text(format_args!("{}", output::table(&systems)));
    } else {
        printer::text(format_args!("{}", output::status_lines(&systems)));
    }
    if !systems.is_empty() {
        return Ok(());
    }
    Err(Failure::nobody(format!(
        "no system announced itself on {} within {} s: is one running and configured, in this ROS_DOMAIN_ID?",
        dialect.names().environment_topic,
        wait.as_secs_f64()
    ))
    .told_in_json())
}

pub(crate) fn watch(ros: &config::Settings, dialect: Dialect, duration: Option<Duration>) -> Result<()> {
    let settings = Settings { poll_period: Some(Duration::from_secs(1)), ..settings() };
    let (session, controller) = open(ros, dialect, settings)?;
    let (mut live, mut due) = (Live::new(), monotonic() + REFRESH);
    session.watch(duration, |app| {
        if monotonic() < due {
            return false;
        }
        due = monotonic() + REFRESH;
        let changed = std::mem::take(&mut app.changed);
        // A terminal shows passing time too; a pipe gets a new picture only when something happened.
        if live.is_in_place() || changed {
            let systems = controller.systems();
            let title = format!("{}: {} systems", dialect.names().title, systems.len());
            live.show(&title, || output::watch_table(&systems), || output::systems_json(&systems, dialect));
        }
        false
    })
}
