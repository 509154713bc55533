//! The ROS messages of the two generations, by type: a program written for a [`Dialect`] speaks either.

use rosless_wire::{Message, mecha_control, nucleo_agent};

use crate::profile::{ActuatorArrays, Profile, SensorArrays};

/// The message types of a profile.
pub trait Dialect: 'static {
    /// Which one.
    const PROFILE: Profile;
    /// What the actuators are told with.
    type Actuators: Message + From<ActuatorArrays> + Into<ActuatorArrays>;
    /// What the sensors tell with.
    type Sensors: Message + From<SensorArrays> + Into<SensorArrays>;
}

/// [`Profile::Document`].
#[derive(Clone, Copy, Debug)]
pub struct Document;

/// [`Profile::Nucleo`].
#[derive(Clone, Copy, Debug)]
pub struct Nucleo;

impl Dialect for Document {
    const PROFILE: Profile = Profile::Document;
    type Actuators = mecha_control::msg::ActuatorCommands;
    type Sensors = mecha_control::msg::SensorStates;
}

impl Dialect for Nucleo {
    const PROFILE: Profile = Profile::Nucleo;
    type Actuators = nucleo_agent::msg::ActuatorCommands;
    type Sensors = nucleo_agent::msg::SensorStates;
}

impl From<ActuatorArrays> for mecha_control::msg::ActuatorCommands {
    fn from(arrays: ActuatorArrays) -> Self {
        Self { motor_positions: arrays.positions, cylinder_states: arrays.cylinders }
    }
}

impl From<mecha_control::msg::ActuatorCommands> for ActuatorArrays {
    fn from(message: mecha_control::msg::ActuatorCommands) -> Self {
        Self { positions: message.motor_positions, expand: vec![], cylinders: message.cylinder_states }
    }
}

impl From<ActuatorArrays> for nucleo_agent::msg::ActuatorCommands {
    fn from(arrays: ActuatorArrays) -> Self {
        Self {
            motor_positions: arrays.positions,
            motor_expand: arrays.expand,
            cylinder_states: arrays.cylinders,
        }
    }
}

impl From<nucleo_agent::msg::ActuatorCommands> for ActuatorArrays {
    fn from(message: nucleo_agent::msg::ActuatorCommands) -> Self {
        Self {
            positions: message.motor_positions,
            expand: message.motor_expand,
            cylinders: message.cylinder_states,
        }
    }
}

macro_rules! sensors {
    ($($message:ty),*) => {$(
        impl From<SensorArrays> for $message {
            fn from(arrays: SensorArrays) -> Self {
                Self {
                    potentiometer_angles: arrays.angles,
                    limit_switch_states: arrays.switches,
                    cylinder_states: arrays.cylinders,
                }
            }
        }

        impl From<$message> for SensorArrays {
            fn from(message: $message) -> Self {
                Self {
                    angles: message.potentiometer_angles,
                    switches: message.limit_switch_states,
                    cylinders: message.cylinder_states,
                }
            }
        }
    )*};
}
sensors!(mecha_control::msg::SensorStates, nucleo_agent::msg::SensorStates);
