//! Foreign clients use our action server: goal, feedback, status, result, cancel.

use std::{cell::RefCell, rc::Rc};

use rosless_graph::{
    Introspection,
    action::{CancelResponse, GoalHandle, GoalResponse},
};
use rosless_tests::{DomainLease, ForeignPeer, Rig, Vendor};
use rosless_wire::{
    Message, Service,
    action::{FeedbackMessage, GetResult, GetResultRequest, SendGoal, SendGoalRequest},
    action_msgs::{
        msg::{GoalInfo, GoalStatus, GoalStatusArray},
        srv::{CancelGoal, CancelGoalRequest},
    },
    cdr,
    example_interfaces::action::{Fibonacci, FibonacciFeedback, FibonacciGoal, FibonacciResult},
    names,
    service::Event,
    service_msgs::msg::ServiceEventInfo,
    unique_identifier_msgs::msg::UUID,
};

use crate::{foreign_client::ForeignClient, ours::typehash};

pub(crate) type Goals = Vec<GoalHandle<Fibonacci>>;

/// A server that runs its goals when the test says so.
pub(crate) fn fibonacci_server(domain: &DomainLease) -> Rig<Goals> {
    introspected_fibonacci_server(domain, Introspection::Off)
}

fn introspected_fibonacci_server(domain: &DomainLease, introspection: Introspection) -> Rig<Goals> {
    let ours = Rig::beside(domain, "counter", Goals::new());
    let server = ours
        .events
        .action_server::<Fibonacci>(
            &ours.node,
            "fibonacci",
            |_, _, goal| if goal.order >= 0 { GoalResponse::Execute } else { GoalResponse::Reject },
            |goals, handle| goals.push(handle),
            |_, _| CancelResponse::Accept,
        )
        .unwrap();
    server.configure_introspection(introspection).unwrap();
    ours
}

pub(crate) fn read_topic<M: Message>(peer: &Rc<RefCell<ForeignPeer>>, id: &str, topic: &str, qos: &str) {
    let dds_type = names::type_to_dds(M::TYPE_NAME).expect("wire types have valid names");
    peer.borrow_mut().reader(id, topic, &dds_type, qos, &typehash(M::TYPE_HASH));
}

pub(crate) fn heard<M: Message>(peer: &Rc<RefCell<ForeignPeer>>, id: &str) -> Vec<M> {
    peer.borrow().samples(id).iter().map(|s| cdr::from_payload(&s.payload).expect("a message")).collect()
}

/// The three services of an action as a client of another vendor calls them.
struct Client {
    send: ForeignClient<SendGoal<Fibonacci>>,
    result: ForeignClient<GetResult<Fibonacci>>,
    cancel: ForeignClient<CancelGoal>,
}

impl Client {
    fn new(peer: &Rc<RefCell<ForeignPeer>>) -> Self {
        Self {
            send: ForeignClient::new(peer, "/fibonacci/_action/send_goal"),
            result: ForeignClient::new(peer, "/fibonacci/_action/get_result"),
            cancel: ForeignClient::new(peer, "/fibonacci/_action/cancel_goal"),
        }
    }

    fn is_matched(&self) -> bool {
        self.send.is_matched() && self.result.is_matched() && self.cancel.is_matched()
    }
}

#[test]
fn goal_with_feedback_then_one_that_is_canceled_and_one_that_is_rejected() {
    for (vendor, domain, peer) in Vendor::each() {
        let peer = Rc::new(RefCell::new(peer));
        let mut client = Client::new(&peer);
        read_topic::<FeedbackMessage<Fibonacci>>(
            &peer,
            "feedback",
            "rt/fibonacci/_action/feedback",
            "reliable,volatile,0",
        );
        read_topic::<GoalStatusArray>(
            &peer,
            "status",
            "rt/fibonacci/_action/status",
            "reliable,transient_local,0",
        );
        let mut ours = fibonacci_server(&domain);
        ours.until("matched", |_| {
            let topics = peer.borrow().matched("feedback") == 1 && peer.borrow().matched("status") == 1;
            topics && client.is_matched()
        });
        let goal = |id: u8, order: i32| SendGoalRequest::<Fibonacci> {
            goal_id: UUID { uuid: [id; 16] },
            goal: FibonacciGoal { order },
        };

        let asked = client.send.call(&goal(1, 3));
        ours.until("the goal accepted and begun", |goals| {
            client.send.answers().contains_key(&asked) && goals.len() == 1
        });
        assert!(client.send.answers()[&asked].accepted, "{vendor:?}");
        let waiting = client.result.call(&GetResultRequest::new(UUID { uuid: [1; 16] }));
        for count in 1..=3 {
            ours.seen[0].publish_feedback(FibonacciFeedback { sequence: vec![1; count] });
        }
        ours.seen[0].succeed(FibonacciResult { sequence: vec![1, 1, 2] }).unwrap();
        ours.until("feedback and result", |_| {
            client.result.answers().contains_key(&waiting) && peer.borrow().samples("feedback").len() == 3
        });
        let answer = &client.result.answers()[&waiting];
        assert_eq!(
            (answer.status, &answer.result.sequence[..]),
            (GoalStatus::STATUS_SUCCEEDED, &[1, 1, 2][..])
        );
        let lengths: Vec<usize> = heard::<FeedbackMessage<Fibonacci>>(&peer, "feedback")
            .iter()
            .map(|message| message.feedback.sequence.len())
            .collect();
        assert_eq!(lengths, [1, 2, 3], "{vendor:?}");

        let asked = client.send.call(&goal(2, 30));
        ours.until("the second goal begun", |goals| {
            client.send.answers().contains_key(&asked) && goals.len() == 2
        });
        let info = GoalInfo { goal_id: UUID { uuid: [2; 16] }, ..Default::default() };
        let canceled = client.cancel.call(&CancelGoalRequest { goal_info: info });
        ours.until("the cancel accepted", |goals| {
            client.cancel.answers().contains_key(&canceled) && goals[1].is_canceling()
        });
        assert_eq!(client.cancel.answers()[&canceled].goals_canceling.len(), 1, "{vendor:?}");
        ours.seen[1].canceled(FibonacciResult { sequence: vec![1] }).unwrap();
        let waiting = client.result.call(&GetResultRequest::new(UUID { uuid: [2; 16] }));
        ours.until("the canceled result", |_| client.result.answers().contains_key(&waiting));
        assert_eq!(client.result.answers()[&waiting].status, GoalStatus::STATUS_CANCELED, "{vendor:?}");

        let asked = client.send.call(&goal(3, -1));
        ours.until("the third goal answered", |_| client.send.answers().contains_key(&asked));
        assert!(!client.send.answers()[&asked].accepted, "{vendor:?}");
        let final_status = || {
            heard::<GoalStatusArray>(&peer, "status")
                .last()
                .map(|array| array.status_list.iter().map(|status| status.status).collect::<Vec<_>>())
        };
        ours.until("the last status", |_| {
            final_status() == Some(vec![GoalStatus::STATUS_SUCCEEDED, GoalStatus::STATUS_CANCELED])
        });
    }
}

/// What the peer has heard of a service's calls: the steps, and whether each carried its request or response.
fn steps<T: Service>(peer: &Rc<RefCell<ForeignPeer>>, id: &str) -> Vec<(u8, usize, usize)> {
    let step = |event: &Event<T>| (event.info.event_type, event.request.len(), event.response.len());
    heard::<Event<T>>(peer, id).iter().map(step).collect()
}

#[test]
fn each_service_of_an_action_tells_of_its_calls_when_asked_to() {
    for (_, domain, peer) in Vendor::each() {
        let peer = Rc::new(RefCell::new(peer));
        let mut client = Client::new(&peer);
        let topic = |service: &str| format!("rt/fibonacci/_action/{service}/_service_event");
        let qos = "reliable,volatile,10";
        read_topic::<Event<SendGoal<Fibonacci>>>(&peer, "send", &topic("send_goal"), qos);
        read_topic::<Event<GetResult<Fibonacci>>>(&peer, "result", &topic("get_result"), qos);
        read_topic::<Event<CancelGoal>>(&peer, "cancel", &topic("cancel_goal"), qos);
        let mut ours = introspected_fibonacci_server(&domain, Introspection::Contents);
        ours.until("matched", |_| {
            let events = ["send", "result", "cancel"].iter().all(|id| peer.borrow().matched(id) == 1);
            events && client.is_matched()
        });
        let goal_id = UUID { uuid: [1; 16] };
        client.send.call(&SendGoalRequest { goal_id: goal_id.clone(), goal: FibonacciGoal { order: 3 } });
        ours.until("the goal begun", |goals| goals.len() == 1);
        let goal_info = GoalInfo { goal_id: goal_id.clone(), ..Default::default() };
        client.cancel.call(&CancelGoalRequest { goal_info });
        ours.until("the cancel accepted", |goals| goals[0].is_canceling());
        ours.seen[0].canceled(FibonacciResult::default()).unwrap();
        client.result.call(&GetResultRequest::new(goal_id));
        let received_and_sent =
            [(ServiceEventInfo::REQUEST_RECEIVED, 1, 0), (ServiceEventInfo::RESPONSE_SENT, 0, 1)];
        ours.until("what the three services tell", |_| {
            steps::<SendGoal<Fibonacci>>(&peer, "send") == received_and_sent
                && steps::<GetResult<Fibonacci>>(&peer, "result") == received_and_sent
                && steps::<CancelGoal>(&peer, "cancel") == received_and_sent
        });
    }
}
