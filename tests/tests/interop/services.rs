//! Services with each vendor's request identity, in both directions and at the same time.

use std::{cell::RefCell, rc::Rc, time::Duration};

use rosless_graph::CallError;
use rosless_tests::{DomainLease, ForeignPeer, ForeignSample, Rig, Vendor};
use rosless_wire::{
    Message, cdr,
    example_interfaces::srv::{AddTwoInts, AddTwoIntsRequest, AddTwoIntsResponse},
};

use crate::{
    foreign_client::{ForeignClient, split_cyclone_header, with_cyclone_header},
    ours::{PATIENCE, typehash},
};

const REQUEST_TYPE: &str = "example_interfaces::srv::dds_::AddTwoInts_Request_";
const RESPONSE_TYPE: &str = "example_interfaces::srv::dds_::AddTwoInts_Response_";
const REQUEST_TOPIC: &str = "rq/addRequest";
const REPLY_TOPIC: &str = "rr/addReply";
const QOS: &str = "reliable,volatile,0";

fn adding_node(domain: &DomainLease) -> Rig<usize> {
    let ours = Rig::beside(domain, "adder", 0);
    ours.events
        .serve::<AddTwoInts>(&ours.node, "add", |served, request, responder| {
            *served += 1;
            responder.reply(&AddTwoIntsResponse { sum: request.a.wrapping_add(request.b) });
        })
        .unwrap();
    ours
}

#[test]
fn clients_of_both_vendors_call_one_server_a_thousand_times_each_without_a_mix_up() {
    let domain = DomainLease::acquire();
    let mut clients: Vec<ForeignClient<AddTwoInts>> = Vendor::ALL
        .iter()
        .filter_map(|vendor| vendor.start(domain.id()))
        .map(|peer| ForeignClient::new(&Rc::new(RefCell::new(peer)), "/add"))
        .collect();
    let mut ours = adding_node(&domain);
    // The two foreign clients have readers and writers of the same names, but match only us on the other side.
    ours.until("clients matched", |_| clients.iter().all(ForeignClient::is_matched));
    const CALLS: i64 = 1000;
    const AT_ONCE: i64 = 50;
    for round in 0..CALLS / AT_ONCE {
        for i in 0..AT_ONCE {
            for (which, client) in clients.iter_mut().enumerate() {
                client.call(&AddTwoIntsRequest { a: round * AT_ONCE + i, b: 1_000_000 * (which as i64 + 1) });
            }
        }
        let expected = ((round + 1) * AT_ONCE) as usize;
        ours.until("this round's answers", |_| clients.iter().all(|c| c.answers().len() == expected));
    }
    for (which, client) in clients.iter().enumerate() {
        let sums: Vec<i64> = client.answers().into_values().map(|response| response.sum).collect();
        let expected: Vec<i64> = (0..CALLS).map(|i| i + 1_000_000 * (which as i64 + 1)).collect();
        assert_eq!(sums, expected, "{:?}", client.vendor());
        assert_eq!(client.replies(), CALLS as usize, "replies reach only the asker");
    }
    assert_eq!(ours.seen, clients.len() * CALLS as usize);
}

#[test]
fn a_malformed_request_is_dropped_and_the_next_one_served() {
    for (vendor, domain, peer) in Vendor::each() {
        let mut client = ForeignClient::<AddTwoInts>::new(&Rc::new(RefCell::new(peer)), "/add");
        let mut ours = adding_node(&domain);
        ours.until("matched", |_| client.is_matched());
        client.send_raw(&[0, 1, 0, 0, 1, 2, 3, 4]);
        client.call(&AddTwoIntsRequest { a: 20, b: 22 });
        ours.until("the good answer", |_| !client.answers().is_empty());
        assert_eq!(client.answers().into_values().map(|r| r.sum).collect::<Vec<_>>(), [42], "{vendor:?}");
        assert_eq!(ours.seen, 1, "{vendor:?}");
    }
}

#[test]
fn we_call_servers_of_both_vendors() {
    for (vendor, domain, mut peer) in Vendor::each() {
        peer.reader("request", REQUEST_TOPIC, REQUEST_TYPE, QOS, &typehash(AddTwoIntsRequest::TYPE_HASH));
        peer.writer("reply", REPLY_TOPIC, RESPONSE_TYPE, QOS, &typehash(AddTwoIntsResponse::TYPE_HASH));
        type Answers = Vec<Result<i64, CallError>>;
        let mut ours = Rig::beside(&domain, "caller", Answers::new());
        let client = ours.events.client::<AddTwoInts>(&ours.node, "add").unwrap();
        for i in 0..20 {
            client.call(&AddTwoIntsRequest { a: i, b: 100 }, PATIENCE, |answers: &mut Answers, result| {
                answers.push(result.map(|response| response.sum));
            });
        }
        let mut answered = 0;
        ours.until("20 answers", |answers| {
            let requests = peer.samples("request");
            for request in &requests[answered..] {
                serve_one(&mut peer, request);
            }
            answered = requests.len();
            answers.len() == 20
        });
        let expected: Answers = (0..20).map(|i| Ok(i + 100)).collect();
        assert_eq!(ours.seen, expected, "{vendor:?}");
        assert_eq!(answered, 20, "each request arrived once");
    }
}

/// What the vendor's RMW does with a request.
fn serve_one(peer: &mut ForeignPeer, request: &ForeignSample) {
    let add = |payload: &[u8]| {
        let request =
            cdr::from_payload::<AddTwoIntsRequest>(payload).expect("a request in the server's own form");
        cdr::to_payload(&AddTwoIntsResponse { sum: request.a + request.b })
    };
    match peer.vendor() {
        Vendor::Cyclone => {
            let (client, sequence, payload) = split_cyclone_header(&request.payload);
            peer.write("reply", &with_cyclone_header(&add(&payload), client, sequence));
        }
        Vendor::FastDds => {
            let (reader, _) = request.related.expect("a request names its reply reader");
            peer.write_related("reply", &add(&request.payload), reader, Some(request.sequence));
        }
    }
}

#[test]
fn a_server_that_never_answers_is_a_timeout_not_a_hang() {
    for (vendor, domain, mut peer) in Vendor::each() {
        peer.reader("request", REQUEST_TOPIC, REQUEST_TYPE, QOS, b"");
        peer.writer("reply", REPLY_TOPIC, RESPONSE_TYPE, QOS, b"");
        let mut ours = Rig::beside(&domain, "caller", None);
        let client = ours.events.client::<AddTwoInts>(&ours.node, "add").unwrap();
        ours.until("a server", |_| client.is_ready());
        client.call(&AddTwoIntsRequest { a: 1, b: 2 }, Duration::from_secs(1), |outcome, result| {
            *outcome = Some(result);
        });
        ours.until("an outcome", |outcome| outcome.is_some());
        assert_eq!(ours.seen, Some(Err(CallError::Timeout("/add".into()))), "{vendor:?}");
    }
}
