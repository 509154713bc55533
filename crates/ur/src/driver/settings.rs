//! The driver's parameters.

use std::{collections::BTreeMap, net::IpAddr, time::Duration};

use crate::rtde;

/// How the arm is brought to a stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopAlong {
    /// Each joint by itself (`stopj`): the shortest way to a stand.
    Joints,
    /// Along the line of the hand (`stopl`).
    Path,
}

/// Everything that can be set.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The robot's address.
    pub address: IpAddr,
    /// RTDE.
    pub rtde_port: u16,
    /// The dashboard.
    pub dashboard_port: u16,
    /// Where programs are sent.
    pub script_port: u16,
    /// Where the robot's program calls us; 0 for any free port.
    pub reverse_port: u16,
    /// The address at which it calls us, if not the one we reach it from.
    pub reverse_address: Option<IpAddr>,
    /// The program is fetched from us by the External Control of a program that a person starts at the pendant, instead of
    /// being sent to a robot in remote control.
    pub external: bool,
    /// How often the controller tells its state, Hz.
    pub frequency: f64,
    /// The robot's program stops the arm when it has heard nothing for this long.
    pub watchdog: Duration,
    /// How a STOP is driven.
    pub stop_along: StopAlong,
    /// rad/s².
    pub stop_deceleration: f64,
    /// m/s².
    pub stop_deceleration_path: f64,
    /// Whether the arm is given power.
    pub power_on: bool,
    /// Whether its brakes are released.
    pub brake_release: bool,
    /// Whether STOP_MOTION acknowledges a protective stop.
    pub unlock: bool,
    /// kg and the centre of gravity in m.
    pub payload: Option<(f64, [f64; 3])>,
    /// How far the controller's tool may be from our model's, m.
    pub model_tolerance: f64,
}

/// What there is, for people who mistyped.
const NAMES: &str = "address, rtde_port, dashboard_port, script_port, reverse_port, reverse_address, start, frequency, watchdog, stop_along, stop_deceleration, stop_deceleration_path, power_on, brake_release, unlock, payload, model_tolerance";

impl Settings {
    /// Of a robot at that address.
    pub fn at(address: IpAddr) -> Self {
        Self {
            address,
            rtde_port: rtde::PORT,
            dashboard_port: 29999,
            script_port: 30002,
            reverse_port: 0,
            reverse_address: None,
            external: false,
            frequency: 125.0,
            watchdog: Duration::from_millis(500),
            stop_along: StopAlong::Joints,
            stop_deceleration: 4.0,
            stop_deceleration_path: 2.0,
            power_on: false,
            brake_release: false,
            unlock: false,
            payload: None,
            model_tolerance: 0.02,
        }
    }

    /// From names and values.
    ///
    /// # Errors
    /// Names the first that makes no sense.
    pub fn read(parameters: &BTreeMap<String, String>) -> Result<Self, String> {
        let address = parameters.get("address").map_or("", String::as_str);
        let address = address.parse().map_err(|_| {
            format!("address is \"{address}\"; give the robot's IP address, as in --address 192.168.0.10")
        })?;
        let mut settings = Self::at(address);
        for (name, value) in parameters {
            settings.set(name, value)?;
        }
        Ok(settings)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let number = |from: f64, to: f64| {
            let number = value.parse::<f64>().ok().filter(|number| (from..=to).contains(number));
            number.ok_or_else(|| format!("{name} is \"{value}\"; it must be between {from} and {to}"))
        };
        let port = || value.parse::<u16>().map_err(|_| format!("{name} is \"{value}\"; that is no port"));
        let truth =
            || value.parse::<bool>().map_err(|_| format!("{name} is \"{value}\"; it must be true or false"));
        match name {
            "address" => {}
            "rtde_port" => self.rtde_port = port()?,
            "dashboard_port" => self.dashboard_port = port()?,
            "script_port" => self.script_port = port()?,
            "reverse_port" => self.reverse_port = port()?,
            "reverse_address" => {
                let address =
                    value.parse().map_err(|_| format!("{name} is \"{value}\"; that is no IP address"))?;
                self.reverse_address = Some(address);
            }
            "start" => {
                self.external = match value {
                    "remote" => false,
                    "external" => true,
                    _ => return Err(format!("{name} is \"{value}\"; it must be remote or external")),
                };
            }
            "frequency" => self.frequency = number(10.0, 500.0)?,
            "watchdog" => self.watchdog = Duration::from_secs_f64(number(0.1, 2.0)?),
            "stop_along" => {
                self.stop_along = match value {
                    "joints" => StopAlong::Joints,
                    "path" => StopAlong::Path,
                    _ => return Err(format!("{name} is \"{value}\"; it must be joints or path")),
                };
            }
            "stop_deceleration" => self.stop_deceleration = number(0.1, 40.0)?,
            "stop_deceleration_path" => self.stop_deceleration_path = number(0.1, 20.0)?,
            "power_on" => self.power_on = truth()?,
            "brake_release" => self.brake_release = truth()?,
            "unlock" => self.unlock = truth()?,
            "payload" => {
                let numbers: Vec<f64> =
                    value.split_whitespace().map_while(|number| number.parse().ok()).collect();
                self.payload = Some(match numbers[..] {
                    [mass] if (0.0..=50.0).contains(&mass) => (mass, [0.0; 3]),
                    [mass, x, y, z]
                        if (0.0..=50.0).contains(&mass) && [x, y, z].iter().all(|c| c.abs() <= 2.0) =>
                    {
                        (mass, [x, y, z])
                    }
                    _ => {
                        return Err(format!(
                            "{name} is \"{value}\"; give kg, or kg and the centre of gravity: \"1.5 0 0 0.05\""
                        ));
                    }
                });
            }
            "model_tolerance" => self.model_tolerance = number(0.001, 1.0)?,
            other => return Err(format!("this driver has no parameter \"{other}\"; there are {NAMES}")),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bad_value_is_named() {
        for (name, value, expected) in [
            ("address", "robot", "give the robot's IP address"),
            ("watchdog", "30", "between 0.1 and 2"),
            ("rtde_port", "x", "no port"),
            ("power_on", "yes", "true or false"),
            ("payload", "1 2", "centre of gravity"),
            ("start", "now", "remote or external"),
            ("stop_along", "gently", "joints or path"),
            ("ip", "1", "there are address"),
        ] {
            let mut parameters = BTreeMap::from([("address".to_owned(), "192.0.2.1".to_owned())]);
            parameters.insert(name.to_owned(), value.to_owned());
            let reason = Settings::read(&parameters).expect_err(name);
            assert!(reason.contains(expected), "{reason}");
        }
        let parameters = [("address", "192.0.2.1"), ("payload", "1.5 0 0 0.05"), ("stop_along", "path")];
        let parameters = parameters.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let settings = Settings::read(&parameters).unwrap();
        assert_eq!(settings.payload, Some((1.5, [0.0, 0.0, 0.05])));
        assert!(!settings.power_on && !settings.brake_release && !settings.unlock, "nothing moves by itself");
    }
}
