//! `main` of every program.

use std::{ffi::OsString, process::ExitCode};

use clap::{Parser, error::ErrorKind};
use rosless_graph::config::{Settings, UsageError};

use crate::{Failure, Result, Shared, completion, exit, output};

/// A program's command line.
pub trait CommandLine: Parser {
    /// The arguments that all programs share.
    fn shared(&self) -> &Shared;
}

/// Answers the Tab key, reads ROS arguments and environment, parses the rest, runs and reports: the whole `main`.
pub fn main<C: CommandLine>(run: impl FnOnce(C, Settings) -> Result<()>) -> ExitCode {
    completion::answer_the_shell(C::command);
    let arguments: Vec<OsString> = std::env::args_os().collect();
    // Known before it is parsed, because what cannot be parsed is a failure, too.
    output::set_json(arguments.iter().take_while(|word| *word != "--").any(|word| word == "--json"));
    let run = || {
        let (settings, rest) = settings(arguments)?;
        let parsed = match C::try_parse_from(rest) {
            Ok(parsed) => parsed,
            Err(error) => return refuse(&error),
        };
        output::set_json(parsed.shared().json);
        run(parsed, settings)
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
