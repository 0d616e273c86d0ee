//! What people call kinds of files.

/// Names of languages that are no extension, and their extensions.
const LANGUAGES: &[(&str, &[&str])] = &[
    ("assembly", &["asm", "s"]),
    ("c#", &["cs"]),
    ("c++", &["cc", "cpp", "cxx", "c++", "h", "hh", "hpp", "hxx", "inl", "ipp", "tpp"]),
    ("clojure", &["clj", "cljc", "cljs", "edn"]),
    ("csharp", &["cs"]),
    ("elixir", &["ex", "exs"]),
    ("erlang", &["erl", "hrl"]),
    ("f#", &["fs", "fsi", "fsx"]),
    ("fsharp", &["fs", "fsi", "fsx"]),
    ("golang", &["go"]),
    ("haskell", &["hs", "lhs"]),
    ("javascript", &["js", "jsx", "mjs", "cjs"]),
    ("julia", &["jl"]),
    ("kotlin", &["kt", "kts"]),
    ("markdown", &["md", "markdown", "mdx"]),
    ("objective-c", &["m", "mm", "h"]),
    ("ocaml", &["ml", "mli"]),
    ("perl", &["pl", "pm"]),
    ("powershell", &["ps1", "psm1"]),
    ("protobuf", &["proto"]),
    ("python", &["py", "pyi", "pyw"]),
    ("ruby", &["rb", "rake", "gemspec"]),
    ("rust", &["rs"]),
    ("shell", &["sh", "bash", "zsh"]),
    ("terraform", &["tf", "tfvars"]),
    ("text", &["txt"]),
    ("typescript", &["ts", "tsx", "mts", "cts"]),
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
        match LANGUAGES.iter().find(|(language, _)| *language == name) {
            Some((_, known)) => {
                extensions.extend(known.iter().map(|known| known.as_bytes().to_vec()));
            }
            None => extensions.push(name.into_bytes()),
        }
    }
    extensions
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
        let table: [(&str, &[&str]); 7] = [
            ("rs", &["rs"]),
            (".rs", &["rs"]),
            ("*.RS", &["rs"]),
            ("ts,tsx", &["ts", "tsx"]),
            ("ts, .js", &["ts", "js"]),
            ("Python", &["py", "pyi", "pyw"]),
            ("c", &["c"]),
        ];
        for (text, expected) in table {
            let expected: Vec<_> = expected.iter().map(|text| text.as_bytes().to_vec()).collect();
            assert_eq!(extensions(&[text.to_owned()]), expected, "{text}");
        }
        assert!(LANGUAGES.is_sorted());
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
