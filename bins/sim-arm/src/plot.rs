//! A picture of an evaluation: flights, catches and the arm, from the side and from above.

use std::fmt::Write;

use rosless_arm::{
    Ball, Joints, Vector3,
    evaluate::{Record, Setup},
};

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

    fn polyline(&self, points: impl Iterator<Item = Vector3<f64>>) -> String {
        let mut text = String::new();
        for point in points {
            let (x, y) = self.point(&point);
            let _ = write!(text, "{x:.1},{y:.1} ");
        }
        text
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
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for view in [&side, &above] {
        draw(&mut text, view, setup, records);
    }
    let legend = [
        ("#2a8a2a", "caught"),
        ("#d06000", "missed"),
        ("#999999", "let go or refused"),
        ("#1f4fd0", "arm at the catch"),
    ];
    for (i, (colour, label)) in legend.into_iter().enumerate() {
        let (x, y) = (MARGIN + 170.0 * i as f64, height - 20.0);
        let _ = writeln!(
            text,
            "<rect x=\"{x}\" y=\"{}\" width=\"14\" height=\"4\" fill=\"{colour}\"/><text x=\"{}\" y=\"{y}\">{label}</text>",
            y - 6.0,
            x + 20.0
        );
    }
    text.push_str("</svg>\n");
    text
}

fn draw(text: &mut String, view: &View, setup: &Setup, records: &[Record]) {
    let (left, right) = (MARGIN, MARGIN + (Z.1 - Z.0) * SCALE);
    let id = view.top as i32;
    let _ = writeln!(
        text,
        "<clipPath id=\"c{id}\"><rect x=\"{left}\" y=\"{:.0}\" width=\"{:.0}\" height=\"{:.0}\"/></clipPath>",
        view.top,
        right - left,
        view.bottom() - view.top,
    );
    let _ = writeln!(
        text,
        "<text x=\"{left}\" y=\"{:.0}\" font-weight=\"bold\">{}</text>",
        view.top - 10.0,
        view.title
    );
    let _ = writeln!(text, "<g clip-path=\"url(#c{id})\" fill=\"none\" stroke-linejoin=\"round\">");
    grid(text, view);
    for record in records {
        flight(text, view, record);
    }
    let robot = &setup.arm.robot;
    let links = &robot.links;
    let (cx, cy) = view.point(&Vector3::new(0.0, links.base, 0.0));
    let reach = (links.upper + links.fore + links.hand) * SCALE;
    let _ = writeln!(
        text,
        "<circle cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"{reach:.1}\" stroke=\"#1f4fd0\" stroke-dasharray=\"5 5\"/>"
    );
    // A few postures: the arm as it stands at the first catches.
    let caught = records.iter().filter(|r| r.outcome.caught()).filter_map(|r| r.plan);
    for plan in caught.take(3) {
        let home = Joints::zeros();
        if let Ok(course) = robot.fastest_move(&plan.position, &plan.rotation, &home, &home) {
            let points = view.polyline(robot.link_points(&course.goal()).into_iter());
            let _ = writeln!(
                text,
                "<polyline points=\"{points}\" stroke=\"#1f4fd0\" stroke-width=\"5\" stroke-opacity=\"0.55\" stroke-linecap=\"round\"/>"
            );
        }
    }
    text.push_str("</g>\n");
}

fn grid(text: &mut String, view: &View) {
    let ticks = |(from, to): (f64, f64)| {
        ((from * 4.0).ceil() as i32..=(to * 4.0).floor() as i32).map(|k| f64::from(k) / 4.0)
    };
    let on_axis = |z: f64, h: f64| (MARGIN + (z - Z.0) * SCALE, view.top + (view.upper - h) * SCALE);
    for z in ticks(Z) {
        let (x, _) = on_axis(z, 0.0);
        let _ = writeln!(
            text,
            "<path d=\"M{x:.1} {:.1}V{:.1}\" stroke=\"#eeeeee\"/><text x=\"{x:.1}\" y=\"{:.1}\" fill=\"#888888\" font-size=\"10\">{z}</text>",
            view.top,
            view.bottom(),
            view.bottom() - 3.0
        );
    }
    for h in ticks((view.lower, view.upper)) {
        let (_, y) = on_axis(0.0, h);
        let _ = writeln!(
            text,
            "<path d=\"M{MARGIN} {y:.1}H2000\" stroke=\"#eeeeee\"/><text x=\"{MARGIN}\" y=\"{:.1}\" fill=\"#888888\" font-size=\"10\">{h}</text>",
            y - 3.0
        );
    }
}

fn flight(text: &mut String, view: &View, record: &Record) {
    let ball: &Ball = &record.ball;
    let (colour, until) = match record.closed_at {
        Some(closed) if record.outcome.caught() => ("#2a8a2a", closed - ball.released),
        Some(_) => ("#d06000", ball.landing_time()),
        None => ("#999999", ball.landing_time()),
    };
    let points = view.polyline((0..=40).map(|k| ball.at(until * f64::from(k) / 40.0).0));
    let _ = writeln!(text, "<polyline points=\"{points}\" stroke=\"{colour}\" stroke-opacity=\"0.45\"/>");
    if record.outcome.caught() {
        let (x, y) = view.point(&ball.at(until).0);
        let _ = writeln!(text, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
    }
}
