//! docs/json.md as a contract: what a command prints with `--json` has the form shown there.

use std::{collections::BTreeSet, path::Path};

use serde_json::Value;

/// Checks `actual` against the first JSON block below the heading `` `command` `` of docs/json.md.
///
/// Objects have the same keys, all elements of a list the form of the first one shown, and values the same type; `null` in
/// either stands for anything.
///
/// # Panics
/// When the page does not show the command, or shows another form.
#[track_caller]
pub fn assert_documented(command: &str, actual: &Value) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/json.md");
    let text = std::fs::read_to_string(&page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
    let (_, below) = text
        .split_once(&format!("\n### `{command}`\n"))
        .unwrap_or_else(|| panic!("docs/json.md does not show `{command}`, which printed {actual}"));
    let (_, block) = below.split_once("```json\n").expect("a JSON block");
    let (block, _) = block.split_once("```").expect("the block's end");
    let shown = serde_json::from_str(block).unwrap_or_else(|error| panic!("`{command}`: {error}"));
    if let Err(difference) = compare(&shown, actual, "") {
        panic!("`{command}` does not print what docs/json.md shows: {difference}\nprinted: {actual:#}");
    }
}

fn compare(shown: &Value, actual: &Value, place: &str) -> Result<(), String> {
    match (shown, actual) {
        (Value::Null, _) | (_, Value::Null) => Ok(()),
        (Value::Object(shown), Value::Object(actual)) => {
            let keys = |map: &serde_json::Map<String, Value>| map.keys().cloned().collect::<BTreeSet<_>>();
            // Names as keys: one entry shows the form of all.
            if let (Some(form), 1) = (shown.get("…"), shown.len()) {
                return actual
                    .iter()
                    .try_for_each(|(key, value)| compare(form, value, &format!("{place}/{key}")));
            }
            let (shown_keys, actual_keys) = (keys(shown), keys(actual));
            if let Some(key) = shown_keys.symmetric_difference(&actual_keys).next() {
                return Err(format!("only one of them has {place}/{key}"));
            }
            shown.iter().try_for_each(|(key, value)| compare(value, &actual[key], &format!("{place}/{key}")))
        }
        (Value::Array(shown), Value::Array(actual)) => match shown.first() {
            Some(form) => actual
                .iter()
                .enumerate()
                .try_for_each(|(index, value)| compare(form, value, &format!("{place}/{index}"))),
            None => Ok(()),
        },
        (Value::Bool(_), Value::Bool(_))
        | (Value::Number(_), Value::Number(_))
        | (Value::String(_), Value::String(_)) => Ok(()),
        _ => Err(format!("{place} is {actual}, shown is {shown}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn forms_are_compared_and_values_are_not() {
        let shown = json!({"a": [{"b": 1}], "c": null, "d": {"…": "x"}});
        let good = json!({"a": [{"b": 2}, {"b": null}], "c": "x", "d": {"any": "y", "name": "z"}});
        assert_eq!(compare(&shown, &good, ""), Ok(()));
        for (bad, place) in [
            (json!({"a": [{"b": "2"}], "c": 1, "d": {}}), "/a/0/b is"),
            (json!({"a": [{"b": 2, "e": 1}], "c": 1, "d": {}}), "/a/0/e"),
            (json!({"a": [], "d": {}}), "/c"),
            (json!({"a": [], "c": 1, "d": {"k": 1}}), "/d/k is"),
        ] {
            let difference = compare(&shown, &bad, "").unwrap_err();
            assert!(difference.contains(place), "{difference}");
        }
    }
}
