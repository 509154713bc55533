//! Tables for people, once or live.

use std::time::Duration;

use serde_json::Value;

use crate::output;

/// Rows below their titles, as wide as their cells need. Cells are foreign text.
pub fn columns<R: AsRef<[String]>>(titles: &[&str], rows: impl IntoIterator<Item = R>) -> String {
    let titles: Vec<String> = titles.iter().map(ToString::to_string).collect();
    let cells = |row: R| row.as_ref().iter().map(|cell| output::escape_line(cell).into_owned()).collect();
    let all: Vec<Vec<String>> = std::iter::once(titles).chain(rows.into_iter().map(cells)).collect();
    let width = |column: usize| {
        all.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths: Vec<_> = (0..all[0].len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    all.iter().map(line).collect()
}

/// The words of a text on lines of at most that width; a longer word has a line of its own.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always one");
        if !line.is_empty() && line.chars().count().saturating_add(1 + word.chars().count()) > width {
            lines.push(word.to_owned());
        } else {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
    }
    lines
}

/// As much of `text` as a terminal of that size can show.
fn clip(text: &str, columns: usize, lines: usize) -> String {
    let shorten = |line: &str| match line.char_indices().nth(columns) {
        Some(_) => line.chars().take(columns.saturating_sub(1)).chain(['…']).collect(),
        None => line.to_owned(),
    };
    let total = text.lines().count();
    let shown = if total <= lines { total } else { lines.saturating_sub(1) };
    let mut clipped: String = text.lines().take(shown).map(|line| shorten(line) + "\n").collect();
    if shown < total {
        clipped += &format!("… {} more\n", total - shown);
    }
    clipped
}

/// A picture that changes: in place on a terminal, one after the other, when something changed, elsewhere.
#[derive(Debug)]
pub struct Live {
    in_place: bool,
    shown: String,
}

impl Live {
    /// For standard output as it is.
    pub fn new() -> Self {
        Self { in_place: output::is_terminal() && !output::is_json(), shown: String::new() }
    }

    /// Whether the picture stays in place, so that passing time can be seen.
    pub fn is_in_place(&self) -> bool {
        self.in_place
    }

    /// What is shown next is news, even if it looks the same.
    pub fn forget(&mut self) {
        self.shown.clear();
    }

    /// Shows the picture, or the JSON of it; the title is for the terminal only.
    pub fn show(&mut self, title: &str, text: impl FnOnce() -> String, json: impl FnOnce() -> Value) {
        if self.in_place {
            let (columns, lines) = output::terminal_size();
            let title = if title.is_empty() { String::new() } else { format!("{title}\n\n") };
            let picture = output::escape(&format!("{title}{}", text())).into_owned();
            // Home, then clear: the display stays in place like `top`.
            output::raw(&format!("\x1b[H\x1b[2J{}", clip(&picture, columns, lines.saturating_sub(1))));
            return;
        }
        let picture = match output::is_json() {
            true => output::json_text(serde_json::to_string(&json())),
            false => output::escape(&text()).into_owned(),
        };
        if picture != self.shown {
            output::raw(&picture);
            self.shown = picture;
        }
    }
}

impl Default for Live {
    fn default() -> Self {
        Self::new()
    }
}

/// A duration for people who look: `59 s`, `3 min`, `2 h`.
pub fn rough(duration: Duration) -> String {
    match duration.as_secs() {
        s @ 0..=59 => format!("{s} s"),
        s @ 60..=3599 => format!("{} min", s / 60),
        s => format!("{} h", s / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_wrapped_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("immeasurable a b", 5), ["immeasurable", "a b"]);
        assert_eq!(wrapped("one two", usize::MAX), ["one two"]);
    }

    #[test]
    fn foreign_cells_stay_in_their_place() {
        let rows = [["cam".to_owned(), "\x1b]0;owned\x07 two\nlines größe".to_owned()]];
        let table = columns(&["NAME", "TOPICS"], rows);
        assert_eq!(table, "NAME  TOPICS\ncam   \\u{1b}]0;owned\\u{7} two\\nlines größe\n");
    }

    #[test]
    fn a_small_terminal_gets_what_fits() {
        let text = "SYSTEM  STATE\ncam     inactive\nöre     active\n";
        assert_eq!(clip(text, 80, 24), text);
        assert_eq!(clip(text, 9, 3), "SYSTEM  …\ncam     …\nöre     …\n");
        assert_eq!(clip(text, 16, 2), "SYSTEM  STATE\n… 2 more\n");
        assert_eq!(clip(text, 0, 0), "… 3 more\n");
    }
}
