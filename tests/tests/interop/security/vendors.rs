//! With both vendors, in both directions.

use std::{cell::RefCell, process::Command, rc::Rc};

use rosless_tests::{Daemon, Rig, Vendor};
use rosless_wire::{
    Message, cdr,
    example_interfaces::srv::{AddTwoInts, AddTwoIntsRequest, AddTwoIntsResponse},
    names,
    std_msgs::msg::String as Text,
};

use super::{Governance, Lab, Speaker, texts, turn_until};
use crate::{
    foreign_client::ForeignClient,
    ours::{PATIENCE, typehash},
};

const RELIABLE: &str = "reliable,volatile,0";

/// Who begins the handshake, and whose keys come first, is chance: so it is tried again and again.
fn starts() -> usize {
    std::env::var("ROSLESS_SECURE_STARTS").ok().and_then(|text| text.parse().ok()).unwrap_or(10)
}

fn meet_again_and_again(vendor: Vendor, governance: Governance) {
    for start in 0..starts() {
        let what = format!("{vendor:?} {governance:?}, start {start}");
        let lab = Lab::governed(governance, &["/ours", "/theirs"]);
        let ours = |lab: &Lab| Speaker::new(lab.options("/ours"), "ours");
        // By turns: who is there first, hears the other's first announcement.
        let early = (start % 2 == 1).then(|| ours(&lab));
        let Some(mut peer) = lab.peer(vendor, "/theirs") else { return };
        let mut ours = early.unwrap_or_else(|| ours(&lab));
        let talker = ours.talker_on(&ours.node, "there");
        let listener = ours.listen_on(&ours.node, "back");
        let dds_type = names::type_to_dds(Text::TYPE_NAME).unwrap();
        peer.reader("r", "rt/there", &dds_type, RELIABLE, &typehash(Text::TYPE_HASH));
        peer.writer("w", "rt/back", &dds_type, RELIABLE, &typehash(Text::TYPE_HASH));
        turn_until(&format!("{what}: matched"), &mut [&mut ours], |_| {
            talker.matched() == 1
                && listener.matched() == 1
                && peer.matched("r") == 1
                && peer.matched("w") == 1
        });
        let payload = |text: &String| cdr::to_payload(&Text { data: text.as_str().into() });
        for text in texts() {
            assert!(talker.publish(&Text { data: text.as_str().into() }));
            peer.write("w", &payload(&text));
        }
        turn_until(&format!("{what}: all heard"), &mut [&mut ours], |us| {
            us[0].heard.len() >= texts().len() && peer.samples("r").len() >= texts().len()
        });
        assert_eq!(ours.heard, texts(), "{what}");
        // What pads the payload to four bytes is not the string's, and not every vendor hands it out.
        let got: Vec<_> = peer.samples("r").iter().map(|sample| sample.length.div_ceil(4)).collect();
        let sent: Vec<_> = texts().iter().map(|text| payload(text).len().div_ceil(4)).collect();
        assert_eq!(got, sent, "{what}");
    }
}

#[test]
fn cyclone_and_we_hear_each_other_encrypted() {
    meet_again_and_again(Vendor::Cyclone, Governance::Encrypted);
}

#[test]
fn cyclone_and_we_hear_each_other_signed() {
    meet_again_and_again(Vendor::Cyclone, Governance::Signed);
}

#[test]
fn cyclone_and_we_hear_each_other_with_payloads_encrypted_once() {
    meet_again_and_again(Vendor::Cyclone, Governance::PayloadsOnce);
}

#[test]
fn fast_dds_and_we_hear_each_other_encrypted() {
    meet_again_and_again(Vendor::FastDds, Governance::Encrypted);
}

#[test]
fn fast_dds_and_we_hear_each_other_signed() {
    meet_again_and_again(Vendor::FastDds, Governance::Signed);
}

/// Three that do not know each other's software, and keys that are for one of them only.
#[test]
fn both_vendors_and_we_hear_each_other_at_once() {
    let lab = Lab::new(&["/ours", "/cyclone", "/fast"]);
    let mut ours = Speaker::new(lab.options("/ours"), "ours");
    let talker = ours.talker_on(&ours.node, "there");
    let listener = ours.listen_on(&ours.node, "back");
    let dds_type = names::type_to_dds(Text::TYPE_NAME).unwrap();
    let mut peers = Vec::new();
    for (vendor, enclave) in [(Vendor::Cyclone, "/cyclone"), (Vendor::FastDds, "/fast")] {
        let Some(mut peer) = lab.peer(vendor, enclave) else { return };
        peer.reader("r", "rt/there", &dds_type, RELIABLE, &typehash(Text::TYPE_HASH));
        peer.writer("w", "rt/back", &dds_type, RELIABLE, &typehash(Text::TYPE_HASH));
        peers.push(peer);
    }
    turn_until("all matched", &mut [&mut ours], |_| {
        let matched = |id: &str| peers.iter().all(|peer| peer.matched(id) == 1);
        talker.matched() == 2 && listener.matched() == 2 && matched("r") && matched("w")
    });
    assert!(talker.publish(&Text { data: "to all".into() }));
    for peer in &mut peers {
        let text = format!("from {:?}", peer.vendor());
        peer.write("w", &cdr::to_payload(&Text { data: text.as_str().into() }));
    }
    turn_until("all heard", &mut [&mut ours], |us| {
        us[0].heard.len() >= 2 && peers.iter().all(|peer| !peer.samples("r").is_empty())
    });
    ours.heard.sort();
    assert_eq!(ours.heard, ["from Cyclone", "from FastDds"]);
}

#[test]
fn clients_of_both_vendors_call_our_service() {
    for vendor in Vendor::ALL {
        let lab = Lab::new(&["/ours", "/theirs"]);
        let Some(peer) = lab.peer(vendor, "/theirs") else { return };
        let mut ours = Rig::joining(&lab.domain, lab.options("/ours"), "adder", ());
        ours.events
            .serve::<AddTwoInts>(&ours.node, "add", |(), request, responder| {
                responder.reply(&AddTwoIntsResponse { sum: request.a + request.b });
            })
            .unwrap();
        let mut client = ForeignClient::<AddTwoInts>::new(&Rc::new(RefCell::new(peer)), "/add");
        ours.until("the client matched", |()| client.is_matched());
        client.call(&AddTwoIntsRequest { a: 20, b: 22 });
        ours.until("an answer", |()| !client.answers().is_empty());
        assert_eq!(client.answers().into_values().map(|r| r.sum).collect::<Vec<_>>(), [42], "{vendor:?}");
    }
}

/// Says which sessions the messages of one participant on loopback belong to: bytes 8 to 11 behind the first submessage's
/// header, when that is the prefix of a signed message.
const SESSIONS: &str = "
import socket, sys
prefix = bytes.fromhex(sys.argv[1])
try:
    sniffer = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
except PermissionError:
    print('ready for nothing', flush=True)
    sys.exit()
sniffer.bind(('lo', 0))
print('ready', flush=True)
known = set()
while True:
    rtps = sniffer.recv(65536)[42:]
    if rtps[:4] == b'RTPS' and rtps[8:20] == prefix and rtps[20] == 0x33:
        session = rtps[32:36].hex()
        if session not in known:
            known.add(session)
            print('session', session, flush=True)
";

#[test]
fn sessions_end_and_others_follow() {
    // Each takes four codes and a session has 16384.
    const SAMPLES: usize = 6000;
    let lab = Lab::new(&["/ours", "/cyclone", "/fast"]);
    let mut ours = Speaker::new(lab.options("/ours"), "ours");
    let mut sniffer = Command::new("python3");
    let prefix: String =
        ours.node.context().gid().prefix().0.iter().map(|byte| format!("{byte:02x}")).collect();
    sniffer.args(["-c", SESSIONS, &prefix]);
    let sniffer = Daemon::spawn(sniffer);
    if sniffer.wait_for_line("ready", PATIENCE).contains("nothing") {
        eprintln!("SKIPPED: only root may listen to the network");
        return;
    }
    let talker = ours.talker();
    let dds_type = names::type_to_dds(Text::TYPE_NAME).unwrap();
    let mut peers = Vec::new();
    for (vendor, enclave) in [(Vendor::Cyclone, "/cyclone"), (Vendor::FastDds, "/fast")] {
        let Some(mut peer) = lab.peer(vendor, enclave) else { return };
        peer.reader("r", "rt/chatter", &dds_type, RELIABLE, &typehash(Text::TYPE_HASH));
        peers.push(peer);
    }
    turn_until("all matched", &mut [&mut ours], |_| {
        talker.matched() == 2 && peers.iter().all(|peer| peer.matched("r") == 1)
    });
    for sample in 0..SAMPLES {
        while !talker.publish(&Text { data: "x".into() }) {
            ours.turn();
        }
        if sample % 100 == 99 {
            turn_until("heard", &mut [&mut ours], |_| {
                peers.iter().all(|peer| peer.samples("r").len() > sample)
            });
        }
    }
    let sessions = sniffer.filter_map(|line| line.starts_with("session").then_some(())).len();
    assert!(sessions >= 2, "{sessions} sessions for {SAMPLES} samples");
}
