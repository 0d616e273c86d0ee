//! Names of packages as registries know them: no path, no address, no option. Pure.

use protocol::{ErrorCode, ToolError};

/// Whose names they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Registry {
    Cargo,
    Npm,
    Python,
}

/// Longer than any name with its versions.
const MAX_LENGTH: usize = 256;
/// A name that ends so is taken for a file of the present directory, without any sign of a path.
const ARCHIVES: [&str; 13] = [
    ".bz2", ".egg", ".gz", ".lz", ".lzma", ".tar", ".tbz", ".tgz", ".tlz", ".txz", ".whl", ".xz",
    ".zip",
];

/// Refuses what is not a name with versions.
pub(crate) fn check(registry: Registry, package: &str) -> Result<(), ToolError> {
    let is_name = match registry {
        Registry::Cargo => cargo(package),
        Registry::Npm => npm(package),
        Registry::Python => python(package),
    };
    let lower = package.to_ascii_lowercase();
    let is_archive = ARCHIVES.iter().any(|ending| lower.ends_with(ending));
    if is_name && !is_archive && package.len() <= MAX_LENGTH {
        return Ok(());
    }
    let (who, examples) = match registry {
        Registry::Cargo => ("crates", "serde, serde@1 or serde@>=1.0,<2"),
        Registry::Npm => ("npm packages", "lodash, lodash@^4.17 or @types/node@latest"),
        Registry::Python => {
            ("Python packages", "requests, requests==2.32 or uvicorn[standard]>=0.30,<1")
        }
    };
    let message = format!("`{package}` is not the name of a package in the registry of {who}");
    Err(ToolError::new(ErrorCode::InvalidArguments, message)
        .suggest(format!("Give names as the registry knows them, such as {examples}.")))
}

/// `name` or `name@requirement`.
fn cargo(package: &str) -> bool {
    let (name, versions) = split_at_sign(package);
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(is_word)
        && versions.is_none_or(|versions| {
            versions.split(',').all(|one| compared(one, &["^", "~", "=", ">=", "<=", ">", "<", ""]))
        })
}

/// `name` or `@scope/name`, with `@range` or `@tag`.
fn npm(package: &str) -> bool {
    let (scope, rest) = match package.strip_prefix('@') {
        None => (None, package),
        Some(scoped) => match scoped.split_once('/') {
            None => return false,
            Some((scope, rest)) => (Some(scope), rest),
        },
    };
    let (name, versions) = split_at_sign(rest);
    scope.is_none_or(npm_word)
        && npm_word(name)
        && versions.is_none_or(|versions| is_tag(versions) || is_range(versions))
}

fn npm_word(word: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    word.starts_with(|c: char| c.is_ascii_alphanumeric()) && word.chars().all(is_word)
}

fn is_tag(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(is_word)
}

/// Comparisons that hold together, side by side, and alternatives between bars.
fn is_range(text: &str) -> bool {
    let all = |alternative: &str| {
        let mut comparisons =
            alternative.split_ascii_whitespace().filter(|one| *one != "-").peekable();
        comparisons.peek().is_some()
            && comparisons.all(|one| compared(one, &["^", "~", ">=", "<=", ">", "<", "=", ""]))
    };
    text.chars().all(|c| c == ' ' || c.is_ascii_graphic()) && text.split("||").all(all)
}

/// `name`, `name[extra,extra]`, and versions after that.
fn python(package: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let end = package.find(|c| !is_word(c)).unwrap_or(package.len());
    let (name, rest) = package.split_at(end);
    let (extras, versions) = match rest.strip_prefix('[') {
        None => (None, rest),
        Some(rest) => match rest.split_once(']') {
            None => return false,
            Some((extras, versions)) => (Some(extras), versions),
        },
    };
    let is_archive = ARCHIVES.iter().any(|ending| name.to_ascii_lowercase().ends_with(ending));
    python_word(name)
        && !is_archive
        && extras.is_none_or(|extras| extras.split(',').all(python_word))
        && (versions.is_empty()
            || versions
                .split(',')
                .all(|one| compared(one, &["===", "~=", "==", "!=", ">=", "<=", ">", "<"])))
}

fn python_word(word: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    ends(word.chars().next()) && ends(word.chars().next_back()) && word.chars().all(is_word)
}

/// An operator, the longest that fits, and a version.
fn compared(text: &str, operators: &[&str]) -> bool {
    let fitting = operators.iter().filter(|operator| text.starts_with(**operator));
    let operator = fitting.max_by_key(|operator| operator.len());
    operator.is_some_and(|operator| is_version(&text[operator.len()..]))
}

/// A version begins with a number, or is any: `1`, `1.2.*`, `1.0.0-rc.1+build`, `1!2.0`, `v1`, `*`.
fn is_version(text: &str) -> bool {
    let number = text.strip_prefix('v').unwrap_or(text);
    let is_part = |c: char| c.is_ascii_alphanumeric() || ".-+!*_".contains(c);
    text == "*" || (number.starts_with(|c: char| c.is_ascii_digit()) && number.chars().all(is_part))
}

fn split_at_sign(text: &str) -> (&str, Option<&str>) {
    text.split_once('@').map_or((text, None), |(name, rest)| (name, Some(rest)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Registry; 3] = [Registry::Cargo, Registry::Npm, Registry::Python];

    #[test]
    fn names_with_versions_are_taken() {
        let cases: [(Registry, &[&str]); 3] = [
            (
                Registry::Cargo,
                &[
                    "serde",
                    "serde_json",
                    "tree-sitter",
                    "serde@1",
                    "serde@1.0.200",
                    "x@^1.2",
                    "x@~1",
                    "x@=1.2.3-rc.1+b",
                    "x@>=1.0,<2",
                    "x@*",
                    "x@1.*",
                ],
            ),
            (
                Registry::Npm,
                &[
                    "lodash",
                    "left-pad",
                    "@types/node",
                    "lodash@4",
                    "@a/b@^1.2.3",
                    "x@latest",
                    "x@next-14",
                    "lodash.merge",
                    "JSONStream",
                    "x@1.x",
                    "x@>=1.2.0 <2",
                    "x@1 || 2",
                    "x@*",
                    "x@v1.0.0",
                    "x@1.0.0 - 2.0.0",
                    "socket.io",
                    "7zip-bin",
                ],
            ),
            (
                Registry::Python,
                &[
                    "requests",
                    "requests==2.32",
                    "uvicorn[standard]",
                    "a[b,c]>=1,<2",
                    "x~=1.4.2",
                    "zope.interface",
                    "x!=1.5.*",
                    "x===1.0",
                    "ruamel.yaml",
                    "x==1!2.0+local",
                    "Pillow",
                    "a",
                ],
            ),
        ];
        for (registry, names) in cases {
            for name in names {
                assert!(check(registry, name).is_ok(), "{registry:?} {name}");
            }
        }
    }

    #[test]
    fn paths_addresses_repositories_and_options_are_refused_everywhere() {
        let bad = [
            "",
            " ",
            "-x",
            "--index-url=x",
            "--git=x",
            "-r",
            "-e",
            "-e.",
            "@",
            "@a",
            "@/b",
            "@a/",
            "@a/b/c",
            ".",
            "..",
            "./x",
            "../x",
            "x/",
            "/x",
            "/",
            "~",
            "~/x",
            "a/b",
            "user/repo",
            "user/repo#main",
            "dir/",
            "a\\b",
            "C:\\x",
            "file:x",
            "file:../x",
            "file://x",
            "link:x",
            "portal:x",
            "workspace:*",
            "npm:x",
            "x@npm:y",
            "x@file:y",
            "x@link:../y",
            "x@./y",
            "x@../y",
            "x@/y",
            "x@~/y",
            "x@user/repo",
            "x@github:user/repo",
            "github:user/repo",
            "gist:11081aaa281",
            "git+ssh://x",
            "git://h/x",
            "git@h:x",
            "git@github.com:a/b.git",
            "https://x/y.tgz",
            "x@https://h/y",
            "x @ https://h/y",
            "x@ https://h",
            "x.tgz",
            "x.tar.gz",
            "x.TAR",
            "x@y.tgz",
            "x@1.tgz",
            "x.whl",
            "x-1.0.whl",
            "x.zip",
            "x==1.zip",
            "x.zip[y]",
            "a b",
            "a;b",
            "x; python_version>'3'",
            "$(id)",
            "`id`",
            "a\nb",
            "a\0b",
            "x@",
            "x==",
            "x[",
            "x[]",
            "x]",
            "x[y",
            "x[../y]",
            "x>=",
            "x,y",
            "x@>",
            "x@^",
            "x@,",
            "x@1,",
            "x@@1",
            "x@1@2",
            "é",
            "x@é",
            "_x/../y",
            ".hidden",
            "x@.",
            "x@..",
            "x=y",
            "x#y",
            "x?y",
            "x%2fy",
            "pkg:npm/x",
            "x::y",
            "x@=>1",
            "x@||",
            "x@ ",
        ];
        for registry in ALL {
            for name in bad {
                assert!(check(registry, name).is_err(), "{registry:?} {name:?}");
            }
            assert!(check(registry, &"x".repeat(MAX_LENGTH + 1)).is_err());
        }
    }

    proptest! {
        /// Whatever is taken has no character by which a path or an address could be told.
        #[test]
        fn what_is_taken_is_no_path(text in "[a-z@/.:~\\-\\[\\]=<>,1* |#+!_\\\\]{0,12}") {
            for registry in ALL {
                if check(registry, &text).is_ok() {
                    prop_assert!(!text.contains([':', '\\', '#']), "{text}");
                    prop_assert!(!text.starts_with(['-', '.', '/', '~']), "{text}");
                    let slashes = text.matches('/').count();
                    prop_assert!(slashes == 0 || (text.starts_with('@') && slashes == 1), "{text}");
                }
            }
        }
    }
}
