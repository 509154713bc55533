//! Participants find each other, and only those they should.

mod common;

use std::{
    collections::BTreeSet,
    net::{Ipv4Addr, UdpSocket},
};

use common::{local, SOON};
use rosless_tests::{eventually, DomainLease};
use rustdds::{DomainParticipantStatusEvent as Event, RTPSEntity, StatusEvented};

/// Stock: the 13th and the 14th never meet, because only the first twelve are told.
#[test]
fn fourteen_participants_on_loopback_all_meet() {
    let lease = DomainLease::acquire();
    let all: Vec<_> = (0..14).map(|_| local(lease.id()).build().expect("participant")).collect();
    let listeners: Vec<_> = all.iter().map(|participant| participant.status_listener()).collect();
    let mut met = vec![BTreeSet::new(); all.len()];
    eventually("all meet", SOON, || {
        for ((listener, me), met) in listeners.iter().zip(&all).zip(&mut met) {
            while let Some(event) = listener.try_recv_status() {
                match event {
                    Event::ParticipantDiscovered { dpd } if dpd.guid != me.guid() => {
                        met.insert(dpd.guid);
                    }
                    _ => {}
                }
            }
        }
        met.iter().all(|met| met.len() == all.len() - 1)
    });
}

/// Stock: takes its ports on every address of the host.
#[test]
fn localhost_only_participant_has_no_port_elsewhere() {
    let lease = DomainLease::acquire();
    let participant = local(lease.id()).build().expect("participant");
    let base = 7400 + 250 * lease.id();
    let id = participant.participant_id();
    // Another address of the same host: free only if the participant has not taken the port on all of them.
    for port in [base + 10 + 2 * id, base + 11 + 2 * id] {
        UdpSocket::bind((Ipv4Addr::new(127, 0, 0, 2), port)).expect("port is free on other addresses");
        UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).expect_err("port is taken on localhost");
    }
    for port in [base, base + 1] {
        UdpSocket::bind((Ipv4Addr::new(127, 0, 0, 2), port)).expect("multicast port is free for unicast");
    }
}
