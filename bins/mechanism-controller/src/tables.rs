//! The step tables for people.

use std::fmt::Write;

use rosless_mechanism::{
    doll::{self, Doll},
    pedestal::{self, Pedestal},
    sequence::{Mechanism, Sequence, Step},
};
use serde_json::{Value, json};

const PEDESTAL_PHASES: [Sequence<Pedestal>; 4] =
    [pedestal::DEPLOY, pedestal::COLLECT, pedestal::PLACE, pedestal::STOW];
const DOLL_PHASES: [Sequence<Doll>; 5] =
    [doll::PREPARE, doll::DEPLOY, doll::COLLECT, doll::PLACE, doll::STOW];

/// All sequences, phases first.
pub(crate) fn all() -> String {
    let mut text = String::new();
    table(&mut text, "daiza, phases", &PEDESTAL_PHASES);
    table(&mut text, "hina, phases", &DOLL_PHASES);
    table(&mut text, "daiza_cmd, goals", &pedestal::GOALS);
    table(&mut text, "hina_cmd, goals", &doll::GOALS);
    text
}

/// The same for programs.
pub(crate) fn json() -> Value {
    json!({
        "daiza": {"phases": sequences(&PEDESTAL_PHASES), "goals": sequences(&pedestal::GOALS)},
        "hina": {"phases": sequences(&DOLL_PHASES), "goals": sequences(&doll::GOALS)},
    })
}

fn sequences<M: Mechanism>(sequences: &[Sequence<M>]) -> Vec<Value> {
    let step = |step: &Step<M>| {
        let describe = |condition| M::describe(None, step, condition);
        json!({"what": step.what, "needs": step.needs.map(describe), "until": describe(step.until),
            "feedback": step.feedback})
    };
    let sequence = |sequence: &Sequence<M>| json!({"name": sequence.name, "steps": sequence.steps.iter().map(step).collect::<Vec<_>>()});
    sequences.iter().map(sequence).collect()
}

fn table<M: Mechanism>(text: &mut String, title: &str, sequences: &[Sequence<M>]) {
    let mut line = |line: String| writeln!(text, "{line}").expect("a String takes all");
    line(format!("{title}\n"));
    for sequence in sequences {
        if sequence.steps.is_empty() {
            line(format!("  {:30} ends what runs and holds", sequence.name));
        }
        for (index, step) in sequence.steps.iter().enumerate() {
            let name = if index == 0 { sequence.name } else { "" };
            let needs = step.needs.map(|needs| format!("; needs {}", M::describe(None, step, needs)));
            let until = M::describe(None, step, step.until);
            let feedback = step.feedback.map(|code| format!("; feedback {code}"));
            line(format!(
                "  {name:30} {}. {:28} waits for {until}{}{}",
                index + 1,
                step.what,
                needs.unwrap_or_default(),
                feedback.unwrap_or_default()
            ));
        }
    }
    line(String::new());
}
