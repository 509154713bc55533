//! The commands that look or act once and leave.

use std::{
    io::{IsTerminal, stdout},
    process::ExitCode,
    time::Duration,
};

use rosless_graph::{Context, ContextOptions, Error, EventLoop, Result, config, monotonic};
use rosless_protocol::{
    Dialect,
    controller::{Event, Level, Report, Settings, Targets},
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

struct App {
    report: Option<Report>,
    changed: bool,
    /// Whether what `watch` shows could be written.
    written: Result<()>,
}

struct Session {
    event_loop: EventLoop<App>,
    controller: ControllerNode<App>,
    app: App,
}

impl Session {
    fn open(ros: config::Settings, dialect: Dialect, settings: Settings) -> Result<Self> {
        // A command lives for seconds: nobody will ask it for its parameters.
        let options = ContextOptions { node_services: false, ..ros.into() };
        let context = Context::new(options)?;
        let node = context.node(dialect.names().cli_node)?;
        let event_loop = EventLoop::new(&context)?;
        let controller =
            ControllerNode::new(&event_loop, &node, dialect, settings, |app: &mut App, notice| {
                match notice {
                    Notice::Message(_) => {}
                    Notice::Event(event) => {
                        app.changed = true;
                        // Expected of a newcomer: it was not there when the session began.
                        if !matches!(event, Event::Unexpected { .. }) {
                            complain(event);
                        }
                    }
                    Notice::Finished(report) => app.report = Some(report.clone()),
                }
            })?;
        Ok(Self { event_loop, controller, app: App { report: None, changed: false, written: Ok(()) } })
    }

    /// Waits until every system that is there can be known, and says so if that took too long.
    fn hear_everybody(&mut self, patience: Duration) -> Result<()> {
        let controller = self.controller.clone();
        let all_heard = |_: &mut App| controller.silent_announcers() == 0 && controller.reaches_everyone();
        if !self.event_loop.hear_everybody(&mut self.app, patience, all_heard)? {
            let participants = self.controller.node().context().completeness().outstanding();
            let silent = self.controller.silent_announcers();
            eprintln!(
                "not everybody was heard within {} s, so systems may be missing: {participants} participants have \
                 not told what they have, {silent} publishers of announcements have announced nothing",
                patience.as_secs_f64()
            );
        }
        Ok(())
    }
}

fn complain(event: &Event) {
    match event.level() {
        Level::Info => log::debug!("{event}"),
        Level::Warn => log::warn!("{event}"),
        Level::Error => log::error!("{event}"),
    }
}

pub(crate) fn start(
    ros: config::Settings,
    dialect: Dialect,
    json: bool,
    systems: Vec<String>,
    all: bool,
    session: &str,
    settings: Settings,
) -> Result<ExitCode> {
    if systems.is_empty() && !all {
        return Err(Error::Usage("name the systems to start, or say --all".to_owned()));
    }
    let targets = if all { Targets::All } else { named(systems)? };
    act(ros, dialect, json, Command::Start, session, targets, settings)
}

pub(crate) fn stop(
    ros: config::Settings,
    dialect: Dialect,
    json: bool,
    systems: Vec<String>,
    settings: Settings,
) -> Result<ExitCode> {
    let targets = if systems.is_empty() { Targets::All } else { named(systems)? };
    act(ros, dialect, json, Command::Stop, "", targets, settings)
}

/// An empty name would mean "nobody" on the wire; typed by a person it is a mistake.
fn named(systems: Vec<String>) -> Result<Targets> {
    systems
        .iter()
        .try_for_each(|name| rosless_protocol::name::check(name))
        .map_err(|error| Error::Usage(error.to_string()))?;
    Ok(Targets::Named(systems))
}

fn act(
    ros: config::Settings,
    dialect: Dialect,
    json: bool,
    command: Command,
    session: &str,
    targets: Targets,
    settings: Settings,
) -> Result<ExitCode> {
    let limit = settings.deadline + Duration::from_secs(1);
    // Whoever has been found is to have at least half of the time.
    let hearing = HEARING.min(settings.deadline / 2);
    let mut open = Session::open(ros, dialect, settings)?;
    // A bare name may mean more than one; full names are waited for by name.
    if !matches!(&targets, Targets::Named(names) if names.iter().all(|name| name.contains('/'))) {
        open.hear_everybody(hearing)?;
    }
    open.controller
        .request(&mut open.app, command, session, targets)
        .map_err(|error| Error::Usage(error.to_string()))?;
    open.event_loop.run_until(&mut open.app, limit, |app| app.report.is_some())?;
    let Some(report) = open.app.report.take() else {
        return Err(Error::Usage("the request did not end by its deadline".to_owned()));
    };
    if json {
        output::answer(&format!("{}\n", output::report_json(&report, dialect)))?;
    } else {
        output::print_report(&report, dialect)?;
    }
    Ok(if report.is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

pub(crate) fn status(
    ros: config::Settings,
    dialect: Dialect,
    json: bool,
    wait: Duration,
) -> Result<ExitCode> {
    let settings = Settings { poll_period: Some(Duration::from_secs(60)), ..settings() };
    let mut open = Session::open(ros, dialect, settings)?;
    let controller = open.controller.clone();
    let began = monotonic();
    open.hear_everybody(HEARING.min(wait))?;
    // Silence brings no event, so somebody has to look at the clock.
    open.event_loop.timer(Duration::from_millis(100), |_| {});
    let left = (began + wait).saturating_sub(monotonic());
    open.event_loop.run_until(&mut open.app, left, |_| {
        let systems = controller.systems();
        !systems.is_empty() && systems.values().all(|s| !s.present || s.state.is_some())
    })?;
    let systems = controller.systems();
    output::answer(&if json {
        format!("{}\n", output::systems_json(&systems, dialect))
    } else if stdout().is_terminal() {
        output::table(&systems)
    } else {
        output::status_lines(&systems)
    })?;
    if systems.is_empty() {
        eprintln!(
            "no system announced itself on {} within {} s: is one running and configured, in this ROS_DOMAIN_ID?",
            dialect.names().environment_topic,
            wait.as_secs_f64()
        );
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn watch(
    ros: config::Settings,
    dialect: Dialect,
    json: bool,
    duration: Option<Duration>,
) -> Result<ExitCode> {
    let settings = Settings { poll_period: Some(Duration::from_secs(1)), ..settings() };
    let mut open = Session::open(ros, dialect, settings)?;
    let controller = open.controller.clone();
    let live = stdout().is_terminal() && !json;
    let mut shown = String::new();
    open.event_loop.timer(REFRESH, move |app| {
        let changed = std::mem::take(&mut app.changed);
        let systems = controller.systems();
        let text = if json {
            format!("{}\n", output::systems_json(&systems, dialect))
        } else {
            output::watch_table(&systems)
        };
        // A terminal shows passing time too; a pipe gets a new picture only when something happened.
        if live {
            let (columns, lines) = terminal_size();
            let text = format!("{}: {} systems\n\n{text}", dialect.names().title, systems.len());
            app.written =
                output::answer(&format!("\x1b[H\x1b[2J{}", output::clip(&text, columns, lines - 1)));
        } else if changed && text != shown {
            app.written = output::answer(&text);
            shown = text;
        } else if output::reader_has_left() {
            app.written = output::broken_pipe();
        }
    });
    let forever = Duration::MAX / 4;
    let end =
        open.event_loop.run_until(&mut open.app, duration.unwrap_or(forever), |app| app.written.is_err());
    match end {
        Ok(_) => open.app.written.map(|()| ExitCode::SUCCESS),
        Err(Error::Interrupted) => Ok(ExitCode::SUCCESS),
        Err(error) => Err(error),
    }
}

/// Columns and lines; a terminal that does not tell is taken for the usual one.
fn terminal_size() -> (usize, usize) {
    match rustix::termios::tcgetwinsize(stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col.into(), size.ws_row.into()),
        _ => (80, 24),
    }
}
