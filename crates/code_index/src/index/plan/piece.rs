//! What is known of the text that a part of a regular expression matches.

use std::collections::BTreeSet;

use regex_syntax::hir::{Class, Hir, HirKind, Repetition};

use super::need::Need;
use crate::index::extract::{KELVIN_SIGN, LONG_S, small, trigrams_of};

/// The most texts that are kept apart.
const MAX_TEXTS: usize = 16;
/// The most bytes that they may have together.
const MAX_TEXT_BYTES: usize = 2048;
/// The most ways in which two neighbours may meet.
const MAX_SEAMS: usize = 64;
/// The largest class whose characters are looked at one by one.
const MAX_CLASS: u32 = 64;
/// How often a repeated part is written out.
const MAX_COPIES: u32 = 4;
/// What a neighbour adds to a trigram that begins or ends outside of it.
const EDGE_BYTES: usize = 2;

type Texts = BTreeSet<Vec<u8>>;

/// What each match of a part looks like. All texts have small letters.
enum PatternPiece {
    Whole(Texts),
    /// It begins with one text of `start`, ends with one of `end`, and its file meets `need`.
    Part {
        start: Texts,
        end: Texts,
        need: Need,
    },
}

impl PatternPiece {
    fn nothing() -> PatternPiece {
        PatternPiece::Whole(just(b""))
    }

    fn anything() -> PatternPiece {
        PatternPiece::Part { start: just(b""), end: just(b""), need: Need::default() }
    }

    fn text(bytes: &[u8]) -> PatternPiece {
        let whole = bytes.iter().map(|&byte| small(byte)).collect::<Vec<_>>();
        if whole.len() <= MAX_TEXT_BYTES {
            return PatternPiece::Whole(just(&whole));
        }
        PatternPiece::Whole(just(&whole)).loosened()
    }

    fn need(self) -> Need {
        match self {
            PatternPiece::Whole(texts) => need_of(&texts),
            PatternPiece::Part { need, .. } => need,
        }
    }

    /// What it asks for beyond what its edges, taken whole, ask for.
    fn need_of_part(self) -> Need {
        match self {
            PatternPiece::Whole(_) => Need::default(),
            PatternPiece::Part { need, .. } => need,
        }
    }

    fn starts(&self) -> &Texts {
        match self {
            PatternPiece::Whole(texts) | PatternPiece::Part { start: texts, .. } => texts,
        }
    }

    fn ends(&self) -> &Texts {
        match self {
            PatternPiece::Whole(texts) | PatternPiece::Part { end: texts, .. } => texts,
        }
    }

    /// The same knowledge without the claim to be all of the match.
    fn loosened(self) -> PatternPiece {
        match self {
            PatternPiece::Whole(texts) => PatternPiece::Part {
                start: heads(&texts),
                end: tails(&texts),
                need: need_of(&texts),
            },
            part => part,
        }
    }

    fn then(self, next: PatternPiece) -> PatternPiece {
        if let (PatternPiece::Whole(left), PatternPiece::Whole(right)) = (&self, &next)
            && let Some(both) = joined(left, right, MAX_TEXTS)
        {
            return PatternPiece::Whole(both);
        }
        let seams = joined(self.ends(), next.starts(), MAX_SEAMS);
        let start = match &self {
            PatternPiece::Whole(texts) => heads(seams.as_ref().unwrap_or(texts)),
            PatternPiece::Part { start, .. } => start.clone(),
        };
        let end = match &next {
            PatternPiece::Whole(texts) => tails(seams.as_ref().unwrap_or(texts)),
            PatternPiece::Part { end, .. } => end.clone(),
        };
        let seam = match &seams {
            Some(seams) => need_of(seams),
            None => {
                let near = joined(&tails(self.ends()), &heads(next.starts()), MAX_SEAMS);
                let near = near.map_or_else(Need::default, |seams| need_of(&seams));
                need_of_whole(&self).and(need_of_whole(&next)).and(near)
            }
        };
        PatternPiece::Part {
            start,
            end,
            need: self.need_of_part().and(next.need_of_part()).and(seam),
        }
    }

    fn one_of(pieces: Vec<PatternPiece>) -> PatternPiece {
        let texts = pieces.iter().try_fold(Texts::new(), |mut all, piece| match piece {
            PatternPiece::Whole(texts) => {
                all.extend(texts.iter().cloned());
                (all.len() <= MAX_TEXTS && bytes_in(&all) <= MAX_TEXT_BYTES).then_some(all)
            }
            PatternPiece::Part { .. } => None,
        });
        if let Some(texts) = texts {
            return PatternPiece::Whole(texts);
        }
        let (mut start, mut end, mut needs) = (Texts::new(), Texts::new(), Vec::new());
        for piece in pieces {
            start.extend(heads(piece.starts()));
            end.extend(tails(piece.ends()));
            needs.push(piece.need());
        }
        PatternPiece::Part { start: heads(&start), end: tails(&end), need: Need::either(needs) }
    }
}

fn need_of_whole(piece: &PatternPiece) -> Need {
    match piece {
        PatternPiece::Whole(texts) => need_of(texts),
        PatternPiece::Part { .. } => Need::default(),
    }
}

fn just(text: &[u8]) -> Texts {
    Texts::from([text.to_vec()])
}

/// Each text of `left` before each of `right`, unless these are too many.
fn joined(left: &Texts, right: &Texts, limit: usize) -> Option<Texts> {
    let bytes = bytes_in(left) * right.len() + bytes_in(right) * left.len();
    if left.len() * right.len() > limit || bytes > MAX_TEXT_BYTES {
        return None;
    }
    let both = |a: &Vec<u8>, b: &Vec<u8>| [a.as_slice(), b.as_slice()].concat();
    Some(left.iter().flat_map(|a| right.iter().map(move |b| both(a, b))).collect())
}

fn bytes_in(texts: &Texts) -> usize {
    texts.iter().map(Vec::len).sum()
}

/// The first bytes of each text, as many as keep the number of different ones small.
fn heads(texts: &Texts) -> Texts {
    shortened(texts, |text, length| &text[..length])
}

/// The last bytes of each text.
fn tails(texts: &Texts) -> Texts {
    shortened(texts, |text, length| &text[text.len() - length..])
}

fn shortened(texts: &Texts, cut: fn(&[u8], usize) -> &[u8]) -> Texts {
    let cut_to = |length: usize| -> Texts {
        texts.iter().map(|text| cut(text, length.min(text.len())).to_vec()).collect()
    };
    let lengths = (0..=EDGE_BYTES).rev().map(cut_to);
    lengths.into_iter().find(|texts| texts.len() <= MAX_TEXTS).unwrap_or_else(|| just(b""))
}

/// What a file needs to hold one of these texts.
fn need_of(texts: &Texts) -> Need {
    Need::either(texts.iter().map(|text| Need::every(trigrams_of(text))).collect())
}

/// Looks at a regular expression.
pub(super) struct Analysis {
    /// Whether a match may span lines. If not, classes do not match the end of a line.
    multi_line: bool,
    /// Whether a Kelvin sign or a long s, standing in for k or s, was left out of account.
    pub(super) folds: bool,
}

impl Analysis {
    pub(super) fn new(multi_line: bool) -> Self {
        Self { multi_line, folds: false }
    }

    /// What a file needs to hold a match.
    pub(super) fn need(&mut self, hir: &Hir) -> Need {
        self.piece(hir).need()
    }

    /// The parser bounds how deep expressions are nested, and so this recursion.
    fn piece(&mut self, hir: &Hir) -> PatternPiece {
        match hir.kind() {
            // What a match must stand next to is not part of it.
            HirKind::Empty | HirKind::Look(_) => PatternPiece::nothing(),
            HirKind::Literal(literal) => PatternPiece::text(&literal.0),
            HirKind::Class(class) => self.class(class),
            HirKind::Capture(capture) => self.piece(&capture.sub),
            HirKind::Repetition(repetition) => self.repetition(repetition),
            HirKind::Concat(parts) => {
                parts.iter().fold(PatternPiece::nothing(), |all, part| all.then(self.piece(part)))
            }
            HirKind::Alternation(branches) => {
                PatternPiece::one_of(branches.iter().map(|branch| self.piece(branch)).collect())
            }
        }
    }

    fn repetition(&mut self, repetition: &Repetition) -> PatternPiece {
        match (repetition.min, repetition.max) {
            (_, Some(0)) => PatternPiece::nothing(),
            (0, Some(1)) => {
                PatternPiece::one_of(vec![self.piece(&repetition.sub), PatternPiece::nothing()])
            }
            (0, _) => PatternPiece::anything(),
            (min, max) => {
                let copies = min.min(MAX_COPIES);
                let mut all = PatternPiece::nothing();
                for _ in 0..copies {
                    all = all.then(self.piece(&repetition.sub));
                }
                // More of the same may follow, or stand between the beginning and the end.
                if max == Some(copies) { all } else { all.loosened() }
            }
        }
    }

    fn class(&mut self, class: &Class) -> PatternPiece {
        let mut texts: Texts = match class {
            Class::Unicode(class) => {
                let size = class.iter().map(|range| range.len() as u32).sum::<u32>();
                if size > MAX_CLASS {
                    return PatternPiece::anything();
                }
                let characters: BTreeSet<char> =
                    class.iter().flat_map(|range| range.start()..=range.end()).collect();
                let kept = characters.iter().filter(|&&character| {
                    let is_fold = is_fold_of_another(character, &characters);
                    self.folds |= is_fold;
                    !is_fold
                });
                kept.map(|character| character.to_string().to_ascii_lowercase().into()).collect()
            }
            Class::Bytes(class) => {
                let size = class.iter().map(|range| range.len() as u32).sum::<u32>();
                if size > MAX_CLASS {
                    return PatternPiece::anything();
                }
                let bytes = class.iter().flat_map(|range| range.start()..=range.end());
                bytes.map(|byte| vec![small(byte)]).collect()
            }
        };
        if !self.multi_line {
            texts.remove(b"\n".as_slice());
        }
        if texts.len() > MAX_TEXTS { PatternPiece::anything() } else { PatternPiece::Whole(texts) }
    }
}

/// Whether a character of a class is there only because case does not count.
fn is_fold_of_another(character: char, class: &BTreeSet<char>) -> bool {
    match character {
        KELVIN_SIGN => class.contains(&'k') || class.contains(&'K'),
        LONG_S => class.contains(&'s') || class.contains(&'S'),
        _ => false,
    }
}
