//! What the node knows, without ROS: a range finder on a turntable in a room of 4 m by 4 m. No I/O and no clock, so that
//! tests need neither a network nor patience. A real one goes here.

/// Half the width of the room in metres.
const WALL: f64 = 2.0;
/// The farthest the range finder sees, in metres.
const RANGE: f64 = 2.5;

/// The range finder.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sensor {
    /// Where it looks, in radians.
    pub angle: f64,
    offset: f64,
}

impl Sensor {
    /// What it reads where it looks now, in metres; `None` when nothing is in range.
    pub fn read(&self) -> Option<f64> {
        let to_the_wall = WALL / self.angle.cos().abs().max(self.angle.sin().abs());
        (to_the_wall <= RANGE).then_some(to_the_wall + self.offset)
    }

    /// Adds to every reading what is missing to `distance` now, and returns it.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn calibrate(&mut self, distance: f64) -> Result<f64, &'static str> {
        if !(0.0..=RANGE).contains(&distance) {
            return Err("the distance must be between 0 and 2.5 m");
        }
        let read = self.read().ok_or("nothing is in range where it looks")?;
        self.offset += distance - read;
        Ok(self.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_is_nearest_where_it_is_faced_and_a_corner_is_out_of_range() {
        assert_eq!(Sensor::default().read(), Some(2.0));
        assert!(Sensor { angle: 0.3, ..Sensor::default() }.read() > Some(2.0));
        assert_eq!(Sensor { angle: std::f64::consts::FRAC_PI_4, ..Sensor::default() }.read(), None);
    }

    #[test]
    fn after_calibration_it_reads_what_it_was_told() {
        let mut sensor = Sensor::default();
        assert_eq!(sensor.calibrate(2.1).map(|offset| (offset * 10.0).round()), Ok(1.0));
        assert_eq!(sensor.read(), Some(2.1));
        assert!(sensor.calibrate(-1.0).is_err());
        assert!(sensor.calibrate(f64::NAN).is_err());
    }
}
