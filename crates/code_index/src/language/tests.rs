use std::time::{Duration, Instant};

use super::*;
use crate::symbols::Role;

/// Longer than any test takes.
fn later() -> Instant {
    Instant::now() + Duration::from_secs(600)
}

fn path(name: &str) -> RelPath {
    RelPath::parse(name).expect("a path")
}

#[test]
fn names_decide_first() {
    let table = [
        ("src/a.rs", Some(Language::Rust)),
        ("a.tsx", Some(Language::Tsx)),
        ("a.d.ts", Some(Language::TypeScript)),
        ("Rakefile", Some(Language::Ruby)),
        (".bashrc", Some(Language::Bash)),
        ("a.h", Some(Language::C)),
        ("README", None),
        ("a.txt", None),
    ];
    for (name, language) in table {
        assert_eq!(Language::of(&path(name)), language, "{name}");
    }
}

#[test]
fn scripts_say_what_they_are() {
    let table = [
        ("#!/bin/sh\n", Some(Language::Bash)),
        ("#! /usr/bin/env bash", Some(Language::Bash)),
        ("#!/usr/bin/env -S python3.12 -u\n", Some(Language::Python)),
        ("#!/usr/bin/env A=1 node\n", Some(Language::JavaScript)),
        ("#!/usr/bin/perl\n", None),
        ("#!", None),
        ("#!/usr/bin/env", None),
        ("#   -*- shell-script -*-\n", Some(Language::Bash)),
        ("", None),
    ];
    for (text, language) in table {
        assert_eq!(Language::of_file(&path("bin/tool"), text.as_bytes()), language, "{text}");
    }
    assert_eq!(Language::of_file(&path("a.txt"), b"#!/bin/sh\n"), None);
}

/// The texts of all rows that one field has, sorted.
fn all(field: fn(&LanguageSpec) -> &'static [&'static str]) -> Vec<&'static str> {
    let mut all: Vec<_> =
        Language::ALL.iter().flat_map(|language| field(language.spec())).copied().collect();
    all.sort_unstable();
    all
}

#[test]
fn what_a_file_is_told_by_belongs_to_one_row() {
    for texts in [all(|row| row.extensions), all(|row| row.file_names), all(|row| row.interpreters)]
    {
        let twice: Vec<_> = texts.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }
    let mut names: Vec<_> = Language::ALL.iter().map(|language| language.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Language::ALL.len());
    let is_lower = |text: &&str| text.to_lowercase() == **text && !text.starts_with('.');
    assert!(all(|row| row.extensions).iter().all(is_lower));
    assert!(all(|row| row.called).iter().all(is_lower));
}

#[test]
fn every_row_is_complete() {
    for language in Language::ALL {
        let row = language.spec();
        let name = row.name;
        assert!(!row.extensions.is_empty(), "{name} has extensions");
        for extension in row.extensions {
            let path = path(&format!("a.{extension}"));
            assert_eq!(Language::of(&path), Some(language), "{name} has {extension}");
        }
        assert!(!row.line_comment.is_empty(), "{name} has comments");
        for word in row.definers.iter().copied().chain(row.keywords.split(' ')) {
            assert!(!word.is_empty() && !word.contains(char::is_whitespace), "{name}: {word:?}");
        }
        for pattern in row.test_names {
            assert_eq!(pattern.matches('*').count(), 1, "{name}: {pattern}");
        }
        let cases = row.keywords.split(' ').filter(|word| ["if", "else", "for"].contains(word));
        assert_eq!(cases.count(), 3, "{name} has reserved words");
        if language.grammar().is_none() {
            continue;
        }
        if let Err(why) = crate::symbols::check_queries(language) {
            panic!("the queries of {name}: {why}");
        }
        let comment = format!("{} a\n", row.line_comment);
        let found = crate::lookup::occurrences_in(language, comment.as_bytes(), "a", later());
        let roles: Vec<_> = found.unwrap().iter().map(|one| one.role).collect();
        let expected = if language == Language::Php { Role::Text } else { Role::Comment };
        assert_eq!(roles, [expected], "{name} has `{}` for comments", row.line_comment);
    }
}

#[cfg(all(feature = "bash", feature = "cpp", feature = "rust", feature = "typescript"))]
#[test]
fn all_languages_of_the_default_build_have_grammars() {
    for language in Language::ALL {
        assert!(language.grammar().is_some(), "{language:?}");
    }
}

#[test]
fn what_is_private_is_told_by_names_or_words() {
    let table = [
        (Language::Rust, "f", "pub(crate) fn f()", false),
        (Language::Rust, "f", "fn f()", true),
        (Language::C, "f", "static int f(void)", true),
        (Language::C, "f", "int f(void)", false),
        (Language::Go, "f", "func f()", true),
        (Language::Go, "F", "func F()", false),
        (Language::JavaScript, "f", "exports.f = function ()", false),
        (Language::Tsx, "f", "const f = ()", true),
        (Language::Python, "_f", "def _f():", true),
        (Language::Java, "f", "protected void f()", true),
        (Language::CSharp, "F", "public void F()", false),
    ];
    for (language, name, head, expected) in table {
        assert_eq!(language.spec().privacy.hides(name, head), expected, "{language:?} {head}");
    }
}

#[test]
fn a_name_is_what_stands_behind_a_mark() {
    let table = [
        (Language::Php, "$a", "a"),
        (Language::Bash, "$a", "a"),
        (Language::JavaScript, "$a", "$a"),
    ];
    for (language, written, name) in table {
        assert_eq!(language.name_in(written), name);
    }
}

#[test]
fn every_language_has_a_fixture_of_tricky_definitions() {
    const FIXTURES: [&str; 4] = [
        include_str!("../symbols/tests/c_family.rs"),
        include_str!("../symbols/tests/scripts.rs"),
        include_str!("../symbols/tests/systems.rs"),
        include_str!("../symbols/tests/web.rs"),
    ];
    for language in Language::ALL {
        let argument = format!("(Language::{language:?}, ");
        assert!(
            FIXTURES.iter().any(|tests| tests.contains(&argument)),
            "add a fixture for {} to symbols/tests/scripts.rs",
            language.name()
        );
    }
}
