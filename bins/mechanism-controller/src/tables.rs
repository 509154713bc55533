//! The step tables for people.

use std::fmt::Write;

use rosless_mechanism::{
    doll::{self, Doll},
    pedestal::{self, Pedestal},
    sequence::{Mechanism, Sequence},
};

/// All sequences, phases first.
pub(crate) fn all() -> String {
    let mut text = String::new();
    let pedestal_phases = [pedestal::DEPLOY, pedestal::COLLECT, pedestal::PLACE, pedestal::STOW];
    table::<Pedestal>(&mut text, "daiza, phases", &pedestal_phases);
    table::<Doll>(
        &mut text,
        "hina, phases",
        &[doll::PREPARE, doll::DEPLOY, doll::COLLECT, doll::PLACE, doll::STOW],
    );
    table::<Pedestal>(&mut text, "daiza_cmd, goals", &pedestal::GOALS);
    table::<Doll>(&mut text, "hina_cmd, goals", &doll::GOALS);
    text
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
