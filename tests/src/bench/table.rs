//! Figures as Markdown tables, aligned so that they read well on a terminal, too.

use super::figure::{Figure, Limit, Of, Target, Verdict};

/// All figures, with the name of their group.
pub fn overview<'a>(figures: impl IntoIterator<Item = &'a Figure>) -> String {
    let rows = figures.into_iter().map(|figure| {
        let [name, rest @ ..] = cells(figure);
        let mut row = vec![format!("{}: {name}", figure.group)];
        row.extend(rest);
        row
    });
    render(rows.collect())
}

/// The figures of one group.
pub fn section<'a>(figures: impl IntoIterator<Item = &'a Figure>) -> String {
    render(figures.into_iter().map(|figure| cells(figure).to_vec()).collect())
}

const HEAD: [&str; 7] = ["benchmark", "ours", "baseline", "ratio", "target", "met", "note"];
/// Numbers align to the right.
const RIGHT: [bool; 7] = [false, true, true, true, false, false, false];

fn cells(figure: &Figure) -> [String; 7] {
    let unit = |value: f64| [number(value), figure.unit.clone()].join(" ").trim_end().to_owned();
    let baseline = figure.baseline.as_ref().map(|b| format!("{} {}", b.name, unit(b.value)));
    [
        figure.name.clone(),
        figure.value.map_or_else(|| "–".into(), unit),
        baseline.unwrap_or_default(),
        figure.ratio().map(|ratio| format!("{ratio:.2}")).unwrap_or_default(),
        figure.targets.iter().map(|target| wanted(target, &figure.unit)).collect::<Vec<_>>().join(", "),
        match figure.verdict() {
            Verdict::NoTarget => "",
            Verdict::NotMeasured => "not measured",
            Verdict::Met => "yes",
            Verdict::AimMissed => "yes, aim missed",
            Verdict::Missed => "**no**",
        }
        .into(),
        figure.note.clone(),
    ]
}

fn wanted(target: &Target, unit: &str) -> String {
    let aim = if target.aim { "aim " } else { "" };
    let (sign, limit) = match target.limit {
        Limit::AtMost(limit) => ("≤", limit),
        Limit::AtLeast(limit) => ("≥", limit),
    };
    match target.of {
        Of::Value => format!("{aim}{sign} {limit} {unit}").trim_end().to_owned(),
        Of::Ratio => format!("{aim}ratio {sign} {limit}"),
    }
}

/// Three significant digits, or whole numbers with their thousands apart.
fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e3 {
        return format!("{value:.0}");
    }
    match value.abs() {
        x if x >= 999.5 => {
            let digits = format!("{:.0}", value.abs());
            let groups: Vec<&str> = digits
                .as_bytes()
                .rchunks(3)
                .rev()
                .filter_map(|group| std::str::from_utf8(group).ok())
                .collect();
            format!("{}{}", if value < 0.0 { "-" } else { "" }, groups.join(" "))
        }
        x if x >= 99.95 => format!("{value:.0}"),
        x if x >= 9.995 => format!("{value:.1}"),
        x if x >= 0.0995 => format!("{value:.2}"),
        x if x >= 0.00095 => format!("{value:.4}"),
        _ => format!("{value:.1e}"),
    }
}

fn render(rows: Vec<Vec<String>>) -> String {
    // An empty column says nothing.
    let kept: Vec<usize> =
        (0..HEAD.len()).filter(|&i| i == 0 || rows.iter().any(|row| !row[i].is_empty())).collect();
    let width = |i: usize| {
        rows.iter().map(|row| row[i].as_str()).chain([HEAD[i]]).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = kept.iter().map(|&i| width(i).unwrap_or(0)).collect();
    let line =
        |cell: &dyn Fn(usize) -> String| {
            let padded: Vec<String> =
                kept.iter()
                    .zip(&widths)
                    .map(|(&i, &width)| {
                        if RIGHT[i] { format!("{:>width$}", cell(i)) } else { format!("{:<width$}", cell(i)) }
                    })
                    .collect();
            format!("| {} |\n", padded.join(" | "))
        };
    let mut table = line(&|i| HEAD[i].to_owned());
    let rules: Vec<String> = kept
        .iter()
        .zip(&widths)
        .map(|(&i, &width)| {
            let dashes = "-".repeat(width + 1);
            if RIGHT[i] { format!("{dashes}:") } else { format!("{dashes}-") }
        })
        .collect();
    table.push_str(&format!("|{}|\n", rules.join("|")));
    for row in &rows {
        table.push_str(&line(&|i| row[i].replace('|', "\\|")));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_row_a_figure_with_ratio_target_and_verdict() {
        let figures = [
            Figure::new("graph", "topic", 229.66, "µs").against("bare RustDDS", 212.5).ratio_at_most(1.15),
            Figure::new("graph", "idle", 0.17, "%").at_most(0.1).note("SUBNET"),
            Figure::new("arm", "moves", 2_659_987.4, "/s"),
            Figure::not_measured("graph", "loss", "needs root"),
        ];
        let table = overview(&figures);
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(lines.len(), 6);
        let words = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
        assert_eq!(
            words(lines[0])[1..8],
            ["benchmark", "ours", "baseline", "ratio", "target", "met", "note"]
        );
        assert_eq!(
            words(lines[2])[1..8],
            ["graph: topic", "230 µs", "bare RustDDS 212 µs", "1.08", "ratio ≤ 1.15", "yes", ""]
        );
        assert_eq!(words(lines[3])[1..8], ["graph: idle", "0.17 %", "", "", "≤ 0.1 %", "**no**", "SUBNET"]);
        assert_eq!(words(lines[4])[1..8], ["arm: moves", "2 659 987 /s", "", "", "", "", ""]);
        assert_eq!(words(lines[5])[1..8], ["graph: loss", "–", "", "", "", "", "not measured: needs root"]);
        let widths: Vec<_> = lines.iter().map(|line| line.chars().count()).collect();
        assert!(widths.windows(2).all(|pair| pair[0] == pair[1]), "columns are aligned:\n{table}");
    }

    #[test]
    fn columns_without_content_are_left_out() {
        let table = section(&[Figure::new("arm", "a | b", 5.0, "")]);
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(lines, ["| benchmark | ours |", "|-----------|-----:|", "| a \\| b    |    5 |"]);
    }

    #[test]
    fn numbers_have_three_digits_and_thousands_apart() {
        let cases = [
            (0.0, "0"),
            (3.0, "3"),
            (0.08103, "0.0810"),
            (0.1, "0.10"),
            (1.5, "1.50"),
            (12.345, "12.3"),
            (229.7, "230"),
            (999.7, "1 000"),
            (1_234_567.8, "1 234 568"),
            (-20_000.0, "-20 000"),
            (2.5e-7, "2.5e-7"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
    }
}
