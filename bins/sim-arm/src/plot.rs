//! A picture of an evaluation: flights, catches and the arm, from the side and from above.

use rosless_arm::{
    Ball, Joints, Vector3,
    evaluate::{Record, Setup},
};
use rosless_svg::{Svg, ticks};

/// Pixels per metre.
const SCALE: f64 = 260.0;
const MARGIN: f64 = 40.0;
/// Visible part of the world, metres.
const Z: (f64, f64) = (-2.0, 0.9);
const Y: (f64, f64) = (-0.05, 0.95);
const X: (f64, f64) = (-0.75, 0.75);
/// More flights than this are a grey mush.
pub(crate) const MOST_FLIGHTS: usize = 80;

/// One of the two views: where world coordinates go on the page.
struct View {
    title: &'static str,
    top: f64,
    /// Upper edge in world units.
    upper: f64,
    lower: f64,
    height_of: fn(&Vector3<f64>) -> f64,
}

impl View {
    fn point(&self, p: &Vector3<f64>) -> (f64, f64) {
        (MARGIN + (p.z - Z.0) * SCALE, self.top + (self.upper - (self.height_of)(p)) * SCALE)
    }

    fn bottom(&self) -> f64 {
        self.top + (self.upper - self.lower) * SCALE
    }
}

/// A picture of at most [`MOST_FLIGHTS`] throws.
pub(crate) fn svg(setup: &Setup, records: &[Record]) -> String {
    let side = View {
        title: "side view (z to the right, y up)",
        top: 60.0,
        upper: Y.1,
        lower: Y.0,
        height_of: |p| p.y,
    };
    let above = View {
        title: "from above (z to the right, x up)",
        top: side.bottom() + 60.0,
        upper: X.1,
        lower: X.0,
        height_of: |p| p.x,
    };
    let (width, height) = (2.0 * MARGIN + (Z.1 - Z.0) * SCALE, above.bottom() + 60.0);
    let mut svg = Svg::new(width, height, "");
    for view in [&side, &above] {
        draw(&mut svg, view, setup, records);
    }
    let legend = [
        ("#2a8a2a", "caught"),
        ("#d06000", "missed"),
        ("#999999", "let go or refused"),
        ("#1f4fd0", "arm at the catch"),
    ];
    for (i, (colour, label)) in legend.into_iter().enumerate() {
        let (x, y) = (MARGIN + 170.0 * i as f64, height - 20.0);
        svg.rect((x, y - 6.0), (14.0, 4.0), &format!("fill=\"{colour}\""));
        svg.text((x + 20.0, y), "", label);
    }
    svg.finish()
}

fn draw(svg: &mut Svg, view: &View, setup: &Setup, records: &[Record]) {
    let (left, width) = (MARGIN, (Z.1 - Z.0) * SCALE);
    let id = view.top as i32;
    svg.raw(&format!("<clipPath id=\"c{id}\">"));
    svg.rect((left, view.top), (width, view.bottom() - view.top), "");
    svg.raw("</clipPath>");
    svg.text((left, view.top - 10.0), "font-weight=\"bold\"", view.title);
    svg.raw(&format!("<g clip-path=\"url(#c{id})\" fill=\"none\" stroke-linejoin=\"round\">"));
    grid(svg, view);
    for record in records {
        flight(svg, view, record);
    }
    let robot = &setup.arm.robot;
    let links = &robot.links;
    let reach = (links.upper + links.fore + links.hand) * SCALE;
    let base = view.point(&Vector3::new(0.0, links.base, 0.0));
    svg.circle(base, reach, "stroke=\"#1f4fd0\" stroke-dasharray=\"5 5\"");
    // A few postures: the arm as it stands at the first catches.
    let caught = records.iter().filter(|r| r.outcome.caught()).filter_map(|r| r.plan);
    for plan in caught.take(3) {
        let home = Joints::zeros();
        if let Ok(course) = robot.fastest_move(&plan.hand.position, &plan.hand.rotation, &home, &home) {
            svg.polyline(
                robot.link_points(&course.goal()).iter().map(|p| view.point(p)),
                "stroke=\"#1f4fd0\" stroke-width=\"5\" stroke-opacity=\"0.55\" stroke-linecap=\"round\"",
            );
        }
    }
    svg.raw("</g>");
}

fn grid(svg: &mut Svg, view: &View) {
    const LINE: &str = "stroke=\"#eeeeee\"";
    const LABEL: &str = "fill=\"#888888\" font-size=\"10\"";
    for z in ticks(Z.0, Z.1 - Z.0, 0.25) {
        let x = MARGIN + (z - Z.0) * SCALE;
        svg.line((x, view.top), (x, view.bottom()), LINE);
        svg.text((x, view.bottom() - 3.0), LABEL, &z.to_string());
    }
    for h in ticks(view.lower, view.upper - view.lower, 0.25) {
        let y = view.top + (view.upper - h) * SCALE;
        svg.line((MARGIN, y), (2000.0, y), LINE);
        svg.text((MARGIN, y - 3.0), LABEL, &h.to_string());
    }
}

fn flight(svg: &mut Svg, view: &View, record: &Record) {
    let ball: &Ball = &record.ball;
    let (colour, until) = match record.closed_at {
        Some(closed) if record.outcome.caught() => ("#2a8a2a", closed - ball.released),
        Some(_) => ("#d06000", ball.landing_time()),
        None => ("#999999", ball.landing_time()),
    };
    let points = (0..=40).map(|k| view.point(&ball.at(until * f64::from(k) / 40.0).0));
    svg.polyline(points, &format!("stroke=\"{colour}\" stroke-opacity=\"0.45\""));
    if record.outcome.caught() {
        svg.circle(view.point(&ball.at(until).0), 3.0, &format!("fill=\"{colour}\""));
    }
}
