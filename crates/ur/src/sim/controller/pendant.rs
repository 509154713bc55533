//! What people do at the robot: its buttons, its fence, its cables.

use super::{Controller, Output, ports::Client};
use crate::modes::{RobotMode, SafetyMode};

/// What can be said to the controller, and what it means.
pub const COMMANDS: [(&str, &str); 19] = [
    ("protective stop", "the arm has felt a collision"),
    ("unlock", "the protective stop is acknowledged"),
    ("emergency stop", "somebody presses the button"),
    ("release", "and releases it; the arm is without power then"),
    ("safeguard stop", "somebody opens the fence"),
    ("safeguard reset", "and closes it"),
    ("power off", "the arm loses its power"),
    ("power on", "it has power, its brakes are on"),
    ("brake release", "its brakes are off"),
    ("local", "control is at the pendant"),
    ("remote", "control is with the network"),
    ("stop", "the program is stopped at the pendant"),
    ("external IP PORT", "a program with External Control is started at the pendant"),
    ("slider SHARE", "the speed slider is moved, 0 to 1"),
    ("slow SHARE", "the arm is slower than it says, above 0 to 1"),
    ("cut", "all connections break"),
    ("silence", "the cable is pulled: nothing comes and nothing goes"),
    ("listen", "the cable is back"),
    ("garbage PORT", "nonsense is sent to all clients of rtde, dashboard, script or program"),
];

impl Controller {
    /// Somebody does something at the robot. False if that is not understood.
    pub(super) fn said(&mut self, text: &str) -> bool {
        let words: Vec<&str> = text.split_whitespace().collect();
        let share = |word: &str| word.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
        match words[..] {
            ["protective", "stop"] => self.safety_stop(SafetyMode::ProtectiveStop),
            ["unlock"] if self.safety == SafetyMode::ProtectiveStop => self.safety = SafetyMode::Normal,
            ["emergency", "stop"] => {
                self.safety_stop(SafetyMode::RobotEmergencyStop);
                self.mode = RobotMode::PowerOff;
            }
            ["release"] if self.safety == SafetyMode::RobotEmergencyStop => self.safety = SafetyMode::Normal,
            ["safeguard", "stop"] => self.safety_stop(SafetyMode::SafeguardStop),
            ["safeguard", "reset"] if self.safety == SafetyMode::SafeguardStop => {
                self.safety = SafetyMode::Normal;
            }
            ["power", "off"] => {
                self.end_program();
                self.mode = RobotMode::PowerOff;
            }
            ["power", "on"] if self.mode == RobotMode::PowerOff => self.mode = RobotMode::Idle,
            ["brake", "release"] => self.mode = RobotMode::Running,
            ["local"] => {
                self.remote = false;
                self.end_program();
            }
            ["remote"] => self.remote = true,
            ["stop"] => self.end_program(),
            ["slider", word] if share(word).is_some() => {
                self.slider = share(word).unwrap_or(1.0);
                self.set_speed();
            }
            ["slow", word] if share(word).is_some_and(|share| share > 0.0) => {
                self.slow = share(word).unwrap_or(1.0);
                self.set_speed();
            }
            ["external", host, port] => {
                let Ok(port) = port.parse() else { return false };
                let client = self.body.next_client;
                self.body.next_client += 1;
                self.external = Some((client, Vec::new()));
                self.body.outputs.push_back(Output::Connect { client, host: host.to_owned(), port });
            }
            ["cut"] => self.cut(),
            ["silence"] => self.silent = true,
            ["listen"] => {
                // What was under way when the cable was pulled does not come back.
                self.silent = false;
                self.cut();
            }
            ["garbage", port] => {
                let fits = |client: &Client| match port {
                    "rtde" => matches!(client, Client::Rtde(_)),
                    "dashboard" => matches!(client, Client::Dashboard(_)),
                    "script" => matches!(client, Client::Script { .. }),
                    _ => false,
                };
                let mut to: Vec<u32> =
                    self.clients.iter().filter(|(_, client)| fits(client)).map(|(id, _)| *id).collect();
                if port == "program" {
                    to.extend(self.body.sockets.values().map(|socket| socket.client));
                }
                for client in to {
                    self.send(client, b"\x00\x00garbage\xff\xfe\n\x00\x01".repeat(50));
                }
            }
            _ => return false,
        }
        true
    }

    /// All connections break.
    fn cut(&mut self) {
        let clients: Vec<u32> = self.clients.keys().copied().collect();
        self.clients.clear();
        let sockets = self.body.sockets.values_mut().map(|socket| {
            socket.open = Some(false);
            socket.client
        });
        let all: Vec<u32> = clients.into_iter().chain(sockets).collect();
        self.body.outputs.extend(all.into_iter().map(|client| Output::Close { client }));
    }
}
