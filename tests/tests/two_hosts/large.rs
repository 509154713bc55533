//! Large samples and the datagrams they go in.

use std::{
    fs,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    thread,
    time::Duration,
};

use rosless_graph::{Context, ContextOptions, EventLoop, Node};
use rosless_tests::{DomainLease, TwoHosts};
use rosless_wire::std_msgs::msg::UInt8MultiArray;

use crate::PATIENCE;

fn join<S: 'static>(domain: u16, node: &str) -> (EventLoop<S>, Node) {
    let context = Context::new(ContextOptions::for_domain(domain)).expect("a participant");
    (EventLoop::new(&context).expect("an event loop"), context.node(node).expect("a valid name"))
}

/// What this thread's host has sent itself.
fn loopback_packets() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/net/dev").expect("Linux");
    let line =
        text.lines().find_map(|line| line.trim().strip_prefix("lo:")).expect("every host has loopback");
    line.split_whitespace().nth(1).and_then(|packets| packets.parse().ok()).expect("a number of packets")
}

/// A host with a network has an address there, too, and once that made all datagrams as short as Ethernet's. Until one has
/// heard the other over loopback they still are.
#[test]
fn on_one_host_large_samples_go_in_large_datagrams_although_it_has_a_network() {
    static HEARD: AtomicU64 = AtomicU64::new(0);
    static DONE: AtomicBool = AtomicBool::new(false);
    let Some(hosts) = TwoHosts::new() else { return };
    let domain = DomainLease::acquire();
    let listen = || {
        let (event_loop, node) = join::<()>(domain.id(), "listener");
        let count = |(): &mut (), _| {
            HEARD.fetch_add(1, SeqCst);
        };
        event_loop.subscribe::<UInt8MultiArray>(&node, "large", count).expect("a subscription");
        event_loop.run_until(&mut (), PATIENCE, |()| DONE.load(SeqCst)).expect("it turns");
    };
    let packets = hosts.run_on(0, || {
        thread::scope(|scope| {
            scope.spawn(listen);
            let (event_loop, node) = join::<()>(domain.id(), "talker");
            let publisher = node.publisher("large").expect("a publisher");
            event_loop.run_until(&mut (), PATIENCE, |()| publisher.matched() == 1).expect("it turns");
            let megabyte = UInt8MultiArray { data: vec![1; 1_000_000], ..Default::default() };
            let mut packets = Vec::new();
            // In datagrams of 1.3 kB there would be 750.
            while packets.len() < 20 && packets.last().is_none_or(|packets| *packets > 200) {
                let (before, round) = (loopback_packets(), packets.len() as u64 + 1);
                publisher.publish(&megabyte);
                let all = |(): &mut ()| HEARD.load(SeqCst) >= round;
                assert!(event_loop.run_until(&mut (), PATIENCE, all).expect("it turns"), "lost");
                packets.push(loopback_packets() - before);
                event_loop.run_for(&mut (), Duration::from_millis(200)).expect("it turns");
            }
            DONE.store(true, SeqCst);
            packets
        })
    });
    assert!(packets.last().is_some_and(|packets| *packets <= 200), "packets for a megabyte: {packets:?}");
}
