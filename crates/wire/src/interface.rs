//! What makes a struct a ROS message, and a name a ROS service or action.

use crate::cdr::Cdr;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// Name and hash of a type, as discovery carries them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypeInfo {
    /// ROS name, such as `std_msgs/msg/String`.
    pub name: &'static str,
    /// Hash of the definition, such as `RIHS01_df66…`.
    pub hash: &'static str,
}

/// The texts of definitions, as `("package/kind/Name", text)`.
pub type Definitions = &'static [(&'static str, &'static str)];

/// A message, or the request, response, goal, result or feedback part of a service or action.
pub trait Message:
    Cdr + Clone + Debug + Default + PartialEq + Serialize + DeserializeOwned + Send + 'static
{
    /// ROS name, such as `std_msgs/msg/String` or `std_srvs/srv/SetBool_Request`.
    const TYPE_NAME: &'static str;
    /// Hash of the definition, such as `RIHS01_df66…`.
    const TYPE_HASH: &'static str;
    /// What a node must know to describe the type to others, beyond what all nodes know (`idl/`).
    const DEFINITIONS: Definitions = &[];
}

/// A service.
pub trait Service: Clone + Debug + Default + PartialEq + Send + 'static {
    /// What the client sends.
    type Request: Message;
    /// What the server answers.
    type Response: Message;
    /// ROS name, such as `std_srvs/srv/SetBool`.
    const TYPE_NAME: &'static str;
    /// Hash of the definition.
    const TYPE_HASH: &'static str;
    /// The message that service introspection publishes, see [`crate::service::Event`].
    const EVENT: TypeInfo;
}

/// An action. The types it implies are generic structs in [`crate::action`].
pub trait Action: Clone + Debug + Default + PartialEq + Send + 'static {
    /// What the client wants.
    type Goal: Message;
    /// What it gets in the end.
    type Result: Message;
    /// What it hears on the way.
    type Feedback: Message;
    /// ROS name, such as `example_interfaces/action/Fibonacci`.
    const TYPE_NAME: &'static str;
    /// Hash of the definition.
    const TYPE_HASH: &'static str;
    /// The service that takes goals.
    const SEND_GOAL: TypeInfo;
    /// Its request.
    const SEND_GOAL_REQUEST: TypeInfo;
    /// Its response.
    const SEND_GOAL_RESPONSE: TypeInfo;
    /// Its introspection event.
    const SEND_GOAL_EVENT: TypeInfo;
    /// The service that hands out results.
    const GET_RESULT: TypeInfo;
    /// Its request.
    const GET_RESULT_REQUEST: TypeInfo;
    /// Its response.
    const GET_RESULT_RESPONSE: TypeInfo;
    /// Its introspection event.
    const GET_RESULT_EVENT: TypeInfo;
    /// The message on the feedback topic.
    const FEEDBACK_MESSAGE: TypeInfo;
}
