//! `read_file`: one file, whole or in part.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::io::{Read as _, Seek as _, SeekFrom};
use tool_system::file_view::{Endings, FileView, LONGER_LINE, TextView, open};
use tool_system::picture::{self, ImageDelivery};
use tool_system::plain_text::{
    NumberedText, note_of, number_argument, numbered, standing_notes, text_argument, with_notes,
};
use tool_system::prelude::*;
use tool_system::result_store::KeptText;
use tool_system::timestamp::iso8601;
use tool_system::transfer::TransferEncoding;
use workspace::{BinaryKind, EntryMeta, LineWindow};

/// Other modules name the tool by this.
pub const NAME: &str = "read_file";

/// Read a file with line numbers, 2000 lines by default.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadFileArgs {
    /// Or a handle to what was cut
    path: String,
    /// First line, from 1
    offset: Option<Whole<1>>,
    limit: Option<Whole<1>>,
    encoding: Option<TransferEncoding>,
    #[schemars(extend("default" = true))]
    line_numbers: Option<bool>,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
struct ReadFileOutput {
    content: String,
    /// Bytes of the whole file.
    size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    modified: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_lines: Option<u64>,
    /// How the file is stored, if not as plain UTF-8 with line feeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    stored_as: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    /// What is missing and how to get it.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

#[derive(Debug)]
struct ReadFileTool;

#[async_trait]
impl Tool for ReadFileTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<ReadFileArgs, ReadFileOutput>(NAME, Category::Reading)
            .termination(
                "Use terminate=false: what was read is usually needed for the next step. Use \
                 terminate=true only when the user asked to see the file and nothing else.",
            )
            .prompt(
                "Whole file: {\"path\": \"src/main.rs\"}. Lines 200 to 259: {\"path\": \
                 \"src/main.rs\", \"offset\": 200, \"limit\": 60}. An image is shown: {\"path\": \
                 \"logo.png\"}. Read a file before changing it.",
            )
            .example(json!({"path": "src/main.rs"}))
            .reads_handles()
            .face(Face::new(Vocabulary::Explorer, "read_file").hide(&["encoding", "line_numbers"]))
            .face(
                Face::new(Vocabulary::Workspace, "read_file")
                    .describe("Read the contents of a file in the workspace.")
                    .preset("line_numbers", false)
                    .camel_case_result(),
            )
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: ReadFileArgs = args.parse()?;
        let kept = cx.kept_text(&args.path).await.transpose()?;
        cx.blocking(move |cx| match args.encoding.unwrap_or_default() {
            TransferEncoding::Utf8 => Outcome::answer(read_text(cx, &args, kept.as_ref())?),
            TransferEncoding::Base64 => Outcome::answer(read_base64(cx, &args)?),
        })
        .await
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        let path = text_argument(args, "path")?;
        let part = match (number_argument(args, "offset"), number_argument(args, "limit")) {
            (None, None) => String::new(),
            (None, Some(limit)) => format!(", the first {limit} lines"),
            (Some(offset), None) => format!(", from line {offset}"),
            (Some(offset), Some(limit)) => {
                let last = offset.saturating_add(limit).saturating_sub(1);
                format!(", lines {offset} to {last}")
            }
        };
        // Base64 is counted in bytes.
        let in_bytes = text_argument(args, "encoding") == Some("base64");
        Some(format!("Read {path}{}", if in_bytes { "" } else { &part }))
    }

    fn summary(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        let path = text_argument(args, "path")?;
        if let Some(media_type) = result["media_type"].as_str() {
            return Some(format!("Read {path}, {media_type}"));
        }
        let text = NumberedText::parse(result["content"].as_str()?)?;
        let total = result["total_lines"].as_u64();
        Some(match text.span() {
            None => format!("Read {path}, empty"),
            Some((1, 1)) if total == Some(1) => format!("Read {path}, 1 line"),
            Some((1, last)) if total == Some(last) => format!("Read {path}, {last} lines"),
            Some((first, last)) if first == last => format!("Read {path}, line {first}"),
            Some((first, last)) => format!("Read {path}, lines {first} to {last}"),
        })
    }

    fn text(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        let args: ReadFileArgs = args.clone().parse().ok()?;
        let content = result["content"].as_str()?;
        // The end of a file has no message; that it is not all of it is said here.
        let is_part = args.offset.is_some_and(|offset| offset.0 > 1);
        let of_total = || Some(format!("of {}", result["total_lines"].as_u64()?));
        let message = result["message"].as_str().map(note_of);
        let message = message.or_else(|| of_total().filter(|_| is_part));
        let is_text = matches!(args.encoding.unwrap_or_default(), TransferEncoding::Utf8)
            && result.get("media_type").is_none();
        let (content, mut notes) = match is_text && args.line_numbers.unwrap_or(true) {
            true if !content.is_empty() => {
                let lines = NumberedText::parse(content)?;
                (numbered(&lines.lines), part_notes(&lines, &args, result))
            }
            _ => (content.to_owned(), message.into_iter().collect()),
        };
        notes.extend(result["stored_as"].as_str().map(str::to_owned));
        notes.extend(standing_notes(result));
        Some(with_notes(content, notes))
    }
}

/// Which part of the file is shown, if not all of it, and how the rest is read.
fn part_notes(text: &NumberedText<'_>, args: &ReadFileArgs, result: &Value) -> Vec<String> {
    let mut notes = Vec::new();
    let Some((first, last)) = text.span() else { return notes };
    let total = result["total_lines"].as_u64();
    let size = result["size"].as_u64().unwrap_or(0);
    // A part that was asked for is whole; its numbers say where it ends.
    let as_asked = args.limit.is_some_and(|limit| last - first + 1 >= limit.0);
    match total {
        Some(total) if first <= 1 && last >= total => {}
        Some(total) if last >= total || as_asked => notes.push(format!("of {total}")),
        Some(total) => {
            notes.push(format!("lines {first}-{last} of {total}; next offset={}", last + 1));
        }
        None => {
            notes.push(format!("lines {first}-{last} of {size} bytes; next offset={}", last + 1));
        }
    }
    // The mark within the line does not count: a file can hold the same words.
    let cut = result["message"].as_str().and_then(|message| message.split_once(LONGER_LINE));
    let number = cut.and_then(|(before, _)| before.rsplit("Line ").next());
    notes.extend(number.map(|number| {
        format!("line {number} is cut: encoding=\"base64\" with offset and limit in bytes reads it")
    }));
    notes
}

fn read_text(
    cx: &ToolContext,
    args: &ReadFileArgs,
    kept: Option<&KeptText>,
) -> Result<ReadFileOutput, ToolError> {
    let limits = cx.limits();
    let numbered = args.line_numbers.unwrap_or(true);
    // Without numbers the caller wants the file itself, so only the byte limits apply.
    let default_lines = if numbered { limits.read_lines } else { u64::MAX };
    let whole_lines = if numbered { limits.read_line_bytes } else { limits.read_bytes };
    let as_size = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
    let window = LineWindow {
        first_line: args.offset.map_or(1, |offset| offset.0),
        max_lines: args.limit.map_or(as_size(default_lines), Whole::as_usize),
        max_bytes: as_size(limits.read_bytes),
        max_line_bytes: as_size(whole_lines),
    };
    let endings = if numbered { Endings::AsLines } else { Endings::AsStored };
    let view = match kept {
        Some(kept) => FileView::Text(TextView::of_kept(kept, window, cx)?),
        None => FileView::read(cx, &args.path, &window, endings)?,
    };
    match view {
        FileView::Binary { kind, meta, bytes } => {
            let shown = picture::show(cx, &args.path, &kind, bytes.as_deref());
            Ok(described(&args.path, &kind, &meta, shown))
        }
        FileView::Text(text) => {
            text.check_start(&args.path, &window)?;
            Ok(shown(text, numbered))
        }
    }
}

fn shown(text: TextView, numbered: bool) -> ReadFileOutput {
    let message = match text.byte_size {
        0 => Some("The file is empty.".to_owned()),
        _ => text.rest(),
    };
    ReadFileOutput {
        content: if numbered { text.numbered() } else { text.plain() },
        size: text.byte_size,
        modified: text.meta.map(|meta| iso8601(meta.modified)),
        total_lines: text.read.total_lines,
        stored_as: text.stored_as,
        media_type: None,
        message,
    }
}

fn described(
    path: &str,
    kind: &BinaryKind,
    meta: &EntryMeta,
    shown: ImageDelivery,
) -> ReadFileOutput {
    let what = if kind.media_type.starts_with("image/") { "an image" } else { "a binary file" };
    ReadFileOutput {
        content: format!("{path} is {what}: {}.", picture::described(kind, meta.size)),
        size: meta.size,
        modified: Some(iso8601(meta.modified)),
        media_type: Some(kind.media_type.to_owned()),
        message: match shown {
            ImageDelivery::AsItIs => None,
            ImageDelivery::Scaled(remark) | ImageDelivery::Not(remark) => Some(remark),
            ImageDelivery::NoImage => {
                Some("Its bytes can be read with encoding=\"base64\".".into())
            }
        },
        ..ReadFileOutput::default()
    }
}

fn read_base64(cx: &ToolContext, args: &ReadFileArgs) -> Result<ReadFileOutput, ToolError> {
    let (path, mut file) = open(cx, &args.path)?;
    let io = |error: std::io::Error| {
        ToolError::new(ErrorCode::ExecutionError, format!("{path} cannot be read: {error}"))
    };
    let size = file.meta.size;
    let start = args.offset.map_or(0, |offset| offset.0 - 1);
    if start > 0 && start >= size {
        let message =
            format!("offset {} is past the end of {path}, which has {size} bytes", start + 1);
        return Err(ToolError::new(ErrorCode::InvalidRange, message));
    }
    let limit = cx.limits().read_base64_bytes;
    let wanted = args.limit.map_or(limit, |asked| asked.0.min(limit));
    let mut bytes = Vec::new();
    file.file.seek(SeekFrom::Start(start)).map_err(io)?;
    (&file.file).take(wanted).read_to_end(&mut bytes).map_err(io)?;
    let end = start + bytes.len() as u64;
    if start == 0 && end >= size {
        cx.note_read(&path, protocol::ContentHash::of(&bytes));
    }
    Ok(ReadFileOutput {
        content: STANDARD.encode(&bytes),
        size,
        modified: Some(iso8601(file.meta.modified)),
        message: (end < size).then(|| {
            format!("Bytes {}-{end} of {size}. Continue with offset={}.", start + 1, end + 1)
        }),
        ..ReadFileOutput::default()
    })
}

auto_register_tool!(ReadFileTool);
