//! What stands beside a motion-capture system: markers to try things with, their display, and a robot's ground truth.
//!
//! Messages go in, messages come out; there is neither socket nor clock here.
//!
//! ```
//! use rosless_companions::{Visualiser, column_of_markers};
//!
//! let shapes = Visualiser::default().markers(&column_of_markers());
//! assert_eq!(shapes.markers.len(), 10);
//! assert_eq!(shapes.markers[3].id, 3);
//! ```

#![forbid(unsafe_code)]

mod frames;
mod ground_truth;
mod visual;

pub use frames::{Frames, pose_from};
pub use ground_truth::GroundTruth;
pub use visual::{Style, Visualiser};

use rosless_wire::{
    geometry_msgs::msg::Point,
    mocap4r2_msgs::msg::{Marker, Markers},
};

/// Ten markers in a column, each 0.1 m above the one before. The header is empty, as in the original.
pub fn column_of_markers() -> Markers {
    let marker = |index: i32| Marker {
        id_type: Marker::USE_INDEX,
        marker_index: index,
        marker_name: String::new(),
        translation: Point { z: 0.1 * f64::from(index), ..Point::default() },
    };
    Markers { markers: (0..10).map(marker).collect(), ..Markers::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_column_has_ten_numbered_markers() {
        let column = column_of_markers();
        assert_eq!(column.markers.len(), 10);
        assert_eq!((column.markers[9].marker_index, column.markers[9].id_type), (9, Marker::USE_INDEX));
        assert!((column.markers[9].translation.z - 0.9).abs() < 1e-12);
        assert_eq!(column.header, Default::default());
    }
}
