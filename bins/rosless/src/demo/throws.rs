//! Three balls are thrown; the arm tries to catch them and the verdicts are heard.

use std::{cell::RefCell, rc::Rc, time::Duration};

use rosless_graph::TopicQos;
use rosless_wire::std_msgs::msg::{Float32, Float32MultiArray, String as Text};
use serde_json::json;

use super::{Row, stage::Stage};
use crate::failure::{Failure, Result};

/// Launcher (x, z, heading, elevation) and speed. Two can be caught, the last flies past.
const THROWS: [([f32; 4], f32); 3] =
    [([0.0, -1.0, 0.0, 0.9], 4.0), ([0.2, -1.2, -0.15, 1.0], 4.5), ([2.0, -6.0, 1.0, 1.2], 6.0)];
const ANSWER: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
struct Heard {
    launcher: Vec<f32>,
    balls: Vec<Vec<f32>>,
    verdicts: Vec<String>,
}

pub(super) fn three(stage: &Stage, rows: &mut Vec<Row>) -> Result<()> {
    let (events, node) = (&stage.session.event_loop, &stage.session.node);
    let heard = Rc::new(RefCell::new(Heard::default()));
    let state = heard.clone();
    events.subscribe::<Float32MultiArray>(node, "/shooter_state".latched(), move |(), s| {
        state.borrow_mut().launcher = s.message.data;
    })?;
    let state = heard.clone();
    let balls = events.subscribe::<Float32MultiArray>(node, "/ball_initial_state", move |(), s| {
        state.borrow_mut().balls.push(s.message.data);
    })?;
    let state = heard.clone();
    let judge = events.subscribe::<Text>(node, "/catch_verdict", move |(), s| {
        state.borrow_mut().verdicts.push(s.message.data);
    })?;
    let aim = node.publisher::<Float32MultiArray>("/shooter_state_input")?;
    let trigger = node.publisher::<Float32>("/shoot_value")?;
    let ready = || aim.matched() > 0 && trigger.matched() > 0 && balls.matched() > 0 && judge.matched() > 0;
    stage.wait("launcher and judge", ANSWER, ready)?;
    let mut caught = 0;
    for (number, (place, speed)) in THROWS.into_iter().enumerate() {
        aim.publish(&Float32MultiArray { data: place.to_vec(), ..Default::default() });
        stage.wait("the launcher's place", ANSWER, || heard.borrow().launcher == place)?;
        trigger.publish(&Float32 { data: speed });
        stage.wait("a ball in the air", ANSWER, || heard.borrow().balls.len() > number)?;
        stage.wait("a verdict", ANSWER, || heard.borrow().verdicts.len() > number)?;
        let text = heard.borrow().verdicts[number].clone();
        let verdict: serde_json::Value = serde_json::from_str(&text)
            .map_err(|error| Failure::new(format!("verdict '{text}': {error}")))?;
        let word = if verdict["caught"] == true { "caught" } else { "missed" };
        caught += u32::from(verdict["caught"] == true);
        let reason = verdict["reason"].as_str().map(|reason| format!(" ({reason})")).unwrap_or_default();
        stage.done(&format!("throw {} at {speed} m/s", number + 1), &format!("{word}{reason}"));
    }
    let figure = format!("3 thrown, 3 verdicts, {caught} caught");
    rows.push(Row { what: "throws", figure, facts: json!({"thrown": THROWS.len(), "caught": caught}) });
    Ok(())
}
