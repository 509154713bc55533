//! All definitions a process knows, by name.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use thiserror::Error;

use crate::definition::{BaseType, Definition, Kind, Structure};
use crate::description::{IndividualTypeDescription, TypeDescription};
use crate::layout::{MessageType, Resolver};
use crate::parse::{self, ParseError, Source, parse};

/// Every definition of `idl/`, as `("package/kind/Name", text)`.
static EMBEDDED: Texts = &include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// Names and texts of definitions.
type Texts = &'static [(&'static str, &'static str)];

/// What differs from `idl/`, which is Jazzy's: `distributions/humble` holds for Humble and older ones,
/// `distributions/kilted` for Kilted and newer ones.
static DISTRIBUTIONS: &[(&str, Texts)] = &include!(concat!(env!("OUT_DIR"), "/distributions.rs"));

/// Most types accepted in one received description.
const MAX_REFERENCED: usize = 1024;

/// Why a type cannot be had.
#[derive(Debug, Error)]
pub enum SchemaError {
    /// Nobody knows the type.
    #[error("unknown type '{name}'{}", suggestion.as_ref().map(|s| format!("; did you mean '{s}'?")).unwrap_or_default())]
    Unknown {
        /// What was asked for.
        name: String,
        /// What may have been meant.
        suggestion: Option<String>,
    },
    /// A type that another one contains is not there.
    #[error("'{name}', which {needed_by} contains, is not known; load its package too")]
    Missing {
        /// The one that is not there.
        name: String,
        /// The one that contains it.
        needed_by: String,
    },
    /// Its definition cannot be read.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// It is known, and makes no sense.
    #[error("type {name}: {message}")]
    Invalid {
        /// Which.
        name: String,
        /// Where in it, if one field is to blame.
        field: Option<String>,
        /// What is wrong with it.
        message: String,
    },
    /// A file or folder cannot be read.
    #[error("{path}: {message}")]
    File {
        /// Which.
        path: String,
        /// Why not.
        message: String,
    },
}

/// Definitions by name. Files are parsed when first asked for, so that a bad one hurts only those who use it.
#[derive(Debug, Default)]
pub struct Registry {
    files: BTreeMap<String, DefinitionFile>,
    /// Structures received as descriptions, which have no file.
    described: BTreeMap<String, Arc<Structure>>,
}

#[derive(Debug)]
struct DefinitionFile {
    kind: Kind,
    path: String,
    text: Cow<'static, str>,
    parsed: OnceLock<Result<Parsed, ParseError>>,
}

#[derive(Debug)]
struct Parsed {
    definition: Definition,
    structures: Vec<Arc<Structure>>,
}

impl Registry {
    /// Knows nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Knows every interface rosless ships with, as Jazzy defines them.
    pub fn embedded() -> Self {
        let mut registry = Self::new();
        registry.insert_all("idl", EMBEDDED);
        registry
    }

    /// The same as a ROS distribution defines them, as far as it is known to differ.
    pub fn embedded_for(distribution: &str) -> Self {
        let mut registry = Self::embedded();
        let kin = match distribution {
            "foxy" | "galactic" => "humble",
            "lyrical" | "rolling" => "kilted",
            other => other,
        };
        for (name, texts) in DISTRIBUTIONS.iter().filter(|(name, _)| *name == kin) {
            registry.insert_all(&format!("distributions/{name}"), texts);
        }
        registry
    }

    /// What [`embedded_for`](Self::embedded_for) gives for each distribution that differs from [`embedded`](Self::embedded).
    pub fn embedded_versions() -> impl Iterator<Item = Self> {
        DISTRIBUTIONS.iter().map(|(name, _)| Self::embedded_for(name))
    }

    fn insert_all(&mut self, folder: &str, texts: Texts) {
        for (name, text) in texts {
            let kind = name.split('/').nth(1).and_then(Kind::from_str).unwrap_or(Kind::Msg);
            let path = format!("{folder}/{name}.{}", kind.as_str());
            self.insert((*name).to_owned(), kind, path, Cow::Borrowed(text));
        }
    }

    /// Adds one definition; a definition of the same name is replaced.
    pub fn add_source(&mut self, Source { kind, package, name, file, text }: Source<'_>) {
        let full_name = format!("{package}/{}/{name}", kind.as_str());
        self.insert(full_name, kind, file.to_owned(), Cow::Owned(text.to_owned()));
    }

    /// Adds definitions that are part of a program, as `("package/kind/Name", text)`.
    pub fn add_definitions(&mut self, texts: &'static [(&'static str, &'static str)]) {
        self.insert_all("definitions of this program", texts);
    }

    /// Adds the definitions of another registry; those of the same name are replaced.
    pub(crate) fn add_registry(&mut self, other: &Registry) {
        for (name, DefinitionFile { kind, path, text, .. }) in &other.files {
            self.insert(name.clone(), *kind, path.clone(), text.clone());
        }
    }

    fn insert(&mut self, full_name: String, kind: Kind, path: String, text: Cow<'static, str>) {
        self.files.insert(full_name, DefinitionFile { kind, path, text, parsed: OnceLock::new() });
    }

    /// Adds the definitions below a directory and says how many there were. The directory is a package
    /// (`msg/X.msg`), holds packages (`pkg/msg/X.msg`) or is a ROS prefix (`share/pkg/msg/X.msg`).
    /// A definition of the same name is replaced.
    pub fn load_dir(&mut self, dir: &Path) -> Result<usize, SchemaError> {
        let is_package = |dir: &Path| Kind::ALL.iter().any(|k| dir.join(k.as_str()).is_dir());
        let dir = &fs::canonicalize(dir).map_err(|e| file_error(dir, e))?;
        let packages = if is_package(dir) {
            vec![dir.clone()]
        } else {
            let share = dir.join("share");
            let parent = if share.is_dir() { &share } else { dir };
            list(parent)?.into_iter().filter(|d| is_package(d)).collect()
        };
        let mut count = 0;
        for package in &packages {
            let package_name = package.file_name().unwrap_or_default().to_string_lossy();
            for kind in Kind::ALL {
                let folder = package.join(kind.as_str());
                if !folder.is_dir() {
                    continue;
                }
                for file in list(&folder)? {
                    let extension = file.extension().unwrap_or_default();
                    if extension != kind.as_str() {
                        continue;
                    }
                    let name = file.file_stem().unwrap_or_default().to_string_lossy();
                    let text = read_bounded(&file)?;
                    let file = &file.display().to_string();
                    self.add_source(Source { kind, package: &package_name, name: &name, file, text: &text });
                    count += 1;
                }
            }
        }
        if count == 0 {
            return Err(file_error(
                dir,
                "no interface definitions here; expected msg/X.msg, pkg/msg/X.msg or share/pkg/msg/X.msg",
            ));
        }
        Ok(count)
    }

    /// Adds the types of a received description. A type that is known already must have the same fields.
    pub fn add_description(&mut self, description: &TypeDescription) -> Result<(), SchemaError> {
        let all = || {
            std::iter::once(&description.type_description).chain(&description.referenced_type_descriptions)
        };
        let top = &description.type_description.type_name;
        if description.referenced_type_descriptions.len() > MAX_REFERENCED {
            return Err(SchemaError::Invalid {
                name: printable(top),
                field: None,
                message: format!("the description refers to more than {MAX_REFERENCED} types"),
            });
        }
        let mut new = BTreeMap::new();
        for individual in all() {
            let name = || printable(&individual.type_name);
            let invalid = |message: String| SchemaError::Invalid { name: name(), field: None, message };
            if !is_full_name(&individual.type_name) {
                return Err(invalid("not a type name; expected package/kind/Type".to_owned()));
            }
            let structure = individual.to_structure().map_err(invalid)?;
            let mut seen = BTreeSet::new();
            for field in &structure.fields {
                if !parse::is_lower_snake(&field.name) || !seen.insert(&field.name) {
                    let field = printable(&field.name);
                    let message = format!("field name '{field}' is not valid or not unique");
                    return Err(SchemaError::Invalid { name: name(), field: Some(field), message });
                }
            }
            match self.structure(&individual.type_name) {
                Ok(known) => {
                    let same = known.fields.len() == structure.fields.len()
                        && IndividualTypeDescription::of(&known)
                            .fields
                            .iter()
                            .zip(&individual.fields)
                            .all(|(known, received)| known.name == received.name && known.ty == received.ty);
                    if !same {
                        return Err(invalid("differs from the definition that is known here".to_owned()));
                    }
                }
                Err(_) => {
                    new.insert(individual.type_name.clone(), Arc::new(structure));
                }
            }
        }
        for (name, structure) in &new {
            for field in &structure.fields {
                if let BaseType::Message(nested) = &field.ty.base
                    && !new.contains_key(nested)
                    && self.structure(nested).is_err()
                {
                    return Err(SchemaError::Missing { name: printable(nested), needed_by: name.clone() });
                }
            }
        }
        self.described.extend(new);
        Ok(())
    }

    /// The full names of all definitions, sorted: `pkg/msg/Type`, `pkg/srv/Type`, `pkg/action/Type`, and types
    /// known from descriptions only.
    pub fn names(&self) -> Vec<&str> {
        let names: BTreeSet<&str> =
            self.files.keys().chain(self.described.keys()).map(String::as_str).collect();
        names.into_iter().collect()
    }

    /// Turns `pkg/Type` into the full name (a message, else a service, else an action) and checks that the type,
    /// which may also be an implied one such as `pkg/srv/Type_Request`, is known.
    pub fn full_name(&self, name: &str) -> Result<String, SchemaError> {
        let candidates = match name.split('/').collect::<Vec<_>>()[..] {
            [package, ty] => Kind::ALL.iter().map(|k| format!("{package}/{}/{ty}", k.as_str())).collect(),
            _ => vec![name.to_owned()],
        };
        // A definition that does not parse is known all the same; using it gives the parser's error.
        candidates
            .into_iter()
            .find(|c| {
                self.files.contains_key(c) || !matches!(self.structure(c), Err(SchemaError::Unknown { .. }))
            })
            .ok_or_else(|| self.unknown(name))
    }

    fn unknown(&self, name: &str) -> SchemaError {
        // Compare without the kind, so that pkg/Type, pkg/msg/Type and a bare Type all find their neighbours.
        let short = |full: &str| match full.split('/').collect::<Vec<_>>()[..] {
            [package, _, ty] => format!("{package}/{ty}"),
            _ => full.to_owned(),
        };
        let bare = |full: &str| full.rsplit('/').next().unwrap_or(full).to_ascii_lowercase();
        let wanted = short(name);
        let suggestion = self
            .names()
            .into_iter()
            .map(|known| {
                let same_type = if bare(known) == bare(name) { 0.3 } else { 0.0 };
                let score = strsim::jaro_winkler(&wanted, &short(known)).max(if name.contains('/') {
                    0.0
                } else {
                    strsim::jaro_winkler(&bare(name), &bare(known)) - 0.05
                });
                (score + same_type, known)
            })
            .filter(|(score, _)| *score > 0.85)
            .fold(None, |best: Option<(f64, &str)>, next| match best {
                Some(best) if best.0 >= next.0 => Some(best),
                _ => Some(next),
            })
            .map(|(_, known)| known.to_owned());
        SchemaError::Unknown { name: printable(name), suggestion }
    }

    fn parsed(&self, full_name: &str) -> Option<Result<&Parsed, SchemaError>> {
        let file = self.files.get(full_name)?;
        let parsed = file.parsed.get_or_init(|| {
            let mut parts = full_name.split('/');
            let package = parts.next().unwrap_or_default();
            let name = parts.nth(1).unwrap_or_default();
            let definition =
                parse(Source { kind: file.kind, package, name, file: &file.path, text: &file.text })?;
            let mut structures = definition.structures();
            // A bare `Header` means std_msgs/Header in packages that have none of their own, as in ROS 1.
            let local_header = format!("{package}/msg/Header");
            if !self.files.contains_key(&local_header) {
                for field in structures.iter_mut().flat_map(|s| &mut s.fields) {
                    if field.ty.base == BaseType::Message(local_header.clone()) {
                        field.ty.base = BaseType::Message("std_msgs/msg/Header".to_owned());
                    }
                }
            }
            Ok(Parsed { definition, structures: structures.into_iter().map(Arc::new).collect() })
        });
        Some(parsed.as_ref().map_err(|e| e.clone().into()))
    }

    /// What the file of a message, service or action says.
    pub fn definition(&self, name: &str) -> Result<&Definition, SchemaError> {
        let full_name = self.full_name(name)?;
        match self.parsed(&full_name) {
            Some(parsed) => Ok(&parsed?.definition),
            None => Err(SchemaError::Invalid {
                name: full_name,
                field: None,
                message: "has no definition file of its own".to_owned(),
            }),
        }
    }

    /// A structure by its full name, implied ones such as `pkg/action/Type_SendGoal_Request` included.
    pub fn structure(&self, full_name: &str) -> Result<Arc<Structure>, SchemaError> {
        // Type names have no underscore: what comes before the first one in the last part names the file.
        let type_start = full_name.rfind('/').map_or(0, |slash| slash + 1);
        let file_end = full_name[type_start..].find('_').map_or(full_name.len(), |at| type_start + at);
        if let Some(parsed) = self.parsed(&full_name[..file_end])
            && let Some(found) = parsed?.structures.iter().find(|s| s.name == full_name)
        {
            return Ok(Arc::clone(found));
        }
        self.described.get(full_name).cloned().ok_or_else(|| self.unknown(full_name))
    }

    /// The type with everything it contains, ready to decode and build messages.
    pub fn message_type(&self, name: &str) -> Result<Arc<MessageType>, SchemaError> {
        Resolver::new(self).resolve(&self.full_name(name)?)
    }

    /// The type description, as a `get_type_description` service answers it.
    pub fn description(&self, name: &str) -> Result<TypeDescription, SchemaError> {
        let structure = self.structure(&self.full_name(name)?)?;
        let top = IndividualTypeDescription::of(&structure);
        let mut referenced = BTreeMap::new();
        let mut pending = vec![structure];
        while let Some(structure) = pending.pop() {
            for field in &structure.fields {
                let BaseType::Message(nested) = &field.ty.base else { continue };
                if referenced.contains_key(nested) {
                    continue;
                }
                let found = self.structure(nested).map_err(|e| match e {
                    SchemaError::Unknown { name, .. } => {
                        SchemaError::Missing { name, needed_by: structure.name.clone() }
                    }
                    other => other,
                })?;
                referenced.insert(nested.clone(), IndividualTypeDescription::of(&found));
                pending.push(found);
            }
        }
        Ok(TypeDescription {
            type_description: top,
            referenced_type_descriptions: referenced.into_values().collect(),
        })
    }

    /// The RIHS01 hash of a type.
    pub fn type_hash(&self, name: &str) -> Result<String, SchemaError> {
        Ok(self.description(name)?.rihs01())
    }

    /// The file that defines a type, as it was given.
    pub(crate) fn path(&self, full_name: &str) -> Option<&str> {
        self.files.get(full_name).map(|file| file.path.as_str())
    }

    /// Kind and text of the file that defines a type; for implied types the file that implies them.
    pub fn source(&self, full_name: &str) -> Option<(Kind, &str)> {
        let file = self.files.get(full_name)?;
        Some((file.kind, &file.text))
    }
}

/// `package/kind/Type`, where the type may have the suffixes of implied types.
fn is_full_name(name: &str) -> bool {
    let [package, kind, ty] = name.split('/').collect::<Vec<_>>()[..] else { return false };
    let mut parts = ty.split('_');
    parse::is_lower_snake(package)
        && Kind::from_str(kind).is_some()
        && ty.len() < 256
        && parts.all(parse::is_camel)
}

/// Names from the network may hold anything and have any length.
fn printable(name: &str) -> String {
    name.chars().take(120).flat_map(char::escape_default).collect()
}

fn file_error(path: &Path, message: impl ToString) -> SchemaError {
    SchemaError::File { path: path.display().to_string(), message: message.to_string() }
}

fn list(dir: &Path) -> Result<Vec<std::path::PathBuf>, SchemaError> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(dir).map_err(|e| file_error(dir, e))? {
        entries.push(entry.map_err(|e| file_error(dir, e))?.path());
    }
    entries.sort();
    Ok(entries)
}

fn read_bounded(file: &Path) -> Result<String, SchemaError> {
    // Whoever opens a pipe waits for its other end.
    if !file.is_file() {
        return Err(file_error(file, "this is not a file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(file)
        .and_then(|f| f.take(parse::MAX_TEXT as u64 + 1).read_to_end(&mut bytes))
        .map_err(|e| file_error(file, e))?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count();
        let column = 1 + String::from_utf8_lossy(valid).lines().last().map_or(0, |line| line.chars().count());
        ParseError { file: file.display().to_string(), line, column, message: "this is not UTF-8".to_owned() }
            .into()
    })
}
