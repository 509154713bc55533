//! Hands on a running stand-in: its switches and faults are parameters, so `ros2 param set` works as well.

use std::time::Duration;

use rosless_cli::{Failure, Result, Session, exit, output};
use rosless_graph::config::Settings;
use rosless_mechanism::model::Switch;
use rosless_wire::{
    Service,
    rcl_interfaces::{
        msg::{Parameter, ParameterType, ParameterValue},
        srv::{GetParameters, GetParametersRequest, SetParameters, SetParametersRequest},
    },
};
use serde_json::json;

use crate::{NODE, run};

const TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) fn set_switch(settings: &Settings, switch: Switch, how: &str) -> Result<()> {
    let value = ParameterValue {
        r#type: ParameterType::PARAMETER_STRING,
        string_value: how.to_owned(),
        ..ParameterValue::default()
    };
    set(&reach_out(settings)?, Parameter { name: run::switch_parameter(switch), value })?;
    if output::is_json() {
        output::json_line(&json!({"switch": switch.name(), "set": how}));
    }
    Ok(())
}

/// Breaks something more: what is broken already stays broken.
pub(crate) fn add_fault(settings: &Settings, fault: &str) -> Result<()> {
    let hand = reach_out(settings)?;
    let request = GetParametersRequest { names: vec![run::FAULTS.to_owned()] };
    let response = call::<GetParameters>(&hand, "get_parameters", &request)?;
    let mut faults = response.values.into_iter().next().ok_or_else(empty)?.string_array_value;
    if !faults.iter().any(|known| known == fault) {
        faults.push(fault.to_owned());
    }
    set_faults(&hand, faults)
}

pub(crate) fn repair(settings: &Settings) -> Result<()> {
    set_faults(&reach_out(settings)?, vec![])
}

fn empty() -> Failure {
    Failure::new("the answer is empty")
}

fn reach_out(settings: &Settings) -> Result<Session> {
    Session::join_as(settings, "dummy_mechanism_hand", ())
}

fn call<S: Service + 'static>(hand: &Session, service: &str, request: &S::Request) -> Result<S::Response> {
    let answer = hand.call::<S>(&format!("{NODE}/{service}"), request, TIMEOUT);
    answer.map_err(|failure| match failure.code {
        exit::NOBODY => Failure::nobody(format!(
            "no stand-in answered on domain {} within {} s; start one with `dummy-mechanism run`",
            hand.domain(),
            TIMEOUT.as_secs()
        )),
        _ => failure,
    })
}

fn set_faults(hand: &Session, faults: Vec<String>) -> Result<()> {
    let json = json!({"faults": faults});
    let value = ParameterValue {
        r#type: ParameterType::PARAMETER_STRING_ARRAY,
        string_array_value: faults,
        ..ParameterValue::default()
    };
    set(hand, Parameter { name: run::FAULTS.to_owned(), value })?;
    if output::is_json() {
        output::json_line(&json);
    }
    Ok(())
}

fn set(hand: &Session, parameter: Parameter) -> Result<()> {
    let request = SetParametersRequest { parameters: vec![parameter] };
    let response = call::<SetParameters>(hand, "set_parameters", &request)?;
    let result = response.results.into_iter().next().ok_or_else(empty)?;
    if result.successful { Ok(()) } else { Err(Failure::new(format!("refused: {}", result.reason))) }
}
