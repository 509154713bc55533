//! Against what a real ROS 2 produced: type hashes and serialized messages.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test prints for people")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::{env, fs};

use rosless_schema::{DynamicMessage, Registry, SchemaError};
use serde_json::Value as Json;

fn golden() -> PathBuf {
    env::var_os("ROSLESS_GOLDEN").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/golden"),
        PathBuf::from,
    )
}

#[test]
fn hashes_equal_those_of_rosidl() {
    let registry = Registry::embedded();
    let text = fs::read_to_string(golden().join("type_hashes.json")).unwrap();
    let hashes: BTreeMap<String, String> = serde_json::from_str(&text).unwrap();
    let (mut equal, mut wrong, mut unknown) = (0, Vec::new(), Vec::new());
    for (name, expected) in &hashes {
        match registry.type_hash(name) {
            Ok(hash) if hash == *expected => equal += 1,
            Ok(hash) => wrong.push(format!("{name}: {hash}, expected {expected}")),
            Err(SchemaError::Unknown { .. }) => unknown.push(name.as_str()),
            Err(error) => wrong.push(format!("{name}: {error}")),
        }
    }
    println!("{equal} of {} hashes equal; no definition for {}: {unknown:?}", hashes.len(), unknown.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(equal > 0, "no hash was compared");
}

#[test]
fn instances_decode_to_their_value_and_encode_to_their_bytes() {
    let registry = Registry::embedded();
    let (mut passed, mut failures) = (0, Vec::new());
    for file in fs::read_dir(golden().join("cdr")).unwrap() {
        let file = file.unwrap().path();
        let instances: Vec<Json> = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        for instance in &instances {
            match check_instance(&registry, instance) {
                Ok(()) => passed += 1,
                Err(why) => failures.push(format!("{} {}: {why}", instance["type"], instance["name"])),
            }
        }
    }
    println!("{passed} instances passed");
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
    assert!(passed > 0, "no instance was found");
}

fn check_instance(registry: &Registry, instance: &Json) -> Result<(), String> {
    let name = instance["type"].as_str().ok_or("no type")?;
    let ty = registry.message_type(name).map_err(|e| e.to_string())?;
    if registry.type_hash(name).map_err(|e| e.to_string())? != instance["type_hash"] {
        return Err("another type hash".to_owned());
    }
    let exact = unhex(instance["cdr_hex"].as_str().ok_or("no cdr_hex")?);
    let decode = |bytes: &[u8]| DynamicMessage::from_payload(&ty, bytes).map_err(|e| e.to_string());
    let as_json = |m: &DynamicMessage| serde_json::to_value(m).map_err(|e| e.to_string());

    let message = decode(&exact)?;
    if as_json(&message)? != instance["value"] {
        return Err(format!("decoded {}, expected {}", as_json(&message)?, instance["value"]));
    }
    if let Some(hex) = instance["cdr_hex_fastrtps_decode_only"].as_str()
        && as_json(&decode(&unhex(hex))?)? != instance["value"]
    {
        return Err("the Fast DDS form decodes to another value".to_owned());
    }
    let encoded = message.to_payload();
    let padding = encoded.strip_prefix(exact.as_slice()).ok_or("encoded to other bytes")?;
    if encoded.len() % 4 != 0 || padding.len() > 3 || padding.iter().any(|b| *b != 0) {
        return Err(format!("padding is {padding:?}"));
    }
    Ok(())
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}
