//! Whose sensor samples count: one publisher per topic, real hardware before a stand-in, and no late samples.
//!
//! Interlocks are confirmed by sensors, so it matters whose they are: a forgotten stand-in beside a robot would confirm
//! everything.

use std::{collections::BTreeMap, time::Duration};

use crate::{Time, engine::Which, profile::BadSample};

/// The node name of a stand-in; one that runs under another name says so by [`STAND_IN_PARAMETER`].
pub const STAND_IN_NODE: &str = "dummy_mechanism";
/// The parameter by which a node says that it only simulates the mechanism.
pub const STAND_IN_PARAMETER: &str = "stand_in";

/// A publisher that has said nothing for this long does not contradict another: it may have been killed and restarted.
pub const GONE: Duration = Duration::from_secs(2);
/// More publishers than this are not remembered: anybody can join.
const MOST: usize = 64;
/// The way of a sample is compared with the fastest of this long; longer, and a clock that was set counts as lateness.
const WINDOW: Duration = Duration::from_secs(10);

/// What is known of a publisher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Its node has not been found yet, or has not answered whether it is a stand-in.
    Unknown,
    /// It is a mechanism.
    Hardware,
    /// It simulates one.
    StandIn,
}

/// A publisher of sensor samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Which one it is, on the wire.
    pub id: [u8; 16],
    /// Its node's name, or whatever there is to call it by.
    pub name: String,
    /// What it is.
    pub kind: Kind,
}

/// A sample that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// It is of another publisher than the ones before.
    pub changed: bool,
    /// How much longer its way took than the fastest of late.
    pub late: Duration,
}

/// A sample to be judged.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// Whose sensors it is about.
    pub which: Which,
    /// Who published it.
    pub source: &'a Source,
    /// When, where that is known.
    pub stamps: Option<Stamps>,
}

/// When a sample was published and received, on the two ends' own clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamps {
    /// The publisher's clock, since the Unix epoch.
    pub published: Duration,
    /// Our clock, since the Unix epoch.
    pub received: Duration,
}

#[derive(Debug)]
struct Heard {
    name: String,
    kind: Kind,
    at: Time,
    /// The fastest way of a sample, in nanoseconds with the difference of the clocks in it: of this window and the last.
    fastest: [Option<i128>; 2],
    window_began: Time,
}

impl Heard {
    /// How much longer a sample took than the fastest of its publisher.
    fn lateness(&mut self, stamps: Stamps, now: Time) -> Duration {
        let nanos = |time: Duration| i128::try_from(time.as_nanos()).unwrap_or(i128::MAX);
        let way = nanos(stamps.received) - nanos(stamps.published);
        if now.saturating_sub(self.window_began) > WINDOW {
            self.fastest = [None, self.fastest[0]];
            self.window_began = now;
        }
        self.fastest[0] = Some(self.fastest[0].map_or(way, |fastest| fastest.min(way)));
        let fastest = self.fastest.into_iter().flatten().min().unwrap_or(way);
        Duration::from_nanos(u64::try_from(way.saturating_sub(fastest)).unwrap_or(0))
    }
}

/// The publishers of both sensor topics.
#[derive(Debug, Default)]
pub struct Sources {
    heard: [BTreeMap<[u8; 16], Heard>; 2],
    current: [Option<[u8; 16]>; 2],
    /// Real hardware that was seen: from then on no stand-in is listened to.
    hardware: Option<String>,
}

impl Sources {
    /// Whether a sample of this publisher counts; one that comes more than `late` later than others does not.
    ///
    /// # Errors
    /// Why it does not count.
    pub fn judge(
        &mut self,
        Arrival { which, source, stamps }: Arrival<'_>,
        late: Duration,
        now: Time,
    ) -> Result<Admitted, BadSample> {
        let name = || source.name.clone();
        let heard = &mut self.heard[which as usize];
        heard.retain(|id, other| *id == source.id || now.saturating_sub(other.at) < GONE);
        if heard.len() >= MOST && !heard.contains_key(&source.id) {
            heard.pop_first();
        }
        let entry = heard.entry(source.id).or_insert_with(|| Heard {
            name: name(),
            kind: source.kind,
            at: now,
            fastest: [None; 2],
            window_began: now,
        });
        (entry.name, entry.kind, entry.at) = (name(), source.kind, now);
        let lateness = stamps.map_or(Duration::ZERO, |stamps| entry.lateness(stamps, now));
        match (source.kind, &self.hardware) {
            (Kind::Unknown, _) => return Err(BadSample::Unidentified { name: name() }),
            (Kind::Hardware, None) => self.hardware = Some(name()),
            (Kind::StandIn, Some(hardware)) => {
                return Err(BadSample::StandIn { name: name(), hardware: hardware.clone() });
            }
            _ => {}
        }
        let counts = |other: &Heard| other.kind != Kind::StandIn || self.hardware.is_none();
        let rival = heard.iter().find(|(id, other)| **id != source.id && counts(other));
        if let Some((_, rival)) = rival.filter(|(_, rival)| rival.kind == Kind::Unknown) {
            return Err(BadSample::Unidentified { name: rival.name.clone() });
        }
        if let Some((_, rival)) = rival {
            let [first, second] = if rival.name < source.name {
                [rival.name.clone(), name()]
            } else {
                [name(), rival.name.clone()]
            };
            return Err(BadSample::TwoSources { first, second });
        }
        if lateness > late {
            return Err(BadSample::Late { by: lateness });
        }
        let before = self.current[which as usize].replace(source.id);
        Ok(Admitted { changed: before.is_some_and(|before| before != source.id), late: lateness })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATE: Duration = Duration::from_millis(500);

    fn source(id: u8, name: &str, kind: Kind) -> Source {
        Source { id: [id; 16], name: name.to_owned(), kind }
    }

    fn at(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    fn judge(sources: &mut Sources, from: &Source, millis: u64) -> Result<bool, String> {
        let judged =
            sources.judge(Arrival { which: Which::Pedestal, source: from, stamps: None }, LATE, at(millis));
        judged.map(|admitted| admitted.changed).map_err(|error| error.to_string())
    }

    #[test]
    fn two_publishers_are_refused_by_name_until_one_of_them_is_silent() {
        let mut sources = Sources::default();
        let (a, b) = (source(1, "/agent", Kind::Hardware), source(2, "/forgotten", Kind::Hardware));
        assert_eq!(judge(&mut sources, &a, 0), Ok(false));
        let refused = Err("two publish it: /agent and /forgotten; stop one of them".to_owned());
        assert_eq!(judge(&mut sources, &b, 100), refused);
        assert_eq!(judge(&mut sources, &a, 130), refused, "neither is to be believed");
        assert_eq!(judge(&mut sources, &a, 2000), refused);
        assert_eq!(judge(&mut sources, &a, 2100), Ok(false));
        assert_eq!(judge(&mut sources, &b, 9000), Ok(true), "another mechanism than before");
    }

    #[test]
    fn a_stand_in_is_listened_to_until_hardware_was_seen_on_either_topic() {
        let mut sources = Sources::default();
        let (dummy, agent) =
            (source(1, "/dummy_mechanism", Kind::StandIn), source(2, "/agent", Kind::Hardware));
        assert_eq!(judge(&mut sources, &dummy, 0), Ok(false));
        assert!(
            sources.judge(Arrival { which: Which::Doll, source: &agent, stamps: None }, LATE, at(10)).is_ok()
        );
        let refused = "/dummy_mechanism is a stand-in, and real hardware was seen: /agent; stop the stand-in";
        assert_eq!(judge(&mut sources, &dummy, 20), Err(refused.to_owned()));
        assert_eq!(judge(&mut sources, &agent, 30), Ok(true), "the stand-in is no rival to it");
        assert_eq!(judge(&mut sources, &dummy, 99_000), Err(refused.to_owned()), "for good");
    }

    #[test]
    fn who_is_not_known_yet_does_not_count_and_does_not_let_another_count() {
        let mut sources = Sources::default();
        let unknown = source(1, "01.02", Kind::Unknown);
        assert_eq!(
            judge(&mut sources, &unknown, 0),
            Err("it is not known yet who publishes it: 01.02".to_owned())
        );
        assert!(judge(&mut sources, &source(2, "/agent", Kind::Hardware), 1).is_err());
        assert_eq!(judge(&mut Sources::default(), &source(1, "/agent", Kind::Hardware), 0), Ok(false));
    }

    #[test]
    fn a_late_sample_is_told_whatever_the_clocks_differ() {
        for skew in [0, 3_600_000_000, -3_600_000] {
            let mut sources = Sources::default();
            let agent = source(1, "/agent", Kind::Hardware);
            let mut way = |sent: i64, took: i64| {
                let stamp = |millis: i64| Duration::from_millis(u64::try_from(millis).unwrap());
                let stamps = Stamps {
                    published: stamp(100_000_000 + sent + skew),
                    received: stamp(100_000_000 + sent + took),
                };
                let now = at(u64::try_from(sent + took).unwrap());
                let judged = sources.judge(
                    Arrival { which: Which::Doll, source: &agent, stamps: Some(stamps) },
                    LATE,
                    now,
                );
                judged.map(|admitted| admitted.late.as_millis()).map_err(|error| error.to_string())
            };
            assert_eq!(way(0, 5), Ok(0));
            assert_eq!(way(33, 400), Ok(395));
            assert_eq!(way(66, 1305), Err("it came 1.3 s late".to_owned()));
            assert_eq!(way(2000, 7), Ok(2));
            // A publisher's clock that was set: after a while that is how it is.
            assert!(way(10_000, 9000).is_err());
            assert!(way(15_000, 9000).is_err());
            assert_eq!(way(30_000, 9000), Ok(0));
        }
    }

    #[test]
    fn a_crowd_is_not_remembered() {
        let mut sources = Sources::default();
        for id in 0..=255 {
            let _ = judge(&mut sources, &source(id, "/crowd", Kind::Hardware), 0);
        }
        assert!(sources.heard[0].len() <= MOST);
    }
}
