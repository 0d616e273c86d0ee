//! What a mention points at that is not a file: a directory, or a symbol of the project.

use protocol::{CallReport, Content, ToolCall};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tool_system::ToolExecutor;
use tool_system::extensions::intelligence::{find_definition, outline};
use tool_system::extensions::reading::read_file;
use tool_system::extensions::search::list_directory;

/// The most lines of a symbol that are attached.
const MAX_LINES: u64 = 200;
/// Definitions that are looked for and named.
const MAX_DEFINITIONS: usize = 5;
/// Tokens of an outline; enough to find where a symbol ends in all but the largest files.
const OUTLINE_TOKENS: u64 = 20_000;

/// The listing of a directory, or the lines of a symbol with exactly one definition, as the model reads it.
/// None if it is neither; an error says why a symbol is not attached.
pub(super) async fn pointed_at(
    executor: &ToolExecutor,
    mention: &str,
) -> Option<Result<Content, String>> {
    let listing = call(executor, list_directory::NAME, json!({"path": mention})).await;
    if let (Ok(value), text) = (listing.result, listing.text) {
        let text = text.unwrap_or_else(|| value.to_string());
        return Some(Ok(Content::attached(format!("the directory {mention}"), &text)));
    }
    if !is_symbol(mention) {
        return None;
    }
    let arguments = json!({"symbol": mention, "max_results": MAX_DEFINITIONS});
    let found = call(executor, find_definition::NAME, arguments).await.result.ok()?;
    let all = found["definitions"].as_array()?.iter();
    let places = all
        .filter(|found| found["kind"] != "import")
        .filter_map(|found| Some((found["path"].as_str()?.to_owned(), found["line"].as_u64()?)));
    match places.collect::<Vec<_>>().as_slice() {
        [] => None,
        [(path, line)] => Some(symbol_text(executor, mention, path, *line).await),
        several => {
            let named: Vec<_> =
                several.iter().map(|(path, line)| format!("{path}:{line}")).collect();
            let total = found["total"].as_u64().unwrap_or(0).max(several.len() as u64);
            Some(Err(format!(
                "{mention} is not attached: it has {total} definitions, such as {}; name the file",
                named.join(", ")
            )))
        }
    }
}

/// Whether the text can name a symbol, such as `Session::new`.
fn is_symbol(text: &str) -> bool {
    let is_name = |part: &str| {
        part.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    text.split("::").flat_map(|part| part.split('.')).all(is_name)
}

async fn symbol_text(
    executor: &ToolExecutor,
    name: &str,
    path: &str,
    line: u64,
) -> Result<Content, String> {
    let asked = json!({"path": path, "max_tokens": OUTLINE_TOKENS});
    let outline = call(executor, outline::NAME, asked).await.result.unwrap_or_default();
    let lines = line_count(outline["outline"].as_str().unwrap_or_default(), line);
    let read = json!({"path": path, "offset": line, "limit": lines});
    let report = call(executor, read_file::NAME, read).await;
    match report.result {
        Ok(value) => {
            let text = value["content"].as_str().unwrap_or_default();
            Ok(Content::attached(format!("{name}, from line {line} of {path}"), text))
        }
        Err(error) => Err(format!("{name} is not attached: {}", error.message)),
    }
}

/// How many lines the symbol at `line` has at most: up to the next one beside or above it.
fn line_count(outline: &str, line: u64) -> u64 {
    let entries = outline.lines().filter_map(|row| {
        let text = row.trim_start();
        let number: u64 = text.split_once(": ")?.0.parse().ok()?;
        Some((row.len() - text.len(), number))
    });
    let mut later = entries.skip_while(|(_, number)| *number != line);
    let Some((depth, _)) = later.next() else { return MAX_LINES };
    let end = later.find(|(other, number)| *other <= depth && *number > line);
    end.map_or(MAX_LINES, |(_, number)| (number - line).min(MAX_LINES))
}

async fn call(executor: &ToolExecutor, tool: &str, arguments: Value) -> CallReport {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let call = ToolCall::new(format!("mention_{tool}"), tool, arguments);
    executor.report(&call, &CancellationToken::new(), executor.approver()).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_symbols_are_told_from_paths_and_people() {
        for name in ["Cart", "Session::new", "pkg.Func", "_x", "größe"] {
            assert!(is_symbol(name), "{name}");
        }
        for name in ["src/a", "a-b", "1st", "", "a::", "a b", "types/node"] {
            assert!(!is_symbol(name), "{name}");
        }
    }

    #[test]
    fn a_symbol_ends_where_the_next_one_beside_it_begins() {
        let outline = "1: struct A\n5: impl A\n  6: fn new()\n  9: fn run()\n20: fn main()\n";
        let table = [(1, 4), (5, 15), (6, 3), (9, 11), (20, MAX_LINES), (7, MAX_LINES)];
        for (line, expected) in table {
            assert_eq!(line_count(outline, line), expected, "{line}");
        }
        assert_eq!(line_count("1: a\n900: b\n", 1), MAX_LINES);
    }
}
