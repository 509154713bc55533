//! A controller of one's own: starts everybody in a session, tells every message, and stops everybody when all have answered.
//!
//! `cargo run --example controller -- device take_1` speaks the dialect `device` (default `mocap`).

use rosless_graph::{Context, EventLoop, Handle, Result, config};
use rosless_protocol::{
    Dialect,
    controller::Targets,
    message::Command,
    node::{ControllerNode, ControllerOptions, Notice},
};

struct App {
    controller: Option<ControllerNode<App>>,
    handle: Handle<App>,
}

fn main() -> Result<()> {
    let (settings, arguments) = config::settings_or_exit();
    let mut arguments = arguments.into_iter().skip(1);
    let dialect = arguments.next().and_then(|name| Dialect::ALL.into_iter().find(|d| d.to_string() == name));
    let (dialect, session) = (dialect.unwrap_or_default(), arguments.next().unwrap_or("session_1".into()));
    let context = Context::new(settings)?;
    let event_loop = EventLoop::new(&context)?;
    let node = context.node(dialect.names().controller_node)?;
    let hear = |app: &mut App, notice: Notice<'_>| match notice {
        Notice::Message(message) => log::info!("{:?} from {}", message.kind, message.source),
        Notice::Finished(report) => {
            log::info!(
                "{} of {} systems done",
                report.results.len() - report.failures().count(),
                report.results.len()
            );
            report.failures().for_each(|(system, why)| log::error!("{system}: {}", why.word()));
            match (report.command, &app.controller) {
                (Command::Start, Some(controller)) => {
                    controller.stop(Targets::All).expect("no name, no wrong name");
                }
                _ => app.handle.stop(),
            }
        }
        Notice::Event(event) => log::debug!("{event}"),
        Notice::Remember(_) => {}
    };
    let controller = ControllerNode::new(&event_loop, &node, ControllerOptions::of(dialect), hear)?;
    controller.start(&session, Targets::All).expect("no name, no wrong name");
    let handle = event_loop.handle();
    event_loop.run(&mut App { controller: Some(controller), handle })
}
