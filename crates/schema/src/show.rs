//! Definitions as `ros2 interface show` prints them.

use std::collections::BTreeSet;

use crate::definition::{BaseType, Field, Kind, Literal, Structure};
use crate::layout::MAX_DEPTH;
use crate::python;
use crate::registry::{Registry, SchemaError};

/// Which comments [`Registry::show`] keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comments {
    /// Those of the type asked for: the default of `ros2 interface show`.
    TopLevel,
    /// Also those of nested types (`--all-comments`).
    All,
    /// None (`--no-comments`).
    None,
}

/// Most lines shown; a hostile definition can nest into exponentially many.
const MAX_LINES: usize = 20_000;

impl Registry {
    /// The definition with the fields of nested types below them, indented by tabs.
    pub fn show(&self, name: &str, comments: Comments) -> Result<String, SchemaError> {
        let full_name = self.full_name(name)?;
        let mut shown = Shown { registry: self, comments, text: String::new(), lines: 0 };
        shown.definition(&full_name, 0)?;
        Ok(shown.text)
    }
}

/// The line that stands between the definitions of [`Registry::whole_definition`], before their titles.
pub const RULE: &str = "================================================================================";

/// `pkg/msg/Type` as definitions refer to it: `pkg/Type`.
pub fn short_name(name: &str) -> String {
    let mut parts = name.split('/');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(package), Some(_), Some(ty)) => format!("{package}/{ty}"),
        _ => name.to_owned(),
    }
}

impl Registry {
    /// The definition of a message, or of a type that a service or action implies, and after it those of all types it
    /// contains, each once below [`RULE`] and a line `MSG: package/Type`: the text that files and other tools call `ros2msg`.
    pub fn whole_definition(&self, name: &str) -> Result<String, SchemaError> {
        let name = self.full_name(name)?;
        let mut text = String::new();
        let (mut seen, mut pending) = (BTreeSet::from([name.clone()]), vec![name.clone()]);
        while let Some(next) = pending.pop() {
            if next != name {
                text += &format!("\n{RULE}\nMSG: {}\n", short_name(&next));
            }
            let structure = self.structure(&next)?;
            match self.source(&next) {
                Some((Kind::Msg, source)) => text += source.trim_end(),
                // No file has just this.
                _ => text += fields_and_constants(&structure).trim_end(),
            }
            let nested = structure.fields.iter().rev().filter_map(|field| match &field.ty.base {
                BaseType::Message(nested) => Some(nested.clone()),
                _ => None,
            });
            pending.extend(nested.filter(|nested| seen.insert(nested.clone())));
        }
        text.push('\n');
        Ok(text)
    }
}

fn fields_and_constants(structure: &Structure) -> String {
    let constants =
        structure.constants.iter().map(|c| format!("{} {}={}\n", c.ty, c.name, written(&c.value)));
    let fields = structure.fields.iter().map(|Field { name, ty, default }| {
        let base = match &ty.base {
            BaseType::Message(nested) => short_name(nested),
            other => other.to_string(),
        };
        let default = default.as_ref().map_or_else(String::new, |value| format!(" {}", written(value)));
        format!("{base}{} {name}{default}\n", ty.arity)
    });
    constants.chain(fields).collect()
}

/// A value as files have it.
fn written(value: &Literal) -> String {
    match value {
        Literal::Bool(value) => value.to_string(),
        Literal::Int(value) => value.to_string(),
        Literal::Float(value) => python::float(*value),
        Literal::String(text) => serde_json::to_string(text).unwrap_or_default(),
        Literal::List(items) => format!("[{}]", items.iter().map(written).collect::<Vec<_>>().join(", ")),
    }
}

struct Shown<'a> {
    registry: &'a Registry,
    comments: Comments,
    text: String,
    lines: usize,
}

impl Shown<'_> {
    fn definition(&mut self, full_name: &str, depth: usize) -> Result<(), SchemaError> {
        if depth > MAX_DEPTH {
            return Err(SchemaError::Invalid {
                name: full_name.to_owned(),
                field: None,
                message: format!("types are nested more than {MAX_DEPTH} deep"),
            });
        }
        let registry = self.registry;
        let Some((_, source)) = registry.source(full_name) else {
            return self.structure(&*registry.structure(full_name)?, depth);
        };
        let with_comments = match self.comments {
            Comments::All => true,
            Comments::None => false,
            Comments::TopLevel => depth == 0,
        };
        let structures = registry.definition(full_name)?.structures();
        for line in source.lines().map(str::trim_end) {
            // A field's line begins with its type and its name, which is unique within its part of the file.
            let mut words = line.split([' ', '\t', '#']).filter(|w| !w.is_empty());
            let (ty, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            let field = structures
                .iter()
                .flat_map(|s| &s.fields)
                .find(|f| f.name == name && f.ty.to_string().rsplit('/').next() == ty.rsplit('/').next());
            let shown = match field {
                _ if with_comments => line,
                Some(_) => line.split('#').next().unwrap_or(line).trim_end(),
                None if line.is_empty() || line.starts_with('#') => continue,
                None => line,
            };
            self.line(shown, depth, full_name)?;
            if let Some(BaseType::Message(nested)) = field.map(|f| &f.ty.base) {
                self.definition(nested, depth + 1)?;
            }
        }
        Ok(())
    }

    /// For types without a file: the fields only.
    fn structure(&mut self, structure: &Structure, depth: usize) -> Result<(), SchemaError> {
        for field in &structure.fields {
            let short = match &field.ty.base {
                BaseType::Message(name) => format!("{}{}", name.replace("/msg/", "/"), field.ty.arity),
                _ => field.ty.to_string(),
            };
            self.line(&format!("{short} {}", field.name), depth, &structure.name)?;
            if let BaseType::Message(nested) = &field.ty.base {
                self.definition(nested, depth + 1)?;
            }
        }
        Ok(())
    }

    fn line(&mut self, line: &str, depth: usize, name: &str) -> Result<(), SchemaError> {
        self.lines += 1;
        if self.lines > MAX_LINES {
            return Err(SchemaError::Invalid {
                name: name.to_owned(),
                field: None,
                message: format!("showing it takes more than {MAX_LINES} lines"),
            });
        }
        if !line.is_empty() {
            self.text.extend(std::iter::repeat_n('\t', depth));
        }
        self.text.push_str(line);
        self.text.push('\n');
        Ok(())
    }
}
