//! `main` of every program.

use std::{ffi::OsString, process::ExitCode, time::Duration};

use clap::{Args as _, CommandFactory, FromArgMatches as _, Parser, builder::Resettable, error::ErrorKind};
use rosless_graph::config::{Settings, UsageError};

use crate::{
    EXIT_CODES, Failure, Result,
    args::{Loop, Shared},
    completion, exit, manual, output,
};

/// A program's command line with the arguments that all programs share.
pub fn command<C: CommandFactory>() -> clap::Command {
    let mut command = Shared::augment_args(C::command());
    // Examples stand after the options, where people look for them, and the exit codes after those.
    if let Some(examples) = command.get_before_long_help().cloned() {
        let after = format!("{examples}\n\n{EXIT_CODES}");
        command = command.before_long_help(Resettable::Reset).after_long_help(after);
    }
    if spins(&command) { Loop::augment_args(command) } else { command }
}

/// Whether `--spin` can be an option of it: `rosless` takes that for its `--spin-time`, abbreviated as in `ros2`.
fn spins(command: &clap::Command) -> bool {
    command.get_arguments().all(|argument| argument.get_long() != Some("spin-time"))
}

/// Answers the Tab key, reads ROS arguments and environment, parses the rest, runs and reports: the whole `main`.
pub fn main<C: Parser>(run: impl FnOnce(C, Settings) -> Result<()>) -> ExitCode {
    completion::answer_the_shell(command::<C>);
    let arguments: Vec<OsString> = std::env::args_os().collect();
    // Known before it is parsed, because what cannot be parsed is a failure, too.
    output::set_json(arguments.iter().take_while(|word| *word != "--").any(|word| word == "--json"));
    let run = || {
        if let Some(folder) = manual::folder(&arguments) {
            return manual::write::<C>(folder.as_ref());
        }
        let (mut settings, rest) = settings(arguments)?;
        match parse::<C>(rest, &mut settings) {
            Ok(parsed) => run(parsed, settings),
            Err(error) => refuse(&error),
        }
    };
    match run() {
        Ok(()) if output::failed() => ExitCode::from(exit::FAILED),
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// The program's own arguments; those that all programs share go where they belong.
fn parse<C: Parser>(arguments: Vec<String>, settings: &mut Settings) -> Result<C, clap::Error> {
    let mut command = command::<C>();
    let matches = command.try_get_matches_from_mut(arguments)?;
    output::set_json(Shared::from_arg_matches(&matches)?.json);
    if spins(&command)
        && let Some(micros) = Loop::from_arg_matches(&matches)?.spin
    {
        settings.environment.spin = Duration::from_micros(micros);
    }
    C::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

fn settings(arguments: Vec<OsString>) -> Result<(Settings, Vec<String>)> {
    let arguments: Result<Vec<_>, _> = arguments.into_iter().map(OsString::into_string).collect();
    let arguments = arguments.map_err(|word| UsageError::new(format!("argument {word:?} is not UTF-8")))?;
    let variable = |name: &str| std::env::var(name).ok();
    Ok(Settings::new(arguments, variable, |path| std::fs::read_to_string(path))?)
}

/// What clap says instead of a parsed command line: help was asked for, or usage is wrong.
fn refuse(error: &clap::Error) -> Result<()> {
    let is_help = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    if output::is_json() && !is_help {
        let text = error.to_string();
        return Err(Failure::usage(text.trim_end().trim_start_matches("error: ")));
    }
    // clap knows the terminal's colours.
    let printed = error.print();
    match (is_help, printed) {
        (true, Ok(())) => Ok(()),
        (true, Err(error)) => {
            output::note(&error);
            Ok(())
        }
        (false, _) => Err(Failure::usage("")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Does what daemons do.
    #[derive(Debug, Parser)]
    #[command(before_long_help = "Examples: x run", after_help = EXIT_CODES)]
    struct Daemon {
        #[command(subcommand)]
        _command: Option<Sub>,
    }

    #[derive(Debug, clap::Subcommand)]
    enum Sub {
        Run,
    }

    #[derive(Debug, Parser)]
    #[command(infer_long_args = true)]
    struct Tool {
        #[arg(long)]
        spin_time: Option<u64>,
    }

    fn read<C: Parser>(words: &str) -> Result<(C, Duration), clap::Error> {
        let mut settings = Settings::default();
        settings.environment.spin = Duration::from_micros(7);
        let parsed = parse(words.split(' ').map(str::to_owned).collect(), &mut settings)?;
        Ok((parsed, settings.environment.spin))
    }

    #[test]
    fn help_says_what_the_program_is_for() {
        assert!(command::<Daemon>().render_help().to_string().starts_with("Does what daemons do"));
        let long = command::<Daemon>().render_long_help().to_string();
        assert!(long.starts_with("Does what daemons do"), "{long}");
        let (options, examples) = (long.find("Options:"), long.find("Examples: x run"));
        assert!(options < examples && examples < long.find("Exit codes: 0 done"), "{long}");
    }

    #[test]
    fn daemons_take_spin_before_and_after_the_command_and_it_wins_over_the_environment() {
        for (words, micros) in
            [("x", 7), ("x --spin 50", 50), ("x run --spin 50", 50), ("x --spin=0 run", 0), ("x run", 7)]
        {
            assert_eq!(read::<Daemon>(words).unwrap().1, Duration::from_micros(micros), "{words}");
        }
        for words in ["x --spin", "x --spin -1", "x --spin 1.5", "x --spin soon"] {
            assert!(read::<Daemon>(words).is_err(), "{words}");
        }
        assert!(command::<Daemon>().render_help().to_string().contains("--spin <MICROSECONDS>"));
    }

    #[test]
    fn an_abbreviated_spin_time_stays_what_it_is() {
        let (tool, spin) = read::<Tool>("x --spin 5").unwrap();
        assert_eq!((tool.spin_time, spin), (Some(5), Duration::from_micros(7)));
    }
}
