//! Cyclone DDS or Fast DDS on the other host, as they come. They take their address at the start and keep it; ours may
//! change.

use std::time::Duration;

use rosless_tests::{Daemon, ForeignPeer, TwoHosts, Vendor, eventually};

use crate::{PATIENCE, assert_all_heard, start};

const DOMAIN: u16 = 7;
const TOPIC: &str = "rt/numbers";
const TYPE: &str = "std_msgs::msg::dds_::Int32_";
const QOS: &str = "reliable,volatile,0";
const COUNT: i32 = 1000;

/// The numbers that the stranger has heard.
fn heard(peer: &ForeignPeer) -> Vec<i32> {
    let number = |payload: Vec<u8>| i32::from_le_bytes(payload[4..8].try_into().unwrap());
    peer.samples("reader").into_iter().map(|sample| number(sample.payload)).collect()
}

fn say(peer: &mut ForeignPeer, numbers: std::ops::Range<i32>) {
    for number in numbers {
        peer.write("writer", &[&[0, 1, 0, 0], &number.to_le_bytes()[..]].concat());
    }
}

fn our_participant(peer: &ForeignPeer) -> [u8; 12] {
    let ours = peer.wait_endpoint("our listener", |found| !found.is_writer && found.topic == "rt/answers");
    ours.guid[..12].try_into().unwrap()
}

fn listener_and_talker(hosts: &TwoHosts, peer: &mut ForeignPeer) -> [Daemon; 2] {
    peer.reader("reader", TOPIC, TYPE, QOS, b"");
    // One topic per direction, so that neither side hears itself.
    let there = |command: &mut std::process::Command| {
        command.args(["--ros-args", "-r", "numbers:=answers"]);
    };
    peer.writer("writer", "rt/answers", TYPE, QOS, b"");
    let listener = start(hosts, 1, "listen", there);
    peer.wait_matched("writer", 1);
    let talker = start(hosts, 1, "talk", |_| {});
    [listener, talker]
}

#[test]
fn strangers_and_we_understand_each_other_over_ipv6_alone() {
    for vendor in Vendor::ALL {
        let Some(hosts) = TwoHosts::without_addresses() else { return };
        hosts.allow_ipv6("eth0");
        for (host, address) in ["fd00:211::1", "fd00:211::2"].iter().enumerate() {
            hosts.ip(host, &format!("addr add {address}/64 dev eth0 nodad"));
        }
        let Some(mut peer) = vendor.start_on_host(DOMAIN, "any6", &hosts, 0) else { continue };
        let [listener, _talker] = listener_and_talker(&hosts, &mut peer);
        say(&mut peer, 0..COUNT);
        assert_all_heard(&listener);
        eventually(&format!("{vendor:?} hears all"), PATIENCE, || heard(&peer).len() == COUNT as usize);
        assert!(heard(&peer).into_iter().eq(0..COUNT));
    }
}

#[test]
fn strangers_find_us_again_when_our_address_changes() {
    // At once, and after a while without any, when they cannot hear our goodbye.
    for (vendor, pause) in
        [(Vendor::Cyclone, 0), (Vendor::FastDds, 0), (Vendor::Cyclone, 1), (Vendor::FastDds, 1)]
    {
        let Some(hosts) = TwoHosts::new() else { return };
        let Some(mut peer) = vendor.start_on_host(DOMAIN, "any", &hosts, 0) else { continue };
        let [listener, _talker] = listener_and_talker(&hosts, &mut peer);
        say(&mut peer, 0..COUNT / 2);
        listener.wait_for_line("half heard", PATIENCE);
        let ours = our_participant(&peer);
        eventually("some are heard", PATIENCE, || heard(&peer).len() > 10);
        hosts.ip(1, "addr del 10.211.7.2/24 dev eth0");
        std::thread::sleep(Duration::from_secs(pause));
        hosts.ip(1, "addr add 10.211.7.77/24 dev eth0");
        // They cannot follow, so we leave in their eyes and come anew.
        let moved = |what: &str| format!("{vendor:?}, {pause} s without an address: {what}");
        eventually(&moved("it sees us go"), PATIENCE, || peer.has_seen_go(ours));
        eventually(&moved("it sees us come"), PATIENCE, || peer.matched("writer") == 1);
        say(&mut peer, COUNT / 2..COUNT);
        assert_all_heard(&listener);
        eventually(&moved("the last number"), PATIENCE, || heard(&peer).last() == Some(&(COUNT - 1)));
    }
}

#[test]
fn strangers_do_not_notice_networks_that_they_are_not_on() {
    for vendor in Vendor::ALL {
        let Some(hosts) = TwoHosts::new() else { return };
        hosts.ip(1, "link add docker0 type veth peer name container");
        hosts.ip(1, "addr add 172.17.0.1/16 dev docker0");
        hosts.ip(1, "link set docker0 up");
        let Some(mut peer) = vendor.start_on_host(DOMAIN, "any", &hosts, 0) else { continue };
        let [listener, _talker] = listener_and_talker(&hosts, &mut peer);
        say(&mut peer, 0..COUNT / 2);
        listener.wait_for_line("half heard", PATIENCE);
        let ours = our_participant(&peer);
        hosts.ip(1, "link del docker0");
        say(&mut peer, COUNT / 2..COUNT);
        assert_all_heard(&listener);
        eventually("all are heard", PATIENCE, || heard(&peer).len() == COUNT as usize);
        assert!(heard(&peer).into_iter().eq(0..COUNT) && !peer.has_seen_go(ours));
    }
}

#[test]
fn strangers_are_found_by_a_node_that_started_before_its_network() {
    for vendor in Vendor::ALL {
        let Some(hosts) = TwoHosts::without_addresses() else { return };
        hosts.ip(0, "addr add 10.211.7.1/24 dev eth0");
        let listener = start(&hosts, 1, "listen", |_| {});
        listener.wait_for_line("listening", PATIENCE);
        let Some(mut peer) = vendor.start_on_host(DOMAIN, "any", &hosts, 0) else { continue };
        peer.writer("writer", TOPIC, TYPE, QOS, b"");
        std::thread::sleep(Duration::from_secs(1));
        hosts.ip(1, "addr add 10.211.7.2/24 dev eth0");
        peer.wait_matched("writer", 1);
        say(&mut peer, 0..COUNT);
        assert_all_heard(&listener);
    }
}
