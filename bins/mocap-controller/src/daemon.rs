//! `run`: the controller that stays.

use std::time::Duration;

use rosless_graph::{
    Context, Error, EventLoop, Handle, Node, Publisher, Responder, Result, TopicQos, config, monotonic, now,
    parameters::Descriptor,
};
use rosless_protocol::{
    Wall,
    controller::{Ask, Event, Level, Report, Settings, Targets},
    message::Command,
    node::{ControllerNode, ControllerOptions, Notice, StateFile},
};
use rosless_wire::{
    rosless_msgs::{
        msg::ControllerStatus,
        srv::{SessionCommand, SessionCommandRequest, SessionCommandResponse},
    },
    std_srvs::srv::{Trigger, TriggerResponse},
};

use crate::{Scope, output, running::Running, speech::Speech};

/// Whoever is asked for all must know all; until then commands find nobody here and ask the systems themselves.
const HEARING: Duration = Duration::from_secs(10);
/// Clocks drift and are asked for all the time: their figures are no older than this.
const CLOCK_PERIOD: Duration = Duration::from_secs(1);

const NAMESAKE: &str = "another controller has the same name, and both would obey: nothing is started or stopped until one has ended";

/// Who waits for the end of a request.
enum Waiting {
    Session(Responder<SessionCommand>),
    All(Responder<Trigger>),
}

impl Waiting {
    fn reply(self, response: &SessionCommandResponse) {
        match self {
            Self::Session(responder) => responder.reply(response),
            Self::All(responder) => {
                let SessionCommandResponse { success, message, .. } = response.clone();
                responder.reply(&TriggerResponse { success, message });
            }
        }
    }
}

#[derive(Default)]
struct App {
    waiting: Vec<(u64, Waiting)>,
    changed: bool,
    status_planned: bool,
    /// Another process has this controller's name.
    namesake: bool,
    state: Option<StateFile>,
}

pub(crate) fn run(ros: config::Settings, scope: &Scope) -> rosless_cli::Result<()> {
    let speech = scope.dialect;
    let context = Context::new(ros)?;
    let node = context.node(speech.names().controller_node)?;
    let settings = declare(&node)?;
    let event_loop = EventLoop::new(&context)?;
    let logger = node.logger().to_owned();
    let state = scope.state_file(context.settings().environment.domain_id);
    let options = ControllerOptions {
        dialects: speech.dialects(),
        confined: scope.namespace.is_some(),
        settings,
        memory: state.as_ref().map(|s| s.memory().clone()).unwrap_or_default(),
    };
    let controller = ControllerNode::new(&event_loop, &node, options, move |app: &mut App, notice| {
        app.changed = true;
        match notice {
            Notice::Message(message) => log::debug!(target: &logger, "heard {message:?}"),
            Notice::Event(event) => tell(&logger, event),
            Notice::Finished(report) => finished(app, report, &logger, speech),
            Notice::Remember(memory) => {
                if let Some(state) = &mut app.state
                    && let Err(error) = state.keep(memory)
                {
                    log::warn!(target: &logger, "sessions are not remembered: {error}");
                }
            }
        }
    })?;
    publish_status(&event_loop, &node, &controller)?;
    let mut app = App { state, changed: true, ..App::default() };
    let ended = event_loop.hear_everybody(&mut app, HEARING, |_| controller.all_heard()).and_then(|heard| {
        if !heard {
            let (text, who) = ("not everybody was heard within", controller.unheard());
            log::warn!(target: node.logger(), "{text} {} s, a start or stop of all may miss systems: {who}", HEARING.as_secs());
        }
        for command in [Command::Start, Command::Stop] {
            serve(&event_loop, &node, &controller, command)?;
        }
        look_for_namesakes(&event_loop, &node);
        log::info!(target: node.logger(), "controlling dialect {speech} as {}", node.full_name());
        event_loop.run(&mut app)
    });
    let ended = ended.or_else(|error| if matches!(error, Error::Interrupted) { Ok(()) } else { Err(error) });
    controller.keep(&mut app);
    Ok(ended?)
}

fn serve(
    event_loop: &Handle<App>,
    node: &Node,
    controller: &ControllerNode<App>,
    command: Command,
) -> Result<()> {
    let (on, me) = (node.clone(), controller.clone());
    event_loop.serve::<SessionCommand>(
        node,
        &format!("~/{}", command.verb()),
        move |app, request, responder| match ask(app, &on, command, request)
            .and_then(|ask| me.ask(ask).map_err(|error| error.to_string()))
        {
            Ok(number) => app.waiting.push((number, Waiting::Session(responder))),
            Err(message) => responder.reply(&SessionCommandResponse { message, ..Default::default() }),
        },
    )?;
    let (on, me) = (node.clone(), controller.clone());
    event_loop.serve::<Trigger>(node, &format!("~/{}_all", command.verb()), move |app, _, responder| {
        let request = SessionCommandRequest { all: true, ..Default::default() };
        match ask(app, &on, command, request).and_then(|ask| me.ask(ask).map_err(|error| error.to_string())) {
            Ok(number) => app.waiting.push((number, Waiting::All(responder))),
            Err(message) => responder.reply(&TriggerResponse { success: false, message }),
        }
    })?;
    Ok(())
}

/// What a request means here.
fn ask(app: &mut App, node: &Node, command: Command, request: SessionCommandRequest) -> Result<Ask, String> {
    if app.namesake {
        return Err(NAMESAKE.to_owned());
    }
    let session = match &*request.session {
        _ if command == Command::Stop => String::new(),
        "" => node.parameter("session_id").unwrap_or_default(),
        "auto" => {
            let state = app.state.as_mut().ok_or("takes cannot be numbered: sessions are not remembered")?;
            state.next_take().map_err(|error| format!("takes cannot be numbered: {error}"))?
        }
        given => given.to_owned(),
    };
    for (name, value, most) in [("timeout", request.timeout, 86_400.0), ("ahead", request.ahead, 3600.0)] {
        if !(0.0..=most).contains(&value) {
            return Err(format!("{name} {value} is not usable: 0 to {most} seconds"));
        }
    }
    let (timeout, ahead) = (request.timeout, Duration::from_secs_f64(request.ahead));
    let at = || Wall(now().wall.0.saturating_add(ahead.as_nanos() as i64));
    Ok(Ask {
        expect: request.expect,
        atomic: request.atomic,
        restart: request.restart,
        deadline: (timeout > 0.0).then(|| Duration::from_secs_f64(timeout)),
        at: (command == Command::Start && !ahead.is_zero()).then(at),
        ..Ask::new(
            command,
            &session,
            if request.all { Targets::All } else { Targets::Named(request.systems) },
        )
    })
}

/// `~/status`, latched: for whoever comes and asks who is there.
///
/// It is published at once, because whoever asks after something happened must not get the answer from before it; but a long
/// one takes its time, and with many systems much happens at once: ten times as long as the last one took goes by before
/// the next.
fn publish_status(event_loop: &Handle<App>, node: &Node, controller: &ControllerNode<App>) -> Result<()> {
    let publisher: Publisher<ControllerStatus> = node.publisher("~/status".latched())?;
    let (node, controller, handle) = (node.clone(), controller.clone(), event_loop.clone());
    let mut last = None;
    let mut due = Duration::ZERO;
    let mut publish = move |app: &mut App| {
        let began = monotonic();
        if !app.changed || app.status_planned {
            return;
        }
        if began < due {
            app.status_planned = true;
            // The turn of the loop is what is wanted.
            handle.once(due - began, |app| app.status_planned = false);
            return;
        }
        app.changed = false;
        let systems: Vec<_> = controller
            .with_systems(|systems| systems.iter().map(|(id, s)| output::system_status(id, s)).collect());
        // NaN is not equal to itself, so the bytes are compared.
        let bytes = rosless_wire::cdr::to_payload(&ControllerStatus {
            systems: systems.clone(),
            ..Default::default()
        });
        if last.as_ref() != Some(&bytes) {
            last = Some(bytes);
            publisher.publish(&ControllerStatus { stamp: node.now(), systems });
        }
        due = began + (monotonic() - began) * 10;
    };
    event_loop.after_batch(move |app: &mut App| publish(app));
    event_loop.timer(CLOCK_PERIOD, |app: &mut App| app.changed = true);
    Ok(())
}

/// Two of one name would both obey, so commands are refused then: whoever looks at either of them is to know why.
fn look_for_namesakes(event_loop: &Handle<App>, node: &Node) {
    let (node, ourselves) = (node.clone(), Running::named(node.full_name().to_string()));
    event_loop.timer(CLOCK_PERIOD, move |app: &mut App| {
        let namesake = ourselves.processes(&node.context().graph()) > 1;
        match (std::mem::replace(&mut app.namesake, namesake), namesake) {
            (false, true) => log::error!(target: node.logger(), "{NAMESAKE}"),
            (true, false) => log::info!(target: node.logger(), "this is the only {} again", node.full_name()),
            _ => {}
        }
    });
}

fn tell(logger: &str, event: &Event) {
    match event.level() {
        Level::Info => log::info!(target: logger, "{event}"),
        Level::Warn => log::warn!(target: logger, "{event}"),
        Level::Error => log::error!(target: logger, "{event}"),
    }
}

fn finished(app: &mut App, report: &Report, logger: &str, speech: Speech) {
    let response = output::response(report, speech);
    for system in &response.systems {
        let line = output::result_line(system, report.command, speech);
        if system.success {
            log::info!(target: logger, "{line}");
        } else {
            log::error!(target: logger, "{line}");
        }
    }
    let (mine, others): (Vec<_>, Vec<_>) =
        std::mem::take(&mut app.waiting).into_iter().partition(|(n, _)| *n == report.request);
    app.waiting = others;
    for (_, waiting) in mine {
        waiting.reply(&response);
    }
}

fn declare(node: &Node) -> Result<Settings> {
    let default = Settings::default();
    let seconds = |name: &str, default: Duration, what: &str| -> Result<Duration> {
        let descriptor =
            Descriptor::new(name).description(what).double_range(0.01, 86_400.0, 0.0).read_only();
        Ok(Duration::from_secs_f64(node.declare_parameter(descriptor, default.as_secs_f64())?))
    };
    let deadline =
        seconds("deadline", default.deadline, "Seconds until a request ends, whoever is missing.")?;
    let retry_period =
        seconds("retry_period", default.retry_period, "Seconds of silence before asking again.")?;
    let poll =
        seconds("state_period", Duration::from_secs(1), "Seconds between looks at each lifecycle state.")?;
    let foreign = seconds(
        "answer_period",
        default.foreign,
        "Seconds that a system may take to answer another controller before that is an error.",
    )?;
    let retries = Descriptor::new("retries").description("How often a silent system is asked again.");
    let retries =
        node.declare_parameter(retries.integer_range(0, 100, 1).read_only(), i64::from(default.retries))?;
    let session = Descriptor::new("session_id").description("Session that the service ~/start_all opens.");
    node.declare_parameter(session, "default_session".to_owned())?;
    Ok(Settings {
        deadline,
        retry_period,
        retries: u32::try_from(retries).unwrap_or(default.retries),
        poll_period: Some(poll),
        foreign,
        ..default
    })
}
