//! Recordings as a picture: one panel for each thing measured, one line for each process.

use rosless_svg::{Svg, step, ticks};

use super::recording::{Moment, Recording};

const WIDTH: f64 = 1000.0;
const LEFT: f64 = 60.0;
/// Names stand at the right ends of the lines.
const RIGHT: f64 = 190.0;
const PANEL: f64 = 190.0;
const GAP: f64 = 50.0;
const TOP: f64 = 56.0;
/// Told apart also by people who see few colours, and by their names at the right.
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#7f6000", "#56b4e9", "#8c2d04", "#444444"];

type Line = Vec<(f64, f64)>;

/// The recordings as an SVG.
pub fn plot(title: &str, recordings: &[Recording]) -> String {
    let of = |value: fn(&Moment) -> f64| -> Vec<Line> {
        let line = |r: &Recording| r.moments.iter().map(|m| (m.at.as_secs_f64(), value(m))).collect();
        recordings.iter().map(line).collect()
    };
    let shares = |r: &Recording| {
        let percent: Line = r.shares().map(|(at, share)| (at.as_secs_f64(), share * 100.0)).collect();
        smoothed(&percent)
    };
    let panels: [(&str, Vec<Line>); 4] = [
        ("resident memory, MB", of(|m| m.resident_bytes / 1e6)),
        ("processor, % of a core (running mean of 15 samples)", recordings.iter().map(shares).collect()),
        ("descriptors", of(|m| m.descriptors as f64)),
        ("threads", of(|m| m.threads as f64)),
    ];
    let end = panels[0].1.iter().flatten().map(|(at, _)| *at).fold(1.0, f64::max);
    let height = TOP + panels.len() as f64 * (PANEL + GAP);
    let mut svg = Svg::new(WIDTH, height, "fill=\"#222\"");
    svg.text((LEFT, 24.0), "font-size=\"16\"", title);
    let names: Vec<&str> = recordings.iter().map(|r| r.name.as_str()).collect();
    for (index, (what, lines)) in panels.iter().enumerate() {
        let top = TOP + index as f64 * (PANEL + GAP);
        panel(&mut svg, what, top, end, lines, &names);
    }
    svg.finish()
}

/// One panel with axes; the second and the last third, which are compared, are marked.
fn panel(svg: &mut Svg, what: &str, top: f64, end: f64, lines: &[Line], names: &[&str]) {
    let values = || lines.iter().flatten().map(|(_, value)| *value);
    let (low, high) = (values().fold(f64::INFINITY, f64::min).min(0.0), values().fold(1.0, f64::max) * 1.05);
    let right = WIDTH - RIGHT;
    let x = |at: f64| LEFT + at / end * (right - LEFT);
    let y = |value: f64| top + PANEL - (value - low) / (high - low) * PANEL;
    svg.text((LEFT, top - 7.0), "font-weight=\"bold\"", what);
    for (third, shade) in [(1.0, "#f6f6f6"), (2.0, "#ececec")] {
        let corner = (x(end * third / 3.0), top);
        svg.rect(corner, ((right - LEFT) / 3.0, PANEL), &format!("fill=\"{shade}\""));
    }
    for value in ticks(0.0, high, step((high - low) / 5.0)) {
        svg.line((LEFT, y(value)), (right, y(value)), "stroke=\"#ccc\" stroke-width=\".6\"");
        svg.text((LEFT - 6.0, y(value) + 4.0), "text-anchor=\"end\"", &short(value));
    }
    let (unit, seconds) = if end > 7200.0 {
        ("h", 3600.0)
    } else if end > 180.0 {
        ("min", 60.0)
    } else {
        ("s", 1.0)
    };
    for at in ticks(0.0, end / seconds, step(end / seconds / 10.0)) {
        let label = if at == 0.0 { format!("0 {unit}") } else { short(at) };
        svg.text((x(at * seconds), top + PANEL + 16.0), "text-anchor=\"middle\"", &label);
    }
    let ends: Vec<f64> = lines.iter().map(|line| line.last().map_or(0.0, |(_, value)| y(*value))).collect();
    for (((line, name), label), colour) in
        lines.iter().zip(names).zip(spread(&ends, top, top + PANEL)).zip(COLOURS.iter().cycle())
    {
        let points = line.iter().map(|(at, value)| (x(*at), y(*value)));
        svg.polyline(points, &format!("stroke=\"{colour}\" stroke-width=\"1.4\""));
        let tail = line.last().map_or(top, |(_, value)| y(*value));
        svg.line((right, tail), (right + 10.0, label), &format!("stroke=\"{colour}\" stroke-width=\".8\""));
        let value = line.last().map_or_else(String::new, |(_, value)| format!(" {}", short(*value)));
        svg.text((right + 13.0, label + 4.0), &format!("fill=\"{colour}\""), &format!("{name}{value}"));
    }
}

/// Places for labels near where they belong, a line of text apart.
fn spread(wanted: &[f64], top: f64, bottom: f64) -> Vec<f64> {
    const APART: f64 = 14.0;
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&a, &b| wanted[a].total_cmp(&wanted[b]));
    let mut placed = wanted.to_vec();
    let mut next = top;
    for &index in &order {
        placed[index] = wanted[index].max(next);
        next = placed[index] + APART;
    }
    let mut limit = bottom;
    for &index in order.iter().rev() {
        placed[index] = placed[index].min(limit);
        limit = placed[index] - APART;
    }
    placed
}

/// Work comes in bursts: a mean over several samples shows its level.
fn smoothed(line: &[(f64, f64)]) -> Line {
    const HALF: usize = 7;
    let mean = |i: usize| {
        let near = &line[i.saturating_sub(HALF)..(i + HALF + 1).min(line.len())];
        (line[i].0, near.iter().map(|(_, value)| value).sum::<f64>() / near.len() as f64)
    };
    (0..line.len()).map(mean).collect()
}

fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn recording(name: &str, bytes: f64) -> Recording {
        let moment = |second: u64| Moment {
            at: Duration::from_secs(second),
            resident_bytes: bytes,
            descriptors: 20,
            threads: 3,
            cpu: Duration::from_millis(10 * second),
        };
        Recording { name: name.into(), moments: (0..60).map(moment).collect() }
    }

    #[test]
    fn every_process_has_a_line_and_its_name_in_every_panel() {
        let svg = plot("8 daemons & <load>", &[recording("sim-arm", 13e6), recording("shooter", 12e6)]);
        assert_eq!(svg.matches("<polyline").count(), 2 * 4);
        assert_eq!(svg.matches(">sim-arm ").count(), 4);
        assert!(svg.contains(">sim-arm 13<") && svg.contains(">shooter 12<"), "{svg}");
        assert!(svg.contains("8 daemons &amp; &lt;load&gt;"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn an_empty_recording_can_be_drawn() {
        let svg = plot("nothing", &[Recording::new("sim-arm")]);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn labels_keep_apart_and_inside() {
        let placed = spread(&[100.0, 100.0, 99.0, 5.0, 198.0], 10.0, 200.0);
        let mut sorted = placed.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] >= 13.9), "{placed:?}");
        assert!(sorted[0] >= 10.0 && sorted[4] <= 200.0, "{placed:?}");
        assert!(placed[2] < placed[0], "order is kept: {placed:?}");
    }
}
