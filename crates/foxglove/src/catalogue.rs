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
    /// The number of this type and definition in the newest generation's table; never used for another one.
    pub schema_id: u32,
}

/// What all clients are told, in the words of their generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    text: String,
    /// For clients that know definitions by their numbers.
    by_table: Option<String>,
}

impl Told {
    fn channels<'a>(
        channels: impl Iterator<Item = &'a Channel> + Clone,
        is_known: impl Fn(&Channel) -> bool,
    ) -> Self {
        let mut seen = BTreeSet::new();
        let new = channels.clone().filter(|channel| !is_known(channel) && seen.insert(channel.schema_id));
        let by_table = Some(message::advertise_by_table(new, channels.clone()));
        Self { text: message::advertise(channels), by_table }
    }

    /// For a client with a table of definitions or without.
    pub fn text(&self, by_table: bool) -> &str {
        self.by_table.as_ref().filter(|_| by_table).unwrap_or(&self.text)
    }
}

impl From<String> for Told {
    fn from(text: String) -> Self {
        Self { text, by_table: None }
    }
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
    next_schema: u32,
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
    ) -> Vec<Told> {
        let mut told = Vec::new();
        let gone: Vec<u32> = self
            .channels
            .values()
            .filter(|c| !topics.contains(&(c.topic.clone(), c.schema_name.clone())))
            .map(|c| c.id)
            .collect();
        self.channels.retain(|id, _| !gone.contains(id));
        if !gone.is_empty() {
            told.push(message::unadvertise(&gone).into());
        }
        let known: BTreeSet<_> =
            self.channels.values().map(|c| (c.topic.clone(), c.schema_name.clone())).collect();
        let mut new = Vec::<Channel>::new();
        for (topic, ty) in topics.difference(&known) {
            let Some(schema) = schema(topic, ty) else { continue };
            let same = |channel: &&Channel| channel.schema_name == *ty && channel.schema == schema;
            let schema_id = self.channels.values().chain(&new).find(same).map(|channel| channel.schema_id);
            let schema_id = schema_id.unwrap_or_else(|| {
                self.next_schema += 1;
                self.next_schema
            });
            let id = self.number();
            new.push(Channel { id, topic: topic.clone(), schema_name: ty.clone(), schema, schema_id });
        }
        if !new.is_empty() {
            // Everybody was told of every channel that is there, and so of its definition.
            let told_before: BTreeSet<_> = self.channels.values().map(|channel| channel.schema_id).collect();
            told.push(Told::channels(new.iter(), |channel| told_before.contains(&channel.schema_id)));
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
            told.push(message::unadvertise_services(&gone).into());
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
            told.push(message::advertise_services(new.iter()).into());
        }
        self.services.extend(new.into_iter().map(|service| (service.id, service)));
        told
    }

    fn number(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    /// What a client is told when it comes.
    pub fn introduction(&self) -> Vec<Told> {
        let mut told = Vec::new();
        if !self.channels.is_empty() {
            told.push(Told::channels(self.channels.values(), |_| false));
        }
        if !self.services.is_empty() {
            told.push(message::advertise_services(self.services.values()).into());
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
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn changes_are_told_once_and_numbers_are_not_used_again() {
        let mut catalogue = Catalogue::default();
        let set = |names: &[&str]| names.iter().map(|n| ((*n).to_owned(), "p/msg/T".to_owned())).collect();
        let mut update = |topics: &[&str], services: &[&str]| {
            let ty = |_: &str, ty: &str| Some(ServiceType { name: ty.to_owned(), ..ServiceType::default() });
            let told = catalogue.update(
                &set(topics),
                &set(services),
                |topic, _| (topic != "/secret").then(|| "int8 a".to_owned()),
                ty,
            );
            told.iter().map(|told| told.text(false).to_owned()).collect::<Vec<_>>()
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

    #[test]
    fn the_newest_generation_gets_each_definition_once() {
        let mut catalogue = Catalogue::default();
        let mut update = |topics: &[(&str, &str)]| {
            let topics = topics.iter().map(|(name, ty)| ((*name).to_owned(), (*ty).to_owned())).collect();
            let told =
                catalogue.update(&topics, &BTreeSet::new(), |_, ty| Some(format!("of {ty}")), |_, _| None);
            told.iter().map(|told| serde_json::from_str(told.text(true)).unwrap()).collect::<Vec<Value>>()
        };
        let channel = |id: u32, topic: &str, schema: u32| json!({"id": id, "topic": topic, "encoding": "cdr", "schemaId": schema});
        let schema = |id: u32, name: &str| json!({"id": id, "name": name, "encoding": "ros2msg", "data": format!("of {name}")});
        let advertise = |schemas: Value, channels: Value| json!({"op": "advertise", "schemas": schemas, "channels": channels});
        let told = update(&[("/a", "p/msg/T"), ("/b", "p/msg/T")]);
        assert_eq!(
            told,
            [advertise(json!([schema(1, "p/msg/T")]), json!([channel(1, "/a", 1), channel(2, "/b", 1)]))]
        );
        let told = update(&[("/a", "p/msg/T"), ("/b", "p/msg/T"), ("/c", "p/msg/T"), ("/d", "p/msg/U")]);
        assert_eq!(
            told,
            [advertise(json!([schema(2, "p/msg/U")]), json!([channel(3, "/c", 1), channel(4, "/d", 2)]))]
        );
        // A number that nobody can know of is not used again.
        update(&[("/a", "p/msg/T")]);
        let told = update(&[("/a", "p/msg/T"), ("/d", "p/msg/U")]);
        assert_eq!(told, [advertise(json!([schema(3, "p/msg/U")]), json!([channel(5, "/d", 3)]))]);
        let all: Value = serde_json::from_str(catalogue.introduction()[0].text(true)).unwrap();
        assert_eq!(
            all["schemas"],
            json!([schema(1, "p/msg/T"), schema(3, "p/msg/U")]),
            "a newcomer gets all"
        );
    }
}
