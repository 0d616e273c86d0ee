//! `git_diff`: what differs, as numbers and as a patch.

use tool_system::git_command::{
    DiffPage, DiffWindow, FileStat, Git, check_revision, look_at_diff, pathspec,
};
use tool_system::outcome_text::{OutcomeText, argument, items, line_counts, list_length, text_at};
use tool_system::plain_text::number_argument;
use tool_system::prelude::*;
use tool_system::search_notes::counted;

/// Changes since a commit, in a range, or staged.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GitDiffArgs {
    /// Default HEAD
    commit: Option<String>,
    path: Option<String>,
    staged: Option<bool>,
    offset: Option<Whole<1>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct GitDiffOutput {
    files: Vec<FileStat>,
    diff: String,
    /// The file and the place that the part begins in, if that is not the beginning of a file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    within: Vec<String>,
    /// The line of the diff at which the next call goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
    /// Set if not all of it is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl GitDiffOutput {
    fn of(page: DiffPage, first: u64) -> Self {
        let DiffPage { files, files_left_out, patch, last, total, within } = page;
        let next_offset = (last < total).then_some(last + 1);
        let part = match next_offset {
            Some(next) => Some(format!("lines {first}-{last} of {total}; next offset={next}")),
            None if first > 1 => Some(format!("lines {first}-{last} of {total}")),
            None => None,
        };
        let files_too = (files_left_out > 0)
            .then(|| format!("{} not listed", counted(files_left_out, "file", "files")));
        let notes: Vec<String> = part.into_iter().chain(files_too).collect();
        let message = (!notes.is_empty()).then(|| notes.join("; "));
        Self { files, diff: patch, within, next_offset, message }
    }
}

#[derive(Debug)]
struct GitDiffTool;

#[async_trait]
impl Tool for GitDiffTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<GitDiffArgs, GitDiffOutput>("git_diff", Category::VersionControl)
            .on_demand()
            .termination(
                "Use terminate=false if something follows from it. Use terminate=true when the user \
                 asked only to see the diff.",
            )
            .prompt(
                "What is not committed: {}. A branch: {\"commit\": \"main...topic\", \"path\": \"src\"}. New \
                 files that git does not know are not in it; git_status names them.",
            )
            .example(json!({"path": "src"}))
    }

    fn is_useful(&self, project: &workspace::Workspace) -> bool {
        tool_system::git_command::has_repository(project)
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: GitDiffArgs = args.parse()?;
        let mut arguments =
            vec!["diff", "--no-color", "--no-ext-diff", "--no-textconv", "--numstat", "--patch"];
        let staged = args.staged.unwrap_or(false);
        if staged {
            arguments.push("--cached");
        }
        match &args.commit {
            Some(commit) => {
                check_revision("commit", commit)?;
                arguments.push(commit);
            }
            None if !staged => arguments.push("HEAD"),
            None => {}
        }
        arguments.push("--");
        let path = args.path.map(|path| cx.workspace().resolve(&path)).transpose()?;
        let path = path.map(|path| pathspec(&path));
        arguments.extend(path.as_deref());
        let first = args.offset.map_or(1, |offset| offset.0);
        let size = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
        let limits = cx.limits();
        let window = DiffWindow {
            first,
            lines: limits.read_lines,
            bytes: size(limits.read_bytes),
            line_bytes: size(limits.read_line_bytes),
            files: size(limits.max_unpaged_results),
        };
        let git = Git::open(&cx).await?;
        let page = look_at_diff(&cx, git.looking(arguments), window).await?;
        if first > page.total.max(1) {
            let message = format!("the diff has {} lines, and none at {first}", page.total);
            return Err(ToolError::new(ErrorCode::InvalidArguments, message)
                .suggest("It may have become shorter; call without offset."));
        }
        Outcome::answer(GitDiffOutput::of(page, first))
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        let path = argument(args, "path").map_or(String::new(), |path| format!(" in {path}"));
        let is_staged = args.as_map().get("staged").and_then(Value::as_bool) == Some(true);
        Some(match argument(args, "commit") {
            Some(commit) => format!("Show the changes of {commit}{path}"),
            None if is_staged => format!("Show the staged changes{path}"),
            None => format!("Show the changes since the last commit{path}"),
        })
    }

    fn summary(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        let sum = |key: &str| -> u64 {
            items(result, "files").filter_map(|file| file[key].as_u64()).sum()
        };
        let counts = line_counts(&json!({"added": sum("added"), "removed": sum("removed")}));
        let files = counted(list_length(result, "files"), "file", "files");
        let path = argument(args, "path").map_or(String::new(), |path| format!(" in {path}"));
        Some(format!("Compared{path}: {files}{counts}"))
    }

    fn text(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        let diff = result["diff"].as_str()?;
        let is_cut = text_at(result, "message").is_some() || result.get("truncation").is_some();
        let mut text = OutcomeText::default();
        if is_cut && number_argument(args, "offset").is_none() {
            // A diff that is not whole does not name all files.
            text.block(&stats(result).join("\n"));
        }
        let within: Vec<&str> = items(result, "within").filter_map(Value::as_str).collect();
        if !within.is_empty() {
            text.block(&format!("in {}", within.join(" ")));
        }
        let diff = compact(diff);
        text.block(if diff.is_empty() { "No changes" } else { &diff });
        text.note(text_at(result, "message").unwrap_or_default());
        text.add_outcome(result);
        Some(text.finish())
    }
}

/// The diff without header lines that repeat others: hashes of contents, and the line with both names
/// where the names follow. In a hunk no line begins with their letters.
fn compact(diff: &str) -> String {
    let mut text = String::with_capacity(diff.len());
    let mut names = None;
    for line in diff.split_inclusive('\n').filter(|line| !line.starts_with("index ")) {
        if line.starts_with("diff --git ") {
            text.push_str(names.replace(line).unwrap_or_default());
            continue;
        }
        if let Some(names) = names.take().filter(|_| !line.starts_with("--- ")) {
            text.push_str(names);
        }
        text.push_str(line);
    }
    text.push_str(names.unwrap_or_default());
    text
}

/// Each file with how many lines came and went.
fn stats(result: &Value) -> Vec<String> {
    let stat = |file: &Value| {
        let path = text_at(file, "path").unwrap_or_default();
        match (file["added"].as_u64(), file["removed"].as_u64()) {
            (Some(added), Some(removed)) => format!("{path} +{added} -{removed}"),
            _ => format!("{path} (binary)"),
        }
    };
    items(result, "files").map(stat).collect()
}

auto_register_tool!(GitDiffTool);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_that_repeat_others_are_left_out() {
        let diff = "diff --git a/a b/a\nindex 12..34 100644\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-index x\n+diff --git\n\
                    diff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new\n\
                    diff --git a/b.png b/b.png\nindex 12..34 100644\nBinary files a/b.png and b/b.png differ\n\
                    diff --git a/empty b/empty\nnew file mode 100644\nindex 000..e69\n\
                    diff --git a/cut b/cut\n";
        insta::assert_snapshot!(compact(diff), @r"
        --- a/a
        +++ b/a
        @@ -1 +1 @@
        -index x
        +diff --git
        diff --git a/old b/new
        similarity index 100%
        rename from old
        rename to new
        diff --git a/b.png b/b.png
        Binary files a/b.png and b/b.png differ
        diff --git a/empty b/empty
        new file mode 100644
        diff --git a/cut b/cut
        ");
        assert_eq!(compact(""), "");
    }
}
