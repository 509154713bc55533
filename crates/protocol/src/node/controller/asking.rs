//! What a system is asked beside the protocol's topics: its state, its transitions, its log, an appointment.

use std::collections::BTreeMap;

use rosless_engine::Wall;
use rosless_graph::{
    CallError, Client, Error, Qos, Reply, Result, Subscription,
    graph::{Endpoint, EndpointKind},
    now,
    qos::Durability,
};
use rosless_wire::{
    builtin_interfaces::msg::Time,
    lifecycle_msgs::{
        msg::TransitionEvent,
        srv::{GetState, GetStateRequest},
    },
    rcl_interfaces::msg::Log,
    rosless_msgs::srv::{ArmStart, ArmStartRequest},
};

use super::ControllerNode;
use crate::{
    controller::{Hearing, Input, NoState},
    message::State,
    name::SystemId,
};

impl<S: 'static> ControllerNode<S> {
    /// Nobody is asked any more: logs are of no interest, nor are the transitions that are kept for late joiners anyway.
    pub(super) fn listen_no_longer(&self) {
        let logs = self.0.logs.borrow_mut().take();
        let watches = self.0.watches.take();
        let keeps = self.0.keeps.borrow();
        let (foreign, kept): (BTreeMap<_, _>, BTreeMap<_, _>) =
            watches.into_iter().partition(|(system, _)| keeps.get(system) == Some(&false));
        self.0.watches.replace(foreign);
        drop(keeps);
        logs.into_iter().chain(kept.into_values()).for_each(Subscription::close);
    }

    /// Whether the process of a system has not told all that it has.
    fn is_outstanding(&self, system: &SystemId) -> bool {
        let participant = self.with_systems(|systems| systems.get(system).and_then(|s| s.participant));
        let graph = self.0.node.context().graph();
        participant.is_some_and(|participant| graph.outstanding().any(|prefix| prefix.0 == participant.0))
    }

    /// Made when the system is first heard of, so that it is matched when its state matters.
    pub(super) fn client(&self, system: &SystemId) -> Result<Client<GetState, S>, Error> {
        if let Some(client) = self.0.clients.borrow().get(system) {
            return Ok(client.clone());
        }
        // The engine forgets systems when there are too many.
        let known = |id: &SystemId| self.0.engine.borrow().systems().contains_key(id);
        let forgotten: Vec<_> = self.0.clients.borrow().keys().filter(|id| !known(id)).cloned().collect();
        forgotten.iter().for_each(|id| self.forget(id));
        let client =
            self.0.handle.client::<GetState>(&self.0.node, &format!("{}/get_state", system.as_str()))?;
        self.0.clients.borrow_mut().insert(system.clone(), client.clone());
        Ok(client)
    }

    /// `/rosout` keeps what was said in the last seconds for those who come late.
    pub(super) fn read_logs(&self) -> Result<()> {
        if self.0.logs.borrow().is_some() {
            return Ok(());
        }
        let me = self.clone();
        let logs =
            self.0.handle.subscribe::<Log>(&self.0.node, ("/rosout", Qos::rosout()), move |_, sample| {
                let Log { stamp, level, name, msg, .. } = sample.message;
                if level >= Log::WARN {
                    let stamp = Wall::from_stamp(stamp.sec, stamp.nanosec);
                    me.put(Input::Log { logger: name, error: level >= Log::ERROR, text: msg, stamp });
                }
            })?;
        self.0.logs.replace(Some(logs));
        Ok(())
    }

    pub(super) fn watch(&self, system: &SystemId) -> Result<()> {
        if self.0.watches.borrow().contains_key(system) {
            return Ok(());
        }
        let (me, id) = (self.clone(), system.clone());
        let topic = format!("{}/transition_event", system.as_str());
        let kept = self.keeps_transitions(system) == Some(true);
        let qos = if kept { Qos::default().transient_local() } else { Qos::default() };
        let watch =
            self.0.handle.subscribe::<TransitionEvent>(&self.0.node, (&topic, qos), move |_, sample| {
                let TransitionEvent { start_state, goal_state, .. } = sample.message;
                let (from, to) = (start_state.id.into(), goal_state.id.into());
                let stamp = sample.info.source_stamp.map(Wall::from);
                me.put(Input::Transition { system: id.clone(), from, to, stamp });
            })?;
        self.0.watches.borrow_mut().insert(system.clone(), watch);
        Ok(())
    }

    /// Whether the last transitions of a system are kept for late joiners, as those of our systems are; whoever keeps none
    /// does not serve a listener that asks for them, and is to be listened to before it is told anything.
    pub(super) fn keeps_transitions(&self, system: &SystemId) -> Option<bool> {
        if let Some(keeps) = self.0.keeps.borrow().get(system) {
            return Some(*keeps);
        }
        let graph = self.0.node.context().graph();
        let events = |endpoint: &Endpoint| {
            let topic = endpoint.dds_topic.strip_suffix("/transition_event");
            endpoint.kind == EndpointKind::Writer
                && topic.and_then(|t| t.strip_prefix("rt")) == Some(system.as_str())
        };
        let endpoints = graph.endpoints_of(system.as_str());
        let mut publishers =
            endpoints.iter().map(|(_, endpoint)| endpoint).filter(|endpoint| events(endpoint));
        let keeps = publishers.next()?.qos.durability == Durability::TransientLocal;
        self.0.keeps.borrow_mut().insert(system.clone(), keeps);
        Some(keeps)
    }

    /// Systems of others do not know of appointments, and none is made with them.
    pub(super) fn arm(&self, request: u64, system: &SystemId, session: String, at: Wall) -> Result<()> {
        let service = format!("{}/arm", system.as_str());
        let client = self.0.handle.client::<ArmStart>(&self.0.node, &service)?;
        let (sec, nanosec) = at.to_stamp();
        let source = self.0.node.name().to_owned();
        let (me, system, sent) = (self.clone(), system.clone(), now().mono);
        let closing = client.clone();
        let question = ArmStartRequest { at: Time { sec, nanosec }, session, source };
        client.call(&question, self.0.state_timeout, move |_, answer| {
            let clock = match answer {
                Ok(answer) if answer.success => {
                    Some(Some(Wall::from_stamp(answer.stamp.sec, answer.stamp.nanosec)))
                }
                Ok(_) | Err(CallError::NoServer(_)) => Some(None),
                // It may have heard it.
                Err(_) => None,
            };
            if let Some(clock) = clock {
                me.put(Input::Armed { request, system, sent, clock });
            }
            closing.close();
        });
        Ok(())
    }

    pub(super) fn query(&self, system: SystemId, query: u64) {
        match self.client(&system) {
            Ok(client) => {
                let me = self.clone();
                client.ask(&GetStateRequest::default(), self.0.state_timeout, move |_, answer| {
                    let result = match answer {
                        Ok(Reply { message, info, sent }) => {
                            me.heard(me.sender(&info), &info, Hearing::Reply { sent });
                            Ok(State::from(message.current_state.id))
                        }
                        // Who has not told yet all that it has may have one.
                        Err(CallError::NoServer(_)) if !me.is_outstanding(&system) => Err(NoState::NoService),
                        Err(_) => Err(NoState::NoAnswer),
                    };
                    me.put(Input::State { system, query, result });
                });
            }
            Err(error) => {
                log::error!(target: self.0.node.logger(), "cannot ask {system} for its state: {error}");
                self.put(Input::State { system, query, result: Err(NoState::NoAnswer) });
            }
        }
    }
}
