//! Shapes for RViz and Foxglove: where a ball flies, how far the arm reaches, how the last throw ended.

use rosless_arm::{Ball, Judged, Links, Vector3};
use rosless_graph::{Node, Publisher, Result, TopicQos};
use rosless_wire::{
    geometry_msgs::msg::{Point, Pose, Quaternion, Vector3 as Scale},
    std_msgs::msg::{ColorRGBA, Header},
    visualization_msgs::msg::{Marker, MarkerArray},
};

/// Points of a flight.
const POINTS: u32 = 40;

/// The topic /catch_markers.
pub(crate) struct Markers(Publisher<MarkerArray>);

impl Markers {
    /// Also shows the reach, for whoever comes later.
    pub(crate) fn new(node: &Node) -> Result<Self> {
        let markers = Self(node.publisher("catch_markers".latched().keep_last(3))?);
        let links = Links::default();
        let reach = 2.0 * (links.upper + links.fore + links.hand);
        let sphere = Marker {
            r#type: Marker::SPHERE,
            pose: at(&Vector3::new(0.0, links.base, 0.0)),
            scale: Scale { x: reach, y: reach, z: reach },
            ..shape("reach", [0.1, 0.3, 0.8, 0.08])
        };
        markers.show(sphere);
        Ok(markers)
    }

    /// A ball was thrown: its flight down to the floor.
    pub(crate) fn flight(&self, ball: &Ball) {
        let time = |k: u32| ball.landing_time() * f64::from(k) / f64::from(POINTS);
        self.show(Marker {
            r#type: Marker::LINE_STRIP,
            scale: Scale { x: 0.01, ..Scale::default() },
            points: (0..=POINTS).map(|k| point(&ball.at(time(k)).0)).collect(),
            ..shape("trajectory", [0.9, 0.8, 0.1, 0.9])
        });
    }

    /// A catch was judged: where, and how.
    pub(crate) fn verdict(&self, judged: &Judged, at_ball: &Vector3<f64>) {
        let (text, colour) = match judged.verdict.miss {
            None => ("caught".to_owned(), [0.1, 0.7, 0.1, 1.0]),
            Some(reason) => (format!("missed: {reason}"), [0.8, 0.2, 0.1, 1.0]),
        };
        self.show(Marker {
            r#type: Marker::TEXT_VIEW_FACING,
            pose: at(&(at_ball + Vector3::y() * 0.12)),
            scale: Scale { z: 0.06, ..Scale::default() },
            text,
            ..shape("verdict", colour)
        });
    }

    fn show(&self, marker: Marker) {
        self.0.publish(&MarkerArray { markers: vec![marker] });
    }
}

fn shape(ns: &str, [r, g, b, a]: [f32; 4]) -> Marker {
    Marker {
        header: Header { frame_id: "world".into(), ..Header::default() },
        ns: ns.into(),
        pose: at(&Vector3::zeros()),
        color: ColorRGBA { r, g, b, a },
        ..Marker::default()
    }
}

/// In the axes that viewers see: X = z, Y = x, Z = y.
fn point(p: &Vector3<f64>) -> Point {
    Point { x: p.z, y: p.x, z: p.y }
}

fn at(p: &Vector3<f64>) -> Pose {
    Pose { position: point(p), orientation: Quaternion { w: 1.0, ..Quaternion::default() } }
}
