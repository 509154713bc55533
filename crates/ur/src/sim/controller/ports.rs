//! Who is connected to which port, what he is answered on the dashboard, and when a program has come whole.

use std::time::Duration;

use rosless_motion::Hardware as _;

use super::{Controller, Output};
use crate::{
    lines::Lines,
    modes::{RuntimeState, SafetyMode},
    rtde::{Packages, SoftwareVersion, Type},
    sim::script,
};

/// What may wait to be read from one socket of a program.
const MOST_UNREAD: usize = 1 << 20;

#[derive(Debug)]
pub(super) enum Client {
    Rtde(RtdeClient),
    Dashboard(Lines),
    Script { lines: Lines, program: Option<String>, next: Duration },
}

#[derive(Debug, Default)]
pub(super) struct RtdeClient {
    pub(super) packages: Packages,
    pub(super) recipe: Option<Vec<(String, Type)>>,
    pub(super) inputs: Vec<Vec<(String, Type)>>,
    pub(super) period: Duration,
    pub(super) next: Duration,
    pub(super) streaming: bool,
}

impl Client {
    pub(super) fn is_due(&self, now: Duration) -> bool {
        match self {
            Self::Rtde(rtde) => rtde.streaming && rtde.next <= now,
            Self::Script { next, .. } => *next <= now,
            Self::Dashboard(_) => false,
        }
    }
}

impl Controller {
    fn dashboard(&mut self, line: &str) -> String {
        let refused = |command: &str| format!("Failed to execute: {command}");
        let controls = self.version.major < 5 || self.remote;
        let name = |name: &str| name.to_owned();
        match line {
            "robotmode" => format!("Robotmode: {}", self.mode.name()),
            "safetymode" => format!("Safetymode: {}", self.safety.name()),
            "safetystatus" if self.version.major >= 5 => format!("Safetystatus: {}", self.safety.name()),
            "is in remote control"
                if self.version >= (SoftwareVersion { major: 5, minor: 6, ..Default::default() }) =>
            {
                self.remote.to_string()
            }
            "get robot model" => self.body.planner.robot.name.trim_end_matches('e').to_uppercase(),
            "get serial number" => name("20260000000"),
            "PolyscopeVersion" => format!("URSoftware {} (simulated)", self.version),
            "running" => format!("Program running: {}", self.machine.is_some()),
            "programState" => match self.runtime() {
                RuntimeState::Playing => name("PLAYING rosless"),
                RuntimeState::Paused => name("PAUSED rosless"),
                _ => name("STOPPED <unnamed>"),
            },
            "quit" => name("Disconnected"),
            "power on"
            | "power off"
            | "brake release"
            | "unlock protective stop"
            | "stop"
            | "pause"
            | "play"
            | "close safety popup"
                if !controls =>
            {
                refused(line)
            }
            "power on" | "brake release" if self.safety != SafetyMode::Normal => refused(line),
            "power on" => {
                self.said("power on");
                name("Powering on")
            }
            "power off" => {
                self.said("power off");
                name("Powering off")
            }
            "brake release" => {
                self.said("brake release");
                name("Brake releasing")
            }
            "unlock protective stop" => {
                self.said("unlock");
                name("Protective stop releasing")
            }
            "close safety popup" => name("closing safety popup"),
            "stop" if self.machine.is_some() => {
                self.end_program();
                name("Stopped")
            }
            "pause" if self.machine.is_some() => {
                self.paused = true;
                let now = self.body.now;
                self.body.arm.pause(now);
                name("Pausing program")
            }
            "play" if self.paused => {
                self.paused = false;
                let now = self.body.now;
                self.body.arm.resume(now);
                name("Starting program")
            }
            "stop" | "pause" | "play" => refused(line),
            other => format!("could not understand: {other}"),
        }
    }

    pub(super) fn received(&mut self, id: u32, bytes: &[u8]) {
        if let Some((_, text)) = self.external.as_mut().filter(|(client, _)| *client == id) {
            if text.len() + bytes.len() <= script::LONGEST {
                text.extend(bytes);
            }
            return;
        }
        if let Some(socket) = self.body.sockets.values_mut().find(|socket| socket.client == id) {
            if socket.unread.len() + bytes.len() <= MOST_UNREAD {
                socket.unread.extend(bytes);
            }
            return;
        }
        let Some(mut client) = self.clients.remove(&id) else { return };
        let stays = match &mut client {
            Client::Rtde(rtde) => self.rtde(id, rtde, bytes),
            Client::Dashboard(lines) => {
                lines.push(bytes);
                loop {
                    match lines.next_line() {
                        Ok(Some(line)) => {
                            let answer = self.dashboard(line.trim());
                            self.send(id, format!("{answer}\n").into_bytes());
                            if line.trim() == "quit" {
                                break false;
                            }
                        }
                        Ok(None) => break true,
                        Err(_) => break false,
                    }
                }
            }
            Client::Script { lines, program, .. } => {
                lines.push(bytes);
                loop {
                    match lines.next_line() {
                        Ok(Some(line)) => {
                            let begins = line.starts_with("def ");
                            if !begins && program.is_none() {
                                if !line.trim().is_empty() {
                                    self.start(&line);
                                }
                                continue;
                            }
                            let text = program.get_or_insert_default();
                            text.push_str(&line);
                            text.push('\n');
                            if line == "end" {
                                let text = program.take().unwrap_or_default();
                                self.start(&text);
                            } else if text.len() > script::LONGEST {
                                break false;
                            }
                        }
                        Ok(None) => break true,
                        Err(_) => break false,
                    }
                }
            }
        };
        if stays {
            self.clients.insert(id, client);
        } else {
            self.body.outputs.push_back(Output::Close { client: id });
        }
    }
}
