//! Plain English requests: whether a sentence has one of the forms in [`forms`](super::forms).

use super::forms::{CLASSES, FORMS};
use super::intent::Intent;
use super::words::{Spoken, sentence_words};

/// Longer sentences are not looked at: none of the forms is for them, and trying takes time.
const MAX_WORDS: usize = 40;

/// The most words that name a symbol, as `the function foo` does.
const MAX_SYMBOL_WORDS: usize = 4;

/// What may stand before a request.
const POLITE_BEFORE: [&str; 7] = [
    "please|hey|hi|hello|ok|okay|now|so|then|and|also|just|first|let's",
    "can|could|would|will you please?",
    "i want|need you? to",
    "i'd like you? to",
    "i would like you? to",
    "help me to?",
    "try to",
];

/// What may stand after it.
const POLITE_AFTER: [&str; 4] =
    ["please|thanks|now|again|too|quickly|today|then", "thank you", "for me", "if you can|could"];

/// Where a request is about anyway.
const EVERYWHERE: [&str; 1] = ["@in|across all? of? the|this|my|our? whole|entire? @project"];

/// The most words of one of these.
const MAX_ASIDE: usize = 6;

/// What a sentence asks for, if it has one of the known forms.
pub(super) fn understand(text: &str) -> Option<Intent> {
    let words = sentence_words(text);
    if words.len() > MAX_WORDS {
        return None;
    }
    let request = without_asides(&words, &POLITE_BEFORE, &POLITE_AFTER);
    let bare = without_asides(request, &[], &EVERYWHERE);
    // What looks like an aside can be all there is: "thanks", "what is in this project".
    meant(bare).or_else(|| meant(request)).or_else(|| meant(&words))
}

fn meant(words: &[Spoken]) -> Option<Intent> {
    FORMS.iter().find_map(|(form, build)| {
        let form: Vec<Part<'_>> = form.split(' ').map(Part::of).collect();
        let mut captured = Vec::new();
        fits(&form, words, &mut captured).then(|| build(&captured))
    })
}

/// The words without what stands around a request, however often.
fn without_asides<'w>(words: &'w [Spoken], before: &[&str], after: &[&str]) -> &'w [Spoken] {
    let mut words = words;
    loop {
        let counts = || (1..=words.len().min(MAX_ASIDE)).rev();
        let is_one_of =
            |forms: &[&str], part: &[Spoken]| forms.iter().any(|form| is_form(form, part));
        let first = counts().find(|count| is_one_of(before, &words[..*count]));
        let last = counts().find(|count| is_one_of(after, &words[words.len() - count..]));
        words = match (first, last) {
            (Some(count), _) => &words[count..],
            (None, Some(count)) => &words[..words.len() - count],
            (None, None) => return words,
        };
    }
}

fn is_form(form: &str, words: &[Spoken]) -> bool {
    let form: Vec<Part<'_>> = form.split(' ').map(Part::of).collect();
    fits(&form, words, &mut Vec::new())
}

/// A part of a form.
enum Part<'f> {
    /// One of these words, which may be missing.
    Words { any_of: Vec<&'f str>, optional: bool },
    /// One word or more.
    Some,
    /// One word that can name a symbol, with its kind or without.
    Symbol,
    /// One word of which this is true.
    One(fn(&Spoken) -> bool),
}

impl<'f> Part<'f> {
    fn of(text: &'f str) -> Self {
        match text {
            "<x>" => Part::Some,
            "<symbol>" => Part::Symbol,
            "<word>" => Part::One(|_| true),
            "<name>" => Part::One(Spoken::is_name),
            "<file>" => Part::One(Spoken::is_path),
            "<quote>" => Part::One(|word| word.quoted),
            _ => {
                let (any_of, optional) = match text.strip_suffix('?') {
                    Some(any_of) => (any_of, true),
                    None => (text, false),
                };
                Part::Words { any_of: any_of.split('|').flat_map(class).collect(), optional }
            }
        }
    }
}

/// The words of a class; any other word is itself.
fn class(name: &str) -> impl Iterator<Item = &str> {
    let words = CLASSES.iter().find(|(class, _)| *class == name).map_or(name, |(_, words)| words);
    words.split('|')
}

/// Whether the form fits all the words, and what its placeholders then stand for.
fn fits(form: &[Part<'_>], words: &[Spoken], captured: &mut Vec<String>) -> bool {
    let Some((part, rest)) = form.split_first() else { return words.is_empty() };
    let first = words.first();
    let capture = |count: usize, text: String, captured: &mut Vec<String>| {
        let before = captured.len();
        captured.push(text);
        let fitting = fits(rest, &words[count..], captured);
        if !fitting {
            captured.truncate(before);
        }
        fitting
    };
    match part {
        Part::Words { any_of, optional } => {
            let matches = |word: &Spoken| !word.quoted && any_of.contains(&word.lower.as_str());
            (first.is_some_and(matches) && fits(rest, &words[1..], captured))
                || (*optional && fits(rest, words, captured))
        }
        Part::Some => {
            (1..=words.len()).any(|count| capture(count, joined(&words[..count]), captured))
        }
        Part::Symbol => (1..=words.len().min(MAX_SYMBOL_WORDS)).any(|count| {
            symbol(&words[..count]).is_some_and(|symbol| capture(count, symbol, captured))
        }),
        Part::One(condition) => {
            first.is_some_and(|word| condition(word) && capture(1, word.text.clone(), captured))
        }
    }
}

/// `the function foo()` is about `foo`; `it` is about nothing that can be looked up.
fn symbol(words: &[Spoken]) -> Option<String> {
    const KINDS: [&str; 17] = [
        "the",
        "a",
        "an",
        "function",
        "method",
        "class",
        "struct",
        "enum",
        "trait",
        "type",
        "module",
        "file",
        "variable",
        "constant",
        "interface",
        "symbol",
        "macro",
    ];
    const NOTHING: [&str; 8] = ["it", "this", "that", "them", "these", "those", "something", "to"];
    let is_kind = |word: &&Spoken| !word.quoted && KINDS.contains(&word.lower.as_str());
    let mut named = words.iter().filter(|word| !is_kind(word));
    match (named.next(), named.next()) {
        (Some(name), None) if !NOTHING.contains(&name.lower.as_str()) => {
            Some(name.text.trim_end_matches("()").to_owned())
        }
        // A word like `type` can be the name itself.
        (None, None) if words.len() == 1 => words.first().map(|word| word.text.clone()),
        _ => None,
    }
}

fn joined(words: &[Spoken]) -> String {
    words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
