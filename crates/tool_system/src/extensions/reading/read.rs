//! `read`: several files in one call.

use std::collections::HashMap;

use protocol::estimate_tokens;
use tool_system::file_view::{Endings, FileView, TextView};
use tool_system::picture::{self, ImageDelivery};
use tool_system::plain_text::{note_of, numbered, standing_notes, unpadded, with_notes};
use tool_system::prelude::*;
use tool_system::result_store::KeptText;
use workspace::{LineWindow, RelPath};

/// Read several files at once, as much as fits.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadArgs {
    #[schemars(length(min = 1))]
    file_paths: Vec<String>,
    /// Lines per file, 0 for all
    limit: Option<Whole<0>>,
    offset: Option<Whole<1>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ReadOutput {
    /// Every file under a heading with its path.
    content: String,
    files_read: usize,
    estimated_tokens: usize,
    /// Files that were not read because the answer was full.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_read: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<FileError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FileError {
    path: String,
    code: String,
    error: String,
}

#[derive(Debug)]
struct ReadTool;

#[async_trait]
impl Tool for ReadTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<ReadArgs, ReadOutput>("read", Category::Reading)
            .title("Read files")
            .termination(
                "Use terminate=false: what was read is usually needed for the next step. Use \
                 terminate=true only when the user asked to see the files and nothing else.",
            )
            .prompt(
                "Two files, 50 lines each: {\"file_paths\": [\"src/main.rs\", \"Cargo.toml\"], \
                 \"limit\": 50}. Prefer one call with several paths to several calls.",
            )
            .example(json!({"file_paths": ["src/main.rs", "Cargo.toml"], "limit": 50}))
            .reads_handles()
            .face(Face::new(Vocabulary::Ally, "read"))
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: ReadArgs = args.parse()?;
        let mut kept = HashMap::new();
        for path in &args.file_paths {
            if let Some(text) = cx.kept_text(path).await {
                kept.insert(path.clone(), text);
            }
        }
        cx.blocking(move |cx| Outcome::answer(read_files(cx, &args, &kept)?)).await
    }

    fn preview(&self, result: &Value, max_lines: usize) -> Vec<String> {
        let count = |key: &str| result[key].as_u64().unwrap_or(0);
        let summary =
            format!("{} files, about {} tokens", count("files_read"), count("estimated_tokens"));
        std::iter::once(summary).take(max_lines).collect()
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        let paths = args.as_map().get("file_paths")?.as_array()?;
        let paths: Vec<&str> = paths.iter().filter_map(Value::as_str).collect();
        match paths[..] {
            [] => None,
            [one] => Some(format!("Read {one}")),
            [first, ..] => Some(format!("Read {first} and {} more", paths.len() - 1)),
        }
    }

    fn summary(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        let read = result["files_read"].as_u64()?;
        let asked = args.as_map().get("file_paths")?.as_array()?.len() as u64;
        match read {
            1 if asked == 1 => None,
            read if read == asked => Some(format!("Read {read} files")),
            read => Some(format!("Read {read} of {asked} files")),
        }
    }

    fn text(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        let args: ReadArgs = args.clone().parse().ok()?;
        let sections = sections_of(result["content"].as_str()?);
        let alone = args.file_paths.len() == 1;
        let shown: Vec<String> = sections
            .iter()
            .map(|section| section.text(args.limit.map(|limit| limit.0), alone))
            .collect();
        let mut notes: Vec<String> = result["message"].as_str().map(note_of).into_iter().collect();
        if let Some(paths) = result["not_read"].as_array().filter(|paths| !paths.is_empty()) {
            let paths: Vec<&str> = paths.iter().filter_map(Value::as_str).collect();
            notes.push(format!("not read: {}", paths.join(", ")));
        }
        for error in result["errors"].as_array().into_iter().flatten() {
            notes.push(error["error"].as_str()?.to_owned());
        }
        notes.extend(standing_notes(result));
        Some(with_notes(shown.join("\n"), notes))
    }
}

/// A file in the content of a result.
struct FileSection<'a> {
    path: &'a str,
    lines: Vec<(u64, &'a str)>,
    /// What stands beside the lines: what is left out, or what the file is if it is not text.
    notes: Vec<&'a str>,
}

/// Takes apart what [`Sections`] writes. Every line of a file has a number, so that nothing in a file
/// can pass for a heading.
fn sections_of(content: &str) -> Vec<FileSection<'_>> {
    let mut sections: Vec<FileSection<'_>> = Vec::new();
    for line in content.split('\n') {
        let heading = line.strip_prefix("=== ").and_then(|rest| rest.strip_suffix(" ==="));
        match (unpadded(line), heading, sections.last_mut()) {
            (None, Some(path), _) => {
                sections.push(FileSection { path, lines: Vec::new(), notes: Vec::new() });
            }
            (Some(line), _, Some(section)) => section.lines.push(line),
            (None, None, Some(section)) if !line.is_empty() => section.notes.push(line),
            _ => {}
        }
    }
    sections
}

impl FileSection<'_> {
    fn text(&self, limit: Option<u64>, alone: bool) -> String {
        let mut parts = Vec::new();
        if !alone {
            parts.push(format!("{}:", self.path));
        }
        match (self.lines.is_empty(), self.notes.is_empty()) {
            (true, true) => parts.push("[empty]".into()),
            (true, false) => {}
            (false, _) => parts.push(numbered(&self.lines)),
        }
        parts.extend(self.notes.iter().map(|note| self.rest(note, limit)));
        parts.join("\n")
    }

    /// `[Lines 1-50 of 200. Continue with offset=51.]` in fewer words.
    fn rest(&self, note: &str, limit: Option<u64>) -> String {
        let total = note.strip_prefix("[Lines ").and_then(|rest| rest.split_once(" of "));
        let total = total.and_then(|(_, total)| total.split('.').next()?.parse::<u64>().ok());
        let (Some(total), Some((first, _)), Some((last, _))) =
            (total, self.lines.first(), self.lines.last())
        else {
            return note.to_owned();
        };
        match limit {
            Some(limit) if limit > 0 && last - first + 1 >= limit => format!("[of {total}]"),
            _ => format!("[lines {first}-{last} of {total}; next offset={}]", last + 1),
        }
    }
}

/// The texts behind the handles among the paths.
type KeptTexts = HashMap<String, Result<KeptText, ToolError>>;

fn read_files(
    cx: &ToolContext,
    args: &ReadArgs,
    kept: &KeptTexts,
) -> Result<ReadOutput, ToolError> {
    let mut sections = Sections::new(cx.limits().read_tokens);
    let mut errors: Vec<(String, ToolError)> = Vec::new();
    let mut paths = args.file_paths.iter();
    for path in paths.by_ref() {
        match section(cx, path, args, kept) {
            Ok(text) => {
                if !sections.add(path, &text, args.offset.map_or(1, |offset| offset.0)) {
                    break;
                }
            }
            Err(error) if error.code == ErrorCode::Cancelled => return Err(error),
            Err(error) => errors.push((path.clone(), error)),
        }
    }
    match errors.as_slice() {
        [(_, only)] if sections.files == 0 && args.file_paths.len() == 1 => {
            return Err(only.clone());
        }
        [(_, first), ..] if sections.files == 0 && errors.len() == args.file_paths.len() => {
            let all: Vec<_> = errors.iter().map(|(_, error)| error.message.as_str()).collect();
            return Err(ToolError::new(first.code, all.join("; "))
                .suggest("List the directory or search by name to find the right paths."));
        }
        _ => {}
    }
    Ok(sections.finish(paths.cloned().collect(), errors))
}

fn section(
    cx: &ToolContext,
    path: &str,
    args: &ReadArgs,
    kept: &KeptTexts,
) -> Result<String, ToolError> {
    let limits = cx.limits();
    let as_size = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
    let window = LineWindow {
        first_line: args.offset.map_or(1, |offset| offset.0),
        max_lines: match args.limit {
            None => as_size(limits.read_lines),
            Some(Whole(0)) => usize::MAX,
            Some(limit) => limit.as_usize(),
        },
        max_bytes: as_size(limits.read_bytes),
        max_line_bytes: as_size(limits.read_line_bytes),
    };
    let view = match kept.get(path) {
        Some(kept) => {
            FileView::Text(TextView::of_kept(kept.as_ref().map_err(Clone::clone)?, window, cx)?)
        }
        None => FileView::read(cx, path, &window, Endings::AsLines)?,
    };
    match view {
        FileView::Binary { kind, meta, bytes } => {
            let described = picture::described(&kind, meta.size);
            Ok(match picture::show(cx, path, &kind, bytes.as_deref()) {
                ImageDelivery::NoImage => format!("[binary file: {described}]"),
                ImageDelivery::AsItIs => format!("[image: {described}]"),
                ImageDelivery::Scaled(remark) | ImageDelivery::Not(remark) => {
                    format!("[image: {described}. {remark}]")
                }
            })
        }
        FileView::Text(text) => {
            text.check_start(path, &window)?;
            let rest = text.rest().map(|rest| format!("\n[{rest}]")).unwrap_or_default();
            Ok(text.numbered() + &rest)
        }
    }
}

/// The answer as it grows, within a budget of tokens.
struct Sections {
    budget: usize,
    content: String,
    tokens: usize,
    files: usize,
    message: Option<String>,
}

impl Sections {
    fn new(budget: u64) -> Self {
        let budget = usize::try_from(budget).unwrap_or(usize::MAX);
        Self { budget, content: String::new(), tokens: 0, files: 0, message: None }
    }

    /// Adds a file, or as many of its lines as still fit. Answers whether there is room for more.
    fn add(&mut self, path: &str, text: &str, first_line: u64) -> bool {
        let separator = if self.content.is_empty() { "" } else { "\n\n" };
        // A name with control characters must not be able to look like another heading.
        let name = RelPath::parse(path).map_or_else(|_| path.to_owned(), |path| path.to_text());
        let heading = format!("{separator}=== {name} ===\n");
        let room = self.budget.saturating_sub(self.tokens + estimate_tokens(&heading));
        let fitting = fitting_lines(text, room);
        let whole = fitting.len() == text.len();
        if fitting.is_empty() && !whole {
            self.message = Some(format!("Stopped before {name}: the answer is full."));
            return false;
        }
        self.content += &heading;
        self.content += fitting;
        self.tokens += estimate_tokens(&heading) + estimate_tokens(fitting);
        self.files += 1;
        if !whole {
            let next = first_line + fitting.lines().count() as u64;
            self.message = Some(format!(
                "Stopped within {name}: the answer is full. Continue that file with offset={next}."
            ));
        }
        whole
    }

    fn finish(self, left: Vec<String>, errors: Vec<(String, ToolError)>) -> ReadOutput {
        ReadOutput {
            content: self.content,
            files_read: self.files,
            estimated_tokens: self.tokens,
            not_read: left,
            errors: errors
                .into_iter()
                .map(|(path, error)| FileError {
                    path,
                    code: error.code.to_string(),
                    error: error.message,
                })
                .collect(),
            message: self.message,
        }
    }
}

/// The leading lines of `text` that are estimated to fit into `room` tokens.
fn fitting_lines(text: &str, room: usize) -> &str {
    if estimate_tokens(text) <= room {
        return text;
    }
    let mut end = 0;
    let mut tokens = 0;
    for line in text.split_inclusive('\n') {
        tokens += estimate_tokens(line);
        if tokens > room {
            break;
        }
        end += line.len();
    }
    text[..end].trim_end_matches('\n')
}

auto_register_tool!(ReadTool);
