//! `rosless security`: what `ros2 security` does, without ROS.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};
use rosless_graph::{
    GidPrefix, Graph,
    graph::{EndpointKind, Role},
};
use rosless_keystore::policy::{Act, Enclave, Policy, Rule, is_enclave};
use serde_json::json;

use crate::{
    Environment,
    failure::{Failure, Result},
    output,
    session::is_hidden,
};

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Make a keystore: an authority, and the rule that everything is encrypted
    #[command(name = "create_keystore")]
    CreateKeystore(At),
    /// Make an enclave: key, certificate, and permission for everything
    #[command(name = "create_enclave", alias = "create_key")]
    CreateEnclave {
        #[command(flatten)]
        at: At,
        /// Name of the enclave, such as /lab/arm
        name: String,
    },
    /// Give an enclave the permissions of a policy, and no others
    #[command(name = "create_permission")]
    CreatePermission {
        #[command(flatten)]
        at: At,
        /// Name of the enclave, such as /lab/arm
        name: String,
        /// SROS2's policy file, which has an enclave of that name
        policy_file_path: PathBuf,
    },
    /// Make all enclaves of a policy, with its permissions
    #[command(name = "generate_artifacts")]
    GenerateArtifacts {
        /// The keystore; it is made if it is not there
        #[arg(short = 'k', long, value_name = "DIR", env = "ROS_SECURITY_KEYSTORE")]
        keystore_root_path: PathBuf,
        /// SROS2's policy file; may be repeated
        #[arg(short = 'p', long = "policy-files", value_name = "FILE", required = true)]
        policy_files: Vec<PathBuf>,
    },
    /// Write a policy that allows what the nodes of the running graph do now
    #[command(name = "generate_policy")]
    GeneratePolicy {
        /// The file; what it has already stays
        policy_file_path: PathBuf,
    },
    /// Print the names of all enclaves
    #[command(name = "list_enclaves", alias = "list_keys")]
    ListEnclaves(At),
    /// Check dates, names, keys and signatures of all enclaves, the permissions for this domain, and who in it is secured
    Doctor(At),
}

/// Which keystore.
#[derive(Args, Debug)]
pub(crate) struct At {
    /// The keystore's folder
    #[arg(value_name = "KEYSTORE")]
    keystore: PathBuf,
}

impl Command {
    pub(crate) fn run(self, environment: &Environment) -> Result<()> {
        match self {
            Self::GeneratePolicy { policy_file_path } => generate_policy(environment, &policy_file_path),
            signed => signing::run(signed, environment),
        }
    }
}

fn read_policy(path: &Path) -> Result<Policy> {
    let bad = |reason: String| Failure::usage(format!("{}: {reason}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let include = |href: &str| std::fs::read_to_string(folder.join(href)).map_err(|error| error.to_string());
    Policy::parse(&text, include).map_err(|error| bad(error.to_string()))
}

fn generate_policy(environment: &Environment, path: &Path) -> Result<()> {
    let mut policy = if path.exists() { read_policy(path)? } else { Policy::default() };
    let session = environment.join()?;
    let graph = session.whole_graph()?;
    let seen = policy_of(&graph);
    if seen.is_empty() {
        return Err(Failure::nobody(format!("Domain {} has no nodes to make a policy of", session.domain())));
    }
    let names: Vec<_> = seen.iter().map(|enclave| enclave.path.clone()).collect();
    for enclave in seen {
        match policy.enclaves.iter_mut().find(|known| known.path == enclave.path) {
            Some(known) => known.rules.extend(enclave.rules),
            None => policy.enclaves.push(enclave),
        }
    }
    std::fs::write(path, policy.to_xml())
        .map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
    output::answer(&json!({"policy": path, "enclaves": names}), || {
        format!(
            "{}: what {} may do is what they do now; read it before you sign it",
            path.display(),
            names.join(", ")
        )
    });
    Ok(())
}

/// One enclave for each process: the one it says it is in, or named as its first node.
fn policy_of(graph: &Graph) -> Vec<Enclave> {
    let mut processes: BTreeMap<GidPrefix, Vec<String>> = BTreeMap::new();
    for (node, process) in graph.processes().filter(|(node, _)| !is_hidden(node)) {
        processes.entry(process).or_default().push(node);
    }
    let mut enclaves: BTreeMap<String, Enclave> = BTreeMap::new();
    let announced: BTreeMap<_, _> = graph.peers().collect();
    for (process, mut nodes) in processes {
        nodes.sort();
        let own = announced.get(&process).and_then(|peer| peer.enclave.as_ref());
        let path = own.filter(|name| *name != "/" && is_enclave(name)).unwrap_or(&nodes[0]).clone();
        let enclave = enclaves.entry(path.clone()).or_default();
        enclave.path = path;
        for node in nodes {
            let rules = graph
                .endpoints_of(&node)
                .into_iter()
                .filter_map(|(role, endpoint)| rule(&role, endpoint.kind));
            enclave.rules.extend(rules);
        }
    }
    enclaves.into_values().collect()
}

fn rule(role: &Role, kind: EndpointKind) -> Option<Rule> {
    let (act, name) = match role {
        Role::Publisher(name) => (Act::Publish, name),
        Role::Subscription(name) => (Act::Subscribe, name),
        Role::Server(name) => (Act::Reply, name),
        Role::Client(name) => (Act::Request, name),
    };
    let allowed = true;
    match (name.split_once("/_action/"), act) {
        (None, act) => Some(Rule { allowed, act, name: name.clone() }),
        // An action is its services and topics; one of them speaks for all.
        (Some((action, "send_goal")), Act::Reply | Act::Request) => {
            let act = if kind == EndpointKind::Reader { Act::Execute } else { Act::Call };
            Some(Rule { allowed, act, name: action.to_owned() })
        }
        (Some(_), _) => None,
    }
}

#[cfg(not(feature = "security"))]
mod signing {
    use super::{Command, Environment, Failure, Result};

    pub(super) fn run(_: Command, _: &Environment) -> Result<()> {
        Err(Failure::usage(
            "this rosless was built without DDS Security; build it with `--features security`",
        ))
    }
}

#[cfg(feature = "security")]
mod signing {
    use std::{rc::Rc, time::Duration};

    use chrono::Utc;
    use rosless_keystore::{Keystore, Level};

    use super::*;
    use crate::output::out;

    /// Everybody is announced more often.
    const LOOK: Duration = Duration::from_secs(3);

    impl From<rosless_keystore::Error> for Refused {
        fn from(error: rosless_keystore::Error) -> Self {
            Self(match error {
                rosless_keystore::Error::Usage(reason) => Failure::usage(reason),
                other => Failure::new(other.to_string()),
            })
        }
    }

    struct Refused(Failure);

    impl From<Failure> for Refused {
        fn from(failure: Failure) -> Self {
            Self(failure)
        }
    }

    pub(super) fn run(command: Command, environment: &Environment) -> Result<()> {
        act(command, environment).map_err(|Refused(failure)| failure)
    }

    fn act(command: Command, environment: &Environment) -> Result<(), Refused> {
        let domain = environment.settings.environment.domain_id;
        let now = Utc::now();
        match command {
            Command::CreateKeystore(At { keystore }) => {
                Keystore::create(&keystore, domain, now)?;
                told(json!({"keystore": keystore, "domain": domain}), || {
                    format!(
                        "{}: a keystore for domain {domain}; private/ stays on this machine",
                        keystore.display()
                    )
                });
            }
            Command::CreateEnclave { at: At { keystore }, name } => {
                Keystore::open(&keystore)?.create_enclave(&name, domain, now)?;
                told(json!({"enclave": name, "domain": domain}), || {
                    format!("{name}: an enclave that may do everything in domain {domain}")
                });
            }
            Command::CreatePermission { at: At { keystore }, name, policy_file_path } => {
                let keystore = Keystore::open(&keystore)?;
                let policy = read_policy(&policy_file_path)?;
                let enclave =
                    policy.enclaves.iter().find(|enclave| enclave.path == name).ok_or_else(|| {
                        let known: Vec<_> =
                            policy.enclaves.iter().map(|enclave| enclave.path.as_str()).collect();
                        let path = policy_file_path.display();
                        Failure::usage(format!(
                            "{path}: it has no enclave '{name}', only {}",
                            known.join(", ")
                        ))
                    })?;
                keystore.set_permissions(enclave, domain)?;
                told(json!({"enclave": name, "domain": domain}), || {
                    format!("{name}: may do what the policy says, in domain {domain}")
                });
            }
            Command::GenerateArtifacts { keystore_root_path, policy_files } => {
                let keystore = match keystore_root_path.join("enclaves").exists() {
                    true => Keystore::open(&keystore_root_path)?,
                    false => Keystore::create(&keystore_root_path, domain, now)?,
                };
                let known = keystore.enclaves()?;
                let mut made = Vec::new();
                for file in policy_files {
                    for enclave in read_policy(&file)?.enclaves {
                        if !known.contains(&enclave.path) && !made.contains(&enclave.path) {
                            keystore.create_enclave(&enclave.path, domain, now)?;
                        }
                        keystore.set_permissions(&enclave, domain)?;
                        made.push(enclave.path);
                    }
                }
                told(json!({"keystore": keystore_root_path, "enclaves": made}), || made.join("\n"));
            }
            Command::ListEnclaves(At { keystore }) => {
                let enclaves = Keystore::open(&keystore)?.enclaves()?;
                match environment.json() {
                    true => output::json(&enclaves),
                    false => enclaves.iter().for_each(|enclave| out!("{enclave}")),
                }
            }
            Command::Doctor(At { keystore }) => doctor(&Keystore::open(&keystore)?, domain, environment)?,
            Command::GeneratePolicy { .. } => {}
        }
        Ok(())
    }

    fn told(json: serde_json::Value, text: impl FnOnce() -> String) {
        output::answer(&json, text);
    }

    /// Who is announced in the domain. What is announced is not protected: whoever has no enclave sees it, and cannot do more.
    fn announced(domain: u16, environment: &Environment) -> Result<Rc<Graph>> {
        let mut settings = environment.settings.clone();
        (settings.environment.domain_id, settings.environment.security) = (domain, None);
        let session = environment.join_with(&settings)?;
        session.wait(environment.global.spin_time.unwrap_or(LOOK), |()| false)?;
        Ok(session.graph())
    }

    fn doctor(keystore: &Keystore, domain: u16, environment: &Environment) -> Result<(), Refused> {
        let mut worst = Level::Ok;
        let mut lines = Vec::new();
        for enclave in keystore.enclaves()? {
            for finding in keystore.check(&enclave, domain, Utc::now())? {
                worst = worst.max(finding.level);
                let level = match finding.level {
                    Level::Ok => "OK",
                    Level::Warn => "WARN",
                    Level::Fail => "FAIL",
                };
                match environment.json() {
                    true => lines.push(json!({"level": level, "enclave": enclave, "file": finding.file, "found": finding.found})),
                    false => out!("{level:<4} {enclave} {}: {}", finding.file, finding.found),
                }
            }
        }
        for (_, peer) in announced(domain, environment)?.peers() {
            // Names on the network are anybody's.
            let enclave = peer
                .enclave
                .as_deref()
                .map_or_else(|| "nowhere".to_owned(), |name| name.escape_debug().to_string());
            let (level, found) = match peer.is_secured {
                true => ("OK", "secured"),
                false => ("WARN", "NOT secured: whoever is, does not let it in"),
            };
            match environment.json() {
                true => lines.push(json!({"level": level, "peer": enclave, "vendor": peer.vendor.to_string(), "found": found})),
                false => out!("{level:<4} somebody in {enclave} ({}): {found}", peer.vendor),
            }
        }
        if environment.json() {
            output::json(&lines);
        }
        match worst {
            Level::Fail => Err(Failure::new("Peers will refuse what is marked FAIL").told_in_json().into()),
            _ => Ok(()),
        }
    }
}
