//! Calling and serving, ours to ours, and askers who never listen.

use std::{convert::Infallible, time::Duration};

use crate::side::{side, talk};
use rosless_graph::{
    CallError, Context, ContextOptions, EventLoop, Introspection, Responder, Sample, config::Distro,
};
use rosless_tests::DomainLease;
use rosless_wire::{
    Message as _, Service as _, cdr,
    example_interfaces::{
        action::Fibonacci,
        srv::{AddTwoInts, AddTwoIntsRequest, AddTwoIntsResponse},
    },
    service::Event,
    service_msgs::msg::ServiceEventInfo as Info,
};

use rustdds::{
    DomainParticipantBuilder, DomainParticipantStatusEvent as DdsEvent, QosPolicyBuilder,
    RepresentationIdentifier, StatusEvented, TopicKind,
    bytes::Bytes,
    no_key::{DataWriter, SerializerAdapter},
    policy,
};

type Answers = Vec<Result<i64, CallError>>;

fn request(a: i64, b: i64) -> AddTwoIntsRequest {
    AddTwoIntsRequest { a, b }
}

fn remember(answers: &mut Answers, result: Result<AddTwoIntsResponse, CallError>) {
    answers.push(result.map(|response| response.sum));
}

const LONG: Duration = Duration::from_secs(20);

#[test]
fn a_call_waits_for_its_server_and_gets_its_own_answer() {
    let domain = DomainLease::acquire();
    let mut caller = side(&domain, "caller", Answers::new());
    let client = caller.events.client::<AddTwoInts>(&caller.node, "add").unwrap();
    // Called before anybody serves.
    client.call(&request(1, 2), LONG, remember);
    let mut server = side(&domain, "server", 0);
    server
        .events
        .serve::<AddTwoInts>(&server.node, "add", |served, request, responder| {
            *served += 1;
            responder.reply(&AddTwoIntsResponse { sum: request.a + request.b });
        })
        .unwrap();
    talk("the first answer", &mut caller, &mut server, |caller, _| caller.seen.len() == 1);
    for i in 0..100 {
        client.call(&request(i, 1000), LONG, remember);
    }
    talk("100 answers", &mut caller, &mut server, |caller, _| caller.seen.len() == 101);
    let expected: Answers = [3].into_iter().chain((0..100).map(|i| i + 1000)).map(Ok).collect();
    assert_eq!(caller.seen, expected);
    assert_eq!(server.seen, 101);
    assert_eq!(client.pending(), 0);
}

#[test]
fn answers_may_come_later_and_reach_only_the_asker() {
    let domain = DomainLease::acquire();
    type Kept = Vec<(i64, Responder<AddTwoInts>)>;
    let mut server = side(&domain, "server", Kept::new());
    server
        .events
        .serve::<AddTwoInts>(&server.node, "add", |kept: &mut Kept, request, responder| {
            kept.push((request.a + request.b, responder));
        })
        .unwrap();
    let mut caller = side(&domain, "caller", (Answers::new(), Answers::new()));
    let first = caller.events.client::<AddTwoInts>(&caller.node, "add").unwrap();
    let second = caller.events.client::<AddTwoInts>(&caller.node, "add").unwrap();
    first.call(&request(1, 1), LONG, |state: &mut (Answers, Answers), result| remember(&mut state.0, result));
    second
        .call(&request(2, 2), LONG, |state: &mut (Answers, Answers), result| remember(&mut state.1, result));
    talk("two requests", &mut caller, &mut server, |_, server| server.seen.len() == 2);
    // In the reverse order.
    for (sum, responder) in server.seen.drain(..).rev().collect::<Vec<_>>() {
        responder.reply(&AddTwoIntsResponse { sum });
    }
    talk("two answers", &mut caller, &mut server, |caller, _| caller.seen.0.len() + caller.seen.1.len() == 2);
    assert_eq!(caller.seen, (vec![Ok(2)], vec![Ok(4)]));
}

#[test]
fn failed_calls_say_why() {
    let domain = DomainLease::acquire();
    let mut caller = side(&domain, "caller", Answers::new());
    let nobody = caller.events.client::<AddTwoInts>(&caller.node, "nobody").unwrap();
    let silent = caller.events.client::<AddTwoInts>(&caller.node, "silent").unwrap();
    let mut server = side(&domain, "server", Vec::new());
    let service = server
        .events
        .serve::<AddTwoInts>(&server.node, "silent", |kept: &mut Vec<_>, _, responder| kept.push(responder))
        .unwrap();
    talk("the server", &mut caller, &mut server, |_, _| silent.is_ready());
    assert!(!nobody.is_ready());
    let short = Duration::from_millis(200);
    nobody.call(&request(0, 0), short, remember);
    talk("no server", &mut caller, &mut server, |caller, _| caller.seen.len() == 1);
    silent.call(&request(0, 0), short, remember);
    talk("no answer", &mut caller, &mut server, |caller, _| caller.seen.len() == 2);
    silent.call(&request(0, 0), LONG, remember);
    talk("the request", &mut caller, &mut server, |_, server| server.seen.len() == 2);
    service.close();
    talk("the server leaves", &mut caller, &mut server, |caller, _| caller.seen.len() == 3);
    let name = |name: &str| name.to_owned();
    assert_eq!(
        caller.seen,
        [
            Err(CallError::NoServer(name("/nobody"))),
            Err(CallError::Timeout(name("/silent"))),
            Err(CallError::ServerGone(name("/silent"))),
        ]
    );
}

#[test]
fn a_raw_client_calls_with_payloads() {
    let domain = DomainLease::acquire();
    let mut server = side(&domain, "server", ());
    server
        .events
        .serve::<AddTwoInts>(&server.node, "add", |_, request, responder| {
            responder.reply(&AddTwoIntsResponse { sum: request.a + request.b });
        })
        .unwrap();
    let mut caller = side(&domain, "caller", Vec::new());
    let request_type = (AddTwoIntsRequest::TYPE_NAME, AddTwoIntsRequest::TYPE_HASH);
    let response_type = (AddTwoIntsResponse::TYPE_NAME, AddTwoIntsResponse::TYPE_HASH);
    let client = caller.events.raw_client(&caller.node, "add", request_type, response_type).unwrap();
    client.call(cdr::to_payload(&request(40, 2)), LONG, |answers: &mut Vec<_>, reply| answers.push(reply));
    talk("the answer", &mut caller, &mut server, |caller, _| !caller.seen.is_empty());
    let response: AddTwoIntsResponse = cdr::from_payload(caller.seen[0].as_ref().unwrap()).unwrap();
    assert_eq!(response.sum, 42);
}

struct Verbatim;

impl SerializerAdapter<Bytes> for Verbatim {
    type Error = Infallible;

    fn output_encoding() -> RepresentationIdentifier {
        RepresentationIdentifier::CDR_LE
    }

    fn to_bytes(body: &Bytes) -> Result<Bytes, Infallible> {
        Ok(body.clone())
    }
}

#[test]
fn replies_to_askers_without_a_reader_are_bounded_counted_and_forgotten() {
    let domain = DomainLease::acquire();
    let mut server = side(&domain, "server", 0u64);
    let service = server
        .events
        .serve::<AddTwoInts>(&server.node, "add", |served, request, responder| {
            *served += 1;
            responder.reply(&AddTwoIntsResponse { sum: request.a + request.b });
        })
        .unwrap();
    // A client's request writer alone: nobody reads the replies.
    let attacker = DomainParticipantBuilder::new(domain.id()).with_this_host_and([]).build().unwrap();
    let qos = QosPolicyBuilder::new()
        .reliability(policy::Reliability::Reliable { max_blocking_time: rustdds::Duration::from_millis(100) })
        .history(policy::History::KeepLast { depth: 1000 })
        .build();
    let dds_type = "example_interfaces::srv::dds_::AddTwoInts_Request_".to_owned();
    let topic = attacker.create_topic("rq/addRequest".into(), dds_type, &qos, TopicKind::NoKey).unwrap();
    let publisher = attacker.create_publisher(&qos).unwrap();
    let writer: DataWriter<Bytes, Verbatim> = publisher.create_datawriter_no_key(&topic, Some(qos)).unwrap();
    let request = Bytes::from_static(&[0; 16]);
    let flooded = server.events.run_until(&mut server.seen, LONG, |served| {
        (0..100).for_each(|_| writer.write(request.clone(), None).unwrap());
        *served >= 5000
    });
    assert!(flooded.unwrap(), "{} requests arrived", server.seen);
    let waiting = server.seen - service.counters().unanswered;
    assert!(waiting <= 1000, "{waiting} replies are kept");
    drop(writer);
    let forgotten =
        server.events.run_until(&mut server.seen, LONG, |served| service.counters().unanswered == *served);
    assert!(forgotten.unwrap(), "{:?} of {}", service.counters(), server.seen);
}

#[test]
fn calls_are_told_to_whoever_wants_to_know_and_only_then() {
    let domain = DomainLease::acquire();
    type Events = Vec<Event<AddTwoInts>>;
    let mut server = side(&domain, "server", Events::new());
    let service = server
        .events
        .serve::<AddTwoInts>(&server.node, "add", |_, request, responder| {
            responder.reply(&AddTwoIntsResponse { sum: request.a + request.b });
        })
        .unwrap();
    let hear = |events: &mut Events, sample: Sample<Event<AddTwoInts>>| events.push(sample.message);
    let ear = server.events.subscribe(&server.node, "add/_service_event", hear).unwrap();
    let mut caller = side(&domain, "caller", Answers::new());
    let client = caller.events.client::<AddTwoInts>(&caller.node, "add").unwrap();
    client.call(&request(1, 2), LONG, remember);
    talk("an answer", &mut caller, &mut server, |caller, _| caller.seen.len() == 1);
    assert_eq!((ear.matched(), server.seen.len()), (0, 0), "nobody asked for events");

    service.configure_introspection(Introspection::Contents).unwrap();
    client.configure_introspection(Introspection::Metadata).unwrap();
    talk("two publishers of events", &mut caller, &mut server, |_, _| ear.matched() == 2);
    client.call(&request(3, 4), LONG, remember);
    talk("four events", &mut caller, &mut server, |_, server| server.seen.len() == 4);
    server.seen.sort_by_key(|event| event.info.event_type);
    let steps: Vec<_> = server
        .seen
        .iter()
        .map(|event| {
            let request = event.request.iter().map(|request| (request.a, request.b)).collect::<Vec<_>>();
            (event.info.event_type, request, event.response.iter().map(|r| r.sum).collect::<Vec<_>>())
        })
        .collect();
    assert_eq!(
        steps,
        [
            (Info::REQUEST_SENT, vec![], vec![]),
            (Info::REQUEST_RECEIVED, vec![(3, 4)], vec![]),
            (Info::RESPONSE_SENT, vec![], vec![7]),
            (Info::RESPONSE_RECEIVED, vec![], vec![]),
        ]
    );
    let call = |event: &Event<AddTwoInts>| (event.info.client_gid, event.info.sequence_number);
    assert!(server.seen.iter().all(|event| call(event) == call(&server.seen[0])), "{:?}", server.seen);

    service.configure_introspection(Introspection::Off).unwrap();
    talk("one publisher fewer", &mut caller, &mut server, |_, _| ear.matched() == 1);
}

#[test]
fn the_client_of_an_action_tells_of_its_calls_on_three_topics() {
    let domain = DomainLease::acquire();
    let mut asker = side(&domain, "asker", ());
    let client = asker.events.action_client::<Fibonacci>(&asker.node, "fibonacci").unwrap();
    for (state, expected) in [
        (Introspection::Off, 0),
        (Introspection::Metadata, 3),
        (Introspection::Contents, 3),
        (Introspection::Off, 0),
    ] {
        client.configure_introspection(state).unwrap();
        asker.events.run_for(&mut asker.seen, Duration::from_millis(10)).unwrap();
        let topics = asker.node.context().graph().topics();
        let told = topics.into_keys().filter(|topic| topic.ends_with("/_service_event")).count();
        assert_eq!(told, expected, "{state:?}");
    }
}

#[test]
fn lyrical_services_announce_the_hash_of_the_whole_service_and_older_ones_do_not() {
    for (distro, expected) in [(None, false), (Some(Distro::Lyrical), true)] {
        let domain = DomainLease::acquire();
        let watcher = DomainParticipantBuilder::new(domain.id()).with_this_host_and([]).build().unwrap();
        let events = watcher.status_listener();
        let mut options = ContextOptions { node_services: false, ..ContextOptions::for_domain(domain.id()) };
        options.settings.environment.distro = distro;
        let context = Context::new(options).unwrap();
        let node = context.node("server").unwrap();
        let event_loop = EventLoop::new(&context).unwrap();
        event_loop.serve::<AddTwoInts>(&node, "add", |(), _, _| {}).unwrap();
        // The watcher's news do not wake this loop.
        event_loop.timer(Duration::from_millis(10), |()| {});
        let mut user_data = None;
        let seen = event_loop.run_until(&mut (), LONG, |()| {
            while let Some(event) = events.try_recv_status() {
                match event {
                    DdsEvent::ReaderDetected { reader } if reader.topic_name == "rq/addRequest" => {
                        user_data = Some(String::from_utf8(reader.user_data).unwrap());
                    }
                    _ => {}
                }
            }
            user_data.is_some()
        });
        assert!(seen.unwrap(), "the service is not announced");
        let own = format!("typehash={};", AddTwoIntsRequest::TYPE_HASH);
        let whole = format!("sertypehash={};", AddTwoInts::TYPE_HASH);
        assert_eq!(user_data.unwrap(), if expected { own + &whole } else { own });
    }
}

#[test]
fn a_parameter_from_outside_makes_a_nodes_services_tell_of_their_calls() {
    let domain = DomainLease::acquire();
    let node_with = |value: &str| {
        let mut options = ContextOptions::for_domain(domain.id());
        let parameters = &mut options.settings.arguments.parameters;
        parameters.set("/server", "service_introspection", value.into()).unwrap();
        let context = Context::new(options).unwrap();
        (context.node("server").unwrap(), EventLoop::<()>::new(&context).unwrap())
    };
    let (node, event_loop) = node_with("metadata");
    event_loop.serve::<AddTwoInts>(&node, "add", |(), _, _| {}).unwrap();
    event_loop.run_for(&mut (), Duration::from_millis(10)).unwrap();
    let graph = node.context().graph();
    assert_eq!(graph.publishers("/add/_service_event").len(), 1);
    let told = graph.topics().into_keys().filter(|topic| topic.contains("_service_event")).count();
    assert_eq!(told, 1, "the services that every node has stay silent");
    let (node, event_loop) = node_with("everything");
    let refused = event_loop.serve::<AddTwoInts>(&node, "add", |(), _, _| {}).unwrap_err().to_string();
    assert!(refused.contains("everything") && refused.contains("metadata"), "{refused}");
}
