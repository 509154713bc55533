//! Message definitions as recordings carry them: a type's text, then those of all types in it.

use std::{fmt::Write as _, sync::Arc};

use rosless_schema::{Kind, MessageType, RULE, Registry, SchemaError, Source, short_name};

/// Text that says how messages of a type look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Definition {
    /// `ros2msg`, or `ros2idl` in files of others.
    pub encoding: String,
    /// The definition with all it depends on.
    pub text: String,
}

impl Definition {
    /// The definition of a type that a registry knows.
    ///
    /// # Errors
    /// When it does not, or not all that is in it.
    pub fn of(registry: &Registry, name: &str) -> Result<Self, SchemaError> {
        let text = registry.whole_definition(name)?;
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
                field: None,
                message: format!("its definition is {}, not ros2msg", self.encoding),
            });
        }
        let mut parts = vec![(short_name(name), String::new())];
        let mut lines = self.text.lines().peekable();
        while let Some(line) = lines.next() {
            let title = (line == RULE).then(|| lines.peek()?.strip_prefix("MSG: ")).flatten();
            if let Some(title) = title {
                parts.push((short_name(title.trim()), String::new()));
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
            let (plain, text) = (plain(ty, &implied), renamed(text, &implied));
            registry.add_source(Source { kind: Kind::Msg, package, name: &plain, file: name, text: &text });
        }
        let (package, ty) = parts[0].0.split_once('/').unwrap_or(("", &parts[0].0));
        registry.message_type(&format!("{package}/msg/{}", plain(ty, &implied)))
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

#[cfg(test)]
mod tests {
    use super::*;

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
