//! Foreign clients lead our lifecycle node through its states.

use std::{cell::RefCell, rc::Rc};

use rosless_graph::lifecycle::CallbackReturn;
use rosless_tests::{Rig, Vendor};
use rosless_wire::{
    Message, cdr,
    lifecycle_msgs::{
        msg::{Transition, TransitionEvent},
        srv::{ChangeState, ChangeStateRequest, GetState, GetStateRequest},
    },
};

use crate::{foreign_client::ForeignClient, ours::typehash};

#[test]
fn configure_activate_and_a_refused_transition() {
    for (vendor, domain, peer) in Vendor::each() {
        let peer = Rc::new(RefCell::new(peer));
        let event_type = "lifecycle_msgs::msg::dds_::TransitionEvent_";
        peer.borrow_mut().reader(
            "events",
            "rt/machine/transition_event",
            event_type,
            "reliable,volatile,0",
            &typehash(TransitionEvent::TYPE_HASH),
        );
        let mut change = ForeignClient::<ChangeState>::new(&peer, "/machine/change_state");
        let mut get = ForeignClient::<GetState>::new(&peer, "/machine/get_state");
        let mut ours = Rig::beside(&domain, "machine", ());
        let _lifecycle = ours.events.lifecycle(&ours.node, |(), _| CallbackReturn::Success).unwrap();
        ours.until("matched", |()| {
            change.is_matched() && get.is_matched() && peer.borrow().matched("events") == 1
        });
        let transition =
            |id: u8, label: &str| ChangeStateRequest { transition: Transition { id, label: label.into() } };
        // By id and label as `ros2 lifecycle set` does, by label alone, and one that is not possible from active.
        for (request, success, state) in [
            (transition(1, "configure"), true, "inactive"),
            (transition(0, "activate"), true, "active"),
            (transition(1, "configure"), false, "active"),
        ] {
            let number = change.call(&request);
            ours.until("an answer", |()| change.answers().contains_key(&number));
            assert_eq!(change.answers()[&number].success, success, "{vendor:?} {request:?}");
            let number = get.call(&GetStateRequest::default());
            ours.until("the state", |()| get.answers().contains_key(&number));
            assert_eq!(get.answers()[&number].current_state.label, state, "{vendor:?}");
        }
        ours.until("the events", |()| peer.borrow().samples("events").len() >= 4);
        let goals: Vec<String> = peer
            .borrow()
            .samples("events")
            .iter()
            .map(|s| cdr::from_payload::<TransitionEvent>(&s.payload).expect("an event").goal_state.label)
            .collect();
        assert_eq!(goals, ["configuring", "inactive", "activating", "active"], "{vendor:?}");
    }
}
