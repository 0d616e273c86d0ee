//! Where in a text the forms of terms may begin.
//!
//! Every byte of hundreds of files is looked at, so that this is where a ranked search spends its time:
//! `bench ranking` misses its target with one automaton over the bytes as they are. The text is brought
//! into small letters piece by piece, and a search that compares many bytes at once looks for how the
//! forms begin. What follows is compared only there.

use aho_corasick::packed::{self, Searcher};
use aho_corasick::{AhoCorasick, Input, Match};

/// Bytes of a form that are looked for. The search tells places apart by as many as its shortest
/// pattern has, so that shorter forms are looked for by themselves.
const PREFIX: usize = 3;
/// Bytes that are brought into small letters at a time: they stay in the nearest cache.
const PIECE: usize = 4096;

/// How the forms of terms begin.
pub(super) struct Starts {
    /// By the length of what is looked for.
    groups: Vec<Group>,
}

/// A form: the number of its term, and its place among the forms of the term.
pub(super) type FormPlace = (usize, usize);

/// Beginnings of one length.
struct Group {
    search: Search,
    /// For each beginning, the forms that have it.
    forms: Vec<Vec<FormPlace>>,
}

enum Search {
    Packed(Searcher),
    /// Where the processor lacks what the other needs.
    Automaton(AhoCorasick),
}

impl Starts {
    /// Of forms with their places. An empty one is nowhere.
    pub(super) fn new<'a>(forms: impl Iterator<Item = (FormPlace, &'a str)>) -> Starts {
        let mut beginnings: [Vec<(Vec<u8>, Vec<FormPlace>)>; PREFIX] = Default::default();
        for (place, form) in forms {
            let beginning = &form.as_bytes()[..form.len().min(PREFIX)];
            let Some(group) = beginning.len().checked_sub(1) else { continue };
            let beginning = beginning.to_ascii_lowercase();
            match beginnings[group].iter_mut().find(|(known, _)| *known == beginning) {
                Some((_, places)) => places.push(place),
                None => beginnings[group].push((beginning, vec![place])),
            }
        }
        Starts { groups: beginnings.into_iter().filter_map(Group::new).collect() }
    }

    /// Calls `visit` with each place of a text where forms may begin, in order, and with these forms.
    pub(super) fn each_place(&self, text: &[u8], mut visit: impl FnMut(usize, &[FormPlace])) {
        let mut lower = [0; PIECE];
        let mut found: Vec<(usize, usize, usize)> = Vec::new();
        let mut from = 0;
        while from < text.len() {
            let piece = &text[from..text.len().min(from + PIECE)];
            let lower = &mut lower[..piece.len()];
            lower.iter_mut().zip(piece).for_each(|(to, byte)| *to = byte.to_ascii_lowercase());
            // What begins at the end of a piece is found in the next one, which has it whole.
            let is_last = from + piece.len() == text.len();
            let bound = if is_last { piece.len() } else { piece.len() - (PREFIX - 1) };
            if let [group] = &self.groups[..] {
                group.each_match(lower, bound, |at, pattern| {
                    visit(from + at, &group.forms[pattern]);
                });
            } else {
                for (index, group) in self.groups.iter().enumerate() {
                    group.each_match(lower, bound, |at, pattern| found.push((at, index, pattern)));
                }
                found.sort_unstable();
                for (at, index, pattern) in found.drain(..) {
                    visit(from + at, &self.groups[index].forms[pattern]);
                }
            }
            from += bound;
        }
    }
}

impl Group {
    /// `None` if there is nothing to look for.
    fn new(beginnings: Vec<(Vec<u8>, Vec<FormPlace>)>) -> Option<Group> {
        let (patterns, forms): (Vec<Vec<u8>>, Vec<Vec<FormPlace>>) = beginnings.into_iter().unzip();
        if patterns.is_empty() {
            return None;
        }
        let packed = packed::Builder::new().extend(&patterns).build();
        let search = match packed {
            Some(packed) => Search::Packed(packed),
            None => Search::Automaton(AhoCorasick::new(&patterns).ok()?),
        };
        Some(Group { search, forms })
    }

    /// Calls `visit` with the places before `bound` where a beginning stands.
    fn each_match(&self, lower: &[u8], bound: usize, mut visit: impl FnMut(usize, usize)) {
        let mut at = 0;
        // No two beginnings of one length stand at one place, but they may overlap.
        while let Some(found) = self.search.first(lower, at).filter(|found| found.start() < bound) {
            visit(found.start(), found.pattern().as_usize());
            at = found.start() + 1;
        }
    }
}

impl Search {
    fn first(&self, text: &[u8], at: usize) -> Option<Match> {
        match self {
            Search::Packed(packed) => packed.find_in(text, (at..text.len()).into()),
            Search::Automaton(automaton) => automaton.find(Input::new(text).range(at..)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn places(forms: &[String], text: &[u8]) -> Vec<(usize, Vec<FormPlace>)> {
        let numbered = forms.iter().enumerate().map(|(term, form)| ((term, 0), form.as_str()));
        let mut places = Vec::new();
        Starts::new(numbered).each_place(text, |at, forms| places.push((at, forms.to_vec())));
        places
    }

    /// The same without any haste.
    fn expected(forms: &[String], text: &[u8], at: usize) -> Vec<FormPlace> {
        let begins = |form: &String| {
            let beginning = &form.as_bytes()[..form.len().min(PREFIX)];
            let there = text.get(at..at + beginning.len());
            !beginning.is_empty() && there.is_some_and(|it| it.eq_ignore_ascii_case(beginning))
        };
        let numbered = forms.iter().enumerate().filter(|(_, form)| begins(form));
        numbered.map(|(term, _)| (term, 0)).collect()
    }

    proptest! {
        #[test]
        fn every_place_is_found_in_any_case_and_in_order(
            forms in proptest::collection::vec("[a-cé0]{0,5}", 1..5),
            text in "[a-cA-C_é0 ]{0,40}",
            before in 0..2 * PIECE,
        ) {
            // So that the end of a piece is anywhere.
            let text = [vec![b'_'; before].as_slice(), text.as_bytes()].concat();
            let places = places(&forms, &text);
            prop_assert!(places.is_sorted_by(|a, b| a.0 <= b.0));
            for at in before..text.len() {
                let here = places.iter().filter(|(place, _)| *place == at);
                let mut found: Vec<FormPlace> = here.flat_map(|(_, forms)| forms.clone()).collect();
                found.sort_unstable();
                prop_assert_eq!(found, expected(&forms, &text, at));
            }
            prop_assert!(places.iter().all(|(at, _)| *at >= before));
        }
    }

    #[test]
    fn a_form_is_found_across_the_end_of_each_piece() {
        let forms = ["checksum", "ch", "c", "ums", "検索"].map(str::to_owned);
        let text = "checksum検索";
        for end in [PIECE - (PREFIX - 1), PIECE, 2 * PIECE] {
            for before in end - text.len() - PREFIX..end + PREFIX {
                let text = [vec![b' '; before].as_slice(), text.as_bytes()].concat();
                let found = places(&forms, &text);
                assert!(found.is_sorted_by(|a, b| a.0 <= b.0));
                for at in before..text.len() {
                    let here = found.iter().filter(|(place, _)| *place == at);
                    let mut here: Vec<FormPlace> =
                        here.flat_map(|(_, forms)| forms.clone()).collect();
                    here.sort_unstable();
                    assert_eq!(here, expected(&forms, &text, at), "{before} {at}");
                }
            }
        }
    }

    #[test]
    fn many_forms_are_looked_for_at_once() {
        let forms: Vec<String> = (100..400).map(|number| number.to_string()).collect();
        let text: Vec<u8> =
            (0..1000).flat_map(|number: u32| format!("{number:03} ").into_bytes()).collect();
        assert_eq!(places(&forms, &text).len(), 300);
        assert!(places(&[], &text).is_empty());
    }
}
