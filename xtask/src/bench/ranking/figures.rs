//! Where the first right file stands, over many cases.

use std::fmt::Write as _;

/// Files of a list that are looked at. What comes later counts as not found.
pub(crate) const LOOKED_AT: usize = 50;
/// The places that a reader sees without asking for more.
const SEEN: usize = 10;

/// The figures of one ranker.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Figures {
    pub(crate) cases: f64,
    reciprocal: f64,
    first: f64,
    seen: f64,
}

impl Figures {
    /// Adds a case: the files as they were ranked, and the right ones.
    pub(crate) fn add(&mut self, ranked: &[String], right: &[&str]) {
        self.cases += 1.0;
        let is_right = |path: &String| right.contains(&path.as_str());
        if let Some(place) = ranked.iter().take(LOOKED_AT).position(is_right) {
            self.reciprocal += 1.0 / (place as f64 + 1.0);
            self.first += f64::from(u8::from(place == 0));
            self.seen += f64::from(u8::from(place < SEEN));
        }
    }

    /// Adds what was counted elsewhere.
    pub(crate) fn join(&mut self, other: &Figures) {
        self.cases += other.cases;
        self.reciprocal += other.reciprocal;
        self.first += other.first;
        self.seen += other.seen;
    }

    /// The mean of one over the place of the first right file.
    pub(crate) fn mean_reciprocal_rank(&self) -> f64 {
        self.reciprocal / self.cases.max(1.0)
    }

    /// The share of cases whose first file is right.
    pub(crate) fn first(&self) -> f64 {
        self.first / self.cases.max(1.0)
    }

    /// The share of cases with a right file among the first ten.
    pub(crate) fn among_ten(&self) -> f64 {
        self.seen / self.cases.max(1.0)
    }
}

/// A table with a row for each ranker; the figures of each are those of the columns.
pub(crate) fn table(columns: &[&str], rows: &[(&str, Vec<Figures>)]) -> String {
    let mut text = String::from("| mean reciprocal rank; first; among ten |");
    for column in columns {
        let _ = write!(text, " {column} |");
    }
    text.push_str("\n|---|");
    text.push_str(&"---|".repeat(columns.len()));
    text.push('\n');
    for (name, figures) in rows {
        let _ = write!(text, "| {name} |");
        for one in figures {
            let (mean, first, ten) = (one.mean_reciprocal_rank(), one.first(), one.among_ten());
            let _ = write!(text, " {mean:.3}; {first:.2}; {ten:.2} ({} cases) |", one.cases);
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_become_figures() {
        let files: Vec<String> = (0..60).map(|number| number.to_string()).collect();
        let mut figures = Figures::default();
        for right in [&["0", "7"][..], &["1"], &["10"], &["55"], &[]] {
            figures.add(&files, right);
        }
        assert!((figures.mean_reciprocal_rank() - (1.0 + 0.5 + 1.0 / 11.0) / 5.0).abs() < 1e-9);
        assert_eq!((figures.first(), figures.among_ten()), (0.2, 0.4));
        let mut twice = figures;
        twice.join(&figures);
        assert_eq!((twice.cases, twice.first()), (10.0, 0.2));
        assert_eq!(Figures::default().first(), 0.0);
        let text = table(&["all"], &[("ours", vec![figures])]);
        assert!(text.ends_with("|---|---|\n| ours | 0.318; 0.20; 0.40 (5 cases) |\n"), "{text}");
    }
}
