//! Giving a name another spelling wherever it stands.

use std::time::Instant;

use workspace::{Error, RelPath};

use super::references::occurrences_in;
use super::word::Word;
use super::word_files::{Coverage, Wanted, WordFile, WordVisitor, visit_files_with_word};
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
    let word = Word::new(name);
    let wanted = Wanted { word: &word, also: &[] };
    let (coverage, threads) = visit_files_with_word(code, &wanted, scope, cancel, Gather::default)?;
    let mut gathered = Gather::default();
    for thread in threads {
        gathered.known.extend(thread.known);
        gathered.other.extend(thread.other);
    }
    gathered.known.sort();
    gathered.other.sort();
    Ok((gathered.known, gathered.other, coverage))
}

#[derive(Default)]
struct Gather {
    known: Vec<RelPath>,
    other: Vec<RelPath>,
}

impl WordVisitor for Gather {
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
    let dollar = matches!(
        language,
        Language::JavaScript
            | Language::TypeScript
            | Language::Tsx
            | Language::Java
            | Language::Php
    );
    let body = match language {
        Language::Ruby => name.strip_suffix(['?', '!']).unwrap_or(name),
        _ => name,
    };
    let hyphen = language == Language::Bash;
    let begins = |c: char| c.is_alphabetic() || c == '_' || dollar && c == '$';
    let goes_on = |c: char| begins(c) || c.is_numeric() || hyphen && c == '-';
    let mut characters = body.chars();
    if !characters.next().is_some_and(begins) || !characters.all(goes_on) {
        return Some("is not a name");
    }
    keywords(language).split(' ').any(|keyword| keyword == name).then_some("is a reserved word")
}

/// The words that cannot be names.
fn keywords(language: Language) -> &'static str {
    match language {
        Language::Bash => {
            "case do done elif else esac fi for function if in select then until while time"
        }
        Language::C => {
            "auto break case char const continue default do double else enum extern float for goto if inline \
             int long register restrict return short signed sizeof static struct switch typedef union unsigned \
             void volatile while _Bool _Complex _Atomic _Generic _Noreturn _Static_assert _Thread_local"
        }
        Language::Cpp => {
            "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t \
             char32_t class co_await co_return co_yield compl concept const consteval constexpr constinit \
             const_cast continue decltype default delete do double dynamic_cast else enum explicit export extern \
             false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr \
             operator or or_eq private protected public register reinterpret_cast requires return short signed \
             sizeof static static_assert static_cast struct switch template this thread_local throw true try \
             typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq"
        }
        Language::CSharp => {
            "abstract as base bool break byte case catch char checked class const continue decimal default \
             delegate do double else enum event explicit extern false finally fixed float for foreach goto if \
             implicit in int interface internal is lock long namespace new null object operator out override \
             params private protected public readonly ref return sbyte sealed short sizeof stackalloc static \
             string struct switch this throw true try typeof uint ulong unchecked unsafe ushort using virtual \
             void volatile while"
        }
        Language::Go => {
            "break case chan const continue default defer else fallthrough for func go goto if import interface \
             map package range return select struct switch type var _"
        }
        Language::Java => {
            "abstract assert boolean break byte case catch char class const continue default do double else enum \
             extends false final finally float for goto if implements import instanceof int interface long native \
             new null package private protected public return short static strictfp super switch synchronized \
             this throw throws transient true try void volatile while _"
        }
        Language::JavaScript => {
            "arguments await break case catch class const continue debugger default delete do else enum eval \
             export extends false finally for function if implements import in instanceof interface let new null \
             package private protected public return static super switch this throw true try typeof var void \
             while with yield"
        }
        Language::TypeScript | Language::Tsx => {
            "any arguments await boolean break case catch class const continue debugger default delete do else \
             enum eval export extends false finally for function if implements import in instanceof interface let \
             never new null number object package private protected public return static string super switch \
             symbol this throw true try typeof undefined unknown var void while with yield"
        }
        Language::Php => {
            "abstract and array as break callable case catch class clone const continue declare default do echo \
             else elseif empty enddeclare endfor endforeach endif endswitch endwhile enum eval exit extends final \
             finally fn for foreach function global goto if implements include include_once instanceof insteadof \
             interface isset list match namespace new or print private protected public readonly require \
             require_once return static switch throw trait try unset use var while xor yield"
        }
        Language::Python => {
            "False None True and as assert async await break class continue def del elif else except finally for \
             from global if import in is lambda nonlocal not or pass raise return try while with yield"
        }
        Language::Ruby => {
            "BEGIN END alias and begin break case class def defined? do else elsif end ensure false for if in \
             module next nil not or redo rescue retry return self super then true undef unless until when while \
             yield __FILE__ __LINE__ __ENCODING__"
        }
        Language::Rust => {
            "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match \
             mod move mut pub ref return self Self static struct super trait true type unsafe use where while \
             abstract become box do final gen macro override priv try typeof unsized virtual yield _"
        }
    }
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
