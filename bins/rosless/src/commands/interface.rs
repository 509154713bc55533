//! `rosless interface`: definitions, no graph needed.

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
    List(List),
    /// List the definitions of one package
    Package { package: String },
    /// List the packages that have definitions
    Packages,
    /// Print a message, service request or goal with default values, ready to edit
    Proto { r#type: String },
    /// Print a definition with everything it contains
    Show(Show),
}

#[derive(Args, Debug)]
pub(crate) struct List {
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
    /// `std_msgs/msg/String`, or `std_msgs/String`
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
            Self::List(list) => list.run(environment, &registry),
            Self::Package { package } => in_package(environment, &registry, &package),
            Self::Packages => packages(environment, &registry),
            Self::Proto { r#type } => proto(environment, &registry, &r#type),
            Self::Show(show) => show.run(environment, &registry),
        }
    }
}

impl List {
    fn run(&self, environment: &Environment, registry: &Registry) -> Result<()> {
        let all = !(self.only_msgs || self.only_srvs || self.only_actions);
        let kinds = [
            (Kind::Msg, "Messages", self.only_msgs),
            (Kind::Srv, "Services", self.only_srvs),
            (Kind::Action, "Actions", self.only_actions),
        ];
        let mut document = serde_json::Map::new();
        for (kind, title, _) in kinds.into_iter().filter(|(_, _, wanted)| all || *wanted) {
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
        Ok(())
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

fn in_package(environment: &Environment, registry: &Registry, package: &str) -> Result<()> {
    let names: Vec<_> = registry.names().into_iter().filter(|name| package_of(name) == package).collect();
    if names.is_empty() {
        let known = registry.names();
        return Err(Failure::unknown("interface", package, known.into_iter().map(package_of)));
    }
    print_lines(environment, &names);
    Ok(())
}

fn packages(environment: &Environment, registry: &Registry) -> Result<()> {
    let mut packages: Vec<_> = registry.names().into_iter().map(package_of).collect();
    packages.dedup();
    print_lines(environment, &packages);
    Ok(())
}

fn proto(environment: &Environment, registry: &Registry, name: &str) -> Result<()> {
    let full_name = registry.full_name(name)?;
    let part = match full_name.split('/').nth(1) {
        Some("srv") if !full_name.ends_with("_Response") => format!("{full_name}_Request"),
        Some("action") => format!("{full_name}_Goal"),
        _ => full_name.clone(),
    };
    let message = DynamicMessage::new(&registry.message_type(&part)?);
    match environment.json() {
        true => output::json(&message),
        false => out!("\"{}\"", message.to_yaml(YamlStyle::default())),
    }
    Ok(())
}

impl Show {
    fn run(&self, environment: &Environment, registry: &Registry) -> Result<()> {
        let comments = match (self.all_comments, self.no_comments) {
            (true, _) => Comments::All,
            (_, true) => Comments::None,
            _ => Comments::TopLevel,
        };
        if environment.json() {
            let name = registry.full_name(&self.r#type)?;
            let description = registry.description(&name)?;
            output::json(
                &json!({"name": name, "type_hash": description.rihs01(), "description": description}),
            );
        } else {
            out!("{}", registry.show(&self.r#type, comments)?.trim_end_matches('\n'));
        }
        Ok(())
    }
}
