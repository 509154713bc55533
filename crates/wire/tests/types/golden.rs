//! Bytes and hashes that a real ROS 2 produced. `ROSLESS_GOLDEN` names another directory of the same layout.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test prints for people")]

use crate::any_type::{AllTypes, AnyType};
use crate::source::Source;
use rosless_wire::cdr::ByteOrder;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The vendors disagree on the wire form of `wstring`, so no type here has one.
const LEFT_OUT: [&str; 1] = ["example_interfaces/msg/WString"];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn golden() -> PathBuf {
    match std::env::var_os("ROSLESS_GOLDEN") {
        Some(directory) => directory.into(),
        None => repository().join("tests/data/golden"),
    }
}

/// Whether `idl/` defines a type, be it by name or as a part that a service or action implies.
fn must_exist(name: &str) -> bool {
    if LEFT_OUT.contains(&name) {
        return false;
    }
    let mut parts = name.split('/');
    let (Some(package), Some(kind), Some(name)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let base = name.split('_').next().unwrap_or(name);
    repository().join(format!("idl/{package}/{kind}/{base}.{kind}")).exists()
}

#[derive(Deserialize)]
struct Instance {
    #[serde(rename = "type")]
    type_name: String,
    type_hash: String,
    name: String,
    value: serde_json::Value,
    cdr_hex: String,
    cdr_hex_fastrtps_decode_only: Option<String>,
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2)
        .map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).expect("golden data is hex"))
        .collect()
}

/// Values are compared by their exact encoding, in which NaN equals NaN.
fn check(ty: &AnyType, instance: &Instance) -> Result<(), String> {
    let expect = |what: &str, good: bool| if good { Ok(()) } else { Err(format!("{what} differs")) };
    let golden = bytes(&instance.cdr_hex);
    let encoded =
        (ty.encode)(Source::Golden(&instance.value), ByteOrder::Little).map_err(|e| format!("value: {e}"))?;
    expect("type hash", instance.type_hash == ty.hash)?;
    expect("encoding", encoded == golden)?;
    expect("default", instance.name != "default" || (ty.default)() == golden)?;
    let big = (ty.recode)(&golden, ByteOrder::Big).map_err(|e| e.to_string())?;
    let foreign = instance.cdr_hex_fastrtps_decode_only.as_deref().map(bytes);
    for payload in [Some(golden.clone()), foreign, Some(big)].into_iter().flatten() {
        let decoded = (ty.recode)(&payload, ByteOrder::Little).map_err(|e| e.to_string())?;
        expect("decoded value", decoded == golden)?;
    }
    Ok(())
}

#[test]
fn every_golden_instance_encodes_and_decodes_exactly() {
    let types: BTreeMap<_, _> = AllTypes::new().messages.into_iter().map(|ty| (ty.name, ty)).collect();
    let mut failures = Vec::new();
    let mut passed = 0;
    for entry in std::fs::read_dir(golden().join("cdr")).expect("the golden directory has cdr/") {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for instance in
            serde_json::from_str::<Vec<Instance>>(&text).expect("a golden file is a list of instances")
        {
            let name = &instance.type_name;
            match types.get(name.as_str()).map(|ty| check(ty, &instance)) {
                Some(Ok(())) => passed += 1,
                Some(Err(e)) => failures.push(format!("{name} {}: {e}", instance.name)),
                None if must_exist(name) => {
                    failures.push(format!("{name}: defined in idl/, but not a type here"))
                }
                None => println!("not checked: {name}"),
            }
        }
    }
    println!("{passed} instances passed");
    assert!(failures.is_empty(), "{failures:#?}");
    assert!(passed > 0, "no instance found");
}

fn hashes() -> BTreeMap<&'static str, &'static str> {
    let all = AllTypes::new();
    let messages = all.messages.iter().map(|ty| (ty.name, ty.hash));
    let mut hashes = BTreeMap::new();
    for (name, hash) in messages.chain(all.others.iter().map(|info| (info.name, info.hash))) {
        assert_eq!(hashes.insert(name, hash), None, "{name} is registered twice");
    }
    hashes
}

#[test]
fn every_golden_hash_is_ours() {
    let ours = hashes();
    let text =
        std::fs::read_to_string(golden().join("type_hashes.json")).expect("the golden directory has hashes");
    let golden: BTreeMap<String, String> = serde_json::from_str(&text).unwrap();
    let wrong: Vec<_> = golden
        .iter()
        .filter(|(name, hash)| ours.get(name.as_str()).map_or(must_exist(name), |ours| ours != hash))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(!golden.is_empty());
}

#[test]
fn every_definition_has_a_type_and_every_type_a_definition() {
    let ours = hashes();
    let entries = |directory: PathBuf| std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    let mut missing = Vec::new();
    for package in entries(repository().join("idl")) {
        for kind in entries(package.path()) {
            for file in entries(kind.path()) {
                let [package, kind] = [&package, &kind].map(|entry| entry.file_name().into_string().unwrap());
                let name = format!("{package}/{kind}/{}", file.path().file_stem().unwrap().to_str().unwrap());
                if !ours.contains_key(name.as_str()) && must_exist(&name) {
                    missing.push(name);
                }
            }
        }
    }
    assert!(missing.is_empty(), "in idl/ only: {missing:?}");
    let undefined: Vec<_> = ours.keys().filter(|name| !must_exist(name)).collect();
    assert!(undefined.is_empty(), "without definition: {undefined:?}");
}
