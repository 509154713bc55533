//! Every angle, wait, tolerance and timeout: one table with name, unit, range and meaning.

use std::{f64::consts::FRAC_PI_4, time::Duration};

use crate::profile::Profile;

/// One row of the parameter table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spec {
    /// Its ROS name.
    pub name: &'static str,
    /// Of the document profile.
    pub default: f64,
    /// The least it may be.
    pub min: f64,
    /// The most it may be.
    pub max: f64,
    /// Empty for a mere number.
    pub unit: &'static str,
    /// What it is for.
    pub description: &'static str,
}

/// Why a parameter value was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ParamError {
    /// Nobody knows it.
    #[error("there is no parameter {0:?}")]
    Unknown(String),
    /// It is too little or too much.
    #[error("{name} = {value} {unit} is outside {min} … {max}")]
    OutOfRange {
        /// Which.
        name: &'static str,
        /// What it was to be.
        value: f64,
        /// In what unit.
        unit: &'static str,
        /// The least.
        min: f64,
        /// The most.
        max: f64,
    },
    /// It does not fit together with the travel band.
    #[error("{name} = {value}° is outside the angles where the lift may travel ({min}° … {max}°)")]
    OutsideTravel {
        /// Which.
        name: &'static str,
        /// What it was to be.
        value: f64,
        /// `hina.travel_min`.
        min: f64,
        /// `hina.travel_max`.
        max: f64,
    },
}

macro_rules! settings {
    ($($field:ident, $name:literal, $default:expr, $min:literal ..= $max:literal, $unit:literal, $description:literal;)*) => {
        /// What can be tuned. Angles are degrees in the document's sense: 180 stowed, 90 upright, below 0 scooping.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Settings {
            /// The hardware that is driven.
            pub profile: Profile,
            $(#[doc = $description] pub $field: f64,)*
        }

        impl Settings {
            /// All parameters with the document profile's defaults.
            pub const TABLE: &[Spec] = &[$(Spec {
                name: $name, default: $default, min: $min, max: $max, unit: $unit, description: $description,
            },)*];

            fn document() -> Self {
                Self { profile: Profile::Document, $($field: $default,)* }
            }

            /// The value of a parameter by name.
            pub fn get(&self, name: &str) -> Option<f64> {
                match name { $($name => Some(self.$field),)* _ => None }
            }

            fn field(&mut self, name: &str) -> Option<&mut f64> {
                match name { $($name => Some(&mut self.$field),)* _ => None }
            }
        }
    };
}

settings! {
    settle, "daiza.settle", 1.0, 0.0..=10.0, "s",
        "A cylinder's sensor is believed this long after its command changed: the delay between cylinder moves";
    cylinder_timeout, "daiza.cylinder_timeout", 3.0, 0.1..=60.0, "s", "Longest wait for a cylinder in a phase";
    pedestal_wait, "daiza.pedestal_wait", 0.0, 0.0..=600.0, "s",
        "Longest wait of collect for the pedestal switch; 0 refuses at once";
    daiza_goal_timeout, "daiza.goal_timeout", 10.0, 0.1..=600.0, "s", "Longest duration of a daiza_cmd goal";
    tilt_timeout, "hina.tilt_timeout", 5.0, 0.1..=60.0, "s", "Longest wait for a tilt angle in a phase";
    lift_timeout, "hina.lift_timeout", 8.0, 0.1..=60.0, "s", "Longest wait for an end of the lift in a phase";
    wall_wait, "hina.wall_wait", 30.0, 0.0..=600.0, "s", "Longest wait of collect for both wall switches";
    place_wait, "hina.place_wait", 3.0, 0.0..=60.0, "s", "How long place leaves the dolls time to slide off";
    guide_time, "hina.guide_time", 0.6, 0.0..=10.0, "s", "Travel time of the guide servos, which report nothing";
    latch_timeout, "hina.latch_timeout", 2.0, 0.1..=60.0, "s", "Longest wait for a latch in a phase";
    hina_goal_timeout, "hina.goal_timeout", 5.0, 0.1..=600.0, "s", "Longest duration of a hina_cmd goal";
    upright_angle, "hina.upright_angle", 90.0, -45.0..=185.0, "deg", "Tilt in which phases carry and travel";
    deploy_angle, "hina.deploy_angle", -10.0, -45.0..=185.0, "deg", "Tilt of deploy, ready to scoop";
    place_angle, "hina.place_angle", -10.0, -45.0..=185.0, "deg", "Tilt of place, dolls slide off";
    stow_angle, "hina.stow_angle", 180.0, -45.0..=185.0, "deg", "Tilt of stow, folded back";
    carry_angle, "hina.carry_angle", 97.5, -45.0..=185.0, "deg", "Tilt of the CARRY goals";
    take_angle, "hina.take_angle", -15.0, -45.0..=185.0, "deg", "Tilt of the TAKE goals";
    release_angle, "hina.release_angle", -25.0, -45.0..=185.0, "deg",
        "Tilt of the PLACE goals; UP_AND_PLACE rises at the mirrored angle";
    tolerance, "hina.tolerance", 5.0, 0.1..=30.0, "deg", "An angle counts as reached within this, on both sides";
    travel_min, "hina.travel_min", 0.0, -45.0..=185.0, "deg", "Interlock: lowest tilt while the lift is between its ends";
    travel_max, "hina.travel_max", 120.0, -45.0..=185.0, "deg",
        "Interlock: highest tilt while the lift is between its ends, and anywhere but at the top";
    lift_hold, "hina.lift_hold", 0.5, 0.05..=0.95, "",
        "Lift value of the document profile that means: stand still between the ends";
    guide_out_1, "hina.guide_out_1", 0.2, -3.2..=3.2, "rad", "Guide servo 1, expanded";
    guide_out_2, "hina.guide_out_2", 0.0, -3.2..=3.2, "rad", "Guide servo 2, expanded";
    guide_in_1, "hina.guide_in_1", -FRAC_PI_4, -3.2..=3.2, "rad", "Guide servo 1, contracted";
    guide_in_2, "hina.guide_in_2", FRAC_PI_4, -3.2..=3.2, "rad", "Guide servo 2, contracted";
    sensor_timeout, "sensor_timeout", 0.5, 0.05..=10.0, "s", "Watchdog: sensor data older than this is no data";
    sensor_wait, "sensor_wait", 2.0, 0.0..=60.0, "s", "Longest wait of a phase for the first valid sensor data";
    command_gap, "command_gap", 2.0, 0.0..=60.0, "s",
        "Repeats of a phase closer than this are one command: they do not restart what was stopped or pre-empted";
    republish_period, "republish_period", 0.5, 0.05..=60.0, "s", "A running sequence repeats its outputs this often";
}

impl Settings {
    /// The defaults of a profile: the action-era robot holds its tilt less exactly.
    pub fn defaults(profile: Profile) -> Self {
        let mut settings = Self { profile, ..Self::document() };
        if profile == Profile::Nucleo {
            settings.tolerance = 17.2;
        }
        settings
    }

    /// Changes one parameter; on error nothing is changed.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn set(&mut self, name: &str, value: f64) -> Result<(), ParamError> {
        self.set_all([(name, value)])
    }

    /// Changes several parameters at once, because some only fit together; on error nothing is changed.
    ///
    /// # Errors
    /// Why they are refused.
    pub fn set_all<'a>(
        &mut self,
        values: impl IntoIterator<Item = (&'a str, f64)>,
    ) -> Result<(), ParamError> {
        let mut changed = self.clone();
        for (name, value) in values {
            let unknown = || ParamError::Unknown(name.to_owned());
            let Spec { name, unit, min, max, .. } =
                *Self::TABLE.iter().find(|s| s.name == name).ok_or_else(unknown)?;
            // Written so that NaN is outside, too.
            if !(min..=max).contains(&value) {
                return Err(ParamError::OutOfRange { name, value, unit, min, max });
            }
            *changed.field(name).ok_or_else(unknown)? = value;
        }
        changed.check_travel()?;
        *self = changed;
        Ok(())
    }

    /// The angles in which the lift travels must be allowed there, or no sequence could ever run.
    fn check_travel(&self) -> Result<(), ParamError> {
        let (min, max) = (self.travel_min, self.travel_max);
        for (name, value) in [
            ("hina.upright_angle", self.upright_angle),
            ("hina.carry_angle", self.carry_angle),
            ("the mirrored hina.release_angle", -self.release_angle),
        ] {
            if !(min..=max).contains(&value) {
                return Err(ParamError::OutsideTravel { name, value, min, max });
            }
        }
        Ok(())
    }
}

/// Seconds of a checked parameter as a duration.
pub(crate) fn secs(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_lie_in_their_ranges_and_can_be_set_again() {
        let mut settings = Settings::defaults(Profile::Document);
        for spec in Settings::TABLE {
            assert_eq!(settings.get(spec.name), Some(spec.default), "{}", spec.name);
            assert_eq!(settings.set(spec.name, spec.default), Ok(()), "{}", spec.name);
        }
    }

    #[test]
    fn bad_values_are_refused_and_change_nothing() {
        let mut settings = Settings::defaults(Profile::Document);
        let before = settings.clone();
        for (name, value, reason) in [
            ("hina.deploy_angle", f64::NAN, "hina.deploy_angle = NaN deg is outside -45 … 185"),
            ("hina.wall_wait", f64::INFINITY, "hina.wall_wait = inf s is outside 0 … 600"),
            (
                "hina.travel_max",
                80.0,
                "hina.upright_angle = 90° is outside the angles where the lift may travel",
            ),
            ("hina.nose", 1.0, "there is no parameter \"hina.nose\""),
        ] {
            let error = settings.set(name, value).expect_err(name).to_string();
            assert!(error.starts_with(reason), "{error}");
        }
        assert_eq!(settings, before);
    }
}
