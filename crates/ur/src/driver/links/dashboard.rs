//! The dashboard: questions one at a time, power and brakes, and which robot this is.

use std::time::Duration;

use rosless_motion::{Fault, FaultKind};

use super::Link;
use crate::{
    driver::{Driver, Settings},
    modes::RobotMode,
};

/// Commands for power and brakes are repeated so often.
const POWER: Duration = Duration::from_secs(5);

impl Driver {
    /// Says something to the dashboard before all questions.
    pub(in crate::driver) fn dashboard_say(&mut self, command: &'static str) {
        if !self.dashboard.dial.is_up() {
            let text = format!("\"{command}\" cannot be said: there is no connection to the dashboard");
            return self.log(log::Level::Error, text);
        }
        let place = usize::from(self.dashboard.asked.is_some() && !self.dashboard.questions.is_empty());
        let commands =
            self.dashboard.questions.iter().skip(place).take_while(|said| !is_question(said)).count();
        self.dashboard.questions.insert(place + commands, command);
        self.dashboard_go_on();
    }

    pub(super) fn dashboard_go_on(&mut self) {
        if self.dashboard.greeted
            && self.dashboard.asked.is_none()
            && let Some(question) = self.dashboard.questions.front()
        {
            let line = format!("{question}\n").into_bytes();
            self.dashboard.asked = Some(self.now);
            self.send(Link::Dashboard, line);
        }
    }

    pub(super) fn dashboard_received(&mut self, bytes: &[u8]) {
        if !self.dashboard.dial.is_up() {
            return;
        }
        self.dashboard.lines.push(bytes);
        loop {
            match self.dashboard.lines.next_line() {
                Ok(None) => return,
                Ok(Some(line)) => {
                    if !self.dashboard_says(line.trim()) {
                        let text =
                            format!("what came on the dashboard port is no answer: {:?}", short(&line));
                        return self.drop_link(Link::Dashboard, &text);
                    }
                }
                Err(wrong) => return self.drop_link(Link::Dashboard, &wrong.to_string()),
            }
        }
    }

    /// False for an answer that nobody asked for.
    fn dashboard_says(&mut self, line: &str) -> bool {
        let was_asked = self.dashboard.asked.take().is_some();
        if !self.dashboard.greeted {
            self.dashboard.greeted = line.starts_with("Connected");
            return self.dashboard.greeted;
        }
        let Some(question) = self.dashboard.questions.pop_front().filter(|_| was_asked) else { return false };
        match question {
            "is in remote control" => {
                self.dashboard.remote = Some(match line {
                    "true" => Some(true),
                    "false" => Some(false),
                    other if other.contains("could not understand") => None,
                    _ => return false,
                });
                self.news = true;
            }
            "get robot model" => {
                let known = !line.contains("could not understand");
                self.dashboard.model = Some(if known { short(line) } else { String::new() });
                self.news = true;
            }
            command if line.starts_with("Failed") || line.contains("could not understand") => {
                self.log(log::Level::Warn, format!("the controller refuses \"{command}\": {}", short(line)));
            }
            command => self.log(log::Level::Info, format!("{command}: {}", short(line))),
        }
        self.dashboard_go_on();
        true
    }

    /// The dashboard's word for its robot is not ours; it has no e for the e-series.
    pub(in crate::driver) fn other_model(&self) -> Option<Fault> {
        let plain = |name: &str| name.trim().to_uppercase().trim_end_matches('E').to_owned();
        let (model, robot) = (self.dashboard.model.as_ref()?, &self.planner.robot.name);
        let differs = robot.starts_with("ur") && !model.is_empty() && plain(model) != plain(robot);
        differs.then(|| Fault {
            kind: FaultKind::Other,
            text: format!("wrong model: the robot says it is a {model}, --robot is {robot}"),
        })
    }

    pub(super) fn ask(&mut self, question: &'static str) {
        if !self.dashboard.questions.contains(&question) {
            self.dashboard.questions.push_back(question);
        }
    }

    /// Power and brakes, only if they were asked for.
    pub(super) fn tick_power(&mut self, settings: &Settings) {
        let Some(sample) = self.sample.filter(|sample| sample.safety.allows_motion()) else { return };
        let command = match sample.mode {
            RobotMode::PowerOff if settings.power_on => "power on",
            RobotMode::PowerOn | RobotMode::Idle if settings.brake_release => "brake release",
            _ => return,
        };
        if self.active && self.dashboard.dial.is_up() && self.dashboard.next_power <= self.now {
            self.dashboard.next_power = self.now + POWER;
            self.dashboard_say(command);
        }
    }
}

fn is_question(said: &str) -> bool {
    matches!(said, "is in remote control" | "get robot model")
}

/// Words of others, no longer than a line.
fn short(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(80).collect()
}
