//! The definitions that a recording carries: those known here, and those that only the publishers know.

use std::{cell::RefCell, collections::HashMap, path::PathBuf, time::Duration};

use rosless_bag::Definition;
use rosless_graph::{Handle, Node, descriptions};
use rosless_schema::{Registry, SchemaError};
use rosless_wire::type_description_interfaces::srv::GetTypeDescription;

/// How long a publisher may take to describe its type.
const PATIENCE: Duration = Duration::from_secs(3);

/// A type as it is recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Its text.
    pub definition: Definition,
    /// Its hash.
    pub hash: String,
}

impl Known {
    fn of(registry: &Registry, name: &str) -> Result<Self, SchemaError> {
        Ok(Self { definition: Definition::of(registry, name)?, hash: registry.type_hash(name)? })
    }
}

/// Where definitions come from.
#[derive(Debug)]
pub struct Types {
    /// The user's, then those of each distribution.
    registries: Vec<Registry>,
    /// What others described, by name and hash.
    described: RefCell<HashMap<(String, String), Known>>,
}

/// What a node is asked about a type that it publishes.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The node's service for it.
    pub service: &'a str,
    /// The type.
    pub name: &'a str,
    /// The hash that the node announced for it.
    pub hash: &'a str,
}

impl Types {
    /// The definitions built in, and those below folders.
    ///
    /// # Errors
    /// When a folder cannot be read.
    pub fn new(distro: &str, folders: &[PathBuf]) -> Result<Self, SchemaError> {
        let mut first = Registry::embedded_for(distro);
        for folder in folders {
            first.load_dir(folder)?;
        }
        let registries =
            std::iter::once(first).chain(Registry::embedded_versions()).chain([Registry::embedded()]);
        Ok(Self { registries: registries.collect(), described: RefCell::default() })
    }

    /// The type in the version with that hash; without a hash, which nobody announces up to Humble, as it was then.
    pub fn known(&self, name: &str, hash: Option<&str>) -> Option<Known> {
        let Some(hash) = hash else {
            let older = Registry::embedded_for("humble");
            return self.registries.first().and_then(|registry| Known::of(registry, name).ok()).map(
                |known| {
                    let ours = Registry::embedded().type_hash(name).is_ok_and(|ours| ours == known.hash);
                    if ours { Known::of(&older, name).unwrap_or(known) } else { known }
                },
            );
        };
        let described = self.described.borrow().get(&(name.to_owned(), hash.to_owned())).cloned();
        described.or_else(|| {
            let mut versions = self.registries.iter();
            versions
                .find(|registry| registry.type_hash(name).is_ok_and(|known| known == hash))
                .and_then(|registry| Known::of(registry, name).ok())
        })
    }

    /// Asks a publisher's node for the definition; `done` gets it, or why there is none.
    ///
    /// # Errors
    /// When the question cannot be asked.
    pub fn ask<S: 'static>(
        handle: &Handle<S>,
        node: &Node,
        Question { service, name, hash }: Question<'_>,
        done: impl FnOnce(&mut S, Result<Known, String>) + 'static,
    ) -> rosless_graph::Result<()> {
        let client = handle.client::<GetTypeDescription>(node, service)?;
        let request = descriptions::question(name, hash);
        let (name, hash) = (name.to_owned(), hash.to_owned());
        let kept = std::rc::Rc::new(RefCell::new(Some(client)));
        let keeper = kept.clone();
        let slot = kept.borrow();
        if let Some(client) = slot.as_ref() {
            client.call(&request, PATIENCE, move |app, answer| {
                let read = |answer| descriptions::read(answer, &name, &hash);
                let registry = answer.map_err(|error| error.to_string()).and_then(read);
                let known = |registry| Known::of(&registry, &name).map_err(|error| error.to_string());
                done(app, registry.and_then(known));
                if let Some(client) = keeper.borrow_mut().take() {
                    client.close();
                }
            });
        }
        Ok(())
    }

    /// Keeps what was described.
    pub fn learn(&self, name: &str, known: &Known) {
        self.described.borrow_mut().insert((name.to_owned(), known.hash.clone()), known.clone());
    }
}
