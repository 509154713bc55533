//! Where types come from: the built-in definitions, `--idl DIR`, or the node that uses them.

use std::{path::PathBuf, sync::Arc, time::Duration};

use rosless_graph::{config::Distro, descriptions, graph::Endpoint};
use rosless_schema::{MessageType, Registry};
use rosless_wire::type_description_interfaces::srv::GetTypeDescription;

use crate::{
    failure::{Failure, Result},
    session::Session,
};

const DESCRIPTION_TIMEOUT: Duration = Duration::from_secs(3);

/// A type ready for use, and the hash to announce for it.
#[derive(Clone, Debug)]
pub(crate) struct KnownType {
    pub(crate) ty: Arc<MessageType>,
    pub(crate) hash: String,
}

impl KnownType {
    fn of(registry: &Registry, name: &str) -> Result<Self> {
        Ok(Self { ty: registry.message_type(name)?, hash: registry.type_hash(name)? })
    }

    pub(crate) fn name(&self) -> &str {
        self.ty.name()
    }

    pub(crate) fn name_and_hash(&self) -> (&str, &str) {
        (self.ty.name(), &self.hash)
    }
}

/// The definitions this process has itself, of the distribution it is told to follow.
pub(crate) fn registry(idl: &[PathBuf], distro: Option<Distro>) -> Result<Registry> {
    let mut registry = Registry::embedded_for(distro.unwrap_or_default().name());
    for dir in idl {
        registry.load_dir(dir).map_err(Failure::usage)?;
    }
    Ok(registry)
}

/// The type of that name as it is known here, in the version that `endpoints` announce; if it is not, as one of their
/// nodes describes it.
pub(crate) fn resolve(
    registry: &Registry,
    session: &Session,
    name: &str,
    endpoints: &[&Endpoint],
) -> Result<KnownType> {
    let local = KnownType::of(registry, name);
    let announced: Vec<_> = endpoints.iter().filter_map(|e| Some((*e, e.type_hash.as_deref()?))).collect();
    if let Ok(local) = &local
        && (announced.is_empty() || announced.iter().any(|(_, hash)| *hash == local.hash))
    {
        // Nobody announces hashes up to Humble. A definition that the user gave stays what it is.
        let older = KnownType::of(&Registry::embedded_for("humble"), name);
        let is_ours = KnownType::of(&Registry::embedded(), name).is_ok_and(|ours| ours.hash == local.hash);
        return match older {
            Ok(older) if is_ours && announced.is_empty() && !endpoints.is_empty() => Ok(older),
            _ => Ok(local.clone()),
        };
    }
    let versions = Registry::embedded_versions().filter_map(|version| KnownType::of(&version, name).ok());
    for version in versions {
        if announced.iter().any(|(_, hash)| *hash == version.hash) {
            return Ok(version);
        }
    }
    let graph =
        session.discover(|graph| announced.iter().any(|(e, _)| descriptions::service(graph, e).is_some()))?;
    for (endpoint, hash) in &announced {
        let Some(service) = descriptions::service(&graph, endpoint) else { continue };
        match ask(session, &service, &endpoint.type_name(), hash) {
            Ok(remote) => return Ok(remote),
            Err(failure) => log::warn!("{service}: {}", failure.message),
        }
    }
    if let Ok(local) = &local {
        log::warn!(
            "{name}: the definition known here ({}) is not the one on the graph; give the right one with --idl DIR",
            local.hash
        );
    }
    local
}

fn ask(session: &Session, service: &str, type_name: &str, hash: &str) -> Result<KnownType> {
    let request = descriptions::question(type_name, hash);
    let response = session.call::<GetTypeDescription>(service, &request, DESCRIPTION_TIMEOUT)?;
    KnownType::of(&descriptions::read(response, type_name, hash).map_err(Failure::new)?, type_name)
}
