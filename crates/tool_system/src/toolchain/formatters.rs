//! Which command formats a file or directory. Pure.

use crate::project_kind::ManifestDirectory;

const PRETTIER_FILES: [&str; 7] = [
    ".prettierrc",
    ".prettierrc.json",
    ".prettierrc.yaml",
    ".prettierrc.yml",
    ".prettierrc.js",
    "prettier.config.js",
    "prettier.config.mjs",
];
/// What each formatter is recognised by, for error messages.
pub(crate) const LOOKED_FOR: &str = "Cargo.toml, go.mod, a format script or Prettier in package.json, \
                                     ruff.toml, .clang-format, and pyproject.toml";

/// The command that formats what was asked for, if the files of `place` tell.
pub(crate) fn command(place: &ManifestDirectory) -> Option<Vec<String>> {
    let here = &place.manifests;
    let kind = extension(&place.rest);
    let any = place.rest.is_empty() || kind.is_none();
    let is = |kinds: &[&str]| kind.is_some_and(|kind| kinds.contains(&kind));
    let target = if place.rest.is_empty() { "." } else { &place.rest };
    let words = |words: &[&str]| Some(words.iter().map(|&word| word.to_owned()).collect());
    if here.has("Cargo.toml") && is(&["rs"]) {
        return words(&["rustfmt", "--edition", "2024", "--", target]);
    }
    if here.has("Cargo.toml") && any {
        return words(&["cargo", "fmt", "--all"]);
    }
    if here.has("go.mod") && (any || is(&["go"])) {
        return words(&["gofmt", "-w", target]);
    }
    if place.rest.is_empty() && here.script("format").is_some() {
        return words(&[here.node_manager(), "run", "format"]);
    }
    if (here.needs_package("prettier") || here.first_of(&PRETTIER_FILES).is_some())
        && !is(&["py", "rs", "go", "c", "cc", "cpp", "h", "hpp"])
    {
        return words(&["npx", "--no-install", "prettier", "--write", "--", target]);
    }
    if here.has(".clang-format") && is(&["c", "cc", "cpp", "cxx", "h", "hh", "hpp", "m", "proto"]) {
        return words(&["clang-format", "-i", "--", target]);
    }
    if any || is(&["py", "pyi"]) {
        let python = here.python();
        if here.configures("tool.ruff") || here.first_of(&["ruff.toml", ".ruff.toml"]).is_some() {
            return words(&[python, "-m", "ruff", "format", "--", target]);
        }
        if here.configures("tool.black") || here.tests_python() {
            return words(&[python, "-m", "black", "--quiet", "--", target]);
        }
    }
    None
}

fn extension(path: &str) -> Option<&str> {
    path.rsplit('/').next()?.rsplit_once('.').map(|(_, extension)| extension)
}

#[cfg(test)]
mod tests {
    use workspace::RelPath;

    use super::*;
    use crate::project_kind::Manifests;

    #[test]
    fn each_file_is_formatted_by_what_the_project_uses() {
        let prettier = r#"{"devDependencies": {"prettier": "3"}}"#;
        let cases: [(&[&str], &str, &str, &str, &str); 12] = [
            (&["Cargo.toml"], "", "", "", "cargo fmt --all"),
            (&["Cargo.toml"], "", "", "src/a.rs", "rustfmt --edition 2024 -- src/a.rs"),
            (
                &["Cargo.toml", "package.json"],
                prettier,
                "",
                "web/a.ts",
                "npx --no-install prettier --write -- web/a.ts",
            ),
            (&["go.mod"], "", "", "cmd", "gofmt -w cmd"),
            (
                &["package.json", "yarn.lock"],
                r#"{"scripts": {"format": "biome format"}}"#,
                "",
                "",
                "yarn run format",
            ),
            (&[".prettierrc"], "", "", "", "npx --no-install prettier --write -- ."),
            (&[".clang-format"], "", "", "a.cpp", "clang-format -i -- a.cpp"),
            (&["pyproject.toml"], "", "[tool.ruff]\n", "a.py", "python3 -m ruff format -- a.py"),
            (&["pyproject.toml"], "", "[tool.black]\n", "", "python3 -m black --quiet -- ."),
            (&["conftest.py"], "", "", "tests", "python3 -m black --quiet -- tests"),
            (&[".clang-format"], "", "", "", ""),
            (&["a.txt"], "", "", "a.txt", ""),
        ];
        for (names, package, pyproject, rest, expected) in cases {
            let manifests = Manifests::sketch(names, package, pyproject, "");
            let place =
                ManifestDirectory { directory: RelPath::root(), rest: rest.into(), manifests };
            let found = command(&place).unwrap_or_default();
            assert_eq!(found.join(" "), expected, "{names:?} {rest}");
        }
    }
}
