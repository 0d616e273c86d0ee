//! Re-indenting new lines as the file indents the lines around them.

use std::borrow::Cow;

/// Usual widths of an indentation.
const UNITS: [usize; 4] = [2, 3, 4, 8];

/// How indentation in a model's text becomes indentation in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reindent {
    /// The same on both sides.
    Same,
    /// The file has this in front of what the model wrote.
    Add(Vec<u8>),
    /// The model wrote this in front of what the file has.
    Remove(Vec<u8>),
    /// Another character or width: `file = (asked * times / per) + plus`, counted in characters.
    Scale { from: u8, to: u8, times: usize, per: usize, plus: isize },
}

impl Reindent {
    /// The one transformation that turns every left indentation into the right one. `None` if there
    /// is none, or if it does not say clearly what becomes of the indentations in `new`.
    pub(super) fn find(
        pairs: &[(&[u8], &[u8])],
        new: &[&[u8]],
        unit: Option<usize>,
    ) -> Option<Self> {
        if pairs.iter().all(|(asked, file)| asked == file) {
            return Some(Self::Same);
        }
        let explains = |found: &Self| {
            pairs.iter().all(|(asked, file)| found.apply(asked).as_deref() == Some(*file))
                && new.iter().all(|asked| found.apply(asked).is_some())
        };
        match shift(pairs).filter(explains) {
            Some(shift) if shift.suits(pairs, new, unit) => Some(shift),
            _ => scale(pairs, new, unit).filter(explains),
        }
    }

    /// Whether nothing changes.
    pub(super) fn is_same(&self) -> bool {
        *self == Self::Same
    }

    /// What becomes of an indentation; `None` if the transformation does not say.
    pub(super) fn apply<'a>(&self, asked: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        Some(match self {
            Self::Same => Cow::Borrowed(asked),
            Self::Add(prefix) => Cow::Owned([prefix, asked].concat()),
            Self::Remove(prefix) => Cow::Borrowed(asked.strip_prefix(prefix.as_slice())?),
            Self::Scale { from, to, times, per, plus } => {
                let width = width_of(asked, *from)? * times;
                let scaled = (width.is_multiple_of(*per)).then(|| (width / per).cast_signed())?;
                Cow::Owned(vec![*to; usize::try_from(scaled + plus).ok()?])
            }
        })
    }

    /// Whether a shift says clearly what becomes of `new`. It must not mix blanks and tabs; and if
    /// all known lines are equally deep, a depth of the model's own (two blanks in a file that
    /// indents by four) could mean one level as well as half a level.
    fn suits(&self, pairs: &[(&[u8], &[u8])], new: &[&[u8]], unit: Option<usize>) -> bool {
        let (Self::Add(prefix) | Self::Remove(prefix)) = self else { return false };
        let mixes = |indentation: &&[u8]| {
            let shifted = self.apply(indentation);
            matches!(self, Self::Add(_))
                && indentation.iter().any(|byte| !prefix.contains(byte))
                && shifted.is_some_and(|shifted| !is_uniform(&shifted))
        };
        if new.iter().any(mixes) {
            return false;
        }
        let level = pairs[0].0.len();
        if pairs.iter().any(|(asked, _)| asked.len() != level) {
            return true;
        }
        let step = new.iter().fold(0, |step, asked| gcd(step, asked.len().abs_diff(level)));
        let blanks = prefix.iter().chain(new.iter().copied().flatten()).all(|byte| *byte == b' ');
        !(blanks && UNITS.contains(&step) && unit.is_some_and(|unit| step < unit))
    }
}

fn shift(pairs: &[(&[u8], &[u8])]) -> Option<Reindent> {
    let (asked, file) = *pairs.first()?;
    if let Some(prefix) = file.strip_suffix(asked) {
        return Some(Reindent::Add(prefix.to_vec()));
    }
    asked.strip_suffix(file).map(|prefix| Reindent::Remove(prefix.to_vec()))
}

fn scale(pairs: &[(&[u8], &[u8])], new: &[&[u8]], unit: Option<usize>) -> Option<Reindent> {
    let asked = pairs.iter().map(|(asked, _)| *asked);
    let from = only_byte(asked.clone().chain(new.iter().copied()))?;
    let to = only_byte(pairs.iter().map(|(_, file)| *file))?;
    let widths: Vec<(usize, usize)> =
        pairs.iter().map(|(asked, file)| (asked.len(), file.len())).collect();
    let first = widths[0];
    let (times, per) = match widths.iter().find(|(asked, _)| *asked != first.0) {
        // Two depths on both sides give the ratio.
        Some(other) => {
            let deeper = (other.0 > first.0) == (other.1 > first.1);
            let ratio = (other.1.abs_diff(first.1), other.0.abs_diff(first.0));
            (deeper && ratio.0 > 0).then_some(ratio)?
        }
        // One depth gives none, so it must follow from the habits of both sides.
        None => {
            let step = asked.chain(new.iter().copied()).fold(0, |step, line| gcd(step, line.len()));
            match (from, to) {
                (b' ', b'\t') if UNITS.contains(&step) => (1, step),
                (b'\t', b' ') => (unit?, 1),
                _ => return None,
            }
        }
    };
    let scaled = first.0 * times;
    let plus =
        scaled.is_multiple_of(per).then(|| first.1.cast_signed() - (scaled / per).cast_signed())?;
    Some(Reindent::Scale { from, to, times, per, plus })
}

/// The only byte that the indentations consist of.
fn only_byte<'a>(mut indentations: impl Iterator<Item = &'a [u8]> + Clone) -> Option<u8> {
    let byte = *indentations.clone().flatten().next()?;
    indentations.all(|indentation| indentation.iter().all(|found| *found == byte)).then_some(byte)
}

fn is_uniform(indentation: &[u8]) -> bool {
    indentation.windows(2).all(|pair| pair[0] == pair[1])
}

fn width_of(indentation: &[u8], byte: u8) -> Option<usize> {
    indentation.iter().all(|found| *found == byte).then_some(indentation.len())
}

fn gcd(left: usize, right: usize) -> usize {
    if right == 0 { left } else { gcd(right, left % right) }
}

/// The number of blanks by which a file most often goes one level deeper.
pub(super) fn indentation_unit<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Option<usize> {
    let mut counts = [0_usize; UNITS.len()];
    let mut previous = 0;
    for line in lines.filter(|line| !line.trim_ascii().is_empty()) {
        let width = line.iter().take_while(|byte| **byte == b' ').count();
        if let Some(at) = UNITS.iter().position(|unit| previous + unit == width) {
            counts[at] += 1;
        }
        previous = width;
    }
    let best = (0..UNITS.len()).rev().max_by_key(|at| counts[*at])?;
    (counts[best] > 0).then_some(UNITS[best])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reindented(pairs: &[(&str, &str)], new: &str, unit: Option<usize>) -> Option<String> {
        let pairs: Vec<_> =
            pairs.iter().map(|(asked, file)| (asked.as_bytes(), file.as_bytes())).collect();
        let found = Reindent::find(&pairs, &[new.as_bytes()], unit)?;
        let indentation = found.apply(new.as_bytes())?.into_owned();
        Some(String::from_utf8(indentation).unwrap())
    }

    #[test]
    fn one_transformation_must_explain_all_lines() {
        type Row<'a> = (&'a [(&'a str, &'a str)], &'a str, Option<usize>, Option<&'a str>);
        let table: &[Row<'_>] = &[
            (&[("", "    ")], "    ", Some(4), Some("        ")),
            (&[("", "    "), ("    ", "        ")], "  ", Some(4), Some("      ")),
            (&[("    ", "")], "        ", Some(4), Some("    ")),
            (&[("    ", "")], "", Some(4), None),
            (&[("", "\t")], "    ", None, Some("\t\t")),
            (&[("    ", "\t"), ("        ", "\t\t")], "            ", None, Some("\t\t\t")),
            (&[("\t", "    "), ("\t\t", "        ")], "\t\t\t", Some(4), Some("            ")),
            (&[("\t", "  ")], "\t\t", Some(2), Some("    ")),
            (&[("  ", "    "), ("    ", "        ")], "      ", Some(4), Some("            ")),
            (&[("", "    ")], "  ", Some(4), None),
            (&[("", "    "), ("", "  ")], "", Some(4), None),
            (&[("    ", "  "), ("", "    ")], "", Some(4), None),
            (&[("", "\t  ")], "", None, Some("\t  ")),
            (&[("     ", "\t")], "   ", None, None),
        ];
        for (pairs, new, unit, expected) in table {
            assert_eq!(reindented(pairs, new, *unit).as_deref(), *expected, "{pairs:?} {new:?}");
        }
    }

    #[test]
    fn the_unit_is_the_most_frequent_step() {
        let unit = |text: &str| indentation_unit(text.lines().map(str::as_bytes));
        assert_eq!(unit("a\n    b\n        c\nd\n  e\n"), Some(4));
        assert_eq!(unit("a\n  b\n    c\n"), Some(2));
        assert_eq!(unit("a\n\tb\n"), None);
    }
}
