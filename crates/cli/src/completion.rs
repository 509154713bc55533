//! The Tab key: commands and options of every program, and names of the running graph where one is meant.
//!
//! `COMPLETE=bash mocap-controller` prints what a shell has to read once (`source <(COMPLETE=bash mocap-controller)`);
//! zsh, fish, elvish and powershell work likewise. `rosless completions SHELL` prints it for all programs.

use std::{ffi::OsStr, io, time::Duration};

use clap_complete::{
    CompleteEnv,
    engine::{ArgValueCompleter, CompletionCandidate},
    env::Shells,
};
use rosless_graph::{Graph, config::Settings};

use crate::{Failure, Result, Session};

/// The variable that asks for completion.
const VARIABLE: &str = "COMPLETE";
/// Longer than this nobody waits for the Tab key.
const PATIENCE: Duration = Duration::from_millis(1500);

/// Ends the process if it was started to complete a command line.
pub(crate) fn answer_the_shell(command: impl Fn() -> clap::Command) {
    CompleteEnv::with_factory(command).var(VARIABLE).complete();
}

/// What `shell` has to read so that the Tab key works for `programs`.
///
/// # Errors
/// When there is no such shell.
pub fn script(shell: &str, programs: &[&str]) -> Result<String> {
    let shells = Shells::builtins();
    let Some(completer) = shells.completer(shell) else {
        let known: Vec<_> = shells.names().collect();
        return Err(Failure::usage(format!("unknown shell '{shell}': use one of {}", known.join(", "))));
    };
    let mut script = Vec::new();
    for program in programs {
        completer
            .write_registration(VARIABLE, program, program, program, &mut script)
            .map_err(|error: io::Error| Failure::new(format!("cannot write the script: {error}")))?;
    }
    Ok(String::from_utf8_lossy(&script).into_owned())
}

/// What `#[arg(add = …)]` takes.
pub type Completer = ArgValueCompleter;

/// Completes an argument with names that `pick` finds on the running graph.
pub fn from_graph(pick: impl Fn(&Graph) -> Vec<String> + Send + Sync + 'static) -> Completer {
    ArgValueCompleter::new(move |typed: &OsStr| candidates(typed, &pick).unwrap_or_default())
}

fn candidates(typed: &OsStr, pick: &dyn Fn(&Graph) -> Vec<String>) -> Result<Vec<CompletionCandidate>> {
    let variable = |name: &str| std::env::var(name).ok();
    let (settings, _) = Settings::new(["".to_owned()], variable, |path| std::fs::read_to_string(path))?;
    let session = Session::join(&settings, &format!("_completion_{}", std::process::id()), ())?;
    session.look_around(PATIENCE, |_| false)?;
    let mut names = pick(&session.graph());
    names.sort();
    names.dedup();
    Ok(matching(typed, names).map(CompletionCandidate::new).collect())
}

/// Names that go on as typed; a first slash that was not typed is not needed.
fn matching(typed: &OsStr, names: Vec<String>) -> impl Iterator<Item = String> {
    let typed = typed.to_string_lossy().into_owned();
    names.into_iter().filter_map(move |name| {
        let bare = name.trim_start_matches('/');
        if name.starts_with(&typed) { Some(name) } else { bare.starts_with(&typed).then(|| bare.to_owned()) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_on_as_they_were_begun() {
        let names = || vec!["/chatter".to_owned(), "/rosout".to_owned()];
        let found = |typed: &str| matching(OsStr::new(typed), names()).collect::<Vec<_>>();
        assert_eq!(found(""), ["/chatter", "/rosout"]);
        assert_eq!(found("/c"), ["/chatter"]);
        assert_eq!(found("ro"), ["rosout"]);
        assert!(found("x").is_empty());
    }

    #[test]
    fn every_program_gets_its_line_and_a_wrong_shell_is_told() {
        let script = script("bash", &["mocap-controller", "shooter"]).unwrap();
        assert!(
            script.contains("COMPLETE") && script.contains("mocap-controller") && script.contains("shooter")
        );
        assert!(super::script("tcsh", &[]).unwrap_err().message.contains("bash"));
    }
}
