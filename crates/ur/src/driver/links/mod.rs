//! Connections: to the controller's three ports, and back from the program.
//!
//! | module | what is said there |
//! |---|---|
//! | [`rtde`] | joints, modes and speed, many times a second |
//! | [`dashboard`] | power, brakes, remote control, the model |
//! | [`program`] | moves and STOP, to the program that the robot runs |

mod dashboard;
mod program;
mod rtde;

use std::{
    collections::{BTreeMap, VecDeque},
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use rosless_engine::Wall;
use rosless_motion::FaultKind;

use super::{Driver, Output, RETRY, Settings};
use crate::{
    lines::Lines,
    program::{Control, NUMBERS},
    rtde::{Packages, SoftwareVersion},
};

/// A connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Link {
    /// To the real-time port.
    Rtde,
    /// To the dashboard.
    Dashboard,
    /// To the script port.
    Script,
    /// From the program on the robot.
    Caller(u32),
}

/// Time for a connection, and for each answer.
const ANSWER: Duration = Duration::from_secs(3);
/// The controller tells its state many times a second; this much silence is a broken line.
const SILENCE: Duration = Duration::from_secs(1);
/// The dashboard is asked so often whether control is with us.
const LOOK: Duration = Duration::from_secs(1);
/// Callers that have not said who they are.
const MOST_CALLERS: usize = 8;
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Down { retry: Duration },
    Connecting { since: Duration },
    Up,
}

/// A connection that we make.
#[derive(Debug)]
pub(super) struct Dial {
    state: State,
    /// Why it was down last.
    pub(super) reason: String,
}

impl Default for Dial {
    fn default() -> Self {
        Self { state: State::Down { retry: Duration::ZERO }, reason: "connecting".into() }
    }
}

impl Dial {
    pub(super) fn is_up(&self) -> bool {
        self.state == State::Up
    }

    fn down(&mut self, reason: &str, now: Duration) {
        self.reason = reason.to_owned();
        self.state = State::Down { retry: now + RETRY };
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Step {
    #[default]
    Version,
    Controller,
    Outputs,
    Inputs,
    Start,
    Streaming,
}

#[derive(Debug, Default)]
pub(super) struct Rtde {
    pub(super) dial: Dial,
    packages: Packages,
    step: Step,
    heard: Duration,
    pub(super) version: Option<SoftwareVersion>,
    /// The recipe with the speed slider, if we may have it.
    slider: Option<u8>,
}

impl Rtde {
    pub(super) fn is_streaming(&self) -> bool {
        self.dial.is_up() && self.step == Step::Streaming
    }
}

#[derive(Debug, Default)]
pub(super) struct Dashboard {
    pub(super) dial: Dial,
    lines: Lines,
    greeted: bool,
    /// What is to be said, the first of it being answered if there is a time.
    questions: VecDeque<&'static str>,
    asked: Option<Duration>,
    next_look: Duration,
    next_power: Duration,
    /// `None` until it has answered; `Some(None)`: it does not know such a thing.
    pub(super) remote: Option<Option<bool>>,
    /// Empty if it does not tell.
    pub(super) model: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct Callers {
    /// Who has called and when, with bytes that are no whole word yet.
    unread: BTreeMap<Link, (Duration, Vec<u8>)>,
    pub(super) control: Option<Link>,
    pub(super) moves: Option<Link>,
}

impl Driver {
    fn dial(&mut self, link: Link) -> Option<&mut Dial> {
        match link {
            Link::Rtde => Some(&mut self.rtde.dial),
            Link::Dashboard => Some(&mut self.dashboard.dial),
            Link::Script => Some(&mut self.script),
            Link::Caller(_) => None,
        }
    }

    fn call(&mut self, link: Link, settings: &Settings) {
        let port = match link {
            Link::Rtde => settings.rtde_port,
            Link::Dashboard => settings.dashboard_port,
            _ => settings.script_port,
        };
        let now = self.now;
        if let Some(dial) = self.dial(link)
            && let State::Down { retry } = dial.state
            && retry <= now
        {
            dial.state = State::Connecting { since: now };
            let to = SocketAddr::new(settings.address, port);
            self.outputs.push_back(Output::Connect { link, to });
        }
    }

    /// Gives up a connection.
    fn drop_link(&mut self, link: Link, reason: &str) {
        self.close(link);
        self.closed(link, reason);
    }

    pub(super) fn connected(&mut self, link: Link, local: IpAddr) {
        if let Some(dial) = self.dial(link) {
            dial.state = State::Up;
        }
        match link {
            Link::Rtde => {
                self.local = Some(local);
                self.rtde.packages = Packages::default();
                self.rtde_ask(Step::Version);
            }
            Link::Dashboard => {
                self.dashboard.lines = Lines::default();
                self.dashboard.greeted = false;
                self.dashboard.questions.clear();
                self.dashboard.asked = Some(self.now);
                (self.dashboard.model, self.dashboard.remote) = (None, None);
                self.dashboard.next_look = self.now;
            }
            Link::Script | Link::Caller(_) => {}
        }
    }

    pub(super) fn called(&mut self, link: Link) {
        if self.callers.unread.len() >= MOST_CALLERS {
            return self.close(link);
        }
        self.callers.unread.insert(link, (self.now, Vec::new()));
    }

    pub(super) fn closed(&mut self, link: Link, reason: &str) {
        let now = self.now;
        let was_streaming = self.rtde.is_streaming();
        if let Some(dial) = self.dial(link) {
            dial.down(reason, now);
        }
        match link {
            Link::Rtde if was_streaming => self.lost(reason),
            Link::Rtde | Link::Script => {}
            Link::Dashboard => {
                self.dashboard.asked = None;
                self.dashboard.questions.clear();
            }
            Link::Caller(_) => {
                self.callers.unread.remove(&link);
                if self.callers.control == Some(link) || self.callers.moves == Some(link) {
                    self.program_ended();
                }
            }
        }
        self.news = true;
    }

    /// The controller's own voice is gone.
    fn lost(&mut self, reason: &str) {
        let address = self.settings.as_ref().map(|settings| settings.address.to_string()).unwrap_or_default();
        self.log(log::Level::Warn, format!("the connection to {address} is lost: {reason}"));
        if self.in_motion() {
            let seconds = self.settings.as_ref().map_or(0.5, |settings| settings.watchdog.as_secs_f64());
            self.latch(
                FaultKind::Disconnected,
                &format!(
                    "the connection was lost in motion ({reason}): where the arm is and whether it stands is not known; \
                     the program on the robot stops it by itself {seconds} s after it heard from us last. Look at the robot"
                ),
            );
        }
        self.forget_program();
    }

    pub(super) fn received(&mut self, link: Link, bytes: &[u8], wall: Wall) {
        // Programs are told apart by the time at which they were made.
        if self.number == 0 {
            self.number = (wall.0.unsigned_abs() / 1_000_000 % NUMBERS) as u32;
        }
        match link {
            Link::Rtde => self.rtde_received(bytes),
            Link::Dashboard => self.dashboard_received(bytes),
            // The controller tells its state there, too; we have it from elsewhere.
            Link::Script => {}
            Link::Caller(_) => self.caller_received(link, bytes),
        }
    }

    pub(super) fn tick_links(&mut self, settings: &Settings) {
        let now = self.now;
        self.call(Link::Rtde, settings);
        self.call(Link::Dashboard, settings);
        for link in [Link::Rtde, Link::Dashboard, Link::Script] {
            if let Some(dial) = self.dial(link)
                && let State::Connecting { since } = dial.state
                && now.saturating_sub(since) >= ANSWER
            {
                self.drop_link(link, "no answer");
            }
        }
        let patience = if self.rtde.step == Step::Streaming { SILENCE } else { ANSWER };
        if self.rtde.dial.is_up() && now.saturating_sub(self.rtde.heard) >= patience {
            self.drop_link(Link::Rtde, "the controller is silent");
        }
        if self.dashboard.dial.is_up() {
            if self.dashboard.asked.is_some_and(|asked| now.saturating_sub(asked) >= ANSWER) {
                self.drop_link(Link::Dashboard, "the dashboard does not answer");
            } else if self.dashboard.next_look <= now {
                self.dashboard.next_look = now + LOOK;
                if self.dashboard.model.is_none() {
                    self.ask("get robot model");
                }
                // CB3 has no such mode.
                if self.rtde.version.is_some_and(|version| version.major >= 5) {
                    self.ask("is in remote control");
                }
                self.dashboard_go_on();
            }
        }
        self.callers.unread.retain(|link, (since, _)| {
            let known = self.callers.control == Some(*link) || self.callers.moves == Some(*link);
            let stays = known || now.saturating_sub(*since) < ANSWER;
            if !stays {
                self.outputs.push_back(Output::Close { link: *link });
            }
            stays
        });
        if self.next_alive <= now {
            self.next_alive = now + settings.watchdog / 5;
            self.control(Control::Alive);
        }
    }
}
