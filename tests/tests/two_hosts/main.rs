//! Our nodes on two hosts: over a good network, a lossy one, one without multicast, and one that goes away for a while
//! or changes.

mod changing;
mod ipv6;
mod large;
mod strangers;

use std::{net::UdpSocket, process::Command, time::Duration};

use rosless_tests::{Daemon, TwoHosts, example};

const COUNT: &str = "1000";
const PATIENCE: Duration = Duration::from_secs(60);

fn start(hosts: &TwoHosts, host: usize, role: &str, prepare: impl Fn(&mut Command)) -> Daemon {
    let mut command = hosts.command(host, &example("host").to_string_lossy());
    command.args([role, COUNT]).env("ROS_DOMAIN_ID", "7");
    prepare(&mut command);
    Daemon::spawn(command)
}

/// A listener on host 1 that has got as far as to say so, and a talker on host 0.
fn talking(hosts: &TwoHosts, so_far: &str) -> (Daemon, Daemon) {
    let listener = start(hosts, 1, "listen", |_| {});
    let talker = start(hosts, 0, "talk", |_| {});
    listener.wait_for_line(so_far, PATIENCE);
    (listener, talker)
}

#[track_caller]
fn assert_all_heard(listener: &Daemon) {
    listener.wait_for_line("all heard", PATIENCE);
    assert!(!listener.output().contains("expected"), "{}", listener.output());
}

#[test]
fn a_thousand_numbers_arrive_in_order() {
    let Some(hosts) = TwoHosts::new() else { return };
    let (listener, _talker) = talking(&hosts, "listening");
    assert_all_heard(&listener);
}

/// A number that the kernel of a host counts: `group` is the first word of its line in the file.
fn counted(hosts: &TwoHosts, host: usize, file: &str, (group, name): (&str, &str)) -> u64 {
    let output = hosts.command(host, "cat").arg(file).output().expect("the kernel counts");
    let text = String::from_utf8(output.stdout).expect("text");
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(group)?.strip_prefix(':'));
    let [names, numbers] = [lines.next(), lines.next()].map(|line| line.expect("names, then numbers"));
    let mut counters = names.split_whitespace().zip(numbers.split_whitespace());
    let (_, number) = counters.find(|(counter, _)| *counter == name).expect("it counts that");
    number.parse().expect("a number")
}

/// How many datagrams have come to a host that were sent to a group.
fn multicast_heard(hosts: &TwoHosts, host: usize) -> u64 {
    counted(hosts, host, "/proc/net/netstat", ("IpExt", "InMcastPkts"))
}

/// How many announcements of a node that is alone the kernel refuses, until the third to a port that somebody has.
/// What is in `/proc` for it is made by `prepare`, a line for the shell.
fn announcements_to_nobody(prepare: &str) -> u64 {
    let Some(hosts) = TwoHosts::new() else { return 0 };
    // Where the participant of domain 7 with number 60 would listen.
    let port = 7410 + 250 * 7 + 2 * 60;
    let somebody = hosts.run_on(0, || UdpSocket::bind(("127.0.0.1", port)).expect("the port is free"));
    somebody.set_read_timeout(Some(PATIENCE)).expect("it waits");
    let refused = || counted(&hosts, 0, "/proc/net/snmp", ("Udp", "NoPorts"));
    let before = refused();
    let mut command = hosts.command(0, "unshare");
    command.args(["--mount", "sh", "-c", &format!("{prepare}; exec \"$0\" listen 1")]);
    command.arg(example("host")).env("ROS_DOMAIN_ID", "7").env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST");
    let _node = Daemon::spawn(command);
    // The announcements that go to all ports are the first three.
    for _ in 0..3 {
        let mut datagram = [0; 2000];
        let length = somebody.recv(&mut datagram).expect("it is spoken to");
        assert!(datagram[..length].starts_with(b"RTPS"));
    }
    refused() - before
}

/// Without patch 0249 of RustDDS the kernel refuses some hundred.
#[test]
fn who_is_alone_speaks_to_ports_that_somebody_has_and_to_no_others() {
    assert_eq!(announcements_to_nobody("true"), 0);
}

#[test]
fn where_it_is_not_told_which_ports_somebody_has_all_are_spoken_to() {
    if TwoHosts::new().is_none() {
        return;
    }
    let without_table = "mount -t tmpfs none /proc";
    // As in a sandbox that shows one, but not what is in it.
    let without_us = "mkdir -p /proc/thread-self/net; echo title > /proc/thread-self/net/udp";
    for prepare in [without_table, &format!("{without_table}; {without_us}")] {
        let refused = announcements_to_nobody(prepare);
        assert!(refused > 100, "{prepare}: {refused} datagrams to nobody");
    }
}

/// What one participant reads is sent to it alone, and wakes nobody else; what two read is sent once.
#[test]
fn samples_for_one_go_to_it_and_samples_for_many_go_to_all() {
    let Some(hosts) = TwoHosts::new() else { return };
    let sent_by_multicast = |listeners: usize| {
        let before = multicast_heard(&hosts, 1);
        let listening: Vec<_> = (0..listeners).map(|_| start(&hosts, 1, "listen", |_| {})).collect();
        let _talker = start(&hosts, 0, "talk", |command| {
            command.env("LISTENERS", listeners.to_string());
        });
        listening.iter().for_each(assert_all_heard);
        multicast_heard(&hosts, 1) - before
    };
    let count: u64 = COUNT.parse().unwrap();
    let for_one = sent_by_multicast(1);
    assert!(for_one < count / 4, "{for_one} of {count} to one reader by multicast");
    let for_two = sent_by_multicast(2);
    assert!(for_two >= count, "{for_two} of {count} to two readers by multicast");
}

#[test]
fn nothing_is_lost_on_a_network_that_loses_five_percent() {
    let Some(hosts) = TwoHosts::new() else { return };
    hosts.lose_percent(5);
    let (listener, _talker) = talking(&hosts, "listening");
    assert_all_heard(&listener);
}

#[test]
fn static_peers_do_without_multicast_even_if_only_one_side_names_the_other() {
    for (talker_knows, listener_knows) in [(true, false), (false, true)] {
        let Some(hosts) = TwoHosts::new() else { return };
        hosts.forbid_multicast();
        let [talker_address, listener_address] = TwoHosts::ADDRESSES;
        let naming = |peer: Option<&'static str>| {
            move |command: &mut Command| {
                if let Some(peer) = peer {
                    command.env("ROS_STATIC_PEERS", peer);
                }
            }
        };
        let listener = start(&hosts, 1, "listen", naming(listener_knows.then_some(talker_address)));
        let _talker = start(&hosts, 0, "talk", naming(talker_knows.then_some(listener_address)));
        assert_all_heard(&listener);
    }
}

#[test]
fn a_cable_that_is_unplugged_for_three_seconds_costs_nothing_but_time() {
    let Some(hosts) = TwoHosts::new() else { return };
    let (listener, _talker) = talking(&hosts, "half heard");
    hosts.unplug();
    // Long enough for several heartbeats to be missed, short enough for the lease.
    std::thread::sleep(Duration::from_secs(3));
    hosts.plug_in();
    assert_all_heard(&listener);
}
