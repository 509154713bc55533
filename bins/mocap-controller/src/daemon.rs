//! `run`: the controller that stays.

use std::time::Duration;

use rosless_graph::{Context, EventLoop, Node, Responder, Result, config, parameters::Descriptor};
use rosless_protocol::{
    Dialect,
    controller::{Event, Level, Report, Settings, Targets},
    message::Command,
    node::{ControllerNode, Notice},
};
use rosless_wire::std_srvs::srv::{Trigger, TriggerResponse};

use crate::output;

#[derive(Default)]
struct App {
    /// Who waits for the end of which request.
    waiting: Vec<(u64, Responder<Trigger>)>,
}

pub(crate) fn run(ros: config::Settings, dialect: Dialect) -> rosless_cli::Result<()> {
    let context = Context::new(ros)?;
    let node = context.node(dialect.names().controller_node)?;
    let settings = declare(&node)?;
    let event_loop = EventLoop::new(&context)?;
    let logger = node.logger().to_owned();
    let controller = ControllerNode::new(
        &event_loop,
        &node,
        dialect,
        settings,
        move |app: &mut App, notice| match notice {
            Notice::Message(message) => log::debug!(target: &logger, "heard {message:?}"),
            Notice::Event(event) => tell(&logger, event),
            Notice::Finished(report) => finished(app, report, &logger, dialect),
        },
    )?;
    for command in [Command::Start, Command::Stop] {
        let (controller, node) = (controller.clone(), node.clone());
        let serve_on = node.clone();
        event_loop.serve::<Trigger>(
            &serve_on,
            &format!("~/{}", command.verb()),
            move |app, _, responder| {
                let session: String = node.parameter("session_id").unwrap_or_default();
                match controller.request(command, &session, Targets::All) {
                    Ok(number) => app.waiting.push((number, responder)),
                    Err(error) => {
                        responder.reply(&TriggerResponse { success: false, message: error.to_string() });
                    }
                }
            },
        )?;
    }
    log::info!(target: node.logger(), "controlling dialect {dialect} as {}", node.full_name());
    let mut app = App::default();
    Ok(event_loop.run(&mut app)?)
}

fn tell(logger: &str, event: &Event) {
    match event.level() {
        Level::Info => log::info!(target: logger, "{event}"),
        Level::Warn => log::warn!(target: logger, "{event}"),
        Level::Error => log::error!(target: logger, "{event}"),
    }
}

fn finished(app: &mut App, report: &Report, logger: &str, dialect: Dialect) {
    let mut lines = Vec::new();
    for (id, result) in &report.results {
        let line = output::result_line(id, result, report.command, dialect);
        if result.outcome.is_success() {
            log::info!(target: logger, "{line}");
        } else {
            log::error!(target: logger, "{line}");
            lines.push(line);
        }
    }
    let verb = report.command.verb();
    let message = match (report.results.len(), lines.is_empty()) {
        (0, _) => format!("nobody to {verb}"),
        (asked, true) => {
            format!("{verb}: all {asked} systems answered in {:.1} ms", report.took.as_secs_f64() * 1e3)
        }
        _ => lines.join("; "),
    };
    let (mine, others) =
        std::mem::take(&mut app.waiting).into_iter().partition(|(n, _)| *n == report.request);
    app.waiting = others;
    let mine: Vec<_> = mine;
    for (_, responder) in mine {
        responder.reply(&TriggerResponse { success: report.is_success(), message: message.clone() });
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
    let retries = Descriptor::new("retries").description("How often a silent system is asked again.");
    let retries =
        node.declare_parameter(retries.integer_range(0, 100, 1).read_only(), i64::from(default.retries))?;
    let session = Descriptor::new("session_id").description("Session that the service ~/start opens.");
    node.declare_parameter(session, "default_session".to_owned())?;
    Ok(Settings {
        deadline,
        retry_period,
        retries: u32::try_from(retries).unwrap_or(default.retries),
        poll_period: Some(poll),
        ..default
    })
}
