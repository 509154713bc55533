//! The command line.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand};
pub(crate) use rosless_cli::args::{hertz, seconds};

use crate::{commands::*, demo, up};

/// ROS 2 without ROS: look at a graph, poke it, and run the daemons of this project.
///
/// Commands, options and output are those of `ros2` where it has them.
#[derive(Parser, Debug)]
#[command(
    name = "rosless",
    version,
    propagate_version = true,
    max_term_width = 110,
    infer_long_args = true,
    after_help = rosless_cli::EXIT_CODES
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command understands.
#[derive(Args, Debug, Clone)]
pub(crate) struct Global {
    /// More definitions: a package, a folder of packages, or a ROS prefix; may be repeated
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) idl: Vec<PathBuf>,
    /// DDS domain, instead of ROS_DOMAIN_ID
    #[arg(long, global = true, value_name = "ID", value_parser = clap::value_parser!(u16).range(0..=232))]
    pub(crate) domain: Option<u16>,
    /// Look at the graph for exactly this long; otherwise until nothing new has appeared for 1.5 s
    #[arg(long, global = true, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) spin_time: Option<Duration>,
    /// Accepted because ros2 has it; there is no daemon
    #[arg(long, global = true, hide = true)]
    no_daemon: bool,
}

/// `-s` of commands that have no use for a clock: accepted because ros2 has it.
fn accept_sim_time(command: clap::Command) -> clap::Command {
    if command.get_arguments().any(|argument| argument.get_short() == Some('s')) {
        return command;
    }
    let argument = clap::Arg::new("ignored_sim_time").short('s').long("use-sim-time").hide(true);
    command.arg(argument.action(clap::ArgAction::SetTrue))
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Nodes: who is there and what it offers
    #[command(subcommand, mut_subcommands(accept_sim_time))]
    Node(node::Command),
    /// Topics: list, look, listen, publish, measure
    #[command(subcommand, mut_subcommands(accept_sim_time))]
    Topic(topic::Command),
    /// Services: list and call
    #[command(subcommand, mut_subcommands(accept_sim_time))]
    Service(service::Command),
    /// Lifecycle nodes: states and transitions
    #[command(subcommand, mut_subcommands(accept_sim_time))]
    Lifecycle(lifecycle::Command),
    /// Parameters of nodes
    #[command(subcommand, mut_subcommands(accept_sim_time))]
    Param(param::Command),
    /// Actions: list and send goals
    #[command(subcommand, mut_subcommands(accept_sim_time))]
    Action(action::Command),
    /// Recordings: record, look, play, convert, cut, recover, export
    #[command(subcommand)]
    Bag(bag::Command),
    /// Transforms: from frame to frame, the tree, how fresh they are
    #[command(subcommand)]
    Tf(tf::Command),
    /// Nodes, rates and this machine's load, live
    Top(top::Top),
    /// Message, service and action definitions
    #[command(subcommand)]
    Interface(interface::Command),
    /// Keystores and enclaves of DDS Security: make, permit, list, check
    #[command(subcommand)]
    Security(security::Command),
    /// Check this machine and the graph, and say what to do
    #[command(alias = "wtf")]
    Doctor(doctor::Doctor),
    /// See everything work: all daemons, one story, under a minute
    Demo(demo::Demo),
    /// Run the daemons, supervised, until Ctrl-C or `rosless down`
    Up(up::Up),
    /// End what `rosless up` started
    Down(up::Down),
    /// What `rosless up` runs, and how it is
    Status(up::Status),
    /// What the daemons of `rosless up` said
    Logs(up::Logs),
    /// For `rosless up` itself
    #[command(name = up::LOOK, hide = true)]
    Look(up::Look),
    /// Accepted because ros2 has it
    #[command(subcommand, hide = true)]
    Daemon(Daemon),
    #[command(hide = true)]
    Run(elsewhere::Words),
    #[command(hide = true)]
    Launch(elsewhere::Words),
    #[command(hide = true)]
    Pkg(elsewhere::Words),
    #[command(hide = true)]
    Component(elsewhere::Words),
    /// A crate with a node of your own
    New(new::New),
    /// What this is, how it was built, and what is in it
    Version(version::Version),
    /// Print a shell completion script
    Completions(generate::Completions),
    /// Write the manual pages
    Man(generate::Man),
}

/// What `ros2 daemon` can do; there is nothing to do it with.
#[derive(Subcommand, Debug)]
pub(crate) enum Daemon {
    Status,
    Start,
    Stop,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        super::Arguments::command().debug_assert();
    }
}
