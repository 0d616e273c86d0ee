//! `rename_symbol`: another name for a symbol, in every file that uses it.

use code_index::{
    Coverage, DefinitionQuery, Language, SearchScope, SymbolName, check_new_name, files_with_name,
    find_definitions, rename_in,
};
use tool_system::change_plan::ChangePlan;
use tool_system::outcome_text::{
    EditText, EditedFiles, OutcomeText, argument, failed_checks, items, one_or_many, text_at, texts,
};
use tool_system::prelude::*;
use tool_system::proposing::Target;
use tool_system::search_notes::{
    Paging, ScopeArgs, counted, exclusions, named_files, walk_warnings,
};
use workspace::RelPath;

/// How many places of a conflict, or files left alone, are named.
const MAX_NAMED: usize = 10;
/// Definitions that are looked at to tell a qualified name apart.
const MAX_DEFINITIONS: usize = 200;

/// Rename a symbol everywhere, by name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RenameSymbolArgs {
    symbol: String,
    new_name: String,
    path: Option<String>,
    /// And strings
    include_comments: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct RenameSymbolOutput {
    replacements: u64,
    files: Vec<String>,
    message: String,
    applied: Vec<Value>,
    diff: String,
    /// Files with the name in them whose language has no grammar here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_alone: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Debug)]
struct RenameSymbolTool;

#[async_trait]
impl Tool for RenameSymbolTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<RenameSymbolArgs, RenameSymbolOutput>(
            "rename_symbol",
            Category::Writing,
        )
        .permissions([ToolPermission::ReadFiles, ToolPermission::WriteFiles])
        .approval(Approval::Always)
        .termination(
            "Use terminate=true after a successful rename that completes the task. Use \
             terminate=false if verification is needed, such as building the project.",
        )
        .prompt(
            "Everywhere: {\"symbol\": \"oldName\", \"new_name\": \"newName\"}. Only in one \
             directory: {\"symbol\": \"parse\", \"new_name\": \"parse_line\", \"path\": \"src/csv\"}. It \
             goes by name: other things of that name in the same files are renamed too, so narrow \
             with path. It is refused where the new name is already used.",
        )
        .example(json!({"symbol": "oldName", "new_name": "newName"}))
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: RenameSymbolArgs = args.parse()?;
        cx.blocking(move |cx| rename(cx, &args)).await
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        let (symbol, new_name) = (argument(args, "symbol")?, argument(args, "new_name")?);
        Some(format!("Rename {symbol} to {new_name}"))
    }

    fn summary(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        let (symbol, new_name) = (argument(args, "symbol")?, argument(args, "new_name")?);
        let files = texts(result, "files")?;
        Some(match files.len() {
            0 => format!("Renamed nothing: {symbol} is not used"),
            _ => {
                let places = counted(result["replacements"].as_u64()?, "place", "places");
                let what = format!("{symbol} to {new_name} in {places}, {}", one_or_many(&files));
                format!("Renamed {what}{}", failed_checks(result))
            }
        })
    }

    fn text(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        let mut text = match text_at(result, "message") {
            Some(message) => OutcomeText::new(message),
            // The user has changed what would be renamed, so that the counts are of no use.
            None => {
                let call = EditedFiles::Several;
                EditText { verb: "Edited", differs: &|_| true, call }.of(result)?
            }
        };
        let files = items(result, "applied").filter_map(|file| {
            Some(format!("{} {}", text_at(file, "path")?, file["replacements"]))
        });
        text.block(&files.collect::<Vec<_>>().join("\n"));
        let left_alone = texts(result, "left_alone").unwrap_or_default();
        if !left_alone.is_empty() {
            text.note(format!("left alone: {}", left_alone.join(", ")));
        }
        if let Some(id) = text_at(result, "change_id") {
            text.note(format!("change {id}"));
        }
        text.add_outcome(result);
        Some(text.finish())
    }
}

fn rename(cx: &ToolContext, args: &RenameSymbolArgs) -> Result<Outcome, ToolError> {
    let name: SymbolName = args.symbol.parse()?;
    let new_name = args.new_name.trim();
    let scope = ScopeArgs {
        path: args.path.clone(),
        include: Vec::new(),
        exclude: exclusions(None),
        extensions: Vec::new(),
        hidden: false,
        max_results: None,
        default_results: cx.limits().max_results,
        paging: Paging::None,
    }
    .scope(cx)?;
    let cancel = || cx.is_cancelled();
    let (files, others, coverage) = files_with_name(cx.code(), &name.name, &scope, &cancel)
        .map_err(|error| tool_system::file_view::explained(cx, &scope.start, error))?;
    refuse_half(&coverage, &scope)?;
    if !name.within.is_empty() {
        refuse_ambiguous(cx, &name, &scope)?;
    }
    let mut plan = ChangePlan::new(cx);
    let mut replacements = 0;
    let mut taken = Vec::new();
    for path in &files {
        // The change is worked out from the file as it is, so it need not have been read before.
        let target = Target::look(cx, &path.to_text())?;
        let text = target.text();
        let Some(language) = cx.code().language_of(path, text.body()) else { continue };
        let names = (spelled(language, &args.symbol, &name), language.name_in(new_name));
        let mentions = args.include_comments.unwrap_or(false);
        let renamed = rename_in(language, text.body(), names, mentions, scope.deadline)
            .ok_or_else(|| out_of_time(path))?;
        if renamed.lines.is_empty() {
            continue;
        }
        refuse_bad_name(language, new_name)?;
        taken.extend(renamed.taken.iter().map(|line| format!("{path}:{line}")));
        let count = renamed.lines.len() as u64;
        replacements += count;
        plan.note(json!({"path": path.to_text(), "replacements": count}));
        plan.rewrite(target, renamed.text, None)?;
    }
    if name.name != new_name {
        refuse_taken(new_name, &taken)?;
    }
    let mut warnings = walk_warnings(&coverage.walk, &scope);
    let size = format!("Skipped files over {} bytes", scope.max_file_bytes);
    warnings.extend(named_files(&size, &coverage.too_large));
    let message = message(&name.name, new_name, replacements, others.len());
    let left_alone: Vec<String> = others.iter().take(MAX_NAMED).map(RelPath::to_text).collect();
    finish(plan.propose()?, replacements, &message, (left_alone, warnings))
}

/// Puts what only a rename knows into the answer of the plan.
fn finish(
    outcome: Outcome,
    replacements: u64,
    message: &str,
    (left_alone, warnings): (Vec<String>, Vec<String>),
) -> Result<Outcome, ToolError> {
    let complete = |answer: &mut Value| {
        answer["replacements"] = replacements.into();
        answer["message"] = message.into();
        if !left_alone.is_empty() {
            answer["left_alone"] = json!(left_alone);
        }
        if !warnings.is_empty() {
            answer["warnings"] = json!(warnings);
        }
    };
    Ok(match outcome {
        Outcome::Answer(mut answer) => {
            complete(&mut answer);
            Outcome::Answer(answer)
        }
        Outcome::Proposal(mut proposed) => {
            if let Some(answer) = &mut proposed.answer {
                complete(answer);
            }
            Outcome::Proposal(proposed)
        }
    })
}

fn message(name: &str, new_name: &str, replacements: u64, others: usize) -> String {
    let mut text = match replacements {
        0 => format!("0 replacements: `{name}` is not used as a name here."),
        _ => {
            let places = counted(replacements, "place", "places");
            format!("Renamed `{name}` to `{new_name}` in {places}, by name.")
        }
    };
    if others > 0 {
        let files = counted(others as u64, "file", "files");
        text.push_str(&format!(
            " {files} of other languages mention it and were left alone; replace_in_file changes them."
        ));
    }
    text
}

/// The name as files of a language spell it: `$` is a letter in some, a mark in others.
fn spelled<'a>(language: Language, asked: &'a str, name: &'a SymbolName) -> &'a str {
    let asked = asked.trim();
    match language.name_in(asked) {
        dollar if dollar.starts_with('$') && dollar[1..] == name.name => dollar,
        _ => &name.name,
    }
}

fn refuse_bad_name(language: Language, new_name: &str) -> Result<(), ToolError> {
    match check_new_name(language, language.name_in(new_name)) {
        None => Ok(()),
        Some(why) => {
            let message = format!("`{new_name}` {why} in {}; nothing was changed", language.name());
            Err(ToolError::new(ErrorCode::InvalidArguments, message)
                .suggest("Choose a new_name that is an identifier and not a keyword."))
        }
    }
}

/// A name that is used already would mean two things afterwards.
fn refuse_taken(new_name: &str, taken: &[String]) -> Result<(), ToolError> {
    if taken.is_empty() {
        return Ok(());
    }
    let places: Vec<&str> = taken.iter().take(MAX_NAMED).map(String::as_str).collect();
    let more = if taken.len() > places.len() { ", …" } else { "" };
    let message = format!(
        "`{new_name}` is already used in files that would change: {}{more} ({} in all); nothing was \
         changed",
        places.join(", "),
        taken.len()
    );
    Err(ToolError::new(ErrorCode::Conflict, message)
        .suggest("Choose another new_name, rename the other one first, or narrow with path."))
}

/// A rename that misses files is worse than none.
fn refuse_half(coverage: &Coverage, scope: &SearchScope) -> Result<(), ToolError> {
    let walk = &coverage.walk;
    if walk.timed_out || walk.entries_limited || walk.cancelled {
        let message =
            format!("not all files of {} could be searched; nothing was changed", scope.start);
        return Err(ToolError::new(ErrorCode::Timeout, message).suggest("Narrow with path."));
    }
    Ok(())
}

fn out_of_time(path: &RelPath) -> ToolError {
    let message = format!("{path} could not be parsed in time; nothing was changed");
    ToolError::new(ErrorCode::Timeout, message).suggest("Narrow with path.")
}

/// Uses are told by name. So `Type.method` can be renamed only if nothing else has that name.
fn refuse_ambiguous(
    cx: &ToolContext,
    name: &SymbolName,
    scope: &SearchScope,
) -> Result<(), ToolError> {
    let scope = SearchScope { max_results: MAX_DEFINITIONS, ..scope.clone() };
    let definitions = |name: SymbolName| {
        let query = DefinitionQuery { name, only: None, context: 0, max_line_chars: 200 };
        find_definitions(cx.code(), &query, &scope, &|| cx.is_cancelled())
            .map_err(|error| tool_system::file_view::explained(cx, &scope.start, error))
    };
    let meant = definitions(name.clone())?;
    let asked = name.to_text();
    if meant.total == 0 || !meant.as_qualified {
        let message = format!("there is no definition of `{asked}`; nothing was changed");
        return Err(ToolError::new(ErrorCode::InvalidArguments, message)
            .suggest(format!("Rename `{}` by its plain name, with path.", name.name)));
    }
    let all = definitions(SymbolName { name: name.name.clone(), within: Vec::new() })?;
    let others: Vec<String> = all
        .found
        .iter()
        .filter(|one| one.kind != "import" && !meant.found.contains(one))
        .map(|one| format!("{}:{}", one.path, one.line))
        .take(MAX_NAMED)
        .collect();
    if others.is_empty() && all.total <= MAX_DEFINITIONS as u64 {
        return Ok(());
    }
    let message = format!(
        "uses of `{asked}` cannot be told from those of other things called `{}`, defined at {}; \
         nothing was changed",
        name.name,
        others.join(", ")
    );
    Err(ToolError::new(ErrorCode::Conflict, message)
        .suggest(format!("Rename `{}` by its plain name, narrowed with path.", name.name)))
}

auto_register_tool!(RenameSymbolTool);
