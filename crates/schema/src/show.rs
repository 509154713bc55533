//! Definitions as `ros2 interface show` prints them.

use crate::definition::{BaseType, Kind, Structure};
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

/// What stands between the definitions of [`Registry::whole_definition`].
const RULE: &str = "================================================================================";

impl Registry {
    /// The definition of a message, or of a service's request or response, and after it those of all types it contains, each
    /// below a line `MSG: package/Type`: the text that files and other tools call `ros2msg`.
    pub fn whole_definition(&self, name: &str) -> Result<String, SchemaError> {
        let description = self.description(name)?;
        let mut text = self.one_definition(&description.type_description.type_name)?;
        for referenced in &description.referenced_type_descriptions {
            let name = &referenced.type_name;
            let short = name.replacen("/msg/", "/", 1);
            text.push_str(&format!("{RULE}\nMSG: {short}\n{}", self.one_definition(name)?));
        }
        Ok(text)
    }

    /// As it is written, or, where no file has just this, its constants and fields.
    fn one_definition(&self, name: &str) -> Result<String, SchemaError> {
        if let Some((Kind::Msg, source)) = self.source(name) {
            return Ok(format!("{}\n", source.trim_end()));
        }
        let structure = self.structure(name)?;
        let constants = structure
            .constants
            .iter()
            .map(|c| format!("{} {}={}\n", c.ty, c.name, python::literal(&c.value)));
        let fields = structure.fields.iter().map(|field| match &field.ty.base {
            BaseType::Message(name) => {
                format!("{}{} {}\n", name.replacen("/msg/", "/", 1), field.ty.arity, field.name)
            }
            _ => format!("{} {}\n", field.ty, field.name),
        });
        Ok(constants.chain(fields).collect())
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
