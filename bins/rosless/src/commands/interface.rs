//! `rosless interface`: definitions, no graph needed.

use std::io::{self, BufRead as _};

use clap::{Args, Subcommand};
use rosless_schema::{Comments, DynamicMessage, Kind, Registry, YamlStyle};
use serde_json::json;

use crate::{
    Environment,
    failure::{Failure, Result},
    output::{self, out},
};

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// List the definitions known
    List(Only),
    /// List the definitions of one package
    Package {
        package: String,
        #[command(flatten)]
        only: Only,
    },
    /// List the packages that have definitions
    Packages(Only),
    /// Print a message, service request or goal with default values, ready to edit
    Proto {
        r#type: String,
        /// Print no quotes around it
        #[arg(long)]
        no_quotes: bool,
    },
    /// Print a definition with everything it contains
    Show(Show),
}

#[derive(Args, Debug)]
pub(crate) struct Only {
    /// Messages only
    #[arg(short = 'm', long)]
    only_msgs: bool,
    /// Services only
    #[arg(short = 's', long)]
    only_srvs: bool,
    /// Actions only
    #[arg(short = 'a', long)]
    only_actions: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Show {
    /// `std_msgs/msg/String`, or `std_msgs/String`; `-` takes it from standard input
    r#type: String,
    /// Show the comments of nested definitions too
    #[arg(long)]
    all_comments: bool,
    /// Show no comments
    #[arg(long, conflicts_with = "all_comments")]
    no_comments: bool,
}

impl Command {
    pub(crate) fn run(self, environment: &Environment) -> Result<()> {
        let registry = environment.registry()?;
        match self {
            Self::List(only) => {
                list(environment, &registry, &only);
                Ok(())
            }
            Self::Package { package, only } => in_package(environment, &registry, &package, &only),
            Self::Packages(only) => {
                packages(environment, &registry, &only);
                Ok(())
            }
            Self::Proto { r#type, no_quotes } => proto(environment, &registry, &r#type, no_quotes),
            Self::Show(show) => show.run(environment, &registry),
        }
    }
}

impl Only {
    /// The kinds wanted: all unless some were named.
    fn kinds(&self) -> impl Iterator<Item = (&'static str, Kind)> {
        let all = !(self.only_msgs || self.only_srvs || self.only_actions);
        let kinds = [
            ("Messages", Kind::Msg, self.only_msgs),
            ("Services", Kind::Srv, self.only_srvs),
            ("Actions", Kind::Action, self.only_actions),
        ];
        kinds.into_iter().filter(move |(_, _, wanted)| all || *wanted).map(|(title, kind, _)| (title, kind))
    }

    /// The definitions of the kinds wanted.
    fn names<'r>(&self, registry: &'r Registry) -> Vec<&'r str> {
        let middles: Vec<_> = self.kinds().map(|(_, kind)| format!("/{}/", kind.as_str())).collect();
        let wanted = |name: &&str| middles.iter().any(|middle| name.contains(middle));
        registry.names().into_iter().filter(wanted).collect()
    }
}

fn list(environment: &Environment, registry: &Registry, only: &Only) {
    let mut document = serde_json::Map::new();
    for (title, kind) in only.kinds() {
        let middle = format!("/{}/", kind.as_str());
        let names: Vec<_> = registry.names().into_iter().filter(|name| name.contains(&middle)).collect();
        if environment.json() {
            document.insert(title.to_lowercase(), json!(names));
        } else {
            out!("{title}:");
            names.iter().for_each(|name| out!("    {name}"));
        }
    }
    if environment.json() {
        output::json(&document);
    }
}

fn print_lines(environment: &Environment, lines: &[&str]) {
    match environment.json() {
        true => output::json(&lines),
        false => lines.iter().for_each(|line| out!("{line}")),
    }
}

fn package_of(name: &str) -> &str {
    name.split('/').next().unwrap_or(name)
}

fn in_package(environment: &Environment, registry: &Registry, package: &str, only: &Only) -> Result<()> {
    let mut known: Vec<_> = registry.names().into_iter().map(package_of).collect();
    known.dedup();
    if !known.contains(&package) {
        return Err(Failure::new(Failure::unknown("interface", package, known).message));
    }
    let names = only.names(registry);
    print_lines(
        environment,
        &names.into_iter().filter(|name| package_of(name) == package).collect::<Vec<_>>(),
    );
    Ok(())
}

fn packages(environment: &Environment, registry: &Registry, only: &Only) {
    let mut packages: Vec<_> = only.names(registry).into_iter().map(package_of).collect();
    packages.dedup();
    print_lines(environment, &packages);
}

fn proto(environment: &Environment, registry: &Registry, name: &str, no_quotes: bool) -> Result<()> {
    let full_name = registry.full_name(name)?;
    let part = match full_name.split('/').nth(1) {
        Some("srv") if !full_name.ends_with("_Response") => format!("{full_name}_Request"),
        Some("action") => format!("{full_name}_Goal"),
        _ => full_name.clone(),
    };
    let message = DynamicMessage::new(&registry.message_type(&part)?);
    match environment.json() {
        true => output::json(&message),
        false => {
            let quote = if no_quotes { "" } else { "\"" };
            out!("{quote}{}{quote}", message.to_yaml(YamlStyle::default()));
        }
    }
    Ok(())
}

/// The first line of standard input.
fn first_line() -> Result<String> {
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(|error| Failure::new(format!("cannot read standard input: {error}")))?;
    match line.trim() {
        "" => Err(Failure::usage("expected a type on standard input")),
        line => Ok(line.to_owned()),
    }
}

impl Show {
    fn run(&self, environment: &Environment, registry: &Registry) -> Result<()> {
        let comments = match (self.all_comments, self.no_comments) {
            (true, _) => Comments::All,
            (_, true) => Comments::None,
            _ => Comments::TopLevel,
        };
        let r#type = match self.r#type.as_str() {
            "-" => first_line()?,
            r#type => r#type.to_owned(),
        };
        if environment.json() {
            let name = registry.full_name(&r#type)?;
            let description = registry.description(&name)?;
            output::json(
                &json!({"name": name, "type_hash": description.rihs01(), "description": description}),
            );
        } else {
            out!("{}", registry.show(&r#type, comments)?.trim_end_matches('\n'));
        }
        Ok(())
    }
}
