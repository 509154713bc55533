//! Types known only at run time: from the built-in definitions, `--idl`, or the nodes that use them.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::Arc,
};

use rosless_graph::{Graph, descriptions, graph::Endpoint};
use rosless_schema::{MessageType, Registry};

/// A type ready for use.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) name: String,
    pub(crate) ty: Arc<MessageType>,
    pub(crate) hash: String,
    /// As text, for Foxglove and for people.
    pub(crate) definition: String,
}

/// Where a definition that is not known here can be had.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Source {
    pub(crate) service: String,
    pub(crate) type_name: String,
    pub(crate) hash: String,
}

/// Why a type is not at hand.
#[derive(Debug)]
pub(crate) enum Missing {
    /// It can be asked for there.
    Ask(Source),
    /// Nobody can tell.
    Unknown(String),
}

/// More received descriptions than this are not kept: anybody can describe anything.
const MOST_RECEIVED: usize = 512;

/// What this process knows.
#[derive(Debug)]
pub(crate) struct Types {
    registry: Registry,
    /// By name and hash.
    cache: RefCell<BTreeMap<(String, String), Rc<Known>>>,
    received: BTreeMap<(String, String), Registry>,
    /// What was asked for and not had.
    refused: BTreeSet<Source>,
}

impl Types {
    pub(crate) fn new(registry: Registry) -> Self {
        Self { registry, cache: RefCell::default(), received: BTreeMap::new(), refused: BTreeSet::new() }
    }

    fn known(&self, registry: &Registry, name: &str) -> Option<Rc<Known>> {
        let hash = registry.type_hash(name).ok()?;
        let key = (name.to_owned(), hash);
        if let Some(known) = self.cache.borrow().get(&key) {
            return Some(known.clone());
        }
        let ty = registry.message_type(name).ok()?;
        let definition = registry.whole_definition(name).ok()?;
        let known = Rc::new(Known { name: name.to_owned(), ty, hash: key.1.clone(), definition });
        self.cache.borrow_mut().insert(key, known.clone());
        Some(known)
    }

    /// The type of that name in the version that these endpoints announce.
    pub(crate) fn find(
        &self,
        graph: &Graph,
        name: &str,
        endpoints: &[&Endpoint],
    ) -> Result<Rc<Known>, Missing> {
        let announced: Vec<_> =
            endpoints.iter().filter_map(|e| Some((*e, e.type_hash.as_deref()?))).collect();
        let fits =
            |known: &Rc<Known>| announced.is_empty() || announced.iter().any(|(_, hash)| *hash == known.hash);
        let local = self.known(&self.registry, name);
        if let Some(local) = local.clone().filter(|known| fits(known)) {
            return Ok(local);
        }
        let versions = Registry::embedded_versions().filter_map(|version| self.known(&version, name));
        if let Some(version) = versions.filter(|known| !announced.is_empty() && fits(known)).last() {
            return Ok(version);
        }
        for (endpoint, hash) in &announced {
            let key = (name.to_owned(), (*hash).to_owned());
            if let Some(known) = self.received.get(&key).and_then(|registry| self.known(registry, name)) {
                return Ok(known);
            }
            let Some(service) = descriptions::service(graph, endpoint) else { continue };
            let source = Source { service, type_name: endpoint.type_name(), hash: (*hash).to_owned() };
            if !self.refused.contains(&source) {
                return Err(Missing::Ask(source));
            }
        }
        local.ok_or_else(|| {
            Missing::Unknown(format!("the definition of {name} is not known here; give it with --idl DIR"))
        })
    }

    /// The type as it is known here, whoever uses it.
    pub(crate) fn local(&self, name: &str) -> Option<Rc<Known>> {
        self.known(&self.registry, name)
    }

    /// The two types of a service as its servers announce them.
    pub(crate) fn service(
        &self,
        graph: &Graph,
        service: &str,
        name: &str,
    ) -> Result<[Rc<Known>; 2], Missing> {
        let part = |part: &str| {
            let name = format!("{name}_{part}");
            let endpoints: Vec<_> =
                graph.endpoints().filter(|e| e.ros_name() == service && e.type_name() == name).collect();
            self.find(graph, &name, &endpoints)
        };
        Ok([part("Request")?, part("Response")?])
    }

    /// A description that was asked for.
    pub(crate) fn learn(&mut self, source: Source, registry: Registry) -> Result<(), String> {
        if self.received.len() >= MOST_RECEIVED {
            self.refused.insert(source);
            return Err("too many types were described already".to_owned());
        }
        self.received.insert((source.type_name, source.hash), registry);
        Ok(())
    }

    /// It was asked for in vain.
    pub(crate) fn give_up(&mut self, source: Source) {
        self.refused.insert(source);
    }
}
