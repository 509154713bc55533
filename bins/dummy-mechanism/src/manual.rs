//! Hands on a running stand-in: its switches and faults are parameters, so `ros2 param set` works as well.

use std::{process::ExitCode, time::Duration};

use anyhow::Context as _;
use rosless_graph::{CallError, Context, EventLoop, config::Settings};
use rosless_mechanism::model::Switch;
use rosless_wire::rcl_interfaces::{
    msg::{Parameter, ParameterType, ParameterValue},
    srv::{SetParameters, SetParametersRequest},
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
    set(settings, Parameter { name: run::switch_parameter(switch), value })
}

pub(crate) fn set_faults(settings: Settings, faults: Vec<String>) -> anyhow::Result<ExitCode> {
    let value = ParameterValue {
        r#type: ParameterType::PARAMETER_STRING_ARRAY,
        string_array_value: faults,
        ..ParameterValue::default()
    };
    set(settings, Parameter { name: run::FAULTS.to_owned(), value })
}

fn set(settings: Settings, parameter: Parameter) -> anyhow::Result<ExitCode> {
    let domain = settings.environment.domain_id;
    let context = Context::new(settings)?;
    let node = context.node(&format!("dummy_mechanism_hand_{}", std::process::id()))?;
    let event_loop = EventLoop::new(&context)?;
    let client = event_loop.client::<SetParameters>(&node, &format!("{NODE}/set_parameters"))?;
    let request = SetParametersRequest { parameters: vec![parameter] };
    client.call(&request, TIMEOUT, |answer, result| *answer = Some(result));
    let mut answer = None;
    event_loop.run_until(&mut answer, TIMEOUT + Duration::from_secs(1), |answer| answer.is_some())?;
    match answer.context("the call was never answered")? {
        Ok(response) => {
            let result = response.results.into_iter().next().context("the answer is empty")?;
            anyhow::ensure!(result.successful, "refused: {}", result.reason);
            Ok(ExitCode::SUCCESS)
        }
        Err(CallError::NoServer(_)) => {
            eprintln!(
                "error: no stand-in answered on domain {domain} within {} s; start one with `dummy-mechanism run`",
                TIMEOUT.as_secs()
            );
            Ok(ExitCode::from(NOT_FOUND))
        }
        Err(error) => Err(error.into()),
    }
}
