//! What people call kinds of files.

use crate::Language;

/// What searches call kinds of files, and the extensions that no row of [`Language`] has for that
/// name.
const KINDS: &[(&str, &[&str])] = &[
    ("assembly", &["asm", "s"]),
    ("c++", &["h"]),
    ("clojure", &["clj", "cljc", "cljs", "edn"]),
    ("elixir", &["ex", "exs"]),
    ("erlang", &["erl", "hrl"]),
    ("f#", &["fs", "fsi", "fsx"]),
    ("fsharp", &["fs", "fsi", "fsx"]),
    ("haskell", &["hs", "lhs"]),
    ("julia", &["jl"]),
    ("kotlin", &["kt", "kts"]),
    ("markdown", &["md", "markdown", "mdx"]),
    ("objective-c", &["m", "mm", "h"]),
    ("ocaml", &["ml", "mli"]),
    ("perl", &["pl", "pm"]),
    ("powershell", &["ps1", "psm1"]),
    ("protobuf", &["proto"]),
    ("shell", &["zsh"]),
    ("terraform", &["tf", "tfvars"]),
    ("text", &["txt"]),
    ("yaml", &["yaml", "yml"]),
];

/// The extensions that texts such as `rs`, `.rs`, `*.rs`, `ts,tsx` or `python` name.
pub(super) fn extensions(texts: &[String]) -> Vec<Vec<u8>> {
    let separators = |character: char| character == ',' || character.is_whitespace();
    let named = texts.iter().flat_map(|text| text.split(separators));
    let mut extensions = Vec::new();
    for name in named {
        let name = name.trim_start_matches('*').trim_start_matches('.').to_ascii_lowercase();
        if name.is_empty() {
            continue;
        }
        let known = called(&name);
        if known.is_empty() {
            extensions.push(name.into_bytes());
        }
        extensions.extend(known.into_iter().map(|known| known.as_bytes().to_vec()));
    }
    extensions
}

/// The extensions of what is called so; none if it is not a name of a kind of files.
fn called(name: &str) -> Vec<&'static str> {
    let rows = Language::ALL.into_iter().map(Language::spec);
    let rows = rows.filter(|row| row.called.contains(&name)).flat_map(|row| row.extensions);
    let kinds = KINDS.iter().filter(|(kind, _)| *kind == name).flat_map(|(_, known)| *known);
    rows.chain(kinds).copied().collect()
}

/// Whether a file of this name has the extension, whatever its case. `d.ts` is one, too.
pub(super) fn has_extension(name: &[u8], extension: &[u8]) -> bool {
    let Some(dot) = name.len().checked_sub(extension.len() + 1) else { return false };
    dot > 0 && name[dot] == b'.' && name[dot + 1..].eq_ignore_ascii_case(extension)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_found_in_every_spelling() {
        let table: [(&str, &[&str]); 11] = [
            ("rs", &["rs"]),
            (".rs", &["rs"]),
            ("*.RS", &["rs"]),
            ("ts,tsx", &["ts", "tsx"]),
            ("ts, .js", &["ts", "js"]),
            ("Python", &["py", "pyi", "pyw"]),
            ("c", &["c"]),
            ("typescript", &["tsx", "cts", "mts", "ts"]),
            ("shell", &["bash", "bats", "sh", "zsh"]),
            ("csharp", &["cs"]),
            ("kotlin", &["kt", "kts"]),
        ];
        for (text, expected) in table {
            let expected: Vec<_> = expected.iter().map(|text| text.as_bytes().to_vec()).collect();
            assert_eq!(extensions(&[text.to_owned()]), expected, "{text}");
        }
        assert!(KINDS.is_sorted());
    }

    #[test]
    fn an_extension_follows_a_name_and_a_dot() {
        let table = [
            ("a.rs", "rs", true),
            ("a.RS", "rs", true),
            ("a.d.ts", "d.ts", true),
            ("a.d.ts", "ts", true),
            (".rs", "rs", false),
            ("rs", "rs", false),
            ("ars", "rs", false),
            ("", "rs", false),
        ];
        for (name, extension, expected) in table {
            assert_eq!(has_extension(name.as_bytes(), extension.as_bytes()), expected, "{name}");
        }
    }
}
