//! Networks that come, change and go while the nodes run.

use std::time::Duration;

use rosless_tests::TwoHosts;

use crate::{PATIENCE, assert_all_heard, start, talking};

/// Gives both hosts an address on `interface`.
fn number(hosts: &TwoHosts, interface: &str, addresses: [&str; 2]) {
    for (host, address) in addresses.iter().enumerate() {
        hosts.ip(host, &format!("addr add {address} dev {interface}"));
    }
}

#[test]
fn nodes_that_start_before_their_network_is_up_join_it_when_it_comes() {
    let Some(hosts) = TwoHosts::without_addresses() else { return };
    let (listener, _talker) = talking(&hosts, "listening");
    // As long as DHCP may take.
    std::thread::sleep(Duration::from_secs(5));
    number(&hosts, "eth0", ["10.211.7.1/24", "10.211.7.2/24"]);
    assert_all_heard(&listener);
}

#[test]
fn nothing_is_lost_when_a_host_gets_another_address() {
    for moving in [0, 1] {
        let Some(hosts) = TwoHosts::new() else { return };
        let (listener, _talker) = talking(&hosts, "half heard");
        hosts.ip(moving, &format!("addr del {}/24 dev eth0", TwoHosts::ADDRESSES[moving]));
        hosts.ip(moving, "addr add 10.211.7.77/24 dev eth0");
        assert_all_heard(&listener);
    }
}

#[test]
fn nothing_is_lost_when_both_hosts_move_to_another_network() {
    let Some(hosts) = TwoHosts::new() else { return };
    let (listener, _talker) = talking(&hosts, "half heard");
    for host in [0, 1] {
        hosts.ip(host, "addr flush dev eth0");
    }
    number(&hosts, "eth0", ["10.211.8.1/24", "10.211.8.2/24"]);
    assert_all_heard(&listener);
}

#[test]
fn nothing_is_lost_when_an_interface_is_deleted_and_comes_back() {
    let Some(hosts) = TwoHosts::new() else { return };
    let (listener, _talker) = talking(&hosts, "half heard");
    hosts.ip(0, "link del eth0");
    std::thread::sleep(Duration::from_secs(2));
    hosts.lay_cable("eth0");
    number(&hosts, "eth0", ["10.211.7.1/24", "10.211.7.2/24"]);
    assert_all_heard(&listener);
}

#[test]
fn of_two_cables_one_is_enough_whichever_is_cut() {
    for cut in ["eth0", "eth1"] {
        let Some(hosts) = TwoHosts::new() else { return };
        hosts.lay_cable("eth1");
        number(&hosts, "eth1", ["10.211.9.1/24", "10.211.9.2/24"]);
        let (listener, _talker) = talking(&hosts, "half heard");
        hosts.ip(0, &format!("link del {cut}"));
        assert_all_heard(&listener);
    }
}

#[test]
fn a_static_peer_by_name_is_found_when_network_and_name_come_later() {
    let Some(hosts) = TwoHosts::without_addresses() else { return };
    hosts.forbid_multicast();
    hosts.names(0, "127.0.0.1 localhost\n");
    let listener = start(&hosts, 1, "listen", |_| {});
    let talker = start(&hosts, 0, "talk", |command| {
        command.env("ROS_STATIC_PEERS", "listener.test");
    });
    talker.wait_for_line("cannot resolve 'listener.test' yet", PATIENCE);
    listener.wait_for_line("listening", PATIENCE);
    hosts.names(0, "127.0.0.1 localhost\n10.211.7.2 listener.test\n");
    number(&hosts, "eth0", ["10.211.7.1/24", "10.211.7.2/24"]);
    assert_all_heard(&listener);
}

#[test]
fn hosts_with_the_same_address_for_their_containers_are_told_apart() {
    let Some(hosts) = TwoHosts::new() else { return };
    for host in [0, 1] {
        hosts.ip(host, "link add docker0 type veth peer name container");
        hosts.ip(host, "link set container up");
        hosts.ip(host, "addr add 172.17.0.1/16 dev docker0");
        hosts.ip(host, "link set docker0 up");
    }
    // One listener on each host, and a talker that must find both.
    let here = start(&hosts, 0, "listen", |_| {});
    let there = start(&hosts, 1, "listen", |_| {});
    here.wait_for_line("listening", PATIENCE);
    there.wait_for_line("listening", PATIENCE);
    let _talker = start(&hosts, 0, "talk", |command| {
        command.env("LISTENERS", "2");
    });
    assert_all_heard(&here);
    assert_all_heard(&there);
}
