//! Hands on a running stand-in: its switches and faults are parameters, so `ros2 param set` works as well.

use std::{cell::RefCell, process::ExitCode, rc::Rc, time::Duration};

use anyhow::Context as _;
use rosless_graph::{CallError, Context, EventLoop, Node, config::Settings};
use rosless_mechanism::model::Switch;
use rosless_wire::{
    Service,
    rcl_interfaces::{
        msg::{Parameter, ParameterType, ParameterValue},
        srv::{GetParameters, GetParametersRequest, SetParameters, SetParametersRequest},
    },
};

use crate::{NODE, run};

const TIMEOUT: Duration = Duration::from_secs(5);
const NOT_FOUND: u8 = 3;

pub(crate) fn set_switch(settings: Settings, switch: Switch, how: &str) -> anyhow::Result<ExitCode> {
    let value = ParameterValue {
        r#type: ParameterType::PARAMETER_STRING,
        string_value: how.to_owned(),
        ..ParameterValue::default()
    };
    Hand::reach_out(settings)?.set(Parameter { name: run::switch_parameter(switch), value })
}

/// Breaks something more: what is broken already stays broken.
pub(crate) fn add_fault(settings: Settings, fault: &str) -> anyhow::Result<ExitCode> {
    let hand = Hand::reach_out(settings)?;
    let request = GetParametersRequest { names: vec![run::FAULTS.to_owned()] };
    let Some(response) = hand.call::<GetParameters>("get_parameters", &request)? else {
        return Ok(ExitCode::from(NOT_FOUND));
    };
    let value = response.values.into_iter().next().context("the answer is empty")?;
    let mut faults = value.string_array_value;
    if !faults.iter().any(|known| known == fault) {
        faults.push(fault.to_owned());
    }
    hand.set_faults(faults)
}

pub(crate) fn repair(settings: Settings) -> anyhow::Result<ExitCode> {
    Hand::reach_out(settings)?.set_faults(vec![])
}

/// A node that talks to the stand-in's parameters.
struct Hand {
    domain: u16,
    event_loop: EventLoop<()>,
    node: Node,
}

impl Hand {
    fn reach_out(settings: Settings) -> anyhow::Result<Self> {
        let domain = settings.environment.domain_id;
        let context = Context::new(settings)?;
        let node = context.node(&format!("dummy_mechanism_hand_{}", std::process::id()))?;
        Ok(Self { domain, event_loop: EventLoop::new(&context)?, node })
    }

    /// `None`, and the user is told, when there is no stand-in.
    fn call<S: Service>(&self, service: &str, request: &S::Request) -> anyhow::Result<Option<S::Response>> {
        let client = self.event_loop.client::<S>(&self.node, &format!("{NODE}/{service}"))?;
        let answer = Rc::new(RefCell::new(None));
        let slot = answer.clone();
        client.call(request, TIMEOUT, move |_, result| *slot.borrow_mut() = Some(result));
        let patience = TIMEOUT + Duration::from_secs(1);
        self.event_loop.run_until(&mut (), patience, |_| answer.borrow().is_some())?;
        let answer = answer.borrow_mut().take();
        match answer.context("the call was never answered")? {
            Ok(response) => Ok(Some(response)),
            Err(CallError::NoServer(_)) => {
                eprintln!(
                    "error: no stand-in answered on domain {} within {} s; start one with `dummy-mechanism run`",
                    self.domain,
                    TIMEOUT.as_secs()
                );
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn set_faults(&self, faults: Vec<String>) -> anyhow::Result<ExitCode> {
        let value = ParameterValue {
            r#type: ParameterType::PARAMETER_STRING_ARRAY,
            string_array_value: faults,
            ..ParameterValue::default()
        };
        self.set(Parameter { name: run::FAULTS.to_owned(), value })
    }

    fn set(&self, parameter: Parameter) -> anyhow::Result<ExitCode> {
        let request = SetParametersRequest { parameters: vec![parameter] };
        let Some(response) = self.call::<SetParameters>("set_parameters", &request)? else {
            return Ok(ExitCode::from(NOT_FOUND));
        };
        let result = response.results.into_iter().next().context("the answer is empty")?;
        anyhow::ensure!(result.successful, "refused: {}", result.reason);
        Ok(ExitCode::SUCCESS)
    }
}
