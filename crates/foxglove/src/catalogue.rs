//! Which channels and services there are, and the numbers by which clients know them.

use std::collections::{BTreeMap, BTreeSet};

use crate::message;

/// A topic that clients may listen to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Never used for another one.
    pub id: u32,
    /// Its full name.
    pub topic: String,
    /// The type, such as `std_msgs/msg/String`.
    pub schema_name: String,
    /// Its definition, and those of all that it contains.
    pub schema: String,
}

/// A service's type with both its definitions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceType {
    /// Such as `std_srvs/srv/SetBool`.
    pub name: String,
    /// Definition of the request.
    pub request: String,
    /// And of the response.
    pub response: String,
}

/// A service that clients may call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Never used for another one.
    pub id: u32,
    /// Its full name.
    pub name: String,
    /// Its type.
    pub ty: ServiceType,
}

/// All channels and services.
#[derive(Debug, Default)]
pub struct Catalogue {
    channels: BTreeMap<u32, Channel>,
    services: BTreeMap<u32, Service>,
    next: u32,
}

impl Catalogue {
    /// Makes the channels those of `topics` (name and type) and the services those given; what clients are told about it.
    /// Definitions are asked for only where something is new; what has none is not told of.
    pub fn update(
        &mut self,
        topics: &BTreeSet<(String, String)>,
        services: &BTreeSet<(String, String)>,
        mut schema: impl FnMut(&str, &str) -> Option<String>,
        mut service_type: impl FnMut(&str, &str) -> Option<ServiceType>,
    ) -> Vec<String> {
        let mut told = Vec::new();
        let gone: Vec<u32> = self
            .channels
            .values()
            .filter(|c| !topics.contains(&(c.topic.clone(), c.schema_name.clone())))
            .map(|c| c.id)
            .collect();
        self.channels.retain(|id, _| !gone.contains(id));
        if !gone.is_empty() {
            told.push(message::unadvertise(&gone));
        }
        let known: BTreeSet<_> =
            self.channels.values().map(|c| (c.topic.clone(), c.schema_name.clone())).collect();
        let mut new = Vec::new();
        for (topic, ty) in topics.difference(&known) {
            let Some(schema) = schema(topic, ty) else { continue };
            let id = self.number();
            new.push(Channel { id, topic: topic.clone(), schema_name: ty.clone(), schema });
        }
        if !new.is_empty() {
            told.push(message::advertise(new.iter()));
        }
        self.channels.extend(new.into_iter().map(|channel| (channel.id, channel)));
        let gone: Vec<u32> = self
            .services
            .values()
            .filter(|s| !services.contains(&(s.name.clone(), s.ty.name.clone())))
            .map(|s| s.id)
            .collect();
        self.services.retain(|id, _| !gone.contains(id));
        if !gone.is_empty() {
            told.push(message::unadvertise_services(&gone));
        }
        let known: BTreeSet<_> =
            self.services.values().map(|s| (s.name.clone(), s.ty.name.clone())).collect();
        let mut new = Vec::new();
        for (name, ty) in services.difference(&known) {
            let Some(ty) = service_type(name, ty) else { continue };
            let id = self.number();
            new.push(Service { id, name: name.clone(), ty });
        }
        if !new.is_empty() {
            told.push(message::advertise_services(new.iter()));
        }
        self.services.extend(new.into_iter().map(|service| (service.id, service)));
        told
    }

    fn number(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    /// What a client is told when it comes.
    pub fn introduction(&self) -> Vec<String> {
        let mut told = Vec::new();
        if !self.channels.is_empty() {
            told.push(message::advertise(self.channels.values()));
        }
        if !self.services.is_empty() {
            told.push(message::advertise_services(self.services.values()));
        }
        told
    }

    /// A channel by its number.
    pub fn channel(&self, id: u32) -> Option<&Channel> {
        self.channels.get(&id)
    }

    /// A service by its number.
    pub fn service(&self, id: u32) -> Option<&Service> {
        self.services.get(&id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_told_once_and_numbers_are_not_used_again() {
        let mut catalogue = Catalogue::default();
        let set = |names: &[&str]| names.iter().map(|n| ((*n).to_owned(), "p/msg/T".to_owned())).collect();
        let mut update = |topics: &[&str], services: &[&str]| {
            let ty = |_: &str, ty: &str| Some(ServiceType { name: ty.to_owned(), ..ServiceType::default() });
            catalogue.update(
                &set(topics),
                &set(services),
                |topic, _| (topic != "/secret").then(|| "int8 a".to_owned()),
                ty,
            )
        };
        let told = update(&["/a", "/b", "/secret"], &["/s"]);
        assert_eq!(told.len(), 2);
        assert!(told[0].contains(r#"{"id":1,"topic":"/a","encoding":"cdr","schemaName":"p/msg/T","schema":"int8 a","schemaEncoding":"ros2msg"}"#));
        assert!(told[1].contains(r#""id":3,"name":"/s","type":"p/msg/T""#), "{}", told[1]);
        assert_eq!(update(&["/a", "/b", "/secret"], &["/s"]), Vec::<String>::new());
        assert_eq!(
            update(&["/b"], &[]),
            [r#"{"op":"unadvertise","channelIds":[1]}"#, r#"{"op":"unadvertiseServices","serviceIds":[3]}"#]
        );
        assert!(update(&["/a", "/b"], &[])[0].contains(r#""id":4,"topic":"/a""#));
        assert_eq!(catalogue.introduction().len(), 1);
        assert!(
            catalogue.channel(1).is_none()
                && catalogue.channel(4).is_some()
                && catalogue.service(3).is_none()
        );
    }
}
