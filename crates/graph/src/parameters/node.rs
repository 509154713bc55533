//! The parameters of a node: its own view of them, and the services through which others see them.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    rc::{Rc, Weak},
};

use rosless_wire::{
    Message as _, Service,
    rcl_interfaces::{msg, srv},
};

use super::{
    Change, Descriptor, NamedValue, ParameterError, ParameterKind, ParameterStore, ParameterValue,
    messages::{named, set_result},
};
use crate::{Error, Handle, Node, Publisher, Qos, Result};

/// Whether the node follows `/clock` instead of the system's clock.
pub(crate) const USE_SIM_TIME: &str = "use_sim_time";
/// Whether the node offers `~/get_type_description`.
pub(crate) const START_TYPE_DESCRIPTION_SERVICE: &str = "start_type_description_service";

type Validator = Box<dyn Fn(&[NamedValue]) -> Result<(), String>>;
type Queue = RefCell<VecDeque<Change>>;

/// The parameters of one node, shared by all its clones.
#[derive(Default)]
pub(crate) struct NodeParameters {
    store: RefCell<ParameterStore>,
    validators: RefCell<Vec<Validator>>,
    listeners: RefCell<Vec<Weak<Queue>>>,
    /// `/parameter_events`; there from the time the node is attached to an event loop.
    events: RefCell<Option<Publisher<msg::ParameterEvent>>>,
    use_sim_time: Cell<bool>,
}

impl std::fmt::Debug for NodeParameters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NodeParameters").field("store", &self.store).finish_non_exhaustive()
    }
}

impl NodeParameters {
    pub(crate) fn new(store: ParameterStore) -> Self {
        Self { store: RefCell::new(store), ..Self::default() }
    }

    pub(crate) fn use_sim_time(&self) -> bool {
        self.use_sim_time.get()
    }

    /// See [`ParameterStore::unused`].
    pub(crate) fn unused(&self) -> Vec<(String, Option<String>)> {
        self.store.borrow().unused()
    }

    /// Whether a value was given from outside for a parameter whose name begins so.
    pub(crate) fn is_given(&self, prefix: &str) -> bool {
        self.store.borrow().is_given(prefix)
    }

    /// The value that was given from outside for a parameter.
    pub(crate) fn given(&self, name: &str) -> Option<ParameterValue> {
        self.store.borrow().given(name).cloned()
    }

    /// Declares what is not declared yet, together and past the application's judges: these are not its parameters.
    pub(crate) fn declare_missing(
        &self,
        node: &Node,
        parameters: impl IntoIterator<Item = (Descriptor, ParameterValue)>,
    ) -> Result<(), ParameterError> {
        let mut all = Change::default();
        for (descriptor, default) in parameters {
            let mut store = self.store.borrow_mut();
            if !store.has(&descriptor.name) {
                all.new.extend(store.declare(descriptor, default, |_| Ok(()))?.new);
            }
        }
        self.tell(node, all);
        Ok(())
    }

    /// Lets go of what keeps the node alive.
    pub(crate) fn close(&self) {
        self.events.take();
    }

    /// Changes a copy, so that the node's own code may look at the parameters while it judges the new values.
    fn change(
        &self,
        node: &Node,
        act: impl FnOnce(
            &mut ParameterStore,
            &dyn Fn(&[NamedValue]) -> Result<(), String>,
        ) -> Result<Change, ParameterError>,
    ) -> Result<(), ParameterError> {
        let mut store = self.store.borrow().clone();
        let change =
            act(&mut store, &|values| self.validators.borrow().iter().try_for_each(|judge| judge(values)))?;
        self.use_sim_time.set(store.get(USE_SIM_TIME) == Ok(ParameterValue::Bool(true)));
        *self.store.borrow_mut() = store;
        self.tell(node, change);
        Ok(())
    }

    /// Tells everyone who wants to know what has changed.
    fn tell(&self, node: &Node, change: Change) {
        if change == Change::default() {
            return;
        }
        node.wants_attention();
        self.publish(node, &change);
        self.listeners.borrow_mut().retain(|queue| match queue.upgrade() {
            Some(queue) => {
                queue.borrow_mut().push_back(change.clone());
                true
            }
            None => false,
        });
    }

    fn publish(&self, node: &Node, change: &Change) {
        if let Some(events) = &*self.events.borrow() {
            let event = msg::ParameterEvent { stamp: node.now(), node: node.full_name(), ..change.into() };
            events.publish(&event);
        }
    }
}

impl Node {
    /// The parameters that every node has.
    pub(crate) fn declare_own_parameters(&self) -> Result<()> {
        self.declare_parameter(USE_SIM_TIME, false)?;
        if self.context().settings().environment.distro.unwrap_or_default().has_type_hashes() {
            let descriptor = Descriptor::new(START_TYPE_DESCRIPTION_SERVICE)
                .description("Start the ~/get_type_description service for this node.")
                .read_only();
            self.declare_parameter(descriptor, true)?;
        }
        Ok(())
    }

    /// Declares a parameter and returns its value: the one given on the command line or in a parameter file, or else
    /// `default`. The descriptor may be just the name.
    ///
    /// # Errors
    /// [`Error::Usage`] when the given value does not fit, [`Error::Parameter`] when it was declared before.
    pub fn declare_parameter<T: ParameterKind>(
        &self,
        descriptor: impl Into<Descriptor>,
        default: T,
    ) -> Result<T> {
        let descriptor = Descriptor { dynamic_typing: false, ..descriptor.into() };
        let name = descriptor.name.clone();
        self.declare_parameter_value(descriptor, default.into_value())?;
        self.parameter(&name).map_err(|error| Error::Parameter(error.to_string()))
    }

    /// Declares a parameter whose type is known at run time only, or may change.
    pub fn declare_parameter_value(
        &self,
        descriptor: impl Into<Descriptor>,
        default: ParameterValue,
    ) -> Result<()> {
        self.parameters()
            .change(self, |store, judge| store.declare(descriptor.into(), default, judge))
            .map_err(|error| {
                let text = format!("node {}: {error}", self.full_name());
                match error {
                    ParameterError::WrongType { .. }
                    | ParameterError::OutOfRange { .. }
                    | ParameterError::Refused(_) => Error::Usage(text),
                    _ => Error::Parameter(text),
                }
            })
    }

    /// The value of a parameter, when it is of type `T`.
    pub fn parameter<T: ParameterKind>(&self, name: &str) -> Result<T, ParameterError> {
        let value = self.parameter_value(name)?;
        T::from_value(&value).ok_or_else(|| ParameterError::WrongType {
            name: name.to_owned(),
            declared: value.kind(),
            given: T::TYPE,
        })
    }

    /// The value of a parameter, of whatever type.
    pub fn parameter_value(&self, name: &str) -> Result<ParameterValue, ParameterError> {
        self.parameters().store.borrow().get(name)
    }

    /// Sets a parameter by the same rules as others have to obey.
    pub fn set_parameter(&self, name: &str, value: impl Into<ParameterValue>) -> Result<(), ParameterError> {
        self.set_parameters_atomically(&[(name.to_owned(), value.into())])
    }

    /// Sets all values or none.
    pub fn set_parameters_atomically(&self, values: &[NamedValue]) -> Result<(), ParameterError> {
        self.parameters().change(self, |store, judge| store.set_atomically(values, judge))
    }

    /// Lets others set, and so create and remove, parameters that were never declared.
    pub fn allow_undeclared_parameters(&self) {
        let store = self.parameters().store.take().allow_undeclared();
        self.parameters().store.replace(store);
    }

    /// Lets `judge` refuse new values with a reason, before anything is set. It sees all values of one request, also
    /// those of declarations that follow.
    pub fn validate_parameters(&self, judge: impl Fn(&[NamedValue]) -> Result<(), String> + 'static) {
        self.parameters().validators.borrow_mut().push(Box::new(judge));
    }
}

impl<S: 'static> Handle<S> {
    /// Calls back after parameters of `node` were declared, set or removed, by whomever.
    pub fn on_parameter_change(&self, node: &Node, mut callback: impl FnMut(&mut S, &Change) + 'static) {
        let queue = Rc::new(Queue::default());
        node.parameters().listeners.borrow_mut().push(Rc::downgrade(&queue));
        self.after_batch(move |app| {
            loop {
                let next = queue.borrow_mut().pop_front();
                match next {
                    Some(change) => callback(app, &change),
                    None => break,
                }
            }
        });
    }

    /// Offers the six services and `/parameter_events`; returns what ends them.
    pub(crate) fn serve_parameters(&self, node: &Node) -> Result<Vec<Box<dyn FnOnce()>>> {
        let parameters = node.parameters().clone();
        *parameters.events.borrow_mut() =
            Some(node.publisher(("/parameter_events", Qos::parameter_events()))?);
        let everything = Change { new: parameters.store.borrow().values(), ..Change::default() };
        parameters.publish(node, &everything);

        let store = parameters.clone();
        let describe =
            self.answer::<srv::DescribeParameters>(node, "~/describe_parameters", move |request| {
                let descriptors = store.store.borrow().describe(&request.names);
                srv::DescribeParametersResponse {
                    descriptors: descriptors.into_iter().map(Into::into).collect(),
                }
            })?;
        let store = parameters.clone();
        let types = self.answer::<srv::GetParameterTypes>(node, "~/get_parameter_types", move |request| {
            let types = store.store.borrow().types(&request.names);
            srv::GetParameterTypesResponse { types: types.into_iter().map(|kind| kind.id()).collect() }
        })?;
        let store = parameters.clone();
        let get = self.answer::<srv::GetParameters>(node, "~/get_parameters", move |request| {
            let values = store.store.borrow().get_all(&request.names);
            srv::GetParametersResponse { values: values.into_iter().map(Into::into).collect() }
        })?;
        let store = parameters.clone();
        let list = self.answer::<srv::ListParameters>(node, "~/list_parameters", move |request| {
            let (names, prefixes) = store.store.borrow().list(&request.prefixes, request.depth);
            srv::ListParametersResponse { result: msg::ListParametersResult { names, prefixes } }
        })?;
        let setter = node.unowned();
        let set = self.answer::<srv::SetParameters>(node, "~/set_parameters", move |request| {
            let set = |parameter| set_result(&setter.set_parameters_atomically(&[named(parameter)]));
            srv::SetParametersResponse { results: request.parameters.into_iter().map(set).collect() }
        })?;
        let setter = node.unowned();
        let all = "~/set_parameters_atomically";
        let set_all = self.answer::<srv::SetParametersAtomically>(node, all, move |request| {
            let values: Vec<_> = request.parameters.into_iter().map(named).collect();
            let result = set_result(&setter.set_parameters_atomically(&values));
            srv::SetParametersAtomicallyResponse { result }
        })?;
        // Nodes of rclcpp learn of their own `use_sim_time` this way. Ours knows it already; who counts the topic's
        // subscriptions, or waits for one, sees no difference.
        let (name, hash) = (msg::ParameterEvent::TYPE_NAME, msg::ParameterEvent::TYPE_HASH);
        let events = self.subscribe_raw(
            node,
            ("/parameter_events", Qos::parameter_events()),
            (name, hash),
            |_, _| {},
        )?;
        Ok(vec![describe, types, get, list, set, set_all, Box::new(|| events.close())])
    }

    /// Serves what can be answered at once; returns what ends it.
    fn answer<T: Service + 'static>(
        &self,
        node: &Node,
        service: &str,
        mut answer: impl FnMut(T::Request) -> T::Response + 'static,
    ) -> Result<Box<dyn FnOnce()>> {
        let server =
            self.serve_with::<T>(node, service, Qos::parameters(), move |_, request, responder| {
                responder.reply(&answer(request));
            })?;
        Ok(Box::new(|| server.close()))
    }
}
