//! Our nodes on two hosts: over a good network, a lossy one, one without multicast, and one that goes away for a while
//! or changes.

mod changing;
mod ipv6;
mod large;
mod strangers;

use std::{process::Command, time::Duration};

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
