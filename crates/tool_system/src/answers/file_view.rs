//! A file as a model gets to see it: numbered text, or a description of what is not text.

use std::fmt::Write as _;
use std::io::Read as _;

use protocol::{ContentHash, ErrorCode, ToolError};
use workspace::{
    BinaryKind, EntryMeta, LineEndingCounts, LineWindow, OpenFile, ReadLines, RelPath, Text,
    TextEncoding, describe_binary, is_binary,
};

use crate::ToolContext;
use crate::limits::LINE_NUMBER_WIDTH;
use crate::result_store::KeptText;

/// Files up to this size are read whole, so that their encoding can be told from all their bytes.
/// Larger ones are streamed and taken for UTF-8.
const DECODE_BYTES: u64 = 8 * 1024 * 1024;
/// How much of a file is looked at to tell text from other data.
const HEAD_BYTES: u64 = 8 * 1024;

/// What a message says of a line that is not shown to its end, after its number.
pub(crate) const LONGER_LINE: &str = " is longer than what is shown";

/// What a file holds, as far as it was asked for.
pub(crate) enum FileView {
    Text(TextView),
    Binary {
        kind: BinaryKind,
        meta: EntryMeta,
        /// All of it, if it is small enough to be looked at.
        bytes: Option<Vec<u8>>,
    },
}

/// Lines of a text file.
pub(crate) struct TextView {
    pub(crate) read: ReadLines,
    /// Absent for text that is no file, such as a kept result.
    pub(crate) meta: Option<EntryMeta>,
    /// How the file is stored, where that differs from plain UTF-8 with line feeds.
    pub(crate) stored_as: Option<String>,
    pub(crate) byte_size: u64,
}

/// What becomes of line endings.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endings {
    /// Lines are lines, whatever ends them.
    AsLines,
    /// The text is given exactly as it is stored.
    AsStored,
}

impl FileView {
    /// Reads the lines of `window` from the file that `path` names.
    pub(crate) fn read(
        cx: &ToolContext,
        path: &str,
        window: &LineWindow,
        endings: Endings,
    ) -> Result<Self, ToolError> {
        let (path, mut file) = open(cx, path)?;
        if file.meta.size > DECODE_BYTES {
            return Self::stream(cx, &path, file, window);
        }
        let disk = file.read_all(DECODE_BYTES)?;
        let unsaved = cx.unsaved(&path, &disk);
        let is_unsaved = unsaved.is_some();
        let bytes = unsaved.unwrap_or(disk);
        if is_binary(&bytes) {
            cx.note_read(&path, ContentHash::of(&bytes));
            let (kind, meta) = (describe_binary(&bytes), file.meta);
            return Ok(FileView::Binary { kind, meta, bytes: Some(bytes) });
        }
        let text = Text::decode(&bytes);
        let body = match endings {
            Endings::AsLines => with_line_feeds(&text),
            Endings::AsStored => text.body().into(),
        };
        let read = lines_of(&body, window, cx)?;
        cx.note_read(&path, ContentHash::of(&bytes));
        let remark = is_unsaved.then(|| "with unsaved changes of the editor".to_owned());
        let stored_as = [stored_as(&text), remark]
            .into_iter()
            .flatten()
            .reduce(|one, other| format!("{one}, {other}"));
        let byte_size = bytes.len() as u64;
        Ok(FileView::Text(TextView { read, meta: Some(file.meta), stored_as, byte_size }))
    }

    fn stream(
        cx: &ToolContext,
        path: &RelPath,
        mut file: OpenFile,
        window: &LineWindow,
    ) -> Result<Self, ToolError> {
        let mut head = Vec::new();
        let io = |error: std::io::Error| {
            ToolError::new(ErrorCode::ExecutionError, format!("{path} cannot be read: {error}"))
        };
        (&file.file).take(HEAD_BYTES).read_to_end(&mut head).map_err(io)?;
        std::io::Seek::rewind(&mut file.file).map_err(io)?;
        if is_binary(&head) {
            return Self::large_binary(cx, &head, file);
        }
        let read = file.read_lines(window, &|| cx.is_cancelled())?;
        if let Some(hash) = read.hash {
            cx.note_read(path, hash);
        }
        let byte_size = file.meta.size;
        Ok(FileView::Text(TextView { read, meta: Some(file.meta), stored_as: None, byte_size }))
    }
}

impl FileView {
    /// A file that is too large to be decoded as text; an image may still be small enough to be shown.
    fn large_binary(cx: &ToolContext, head: &[u8], mut file: OpenFile) -> Result<Self, ToolError> {
        let (kind, meta) = (describe_binary(head), file.meta.clone());
        let limit = cx.limits().image_file_bytes;
        let looks = kind.media_type.starts_with("image/") && meta.size <= limit;
        let bytes = looks.then(|| file.read_all(limit)).transpose()?;
        let kind = bytes.as_deref().map_or(kind, describe_binary);
        Ok(FileView::Binary { kind, meta, bytes })
    }
}

impl TextView {
    /// The lines of `window` from a text that is not a file, no more than a page of it.
    pub(crate) fn of_kept(
        kept: &KeptText,
        window: LineWindow,
        cx: &ToolContext,
    ) -> Result<Self, ToolError> {
        let page = usize::try_from(kept.page_bytes).unwrap_or(usize::MAX);
        let window = LineWindow { max_bytes: window.max_bytes.min(page), ..window };
        let read = lines_of(kept.text.as_bytes(), &window, cx)?;
        Ok(Self { read, meta: None, stored_as: None, byte_size: kept.size })
    }

    /// The text as it is, endings included.
    pub(crate) fn plain(&self) -> String {
        let mut text = String::new();
        for line in &self.read.lines {
            text.push_str(&String::from_utf8_lossy(&line.bytes));
            text.push_str(&String::from_utf8_lossy(line.ending.as_bytes()));
        }
        text
    }

    /// Each line with its number before it.
    pub(crate) fn numbered(&self) -> String {
        let mut text = String::new();
        for line in &self.read.lines {
            let content = String::from_utf8_lossy(&line.bytes);
            // Writing to a string cannot fail.
            let _ = write!(text, "{:>LINE_NUMBER_WIDTH$}\t{content}", line.number);
            if let Some(full) = line.cut {
                let _ = write!(text, "… [{} of {full} bytes of this line]", line.bytes.len());
            }
            text.push('\n');
        }
        text.pop();
        text
    }

    /// The numbers of the first and last line shown.
    pub(crate) fn span(&self) -> Option<(u64, u64)> {
        Some((self.read.lines.first()?.number, self.read.lines.last()?.number))
    }

    /// What is not shown and how to get it, if anything is missing.
    pub(crate) fn rest(&self) -> Option<String> {
        let (first, last) = self.span()?;
        let cut = self.read.lines.iter().find(|line| line.cut.is_some()).map(|line| {
            format!(
                "Line {}{LONGER_LINE}; encoding=\"base64\" with offset and limit in bytes gives all of it.",
                line.number
            )
        });
        if self.read.ended_at_eof {
            return cut;
        }
        let total = match self.read.total_lines {
            Some(total) => format!(" of {total}"),
            None => format!("; the file has {} bytes", self.byte_size),
        };
        let rest = format!("Lines {first}-{last}{total}. Continue with offset={}.", last + 1);
        Some(match cut {
            Some(cut) => format!("{rest} {cut}"),
            None => rest,
        })
    }

    /// That the window begins after the end, told with the valid range.
    pub(crate) fn check_start(&self, path: &str, window: &LineWindow) -> Result<(), ToolError> {
        if !self.read.lines.is_empty() || window.first_line <= 1 {
            return Ok(());
        }
        let total = self.read.total_lines.unwrap_or(0);
        let message = format!(
            "offset {} is past the end of {path}, which has {total} lines",
            window.first_line
        );
        let error = ToolError::new(ErrorCode::InvalidRange, message).detail("total_lines", total);
        Err(error.suggest(format!("Use an offset from 1 to {total}.")))
    }
}

/// Opens the file that `path` names; if there is none, says which names are near.
pub(crate) fn open(cx: &ToolContext, path: &str) -> Result<(RelPath, OpenFile), ToolError> {
    let path = cx.workspace().resolve(path)?;
    match cx.workspace().open_file(&path) {
        Ok(file) => Ok((path, file)),
        Err(error) => Err(explained(cx, &path, error)),
    }
}

/// The error for `path`, with near names if nothing is there.
pub(crate) fn explained(cx: &ToolContext, path: &RelPath, error: workspace::Error) -> ToolError {
    let missing = matches!(error, workspace::Error::NotFound { .. });
    let error = ToolError::from(error);
    if !missing {
        return error;
    }
    let similar = cx.workspace().similar(path);
    if similar.is_empty() {
        return error;
    }
    // The directory was just named.
    let named = |near: &RelPath| {
        let whole = near.to_text();
        let name = whole.rsplit('/').next().unwrap_or_default().to_owned();
        if near.parent() == path.parent() { name } else { whole }
    };
    let suggestion = similar.iter().map(named).collect::<Vec<_>>().join(" or ");
    let similar: Vec<String> = similar.iter().map(RelPath::to_text).collect();
    error.suggest(format!("Did you mean {suggestion}?")).detail("similar", similar)
}

fn lines_of(body: &[u8], window: &LineWindow, cx: &ToolContext) -> Result<ReadLines, ToolError> {
    let size = body.len() as u64;
    let read = window.read(&mut &body[..], Some(size), &|| cx.is_cancelled());
    // Reading from memory cannot fail, so none means cancelled.
    read.ok()
        .flatten()
        .ok_or_else(|| ToolError::new(ErrorCode::Cancelled, "the call was cancelled"))
}

/// The body with old Mac line endings made visible as lines.
fn with_line_feeds(text: &Text) -> std::borrow::Cow<'_, [u8]> {
    let endings = text.line_endings();
    if endings.cr > 0 && endings.lf == 0 && endings.crlf == 0 {
        text.body().iter().map(|byte| if *byte == b'\r' { b'\n' } else { *byte }).collect()
    } else {
        text.body().into()
    }
}

/// What an editor's status line would say, where it is not the ordinary thing.
fn stored_as(text: &Text) -> Option<String> {
    let mut remarks = Vec::new();
    if text.encoding() != TextEncoding::Utf8 {
        remarks.push(text.encoding().to_string());
    }
    if text.bom() {
        remarks.push("byte order mark".to_owned());
    }
    let LineEndingCounts { lf, crlf, cr, final_newline } = text.line_endings();
    match (lf > 0, crlf > 0, cr > 0) {
        (false, true, false) => remarks.push("CRLF line endings".into()),
        (false, false, true) => remarks.push("CR line endings".into()),
        (true, true, _) | (true, _, true) | (_, true, true) => {
            remarks.push("mixed line endings".into());
        }
        (_, false, false) => {}
    }
    if !final_newline && !text.body().is_empty() {
        remarks.push("no final newline".into());
    }
    (!remarks.is_empty()).then(|| remarks.join(", "))
}
