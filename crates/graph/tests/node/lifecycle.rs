//! A managed node as others see it: every transition over the services, and what is published about it.

use std::time::Duration;

use crate::peer::{Here, Peer};
use rosless_graph::{
    EventLoop, Node,
    lifecycle::{CallbackReturn, LifecycleNode, Request, State, Step, TRANSITIONS},
};
use rosless_tests::DomainLease;
use rosless_wire::{
    lifecycle_msgs::{
        msg::{Transition, TransitionEvent},
        srv,
    },
    std_msgs::msg::String as Text,
};

/// Answers of the callback for the next steps, taken from the parameter `answers` (S, F, E); success when it runs out.
fn managed(events: &EventLoop<String>, node: &Node) -> String {
    node.declare_parameter("answers", String::new()).unwrap();
    let same = node.clone();
    events.on_parameter_change(node, move |answers: &mut String, _| {
        *answers = same.parameter("answers").unwrap()
    });
    let lifecycle = events
        .lifecycle(node, |answers: &mut String, _| {
            match if answers.is_empty() { 'S' } else { answers.remove(0) } {
                'F' => CallbackReturn::Failure,
                'E' => CallbackReturn::Error,
                _ => CallbackReturn::Success,
            }
        })
        .unwrap();
    let publisher = lifecycle.publisher::<Text>("chatter").unwrap();
    events.timer(Duration::from_millis(10), move |_| {
        publisher.publish(&Text { data: "I am active".to_owned() });
    });
    String::new()
}

struct Asker {
    here: Here,
}

impl Asker {
    fn state(&self) -> (u8, String) {
        let state = self.here.call::<srv::GetState>("/managed/get_state", Default::default()).current_state;
        (state.id, state.label)
    }

    fn change(&self, id: u8, label: &str) -> bool {
        let request = srv::ChangeStateRequest { transition: Transition { id, label: label.to_owned() } };
        self.here.call::<srv::ChangeState>("/managed/change_state", request).success
    }

    fn answer(&self, answers: &str) {
        use rosless_wire::rcl_interfaces::{msg, srv};
        let value = msg::ParameterValue { r#type: 4, string_value: answers.to_owned(), ..Default::default() };
        let parameters = vec![msg::Parameter { name: "answers".to_owned(), value }];
        let request = srv::SetParametersRequest { parameters };
        assert!(
            self.here.call::<srv::SetParameters>("/managed/set_parameters", request).results[0].successful
        );
    }

    fn available(&self, service: &str) -> Vec<(u8, String, u8, u8)> {
        let answer = self.here.call::<srv::GetAvailableTransitions>(service, Default::default());
        let edges = answer.available_transitions.into_iter();
        edges.map(|t| (t.transition.id, t.transition.label, t.start_state.id, t.goal_state.id)).collect()
    }
}

#[test]
fn every_transition_works_over_the_services_and_is_announced() {
    let domain = DomainLease::acquire();
    let _managed = Peer::start(&domain, "managed", "", managed);
    let asker = Asker { here: Here::new(&domain, "asker") };
    let events = asker.here.collect::<TransitionEvent>("/managed/transition_event");
    let chatter = asker.here.collect::<Text>("/chatter");

    // (answers, id, label, success, state afterwards, edges announced)
    let script = [
        ("", 3, "activate", false, "unconfigured", &[][..]),
        ("F", 1, "configure", false, "unconfigured", &[1, 11]),
        ("ES", 1, "configure", false, "unconfigured", &[1, 12, 60]),
        ("", 1, "configure", true, "inactive", &[1, 10]),
        ("F", 0, "activate", false, "inactive", &[3, 31]),
        ("", 2, "", true, "unconfigured", &[2, 20]),
        ("", 0, "configure", true, "inactive", &[1, 10]),
        ("", 3, "activate", true, "active", &[3, 30]),
        ("", 3, "activate", false, "active", &[]),
        ("F", 4, "deactivate", false, "active", &[4, 41]),
        ("ES", 4, "deactivate", false, "unconfigured", &[4, 42, 60]),
        ("", 1, "configure", true, "inactive", &[1, 10]),
        ("", 3, "activate", true, "active", &[3, 30]),
        ("", 4, "deactivate", true, "inactive", &[4, 40]),
        ("", 0, "no_such_thing", false, "inactive", &[]),
        ("", 0, "shutdown", true, "finalized", &[6, 50]),
        ("", 0, "shutdown", false, "finalized", &[]),
    ];
    let mut expected = Vec::new();
    for (answers, id, label, success, state, edges) in script {
        asker.answer(answers);
        assert_eq!(asker.change(id, label), success, "{id} {label} {answers}");
        assert_eq!(asker.state().1, state, "{id} {label} {answers}");
        expected.extend_from_slice(edges);
        asker.here.until("the announcements", || events.borrow().len() == expected.len());
        if state == "active" {
            let before = chatter.borrow().len();
            asker.here.until("an active publisher to speak", || chatter.borrow().len() > before);
        }
    }
    let announced: Vec<_> = events.borrow().iter().map(|event| event.transition.id).collect();
    assert_eq!(announced, expected);
    for event in &*events.borrow() {
        let edge = TRANSITIONS.iter().find(|edge| edge.id == event.transition.id).unwrap();
        assert_eq!((event.start_state.id, event.goal_state.id), (edge.start.id(), edge.goal.id()));
        assert!(event.timestamp > 0);
    }
    // Silence after the end: what arrives from now on was sent before.
    asker.here.events.run_for(&mut (), Duration::from_millis(50)).unwrap();
    let heard = chatter.borrow().len();
    asker.here.events.run_for(&mut (), Duration::from_millis(200)).unwrap();
    assert_eq!(chatter.borrow().len(), heard);
}

#[test]
fn states_and_transitions_are_listed_as_rcl_lists_them() {
    let domain = DomainLease::acquire();
    let _managed = Peer::start(&domain, "managed", "", managed);
    let asker = Asker { here: Here::new(&domain, "asker") };
    assert_eq!(asker.state(), (1, "unconfigured".to_owned()));

    let states =
        asker.here.call::<srv::GetAvailableStates>("/managed/get_available_states", Default::default());
    let states: Vec<_> =
        states.available_states.iter().map(|state| (state.id, state.label.as_str())).collect();
    assert_eq!(
        states,
        [
            (0, "unknown"),
            (1, "unconfigured"),
            (2, "inactive"),
            (3, "active"),
            (4, "finalized"),
            (10, "configuring"),
            (11, "cleaningup"),
            (12, "shuttingdown"),
            (13, "activating"),
            (14, "deactivating"),
            (15, "errorprocessing"),
        ]
    );
    let now = asker.available("/managed/get_available_transitions");
    assert_eq!(now, [(1, "configure".to_owned(), 1, 10), (5, "shutdown".to_owned(), 1, 12)]);
    let graph = asker.available("/managed/get_transition_graph");
    assert_eq!(graph.len(), TRANSITIONS.len());
    assert_eq!(graph[1], (10, "transition_success".to_owned(), 10, 2));
}

#[test]
fn a_node_may_change_its_own_state_but_not_within_a_callback() {
    #[derive(Default)]
    struct App {
        lifecycle: Option<LifecycleNode<App>>,
        steps: Vec<(Step, State, bool)>,
    }
    let domain = DomainLease::acquire();
    let context = rosless_graph::Context::new(crate::peer::options(&domain, "")).unwrap();
    let events = EventLoop::<App>::new(&context).unwrap();
    let node = context.node("own").unwrap();
    let lifecycle = events
        .lifecycle(&node, |app: &mut App, step| {
            let own = app.lifecycle.clone().unwrap();
            let again = own.trigger(app, Request::SHUTDOWN).is_ok();
            app.steps.push((step, own.state(), again));
            CallbackReturn::Success
        })
        .unwrap();
    let mut app = App { lifecycle: Some(lifecycle.clone()), ..App::default() };
    assert_eq!(lifecycle.trigger(&mut app, Request::CONFIGURE), Ok(CallbackReturn::Success));
    assert_eq!(lifecycle.trigger(&mut app, Request::ACTIVATE), Ok(CallbackReturn::Success));
    assert_eq!(lifecycle.trigger(&mut app, Request::Id(7)), Ok(CallbackReturn::Success));
    assert_eq!(
        app.steps,
        [
            (Step::Configure, State::Configuring, false),
            (Step::Activate, State::Activating, false),
            (Step::Shutdown(State::Active), State::ShuttingDown, false),
        ]
    );
    assert_eq!(lifecycle.state(), State::Finalized);
}
