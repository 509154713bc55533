//! DDS Security: our nodes and those of both vendors in enclaves of one SROS2 keystore.

mod daemons;
mod hostile;
mod ours;
mod strangers;
mod vendors;

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use chrono::Utc;
use rosless_graph::{
    Context, ContextOptions, EventLoop, Node, Publisher, Sample, Subscription, TopicQos,
    config::{Security, Strategy},
};
use rosless_keystore::{
    Keystore,
    permissions::governance_xml,
    policy::{Act, Enclave, Rule},
};
use rosless_tests::{Daemon, DomainLease, ForeignPeer, Scratch, Vendor};
use rosless_wire::std_msgs::msg::String as Text;

use crate::ours::PATIENCE;

/// What a domain's governance asks for.
#[derive(Debug, Clone, Copy)]
enum Governance {
    /// SROS2's.
    Encrypted,
    /// Everything can be read, and nothing can be changed.
    Signed,
    /// What is around payloads is encrypted, and they are not once more.
    PayloadsOnce,
}

/// A domain and its keystore.
struct Lab {
    domain: DomainLease,
    keystore: Keystore,
    root: PathBuf,
    _folder: Scratch,
}

impl Lab {
    fn new(enclaves: &[&str]) -> Self {
        Self::governed(Governance::Encrypted, enclaves)
    }

    fn governed(governance: Governance, enclaves: &[&str]) -> Self {
        let folder = Scratch::make();
        let root = folder.join("keys");
        let domain = DomainLease::acquire();
        let keystore = Keystore::create(&root, domain.id(), Utc::now()).unwrap();
        let sros2 = governance_xml(domain.id());
        let other = match governance {
            Governance::Encrypted => None,
            Governance::Signed => Some(sros2.replace("ENCRYPT", "SIGN")),
            Governance::PayloadsOnce => {
                Some(sros2.replace("<data_protection_kind>ENCRYPT", "<data_protection_kind>NONE"))
            }
        };
        if let Some(xml) = other {
            assert_ne!(xml, sros2);
            keystore.set_governance(&xml).unwrap();
        }
        for enclave in enclaves {
            keystore.create_enclave(enclave, domain.id(), Utc::now()).unwrap();
        }
        Self { domain, keystore, root, _folder: folder }
    }

    fn options(&self, enclave: &str) -> ContextOptions {
        options(self.domain.id(), &self.root, enclave)
    }

    fn peer(&self, vendor: Vendor, enclave: &str) -> Option<ForeignPeer> {
        vendor.start_secured(self.domain.id(), &self.keystore.folder(enclave).unwrap())
    }

    fn restrict(&self, enclave: &str, rules: &[(Act, &str)]) {
        let rule = |&(act, name): &(Act, &str)| Rule { allowed: true, act, name: name.to_owned() };
        let enclave = Enclave { path: enclave.to_owned(), rules: rules.iter().map(rule).collect() };
        self.keystore.set_permissions(&enclave, self.domain.id()).unwrap();
    }
}

fn options(domain: u16, keystore: &Path, enclave: &str) -> ContextOptions {
    let mut options = ContextOptions::for_domain(domain);
    options.settings.arguments.enclave = enclave.to_owned();
    // ROSLESS_LOG_DDS=1 shows the handshakes.
    if std::env::var_os("ROSLESS_LOG_DDS").is_some() {
        options
            .settings
            .arguments
            .logger_levels
            .push(("rustdds".to_owned(), rosless_graph::console::Severity::Debug));
    }
    options.settings.environment.security = Some(Security {
        strategy: Strategy::Enforce,
        keystore: Some(keystore.to_owned()),
        enclave_override: None,
    });
    options
}

/// A node of ours that keeps what it hears, and may say something.
struct Speaker {
    event_loop: EventLoop<Vec<String>>,
    node: Node,
    heard: Vec<String>,
}

impl Speaker {
    fn new(options: ContextOptions, name: &str) -> Self {
        let context = Context::new(options).expect("joins the domain");
        let node = context.node(name).unwrap();
        Self { event_loop: EventLoop::new(&context).unwrap(), node, heard: Vec::new() }
    }

    fn talker(&self) -> Publisher<Text> {
        self.talker_on(&self.node, "chatter")
    }

    fn talker_on(&self, node: &Node, topic: &str) -> Publisher<Text> {
        node.publisher::<Text>(topic.keep_all()).unwrap()
    }

    fn listen(&self) -> Subscription<Vec<String>> {
        self.listen_on(&self.node, "chatter")
    }

    fn listen_on(&self, node: &Node, topic: &str) -> Subscription<Vec<String>> {
        let hear =
            |heard: &mut Vec<String>, sample: Sample<Text>| heard.push(sample.message.data.to_string());
        self.event_loop.subscribe(node, topic.keep_all(), hear).unwrap()
    }

    fn turn(&mut self) {
        self.event_loop.run_for(&mut self.heard, Duration::from_millis(2)).unwrap();
    }
}

/// What a test does as a process of its own: domain, enclave and keystore of that.
const ALONE: &str = "ROSLESS_TEST_ALONE";

/// Talks if this is the process that [`alone`] has started for a test.
fn is_alone() -> bool {
    let Ok(place) = std::env::var(ALONE) else { return false };
    let mut words = place.splitn(3, ' ');
    let mut word = || words.next().unwrap();
    let (domain, enclave, keystore) = (word().parse().unwrap(), word(), Path::new(word()));
    let mut speaker = Speaker::new(options(domain, keystore, enclave), "a");
    let talker = speaker.talker();
    let deadline = Instant::now() + 5 * PATIENCE;
    while Instant::now() < deadline {
        talker.publish(&Text { data: "x".into() });
        speaker.event_loop.run_for(&mut speaker.heard, Duration::from_millis(100)).unwrap();
    }
    true
}

/// Starts this test once more, as a process that only talks.
fn alone(lab: &Lab, enclave: &str, test: &str) -> Daemon {
    let mut itself = Command::new(std::env::current_exe().unwrap());
    itself.args(["--exact", test, "--nocapture"]);
    itself.env(ALONE, format!("{} {enclave} {}", lab.domain.id(), lab.root.display()));
    Daemon::spawn(itself)
}

#[track_caller]
fn turn_until(what: &str, speakers: &mut [&mut Speaker], mut done: impl FnMut(&[&mut Speaker]) -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done(speakers) {
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
        speakers.iter_mut().for_each(|speaker| speaker.turn());
    }
}

/// Texts of every length modulo 4, and two that need fragments.
fn texts() -> Vec<String> {
    let mut texts: Vec<_> = (0..9).map(|length| "x".repeat(length)).collect();
    texts.extend([7_001, 100_000].map(|length| "y".repeat(length)));
    texts
}
