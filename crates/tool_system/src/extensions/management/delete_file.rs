//! `delete_file`: removes a file, a link or a whole directory.

use protocol::{Base, Change, ChangeSet};
use tool_system::file_view::explained;
use tool_system::outcome_text::{
    OutcomeText, argument, change_id, failed_checks, list_length, texts,
};
use tool_system::prelude::*;
use tool_system::proposing::Target;
use tool_system::search_notes::counted;
use workspace::{EntryKind, Flow, RelPath, Visitor, WalkEntry, WalkOptions};

/// Delete a file, or with `recursive` a directory. Always asks.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DeleteFileArgs {
    path: String,
    recursive: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct DeleteFileOutput {
    deleted: Vec<String>,
}

#[derive(Debug)]
struct DeleteFileTool;

#[async_trait]
impl Tool for DeleteFileTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<DeleteFileArgs, DeleteFileOutput>("delete_file", Category::Management)
            .on_demand()
            .permissions([ToolPermission::DeleteFiles])
            .approval(Approval::Always)
            .termination(
                "Use terminate=false if what refers to the file has to be changed. Use \
                 terminate=true when deleting was all there was to do.",
            )
            .prompt("{\"path\": \"src/old.rs\"}, or a directory: {\"path\": \"legacy\", \"recursive\": true}.")
            .example(json!({"path": "src/old.rs"}))
            .face(Face::new(Vocabulary::Workspace, "delete_file").camel_case_result())
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: DeleteFileArgs = args.parse()?;
        cx.blocking(move |cx| propose(cx, &args)).await
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        Some(format!("Delete {}", argument(args, "path")?))
    }

    fn summary(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        let deleted = texts(result, "deleted")?;
        // A directory is deleted last.
        let what = deleted.last()?;
        let inside = list_length(result, "deleted") - 1;
        let inside = match inside {
            0 => String::new(),
            _ => format!(" with {}", counted(inside, "entry", "entries")),
        };
        Some(format!("Deleted {what}{inside}{}", failed_checks(result)))
    }

    fn text(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        let what = match (texts(result, "deleted")?.len(), list_length(result, "deleted")) {
            (0, _) => return None,
            (1, 1) => String::new(),
            (_, all) => format!(" {all} entries"),
        };
        let mut text = OutcomeText::new(format!("Deleted{what}{}", change_id(result)));
        text.add_outcome(result);
        Some(text.finish())
    }
}

fn propose(cx: &ToolContext, args: &DeleteFileArgs) -> Result<Outcome, ToolError> {
    let target = Target::entry(cx, &args.path)?;
    let (path, base) = (&target.path, target.base.clone());
    if path.is_root() {
        return Err(ToolError::new(ErrorCode::InvalidPath, "the project itself cannot be deleted"));
    }
    let changes = match base {
        Base::Absent => {
            let error = workspace::Error::NotFound { path: path.to_text() };
            return Err(explained(cx, path, error));
        }
        Base::Directory { mode } if args.recursive.unwrap_or(false) => {
            everything_in(cx, path, mode)?
        }
        Base::Directory { .. } => {
            let message = format!("{path} is a directory");
            return Err(ToolError::new(ErrorCode::NotAFile, message)
                .suggest("Set recursive to true to delete it with everything in it."));
        }
        Base::File { .. } | Base::Link { .. } => {
            vec![Change::Delete { path: path.to_text(), base }]
        }
    };
    let deleted = changes.iter().flat_map(Change::paths).map(str::to_owned).collect();
    let answer = target.answer(DeleteFileOutput { deleted })?;
    Ok(Outcome::Proposal(Proposed::changes(ChangeSet { changes }, answer)))
}

/// Deletes of everything beneath `start`, contents before containers. Links are not followed.
fn everything_in(cx: &ToolContext, start: &RelPath, mode: u32) -> Result<Vec<Change>, ToolError> {
    let limits = cx.limits();
    let options = WalkOptions {
        start: start.clone(),
        hidden: true,
        respect_ignore: false,
        max_depth: usize::MAX,
        max_entries: usize::try_from(limits.delete_entries).unwrap_or(usize::MAX),
        ..WalkOptions::default()
    };
    let (report, found) =
        cx.workspace().walk(&options, &|| cx.is_cancelled(), EntryCollector::default)?;
    if report.entries_limited || !report.unreadable.is_empty() {
        let message = format!(
            "{start} holds more than {} entries, or parts that cannot be read",
            limits.delete_entries
        );
        return Err(ToolError::new(ErrorCode::FileTooLarge, message)
            .suggest("Delete its subdirectories one by one."));
    }
    let mut entries: Vec<(RelPath, EntryKind)> =
        found.into_iter().flat_map(|found| found.0).collect();
    // In reverse path order what is in a directory comes before the directory.
    entries.sort_unstable_by(|left, right| right.cmp(left));
    let mut changes = Vec::with_capacity(entries.len() + 1);
    for (path, kind) in entries {
        let (base, _) = cx.workspace().base_of(&path, limits.edit_bytes)?;
        changes.push(match (kind, base) {
            (EntryKind::Directory, Base::Directory { mode }) => {
                Change::RemoveDir { path: path.to_text(), mode }
            }
            (_, base @ (Base::File { .. } | Base::Link { .. })) => {
                Change::Delete { path: path.to_text(), base }
            }
            _ => {
                let message = format!("{path} is neither a file nor a link nor a directory");
                return Err(ToolError::new(ErrorCode::NotAFile, message));
            }
        });
    }
    changes.push(Change::RemoveDir { path: start.to_text(), mode });
    Ok(changes)
}

#[derive(Default)]
struct EntryCollector(Vec<(RelPath, EntryKind)>);

impl Visitor for EntryCollector {
    fn visit(&mut self, entry: &WalkEntry<'_>) -> Flow {
        self.0.push((entry.path(), entry.kind()));
        Flow::Continue
    }
}

auto_register_tool!(DeleteFileTool);
