//! Message definitions as recordings carry them: a type's text, then those of all types in it.

use std::{collections::BTreeSet, fmt::Write as _, sync::Arc};

use rosless_schema::{BaseType, Field, Kind, Literal, MessageType, Registry, SchemaError, Structure};

/// Text that says how messages of a type look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Definition {
    /// `ros2msg`, or `ros2idl` in files of others.
    pub encoding: String,
    /// The definition with all it depends on.
    pub text: String,
}

const RULE: &str = "================================================================================";

impl Definition {
    /// The definition of a type that a registry knows.
    ///
    /// # Errors
    /// When it does not, or not all that is in it.
    pub fn of(registry: &Registry, name: &str) -> Result<Self, SchemaError> {
        let name = registry.full_name(name)?;
        let mut text = String::new();
        let (mut seen, mut pending) = (BTreeSet::from([name.clone()]), vec![name.clone()]);
        while let Some(next) = pending.pop() {
            if next != name {
                write!(text, "\n{RULE}\nMSG: {}\n", short(&next)).expect("a String takes all");
            }
            let structure = registry.structure(&next)?;
            match registry.source(&next) {
                Some((Kind::Msg, source)) => text += source.trim_end(),
                _ => text += generated(&structure).trim_end(),
            }
            let nested = structure.fields.iter().rev().filter_map(|field| match &field.ty.base {
                BaseType::Message(nested) => Some(nested.clone()),
                _ => None,
            });
            pending.extend(nested.filter(|nested| seen.insert(nested.clone())));
        }
        text.push('\n');
        Ok(Self { encoding: "ros2msg".into(), text })
    }

    /// The type that the text describes, ready to decode messages.
    ///
    /// # Errors
    /// When the text is not a definition.
    pub fn message_type(&self, name: &str) -> Result<Arc<MessageType>, SchemaError> {
        if self.encoding != "ros2msg" {
            return Err(SchemaError::Invalid {
                name: name.to_owned(),
                message: format!("its definition is {}, not ros2msg", self.encoding),
            });
        }
        let mut parts = vec![(short(name), String::new())];
        let mut lines = self.text.lines().peekable();
        while let Some(line) = lines.next() {
            let title = (line == RULE).then(|| lines.peek()?.strip_prefix("MSG: ")).flatten();
            if let Some(title) = title {
                parts.push((short(title.trim()), String::new()));
                lines.next();
            } else if let Some((_, text)) = parts.last_mut() {
                text.push_str(line);
                text.push('\n');
            }
        }
        // Types that services and actions imply have underscores in their names, which files do not have.
        let implied: Vec<String> = parts
            .iter()
            .filter_map(|(name, _)| Some(name.rsplit('/').next()?.to_owned()))
            .filter(|name| name.contains('_'))
            .collect();
        let mut registry = Registry::new();
        for (name, text) in &parts {
            let (package, ty) = name.split_once('/').unwrap_or(("", name));
            registry.add_source(Kind::Msg, package, &plain(ty, &implied), name, &renamed(text, &implied));
        }
        let (package, ty) = parts[0].0.split_once('/').unwrap_or(("", &parts[0].0));
        registry.message_type(&format!("{package}/msg/{}", plain(ty, &implied)))
    }
}

/// `pkg/msg/Type` as definitions refer to it: `pkg/Type`.
fn short(name: &str) -> String {
    let mut parts = name.split('/');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(package), Some(_), Some(ty)) => format!("{package}/{ty}"),
        _ => name.to_owned(),
    }
}

fn plain(ty: &str, implied: &[String]) -> String {
    match implied.iter().any(|name| name == ty) {
        true => ty.replace('_', ""),
        false => ty.to_owned(),
    }
}

/// The text with the names of implied types as files may have them.
fn renamed(text: &str, implied: &[String]) -> String {
    if implied.is_empty() {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        // A field begins with its type; nothing else of the line can name one.
        let end = line.find([' ', '\t', '[', '#', '\n']).unwrap_or(line.len());
        let (ty, rest) = line.split_at(end);
        match ty.rsplit_once('/') {
            Some((package, ty)) => {
                write!(out, "{package}/{}", plain(ty, implied)).expect("a String takes all")
            }
            None => out += &plain(ty, implied),
        }
        out += rest;
    }
    out
}

/// The text of a type that no file defines.
fn generated(structure: &Structure) -> String {
    let mut text = String::new();
    for constant in &structure.constants {
        writeln!(text, "{} {}={}", constant.ty, constant.name, literal(&constant.value))
            .expect("a String takes all");
    }
    for Field { name, ty, default } in &structure.fields {
        let base = match &ty.base {
            BaseType::Message(nested) => short(nested),
            other => other.to_string(),
        };
        let default = default.as_ref().map_or_else(String::new, |value| format!(" {}", literal(value)));
        writeln!(text, "{base}{} {name}{default}", ty.arity).expect("a String takes all");
    }
    text
}

fn literal(value: &Literal) -> String {
    match value {
        Literal::Bool(value) => value.to_string(),
        Literal::Int(value) => value.to_string(),
        Literal::Float(value) => rosless_schema::python::float(*value),
        Literal::String(text) => serde_json::to_string(text).unwrap_or_default(),
        Literal::List(items) => format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_holds_all_it_needs_once() {
        let registry = Registry::embedded();
        let stamped = Definition::of(&registry, "geometry_msgs/PoseStamped").unwrap();
        let titles: Vec<_> = stamped.text.lines().filter_map(|line| line.strip_prefix("MSG: ")).collect();
        assert_eq!(
            titles,
            [
                "std_msgs/Header",
                "builtin_interfaces/Time",
                "geometry_msgs/Pose",
                "geometry_msgs/Point",
                "geometry_msgs/Quaternion"
            ]
        );
        assert_eq!(stamped.text.matches(RULE).count(), titles.len());
    }

    #[test]
    fn every_type_known_here_is_the_same_after_the_way_through_its_text() {
        let registry = Registry::embedded();
        let mut names: Vec<String> = registry.names().iter().map(ToString::to_string).collect();
        for name in names.clone() {
            let suffixes: &[&str] = match name.split('/').nth(1) {
                Some("srv") => &["Request", "Response", "Event"],
                Some("action") => {
                    &["Goal", "Result", "Feedback", "FeedbackMessage", "SendGoal_Request", "GetResult_Event"]
                }
                _ => &[],
            };
            names.extend(suffixes.iter().map(|suffix| format!("{name}_{suffix}")));
        }
        let is_implied = |name: &String| name.rsplit('/').next().is_some_and(|ty| ty.contains('_'));
        names.retain(|name| name.contains("/msg/") || is_implied(name));
        let mut seen = 0;
        for name in &names {
            let Ok(known) = registry.message_type(name) else { continue };
            let definition = Definition::of(&registry, name).unwrap();
            let read = definition.message_type(name).unwrap_or_else(|error| panic!("{name}: {error}"));
            let shape = |ty: &MessageType| -> Vec<String> {
                ty.fields().iter().map(|field| field.name().to_owned()).collect()
            };
            assert_eq!(shape(&read), shape(&known), "{name}");
            let default = rosless_schema::DynamicMessage::new(&known).to_payload();
            let again = rosless_schema::DynamicMessage::from_payload(&read, &default)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(again.to_payload(), default, "{name}");
            seen += 1;
        }
        assert!(seen > 200, "only {seen} types");
    }
}
