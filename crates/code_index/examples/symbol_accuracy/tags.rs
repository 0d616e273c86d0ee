//! What universal-ctags says about files.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use code_index::Language;
use serde_json::Value;

/// The kinds that count, as ctags calls them in one language or another.
const KINDS: [&str; 14] = [
    "class",
    "enum",
    "func",
    "function",
    "generator",
    "getter",
    "interface",
    "member",
    "method",
    "methodSpec",
    "setter",
    "singletonMethod",
    "struct",
    "trait",
];
/// `member` is a method in Python, and a field elsewhere.
const MEMBER: &str = "member";

/// Languages that we have no grammar for, in files that look like one of ours.
const NOT_COMPARED: [&str; 2] = ["ObjectiveC", "CPreProcessor"];

/// A definition that ctags reports.
pub(crate) struct Tag {
    pub(crate) name: String,
    pub(crate) line: u32,
    pub(crate) kind: String,
    /// What it stands in, as ctags writes it.
    pub(crate) scope: String,
    pub(crate) counts: bool,
}

/// What ctags says about the files.
pub(crate) fn tags(
    files: &[(PathBuf, Language)],
) -> Result<HashMap<PathBuf, Vec<Tag>>, std::io::Error> {
    let mut ctags = Command::new("ctags")
        .args(["--options=NONE", "--output-format=json", "--fields=+nKl", "--sort=no"])
        .args(["--map-TypeScript=+.tsx", "--map-JavaScript=+.cjs", "--map-JavaScript=+.mjs"])
        .args(["--map-TypeScript=+.cts", "--map-TypeScript=+.mts"])
        .args(["-L", "-", "-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let names: Vec<u8> =
        files.iter().flat_map(|(path, _)| format!("{}\n", path.display()).into_bytes()).collect();
    let stdin = ctags.stdin.take();
    let writer = std::thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(&names)));
    let output = ctags.wait_with_output()?;
    drop(writer.join());
    let mut tags: HashMap<PathBuf, Vec<Tag>> = HashMap::new();
    for line in output.stdout.split(|byte| *byte == b'\n') {
        let Ok(tag) = serde_json::from_slice::<Value>(line) else { continue };
        let text = |key: &str| tag[key].as_str().unwrap_or_default().to_owned();
        let kind = text("kind");
        let name = match (text("language").as_str(), kind.as_str()) {
            ("C#", "method") => csharp_method(&text("name")),
            // Operators are compared without blanks.
            ("C++", "function") if text("name").starts_with("operator") => {
                text("name").replace(' ', "")
            }
            _ => text("name"),
        };
        if name.starts_with("__anon") || name.starts_with("Anonymous") || name.is_empty() {
            continue;
        }
        if NOT_COMPARED.contains(&tag["language"].as_str().unwrap_or_default())
            || kind == "implementation"
        {
            continue;
        }
        let is_method = kind != MEMBER || tag["language"] == "Python";
        let counts = KINDS.contains(&kind.as_str()) && is_method;
        let path = text("path");
        let line = tag["line"].as_u64().unwrap_or(1) as u32;
        let tag = Tag { name, line, kind, scope: text("scope"), counts };
        tags.entry(PathBuf::from(path)).or_default().push(tag);
    }
    Ok(tags)
}

/// The name of a C# method as we write it; ctags has `operator +` and `IList.Add` in one name.
fn csharp_method(name: &str) -> String {
    let name = name.trim_start_matches("operator ").trim_start_matches('~');
    name.rsplit('.').next().unwrap_or(name).to_owned()
}
