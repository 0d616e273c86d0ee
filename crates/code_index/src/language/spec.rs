//! What is known about a language, in one place.

use crate::imports::Dialect;
use crate::lookup::{Chance, NameContext, TokenBefore};

/// One row for each language. Nothing outside of its row depends on which language it is; `tests.rs`
/// checks that every row is complete.
#[derive(Clone, Copy)]
pub(crate) struct LanguageSpec {
    /// As its users write it.
    pub(crate) name: &'static str,
    /// What a search may call its files, in lower case, besides their extensions.
    pub(crate) called: &'static [&'static str],
    /// In lower case and without the dot. An extension belongs to one language only.
    pub(crate) extensions: &'static [&'static str],
    /// Files that are known by their whole name.
    pub(crate) file_names: &'static [&'static str],
    /// Programs on the first line of a script, without a version.
    pub(crate) interpreters: &'static [&'static str],
    /// Names of test files up to the first dot, with one `*`, in addition to those that are usual
    /// in all languages (see `test_files.rs`).
    pub(crate) test_names: &'static [&'static str],
    /// What begins a comment that ends with the line.
    pub(crate) line_comment: &'static str,
    /// Made by [`grammar!`]; none if the language was left out of the build.
    pub(crate) grammar: fn() -> Option<tree_sitter::Language>,
    /// Made by [`highlights!`]: what the grammar's authors colour, the queries of grammars that it
    /// extends first.
    pub(crate) highlights: &'static [&'static str],
    pub(crate) symbols: SymbolSource,
    /// Words that define the name after them, whatever else stands around it.
    pub(crate) definers: &'static [&'static str],
    /// Whether a name that follows no definer could be defined where it stands. It may say yes too
    /// often, which costs a parse, and never no for a definition. `|_, _| Chance::Major` always says
    /// yes.
    pub(crate) could_define: fn(&NameContext<'_>, TokenBefore<'_>) -> Chance,
    pub(crate) names: NameRules,
    /// Words that cannot be names, separated by spaces.
    pub(crate) keywords: &'static str,
    pub(crate) privacy: Privacy,
    /// Whether what stands in nothing else is meant before what does, as in languages whose files are
    /// modules. Their programs are bundled, too.
    pub(crate) top_level_first: bool,
    /// How imports are read and resolved; none if they are not.
    pub(crate) imports: Option<Dialect>,
}

/// How symbols are found in a syntax tree.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SymbolSource {
    /// By query files, joined in this order; `symbols/queries.rs` says what they may capture.
    Queries(&'static [&'static str]),
    /// By the walk in `symbols/c_family.rs`.
    CFamily {
        /// Whether classes exist.
        is_cpp: bool,
    },
}

/// What a name is made of besides letters, digits and `_`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NameRules {
    pub(crate) dollar: Dollar,
    pub(crate) hyphen: bool,
    /// Characters of which one may end a name.
    pub(crate) endings: &'static [char],
}

impl NameRules {
    pub(crate) const PLAIN: NameRules =
        NameRules { dollar: Dollar::Foreign, hyphen: false, endings: &[] };
}

/// What `$` is to a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dollar {
    /// No part of it.
    Foreign,
    /// A letter like others.
    Letter,
    /// A mark before it that is not part of it.
    Mark,
}

/// How a definition that cannot be used from elsewhere is recognised.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Privacy {
    /// Its head has one of these words.
    IfWord(&'static [&'static str]),
    /// Its head has none of these words.
    UnlessWord(&'static [&'static str]),
    /// Its name begins with `_`.
    Underscore,
    /// Its name does not begin with a capital letter.
    Lowercase,
}

impl Privacy {
    /// Whether `name`, defined with this head, is private.
    pub(crate) fn hides(self, name: &str, head: &str) -> bool {
        let has_one_of = |words: &[&str]| {
            head.split(|c: char| !c.is_alphanumeric()).any(|word| words.contains(&word))
        };
        match self {
            Privacy::IfWord(words) => has_one_of(words),
            Privacy::UnlessWord(words) => !has_one_of(words),
            Privacy::Underscore => name.starts_with('_'),
            Privacy::Lowercase => !name.chars().next().is_some_and(char::is_uppercase),
        }
    }
}

/// A grammar that is built in if the Cargo feature is.
macro_rules! grammar {
    ($feature:literal, $grammar:path) => {
        || {
            #[cfg(feature = $feature)]
            let grammar = Some($grammar.into());
            #[cfg(not(feature = $feature))]
            let grammar = None;
            grammar
        }
    };
}
pub(super) use grammar;

/// Highlight queries of grammars, each if it is built in.
macro_rules! highlights {
    ($($feature:literal, $query:path);+) => {
        &[$(
            #[cfg(feature = $feature)]
            $query,
        )+]
    };
}
pub(super) use highlights;
