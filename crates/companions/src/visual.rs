//! Markers and rigid bodies as shapes for display.

use std::collections::BTreeMap;

use rosless_wire::{
    builtin_interfaces::msg::Duration,
    geometry_msgs::msg::{Point, Pose, Quaternion, Vector3},
    mocap4r2_msgs::msg::{Marker, Markers, RigidBodies},
    std_msgs::msg::{ColorRGBA, Header},
    visualization_msgs::msg::{Marker as Shape, MarkerArray},
};

/// Colours kept for single markers; whoever sets more does not get more memory.
const MOST_COLOURS: usize = 4096;

/// How shapes look.
#[derive(Clone, Debug, PartialEq)]
pub struct Style {
    /// Of markers without a colour of their own, and of bodies.
    pub color: ColorRGBA,
    /// Of a marker's sphere, in metres.
    pub scale: Vector3,
    /// Seconds a shape stays.
    pub lifetime: f64,
    /// The shapes' namespace.
    pub namespace: String,
    /// `optitrack` has other axes than ROS; any other is shown as it comes.
    pub system: String,
}

impl Default for Style {
    fn default() -> Self {
        Self {
            color: ColorRGBA { r: 0.0, g: 1.0, b: 0.0, a: 1.0 },
            scale: Vector3 { x: 0.014, y: 0.014, z: 0.014 },
            lifetime: 0.01,
            namespace: "mocap4r2_markers".to_owned(),
            system: "optitrack".to_owned(),
        }
    }
}

/// Makes shapes of what the cameras see.
#[derive(Debug, Default)]
pub struct Visualiser {
    /// May be changed at any time.
    pub style: Style,
    colors: BTreeMap<i32, ColorRGBA>,
}

impl Visualiser {
    /// Gives one marker a colour of its own; false if too many have one.
    pub fn set_color(&mut self, id: i32, color: ColorRGBA) -> bool {
        let room = self.colors.len() < MOST_COLOURS || self.colors.contains_key(&id);
        if room {
            self.colors.insert(id, color);
        }
        room
    }

    /// Gives it the default colour again.
    pub fn reset_color(&mut self, id: i32) {
        self.colors.remove(&id);
    }

    /// A sphere for each marker. Its id is the marker's number, or its place in the frame where it has only a name.
    pub fn markers(&self, frame: &Markers) -> MarkerArray {
        let shapes = (0..).zip(&frame.markers).map(|(place, marker)| {
            let id = if marker.id_type == Marker::USE_NAME { place } else { marker.marker_index };
            let pose = Pose { position: marker.translation.clone(), orientation: upright() };
            let color = self.colors.get(&id).unwrap_or(&self.style.color).clone();
            // A sphere has no direction: only its place is converted.
            let pose = Pose { position: self.placed(&pose).position, orientation: upright() };
            Shape {
                color,
                scale: self.style.scale.clone(),
                ..self.shape(&frame.header, id, Shape::SPHERE, pose)
            }
        });
        MarkerArray { markers: shapes.collect() }
    }

    /// An arrow for each body.
    pub fn bodies(&self, frame: &RigidBodies) -> MarkerArray {
        let shapes = (0..).zip(&frame.rigidbodies).map(|(id, body)| Shape {
            color: self.style.color.clone(),
            scale: Vector3 { x: 0.5, y: 0.014, z: 0.014 },
            ..self.shape(&frame.header, id, Shape::ARROW, self.placed(&body.pose))
        });
        MarkerArray { markers: shapes.collect() }
    }

    fn shape(&self, header: &Header, id: i32, r#type: i32, pose: Pose) -> Shape {
        let seconds = self.style.lifetime.clamp(0.0, f64::from(i32::MAX));
        let lifetime = Duration { sec: seconds as i32, nanosec: (seconds.fract() * 1e9) as u32 };
        let (header, ns) = (header.clone(), self.style.namespace.clone());
        Shape { header, ns, id, r#type, action: Shape::ADD, pose, lifetime, ..Shape::default() }
    }

    fn placed(&self, pose: &Pose) -> Pose {
        if self.style.system != "optitrack" {
            return pose.clone();
        }
        let (Point { x, y, z }, turn) = (pose.position.clone(), pose.orientation.clone());
        Pose { position: Point { x: -y, y: x, z }, orientation: Quaternion { y: -turn.y, ..turn } }
    }
}

fn upright() -> Quaternion {
    Quaternion { x: 0.0, y: 0.0, z: 0.0, w: 1.0 }
}

#[cfg(test)]
mod tests {
    use rosless_wire::mocap4r2_msgs::msg::RigidBody;

    use super::*;

    fn frame() -> Markers {
        let marker = |id_type, marker_index| Marker {
            id_type,
            marker_index,
            marker_name: "toe".to_owned(),
            translation: Point { x: 1.0, y: 2.0, z: 3.0 },
        };
        Markers {
            header: Header { frame_id: "mocap".to_owned(), ..Header::default() },
            frame_number: 7,
            markers: vec![marker(Marker::USE_INDEX, 40), marker(Marker::USE_NAME, 40)],
        }
    }

    #[test]
    fn markers_are_spheres_in_the_axes_of_ros() {
        let mut visualiser = Visualiser::default();
        let shapes = visualiser.markers(&frame()).markers;
        assert_eq!(shapes.iter().map(|s| s.id).collect::<Vec<_>>(), [40, 1], "named ones are counted");
        let sphere = &shapes[0];
        assert_eq!((sphere.r#type, sphere.ns.as_str()), (Shape::SPHERE, "mocap4r2_markers"));
        assert_eq!((sphere.header.frame_id.as_str(), sphere.scale.x), ("mocap", 0.014));
        assert_eq!(sphere.pose.position, Point { x: -2.0, y: 1.0, z: 3.0 });
        assert_eq!((sphere.lifetime.sec, sphere.lifetime.nanosec), (0, 10_000_000));
        visualiser.style.system = "vicon".to_owned();
        assert_eq!(visualiser.markers(&frame()).markers[0].pose.position, Point { x: 1.0, y: 2.0, z: 3.0 });
    }

    #[test]
    fn bodies_are_arrows_with_their_turn() {
        let orientation = Quaternion { x: 0.1, y: 0.2, z: 0.3, w: 0.9 };
        let position = Point { x: 1.0, y: 2.0, z: 3.0 };
        let body = RigidBody { pose: Pose { position, orientation }, ..RigidBody::default() };
        let shapes =
            Visualiser::default().bodies(&RigidBodies { rigidbodies: vec![body], ..Default::default() });
        let arrow = &shapes.markers[0];
        assert_eq!((arrow.r#type, arrow.scale.x, arrow.scale.y), (Shape::ARROW, 0.5, 0.014));
        assert_eq!(arrow.pose.position, Point { x: -2.0, y: 1.0, z: 3.0 });
        assert_eq!(arrow.pose.orientation, Quaternion { x: 0.1, y: -0.2, z: 0.3, w: 0.9 });
    }

    #[test]
    fn a_colour_holds_until_it_is_reset() {
        let mut visualiser = Visualiser::default();
        let red = ColorRGBA { r: 1.0, g: 0.0, b: 0.0, a: 1.0 };
        assert!(visualiser.set_color(40, red.clone()));
        let shapes = visualiser.markers(&frame()).markers;
        assert_eq!((&shapes[0].color, &shapes[1].color), (&red, &Style::default().color));
        visualiser.reset_color(40);
        assert_eq!(visualiser.markers(&frame()).markers[0].color, Style::default().color);
        for id in 0..10_000 {
            visualiser.set_color(id, red.clone());
        }
        assert!(!visualiser.set_color(-1, red.clone()) && visualiser.set_color(0, red), "bounded");
    }
}
