//! The two hardware generations: how outputs and sensors lie in the messages' arrays.
//!
//! | | [`Document`](Profile::Document) | [`Nucleo`](Profile::Nucleo) |
//! |---|---|---|
//! | cylinders 1–3 | 1 = extended (clamp open) | 1 = contracted (clamped) |
//! | cylinder 4 | 1 = extended (arm down) | the same |
//! | lift | `motor_positions[0]`: 1 up, 0 down | `motor_expand[0]` |
//! | tilt | `motor_positions[1]`, degrees | `motor_positions[0]`, radians, opposite sign |
//! | guide servos | – | `motor_positions[1..3]` |
//! | latches | – | `cylinder_states` |

use std::{str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    doll::{self, Guide, Lift},
    pedestal,
    settings::Settings,
};

/// The plain content of an `ActuatorCommands` message; the document's form has no `expand`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ActuatorArrays {
    /// `motor_positions`.
    pub positions: Vec<f64>,
    /// `motor_expand`.
    pub expand: Vec<bool>,
    /// `cylinder_states`.
    pub cylinders: Vec<bool>,
}

/// The plain content of a `SensorStates` message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SensorArrays {
    /// `potentiometer_angles`.
    pub angles: Vec<f64>,
    /// `limit_switch_states`.
    pub switches: Vec<bool>,
    /// `cylinder_states`.
    pub cylinders: Vec<bool>,
}

/// Why a sample was not used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BadSample {
    /// An array is too short, or too long where it must be exact.
    #[error("{field} has {got} elements, {need} are needed")]
    WrongSize {
        /// The array.
        field: &'static str,
        /// Its length.
        got: usize,
        /// The length that is needed.
        need: usize,
    },
    /// A number that is no angle or position.
    #[error("{field} has the unusable value {value}")]
    Unusable {
        /// The array.
        field: &'static str,
        /// The number in it.
        value: f64,
    },
    /// Two publish the topic, and nothing tells which of them the mechanism is.
    #[error("two publish it: {first} and {second}; stop one of them")]
    TwoSources {
        /// The one.
        first: String,
        /// The other.
        second: String,
    },
    /// A stand-in beside real hardware, or after it.
    #[error("{name} is a stand-in, and real hardware was seen: {hardware}; stop the stand-in")]
    StandIn {
        /// The stand-in.
        name: String,
        /// The hardware.
        hardware: String,
    },
    /// Its publisher's node has not been found yet.
    #[error("it is not known yet who publishes it: {name}")]
    Unidentified {
        /// The publisher.
        name: String,
    },
    /// It tells of the past.
    #[error("it came {:.1} s late", by.as_secs_f64())]
    Late {
        /// How much longer it took than others.
        by: Duration,
    },
}

/// Which generation of hardware (or simulation) is at the other end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// The document's messages: package `mecha_control`, degrees, 1 = extended.
    #[default]
    Document,
    /// The action-era robot: package `nucleo_agent`, radians, 1 = clamped.
    Nucleo,
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "document" => Ok(Self::Document),
            "nucleo" => Ok(Self::Nucleo),
            _ => Err(format!("unknown profile {text:?}: use \"document\" or \"nucleo\"")),
        }
    }
}

fn need<T: Copy, const N: usize>(field: &'static str, values: &[T]) -> Result<[T; N], BadSample> {
    let short = BadSample::WrongSize { field, got: values.len(), need: N };
    values.get(..N).and_then(|v| v.try_into().ok()).ok_or(short)
}

/// A finite value no further than two turns away: all else is a broken wire, not an angle.
fn angle(field: &'static str, degrees: f64) -> Result<f64, BadSample> {
    if degrees.is_finite() && degrees.abs() <= 720.0 {
        Ok(degrees)
    } else {
        Err(BadSample::Unusable { field, value: degrees })
    }
}

/// The action-era robot takes a command only if all its arrays have exactly these sizes.
fn sizes(
    arrays: &ActuatorArrays,
    positions: usize,
    expand: usize,
    cylinders: usize,
) -> Result<(), BadSample> {
    for (field, got, need) in [
        ("motor_positions", arrays.positions.len(), positions),
        ("motor_expand", arrays.expand.len(), expand),
        ("cylinder_states", arrays.cylinders.len(), cylinders),
    ] {
        if got != need {
            return Err(BadSample::WrongSize { field, got, need });
        }
    }
    Ok(())
}

impl Profile {
    /// As options and parameters call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Document => "document",
            Self::Nucleo => "nucleo",
        }
    }

    /// Whether the lift can be told to stand still between its ends.
    pub fn lift_holds(self) -> bool {
        self == Self::Document
    }

    /// Whether phase 0 means "no command", as in the later generations, instead of the document's prepare.
    pub fn zero_is_no_phase(self) -> bool {
        self == Self::Nucleo
    }

    fn flip(self, cylinders: pedestal::Cylinders) -> pedestal::Cylinders {
        let [a, b, c, arm] = cylinders;
        match self {
            Self::Document => cylinders,
            Self::Nucleo => [!a, !b, !c, arm],
        }
    }

    fn tilt_to_wire(self, degrees: f64) -> f64 {
        match self {
            Self::Document => degrees,
            // The robot's firmware and its original controller compute in single precision.
            Self::Nucleo => f64::from(-degrees.to_radians() as f32),
        }
    }

    fn tilt_from_wire(self, value: f64) -> f64 {
        match self {
            Self::Document => value,
            Self::Nucleo => -value.to_degrees(),
        }
    }

    /// The message of these outputs.
    pub fn pedestal_command(self, command: &pedestal::Cylinders) -> ActuatorArrays {
        ActuatorArrays { cylinders: self.flip(*command).to_vec(), ..ActuatorArrays::default() }
    }

    /// The outputs of a message.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read_pedestal_command(self, arrays: &ActuatorArrays) -> Result<pedestal::Cylinders, BadSample> {
        if self == Self::Nucleo {
            sizes(arrays, 0, 0, 4)?;
        }
        Ok(self.flip(need("cylinder_states", &arrays.cylinders)?))
    }

    /// The message of these sensors.
    pub fn pedestal_sensors(self, sensors: &pedestal::Sensors) -> SensorArrays {
        SensorArrays {
            angles: vec![],
            switches: vec![sensors.pedestal],
            cylinders: self.flip(sensors.cylinders).to_vec(),
        }
    }

    /// The sensors of a message.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read_pedestal_sensors(self, arrays: &SensorArrays) -> Result<pedestal::Sensors, BadSample> {
        let [pedestal] = need("limit_switch_states", &arrays.switches)?;
        Ok(pedestal::Sensors { pedestal, cylinders: self.flip(need("cylinder_states", &arrays.cylinders)?) })
    }

    /// The message of these outputs.
    pub fn doll_command(self, command: &doll::Command, settings: &Settings) -> ActuatorArrays {
        let tilt = self.tilt_to_wire(command.tilt);
        match self {
            Self::Document => {
                let lift = match command.lift {
                    Lift::Up => 1.0,
                    Lift::Down => 0.0,
                    Lift::Hold => settings.lift_hold,
                };
                ActuatorArrays { positions: vec![lift, tilt], ..ActuatorArrays::default() }
            }
            Self::Nucleo => {
                let [servo_1, servo_2] = match command.guide {
                    Guide::Out => [settings.guide_out_1, settings.guide_out_2],
                    Guide::In => [settings.guide_in_1, settings.guide_in_2],
                };
                ActuatorArrays {
                    positions: vec![tilt, servo_1, servo_2],
                    expand: vec![command.lift == Lift::Up],
                    cylinders: command.latches.to_vec(),
                }
            }
        }
    }

    /// The outputs of a message.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read_doll_command(
        self,
        arrays: &ActuatorArrays,
        settings: &Settings,
    ) -> Result<doll::Command, BadSample> {
        const FIELD: &str = "motor_positions";
        match self {
            Self::Document => {
                let [lift, tilt] = need(FIELD, &arrays.positions)?;
                let lift = match lift {
                    1.0 => Lift::Up,
                    0.0 => Lift::Down,
                    // Whoever sent it may have another `hina.lift_hold`.
                    hold if hold > 0.0 && hold < 1.0 => Lift::Hold,
                    value => return Err(BadSample::Unusable { field: FIELD, value }),
                };
                let tilt = angle(FIELD, tilt)?;
                Ok(doll::Command { tilt, lift, guide: Guide::Out, latches: [false; 2] })
            }
            Self::Nucleo => {
                sizes(arrays, 3, 1, 2)?;
                let [tilt, servo_1, _] = need(FIELD, &arrays.positions)?;
                let [up] = need("motor_expand", &arrays.expand)?;
                let to_out = (servo_1 - settings.guide_out_1).abs();
                let guide =
                    if to_out <= (servo_1 - settings.guide_in_1).abs() { Guide::Out } else { Guide::In };
                Ok(doll::Command {
                    tilt: angle(FIELD, self.tilt_from_wire(tilt))?,
                    lift: if up { Lift::Up } else { Lift::Down },
                    guide,
                    latches: need("cylinder_states", &arrays.cylinders)?,
                })
            }
        }
    }

    /// The message of these sensors.
    pub fn doll_sensors(self, sensors: &doll::Sensors) -> SensorArrays {
        let doll::Sensors { up, down, walls: [wall_1, wall_2], stowed, tilt, latches } = *sensors;
        SensorArrays {
            angles: vec![self.tilt_to_wire(tilt)],
            switches: vec![up, down, wall_1, wall_2, stowed],
            cylinders: if self == Self::Nucleo { latches.to_vec() } else { vec![] },
        }
    }

    /// The sensors of a message.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read_doll_sensors(self, arrays: &SensorArrays) -> Result<doll::Sensors, BadSample> {
        let [up, down, wall_1, wall_2, stowed] = need("limit_switch_states", &arrays.switches)?;
        let [tilt] = need("potentiometer_angles", &arrays.angles)?;
        let latches = match self {
            Self::Document => [false; 2],
            Self::Nucleo => need("cylinder_states", &arrays.cylinders)?,
        };
        let tilt = angle("potentiometer_angles", self.tilt_from_wire(tilt))?;
        Ok(doll::Sensors { up, down, walls: [wall_1, wall_2], stowed, tilt, latches })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_pose_in_both_forms() {
        let command = [true, true, true, false];
        assert_eq!(Profile::Document.pedestal_command(&command).cylinders, [true, true, true, false]);
        assert_eq!(Profile::Nucleo.pedestal_command(&command).cylinders, [false, false, false, false]);

        let carry = doll::Command { tilt: 97.5, lift: Lift::Up, guide: Guide::Out, latches: [true, false] };
        let settings = Settings::defaults(Profile::Nucleo);
        assert_eq!(
            Profile::Nucleo.doll_command(&carry, &settings),
            ActuatorArrays {
                positions: vec![-1.701_696_038_246_154_8, 0.2, 0.0],
                expand: vec![true],
                cylinders: vec![true, false],
            }
        );
        assert_eq!(
            Profile::Document.doll_command(&carry, &settings),
            ActuatorArrays { positions: vec![1.0, 97.5], ..ActuatorArrays::default() }
        );
    }

    #[test]
    fn short_arrays_and_impossible_angles_are_refused_with_a_reason() {
        let sensors = SensorArrays { angles: vec![90.0], switches: vec![true; 5], cylinders: vec![true; 4] };
        let refuse = |change: fn(&mut SensorArrays)| {
            let mut broken = sensors.clone();
            change(&mut broken);
            Profile::Document.read_doll_sensors(&broken).expect_err("must be refused").to_string()
        };
        assert_eq!(refuse(|s| s.switches.truncate(4)), "limit_switch_states has 4 elements, 5 are needed");
        assert_eq!(refuse(|s| s.angles.clear()), "potentiometer_angles has 0 elements, 1 are needed");
        assert_eq!(refuse(|s| s.angles[0] = f64::NAN), "potentiometer_angles has the unusable value NaN");
        assert_eq!(refuse(|s| s.angles[0] = -1e9), "potentiometer_angles has the unusable value -1000000000");
        assert!(Profile::Document.read_pedestal_sensors(&SensorArrays::default()).is_err());
    }

    #[test]
    fn the_action_era_robot_takes_commands_of_exact_sizes_only() {
        let settings = Settings::defaults(Profile::Nucleo);
        let rest = doll::Command { tilt: 90.0, lift: Lift::Up, guide: Guide::In, latches: [false; 2] };
        let mut doll = Profile::Nucleo.doll_command(&rest, &settings);
        assert!(Profile::Nucleo.read_doll_command(&doll, &settings).is_ok());
        doll.cylinders.push(false);
        let refused = Profile::Nucleo.read_doll_command(&doll, &settings).expect_err("one latch too many");
        assert_eq!(refused.to_string(), "cylinder_states has 3 elements, 2 are needed");
        let mut pedestal = Profile::Nucleo.pedestal_command(&[true; 4]);
        pedestal.positions.push(0.0);
        assert!(Profile::Nucleo.read_pedestal_command(&pedestal).is_err());
        assert!(Profile::Document.read_pedestal_command(&pedestal).is_ok(), "the document is not so strict");
    }
}
