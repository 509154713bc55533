//! Pedestal and doll go through a whole cycle, and the lantern is lit at its end.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    rc::Rc,
    time::{Duration, Instant},
};

use rosless_graph::TopicQos;
use rosless_wire::{
    diagnostic_msgs::msg::DiagnosticArray,
    mecha_control::msg::{MechaState, SensorStates},
    std_msgs::msg::Bool,
};
use serde_json::json;

use super::{
    Row,
    stage::{self, Stage},
};
use crate::failure::{Failure, Result};

/// Leaves a mechanism alone.
const NOT_CONCERNED: u8 = 255;
const PHASES: [(u8, &str); 4] = [(0, "prepare"), (1, "deploy"), (2, "collect"), (3, "place")];
const ANSWER: Duration = Duration::from_secs(15);

#[derive(Debug, Default)]
struct Heard {
    /// What `~/status` says of each mechanism.
    status: BTreeMap<String, BTreeMap<String, String>>,
    sensors: u32,
    lantern: bool,
}

impl Heard {
    fn has(&self, mechanism: &str, key: &str, value: &str) -> bool {
        self.status.get(mechanism).and_then(|values| values.get(key)).is_some_and(|known| known == value)
    }
}

pub(super) fn cycle(stage: &Stage, rows: &mut Vec<Row>) -> Result<()> {
    let heard = Rc::new(RefCell::new(Heard::default()));
    listen(stage, &heard)?;
    let publisher = stage.session.node.publisher::<MechaState>("/mecha_state")?;
    stage
        .wait("the sequence controller", ANSWER, || publisher.matched() > 0 && heard.borrow().sensors > 0)?;
    let began = Instant::now();
    for (code, name) in PHASES {
        // The pedestal has nothing to prepare.
        let pedestal = if code == 0 { NOT_CONCERNED } else { code };
        publisher.publish(&MechaState { daiza_state: pedestal, hina_state: code, bonbori_state: false });
        let reached = |mechanism: &str| {
            let heard = heard.borrow();
            heard.has(mechanism, "reached", &code.to_string()) && heard.has(mechanism, "running", "false")
        };
        let took = stage
            .wait(&format!("phase {name}"), ANSWER, || reached("hina") && (code == 0 || reached("daiza")))
            .map_err(|failure| stage::explain(failure, &format!("{:?}", heard.borrow().status)))?;
        stage.done(&format!("mechanism, phase {name}"), &format!("reached in {:.1} s", took.as_secs_f64()));
    }
    stage.wait("the lantern", ANSWER, || heard.borrow().lantern)?;
    if heard.borrow().sensors < 10 {
        return Err(Failure::new("the mechanism's sensors were hardly heard"));
    }
    let (phases, seconds, sensors) = (PHASES.len(), began.elapsed().as_secs_f64(), heard.borrow().sensors);
    let figure = format!("{phases} phases in {seconds:.1} s, lantern lit ({sensors} sensor messages)");
    let facts = json!({"phases": phases, "seconds": seconds, "sensor_messages": sensors, "lantern": true});
    rows.push(Row { what: "mechanism", figure, facts });
    Ok(())
}

fn listen(stage: &Stage, heard: &Rc<RefCell<Heard>>) -> Result<()> {
    let (events, node) = (&stage.session.event_loop, &stage.session.node);
    let state = heard.clone();
    events.subscribe::<DiagnosticArray>(
        node,
        "/sequence_controller/status".latched(),
        move |(), sample| {
            for status in sample.message.status {
                let name = status.name.rsplit(": ").next().unwrap_or_default().to_owned();
                let values = status.values.into_iter().map(|pair| (pair.key, pair.value)).collect();
                state.borrow_mut().status.insert(name, values);
            }
        },
    )?;
    for topic in ["/daiza_state", "/hina_state"] {
        let state = heard.clone();
        events.subscribe::<SensorStates>(node, topic, move |(), _| state.borrow_mut().sensors += 1)?;
    }
    let state = heard.clone();
    events.subscribe::<Bool>(node, "/bonbori_msg".latched(), move |(), sample| {
        state.borrow_mut().lantern = sample.message.data;
    })?;
    Ok(())
}
