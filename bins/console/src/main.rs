//! `rosless-console`: a web console and Foxglove server beside a ROS 2 graph.
#![forbid(unsafe_code)]

mod app;
mod assets;
mod describe;
mod foxglove;
mod foxglove_parameters;
mod graph_view;
mod holds;
mod operators;
mod parameters;
mod service_calls;
mod stop;
mod takes;
mod talk;
mod topics;
mod types;
mod workbench;

use std::{
    fs,
    io::{ErrorKind, Write as _},
    net::{IpAddr, Ipv4Addr, SocketAddr},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Parser;
use rosless_cli::{Failure, Result, out};
use rosless_graph::{Context, config::Settings};
use rosless_web::{Access, Server, Token};

/// Shows a ROS 2 graph in a browser and operates what is on it; Foxglove, Lichtblick and PlotJuggler connect to the same
/// address.
///
/// Only this machine is served, unless --listen names an address; then a token is needed for everything, and another one
/// for commands. STOP is for everybody.
#[derive(Parser, Debug)]
#[command(name = "rosless-console", version, before_long_help = EXAMPLES, after_help = rosless_cli::EXIT_CODES)]
struct Arguments {
    /// Serve others, too: an address of this machine, or 0.0.0.0 for all of them
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<IpAddr>,
    /// Where to listen; 0 takes any that is free [default: 8765, or any that is free if that one is taken]
    #[arg(long)]
    port: Option<u16>,
    /// Keep the tokens in this file, readable by you only; it is made if it is not there
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Nobody commands anything but STOP
    #[arg(long)]
    read_only: bool,
    /// Another name by which this machine is called in addresses; may be repeated
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    /// Another site whose pages may connect, such as `https://app.foxglove.dev`; may be repeated
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
    /// Where packages lie whose files Foxglove asks for (package://…), besides AMENT_PREFIX_PATH; may be repeated
    #[arg(long, value_name = "DIR")]
    package_path: Vec<PathBuf>,
    /// Folder of session-recorder's takes on this machine, to list and download
    #[arg(long, value_name = "DIR", default_value = "takes")]
    takes: PathBuf,
    /// More definitions: a package, a folder of packages, or a ROS prefix; may be repeated
    #[arg(long, value_name = "DIR")]
    idl: Vec<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  rosless-console                               then open http://127.0.0.1:8765
  rosless-console --read-only                   look only
  rosless-console --listen 0.0.0.0              for the whole network; prints the addresses with their tokens
  rosless-console --allow-origin https://app.foxglove.dev";

/// Where Foxglove and others look by default.
const PORT: u16 = 8765;

fn main() -> ExitCode {
    rosless_cli::main(run)
}

fn run(arguments: Arguments, settings: Settings) -> Result<()> {
    let ip = arguments.listen.unwrap_or(Ipv4Addr::LOCALHOST.into());
    let beyond_loopback = !ip.is_loopback();
    let mut access = Access {
        hosts: arguments.allow_host,
        origins: arguments.allow_origin,
        tokens: None,
        read_only: arguments.read_only,
        beyond_loopback,
    };
    if beyond_loopback || arguments.token_file.is_some() {
        let (viewer, operator) = tokens(arguments.token_file.as_deref())?;
        access = access.with_tokens(viewer, operator);
    }
    let listener = match Server::listen(SocketAddr::new(ip, arguments.port.unwrap_or(PORT))) {
        // Nobody asked for this very one.
        Err(error) if arguments.port.is_none() && error.kind() == ErrorKind::AddrInUse => {
            Server::listen(SocketAddr::new(ip, 0))
        }
        other => other,
    };
    let listener = listener.map_err(|error| {
        let port = arguments.port.unwrap_or(PORT);
        Failure::new(format!(
            "cannot listen on {ip} port {port}: {error}; --port and --listen choose another place"
        ))
    })?;
    let context = Context::new(settings)?;
    let mut registry = rosless_schema::Registry::embedded_for(
        context.settings().environment.distro.unwrap_or_default().name(),
    );
    for dir in &arguments.idl {
        registry.load_dir(dir).map_err(Failure::usage)?;
    }
    let bound = listener.local_addr().map_err(|error| Failure::new(error.to_string()))?;
    announce(bound, &access);
    app::run(&context, listener, access, registry, arguments.package_path, takes::Takes::new(arguments.takes))
}

/// The addresses to open, with what lets one in.
fn announce(bound: SocketAddr, access: &Access) {
    let host = match bound.ip() {
        ip if ip.is_unspecified() => "THIS-MACHINE".to_owned(),
        IpAddr::V6(ip) => format!("[{ip}]"),
        ip => ip.to_string(),
    };
    let address = format!("http://{host}:{}", bound.port());
    match &access.tokens {
        None => out!("console: {address}"),
        Some((viewer, operator)) => {
            if !access.read_only {
                out!("console, to operate: {address}/?token={}", operator.reveal());
            }
            out!("console, to look:    {address}/?token={}", viewer.reveal());
        }
    }
}

/// Viewers' and operators' token: those of the file, or new ones, which the file keeps.
fn tokens(file: Option<&Path>) -> Result<(Token, Token)> {
    let random =
        || Token::random().map_err(|error| Failure::new(format!("no random numbers for a token: {error}")));
    let Some(file) = file else { return Ok((random()?, random()?)) };
    let failed = |error: std::io::Error| Failure::new(format!("{}: {error}", file.display()));
    if file.exists() {
        let text = fs::read_to_string(file).map_err(failed)?;
        let find = |name: &str| text.lines().find_map(|line| Token::new(line.strip_prefix(name)?.trim()));
        return match (find("viewer"), find("operator")) {
            (Some(viewer), Some(operator)) => Ok((viewer, operator)),
            _ => Err(Failure::usage(format!(
                "{}: expected a line `viewer TOKEN` and a line `operator TOKEN`, each token 16 letters or digits or more",
                file.display()
            ))),
        };
    }
    let (viewer, operator) = (random()?, random()?);
    let mut made =
        fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file).map_err(failed)?;
    let text = format!("viewer {}\noperator {}\n", viewer.reveal(), operator.reveal());
    made.write_all(text.as_bytes()).map_err(failed)?;
    Ok((viewer, operator))
}
