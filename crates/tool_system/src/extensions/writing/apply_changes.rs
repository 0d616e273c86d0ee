//! `apply_changes`: many changes to many files, all or none.

use std::collections::{BTreeMap, BTreeSet};

use tool_system::change_plan::ChangePlan;
use tool_system::edit::{
    Changed, EditBlock, FilePatch, LineEdit, PatchAction, apply_blocks, apply_hunks, edit_lines,
    parse_patch, verify_deletion,
};
use tool_system::outcome_text::{
    EditText, EditedFiles, FileFate, OutcomeText, argument, changed_files, edit_summary,
    failed_checks, items, one_or_many, text_at, texts,
};
use tool_system::prelude::*;
use workspace::Text;

/// Change many files, all or none: search/replace, lines, whole files, deletes, moves, or a patch (V4A,
/// unified).
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ApplyChangesArgs {
    changes: Option<Vec<FileChange>>,
    patch: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FileChange {
    path: String,
    /// Occurs once
    #[serde(skip_serializing_if = "Option::is_none")]
    search: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 0))]
    replace: Option<String>,
    /// Of the match, or first
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<Whole<1>>,
    /// Last
    #[serde(skip_serializing_if = "Option::is_none")]
    end_line: Option<Whole<1>>,
    /// Whole file or new lines
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 0))]
    content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delete: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    move_to: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ApplyChangesOutput {
    files: Vec<String>,
    applied: Vec<Value>,
    diff: String,
    /// Lines that came.
    added: usize,
    /// Lines that went.
    removed: usize,
}

#[derive(Debug)]
struct ApplyChangesTool;

#[async_trait]
impl Tool for ApplyChangesTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<ApplyChangesArgs, ApplyChangesOutput>("apply_changes", Category::Writing)
            .permissions([
                ToolPermission::ReadFiles,
                ToolPermission::WriteFiles,
                ToolPermission::CreateFiles,
                ToolPermission::DeleteFiles,
            ])
            .approval(Approval::Always)
            .termination(
                "Use terminate=true after a successful change that completes the task. Use \
                 terminate=false if verification is needed. Read the files first.",
            )
            .prompt(
                "Blocks in two files: {\"changes\": [{\"path\": \"a.rs\", \"search\": \"old()\", \"replace\": \
                 \"new()\"}, {\"path\": \"b.rs\", \"search\": \"use old;\", \"replace\": \"use new;\"}]}. Lines 3 \
                 to 5: {\"changes\": [{\"path\": \"a.rs\", \"line\": 3, \"end_line\": 5, \"content\": \"x\"}]}. A \
                 patch: {\"patch\": \"*** Begin Patch\\n*** Update File: a.rs\\n@@\\n-old()\\n+new()\\n*** End \
                 Patch\"}. Give enough context that a search text occurs once.",
            )
            .example(json!({"changes": [{"path": "a.rs", "search": "old()", "replace": "new()"}]}))
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: ApplyChangesArgs = args.parse()?;
        cx.blocking(move |cx| {
            let mut plan = ChangePlan::new(cx);
            match (&args.changes, &args.patch) {
                (Some(changes), None) if !changes.is_empty() => plan_changes(&mut plan, changes)?,
                (None, Some(patch)) => plan_patch(&mut plan, patch)?,
                _ => {
                    let message = "exactly one of `changes` and `patch` is required";
                    return Err(ToolError::new(ErrorCode::InvalidArguments, message)
                        .suggest("Example: apply_changes(changes=[{\"path\":\"a.rs\",\"search\":\"old()\",\"replace\":\"new()\"}])"));
                }
            }
            plan.propose()
        })
        .await
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        match named_paths(args).as_slice() {
            [] => argument(args, "patch").map(|_| "Apply a patch".to_owned()),
            paths => Some(format!("Edit {}", one_or_many(paths))),
        }
    }

    fn summary(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        let files = texts(result, "files")?;
        if files.is_empty() {
            return Some("Changed nothing".to_owned());
        }
        let verb = match changed_files(text_at(result, "diff")?).as_slice() {
            [only] => match only.fate {
                FileFate::Created => "Created",
                FileFate::Deleted => {
                    return Some(format!("Deleted {}{}", files.join(""), failed_checks(result)));
                }
                FileFate::MovedFrom(_) => return Some(format!("Moved {}", files.join(" to "))),
                FileFate::Edited | FileFate::Other => "Edited",
            },
            _ => "Edited",
        };
        Some(edit_summary(verb, &one_or_many(&files), result))
    }

    fn text(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        let (mut tolerant, mut grades) = (BTreeSet::new(), BTreeSet::new());
        for applied in items(result, "applied") {
            let how = text_at(applied, "how").filter(|how| how.starts_with("match "));
            grades.extend(how);
            tolerant.extend(how.and_then(|_| text_at(applied, "path")));
        }
        let mut text = if texts(result, "files")?.is_empty() {
            OutcomeText::new("Nothing was changed: the files are like this already")
        } else {
            let is_whole = text_at(result, "edited_by_user").is_none();
            let call = match named_paths(args).as_slice() {
                [_] => EditedFiles::One,
                // A patch that was applied as a whole has the files that it names.
                [] if is_whole => EditedFiles::One,
                _ => EditedFiles::Several,
            };
            let differs = |path: &str| tolerant.contains(path);
            EditText { verb: "Edited", differs: &differs, call }.of(result)?
        };
        grades.into_iter().for_each(|grade| text.note(grade));
        text.add_outcome(result);
        Some(text.finish())
    }
}

/// The paths in a list of changes, each once; none for a patch.
fn named_paths(args: &ToolArguments) -> Vec<&str> {
    let changes = args.as_map().get("changes").and_then(Value::as_array);
    let paths = changes.into_iter().flatten().filter_map(|change| text_at(change, "path"));
    BTreeSet::from_iter(paths).into_iter().collect()
}

/// All changes to a file together, files in the order of their first change.
fn plan_changes(plan: &mut ChangePlan<'_>, changes: &[FileChange]) -> Result<(), ToolError> {
    let mut by_path: BTreeMap<&str, Vec<&FileChange>> = BTreeMap::new();
    for change in changes {
        by_path.entry(&change.path).or_default().push(change);
    }
    let is_only = by_path.len() == 1;
    by_path.into_iter().try_for_each(|(path, changes)| {
        plan_file(plan, path, &changes).map_err(|error| unnamed(error, path, is_only))
    })
}

fn plan_file(
    plan: &mut ChangePlan<'_>,
    path: &str,
    changes: &[&FileChange],
) -> Result<(), ToolError> {
    let move_to = changes.iter().find_map(|change| change.move_to.as_deref());
    let edits: Vec<&FileChange> =
        changes.iter().copied().filter(|change| !change.only_moves()).collect();
    if changes.iter().any(|change| change.delete == Some(true)) {
        if changes.len() > 1 || move_to.is_some() {
            return Err(contradiction(path));
        }
        plan.note(json!({"path": path, "how": "deleted"}));
        let target = plan.file_or_link(path)?;
        return plan.delete(target);
    }
    if let [FileChange { search: None, line: None, content: Some(content), .. }] = edits.as_slice()
        && move_to.is_none()
    {
        plan.note(json!({"path": path, "how": "whole file"}));
        return plan.write(path, content);
    }
    if let Some(to) = move_to {
        plan.note(json!({"path": path, "how": "moved", "to": to}));
    }
    match (move_to, edits.as_slice()) {
        (None, []) => Err(contradiction(path)),
        (Some(to), []) => {
            let target = plan.file_or_link(path)?;
            plan.rename(target, to)
        }
        (move_to, edits) => {
            let target = plan.file(path)?;
            let body = edited(plan, &target, path, edits)?;
            match move_to {
                None => plan.rewrite(target, body, None),
                Some(to) => plan.rewrite_at(target, to, body),
            }
        }
    }
}

/// The body of a file after all its blocks, or after its line edits.
fn edited(
    plan: &mut ChangePlan<'_>,
    target: &tool_system::proposing::Target,
    path: &str,
    edits: &[&FileChange],
) -> Result<Vec<u8>, ToolError> {
    let text = target.text();
    if edits.iter().all(|edit| edit.search.is_some()) {
        let blocks: Vec<EditBlock<'_>> = edits.iter().filter_map(|edit| edit.block()).collect();
        let applied = apply_blocks(&text, &blocks)
            .map_err(|error| in_file(with_corrected_call(error, edits), path))?;
        for block in &applied.blocks {
            plan.note(json!({"path": path, "how": block.grade.describe(), "lines": shown_lines(&block.changed)}));
        }
        return Ok(applied.body);
    }
    if edits.iter().any(|edit| edit.search.is_some() || edit.line.is_none()) {
        return Err(contradiction(path));
    }
    // From the last line to the first, so that the numbers of those still to come stay right.
    let mut ordered = edits.to_vec();
    ordered.sort_by_key(|edit| std::cmp::Reverse(edit.line));
    let mut body = text.body().to_vec();
    let mut above = usize::MAX;
    for edit in ordered {
        let start = edit.line.map_or(1, Whole::as_usize);
        let end = edit.end_line.map_or(start, Whole::as_usize);
        if end >= above {
            return Err(contradiction(path));
        }
        above = start;
        let line_edit = match edit.content.as_deref() {
            None | Some("") => LineEdit::Delete { start, end },
            Some(content) => LineEdit::Replace { start, end, content },
        };
        body = edit_lines(&body, line_edit, None).map_err(|error| in_file(error, path))?.body;
        plan.note(
            json!({"path": path, "how": "by line numbers", "lines": format!("{start}-{end}")}),
        );
    }
    Ok(body)
}

/// Adds the changes to this file with the text that it really has, ready to be sent instead.
fn with_corrected_call(error: ToolError, edits: &[&FileChange]) -> ToolError {
    let found = error.details.get("miss").and_then(|miss| miss["corrected_search"].as_str());
    let block = error.details.get("block").and_then(Value::as_u64).unwrap_or(1);
    let Some(search) = found.map(str::to_owned) else { return error };
    let mut changes: Vec<FileChange> = edits.iter().map(|edit| (*edit).clone()).collect();
    let index = usize::try_from(block).unwrap_or(1).saturating_sub(1);
    if let Some(change) = changes.get_mut(index) {
        change.search = Some(search);
    }
    error.detail("corrected_changes", json!(changes))
}

fn plan_patch(plan: &mut ChangePlan<'_>, patch: &str) -> Result<(), ToolError> {
    let files = parse_patch(patch)?;
    let is_only = files.len() == 1;
    for FilePatch { path, action, .. } in files {
        plan_action(plan, &path, action).map_err(|error| unnamed(error, &path, is_only))?;
    }
    Ok(())
}

fn plan_action(
    plan: &mut ChangePlan<'_>,
    path: &str,
    action: PatchAction,
) -> Result<(), ToolError> {
    match action {
        PatchAction::Add { content, mode } => {
            plan.note(json!({"path": path, "how": "added"}));
            plan.create(path, &content, mode)?;
        }
        PatchAction::Delete { hunks } => {
            let target = plan.file_or_link(path)?;
            // As in git, the content of a link is where it leads.
            let text = target.link_target().map_or_else(|| target.text(), Text::decode);
            verify_deletion(&text, &hunks).map_err(|error| in_file(error, path))?;
            plan.note(json!({"path": path, "how": "deleted"}));
            plan.delete(target)?;
        }
        PatchAction::Update { move_to: Some(to), hunks, .. } if hunks.is_empty() => {
            plan.note(json!({"path": path, "how": "moved", "to": to}));
            let target = plan.file_or_link(path)?;
            plan.rename(target, &to)?;
        }
        PatchAction::Update { move_to, mode, hunks } => {
            let target = plan.file(path)?;
            let applied =
                apply_hunks(&target.text(), &hunks).map_err(|error| in_file(error, path))?;
            for hunk in &applied.hunks {
                let lines = shown_lines(&hunk.changed);
                plan.note(json!({"path": path, "how": hunk.grade.describe(), "lines": lines}));
            }
            match move_to {
                None => plan.rewrite(target, applied.body, mode)?,
                Some(to) => plan.rewrite_at(target, &to, applied.body)?,
            }
        }
    }
    Ok(())
}

fn shown_lines(changed: &Changed) -> String {
    format!("{}-{}", changed.new_lines.start, changed.new_lines.end)
}

fn in_file(mut error: ToolError, path: &str) -> ToolError {
    error.message = format!("{path}: {}", error.message);
    error
}

/// The error without the name of the file, if it is the only one of the call: the caller knows it.
fn unnamed(mut error: ToolError, path: &str, is_only: bool) -> ToolError {
    if is_only && let Some(message) = error.message.strip_prefix(&format!("{path}: ")) {
        error.message = message.to_owned();
    }
    error
}

fn contradiction(path: &str) -> ToolError {
    let message =
        format!("the changes to {path} contradict each other or say nothing; nothing was changed");
    ToolError::new(ErrorCode::InvalidArguments, message).suggest(
        "For one file give either search and replace (several times if needed), or line with content, or content \
         alone, or delete; move_to may join the first two.",
    )
}

impl FileChange {
    fn only_moves(&self) -> bool {
        self.move_to.is_some()
            && self.search.is_none()
            && self.line.is_none()
            && self.content.is_none()
    }

    fn block(&self) -> Option<EditBlock<'_>> {
        Some(EditBlock {
            search: self.search.as_deref()?,
            replace: self.replace.as_deref().unwrap_or_default(),
            line: self.line.map(Whole::as_usize),
        })
    }
}

auto_register_tool!(ApplyChangesTool);
