//! A hand-written page with generated parts between markers.

use thiserror::Error;

/// A Markdown page in which `<!-- begin NAME -->` and `<!-- end NAME -->`, each on a line of its own, enclose what is
/// generated.
#[derive(Debug, Clone)]
pub struct Document(String);

/// A page without a place for a part.
#[derive(Debug, Error, PartialEq, Eq)]
#[error(
    "no lines `<!-- begin {0} -->` and, after it, `<!-- end {0} -->`; add them where this part should stand"
)]
pub struct Unmarked(pub String);

impl Document {
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// Puts `content` between the markers of `name`.
    ///
    /// # Errors
    /// When the page has no such markers; it is unchanged then.
    pub fn fill(&mut self, name: &str, content: &str) -> Result<(), Unmarked> {
        let (begin, end) = (format!("<!-- begin {name} -->\n"), format!("<!-- end {name} -->"));
        let unmarked = || Unmarked(name.into());
        let from = self.0.find(&begin).ok_or_else(unmarked)? + begin.len();
        let to = from + self.0[from..].find(&end).ok_or_else(unmarked)?;
        self.0.replace_range(from..to, &format!("{}\n", content.trim_end()));
        Ok(())
    }

    pub fn text(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str =
        "# Page\n<!-- begin a -->\nold\ntable\n<!-- end a -->\nprose\n<!-- begin b -->\n<!-- end b -->\n";

    #[test]
    fn fills_between_markers_again_and_again() {
        let mut page = Document::new(PAGE.into());
        for _ in 0..2 {
            page.fill("a", "new\n").unwrap();
            page.fill("b", "two\nlines").unwrap();
        }
        let expected =
            PAGE.replace("old\ntable", "new").replace("begin b -->\n", "begin b -->\ntwo\nlines\n");
        assert_eq!(page.text(), expected);
    }

    #[test]
    fn a_missing_or_reversed_marker_changes_nothing() {
        let mut page = Document::new(PAGE.into());
        assert_eq!(page.fill("c", "x"), Err(Unmarked("c".into())));
        assert_eq!(page.text(), PAGE);
        let mut reversed = Document::new("<!-- end a -->\n<!-- begin a -->\n".into());
        assert_eq!(reversed.fill("a", "x"), Err(Unmarked("a".into())));
    }
}
