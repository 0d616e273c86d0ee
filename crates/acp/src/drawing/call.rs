//! The card of a call as a tool call of the protocol.

use std::path::PathBuf;

use agent_client_protocol_schema::v1::{
    Content as EditorContent, ContentBlock, ToolCall, ToolCallContent, ToolCallLocation,
    ToolCallStatus, ToolKind,
};
use protocol::{Hunk, Image, LineKind, ToolPermission};
use serde_json::{Map, Value};
use timeline::{CallState, Card, Item};
use tool_system::{Category, ListedTool, ProjectTools};

use super::image_block;
use super::whole_text::WholeDiff;

/// Bytes of output that are shown; the end of it counts.
const MAX_OUTPUT: usize = 16 * 1024;
/// Bytes of a diff, which stands where the texts of a call are too long. More is not read by a user.
const MAX_DIFF: usize = 8 * 1024 * 1024;
/// Places that a call can be at.
const MAX_LOCATIONS: usize = 32;
/// Arguments that name a file, and lists of such.
const PATH_ARGUMENTS: [&str; 5] = ["path", "file_path", "from", "to", "file"];
const LIST_ARGUMENTS: [&str; 4] = ["paths", "files", "changes", "edits"];
/// Arguments that name a line, counted from one.
const LINE_ARGUMENTS: [&str; 4] = ["line", "start_line", "first_line", "offset"];

/// A call with what is known about it.
pub(super) struct DrawnCall<'a> {
    pub(super) item: &'a Item,
    pub(super) card: &'a Card,
    pub(super) diffs: &'a [WholeDiff],
    pub(super) images: Vec<&'a Image>,
    pub(super) tools: &'a ProjectTools,
}

impl DrawnCall<'_> {
    /// All of it.
    pub(super) fn whole(&self) -> ToolCall {
        let Self { item, card, .. } = self;
        // Calls of different agents may have the same id.
        let name = format!("{}-{}", item.sequence, card.call_id);
        let arguments: Option<Value> = serde_json::from_str(&card.arguments).ok();
        let title = match card.title.is_empty() {
            true => card.tool.clone(),
            false => card.title.clone(),
        };
        ToolCall::new(name, title)
            .kind(self.kind())
            .status(status(card))
            .content(self.content())
            .locations(self.locations(arguments.as_ref()))
            .raw_input(arguments)
    }

    fn listed(&self) -> Option<std::sync::Arc<ListedTool>> {
        let ProjectTools { registry, options, .. } = self.tools;
        registry.get(options.vocabulary, &self.card.tool).ok()
    }

    fn kind(&self) -> ToolKind {
        let Some(listed) = self.listed() else { return ToolKind::Other };
        let definition = listed.definition();
        let needs = |permission| definition.required_permissions.contains(permission);
        match definition.category {
            Category::Search | Category::Intelligence => ToolKind::Search,
            Category::Reading => ToolKind::Read,
            Category::Writing => ToolKind::Edit,
            Category::Management if needs(ToolPermission::WriteFiles) => ToolKind::Edit,
            Category::Management if needs(ToolPermission::CreateFiles) => ToolKind::Move,
            Category::Management if needs(ToolPermission::DeleteFiles) => ToolKind::Delete,
            Category::Management => ToolKind::Edit,
            Category::Execution => ToolKind::Execute,
            Category::VersionControl if definition.is_read_only() => ToolKind::Read,
            Category::VersionControl => ToolKind::Execute,
            Category::Agent => ToolKind::Think,
            Category::External => ToolKind::Other,
            Category::Web => ToolKind::Fetch,
        }
    }

    /// The files that it is about, by absolute paths. A path that leads out of the project is none.
    fn locations(&self, arguments: Option<&Value>) -> Vec<ToolCallLocation> {
        let mut named: Vec<(String, Option<u32>)> = self
            .card
            .diffs
            .iter()
            .map(|diff| (diff.path.clone(), diff.hunks.first().and_then(first_change)))
            .collect();
        if let (true, Some(Value::Object(arguments))) = (named.is_empty(), arguments) {
            named = named_files(arguments);
        }
        let workspace = self.tools.code.workspace();
        let absolute = |(path, line): (String, Option<u32>)| {
            let path = workspace.resolve(&path).ok()?;
            let path: PathBuf = workspace.canonical_path().join(path.as_path());
            Some(ToolCallLocation::new(path).line(line))
        };
        named.into_iter().filter_map(absolute).take(MAX_LOCATIONS).collect()
    }

    fn content(&self) -> Vec<ToolCallContent> {
        let Self { card, diffs, images, .. } = self;
        let mut content: Vec<ToolCallContent> = Vec::new();
        let mut say = |text: String| {
            if !text.trim().is_empty() {
                content.push(ToolCallContent::from(ContentBlock::from(text)));
            }
        };
        if let Some(question) = card.questions.last().filter(|_| !card.state.is_over()) {
            let warnings = question.warnings.iter().map(|warning| format!("\n{warning}"));
            say(std::iter::once(question.reason.clone()).chain(warnings).collect());
        }
        let command = card.questions.iter().rev().find_map(|question| question.what.as_deref());
        say(command.map(|what| fenced("", what)).unwrap_or_default());
        // What the user has revised was asked about once more, as it is made.
        let is_whole = !diffs.is_empty();
        if !is_whole && let Some(diff) = card.diff() {
            say(fenced("diff", &bounded_diff(diff)));
        }
        say(self.outcome());
        let lines = card.dropped.iter().chain(&card.checks);
        say(lines.map(String::as_str).collect::<Vec<_>>().join("\n"));
        if let Some(failure) = &card.failure {
            let suggestion = failure.suggestion.as_deref().unwrap_or_default();
            say(format!("{}\n{suggestion}", failure.message).trim_end().to_owned());
        }
        if is_whole {
            content.extend(diffs.iter().map(|diff| ToolCallContent::Diff(diff.drawn(self.tools))));
        }
        let shown = images.iter().filter_map(|image| image_block(image));
        content.extend(shown.map(|image| ToolCallContent::Content(EditorContent::new(image))));
        content
    }

    /// What it has printed, or what came of it.
    fn outcome(&self) -> String {
        let card = self.card;
        if card.exit_code.is_some() || !card.output.text.is_empty() {
            return fenced("", last_bytes(card.printed()));
        }
        match card.failure.is_none() && card.diff().is_none() {
            true => card.outcome.join("\n"),
            false => String::new(),
        }
    }
}

/// The first lines of a diff, with a line that says what is missing.
fn bounded_diff(mut diff: String) -> String {
    let whole = diff.len();
    if whole > MAX_DIFF {
        let end = diff.as_bytes()[..MAX_DIFF].iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
        diff.truncate(end);
        diff.push_str(&format!("\n… the other {} bytes of this diff are not shown", whole - end));
    }
    diff
}

fn status(card: &Card) -> ToolCallStatus {
    // What the user has commanded is not a call of the model's, of which the log would tell the end.
    let reply = card.questions.last().and_then(|question| question.reply.as_ref());
    if let (None, Some(reply), None) = (card.started_at, reply, &card.failure) {
        return match reply.approved {
            true => ToolCallStatus::Completed,
            false => ToolCallStatus::Failed,
        };
    }
    match card.state {
        CallState::Pending | CallState::WaitingForApproval => ToolCallStatus::Pending,
        CallState::Running => ToolCallStatus::InProgress,
        CallState::Done => ToolCallStatus::Completed,
        CallState::Failed | CallState::Refused | CallState::Interrupted => ToolCallStatus::Failed,
    }
}

/// The first line that comes, or where the first goes.
fn first_change(hunk: &Hunk) -> Option<u32> {
    let same = hunk.lines.iter().take_while(|line| line.kind == LineKind::Context).count();
    u32::try_from(hunk.new_start.max(1) + same).ok()
}

fn named_files(arguments: &Map<String, Value>) -> Vec<(String, Option<u32>)> {
    let line = |of: &Map<String, Value>| {
        let number = LINE_ARGUMENTS.iter().find_map(|name| of.get(*name)?.as_u64());
        number.and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0)
    };
    let paths = |of: &Map<String, Value>| -> Vec<(String, Option<u32>)> {
        let named = PATH_ARGUMENTS.iter().filter_map(|name| of.get(*name)?.as_str());
        named.map(|path| (path.to_owned(), line(of))).collect()
    };
    let lists = LIST_ARGUMENTS.iter().filter_map(|name| arguments.get(*name)?.as_array());
    let listed = lists.flatten().flat_map(|item| match item {
        Value::String(path) => vec![(path.clone(), None)],
        Value::Object(item) => paths(item),
        _ => Vec::new(),
    });
    paths(arguments).into_iter().chain(listed).collect()
}

/// A block of text that nothing in it can end.
fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|sign| sign != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

fn last_bytes(text: &str) -> &str {
    let from = text.len().saturating_sub(MAX_OUTPUT);
    let from = text.ceil_char_boundary(from);
    match text[from..].find('\n') {
        Some(end) if from > 0 => &text[from + end + 1..],
        _ => &text[from..],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn files_and_lines_are_found_in_arguments() {
        let named = |value: Value| named_files(value.as_object().unwrap());
        let file = |path: &str, line| (path.to_owned(), line);
        assert_eq!(named(json!({"path": "a", "offset": 7})), [file("a", Some(7))]);
        assert_eq!(named(json!({"from": "a", "to": "b"})), [file("a", None), file("b", None)]);
        assert_eq!(
            named(json!({"paths": ["a"], "edits": [{"path": "b", "line": 2}, 5]})),
            [file("a", None), file("b", Some(2))]
        );
        assert_eq!(named(json!({"command": "ls", "line": "x"})), []);
    }

    #[test]
    fn a_fence_is_longer_than_any_in_the_text() {
        assert_eq!(fenced("diff", "a\n"), "```diff\na\n```");
        assert_eq!(fenced("", "x ```` y"), "`````\nx ```` y\n`````");
    }

    #[test]
    fn a_diff_is_cut_at_a_line_and_says_so() {
        let short = "+a\n".repeat(10);
        assert_eq!(bounded_diff(short.clone()), short);
        let long = bounded_diff("+ä\n".repeat(MAX_DIFF));
        assert!(long.len() < MAX_DIFF + 100);
        let (_, last) = long.rsplit_once('\n').unwrap();
        assert_eq!(
            last,
            format!("… the other {} bytes of this diff are not shown", 3 * MAX_DIFF + 1)
        );
    }

    #[test]
    fn of_much_output_the_last_whole_lines_are_shown() {
        let text = "line\n".repeat(MAX_OUTPUT);
        let shown = last_bytes(&text);
        assert!(shown.len() <= MAX_OUTPUT && shown.starts_with("line\n"));
        assert_eq!(last_bytes("all"), "all");
    }
}
