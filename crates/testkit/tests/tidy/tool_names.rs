//! The name of a tool stands in the tool's own file; other code says `read_file::NAME`.

use crate::repository::{assert_none, files_ending, read};
use crate::rust_text;

const EXTENSIONS: &str = "crates/tool_system/src/extensions/";

/// Crates that know the tools, and so can say where a name stands.
const KNOW_TOOLS: [&str; 7] =
    ["acp", "cli", "mcp", "mcp_client", "session", "tool_system", "web_service"];

#[test]
fn a_tool_is_named_in_its_own_file() {
    let files = files_ending(&[".rs"]);
    let (tools, others): (Vec<&String>, Vec<&String>) =
        files.iter().partition(|path| path.starts_with(EXTENSIONS));
    // A name of one word, such as `plan`, is often another thing.
    let names = tools.iter().filter_map(|path| path.rsplit('/').next()?.strip_suffix(".rs"));
    let names: Vec<String> =
        names.filter(|name| name.contains('_')).map(|name| format!("\"{name}\"")).collect();
    assert!(names.contains(&format!("\"{}\"", "read_file")), "{names:?}");
    let mut problems = Vec::new();
    for path in others.into_iter().filter(|path| knows_tools(path)) {
        let source = rust_text::shipped(&read(path).expect("a source file is UTF-8"));
        for (at, line) in source.lines().enumerate() {
            if line.trim_start().starts_with("//") {
                continue;
            }
            let named = names.iter().filter(|name| line.contains(name.as_str()));
            problems.extend(named.map(|name| format!("{path}:{}: {name}", at + 1)));
        }
    }
    assert_none(&problems, "write `read_file::NAME`, a public constant in the tool's file");
}

fn knows_tools(path: &str) -> bool {
    let mut parts = path.split('/').skip(1);
    parts.next().is_some_and(|name| KNOW_TOOLS.contains(&name))
        && parts.next() == Some("src")
        && !path.contains("/tests")
        && !path.ends_with("tests.rs")
}
