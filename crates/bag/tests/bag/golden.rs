//! Every type of which real ROS 2 wrote examples goes through a file of ours and a reader of others.

use std::{collections::BTreeMap, fs, path::PathBuf};

use rosless_bag::{BagOptions, BagWriter, Message};
use rosless_tests::{BagJudge, Scratch};
use serde_json::Value;

use crate::world::topic;

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap()).collect()
}

/// Numbers as numbers: 1.0 and 1 are the same value, and so are 255 and -1 of a `char`, which that reader takes for signed.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            a.as_f64() == b.as_f64()
                || a.as_i64().is_some_and(|a| (-128..0).contains(&a) && b.as_i64() == Some(a + 256))
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}

#[test]
fn others_decode_every_golden_type_from_a_recording_of_ours() {
    let Some(judge) = BagJudge::find() else { return };
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/golden/cdr");
    let folder = Scratch::make();
    let mut bag = BagWriter::create(&folder.join("golden"), BagOptions::default()).unwrap();
    let mut expected = BTreeMap::new();
    let mut time = 1_000_000_000;
    for (number, file) in (0..).zip(fs::read_dir(data).unwrap()) {
        let instances: Vec<Value> =
            serde_json::from_str(&fs::read_to_string(file.unwrap().path()).unwrap()).unwrap();
        let ty = instances[0]["type"].as_str().unwrap();
        let index = bag.add_topic(topic(&format!("/golden_{number}"), ty));
        for instance in &instances {
            time += 1000;
            let data = unhex(instance["cdr_hex"].as_str().unwrap());
            bag.write(index, Message { log_time: time, publish_time: time - 1, sequence: 7, data }).unwrap();
            expected.insert(time, instance.clone());
        }
    }
    bag.finish().unwrap();
    let said = judge.ask("decode", &folder.join("golden/golden_0.mcap"), &[]).unwrap();
    assert_eq!(said.len(), expected.len());
    let mut wrong = Vec::new();
    for message in &said {
        let instance = &expected[&message["log_time"].as_u64().unwrap()];
        assert_eq!((&message["type"], &message["hex"]), (&instance["type"], &instance["cdr_hex"]));
        assert_eq!(message["sequence"], 7);
        if !same(&message["value"], &instance["value"]) {
            wrong.push(format!("{}: {} instead of {}", message["type"], message["value"], instance["value"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
