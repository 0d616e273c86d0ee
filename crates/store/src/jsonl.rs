//! A session as text: a header, then one entry a line. Pure.

use protocol::{LogEntry, Opened, SessionEvent};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::row::{self, Row};
use crate::{SessionId, StoreError};

const MARK: &str = "session";
/// Of the format. A file of another version is refused.
const VERSION: u32 = 1;
/// Larger numbers are not the same in every reader of JSON.
const MAX_SEQUENCE: u64 = (1 << 53) - 1;

/// The first line. It says again how the session was opened, so that no single damaged line makes
/// the whole unusable.
#[derive(Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) toolkiln: String,
    pub(crate) version: u32,
    pub(crate) id: SessionId,
    pub(crate) title: Option<String>,
    pub(crate) exported: i64,
    pub(crate) last: u64,
    pub(crate) opened: Option<Opened>,
}

impl Header {
    pub(crate) fn new(id: SessionId, title: Option<String>, exported: i64) -> Self {
        Self { toolkiln: MARK.into(), version: VERSION, id, title, exported, last: 0, opened: None }
    }
}

/// A line of which only the frame is understood.
#[derive(Deserialize)]
struct ExportLine {
    sequence: u64,
    at: i64,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    data: Option<Value>,
}

/// What a text holds.
#[derive(Debug)]
pub(crate) struct Parsed {
    /// Rows in order; the first says how the session was opened.
    pub(crate) rows: Vec<Row>,
    /// What could not be read.
    pub(crate) damage: Vec<String>,
}

pub(crate) fn write(
    mut header: Header,
    rows: &[Row],
    entries: &[LogEntry],
) -> Result<String, StoreError> {
    header.last = rows.last().map_or(0, |row| row.sequence);
    header.opened = entries.iter().find_map(|entry| match &entry.event {
        SessionEvent::Opened(opened) => Some(opened.clone()),
        _ => None,
    });
    let mut text = serde_json::to_string(&header)
        .map_err(|error| StoreError::failed("writing the header of an export", error))?;
    text.push('\n');
    for row in rows {
        text.push_str(&row.line());
        text.push('\n');
    }
    Ok(text)
}

pub(crate) fn parse(text: &str) -> Result<Parsed, StoreError> {
    let text = text.trim_start_matches('\u{feff}');
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()).peekable();
    let mut parsed = Parsed { rows: Vec::new(), damage: Vec::new() };
    let header = match lines.peek() {
        Some((_, line)) => header(line)?,
        None => return Err(refused("it is empty")),
    };
    match &header {
        Some(_) => drop(lines.next()),
        None => parsed.damage.push("the first line is not a header of an export".to_owned()),
    }
    for (number, line) in lines {
        let last = parsed.rows.last().map_or(0, |row| row.sequence);
        match read_line(line, last) {
            Ok(row) => parsed.rows.push(row),
            Err(reason) => parsed.damage.push(format!("line {number} is left out: {reason}")),
        }
    }
    complete(&mut parsed, header)?;
    Ok(parsed)
}

fn header(line: &str) -> Result<Option<Header>, StoreError> {
    #[derive(Deserialize)]
    struct Mark {
        toolkiln: String,
        version: u32,
    }
    let Ok(mark) = serde_json::from_str::<Mark>(line) else { return Ok(None) };
    if mark.toolkiln != MARK {
        return Err(refused(&format!("it holds a `{}`", mark.toolkiln)));
    }
    if mark.version > VERSION {
        let version = mark.version;
        return Err(refused(&format!(
            "its version is {version} and this program knows {VERSION}; update Toolkiln"
        )));
    }
    Ok(serde_json::from_str(line).ok())
}

fn read_line(line: &str, last: u64) -> Result<Row, String> {
    let frame: ExportLine = serde_json::from_str(line).map_err(|error| error.to_string())?;
    if frame.sequence <= last {
        return Err(format!("entry {} comes after entry {last}", frame.sequence));
    }
    if frame.sequence > MAX_SEQUENCE {
        return Err(format!("{} is not a valid position in a log", frame.sequence));
    }
    if frame.kind.contains('\0') {
        return Err("its type holds a zero, which no database of ours can keep".to_owned());
    }
    if let Some(row) = as_written(line, &frame) {
        return Ok(row);
    }
    if let Ok(entry) = serde_json::from_str::<LogEntry>(line) {
        let row = Row::new(entry.sequence, entry.at, &entry.event);
        return row.map_err(|error| error.to_string());
    }
    let ExportLine { sequence, at, kind, data } = frame;
    let event = match data {
        Some(data) => serde_json::json!({"type": kind, "data": data}),
        None => serde_json::json!({"type": kind}),
    };
    Ok(Row { sequence, at, kind, data: event.to_string() })
}

/// The row of which this is the line, byte for byte. None if it was written by something else.
fn as_written(line: &str, frame: &ExportLine) -> Option<Row> {
    let (sequence, at) = (frame.sequence, frame.at);
    let members = line.trim().strip_prefix(&format!("{{\"sequence\":{sequence},\"at\":{at},"))?;
    let data = format!("{{{members}");
    let row = Row { sequence, at, kind: row::kind_of(data.as_bytes()).to_owned(), data };
    (row.kind == frame.kind && row.line() == line).then_some(row)
}

/// Makes sure that the log begins as every log does, and names what is not there.
fn complete(parsed: &mut Parsed, header: Option<Header>) -> Result<(), StoreError> {
    let first = parsed.rows.first().and_then(Row::entry);
    let begins =
        first.is_some_and(|it| it.sequence == 1 && matches!(it.event, SessionEvent::Opened(_)));
    let last = header.as_ref().map_or(0, |header| header.last);
    if !begins {
        let Some(opened) = header.and_then(|header| header.opened) else {
            return Err(refused("neither a header nor a first entry says how the session began"));
        };
        let at = parsed.rows.first().map_or(0, |row| row.at);
        parsed.rows.retain(|row| row.sequence > 1);
        parsed.rows.insert(0, Row::new(1, at, &SessionEvent::Opened(opened))?);
        parsed.damage.push("the first entry is rebuilt from the header".to_owned());
    }
    let end = parsed.rows.last().map_or(0, |row| row.sequence);
    if end < last {
        parsed.damage.push(format!("the last entries are missing: {end} of {last} is the last"));
    }
    Ok(())
}

fn refused(reason: &str) -> StoreError {
    StoreError::NotAnExport { reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"toolkiln":"session","version":1,"id":"1hf7yat00zzzzzzzzzzz","title":null,"exported":9,"last":4,"opened":{"root":"/p","settings":{"provider":"offline","model":"m","role":"actor"}}}
{"sequence":1,"at":1,"type":"opened","data":{"root":"/p","settings":{"provider":"offline","model":"m","role":"actor"}}}
{"sequence":2,"at":2,"type":"continued"}
{"sequence":3,"at":3,"type":"sung","data":{"song":[1]}}
{"sequence":4,"at":4,"type":"renamed","data":{"title":"t"}}
"#;

    fn lines(parsed: &Parsed) -> String {
        parsed.rows.iter().map(|row| row.line() + "\n").collect()
    }

    #[test]
    fn a_good_text_is_read_with_its_unknown_events() {
        let parsed = parse(GOOD).unwrap();
        assert!(parsed.damage.is_empty(), "{:?}", parsed.damage);
        assert_eq!(lines(&parsed), GOOD.split_once('\n').unwrap().1);
    }

    #[test]
    fn every_single_line_can_be_lost_or_torn() {
        let all: Vec<&str> = GOOD.lines().collect();
        for broken in 0..all.len() {
            for replacement in ["", &all[broken][..20], "{\"sequence\":1}"] {
                let mut text = all.clone();
                text[broken] = replacement;
                let parsed = parse(&text.join("\n")).unwrap();
                assert!(parsed.rows.len() >= 3, "{broken} {replacement}");
                assert!(matches!(parsed.rows[0].entry().unwrap().event, SessionEvent::Opened(_)));
                let named = !parsed.damage.is_empty() || replacement.is_empty();
                assert!(named, "{broken} {replacement}");
            }
        }
    }

    #[test]
    fn other_texts_are_refused_with_a_reason() {
        let newer = GOOD.replacen("\"version\":1", "\"version\":2", 1);
        let texts = ["", "hello\n", "{\"toolkiln\":\"journal\",\"version\":1}", &newer];
        let reasons = texts.map(|text| parse(text).unwrap_err().to_string());
        insta::assert_snapshot!(reasons.join("\n"), @r"
        this is not an exported session: it is empty
        this is not an exported session: neither a header nor a first entry says how the session began
        this is not an exported session: it holds a `journal`
        this is not an exported session: its version is 2 and this program knows 1; update Toolkiln
        ");
    }
}
