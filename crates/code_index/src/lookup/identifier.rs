//! Giving a name another spelling wherever it stands.

use std::time::Instant;

use workspace::{Error, RelPath};

use super::references::occurrences_in;
use super::word::WholeWord;
use super::word_files::{Coverage, WantedWords, WordFile, WordVisitor, visit_files_with_word};
use crate::language::Dollar;
use crate::symbols::Role;
use crate::{CodeBase, Language, SearchScope};

/// A text in which a name was replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renamed {
    /// The new text; equal to the old one outside of the names.
    pub text: Vec<u8>,
    /// Lines of the names that were replaced, from 1, one for each name.
    pub lines: Vec<u32>,
    /// Lines in which the new name was used before, as a name.
    pub taken: Vec<u32>,
}

/// Files of `scope` with `name` in them, by path: those whose language has a grammar, and the
/// others. `cancel` is asked often.
pub fn files_with_name(
    code: &CodeBase,
    name: &str,
    scope: &SearchScope,
    cancel: &(dyn Fn() -> bool + Sync),
) -> Result<(Vec<RelPath>, Vec<RelPath>, Coverage), Error> {
    let word = WholeWord::new(name);
    let wanted = WantedWords { word: &word, also: &[] };
    let (coverage, threads) =
        visit_files_with_word(code, &wanted, scope, cancel, NameVisitor::default)?;
    let mut gathered = NameVisitor::default();
    for thread in threads {
        gathered.known.extend(thread.known);
        gathered.other.extend(thread.other);
    }
    gathered.known.sort();
    gathered.other.sort();
    Ok((gathered.known, gathered.other, coverage))
}

#[derive(Default)]
struct NameVisitor {
    known: Vec<RelPath>,
    other: Vec<RelPath>,
}

impl WordVisitor for NameVisitor {
    fn visit(&mut self, file: &WordFile<'_>) {
        let list = if file.language.is_some() { &mut self.known } else { &mut self.other };
        list.push(file.path.clone());
    }
}

/// Replaces `name` by `new_name` in `text` where it stands as a name, and with `mentions` also in
/// comments and strings. None if time ran out or no grammar is built in for the language.
pub fn rename_in(
    language: Language,
    text: &[u8],
    (name, new_name): (&str, &str),
    mentions: bool,
    until: Instant,
) -> Option<Renamed> {
    let places = occurrences_in(language, text, name, until)?;
    let taken = occurrences_in(language, text, new_name, until)?;
    if Instant::now() >= until {
        return None;
    }
    let is_code = |role: Role| !matches!(role, Role::Comment | Role::Text);
    let mut renamed = Renamed {
        text: Vec::with_capacity(text.len()),
        lines: Vec::new(),
        taken: taken.iter().filter(|one| is_code(one.role)).map(|one| one.line).collect(),
    };
    let mut done = 0;
    for place in places.iter().filter(|one| mentions || is_code(one.role)) {
        let (start, end) = (place.at.start as usize, place.at.end as usize);
        renamed.text.extend_from_slice(&text[done..start]);
        renamed.text.extend_from_slice(new_name.as_bytes());
        renamed.lines.push(place.line);
        done = end;
    }
    renamed.text.extend_from_slice(&text[done..]);
    Some(renamed)
}

/// Why `name` cannot be a name in a language; none if it can.
pub fn check_new_name(language: Language, name: &str) -> Option<&'static str> {
    let spec = language.spec();
    let rules = spec.names;
    let dollar = rules.dollar == Dollar::Letter;
    let name = language.name_in(name);
    let body = name.strip_suffix(rules.endings).unwrap_or(name);
    let begins = |c: char| c.is_alphabetic() || c == '_' || dollar && c == '$';
    let goes_on = |c: char| begins(c) || c.is_numeric() || rules.hyphen && c == '-';
    let mut characters = body.chars();
    if !characters.next().is_some_and(begins) || !characters.all(goes_on) {
        return Some("is not a name");
    }
    spec.keywords.split(' ').any(|keyword| keyword == name).then_some("is a reserved word")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn rename(language: Language, text: &str, mentions: bool) -> String {
        let until = Instant::now() + Duration::from_secs(20);
        let renamed = rename_in(language, text.as_bytes(), ("old", "fresh"), mentions, until);
        String::from_utf8(renamed.unwrap().text).unwrap()
    }

    #[test]
    fn names_are_replaced_and_mentions_only_if_asked() {
        let text = "// old\r\nfn old() { let s = \"old\"; older(old_one, x.old); }\r\n";
        assert_eq!(
            rename(Language::Rust, text, false),
            "// old\r\nfn fresh() { let s = \"old\"; older(old_one, x.fresh); }\r\n"
        );
        assert_eq!(
            rename(Language::Rust, text, true),
            "// fresh\r\nfn fresh() { let s = \"fresh\"; older(old_one, x.fresh); }\r\n"
        );
        assert_eq!(
            rename(Language::JavaScript, "let $old = old + old$;", false),
            "let $old = fresh + old$;"
        );
        assert_eq!(
            rename(Language::Php, "<?php $old = 1; echo $old;", false),
            "<?php $fresh = 1; echo $fresh;"
        );
    }

    #[test]
    fn a_new_name_must_be_one_in_the_language() {
        for language in Language::ALL {
            assert_eq!(check_new_name(language, "fine_name2"), None, "{language:?}");
            for bad in ["", "2x", "a b", "a.b", "a;", "if"] {
                assert!(check_new_name(language, bad).is_some(), "{language:?} {bad}");
            }
        }
        assert_eq!(check_new_name(Language::Ruby, "empty?"), None);
        assert!(check_new_name(Language::Rust, "empty?").is_some());
        assert_eq!(check_new_name(Language::Java, "$x"), None);
        assert!(check_new_name(Language::Rust, "$x").is_some());
    }

    proptest! {
        #[test]
        fn nothing_but_the_name_changes(text in "(old|a|\"|'|//|\\n|\\r\\n|[(){};= ]|é|\\PC){0,40}") {
            let until = Instant::now() + Duration::from_secs(20);
            let name = "fresh_one";
            let renamed = rename_in(Language::Rust, text.as_bytes(), ("old", name), true, until).unwrap();
            let back = String::from_utf8(renamed.text).unwrap().replace(name, "old");
            prop_assert_eq!(back, text);
        }
    }
}
