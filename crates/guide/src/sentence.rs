//! Plain English: which of the [requests](crate::requests) a sentence is, and about what.

use crate::nearest::nearest;
use crate::requests::{CLASSES, KnownRequest, REQUESTS};
use crate::words::{InputWord, sentence_words};

/// What the slots of a form stand for.
pub(crate) type Slots = Vec<(&'static str, String)>;

/// Longer sentences are not looked at: none of the forms is for them, and trying takes time.
const MAX_WORDS: usize = 40;
/// The most words that name a symbol, as `the function foo` does.
const MAX_SYMBOL_WORDS: usize = 4;
/// The most words of one aside.
const MAX_ASIDE: usize = 6;

/// Directories that are meant where a text without quotes ends in `in src`; after other words, such as
/// `in stock`, it may be a part of the text.
const USUAL_DIRECTORIES: &str = "src|lib|libs|app|apps|bin|cmd|crates|packages|internal|pkg|test|tests|spec|\
                                 docs|doc|examples|scripts|benches|server|client|web|public|config|tools";

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

/// What a sentence asks for, if it has one of the known forms.
pub(crate) fn understand(text: &str) -> Option<(&'static KnownRequest, Slots)> {
    understand_words(&sentence_words(text))
}

/// The sentence with one word of it corrected, if it then has one of the known forms.
pub(crate) fn corrected(text: &str) -> Option<String> {
    let words = sentence_words(text);
    words.iter().enumerate().find_map(|(at, word)| {
        let meant = nearest(&word.text, vocabulary()).filter(|_| !word.quoted)?;
        let after = text[word.start..].strip_prefix(word.text.as_str())?;
        let mut words = words.clone();
        words[at].text = meant.to_owned();
        understand_words(&words)?;
        Some(format!("{}{meant}{after}", &text[..word.start]))
    })
}

/// The words that the forms are made of.
fn vocabulary() -> impl Iterator<Item = &'static str> {
    let forms = REQUESTS.iter().flat_map(|request| request.forms).flat_map(|form| form.split(' '));
    let lists = forms.filter(|part| !part.starts_with('<')).map(|part| part.trim_end_matches('?'));
    let lists = lists.chain(CLASSES.iter().map(|(_, words)| *words));
    lists.flat_map(|list| list.split('|')).filter(|word| !word.starts_with('@'))
}

fn understand_words(words: &[InputWord]) -> Option<(&'static KnownRequest, Slots)> {
    if words.len() > MAX_WORDS {
        return None;
    }
    let request = without_asides(words, &POLITE_BEFORE, &POLITE_AFTER);
    let bare = without_asides(request, &[], &EVERYWHERE);
    // What looks like an aside can be all there is: "thanks", "what is in this project".
    [bare, request, words].into_iter().find_map(|words| {
        REQUESTS.iter().find_map(|request| {
            let slots = request.forms.iter().find_map(|form| fit(form, words))?;
            Some((request, slots))
        })
    })
}

/// The words without what stands around a request, however often.
fn without_asides<'w>(
    mut words: &'w [InputWord],
    before: &[&'static str],
    after: &[&'static str],
) -> &'w [InputWord] {
    loop {
        let counts = || (1..=words.len().min(MAX_ASIDE)).rev();
        let is_aside =
            |forms: &[&'static str], part| forms.iter().any(|form| fit(form, part).is_some());
        if let Some(count) = counts().find(|count| is_aside(before, &words[..*count])) {
            words = &words[count..];
        } else if let Some(count) =
            counts().find(|count| is_aside(after, &words[words.len() - count..]))
        {
            words = &words[..words.len() - count];
        } else {
            return words;
        }
    }
}

/// What the slots stand for, if the form fits all the words.
fn fit(form: &'static str, words: &[InputWord]) -> Option<Slots> {
    let mut slots = Vec::new();
    fits(form, words, &mut slots).then_some(slots)
}

fn fits(form: &'static str, words: &[InputWord], slots: &mut Slots) -> bool {
    let (part, rest) = form.split_once(' ').unwrap_or((form, ""));
    if part.is_empty() {
        return words.is_empty();
    }
    let Some(slot) = part.strip_prefix('<').and_then(|slot| slot.strip_suffix('>')) else {
        let required = part.strip_suffix('?');
        let is_next = words.first().is_some_and(|word| is_any_of(word, required.unwrap_or(part)));
        return is_next && fits(rest, &words[1..], slots)
            || required.is_some() && fits(rest, words, slots);
    };
    let (name, kind) = slot.split_once(':').unwrap_or((slot, slot));
    let most = match kind {
        "x" | "directories" => words.len(),
        "symbol" => words.len().min(MAX_SYMBOL_WORDS),
        _ => words.len().min(1),
    };
    (1..=most).any(|count| {
        let Some(text) = meaning(kind, &words[..count]) else { return false };
        slots.push((name, text));
        let is_fitting = fits(rest, &words[count..], slots);
        if !is_fitting {
            slots.pop();
        }
        is_fitting
    })
}

/// Whether the word is one of a list, which may name classes.
fn is_any_of(word: &InputWord, list: &str) -> bool {
    list.split('|').any(|one| match CLASSES.iter().find(|(class, _)| *class == one) {
        Some((_, words)) => word.is_any_of(words),
        None => word.is_any_of(one),
    })
}

/// What words stand for in a slot of this kind, if they can fill it: `x` takes any words (as few as
/// possible), `word` one, `name` one that is not plain English, `file` one that can name a file,
/// `place` the same or a usual name of a directory, `quote` a quoted text, `symbol` a word that may have its kind beside it (`the function f`),
/// `directory` and `directories` one word or several that do not name a file. Any other kind is a
/// list of words.
fn meaning(kind: &str, words: &[InputWord]) -> Option<String> {
    let text = words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    let first = words.first()?;
    let fits = match kind {
        "x" | "word" => true,
        "name" => first.is_name(),
        "file" => first.is_path(),
        "quote" => first.quoted,
        "place" => first.is_path() || first.is_any_of(USUAL_DIRECTORIES),
        "symbol" => return symbol(words),
        "directory" | "directories" => {
            let path = directory(&text);
            let name = path.rsplit('/').next().unwrap_or_default();
            return (!name.trim_matches('.').contains('.')).then_some(path);
        }
        list => is_any_of(first, list),
    };
    fits.then_some(text)
}

/// `the function foo()` is about `foo`; `it` is about nothing that can be looked up.
fn symbol(words: &[InputWord]) -> Option<String> {
    const KINDS: &str = "the|a|an|function|method|class|struct|enum|trait|type|module|file|variable|\
                         constant|interface|symbol|macro";
    let named: Vec<&InputWord> = words.iter().filter(|word| !word.is_any_of(KINDS)).collect();
    match (&named[..], words) {
        ([name], _) if !name.is_any_of("it|this|that|them|these|those|something|to") => {
            Some(name.text.trim_end_matches("()").to_owned())
        }
        // A word like `type` can be the name itself.
        ([], [only]) => Some(only.text.clone()),
        _ => None,
    }
}

/// `the src directory` is `src`; the project itself is `.`.
pub(crate) fn directory(words: &str) -> String {
    const WHOLE: &str = "project|repo|repository|codebase|root|here|code";
    const NOISE: &str = "the|this|directory|folder|of|whole|entire";
    let is_in = |list: &str, word: &str| list.split('|').any(|one| word.eq_ignore_ascii_case(one));
    let words: Vec<_> = words.split_whitespace().filter(|word| !is_in(NOISE, word)).collect();
    let is_whole = words.iter().all(|word| is_in(WHOLE, word));
    if is_whole { ".".to_owned() } else { words.join(" ") }
}

#[cfg(test)]
mod tests;
