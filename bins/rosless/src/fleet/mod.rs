//! The project's daemons as child processes: found or built, started, watched, ended.

mod child;
mod domain;
mod logs;
mod settings;

use std::{
    collections::BTreeSet,
    env, fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use rosless_graph::{lines::eprint_line, supervision::Ear};
use serde::Deserialize;

pub(crate) use child::{Child, LineSink, become_child, stop_all, wait};
pub(crate) use domain::DomainLease;
pub(crate) use logs::Rotating;
pub(crate) use settings::{LogSettings, Program, Restart, Settings};

use crate::failure::{Failure, Result};

/// Ours, and not of the roster: nothing is written to disk unless somebody asks for it.
pub(crate) const RECORDER: &str = "session-recorder";

/// Whether it is a program of this project.
fn is_ours(program: &Program) -> bool {
    program.run == RECORDER || everything().iter().any(|ours| ours.run == program.run)
}

/// One daemon of the whole system. `roster.json` is what the demo and the scenario tests tell their story with.
#[derive(Debug, Deserialize)]
pub(crate) struct Member {
    pub(crate) name: String,
    run: String,
    args: Vec<String>,
    /// What the story needs beyond the usual: a clock that is off, a mechanism that waits for the scene's robot.
    story: Vec<String>,
    /// The nodes it brings, by full name.
    pub(crate) nodes: Vec<String>,
}

impl Member {
    /// As the story needs it.
    pub(crate) fn in_story(&self) -> Program {
        let args: Vec<_> = self.args.iter().chain(&self.story).map(String::as_str).collect();
        Program::new(&self.name, &self.run, &args)
    }
}

/// Every daemon of the project with what it works with.
pub(crate) fn roster() -> Vec<Member> {
    serde_json::from_str(include_str!("../../roster.json")).expect("the roster is tested")
}

/// The web console: it shows the others and is no part of the story.
pub(crate) fn console() -> Program {
    Program { nodes: vec!["/rosless_console".to_owned()], ..Program::new("console", "rosless-console", &[]) }
}

/// All of them, and the console, as programs to run.
pub(crate) fn everything() -> Vec<Program> {
    let program = |member: Member| {
        let args: Vec<_> = member.args.iter().map(String::as_str).collect();
        Program { nodes: member.nodes, ..Program::new(&member.name, &member.run, &args) }
    };
    roster().into_iter().map(program).chain([console()]).collect()
}

/// The file names of all our programs that stay.
pub(crate) fn programs() -> BTreeSet<String> {
    let others = [RECORDER, "mocap-companion", "sim-ur"].map(str::to_owned);
    everything().into_iter().map(|program| program.run).chain(others).collect()
}

/// Those of our programs that lie beside this one.
pub(crate) fn installed() -> impl Iterator<Item = (String, PathBuf)> {
    let folder = env::current_exe().ok().and_then(|own| Some(own.parent()?.to_owned())).unwrap_or_default();
    let beside = move |name: String| (name.clone(), folder.join(name));
    programs().into_iter().map(beside).filter(|(_, path)| is_executable(path))
}

/// Where the executables are.
#[derive(Debug)]
pub(crate) struct Executables(PathBuf);

impl Executables {
    /// Finds our programs beside this one and others in PATH; builds those of ours that are not there, where this
    /// program lies in the target folder of a checkout.
    pub(crate) fn find(programs: &[Program]) -> Result<Self> {
        let failed = |error| Failure::new(format!("cannot find this program's own file: {error}"));
        let own = env::current_exe().map_err(failed)?;
        let found = Self(own.parent().unwrap_or(Path::new("/")).to_owned());
        let missing = |ours: bool| -> BTreeSet<&str> {
            let absent = programs.iter().filter(|p| is_ours(p) == ours && found.path(p).is_none());
            absent.map(|p| p.run.as_str()).collect()
        };
        let absent = missing(true);
        if !absent.is_empty() {
            build(&found.0, &absent)?;
        }
        let list = |names: BTreeSet<&str>| names.into_iter().collect::<Vec<_>>().join(", ");
        match (list(missing(true)), list(missing(false))) {
            (ours, others) if ours.is_empty() && others.is_empty() => Ok(found),
            (ours, others) if ours.is_empty() => Err(Failure::new(format!(
                "{others} not found: neither beside {} nor in PATH; name it by its path",
                own.display()
            ))),
            (ours, _) => Err(Failure::new(format!(
                "{ours} not found beside {}; install them in the same folder, or run from a checkout with cargo",
                own.display()
            ))),
        }
    }

    /// Paths are taken as they are; whether there is such a file shows when it is started.
    fn path(&self, program: &Program) -> Option<PathBuf> {
        if program.run.contains('/') {
            return Some(PathBuf::from(&program.run));
        }
        let in_path = env::var_os("PATH").filter(|_| !is_ours(program)).unwrap_or_default();
        let folders = std::iter::once(self.0.clone()).chain(env::split_paths(&in_path));
        folders.map(|folder| folder.join(&program.run)).find(|path| is_executable(path))
    }

    /// Starts a program where it is to run. Every line it prints goes to `lines`.
    pub(crate) fn start(&self, program: &Program, place: &Place<'_>, lines: LineSink) -> Result<Child> {
        let path = self.path(program);
        let path = path.ok_or_else(|| Failure::new(format!("{} is not there any more", program.run)))?;
        let mut command = Command::new(path);
        command
            .args(program.arguments())
            .env("ROS_DOMAIN_ID", place.domain.to_string())
            .env("ROS_AUTOMATIC_DISCOVERY_RANGE", place.range)
            .envs(&program.environment);
        // Our own supervisor waits for us, not for our children.
        for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] {
            command.env_remove(name);
        }
        command.envs(place.ear.map(Ear::environment).into_iter().flatten());
        Child::start(&program.name, &command, lines)
    }
}

/// Where a daemon is to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) domain: u16,
    /// How far it is to look for others, as in ROS_AUTOMATIC_DISCOVERY_RANGE.
    pub(crate) range: &'a str,
    /// Who is to hear its signs of life.
    pub(crate) ear: Option<&'a Ear>,
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Builds packages of the workspace this program was built in, with the same profile and into the same folder; does
/// nothing where this program was not built by cargo, but installed.
fn build(folder: &Path, binaries: &BTreeSet<&str>) -> Result<()> {
    let Some((target, release)) = cargo_target(folder) else { return Ok(()) };
    let Some(workspace) = workspace(target) else { return Ok(()) };
    let list = binaries.iter().copied().collect::<Vec<_>>().join(", ");
    eprint_line(&format!("building {list} ..."));
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.arg("build").current_dir(&workspace).arg("--target-dir").arg(target);
    if release {
        command.arg("--release");
    }
    for binary in binaries {
        let package = binary.strip_prefix("rosless-").unwrap_or(binary);
        command.arg("--package").arg(format!("rosless-{package}"));
    }
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::new(format!("cargo build of {list} failed ({status})"))),
        Err(error) => Err(Failure::new(format!("cannot run cargo to build {list}: {error}"))),
    }
}

/// Cargo's target folder, and whether it is the release profile's part of it, if `folder` is where cargo puts programs.
fn cargo_target(folder: &Path) -> Option<(&Path, bool)> {
    let release = match folder.file_name()?.to_str()? {
        "release" => true,
        "debug" => false,
        _ => return None,
    };
    let target = folder.parent()?;
    // Cargo marks its folder with the one, and remembers its compiler in the other.
    let is_cargos = ["CACHEDIR.TAG", ".rustc_info.json"].iter().all(|mark| target.join(mark).is_file());
    is_cargos.then_some((target, release))
}

/// The checkout that the target folder belongs to: above it, or, where it was moved, where this program was compiled.
fn workspace(target: &Path) -> Option<PathBuf> {
    let is_ours = |folder: &Path| {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        manifest.contains("[workspace]") && folder.join("bins/rosless").is_dir()
    };
    let compiled = Path::new(env!("CARGO_MANIFEST_DIR"));
    target.ancestors().chain(compiled.ancestors()).find(|folder| is_ours(folder)).map(Path::to_owned)
}
