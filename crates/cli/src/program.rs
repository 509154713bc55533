//! `main` of every program.

use std::{ffi::OsString, process::ExitCode};

use clap::{Args as _, CommandFactory, FromArgMatches as _, Parser, error::ErrorKind};
use rosless_graph::config::{Settings, UsageError};

use crate::{Failure, Result, args::Shared, completion, exit, output};

/// A program's command line with the arguments that all programs share.
pub fn command<C: CommandFactory>() -> clap::Command {
    Shared::augment_args(C::command())
}

/// Answers the Tab key, reads ROS arguments and environment, parses the rest, runs and reports: the whole `main`.
pub fn main<C: Parser>(run: impl FnOnce(C, Settings) -> Result<()>) -> ExitCode {
    completion::answer_the_shell(command::<C>);
    let arguments: Vec<OsString> = std::env::args_os().collect();
    // Known before it is parsed, because what cannot be parsed is a failure, too.
    output::set_json(arguments.iter().take_while(|word| *word != "--").any(|word| word == "--json"));
    let run = || {
        let (settings, rest) = settings(arguments)?;
        let mut command = command::<C>();
        let parsed = command.try_get_matches_from_mut(rest).and_then(|matches| {
            output::set_json(Shared::from_arg_matches(&matches)?.json);
            C::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
        });
        match parsed {
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
