//! What participants say about themselves, and to whom.

mod common;

use std::{net::Ipv4Addr, time::Duration};

use common::{exchange, local, reader, reliable, writer, SOON};
use rosless_tests::{eventually_some, DomainLease};
use rustdds::{DomainParticipantStatusEvent as Event, LostReason, RTPSEntity, StatusEvented};

/// Stock has no way to send USER_DATA, and keeps HISTORY to itself.
#[test]
fn user_data_and_history_are_seen_as_they_were_set() {
    let lease = DomainLease::acquire();
    let watcher = local(lease.id()).build().expect("participant");
    let events = watcher.status_listener();
    let speaker = local(lease.id()).user_data("enclave=/;").lease_duration(Duration::from_secs(7));
    let speaker = speaker.build().expect("participant");
    let written = writer(&speaker, "t", &reliable(10).with_user_data("typehash=RIHS01_1;"));
    let read = reader(&speaker, "u", &reliable(10).with_user_data("typehash=RIHS01_22;"));

    let (mut participant, mut of_writer, mut of_reader) = (None, None, None);
    eventually_some("all three are announced", SOON, || {
        while let Some(event) = events.try_recv_status() {
            match event {
                Event::ParticipantDiscovered { dpd } if dpd.guid == speaker.guid() => participant = Some(dpd),
                Event::WriterDetected { writer } if writer.guid == written.guid() => of_writer = Some(writer),
                Event::ReaderDetected { reader } if reader.guid == read.guid() => of_reader = Some(reader),
                _ => {}
            }
        }
        (participant.is_some() && of_writer.is_some() && of_reader.is_some()).then_some(())
    });
    let (participant, of_writer, of_reader) = (participant.unwrap(), of_writer.unwrap(), of_reader.unwrap());
    assert_eq!(participant.user_data, b"enclave=/;");
    assert_eq!(participant.lease_duration, Some(rustdds::Duration::from_secs(7)));
    assert_eq!(participant.vendor_id.as_bytes(), [1, 0x12]);
    assert_eq!(of_writer.user_data, b"typehash=RIHS01_1;");
    assert_eq!(of_reader.user_data, b"typehash=RIHS01_22;");
    let depth_10 = Some(rustdds::policy::History::KeepLast { depth: 10 });
    assert_eq!((of_writer.qos.history(), of_reader.qos.history()), (depth_10, depth_10));
    assert_eq!((&*of_writer.topic_name, &*of_writer.type_name), ("t", common::TYPE));
}

/// Stock has no initial peers: without multicast and without probing the loopback interface nobody is found.
#[test]
fn initial_peer_is_found_without_multicast() {
    let lease = DomainLease::acquire();
    // The loopback interface has no multicast here, and neither end probes it.
    let silent = || local(lease.id()).same_host_loopback(false);
    let named = silent().build().expect("participant");
    let naming = silent().initial_peers([(Ipv4Addr::LOCALHOST, 0).into()]).build().expect("participant");
    let reader = reader(&named, "t", &reliable(10));
    let writer = writer(&naming, "t", &reliable(10));
    exchange("sample between initial peers", &writer, &reader);
}

#[test]
fn dropped_participant_says_goodbye() {
    let lease = DomainLease::acquire();
    let watcher = local(lease.id()).build().expect("participant");
    let events = watcher.status_listener();
    let leaving = local(lease.id()).build().expect("participant");
    let guid = leaving.guid();
    let next = |wanted: &dyn Fn(&Event) -> bool| {
        eventually_some("event", SOON, || {
            std::iter::from_fn(|| events.try_recv_status()).find(|event| wanted(event))
        })
    };
    next(&|event| matches!(event, Event::ParticipantDiscovered { dpd } if dpd.guid == guid));
    drop(leaving);
    let lost = next(&|event| matches!(event, Event::ParticipantLost { id, .. } if *id == guid.prefix));
    assert!(matches!(lost, Event::ParticipantLost { reason: LostReason::Disposed, .. }), "{lost:?}");
}
