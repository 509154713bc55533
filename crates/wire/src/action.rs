//! What every action implies: two services and the feedback message, generic over the [`Action`].

use crate::builtin_interfaces::msg::Time;
use crate::interface::{Action, Definitions, Message, Service, TypeInfo};
use crate::macros::cdr_struct;
use crate::unique_identifier_msgs::msg::UUID;
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

/// The service `<action>/_action/send_goal`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SendGoal<A>(PhantomData<A>);

/// The service `<action>/_action/get_result`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GetResult<A>(PhantomData<A>);

/// Offers a goal.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct SendGoalRequest<A: Action> {
    /// Chosen by the client.
    pub goal_id: UUID,
    /// What is wanted.
    pub goal: A::Goal,
}

/// Says whether the goal was taken.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct SendGoalResponse<A: Action> {
    /// Whether the server will work on it.
    pub accepted: bool,
    /// When it was accepted.
    pub stamp: Time,
    #[serde(skip)]
    action: PhantomData<A>,
}

impl<A: Action> SendGoalResponse<A> {
    /// An answer to an offered goal.
    pub fn new(accepted: bool, stamp: Time) -> Self {
        SendGoalResponse { accepted, stamp, action: PhantomData }
    }
}

/// Asks for a goal's result; answered when the goal has ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct GetResultRequest<A: Action> {
    /// Which goal.
    pub goal_id: UUID,
    #[serde(skip)]
    action: PhantomData<A>,
}

impl<A: Action> GetResultRequest<A> {
    /// A request for the result of a goal.
    pub fn new(goal_id: UUID) -> Self {
        GetResultRequest { goal_id, action: PhantomData }
    }
}

/// How a goal ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct GetResultResponse<A: Action> {
    /// One of the constants of [`crate::action_msgs::msg::GoalStatus`].
    pub status: i8,
    /// The outcome.
    pub result: A::Result,
}

/// Progress of one goal, on the topic `<action>/_action/feedback`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct FeedbackMessage<A: Action> {
    /// Which goal.
    pub goal_id: UUID,
    /// How far it is.
    pub feedback: A::Feedback,
}

cdr_struct!(SendGoalRequest<A> where A: Action { goal_id: UUID, goal: A::Goal });
cdr_struct!(SendGoalResponse<A> where A: Action { accepted: bool, stamp: Time } action: PhantomData);
cdr_struct!(GetResultRequest<A> where A: Action { goal_id: UUID } action: PhantomData);
cdr_struct!(GetResultResponse<A> where A: Action { status: i8, result: A::Result });
cdr_struct!(FeedbackMessage<A> where A: Action { goal_id: UUID, feedback: A::Feedback });

macro_rules! implied {
    ($($message:ident $info:ident)*) => {$(
        impl<A: Action> Message for $message<A> {
            const TYPE_NAME: &'static str = A::$info.name;
            const TYPE_HASH: &'static str = A::$info.hash;
            const DEFINITIONS: Definitions = A::Goal::DEFINITIONS;
        }
    )*};
}

implied! {
    SendGoalRequest SEND_GOAL_REQUEST
    SendGoalResponse SEND_GOAL_RESPONSE
    GetResultRequest GET_RESULT_REQUEST
    GetResultResponse GET_RESULT_RESPONSE
    FeedbackMessage FEEDBACK_MESSAGE
}

impl<A: Action> Service for SendGoal<A> {
    type Request = SendGoalRequest<A>;
    type Response = SendGoalResponse<A>;
    const TYPE_NAME: &'static str = A::SEND_GOAL.name;
    const TYPE_HASH: &'static str = A::SEND_GOAL.hash;
    const EVENT: TypeInfo = A::SEND_GOAL_EVENT;
}

impl<A: Action> Service for GetResult<A> {
    type Request = GetResultRequest<A>;
    type Response = GetResultResponse<A>;
    const TYPE_NAME: &'static str = A::GET_RESULT.name;
    const TYPE_HASH: &'static str = A::GET_RESULT.hash;
    const EVENT: TypeInfo = A::GET_RESULT_EVENT;
}
