//! The parameters of another node.

use std::time::Duration;

use rosless_wire::{
    Service,
    rcl_interfaces::{msg, srv},
};

use super::{NamedValue, ParameterValue, messages::parameters};
use crate::{CallError, Handle, Node, Result};

/// Reads and sets the parameters of another node. Each question has a client of its own for as long as it takes; answers
/// come as with [`crate::Client::call`].
#[derive(Debug)]
pub struct ParameterClient<S> {
    handle: Handle<S>,
    node: Node,
    of: String,
}

impl<S: 'static> Handle<S> {
    /// The parameters of the node with the full name `of`, asked for by `node`.
    pub fn parameters_of(&self, node: &Node, of: &str) -> ParameterClient<S> {
        ParameterClient { handle: self.clone(), node: node.clone(), of: of.to_owned() }
    }
}

impl<S: 'static> ParameterClient<S> {
    /// The names below these prefixes, or all.
    pub fn list(
        &self,
        prefixes: Vec<String>,
        timeout: Duration,
        callback: impl FnOnce(&mut S, Result<Vec<String>, CallError>) + 'static,
    ) -> Result<()> {
        let request = srv::ListParametersRequest { prefixes, depth: 0 };
        self.ask::<srv::ListParameters, _>("list_parameters", &request, timeout, |r| r.result.names, callback)
    }

    /// The values, in the order of the names; none at all when the node does not know one of them.
    pub fn get(
        &self,
        names: Vec<String>,
        timeout: Duration,
        callback: impl FnOnce(&mut S, Result<Vec<ParameterValue>, CallError>) + 'static,
    ) -> Result<()> {
        let values = |r: srv::GetParametersResponse| r.values.into_iter().map(Into::into).collect();
        let request = srv::GetParametersRequest { names };
        self.ask::<srv::GetParameters, _>("get_parameters", &request, timeout, values, callback)
    }

    /// Sets one value after the other; each is taken or refused by itself.
    pub fn set(
        &self,
        values: &[NamedValue],
        timeout: Duration,
        callback: impl FnOnce(&mut S, Result<Vec<msg::SetParametersResult>, CallError>) + 'static,
    ) -> Result<()> {
        let request = srv::SetParametersRequest { parameters: parameters(values) };
        self.ask::<srv::SetParameters, _>("set_parameters", &request, timeout, |r| r.results, callback)
    }

    /// What the parameters are for and what they may be; none at all when the node does not know one of them.
    pub fn describe(
        &self,
        names: Vec<String>,
        timeout: Duration,
        callback: impl FnOnce(&mut S, Result<Vec<msg::ParameterDescriptor>, CallError>) + 'static,
    ) -> Result<()> {
        let request = srv::DescribeParametersRequest { names };
        let service = "describe_parameters";
        self.ask::<srv::DescribeParameters, _>(service, &request, timeout, |r| r.descriptors, callback)
    }

    fn ask<T: Service + 'static, R>(
        &self,
        service: &str,
        request: &T::Request,
        timeout: Duration,
        pick: impl FnOnce(T::Response) -> R + 'static,
        callback: impl FnOnce(&mut S, Result<R, CallError>) + 'static,
    ) -> Result<()> {
        let client = self.handle.client::<T>(&self.node, &format!("{}/{service}", self.of))?;
        let used = client.clone();
        client.call(request, timeout, move |app, response| {
            used.close();
            callback(app, response.map(pick));
        });
        Ok(())
    }
}
