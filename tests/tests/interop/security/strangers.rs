//! Who is not let in, and what is refused, by name.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use chrono::{TimeDelta, Utc};
use rosless_graph::{Context, ContextOptions, Sample};
use rosless_keystore::policy::Act;
use rosless_tests::{Daemon, DomainLease};
use rosless_wire::std_msgs::msg::String as Text;

use super::{Lab, Speaker, alone, is_alone, turn_until};
use crate::ours::PATIENCE;

/// Looks for so long before it is believed that nobody comes. Those who may speak have met by then several times over.
const NOBODY: Duration = Duration::from_secs(3);

fn never_meet(a: ContextOptions, b: ContextOptions, witness: Option<ContextOptions>) {
    let mut a = Speaker::new(a, "a");
    let mut b = Speaker::new(b, "b");
    let listener = b.listen();
    let talker = a.talker();
    // Whoever may speak is met first, so that the silence of the other says something.
    let mut witness = witness.map(|options| Speaker::new(options, "witness"));
    if let Some(witness) = &mut witness {
        let heard = witness.listen();
        turn_until("the witness is met", &mut [&mut a, &mut b, witness], |_| {
            heard.matched() == 1 && talker.matched() >= 1
        });
    }
    let deadline = Instant::now() + NOBODY;
    while Instant::now() < deadline {
        talker.publish(&Text { data: "secret".into() });
        a.turn();
        b.turn();
        if let Some(witness) = &mut witness {
            witness.turn();
        }
    }
    assert_eq!(listener.matched(), 0);
    assert!(b.heard.is_empty());
    assert!(!b.node.context().graph().has_node("/a"), "names are not told to strangers");
}

#[test]
fn who_has_no_enclave_is_a_stranger() {
    let lab = Lab::new(&["/a", "/b"]);
    let open = ContextOptions::for_domain(lab.domain.id());
    never_meet(lab.options("/a"), open, Some(lab.options("/b")));
}

#[test]
fn an_enclave_of_another_authority_is_a_stranger() {
    let (lab, other) = (Lab::new(&["/a", "/b"]), Lab::new(&[]));
    never_meet(lab.options("/a"), stranger(&lab, &other, "/x"), Some(lab.options("/b")));
}

/// An enclave of another authority, for the same domain.
fn stranger(lab: &Lab, other: &Lab, enclave: &str) -> ContextOptions {
    other.keystore.create_enclave(enclave, lab.domain.id(), Utc::now()).unwrap();
    other.keystore.set_governance(&rosless_keystore::permissions::governance_xml(lab.domain.id())).unwrap();
    let mut stranger = other.options(enclave);
    stranger.settings.environment.domain_id = lab.domain.id();
    stranger
}

#[test]
fn who_is_refused_is_told_of_once() {
    if is_alone() {
        return;
    }
    // Names decide who begins a handshake, and who begins is refused by the other: few names come behind this one.
    const LAST: &str = "/brief";
    let (lab, other) = (Lab::new(&[LAST]), Lab::new(&[]));
    let talker = alone(&lab, LAST, "security::strangers::who_is_refused_is_told_of_once");
    let mut strangers: Vec<_> =
        (0..6).map(|number| Speaker::new(stranger(&lab, &other, &format!("/x{number}")), "x")).collect();
    let mut all: Vec<_> = strangers.iter_mut().collect();
    let begin = Instant::now();
    let refusals =
        || talker.filter_map(|line| line.split_once(" is not authenticated").map(|(who, _)| who.to_owned()));
    turn_until("some are refused, and have tried again", &mut all, |_| {
        !refusals().is_empty() && begin.elapsed() > 2 * NOBODY
    });
    let told = refusals();
    let who = |line: &String| line.rsplit(' ').next().unwrap().to_owned();
    let different: std::collections::BTreeSet<_> = told.iter().map(who).collect();
    assert_eq!(told.len(), different.len(), "each once: {}", talker.output());
    assert!(told.iter().all(|line| line.contains("[WARN]")), "{}", talker.output());
    assert!(!talker.output().contains("[ERROR]"), "{}", talker.output());
}

/// What is sent to strangers again and again, because they do not answer as they should, takes nobody's place.
#[test]
fn beside_strangers_all_others_meet() {
    let members = ["/a", "/b", "/c", "/d"];
    let (lab, other) = (Lab::new(&members), Lab::new(&[]));
    let stranger = stranger(&lab, &other, "/x");
    let mut strangers: Vec<_> = (0..3).map(|_| Speaker::new(stranger.clone(), "x")).collect();
    let mut speakers: Vec<_> = members.iter().map(|m| Speaker::new(lab.options(m), &m[1..])).collect();
    let mut all: Vec<_> = speakers.iter_mut().chain(&mut strangers).collect();
    turn_until("each of the four knows all", &mut all, |all| {
        all[..4].iter().all(|one| members.iter().all(|node| one.node.context().graph().has_node(node)))
    });
    assert!(all[..4].iter().all(|one| !one.node.context().graph().has_node("/x")), "strangers are unknown");
}

fn refusal(options: ContextOptions) -> String {
    Context::new(options).map(|_| ()).expect_err("it must not join").to_string()
}

#[test]
fn what_is_missing_or_past_its_date_is_refused_by_name() {
    let lab = Lab::new(&["/a"]);
    let day = TimeDelta::days(1);
    let now = Utc::now();
    lab.keystore.create_enclave_for("/old", lab.domain.id(), now - day * 9, now - day).unwrap();
    lab.keystore.create_enclave_for("/early", lab.domain.id(), now + day, now + day * 9).unwrap();
    assert!(refusal(lab.options("/nobody")).contains("enclaves/nobody/identity_ca.cert.pem"));
    let old = refusal(lab.options("/old"));
    assert!(old.contains("/old") && old.contains("expired"), "{old}");
    let early = refusal(lab.options("/early"));
    assert!(early.contains("/early") && early.contains("not valid before"), "{early}");
    let mut elsewhere = lab.options("/a");
    let other = DomainLease::acquire();
    elsewhere.settings.environment.domain_id = other.id();
    let elsewhere = refusal(elsewhere);
    assert!(elsewhere.contains(&other.id().to_string()), "{elsewhere}");
}

#[test]
fn what_a_policy_does_not_allow_is_refused_by_name() {
    let lab = Lab::new(&["/a"]);
    lab.restrict(
        "/a",
        &[
            (Act::Publish, "/rosout"),
            (Act::Publish, "/parameter_events"),
            (Act::Reply, "/a/*"),
            (Act::Subscribe, "/chatter"),
        ],
    );
    let a = Speaker::new(lab.options("/a"), "a");
    let _listener = a.listen();
    let refused = a.node.publisher::<Text>("chatter").map(|_| ()).unwrap_err().to_string();
    assert_eq!(
        refused,
        "cannot write topic rt/chatter: the permissions of the enclave do not allow it; add it to the policy, and sign \
         that with `rosless security create_permission`"
    );
}

#[test]
fn an_identity_that_has_expired_is_a_stranger() {
    let lab = Lab::new(&["/a", "/b"]);
    let now = Utc::now();
    // Long enough to start, and over when the others come.
    let end = now + TimeDelta::seconds(15);
    lab.keystore.create_enclave_for("/brief", lab.domain.id(), now - TimeDelta::days(1), end).unwrap();
    let mut brief = Speaker::new(lab.options("/brief"), "brief");
    let listener = brief.listen();
    while Utc::now() <= end {
        brief.turn();
    }
    let mut a = Speaker::new(lab.options("/a"), "a");
    let mut b = Speaker::new(lab.options("/b"), "b");
    let talker = a.talker();
    let witness = b.listen();
    turn_until("the witness is met", &mut [&mut a, &mut b, &mut brief], |_| {
        witness.matched() == 1 && talker.matched() >= 1
    });
    let deadline = Instant::now() + NOBODY;
    while Instant::now() < deadline {
        [&mut a, &mut b, &mut brief].into_iter().for_each(Speaker::turn);
    }
    assert_eq!((listener.matched(), talker.matched()), (0, 1));
}

/// Counts datagrams on loopback with these bytes, until it is told to stop.
const SNIFFER: &str = "
import socket, sys
word = sys.argv[1].encode()
try:
    sniffer = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
except PermissionError:
    print('ready for nothing', flush=True)
    sys.exit()
sniffer.bind(('lo', 0))
print('ready', flush=True)
while True:
    if word in sniffer.recv(65536):
        print('seen', flush=True)
";

#[test]
fn names_of_topics_are_not_on_the_network() {
    let sniffer = |word: &str| {
        let mut command = Command::new("python3");
        command.args(["-c", SNIFFER, word]);
        Daemon::spawn(command)
    };
    let lab = Lab::new(&["/a", "/b"]);
    let open = lab.domain.id();
    let clear = sniffer("rt/in_the_clear");
    if clear.wait_for_line("ready", PATIENCE).contains("nothing") {
        eprintln!("SKIPPED: only root may listen to the network");
        return;
    }
    let hidden = sniffer("rt/behind_a_curtain");
    hidden.wait_for_line("ready", PATIENCE);
    let pairs = [
        ("/in_the_clear", ContextOptions::for_domain(open), ContextOptions::for_domain(open)),
        ("/behind_a_curtain", lab.options("/a"), lab.options("/b")),
    ];
    for (topic, a, b) in pairs {
        let mut a = Speaker::new(a, "a");
        let mut b = Speaker::new(b, "b");
        let talker = a.node.publisher::<Text>(topic).unwrap();
        let listener = b
            .event_loop
            .subscribe(&b.node, topic, |heard: &mut Vec<String>, _: Sample<Text>| heard.push(String::new()))
            .unwrap();
        turn_until("met", &mut [&mut a, &mut b], |_| talker.matched() == 1 && listener.matched() == 1);
        talker.publish(&Text { data: "x".into() });
        turn_until("heard", &mut [&mut a, &mut b], |speakers| !speakers[1].heard.is_empty());
    }
    clear.wait_for_line("seen", PATIENCE);
    assert_eq!(hidden.filter_map(|line| line.starts_with("seen").then_some(())).len(), 0);
}

#[test]
fn who_is_revoked_is_a_stranger() {
    let lab = Lab::new(&["/a", "/b", "/stolen"]);
    let run = |arguments: &[&str]| {
        let output = Command::new("openssl")
            .args(arguments)
            .current_dir(&lab.root)
            .output()
            .expect("openssl is installed");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let configuration = "[ca]\ndefault_ca=x\n[x]\ndatabase=index\ndefault_md=sha256\ndefault_crl_days=30\n";
    std::fs::write(lab.root.join("ca.conf"), configuration).unwrap();
    std::fs::write(lab.root.join("index"), "").unwrap();
    let ca = ["ca", "-config", "ca.conf", "-keyfile", "private/ca.key.pem", "-cert", "public/ca.cert.pem"];
    run(&[&ca[..], &["-revoke", "enclaves/stolen/cert.pem"]].concat());
    run(&[&ca[..], &["-gencrl", "-out", "crl.pem"]].concat());
    // The thief does not have the list.
    for enclave in ["a", "b"] {
        std::fs::copy(lab.root.join("crl.pem"), lab.root.join("enclaves").join(enclave).join("crl.pem"))
            .unwrap();
    }
    never_meet(lab.options("/a"), lab.options("/stolen"), Some(lab.options("/b")));
    std::fs::copy(lab.root.join("crl.pem"), lab.root.join("enclaves/stolen/crl.pem")).unwrap();
    let refused = refusal(lab.options("/stolen"));
    assert!(refused.contains("/stolen") && refused.contains("revoked"), "{refused}");
}
