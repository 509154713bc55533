//! The rules for declaring, reading and setting parameters, as rclcpp has them.

use std::collections::{BTreeMap, BTreeSet};

use super::{Descriptor, ParameterType, ParameterValue, Range};

/// Why a parameter was not declared, read or set; the text is the `reason` others get to read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "fields are named in the text of each")]
pub enum ParameterError {
    /// A declaration without a name.
    #[error("parameter name must not be empty")]
    NoName,
    /// A second declaration.
    #[error("parameter '{0}' has already been declared")]
    AlreadyDeclared(String),
    /// Nobody declared it, and the node takes no others.
    #[error("parameter '{0}' cannot be set because it was not declared")]
    NotDeclared(String),
    /// It can be given at the start only.
    #[error("parameter '{0}' cannot be set because it is read-only")]
    ReadOnly(String),
    /// It was declared by type alone, and nobody set it.
    #[error("parameter '{0}' has no value yet")]
    NoValue(String),
    /// A declaration from which no type follows.
    #[error("parameter '{0}' needs a value, or dynamic typing")]
    Untyped(String),
    /// Only parameters that may change their type can go.
    #[error("parameter '{0}' has a fixed type and cannot be undeclared")]
    StaticallyTyped(String),
    /// The value is of another type than the declaration.
    #[error(
        "Wrong parameter type, parameter {{{name}}} is of type {{{declared}}}, setting it to {{{given}}} is not allowed."
    )]
    WrongType { name: String, declared: ParameterType, given: ParameterType },
    /// The text begins as rclcpp's, and goes on with what would be right.
    #[error("Parameter {{{name}}} doesn't comply with {} range: {value} is not {range}", range.kind())]
    OutOfRange {
        /// The parameter.
        name: String,
        /// What it was to be.
        value: String,
        /// What it may be.
        range: Range,
    },
    /// The node's own code did not like the value.
    #[error("{0}")]
    Refused(String),
}

/// A name with a value.
pub type NamedValue = (String, ParameterValue);

/// What a successful operation did: the content of a parameter event.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Change {
    /// Declared.
    pub new: Vec<NamedValue>,
    /// Set.
    pub changed: Vec<NamedValue>,
    /// Removed, with their last values.
    pub deleted: Vec<NamedValue>,
}

#[derive(Debug, Clone)]
struct Entry {
    descriptor: Descriptor,
    value: ParameterValue,
}

/// How much a name must be like another to be taken for it (Jaro-Winkler).
const NEAR: f64 = 0.85;

/// All parameters of one node.
#[derive(Debug, Clone, Default)]
pub struct ParameterStore {
    entries: BTreeMap<String, Entry>,
    overrides: BTreeMap<String, ParameterValue>,
    allow_undeclared: bool,
}

impl ParameterStore {
    /// `overrides` are the values given on the command line and in files; they win over the defaults of declarations.
    pub fn new(overrides: BTreeMap<String, ParameterValue>) -> Self {
        Self { overrides, ..Self::default() }
    }

    /// Lets others set, and so create, parameters that were never declared.
    #[must_use]
    pub fn allow_undeclared(mut self) -> Self {
        self.allow_undeclared = true;
        self
    }

    /// Whether a value was given for a parameter whose name begins so.
    pub fn is_given(&self, prefix: &str) -> bool {
        self.overrides.range(prefix.to_owned()..).next().is_some_and(|(name, _)| name.starts_with(prefix))
    }

    /// The value that was given for a parameter.
    pub fn given(&self, name: &str) -> Option<&ParameterValue> {
        self.overrides.get(name)
    }

    /// Values that were given for parameters that are not there, with the nearest that is.
    pub fn unused(&self) -> Vec<(String, Option<String>)> {
        let unknown = |name: &&String| !self.allow_undeclared && !self.entries.contains_key(*name);
        let nearest = |name: &str| {
            let scored = self.entries.keys().map(|known| (strsim::jaro_winkler(name, known), known));
            let near = scored.filter(|(score, _)| *score > NEAR).max_by(|a, b| a.0.total_cmp(&b.0));
            near.map(|(_, known)| known.clone())
        };
        self.overrides.keys().filter(unknown).map(|name| (name.clone(), nearest(name))).collect()
    }

    /// Declares a parameter. Without dynamic typing its type is the default's, or the descriptor's when the default
    /// is [`ParameterValue::NotSet`] (then it has no value until somebody gives it one).
    pub fn declare(
        &mut self,
        mut descriptor: Descriptor,
        default: ParameterValue,
        validate: impl FnOnce(&[NamedValue]) -> Result<(), String>,
    ) -> Result<Change, ParameterError> {
        let name = descriptor.name.clone();
        if name.is_empty() {
            return Err(ParameterError::NoName);
        }
        if self.entries.contains_key(&name) {
            return Err(ParameterError::AlreadyDeclared(name));
        }
        if !descriptor.dynamic_typing && default.kind() != ParameterType::NotSet {
            descriptor.kind = default.kind();
        }
        if !descriptor.dynamic_typing && descriptor.kind == ParameterType::NotSet {
            return Err(ParameterError::Untyped(name));
        }
        let value = self.overrides.get(&name).cloned().unwrap_or(default);
        let mut change = Change::default();
        if value != ParameterValue::NotSet {
            descriptor.check(&value)?;
            change.new.push((name.clone(), value.clone()));
            validate(&change.new).map_err(ParameterError::Refused)?;
            descriptor.kind = value.kind();
        }
        self.entries.insert(name, Entry { descriptor, value });
        Ok(change)
    }

    fn entry(&self, name: &str) -> Result<&Entry, ParameterError> {
        self.entries.get(name).ok_or_else(|| ParameterError::NotDeclared(name.to_owned()))
    }

    /// Whether it is declared.
    pub fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// Every parameter that has a value.
    pub fn values(&self) -> Vec<NamedValue> {
        let set = self.entries.iter().filter(|(_, entry)| entry.value != ParameterValue::NotSet);
        set.map(|(name, entry)| (name.clone(), entry.value.clone())).collect()
    }

    /// What it may be.
    pub fn descriptor(&self, name: &str) -> Result<&Descriptor, ParameterError> {
        self.entry(name).map(|entry| &entry.descriptor)
    }

    /// The value; a declared one without a value is an error unless it is dynamically typed.
    pub fn get(&self, name: &str) -> Result<ParameterValue, ParameterError> {
        match self.entry(name) {
            Ok(Entry { value: ParameterValue::NotSet, descriptor }) if !descriptor.dynamic_typing => {
                Err(ParameterError::NoValue(name.to_owned()))
            }
            Ok(entry) => Ok(entry.value.clone()),
            Err(_) if self.allow_undeclared => Ok(ParameterValue::NotSet),
            Err(error) => Err(error),
        }
    }

    /// Answers `get_parameters`: all values, or none when one of the names is wrong.
    pub fn get_all(&self, names: &[String]) -> Vec<ParameterValue> {
        names.iter().map(|name| self.get(name)).collect::<Result<_, _>>().unwrap_or_default()
    }

    /// Answers `get_parameter_types`: all types, or none when one of the names is wrong.
    pub fn types(&self, names: &[String]) -> Vec<ParameterType> {
        let kind = |name: &String| match self.entry(name) {
            Ok(entry) => Ok(entry.value.kind()),
            Err(_) if self.allow_undeclared => Ok(ParameterType::NotSet),
            Err(error) => Err(error),
        };
        names.iter().map(kind).collect::<Result<_, _>>().unwrap_or_default()
    }

    /// Answers `describe_parameters`: all descriptors, or none when one of the names is wrong.
    pub fn describe(&self, names: &[String]) -> Vec<Descriptor> {
        let describe = |name: &String| match self.descriptor(name) {
            Ok(descriptor) => Ok(descriptor.clone()),
            Err(_) if self.allow_undeclared => Ok(Descriptor::new(name)),
            Err(error) => Err(error),
        };
        names.iter().map(describe).collect::<Result<_, _>>().unwrap_or_default()
    }

    /// Answers `list_parameters`: names in order, and the prefixes they stand below.
    ///
    /// Without prefixes all names with less than `depth` dots; with prefixes those that equal one, or that have less
    /// than `depth` dots behind it. A depth of zero is no limit.
    pub fn list(&self, prefixes: &[String], depth: u64) -> (Vec<String>, Vec<String>) {
        let shallow = |name: &str| depth == 0 || (name.matches('.').count() as u64) < depth;
        let below = |name: &str, prefix: &String| {
            let rest = name.strip_prefix(prefix.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix('.').is_some_and(shallow))
        };
        let wanted = |name: &&String| match prefixes {
            [] => shallow(name),
            _ => prefixes.iter().any(|prefix| below(name, prefix)),
        };
        let names: Vec<_> = self.entries.keys().filter(wanted).cloned().collect();
        let mut found = Vec::new();
        let mut seen = BTreeSet::new();
        for (prefix, _) in names.iter().filter_map(|name| name.rsplit_once('.')) {
            if seen.insert(prefix) {
                found.push(prefix.to_owned());
            }
        }
        (names, found)
    }

    /// Sets all values or none. A value of [`ParameterValue::NotSet`] removes a dynamically typed parameter.
    ///
    /// `validate` is the node's own code; it sees all values at once and may refuse with a reason.
    pub fn set_atomically(
        &mut self,
        values: &[NamedValue],
        validate: impl FnOnce(&[NamedValue]) -> Result<(), String>,
    ) -> Result<Change, ParameterError> {
        for (name, value) in values {
            self.check_set(name, value)?;
        }
        validate(values).map_err(ParameterError::Refused)?;
        let mut change = Change::default();
        for (name, value) in values {
            let named = (name.clone(), value.clone());
            match (self.entries.get_mut(name), value) {
                (None, ParameterValue::NotSet) => {}
                (None, value) => {
                    let descriptor =
                        Descriptor { kind: value.kind(), ..Descriptor::new(name).dynamic_typing() };
                    self.entries.insert(name.clone(), Entry { descriptor, value: value.clone() });
                    change.new.push(named);
                }
                (Some(entry), ParameterValue::NotSet) if entry.value != ParameterValue::NotSet => {
                    let last = self.entries.remove(name).map(|entry| entry.value).unwrap_or_default();
                    change.deleted.push((name.clone(), last));
                }
                (Some(entry), value) => {
                    entry.descriptor.kind = value.kind();
                    entry.value = value.clone();
                    change.changed.push(named);
                }
            }
        }
        Ok(change)
    }

    fn check_set(&self, name: &str, value: &ParameterValue) -> Result<(), ParameterError> {
        if name.is_empty() {
            return Err(ParameterError::NoName);
        }
        match self.descriptor(name) {
            Err(_) if self.allow_undeclared => Ok(()),
            Err(error) => Err(error),
            Ok(descriptor) if descriptor.read_only => Err(ParameterError::ReadOnly(name.to_owned())),
            Ok(descriptor) if *value == ParameterValue::NotSet && !descriptor.dynamic_typing => {
                Err(ParameterError::StaticallyTyped(name.to_owned()))
            }
            Ok(descriptor) => descriptor.check(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use ParameterValue as V;
    use proptest::prelude::*;

    use super::*;

    fn fine(_: &[NamedValue]) -> Result<(), String> {
        Ok(())
    }

    fn store() -> ParameterStore {
        let mut store = ParameterStore::new(BTreeMap::from([("given".to_owned(), V::Integer(7))]));
        let rate = Descriptor::new("rate").description("Hz").integer_range(0, 10, 3);
        store.declare(rate, V::Integer(3), fine).unwrap();
        store.declare("given".into(), V::Integer(1), fine).unwrap();
        store.declare(Descriptor::new("id").read_only(), V::from("x"), fine).unwrap();
        store.declare(Descriptor::new("any").dynamic_typing(), V::Bool(true), fine).unwrap();
        store.declare(Descriptor::new("gain.p").double_range(0.0, 1.0, 0.1), V::Double(0.5), fine).unwrap();
        store.declare("gain.inner.i".into(), V::Double(0.5), fine).unwrap();
        let typed = Descriptor { kind: ParameterType::String, ..Descriptor::new("later") };
        store.declare(typed, V::NotSet, fine).unwrap();
        store
    }

    fn set(store: &mut ParameterStore, name: &str, value: V) -> Result<Change, String> {
        store.set_atomically(&[(name.to_owned(), value)], fine).map_err(|error| error.to_string())
    }

    fn strings(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn an_override_wins_over_the_default_and_must_fit_the_type() {
        assert_eq!(store().get("given"), Ok(V::Integer(7)));
        let mut store = ParameterStore::new(BTreeMap::from([("rate".to_owned(), V::Integer(7))]));
        let error = store.declare("rate".into(), V::Double(1.0), fine).unwrap_err().to_string();
        assert!(
            error.contains("{rate} is of type {double}, setting it to {integer} is not allowed"),
            "{error}"
        );
        assert!(!store.has("rate"));
    }

    #[test]
    fn what_was_given_for_nothing_is_known_with_what_may_have_been_meant() {
        let given = ["rate", "rat", "gains.q", "zzz"].map(|name| (name.to_owned(), V::Integer(1)));
        let mut store = ParameterStore::new(given.into());
        store.declare("rate".into(), V::Integer(1), fine).unwrap();
        store.declare("gains.p".into(), V::Integer(1), fine).unwrap();
        let meant = |name: &str| Some(name.to_owned());
        assert_eq!(
            store.unused(),
            [("gains.q".into(), meant("gains.p")), ("rat".into(), meant("rate")), ("zzz".into(), None)]
        );
        assert_eq!(store.allow_undeclared().unused(), []);
    }

    #[test]
    fn declarations_are_checked() {
        let mut store = store();
        let mut declare =
            |d: Descriptor, v: V| store.declare(d, v, fine).map_err(|error| error.to_string()).unwrap_err();
        assert_eq!(declare("rate".into(), V::Integer(1)), "parameter 'rate' has already been declared");
        assert_eq!(declare("".into(), V::Integer(1)), "parameter name must not be empty");
        assert!(declare("none".into(), V::NotSet).contains("needs a value"));
        let error = declare(Descriptor::new("r").integer_range(0, 1, 0), V::Integer(5));
        assert_eq!(error, "Parameter {r} doesn't comply with integer range: 5 is not in 0 … 1");
        let refused = store.declare("mine".into(), V::Integer(1), |_| Err("no".to_owned()));
        assert_eq!(refused, Err(ParameterError::Refused("no".to_owned())));
    }

    #[test]
    fn setting_follows_type_range_and_permission() {
        let mut store = store();
        assert_eq!(
            set(&mut store, "rate", V::Integer(6)).unwrap().changed,
            [("rate".to_owned(), V::Integer(6))]
        );
        assert!(set(&mut store, "rate", V::Integer(10)).is_ok(), "the ends are allowed off step");
        for (name, value, reason) in [
            (
                "rate",
                V::Integer(7),
                "Parameter {rate} doesn't comply with integer range: 7 is not in 0 … 10 in steps of 3",
            ),
            (
                "rate",
                V::Integer(-3),
                "Parameter {rate} doesn't comply with integer range: -3 is not in 0 … 10 in steps of 3",
            ),
            (
                "rate",
                V::Double(6.0),
                "Wrong parameter type, parameter {rate} is of type {integer}, setting it to {double} is not allowed.",
            ),
            (
                "gain.p",
                V::Double(0.55),
                "Parameter {gain.p} doesn't comply with floating point range: 0.55 is not in 0 … 1 in steps of 0.1",
            ),
            (
                "gain.p",
                V::Double(f64::NAN),
                "Parameter {gain.p} doesn't comply with floating point range: NaN is not in 0 … 1 in steps of 0.1",
            ),
            (
                "gain.p",
                V::Double(f64::INFINITY),
                "Parameter {gain.p} doesn't comply with floating point range: inf is not in 0 … 1 in steps of 0.1",
            ),
            (
                "gain.p",
                V::Double(f64::NEG_INFINITY),
                "Parameter {gain.p} doesn't comply with floating point range: -inf is not in 0 … 1 in steps of 0.1",
            ),
            ("id", V::from("y"), "parameter 'id' cannot be set because it is read-only"),
            ("nobody", V::Bool(true), "parameter 'nobody' cannot be set because it was not declared"),
            ("rate", V::NotSet, "parameter 'rate' has a fixed type and cannot be undeclared"),
            ("", V::Bool(true), "parameter name must not be empty"),
        ] {
            assert_eq!(set(&mut store, name, value), Err(reason.to_owned()));
        }
        assert_eq!(store.get("rate"), Ok(V::Integer(10)));
        assert!(set(&mut store, "gain.p", V::Double(0.1 + 0.2)).is_ok(), "steps are compared with tolerance");
        assert!(set(&mut store, "any", V::from("now text")).is_ok());
        assert_eq!(store.types(&strings(&["any"])), [ParameterType::String]);
    }

    #[test]
    fn a_declared_parameter_may_get_its_value_later() {
        let mut store = store();
        assert_eq!(store.get("later"), Err(ParameterError::NoValue("later".to_owned())));
        assert_eq!(store.types(&strings(&["later"])), [ParameterType::NotSet]);
        assert!(set(&mut store, "later", V::Integer(1)).is_err());
        assert!(set(&mut store, "later", V::from("text")).is_ok());
    }

    #[test]
    fn atomic_means_all_or_none() {
        let mut store = store();
        let values = [("given".to_owned(), V::Integer(2)), ("rate".to_owned(), V::Integer(7))];
        assert!(store.set_atomically(&values, fine).is_err());
        assert_eq!(store.get("given"), Ok(V::Integer(7)));
        let values = [("given".to_owned(), V::Integer(2)), ("rate".to_owned(), V::Integer(9))];
        let mut seen = 0;
        let refused = store.set_atomically(&values, |all| {
            seen = all.len();
            Err("not today".to_owned())
        });
        assert_eq!((refused, seen), (Err(ParameterError::Refused("not today".to_owned())), 2));
        assert_eq!(store.set_atomically(&values, fine).unwrap().changed, values);
    }

    #[test]
    fn undeclared_parameters_come_and_go_where_allowed() {
        let mut store = store().allow_undeclared();
        assert_eq!(store.get("x"), Ok(V::NotSet));
        assert_eq!(set(&mut store, "x", V::Integer(1)).unwrap().new, [("x".to_owned(), V::Integer(1))]);
        assert_eq!(set(&mut store, "x", V::Bool(true)).unwrap().changed.len(), 1);
        assert_eq!(set(&mut store, "x", V::NotSet).unwrap().deleted, [("x".to_owned(), V::Bool(true))]);
        assert_eq!(set(&mut store, "x", V::NotSet), Ok(Change::default()));
        assert_eq!(store.describe(&strings(&["x"])), [Descriptor::new("x")]);
    }

    #[test]
    fn removing_a_parameter_needs_dynamic_typing() {
        let mut store = store();
        assert!(set(&mut store, "rate", V::NotSet).is_err());
        assert!(set(&mut store, "id", V::NotSet).unwrap_err().contains("read-only"));
        assert_eq!(set(&mut store, "any", V::NotSet).unwrap().deleted, [("any".to_owned(), V::Bool(true))]);
        assert!(!store.has("any"));
    }

    #[test]
    fn one_unknown_name_empties_the_whole_answer() {
        let store = store();
        assert_eq!(store.get_all(&strings(&["rate", "given"])), [V::Integer(3), V::Integer(7)]);
        assert_eq!(store.get_all(&strings(&["rate", "nobody"])), []);
        assert_eq!(store.types(&strings(&["nobody"])), []);
        assert_eq!(store.describe(&strings(&["rate", "nobody"])), []);
        assert_eq!(store.describe(&strings(&["rate"]))[0].description, "Hz");
    }

    #[test]
    fn lists_obey_prefix_and_depth() {
        let store = store();
        let list = |prefixes: &[&str], depth| store.list(&strings(prefixes), depth);
        let (names, prefixes) = list(&[], 0);
        assert_eq!(names, ["any", "gain.inner.i", "gain.p", "given", "id", "later", "rate"]);
        assert_eq!(prefixes, ["gain.inner", "gain"]);
        assert_eq!(list(&[], 1).0, ["any", "given", "id", "later", "rate"]);
        assert_eq!(list(&[], 2).0.len(), 6);
        assert_eq!(list(&["gain"], 0).0, ["gain.inner.i", "gain.p"]);
        assert_eq!(list(&["gain"], 1).0, ["gain.p"]);
        assert_eq!(list(&["rate", "g"], 0).0, ["rate"]);
    }

    proptest! {
        #[test]
        fn a_value_that_was_taken_obeys_its_range(from in -50i64..50, length in 0i64..50, step in 0u64..5, value in any::<i64>()) {
            let to = from + length;
            let mut store = ParameterStore::default();
            store.declare(Descriptor::new("p").integer_range(from, to, step), V::Integer(from), fine).unwrap();
            for value in [value, value % 100, i64::MIN, i64::MAX] {
                let taken = set(&mut store, "p", V::Integer(value)).is_ok();
                let fits = value == to || (from..=to).contains(&value) && (step == 0 || (value - from) % step as i64 == 0);
                prop_assert_eq!(taken, fits);
            }
        }

        #[test]
        fn a_refused_set_changes_nothing(names in proptest::collection::vec("rate|given|id|any|nobody", 1..5), value in 0i64..12) {
            let mut store = store();
            let all = strings(&["rate", "given", "id", "any"]);
            let before = store.get_all(&all);
            let values: Vec<_> = names.into_iter().map(|name| (name, V::Integer(value))).collect();
            if store.set_atomically(&values, fine).is_err() {
                prop_assert_eq!(store.get_all(&all), before);
            } else {
                prop_assert!(values.iter().all(|(name, value)| store.get(name).as_ref() == Ok(value)));
            }
        }
    }
}
