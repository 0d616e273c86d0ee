//! `replace_in_file`: find and replace.

use serde_json::Map;
use tool_system::edit::{Miss, Replacement, encode_body, replace};
use tool_system::prelude::*;
use tool_system::proposing::{Target, answer_diff};

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
    /// The first lines that changed, by their new numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lines: Vec<usize>,
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
}

fn propose(cx: &ToolContext, args: &ReplaceInFileArgs) -> Result<Outcome, ToolError> {
    let target = Target::file(cx, &args.path)?;
    target.refuse_placeholders(&args.replace)?;
    let text = target.text();
    let what = Replacement {
        find: &args.find,
        replace: &args.replace,
        is_regex: args.is_regex.unwrap_or(false),
        expected: args.expected.map(Whole::as_usize),
    };
    let replaced = replace(&text, &what)?;
    let content = encode_body(&text, replaced.body)?;
    let changes = content != target.bytes();
    let plural = if replaced.count == 1 { "replacement" } else { "replacements" };
    let how = replaced.grade.map_or(String::new(), |grade| format!(" ({})", grade.describe()));
    let write = target.write(content);
    let mut answer = ReplaceInFileOutput {
        replacements: replaced.count,
        message: format!("{} {plural} in {}{how}.", replaced.count, target.path),
        diff: changes.then(|| answer_diff(&[(&write, Some(target.bytes()))])),
        lines: replaced.changed.iter().map(|place| place.new_lines.start).take(MAX_LINES).collect(),
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
    Ok(Outcome::Proposal(Proposed::changes(set, target.answer(answer)?)?))
}

/// The call with the text that the file really has.
fn corrected(args: &ReplaceInFileArgs, miss: &Miss) -> Option<Map<String, Value>> {
    let call = json!({"path": args.path, "find": args.find, "replace": args.replace});
    miss.corrected_call(call.as_object()?, "find", "replace")
}

auto_register_tool!(ReplaceInFileTool);
