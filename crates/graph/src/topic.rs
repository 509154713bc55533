//! A topic as an end of it is asked for: its name and its quality of service in one argument.

use crate::Qos;

/// What [`Node::publisher`](crate::Node::publisher), [`Handle::subscribe`](crate::Handle::subscribe) and their like take:
/// a name alone means ROS's default quality of service, [`TopicQos`] changes it where it is said, and a profile that
/// was found elsewhere comes as a pair.
///
/// ```
/// use rosless_graph::{Qos, Topic, TopicQos};
/// let qos = |topic: Topic<'_>| topic.qos;
/// assert_eq!(qos("chatter".into()), Qos::default());
/// assert_eq!(qos("map".latched()), Qos::default().transient_local().keep_last(1));
/// assert_eq!(qos("scan".best_effort().keep_last(1)), Qos::clock());
/// assert_eq!(qos(("/rosout", Qos::rosout()).into()), Qos::rosout());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topic<'t> {
    /// As the user wrote it: relative, private or full; the node resolves and remaps it.
    pub name: &'t str,
    /// What is offered or asked for, unless the node's parameters say otherwise (`qos_overrides`).
    pub qos: Qos,
    /// How many samples may wait for a subscription's callback, where that is more than the depth that is announced.
    pub room: u32,
    /// Which part of the topic this end speaks or hears; see [`TopicQos::part`].
    pub part: Option<&'static str>,
}

impl<'t, N: AsRef<str> + ?Sized> From<&'t N> for Topic<'t> {
    fn from(name: &'t N) -> Self {
        Self { name: name.as_ref(), qos: Qos::default(), room: 0, part: None }
    }
}

impl<'t, N: AsRef<str> + ?Sized> From<(&'t N, Qos)> for Topic<'t> {
    fn from((name, qos): (&'t N, Qos)) -> Self {
        Self { qos, ..name.into() }
    }
}

/// Says at a topic's name how it is to be carried: `"~/status".latched()`, `"joints".keep_last(1)`.
pub trait TopicQos<'t>: Into<Topic<'t>> {
    /// With a quality of service that is made from the one it has.
    fn with(self, change: impl FnOnce(Qos) -> Qos) -> Topic<'t> {
        let topic = self.into();
        Topic { qos: change(topic.qos), ..topic }
    }

    /// The last sample is kept for late joiners, as [`Qos::latched`].
    fn latched(self) -> Topic<'t> {
        self.with(|qos| qos.transient_local().keep_last(1))
    }

    /// What is lost is lost, and little is kept, as [`Qos::sensor_data`].
    fn sensor_data(self) -> Topic<'t> {
        self.with(|qos| qos.best_effort().keep_last(5))
    }

    /// See [`Qos::keep_last`].
    fn keep_last(self, depth: u32) -> Topic<'t> {
        self.with(|qos| qos.keep_last(depth))
    }

    /// See [`Qos::keep_all`].
    fn keep_all(self) -> Topic<'t> {
        self.with(Qos::keep_all)
    }

    /// See [`Qos::reliable`].
    fn reliable(self) -> Topic<'t> {
        self.with(Qos::reliable)
    }

    /// See [`Qos::best_effort`].
    fn best_effort(self) -> Topic<'t> {
        self.with(Qos::best_effort)
    }

    /// See [`Qos::transient_local`].
    fn transient_local(self) -> Topic<'t> {
        self.with(Qos::transient_local)
    }

    /// Lets up to `samples` wait for a subscription's callback, although a smaller depth is announced: for topics whose
    /// depth others prescribe and on which more may come at once.
    fn room(self, samples: u32) -> Topic<'t> {
        Topic { room: samples, ..self.into() }
    }

    /// This end speaks, or hears, only one kind of what is said on the topic. Ends that name different parts do not meet, so
    /// that nobody is sent what it would throw away. Whoever names none, as every other make of DDS does, meets all; so a
    /// subscription still has to look at what it gets, not least because it hears what others of its process hear.
    fn part(self, part: &'static str) -> Topic<'t> {
        Topic { part: Some(part), ..self.into() }
    }
}

impl<'t, T: Into<Topic<'t>>> TopicQos<'t> for T {}
