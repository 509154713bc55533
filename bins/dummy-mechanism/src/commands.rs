//! Hands on a running stand-in: its switches and faults are parameters, so `ros2 param set` works as well.

use std::time::Duration;

use rosless_cli::{Failure, Result, Session, exit, output};
use rosless_graph::{
    CallError,
    config::Settings,
    parameters::{ParameterClient, ParameterValue},
};
use rosless_mechanism::model::Switch;
use serde_json::json;

use crate::{NODE, daemon};

const TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) fn set_switch(settings: &Settings, switch: Switch, how: &str) -> Result<()> {
    set(&reach_out(settings)?, daemon::switch_parameter(switch), how.to_owned().into())?;
    if output::is_json() {
        output::json_line(&json!({"switch": switch.name(), "set": how}));
    }
    Ok(())
}

pub(crate) fn hold_potentiometer(settings: &Settings, degrees: Option<f64>) -> Result<()> {
    let value = degrees.map_or_else(|| daemon::AUTO.into(), ParameterValue::Double);
    set(&reach_out(settings)?, daemon::POTENTIOMETER.to_owned(), value)?;
    if output::is_json() {
        output::json_line(&json!({"potentiometer": degrees}));
    }
    Ok(())
}

pub(crate) fn play_scene(settings: &Settings, play: bool) -> Result<()> {
    set(&reach_out(settings)?, daemon::SCENE.to_owned(), play.into())?;
    if output::is_json() {
        output::json_line(&json!({"scene": play}));
    }
    Ok(())
}

/// Breaks something more: what is broken already stays broken.
pub(crate) fn add_fault(settings: &Settings, fault: &str) -> Result<()> {
    let hand = reach_out(settings)?;
    let values = ask(&hand, |stand_in, done| stand_in.get(vec![daemon::FAULTS.to_owned()], TIMEOUT, done))?;
    let Some(ParameterValue::StringArray(mut faults)) = values.into_iter().next() else {
        return Err(Failure::new("the stand-in has no list of faults"));
    };
    if !faults.iter().any(|known| known == fault) {
        faults.push(fault.to_owned());
    }
    set_faults(&hand, faults)
}

pub(crate) fn repair(settings: &Settings) -> Result<()> {
    set_faults(&reach_out(settings)?, vec![])
}

fn reach_out(settings: &Settings) -> Result<Session> {
    Session::join_as(settings, "dummy_mechanism_hand", ())
}

type Answer<R> = Box<dyn FnOnce(&mut (), Result<R, CallError>)>;

fn ask<R: 'static>(
    hand: &Session,
    question: impl FnOnce(&ParameterClient<()>, Answer<R>) -> rosless_graph::Result<()>,
) -> Result<R> {
    let answer = hand.answered(|done| question(&hand.parameters(NODE), done));
    answer.map_err(|failure| match failure.code {
        exit::NOBODY => Failure::nobody(format!(
            "no stand-in answered on domain {} within {} s; start one with `dummy-mechanism run`{}",
            hand.domain(),
            TIMEOUT.as_secs(),
            hand.elsewhere(NODE)
        )),
        _ => failure,
    })
}

fn set_faults(hand: &Session, faults: Vec<String>) -> Result<()> {
    let json = json!({"faults": faults});
    set(hand, daemon::FAULTS.to_owned(), faults.into())?;
    if output::is_json() {
        output::json_line(&json);
    }
    Ok(())
}

fn set(hand: &Session, name: String, value: ParameterValue) -> Result<()> {
    let results = ask(hand, |stand_in, done| stand_in.set(&[(name, value)], TIMEOUT, done))?;
    let result = results.into_iter().next().ok_or_else(|| Failure::new("the answer is empty"))?;
    if result.successful { Ok(()) } else { Err(Failure::new(format!("refused: {}", result.reason))) }
}
