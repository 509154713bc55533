//! Subscriptions, services and actions: who may ask, and which part of the running controller answers.

use rosless_graph::{
    Handle, Node, Qos, Result, Server, Subscription, Topic, TopicQos,
    action::{ActionServer, CancelResponse, GoalResponse},
    qos::Reliability,
};
use rosless_motion::{RawPrimitive, messages::SequenceAction};
use rosless_wire::{
    Message,
    control_msgs::action::FollowJointTrajectory,
    std_srvs::srv::{Trigger, TriggerResponse},
    tf2_msgs::msg::TFMessage,
};

use crate::{
    daemon::App,
    follow::FollowGoal,
    running::{BURST, Running},
};

pub(crate) fn reference<M: Message>(
    handle: &Handle<App>,
    node: &Node,
    topic: &str,
    through: Reliability,
    decode: fn(M) -> RawPrimitive,
) -> Result<Subscription<App>> {
    let topic = topic.keep_last(BURST).with(|qos| Qos { reliability: through, ..qos });
    handle.subscribe::<M>(node, topic, move |app, sample| {
        if let Some(running) = &mut app.running {
            running.reference(&decode(sample.message), through, &sample.info);
        }
    })
}

/// Where frames are told.
pub(crate) fn frames(handle: &Handle<App>, node: &Node, topic: Topic<'_>) -> Result<Subscription<App>> {
    handle.subscribe::<TFMessage>(node, topic, |app, sample| {
        let Some(running) = &mut app.running else { return };
        for one in &sample.message.transforms {
            let (t, q) = (&one.transform.translation, &one.transform.rotation);
            let (place, rotation) = ([t.x, t.y, t.z], [q.x, q.y, q.z, q.w]);
            running.controller.frames_mut().set_raw(
                &one.header.frame_id,
                &one.child_frame_id,
                place,
                rotation,
            );
        }
    })
}

/// A service that does one thing and says how it went.
pub(crate) fn trigger(
    handle: &Handle<App>,
    node: &Node,
    name: &str,
    act: fn(&mut Running) -> Result<String, String>,
) -> Result<Server<App>> {
    handle.serve::<Trigger>(node, name, move |app, _, responder| {
        let done = app.running.as_mut().map_or_else(|| Err("not configured".to_owned()), act);
        let success = done.is_ok();
        let (Ok(message) | Err(message)) = done;
        responder.reply(&TriggerResponse { success, message });
    })
}

pub(crate) fn follow(handle: &Handle<App>, node: &Node) -> Result<ActionServer<FollowJointTrajectory, App>> {
    handle.action_server::<FollowJointTrajectory>(
        node,
        "~/follow_joint_trajectory",
        |app, id, goal| app.running.as_mut().map_or(GoalResponse::Reject, |running| running.follow(id, goal)),
        |app, handle| {
            if let Some(running) = &mut app.running
                && let Some(followed) = running.followed.clone()
            {
                running.goal = Some(Box::new(FollowGoal { handle, followed }));
            }
        },
        |app, goal| app.running.as_mut().map_or(CancelResponse::Reject, |running| running.cancel(goal.id())),
    )
}

pub(crate) fn action<A: SequenceAction>(
    handle: &Handle<App>,
    node: &Node,
    name: &str,
) -> Result<ActionServer<A, App>> {
    handle.action_server::<A>(
        node,
        name,
        |app, id, goal| match &mut app.running {
            Some(running) => running.offer(id, &A::primitives(goal)),
            None => GoalResponse::Reject,
        },
        |app, goal| {
            if let Some(running) = &mut app.running {
                running.goal = Some(Box::new(goal));
            }
        },
        |app, goal| app.running.as_mut().map_or(CancelResponse::Reject, |running| running.cancel(goal.id())),
    )
}
