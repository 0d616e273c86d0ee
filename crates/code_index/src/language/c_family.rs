//! C and C++.

mod could_define;

use super::spec::{LanguageSpec, NameRules, Privacy, SymbolSource, grammar, highlights};
use crate::imports::Dialect;

pub(super) const C: LanguageSpec = LanguageSpec {
    name: "C",
    called: &[],
    extensions: &["c", "h"],
    file_names: &[],
    interpreters: &[],
    test_names: &[],
    line_comment: "//",
    grammar: grammar!("c", tree_sitter_c::LANGUAGE),
    highlights: highlights!("c", tree_sitter_c::HIGHLIGHT_QUERY),
    symbols: SymbolSource::CFamily { is_cpp: false },
    definers: &[],
    could_define: could_define::in_c,
    names: NameRules::PLAIN,
    keywords: "auto break case char const continue default do double else enum extern float for goto \
        if inline int long register restrict return short signed sizeof static struct switch \
        typedef union unsigned void volatile while _Bool _Complex _Atomic _Generic _Noreturn \
        _Static_assert _Thread_local",
    privacy: Privacy::IfWord(&["static"]),
    top_level_first: false,
    imports: Some(Dialect::C),
};

pub(super) const CPP: LanguageSpec = LanguageSpec {
    name: "C++",
    called: &["c++"],
    extensions: &["cc", "cpp", "cxx", "c++", "hh", "hpp", "hxx", "h++", "ipp", "tpp", "inl"],
    file_names: &[],
    interpreters: &[],
    test_names: &[],
    line_comment: "//",
    grammar: grammar!("cpp", tree_sitter_cpp::LANGUAGE),
    highlights: highlights!("c", tree_sitter_c::HIGHLIGHT_QUERY; "cpp", tree_sitter_cpp::HIGHLIGHT_QUERY),
    symbols: SymbolSource::CFamily { is_cpp: true },
    definers: &[],
    could_define: could_define::in_cpp,
    names: NameRules::PLAIN,
    keywords: "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t \
        char16_t char32_t class co_await co_return co_yield compl concept const consteval \
        constexpr constinit const_cast continue decltype default delete do double dynamic_cast \
        else enum explicit export extern false float for friend goto if inline int long \
        mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected \
        public register reinterpret_cast requires return short signed sizeof static \
        static_assert static_cast struct switch template this thread_local throw true try \
        typedef typeid typename union unsigned using virtual void volatile wchar_t while xor \
        xor_eq",
    privacy: Privacy::IfWord(&["static"]),
    top_level_first: false,
    imports: Some(Dialect::C),
};
