//! Which of the topics on the graph are recorded.

use std::collections::BTreeSet;

use regex_lite::Regex;

/// Some names, or all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Names {
    /// Those with these full names.
    These(BTreeSet<String>),
    /// All of them.
    All,
}

impl Default for Names {
    fn default() -> Self {
        Self::These(BTreeSet::new())
    }
}

impl Names {
    fn has(&self, name: &str) -> bool {
        match self {
            Self::These(names) => names.contains(name),
            Self::All => true,
        }
    }
}

/// What is wanted, and what of it is not.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Topics by name.
    pub topics: Names,
    /// Services, by what they tell of their calls.
    pub services: Names,
    /// Actions: feedback, status, and what their services tell of their calls.
    pub actions: Names,
    /// Topics, services and actions whose name has this in it.
    pub regex: Option<Regex>,
    /// None of those whose name has this in it.
    pub exclude: Option<Regex>,
    /// None of these.
    pub excluded: BTreeSet<String>,
    /// Names with a part that begins with an underscore, where all are wanted.
    pub hidden: bool,
}

/// What a topic is about: itself, or the calls of a service or an action; by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject<'a> {
    /// The topic itself.
    Topic(&'a str),
    /// What a service tells of its calls.
    Service(&'a str),
    /// What an action tells of its goals.
    Action(&'a str),
}

fn subject(topic: &str) -> Subject<'_> {
    if let Some((action, _)) = topic.split_once("/_action/") {
        Subject::Action(action)
    } else if let Some(service) = topic.strip_suffix("/_service_event") {
        Subject::Service(service)
    } else {
        Subject::Topic(topic)
    }
}

impl Selection {
    /// Whether a topic is recorded.
    pub fn wants(&self, topic: &str) -> bool {
        let subject = subject(topic);
        let (names, name) = match subject {
            Subject::Topic(name) => (&self.topics, name),
            Subject::Service(name) => (&self.services, name),
            Subject::Action(name) => (&self.actions, name),
        };
        let is_hidden = name.split('/').any(|part| part.starts_with('_'));
        let named = matches!(names, Names::These(names) if names.contains(name));
        let matches = |regex: &Option<Regex>| regex.as_ref().is_some_and(|regex| regex.is_match(name));
        let wanted = named || ((names.has(name) || matches(&self.regex)) && (self.hidden || !is_hidden));
        wanted && !matches(&self.exclude) && !self.excluded.contains(name)
    }

    /// Topics, services and actions that were asked for by name and of which none of the recorded topics is.
    pub fn missing<'a>(&'a self, recorded: impl Iterator<Item = &'a str> + Clone) -> Vec<Subject<'a>> {
        let named = |names: &'a Names, kind: fn(&'a str) -> Subject<'a>| match names {
            Names::These(names) => names.iter().map(|name| kind(name)).collect(),
            _ => Vec::new(),
        };
        let mut missing = named(&self.topics, Subject::Topic);
        missing.extend(named(&self.services, Subject::Service));
        missing.extend(named(&self.actions, Subject::Action));
        missing.retain(|name| !recorded.clone().any(|topic| subject(topic) == *name));
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn these(names: &[&str]) -> Names {
        Names::These(names.iter().map(ToString::to_string).collect())
    }

    const GRAPH: [&str; 9] = [
        "/chatter",
        "/camera/image",
        "/_hidden",
        "/add/_service_event",
        "/sub/_service_event",
        "/move/_action/feedback",
        "/move/_action/status",
        "/move/_action/send_goal/_service_event",
        "/tf_static",
    ];

    fn chosen(selection: &Selection) -> Vec<&'static str> {
        GRAPH.into_iter().filter(|topic| selection.wants(topic)).collect()
    }

    #[test]
    fn names_all_services_and_actions_are_chosen_each_by_its_own_option() {
        let all = Selection { topics: Names::All, ..Default::default() };
        assert_eq!(chosen(&all), ["/chatter", "/camera/image", "/tf_static"]);
        let hidden = Selection { hidden: true, ..all };
        assert!(chosen(&hidden).contains(&"/_hidden"));
        let some = Selection { topics: these(&["/chatter", "/_hidden"]), ..Default::default() };
        assert_eq!(chosen(&some), ["/chatter", "/_hidden"]);
        let service = Selection { services: these(&["/add"]), ..Default::default() };
        assert_eq!(chosen(&service), ["/add/_service_event"]);
        let services = Selection { services: Names::All, ..Default::default() };
        assert_eq!(chosen(&services), ["/add/_service_event", "/sub/_service_event"]);
        let action = Selection { actions: these(&["/move"]), ..Default::default() };
        assert_eq!(chosen(&action).len(), 3);
        let named = Selection { actions: these(&["/move", "/stay"]), services: these(&["/add"]), ..some };
        let recorded = ["/chatter", "/move/_action/status"];
        assert_eq!(
            named.missing(recorded.into_iter()),
            [Subject::Topic("/_hidden"), Subject::Service("/add"), Subject::Action("/stay")]
        );
    }

    #[test]
    fn expressions_choose_and_exclusions_win() {
        let regex = |text| Some(Regex::new(text).unwrap());
        let some = Selection { regex: regex("cam|tf"), exclude: regex("static"), ..Default::default() };
        assert_eq!(chosen(&some), ["/camera/image"]);
        let but =
            Selection { topics: Names::All, excluded: ["/chatter".to_owned()].into(), ..Default::default() };
        assert_eq!(chosen(&but), ["/camera/image", "/tf_static"]);
    }
}
