//! What the command line and the environment ask of a ROS process, before anything is started.
//!
//! Everything here is pure except [`settings_or_exit`], which reads the process's own arguments and environment.

mod args;
mod environment;
mod params_file;
mod security;

pub use args::{RemapKind, RemapRule, RosArguments};
pub use environment::{DiscoveryRange, Distro, Environment, Limits};
pub use params_file::{ParameterOverrides, guess_value, parse_value};
pub use security::{EnclaveFiles, MissingEnclave, Security, Strategy};

/// The versions of IP that are used to reach other hosts.
pub use rustdds::IpVersions;

/// Something the user asked for cannot be done: one line that says what was wrong and what is expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(String);

impl UsageError {
    /// The exit code of a process that was started with unusable arguments or environment.
    pub const EXIT_CODE: i32 = 2;

    /// One line for people.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// Prints the message as one line on stderr and ends the process with [`Self::EXIT_CODE`].
    pub fn exit(&self) -> ! {
        crate::lines::eprint_line(&format!("error: {self}"));
        std::process::exit(Self::EXIT_CODE)
    }
}

/// Arguments and environment together.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The command line.
    pub arguments: RosArguments,
    /// The environment variables.
    pub environment: Environment,
}

impl Settings {
    /// Splits `args` (with the program's name first) into ROS settings and the arguments that are left for the program.
    pub fn new(
        args: impl IntoIterator<Item = String>,
        variable: impl Fn(&str) -> Option<String>,
        read_file: impl Fn(&str) -> std::io::Result<String>,
    ) -> Result<(Self, Vec<String>), UsageError> {
        let (arguments, rest) = RosArguments::parse(args, read_file)?;
        let mut environment = Environment::parse(variable)?;
        environment.distro = arguments.distro.or(environment.distro);
        Ok((Self { arguments, environment }, rest))
    }

    /// The enclave whose name the participant announces and, with security, whose files it uses.
    pub fn enclave(&self) -> &str {
        let argument = &self.arguments.enclave;
        self.environment.security.as_ref().map_or(argument.as_str(), |security| security.enclave(argument))
    }
}

/// Where people's programs keep what they have to remember: `$XDG_STATE_HOME/rosless`, by default `~/.local/state/rosless`.
pub fn state_folder() -> Option<std::path::PathBuf> {
    let absolute =
        |name: &str| std::env::var_os(name).map(std::path::PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(base.join("rosless"))
}

/// The settings of this process and the arguments left for its own command line, program name first.
///
/// Ends the process with exit code 2 and one line on stderr when they are unusable; nothing has been started by then.
pub fn settings_or_exit() -> (Settings, Vec<String>) {
    let args: Result<Vec<_>, _> = std::env::args_os().map(std::ffi::OsString::into_string).collect();
    args.map_err(|arg| UsageError::new(format!("argument {arg:?} is not UTF-8")))
        .and_then(|args| {
            Settings::new(args, |name| std::env::var(name).ok(), |path| std::fs::read_to_string(path))
        })
        .unwrap_or_else(|error| error.exit())
}
