//! IPv6: addresses of the link and global ones, alone and beside IPv4.

use std::process::Command;

use rosless_tests::TwoHosts;

use crate::{PATIENCE, assert_all_heard, start, talking};

const GLOBAL: [&str; 2] = ["fd00:211::1", "fd00:211::2"];

fn both(command: &mut Command) {
    command.env("ROSLESS_IP", "both");
}

fn only_v6(command: &mut Command) {
    command.env("ROSLESS_IP", "6");
}

#[test]
fn addresses_of_the_link_are_enough() {
    let Some(hosts) = TwoHosts::without_addresses() else { return };
    hosts.allow_ipv6("eth0");
    let (listener, _talker) = talking(&hosts, "listening");
    assert_all_heard(&listener);
}

#[test]
fn global_addresses_that_come_later_and_change_are_followed() {
    let Some(hosts) = TwoHosts::without_addresses() else { return };
    let (listener, _talker) = talking(&hosts, "listening");
    hosts.allow_ipv6("eth0");
    for (host, address) in GLOBAL.iter().enumerate() {
        hosts.ip(host, &format!("addr add {address}/64 dev eth0"));
    }
    listener.wait_for_line("half heard", PATIENCE);
    hosts.ip(0, "-6 addr flush dev eth0");
    hosts.ip(0, "addr add fd00:211::77/64 dev eth0");
    assert_all_heard(&listener);
}

#[test]
fn beside_ipv4_it_is_used_when_asked_for() {
    let Some(hosts) = TwoHosts::new() else { return };
    hosts.allow_ipv6("eth0");
    let listener = start(&hosts, 1, "listen", only_v6);
    let _talker = start(&hosts, 0, "talk", both);
    assert_all_heard(&listener);
}

#[test]
fn it_goes_on_when_ipv4_goes() {
    let Some(hosts) = TwoHosts::new() else { return };
    hosts.allow_ipv6("eth0");
    let (listener, _talker) = talking(&hosts, "half heard");
    for host in [0, 1] {
        hosts.ip(host, "-4 addr flush dev eth0");
    }
    assert_all_heard(&listener);
}

#[test]
fn static_peers_may_be_addresses_of_ipv6() {
    let Some(hosts) = TwoHosts::without_addresses() else { return };
    hosts.allow_ipv6("eth0");
    for (host, address) in GLOBAL.iter().enumerate() {
        hosts.ip(host, &format!("addr add {address}/64 dev eth0 nodad"));
    }
    hosts.forbid_multicast();
    let listener = start(&hosts, 1, "listen", |_| {});
    let _talker = start(&hosts, 0, "talk", |command| {
        command.env("ROS_STATIC_PEERS", GLOBAL[1]);
    });
    assert_all_heard(&listener);
}
