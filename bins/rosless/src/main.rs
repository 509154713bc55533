//! `rosless`: the front door. What people use ros2cli for, without ROS, and one command that starts it all.
#![forbid(unsafe_code)]

mod cli;
mod commands;
mod demo;
mod fleet;
mod qos;
mod types;
mod up;

use std::process::ExitCode;

use rosless_cli::{failure, output, session};
use rosless_graph::config::Settings;
use rosless_schema::Registry;

use crate::{
    cli::{Arguments, Command, Global},
    failure::Result,
    output::out,
    session::Session,
};

/// What every command gets.
#[derive(Debug)]
pub(crate) struct Environment {
    pub(crate) settings: Settings,
    pub(crate) global: Global,
}

impl Environment {
    /// Joins the graph with a hidden node.
    pub(crate) fn join(&self) -> Result<Session> {
        self.join_with(&self.settings)
    }

    /// The same with settings of its own.
    pub(crate) fn join_with(&self, settings: &Settings) -> Result<Session> {
        Ok(Session::join_as(settings, "_rosless", ())?.spin_time(self.global.spin_time))
    }

    /// The definitions known without asking anybody.
    pub(crate) fn registry(&self) -> Result<Registry> {
        types::registry(&self.global.idl, self.settings.environment.distro)
    }

    pub(crate) fn json(&self) -> bool {
        output::is_json()
    }
}

fn main() -> ExitCode {
    if let Some(failure) = fleet::become_child() {
        return failure.report();
    }
    rosless_cli::main(|Arguments { global, command }, mut settings| {
        if let Some(domain) = global.domain {
            settings.environment.domain_id = domain;
        }
        run(command, &Environment { settings, global })
    })
}

fn run(command: Command, environment: &Environment) -> Result<()> {
    match command {
        Command::Node(command) => command.run(environment),
        Command::Topic(command) => command.run(environment),
        Command::Service(command) => command.run(environment),
        Command::Lifecycle(command) => command.run(environment),
        Command::Param(command) => command.run(environment),
        Command::Action(command) => command.run(environment),
        Command::Bag(command) => command.run(environment),
        Command::Interface(command) => command.run(environment),
        Command::Security(command) => command.run(environment),
        Command::Doctor(command) => command.run(environment),
        Command::Demo(command) => command.run(environment),
        Command::Up(command) => command.run(environment),
        Command::Down(command) => command.run(environment),
        Command::Status(command) => command.run(environment),
        Command::Logs(command) => command.run(environment),
        Command::New(command) => command.run(environment),
        Command::Version(command) => command.run(environment),
        Command::Look(command) => command.run(environment),
        Command::Daemon(_) => {
            out!("There is no daemon: every command looks at the graph itself");
            Ok(())
        }
        Command::Tf(command) => command.run(environment),
        Command::Top(command) => command.run(environment),
        Command::Run(words) => words.run("run"),
        Command::Launch(words) => words.run("launch"),
        Command::Pkg(words) => words.run("pkg"),
        Command::Component(words) => words.run("component"),
        Command::Completions(command) => command.run(),
        Command::Man(command) => command.run(),
    }
}
