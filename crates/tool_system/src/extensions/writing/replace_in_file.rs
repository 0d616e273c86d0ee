//! `replace_in_file`: find and replace.

use serde_json::Map;
use tool_system::edit::{Miss, Replacement, refuse_placeholder, replace};
use tool_system::outcome_text::{
    EditText, EditedFiles, OutcomeText, argument, edit_summary, text_at,
};
use tool_system::prelude::*;
use tool_system::proposing::{AnswerDiff, Target, answer_diff};

/// How many changed lines an answer names.
const MAX_LINES: usize = 50;

/// Replace every occurrence of a text or regex in a file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReplaceInFileArgs {
    path: String,
    find: String,
    /// $1, ${name}: groups of a regex
    replace: String,
    is_regex: Option<bool>,
    preview_only: Option<bool>,
    /// How many there must be
    expected: Option<Whole<0>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ReplaceInFileOutput {
    replacements: usize,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    /// Lines that came.
    added: usize,
    /// Lines that went.
    removed: usize,
    /// The first lines that changed, by their new numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lines: Vec<usize>,
    /// That the text was not found and what the file has instead, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_found: Option<String>,
    /// What is near to a text that was not found.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    miss: Option<Miss>,
    /// Arguments that would find what is near.
    #[serde(skip_serializing_if = "Option::is_none")]
    corrected_call: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hints: Vec<String>,
}

#[derive(Debug)]
struct ReplaceInFileTool;

#[async_trait]
impl Tool for ReplaceInFileTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<ReplaceInFileArgs, ReplaceInFileOutput>("replace_in_file", Category::Writing)
            .permissions([ToolPermission::ReadFiles, ToolPermission::WriteFiles])
            .approval(Approval::Always)
            .termination(
                "Consider using preview mode first (preview_only=true) to see the exact changes. \
                 Use terminate=true after a successful edit. Use terminate=false if verification \
                 is needed.",
            )
            .prompt(
                "A name: {\"path\": \"src/main.rs\", \"find\": \"oven\", \"replace\": \"kiln\"}. With \
                 groups, shown first: {\"path\": \"src/main.rs\", \"find\": \"f\\\\((\\\\w+)\\\\)\", \
                 \"replace\": \"g(${1})\", \"is_regex\": true, \"preview_only\": true}. Write ${1}a, not \
                 $1a. All occurrences are replaced; expected guards against surprises.",
            )
            .example(json!({"path": "src/main.rs", "find": "oven", "replace": "kiln"}))
            .face(
                Face::new(Vocabulary::Ally, "edit")
                    .rename("path", "file_path")
                    .hide(&["is_regex", "preview_only"]),
            )
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: ReplaceInFileArgs = args.parse()?;
        cx.blocking(move |cx| propose(cx, &args)).await
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        Some(format!("Edit {}", argument(args, "path")?))
    }

    fn summary(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        let path = argument(args, "path")?;
        Some(match is_made(result) {
            true => edit_summary("Edited", path, result),
            false => format!("Looked for a text in {path}: {} found", result["replacements"]),
        })
    }

    fn text(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        let message = text_at(result, "message");
        let mut text = match (is_made(result), text_at(result, "not_found")) {
            (_, Some(not_found)) => OutcomeText::new(not_found),
            (true, None) => made(args, result)?,
            // A preview is there to be looked at as a diff.
            (false, None) => {
                let diff = text_at(result, "diff").unwrap_or_default();
                let hunks = diff.find("\n@@").map_or(diff, |at| &diff[at + 1..]);
                let mut text = OutcomeText::new(message?);
                text.block(hunks);
                text
            }
        };
        text.add_outcome(result);
        Some(text.finish())
    }
}

/// Whether the file was changed.
fn is_made(result: &Value) -> bool {
    text_at(result, "change_id").is_some()
}

/// What a replacement came to. Its lines are shown where they are not what was sent.
fn made(args: &ToolArguments, result: &Value) -> Option<OutcomeText> {
    let is_regex = args.as_map().get("is_regex").and_then(Value::as_bool).unwrap_or(false);
    let grade = text_at(result, "message").and_then(|message| message.split_once(" (match "));
    let by_user = text_at(result, "edited_by_user").is_some();
    let verb = match result["replacements"].as_u64()? {
        // The user may have left some out, which the number does not say.
        0 | 1 => "Edited".to_owned(),
        _ if by_user => "Edited".to_owned(),
        count => format!("Replaced {count}:"),
    };
    let differs = |_: &str| is_regex || grade.is_some();
    let mut text =
        EditText { verb: &verb, differs: &differs, call: EditedFiles::One }.of(result)?;
    if let Some((_, how)) = grade {
        text.note(format!("match {}", how.trim_end_matches([')', '.'])));
    }
    Some(text)
}

fn propose(cx: &ToolContext, args: &ReplaceInFileArgs) -> Result<Outcome, ToolError> {
    let target = Target::file(cx, &args.path)?;
    let text = target.text();
    refuse_placeholder(&args.replace, text.body())?;
    let what = Replacement {
        find: &args.find,
        replace: &args.replace,
        is_regex: args.is_regex.unwrap_or(false),
        expected: args.expected.map(Whole::as_usize),
    };
    let replaced = replace(&text, &what)?;
    let content = text.encode_body(&replaced.body)?;
    let changes = content != target.bytes();
    let plural = if replaced.count == 1 { "replacement" } else { "replacements" };
    let how = replaced.grade.map_or(String::new(), |grade| format!(" ({})", grade.describe()));
    let write = target.write(content);
    let AnswerDiff { diff, added, removed } = answer_diff(&[(&write, Some(target.bytes()))]);
    let mut answer = ReplaceInFileOutput {
        replacements: replaced.count,
        message: format!("{} {plural} in {}{how}.", replaced.count, target.path),
        diff: changes.then_some(diff),
        added,
        removed,
        lines: replaced.changed.iter().map(|place| place.new_lines.start).take(MAX_LINES).collect(),
        not_found: replaced.miss.as_ref().map(Miss::told),
        corrected_call: replaced.miss.as_ref().and_then(|miss| corrected(args, miss)),
        miss: replaced.miss,
        hints: replaced.notes,
    };
    if replaced.inside_replacement > 0 {
        answer.hints.push(format!(
            "{} of the occurrences already stood inside a copy of the replacement: was this call made before?",
            replaced.inside_replacement
        ));
    }
    if args.preview_only.unwrap_or(false) || !changes {
        if changes {
            answer.message =
                format!("Preview only: {} {plural} would be made{how}.", replaced.count);
        }
        return Ok(Outcome::Answer(target.answer(answer)?));
    }
    let set = protocol::ChangeSet { changes: vec![write] };
    Ok(Outcome::Proposal(Proposed::changes(set, target.answer(answer)?)))
}

/// The call with the text that the file really has.
fn corrected(args: &ReplaceInFileArgs, miss: &Miss) -> Option<Map<String, Value>> {
    let call = json!({"path": args.path, "find": args.find, "replace": args.replace});
    miss.corrected_call(call.as_object()?, "find", "replace")
}

auto_register_tool!(ReplaceInFileTool);
