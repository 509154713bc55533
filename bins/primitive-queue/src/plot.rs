//! What the robot would do with a program: simulated in no time, drawn as SVG.

use std::{collections::BTreeMap, fmt::Write, time::Duration};

use rosless_motion::{
    Event, ExecutionState, Output, Program, Progress, QueueController, RawPrimitive, SimulatedRobot,
    sending::kind_name,
};
use rosless_svg::{Svg, step, ticks};
use serde_json::{Value, json};

use crate::settings::Settings;

/// Simulated cycle.
const CYCLE: Duration = Duration::from_millis(2);
/// A program that takes longer than this is not a drawing.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// Points in the drawing; more are not seen.
const POINTS: usize = 1500;
/// Samples kept: half a minute has all of them, longer programs every second, fourth, … one.
const KEPT: usize = 16_384;

/// The robot at one time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Seconds from the start.
    pub time: f64,
    /// Place of the hand, m.
    pub hand: [f64; 3],
    /// m/s.
    pub hand_speed: f64,
    /// The fastest joint, rad/s.
    pub joint_speed: f64,
}

/// One move and when it happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// Its name.
    pub kind: &'static str,
    /// Seconds from the start.
    pub start: f64,
    /// Seconds from the start.
    pub end: f64,
    /// It began before the one before it was at its target.
    pub blended: bool,
}

/// The places, by id, of accepted messages and of the moves they became: what is refused has no id.
#[derive(Debug, Default)]
struct Ids {
    messages: BTreeMap<u64, usize>,
    moves: BTreeMap<u64, usize>,
}

/// A simulated program.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// In order of time.
    pub samples: Vec<Sample>,
    /// One of so many cycles has a sample.
    every: usize,
    /// Metres the hand has gone.
    length: f64,
    /// The hand's greatest speed, m/s.
    fastest: f64,
    /// In order of time.
    pub moves: Vec<Span>,
    /// Why the robot did not do all of it.
    pub problem: Option<String>,
}

impl Plot {
    /// Runs the program from the settings' initial joints.
    ///
    /// # Errors
    /// When the settings make no controller.
    pub fn simulate(program: &Program, settings: &Settings) -> Result<Self, String> {
        let messages = program.messages();
        let settings = Settings { queue_size: messages.len() as i64, ..settings.clone() };
        let mut controller = settings.controller(settings.simulated("--from")?)?;
        let mut now = Duration::ZERO;
        controller.activate(now).map_err(|fault| fault.to_string())?;
        controller.update(now);
        let hand_at = |controller: &QueueController<SimulatedRobot>, now| {
            let joints = controller.hardware().state_at(now);
            let hand = controller.hardware().planner().robot.chain.place(&joints.position);
            ([hand.x, hand.y, hand.z], joints.velocity.amax())
        };
        let mut plot = Self {
            samples: Vec::new(),
            every: 1,
            length: 0.0,
            fastest: 0.0,
            moves: Vec::new(),
            problem: None,
        };
        let mut ids = Ids::default();
        for (index, message) in messages.iter().enumerate() {
            controller.reference(message, 0, now);
            while let Some(output) = controller.poll_output() {
                match output {
                    Output::Event(Event::Accepted { id, .. }) => {
                        // A message that means several moves is answered with the number of the last.
                        let next = ids.messages.last_key_value().map_or(0, |(last, _)| last + 1);
                        ids.messages.extend((next..=id).map(|id| (id, index)));
                    }
                    Output::Event(Event::Refused { reason }) => {
                        let number = index + 1;
                        plot.problem.get_or_insert_with(|| format!("message {number} is refused: {reason}"));
                    }
                    _ => {}
                }
            }
        }
        let mut before = hand_at(&controller, now).0;
        for cycle in 0.. {
            while let Some(output) = controller.poll_output() {
                if let Output::Event(event) = output {
                    plot.hear(&event, now.as_secs_f64(), &mut ids, &messages);
                }
            }
            let (hand, joint_speed) = hand_at(&controller, now);
            let way = (0..3).map(|i| (hand[i] - before[i]).powi(2)).sum::<f64>().sqrt();
            let hand_speed = way / CYCLE.as_secs_f64();
            before = hand;
            let over = !controller.is_busy() || controller.state() == ExecutionState::Error;
            let endless = !over && now >= LONGEST;
            if endless {
                plot.problem.get_or_insert_with(|| format!("not over after {LONGEST:?}"));
            }
            plot.length += way;
            plot.fastest = plot.fastest.max(hand_speed);
            if cycle % plot.every == 0 || over || endless {
                plot.keep(Sample { time: now.as_secs_f64(), hand, hand_speed, joint_speed });
            }
            if over || endless {
                break;
            }
            now += CYCLE;
            controller.update(now);
        }
        Ok(plot)
    }

    fn keep(&mut self, sample: Sample) {
        if self.samples.len() >= KEPT {
            let mut keep = false;
            self.samples.retain(|_| {
                keep = !keep;
                keep
            });
            self.every *= 2;
        }
        self.samples.push(sample);
    }

    fn hear(&mut self, event: &Event, time: f64, ids: &mut Ids, messages: &[RawPrimitive]) {
        let mut begin = |id: u64, blended| {
            let Some(message) = ids.messages.get(&id) else { return };
            ids.moves.insert(id, self.moves.len());
            let kind = kind_name(messages[*message].kind);
            self.moves.push(Span { kind, start: time, end: time, blended });
        };
        match event {
            Event::Progress(Progress::Started { id }) => begin(*id, false),
            Event::Progress(Progress::Blended { next, .. }) => begin(*next, true),
            Event::Progress(Progress::Finished { id }) => {
                if let Some(index) = ids.moves.get(id) {
                    self.moves[*index].end = time;
                }
            }
            Event::Progress(Progress::Failed { id, reason }) => {
                let number = ids.messages.get(id).map_or(0, |index| index + 1);
                self.problem.get_or_insert_with(|| format!("message {number} cannot be executed: {reason}"));
            }
            _ => {}
        }
    }

    fn duration(&self) -> f64 {
        self.samples.last().map_or(0.0, |last| last.time)
    }

    /// The moves as a table.
    pub fn summary(&self) -> String {
        let mut text = String::from("move  kind  start s    end s\n");
        for (i, span) in self.moves.iter().enumerate() {
            let blended = if span.blended { "  blended" } else { "" };
            let _ = writeln!(
                text,
                "{:>4}  {:<4} {:>8.3} {:>8.3}{blended}",
                i + 1,
                span.kind,
                span.start,
                span.end
            );
        }
        let _ =
            write!(text, "{:.3} m in {:.3} s, at most {:.3} m/s", self.length, self.duration(), self.fastest);
        text
    }

    /// The same for programs.
    pub fn summary_json(&self) -> Value {
        let span = |span: &Span| json!({"kind": span.kind, "start": span.start, "end": span.end, "blended": span.blended});
        json!({
            "moves": self.moves.iter().map(span).collect::<Vec<_>>(),
            "seconds": self.duration(),
            "metres": self.length,
            "fastest": self.fastest,
        })
    }

    /// The drawing: the hand's path from the front and from above, and the speeds over time.
    pub fn svg(&self, title: &str) -> String {
        let mut svg = Svg::new(900.0, 780.0, "");
        svg.raw(
            "<style>.grid{stroke:#e3e6ea}.frame{fill:none;stroke:#9aa3ad}.begin{fill:#fff;stroke:#1b1f24;stroke-width:2}\
             .finish{fill:#1b1f24}text{fill:#3a424b}</style>",
        );
        svg.text((40.0, 30.0), "font-size=\"17\"", &title.chars().take(100).collect::<String>());
        let every = self.samples.len().div_ceil(POINTS).max(1);
        let last = self.samples.len().saturating_sub(1);
        let shown: Vec<&Sample> = self
            .samples
            .iter()
            .enumerate()
            .filter(|(i, _)| i % every == 0 || *i == last)
            .map(|(_, s)| s)
            .collect();
        let views = [("from the front", "x", "z", [0, 2]), ("from above", "x", "y", [0, 1])];
        for (i, (name, across, up, axes)) in views.into_iter().enumerate() {
            self.draw_path(&mut svg, &shown, (name, across, up), axes, 40.0 + 450.0 * i as f64);
        }
        self.draw_speeds(&mut svg, &shown);
        svg.finish()
    }

    fn draw_path(
        &self,
        svg: &mut Svg,
        shown: &[&Sample],
        (name, across, up): (&str, &str, &str),
        [a, b]: [usize; 2],
        left: f64,
    ) {
        const SIZE: f64 = 370.0;
        const TOP: f64 = 70.0;
        let bounds = |axis: usize| {
            let fold = |(low, high): (f64, f64), s: &&Sample| (low.min(s.hand[axis]), high.max(s.hand[axis]));
            shown.iter().fold((f64::INFINITY, f64::NEG_INFINITY), fold)
        };
        let ((low_a, high_a), (low_b, high_b)) = (bounds(a), bounds(b));
        let extent = (high_a - low_a).max(high_b - low_b).max(0.02) * 1.15;
        let (middle_a, middle_b) = ((low_a + high_a) / 2.0, (low_b + high_b) / 2.0);
        let point = |hand: &[f64; 3]| {
            let x = left + SIZE / 2.0 + (hand[a] - middle_a) / extent * SIZE;
            let y = TOP + SIZE / 2.0 - (hand[b] - middle_b) / extent * SIZE;
            (x, y)
        };
        svg.rect((left, TOP), (SIZE, SIZE), FRAME);
        svg.text((left, TOP - 10.0), START, &format!("path of the hand {name}"));
        let grid = step(extent / 4.0);
        let (from_a, from_b) = (middle_a - extent / 2.0, middle_b - extent / 2.0);
        for value in ticks(from_a, extent, grid) {
            let x = left + (value - from_a) / extent * SIZE;
            svg.line((x, TOP), (x, TOP + SIZE), GRID);
            svg.text((x, TOP + SIZE + 16.0), MIDDLE, &label(value, grid));
        }
        for value in ticks(from_b, extent, grid) {
            let y = TOP + SIZE - (value - from_b) / extent * SIZE;
            svg.line((left, y), (left + SIZE, y), GRID);
            svg.text((left - 5.0, y + 4.0), END, &label(value, grid));
        }
        svg.text((left + SIZE, TOP + SIZE + 32.0), END, &format!("{across}, m"));
        svg.text((left + 6.0, TOP + 16.0), START, &format!("{up}, m"));
        for (i, span) in self.moves.iter().enumerate() {
            // Each move's colour holds until the next one begins, so a blend has the colour of where it goes.
            let end = self.moves.get(i + 1).map_or(f64::INFINITY, |next| next.start);
            let part = shown.iter().filter(|s| s.time >= span.start - 0.02 && s.time <= end + 0.02);
            svg.polyline(part.map(|s| point(&s.hand)), &stroke(colour(i)));
        }
        for (class, sample) in [("begin", shown.first()), ("finish", shown.last())] {
            if let Some(sample) = sample {
                svg.circle(point(&sample.hand), 5.0, &format!("class=\"{class}\""));
            }
        }
    }

    fn draw_speeds(&self, svg: &mut Svg, shown: &[&Sample]) {
        const LEFT: f64 = 40.0;
        const WIDTH: f64 = 820.0;
        const TOP: f64 = 520.0;
        const HEIGHT: f64 = 200.0;
        let duration = self.duration().max(1e-3);
        let fastest_joint = shown.iter().map(|s| s.joint_speed).fold(0.0, f64::max);
        let at = |time: f64| LEFT + time / duration * WIDTH;
        for (i, span) in self.moves.iter().enumerate() {
            let (start, end) = (at(span.start), at(span.end));
            let fill = format!("fill=\"{}\" opacity=\"0.13\"", colour(i));
            svg.rect((start, TOP), (end - start, HEIGHT), &fill);
            if end - start > 28.0 {
                svg.text(
                    ((start + end) / 2.0, TOP + HEIGHT - 6.0),
                    MIDDLE,
                    &format!("{} {}", i + 1, span.kind),
                );
            }
        }
        svg.rect((LEFT, TOP), (WIDTH, HEIGHT), FRAME);
        svg.text(
            (LEFT, TOP - 10.0),
            START,
            &format!(
                "speed: hand in m/s (up to {:.2}); dashed: fastest joint (up to {fastest_joint:.2} rad/s)",
                self.fastest,
            ),
        );
        let apart = step(duration / 8.0);
        for value in ticks(0.0, duration, apart) {
            svg.line((at(value), TOP), (at(value), TOP + HEIGHT), GRID);
            svg.text((at(value), TOP + HEIGHT + 16.0), MIDDLE, &label(value, apart));
        }
        svg.text((LEFT + WIDTH, TOP + HEIGHT + 32.0), END, "time, s");
        let top = self.fastest.max(1e-3) * 1.1;
        let apart = step(top / 4.0);
        for value in ticks(0.0, top, apart) {
            let y = TOP + HEIGHT - value / top * HEIGHT;
            svg.line((LEFT, y), (LEFT + WIDTH, y), GRID);
            svg.text((LEFT - 5.0, y + 4.0), END, &label(value, apart));
        }
        // The joints have a scale of their own: both curves are as high as the drawing.
        let joint_top = fastest_joint.max(1e-3) * 1.1;
        svg.polyline(
            shown.iter().map(|s| (at(s.time), TOP + HEIGHT - s.joint_speed / joint_top * HEIGHT)),
            "stroke=\"#7b8590\" stroke-dasharray=\"5 4\"",
        );
        svg.polyline(
            shown.iter().map(|s| (at(s.time), TOP + HEIGHT - s.hand_speed / top * HEIGHT)),
            &stroke("#1b1f24"),
        );
    }
}

const FRAME: &str = "class=\"frame\"";
const GRID: &str = "class=\"grid\"";
const START: &str = "text-anchor=\"start\"";
const MIDDLE: &str = "text-anchor=\"middle\"";
const END: &str = "text-anchor=\"end\"";

fn stroke(colour: &str) -> String {
    format!("stroke=\"{colour}\" stroke-width=\"2\" stroke-linejoin=\"round\"")
}

fn label(value: f64, step: f64) -> String {
    let digits = (-step.log10().floor()).clamp(0.0, 6.0) as usize;
    // Rounding must not leave a minus before a zero.
    format!("{:.digits$}", if value.abs() < step / 2.0 { 0.0 } else { value })
}

fn colour(index: usize) -> &'static str {
    const COLOURS: [&str; 6] = ["#2f6fdb", "#d9822b", "#2e9e5b", "#b8399e", "#0f9bb0", "#a8631f"];
    COLOURS[index % COLOURS.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(yaml: &str) -> Program {
        Program::parse(yaml).unwrap()
    }

    const BLENDED: &str = "- sequence:
    - {ptp: [-0.2, 0, 1.4, 0, 0.6, 0], velocity: 1, acceleration: 5, blend_radius: 0.02}
    - {ptp: [-0.6, 0.3, 1.4, 0, 0.6, 0], velocity: 1, acceleration: 5}";
    const SINGLES: &str = "
- {ptp: [-0.2, 0, 1.4, 0, 0.6, 0], velocity: 1, acceleration: 5}
- {ptp: [-0.6, 0.3, 1.4, 0, 0.6, 0], velocity: 1, acceleration: 5}";

    #[test]
    fn a_blended_sequence_is_faster_and_does_not_stop_between_its_moves() {
        let simulate = |yaml| Plot::simulate(&program(yaml), &Settings::default()).unwrap();
        let (blended, singles) = (simulate(BLENDED), simulate(SINGLES));
        assert_eq!((blended.moves.len(), singles.moves.len()), (2, 2));
        assert!(blended.moves[1].blended && !singles.moves[1].blended);
        assert!(blended.duration() < singles.duration());
        let slowest = |plot: &Plot| {
            let (from, to) = (0.1, plot.duration() - 0.1);
            let inner = plot.samples.iter().filter(|s| (from..to).contains(&s.time));
            inner.map(|s| s.joint_speed).fold(f64::INFINITY, f64::min)
        };
        assert!(slowest(&blended) > 0.05, "{}", slowest(&blended));
        assert!(slowest(&singles) < 0.05, "{}", slowest(&singles));
    }

    #[test]
    fn the_drawing_is_whole_and_the_title_cannot_break_it() {
        let svg = Plot::simulate(&program(BLENDED), &Settings::default()).unwrap().svg("<a> & b");
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        assert!(svg.contains("&lt;a&gt; &amp; b") && svg.contains("1 PTP") && !svg.contains("NaN"));
        assert!(svg.len() < 200_000, "{} bytes", svg.len());
    }

    #[test]
    fn what_the_robot_cannot_do_is_said() {
        let yaml = "- {lin: {position: [9, 0, 0], orientation: [0, 0, 0, 1]}, velocity: 1, acceleration: 1}";
        let problem = Plot::simulate(&program(yaml), &Settings::default()).unwrap().problem.unwrap();
        assert!(problem.contains("message 1 cannot be executed"), "{problem}");
    }

    #[test]
    fn a_refused_message_does_not_shift_the_names_of_the_others() {
        let yaml = "
- {lin: {position: [0.1, 0.5, 0.1], orientation: [0, 0, 0, 1], frame: tool0}, velocity: 1, acceleration: 1}
- {ptp: [-0.2, 0, 1.4, 0, 0.6, 0], velocity: 1, acceleration: 5}";
        let plot = Plot::simulate(&program(yaml), &Settings::default()).unwrap();
        assert_eq!(plot.moves.iter().map(|span| span.kind).collect::<Vec<_>>(), ["PTP"]);
        let problem = plot.problem.unwrap();
        assert!(problem.starts_with("message 1 is refused: pose 0 is in frame"), "{problem}");
    }

    #[test]
    fn a_long_program_is_thinned_and_measured_all_the_same() {
        let plot = |seconds: u32| {
            let yaml = format!("- {{ptp: [-0.2, 0, 1.4, 0, 0.6, 0], move_time: {seconds}}}");
            Plot::simulate(&program(&yaml), &Settings::default()).unwrap()
        };
        let (short, long) = (plot(10), plot(200));
        assert!(long.samples.len() <= KEPT + 1, "{} samples", long.samples.len());
        assert!((long.duration() - long.moves[0].end).abs() < 1e-9, "the last one is kept");
        assert!((long.duration() - 200.0).abs() < 0.1 && (long.length - short.length).abs() < 1e-4);
        let gaps = long.samples.windows(2).map(|pair| pair[1].time - pair[0].time);
        assert!(gaps.fold(0.0, f64::max) < 0.05);
    }

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(step(0.13), 0.2);
        assert_eq!(ticks(-0.25, 0.5, 0.2).map(|v| label(v, 0.2)).collect::<Vec<_>>(), ["-0.2", "0.0", "0.2"]);
    }
}
