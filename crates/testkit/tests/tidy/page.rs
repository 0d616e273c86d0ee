//! Rules about the page: its libraries are what their packages hold, its own code never makes markup
//! from text, and its files are all there.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::crates::text;
use crate::licences::allowed_licences;
use crate::repository::{assert_none, files_ending, read, root};
use crate::spdx;

const UI: &str = "crates/web_service/ui/";
const VENDOR: &str = "crates/web_service/ui/vendor/";
const MANIFEST: &str = "crates/web_service/ui/vendor/manifest.json";
const TABLE: &str = "crates/web_service/src/assets.rs";
/// Less than for other files: no compiler has looked at these before a reader does.
const MOST_LINES: usize = 400;
const EXCUSE: &str = "// Long because: ";
/// An excuse has to stand where a reader begins.
const LINES_FOR_AN_EXCUSE: usize = 5;

/// What makes markup or code from text, or loads something from elsewhere.
const REFUSED: [&str; 16] = [
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "document.write",
    "dangerouslySetInnerHTML",
    "createContextualFragment",
    "DOMParser",
    "eval(",
    "new Function",
    "setTimeout('",
    "from 'http",
    "import('http",
    "fetch('http",
    "src=\"http",
    "url(http",
    "@import",
];

/// Files of the page, as paths below `ui/`.
fn files_of_the_page() -> Vec<String> {
    let endings = [".js", ".mjs", ".css", ".html"];
    let all = files_ending(&endings);
    all.iter().filter_map(|path| path.strip_prefix(UI)).map(str::to_owned).collect()
}

/// What we have written of it: path below `ui/` and text.
fn own_files(ending: &str) -> Vec<(String, String)> {
    let mut own = files_of_the_page();
    own.retain(|path| path.ends_with(ending) && !path.starts_with("vendor/"));
    let with_text = |path: String| {
        let text = read(&format!("{UI}{path}")).expect("a file of the page is UTF-8");
        (path, text)
    };
    own.into_iter().map(with_text).collect()
}

#[test]
fn every_library_of_the_page_is_what_its_package_holds() {
    let list: Value = serde_json::from_str(&read(MANIFEST).expect("the list")).expect("JSON");
    let allowed = allowed_licences();
    let mut listed = BTreeSet::from([MANIFEST.to_owned()]);
    let mut problems = Vec::new();
    for package in list["packages"].as_array().expect("packages") {
        let (name, licence) = (text(&package["package"]), text(&package["licence"]));
        if spdx::is_satisfied(licence, |id| allowed.iter().any(|known| known == id)) != Ok(true) {
            problems.push(format!("{name}: the licence {licence} is not on the list in deny.toml"));
        }
        let files = package["files"].as_array().expect("files");
        if !files.iter().any(|file| text(&file["file"]).starts_with("licences/")) {
            problems.push(format!("{name}: the text of its licence is missing"));
        }
        for file in files {
            let path = format!("{VENDOR}{}", text(&file["file"]));
            let bytes = std::fs::read(root().join(&path)).unwrap_or_default();
            if blake3::hash(&bytes).to_hex().as_str() != text(&file["blake3"]) {
                problems.push(format!("{path} is not the listed file"));
            }
            listed.insert(path);
        }
    }
    let lying = files_ending(&[""]).into_iter().filter(|path| path.starts_with(VENDOR));
    problems.extend(
        lying.filter(|path| !listed.contains(path)).map(|path| format!("{path} is not listed")),
    );
    assert_none(&problems, "list it in manifest.json and run cargo xtask vendor --update");
}

#[test]
fn the_page_never_makes_markup_or_code_from_text() {
    let mut problems = Vec::new();
    for (path, text) in [own_files(".js"), own_files(".css")].concat() {
        for (number, line) in text.lines().enumerate() {
            for word in REFUSED.iter().filter(|word| line.contains(**word)) {
                problems.push(format!("{UI}{path}:{}: {word}", number + 1));
            }
        }
    }
    assert_none(
        &problems,
        "make elements with html`…`, which shows text as text; load only what is in ui/",
    );
}

#[test]
fn scripts_of_the_page_are_short() {
    let mut problems = Vec::new();
    for (path, text) in own_files(".js") {
        let count = text.lines().count();
        let mut first = text.lines().take(LINES_FOR_AN_EXCUSE);
        if count > MOST_LINES && !first.any(|line| line.starts_with(EXCUSE)) {
            problems.push(format!("{UI}{path}: {count} lines"));
        }
    }
    assert_none(&problems, "split the file by what its parts are about");
}

#[test]
fn every_file_of_the_page_is_served_and_every_import_leads_to_one() {
    let files: BTreeSet<String> = files_of_the_page().into_iter().collect();
    let table = read(TABLE).expect("the table of files");
    let is_served =
        |file: &&String| **file == "index.html" || table.contains(&format!("asset!(\"{file}\""));
    let mut problems: Vec<String> = files
        .iter()
        .filter(|file| !is_served(file))
        .map(|file| format!("{UI}{file} is not in the table of {TABLE}"))
        .collect();
    for (path, text) in own_files(".js") {
        for target in imported(&text) {
            let place = Path::new(&path).parent().unwrap_or(Path::new("")).join(target);
            if !files.contains(&without_dots(&place)) {
                problems.push(format!("{UI}{path} imports {target}, which does not exist"));
            }
        }
        for target in quoted_after(&text, "styles(") {
            if !files.contains(target.trim_start_matches('/')) {
                problems.push(format!("{UI}{path} loads {target}, which does not exist"));
            }
        }
    }
    assert_none(&problems, "add the file to the table, or correct the path");
}

/// Paths of modules beside it that a script imports at once or later.
fn imported(script: &str) -> Vec<&str> {
    let found =
        ["from ", "import(", "import "].into_iter().flat_map(|word| quoted_after(script, word));
    found.filter(|target| target.starts_with('.')).collect()
}

/// What stands in single quotes directly after a word.
fn quoted_after<'a>(script: &'a str, word: &'a str) -> Vec<&'a str> {
    let rests = script.match_indices(word).map(|(at, _)| &script[at + word.len()..]);
    rests.filter_map(|rest| Some(rest.strip_prefix('\'')?.split_once('\'')?.0)).collect()
}

/// `panels/../core.js` as `core.js`.
fn without_dots(path: &Path) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.to_str().unwrap_or_default().split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[test]
fn imports_are_found_and_followed() {
    let script = "import { a } from './core.js';\nimport '../page.js';\nlazy(() => import('./panels/x.js'));\nimport 'marked';";
    assert_eq!(imported(script), ["./core.js", "./panels/x.js", "../page.js"]);
    assert_eq!(without_dots(Path::new("panels/../core.js")), "core.js");
    assert_eq!(without_dots(Path::new("./panels/./x.js")), "panels/x.js");
}
