//! Drawings as SVG: a page with shapes and text, and round marks for axes.
//!
//! ```
//! use rosless_svg::{Svg, step, ticks};
//!
//! let mut svg = Svg::new(100.0, 50.0, "");
//! for x in ticks(0.0, 100.0, step(100.0 / 4.0)) {
//!     svg.text((x, 45.0), "text-anchor=\"middle\"", &x.to_string());
//! }
//! svg.polyline([(0.0, 0.0), (100.0, 40.0)], "stroke=\"#000\"");
//! assert!(svg.finish().ends_with("</svg>\n"));
//! ```
#![forbid(unsafe_code)]

use std::fmt::Write;

/// A drawing. Positions and sizes have one digit behind the point; `style` is attributes as they are written.
#[derive(Debug)]
pub struct Svg(String);

impl Svg {
    /// A white page of this size.
    pub fn new(width: f64, height: f64, style: &str) -> Self {
        Self(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             font-family=\"sans-serif\" font-size=\"12\" {style}>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
        ))
    }

    /// What there is no method for, as it is written.
    pub fn raw(&mut self, element: &str) {
        self.0.push_str(element);
        self.0.push('\n');
    }

    /// A rectangle by its corner, width and height.
    pub fn rect(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), style: &str) {
        let _ = writeln!(
            self.0,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" {style}/>"
        );
    }

    /// A straight line.
    pub fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), style: &str) {
        let _ =
            writeln!(self.0, "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" {style}/>");
    }

    /// Text; whatever it says is shown and means nothing to the viewer.
    pub fn text(&mut self, (x, y): (f64, f64), style: &str, text: &str) {
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let _ = writeln!(self.0, "<text x=\"{x:.1}\" y=\"{y:.1}\" {style}>{text}</text>");
    }

    /// A line through points.
    pub fn polyline(&mut self, points: impl IntoIterator<Item = (f64, f64)>, style: &str) {
        self.0.push_str("<polyline fill=\"none\" points=\"");
        for (x, y) in points {
            let _ = write!(self.0, "{x:.1},{y:.1} ");
        }
        let _ = writeln!(self.0, "\" {style}/>");
    }

    /// A circle.
    pub fn circle(&mut self, (x, y): (f64, f64), radius: f64, style: &str) {
        let _ = writeln!(self.0, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" {style}/>");
    }

    /// The whole text.
    pub fn finish(mut self) -> String {
        self.0.push_str("</svg>\n");
        self.0
    }
}

/// 1, 2 or 5 times a power of ten, at least `rough`: a round distance between marks.
pub fn step(rough: f64) -> f64 {
    let rough = rough.max(1e-9);
    let power = 10f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|n| n * power).find(|nice| *nice >= rough).unwrap_or(10.0 * power)
}

/// The multiples of `step` from `from` on, as far as `extent` reaches; a hundred at most.
pub fn ticks(from: f64, extent: f64, step: f64) -> impl Iterator<Item = f64> {
    let first = (from / step).ceil();
    (0..100)
        .map(move |i| (first + f64::from(i)) * step)
        .take_while(move |value| *value <= from + extent + 1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round() {
        assert_eq!([step(24.0 / 5.0), step(3.15 / 5.0), step(120.0 / 10.0)], [5.0, 1.0, 20.0]);
        assert_eq!(ticks(-0.3, 1.0, 0.5).collect::<Vec<_>>(), [0.0, 0.5]);
    }
}
