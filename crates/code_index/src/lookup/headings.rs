//! The skeleton of files that are no code: headings, keys, or the first lines.

use workspace::RelPath;

use super::outline::{FileOutline, OutlineEntry};
use crate::excerpt::excerpt;

/// Lines shown of a file of which nothing is known.
const FIRST_LINES: usize = 10;
/// Characters of a line.
const MAX_CHARS: usize = 120;

/// The skeleton of a file by its extension.
pub(super) fn headings(path: &RelPath, text: &[u8]) -> FileOutline {
    let (by, entries) = match path.extension().unwrap_or_default() {
        b"md" | b"markdown" | b"mdx" => ("headings", markdown(text)),
        b"toml" | b"ini" | b"cfg" => ("keys", tables(text)),
        b"json" | b"jsonc" => ("keys", json_keys(text)),
        b"yaml" | b"yml" => ("keys", outermost_keys(text)),
        _ => ("text", Vec::new()),
    };
    if entries.is_empty() {
        return FileOutline { entries: first_lines(text), by: "text", complete: true };
    }
    FileOutline { entries, by, complete: true }
}

fn entry(line: usize, depth: usize, text: &[u8]) -> OutlineEntry {
    let text = excerpt(text.trim_ascii(), 0, MAX_CHARS);
    let weight = u8::try_from(depth).unwrap_or(u8::MAX);
    OutlineEntry { line: line as u32 + 1, depth, kind: None, text, weight }
}

fn lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    text.split(|&byte| byte == b'\n').enumerate()
}

fn markdown(text: &[u8]) -> Vec<OutlineEntry> {
    let mut fence = false;
    let mut found = Vec::new();
    for (number, line) in lines(text) {
        let trimmed = line.trim_ascii();
        if trimmed.starts_with(b"```") || trimmed.starts_with(b"~~~") {
            fence = !fence;
        }
        let level = line.iter().take_while(|&&byte| byte == b'#').count();
        if !fence && (1..=6).contains(&level) && line.get(level) == Some(&b' ') {
            found.push(entry(number, level - 1, line));
        }
    }
    found
}

fn tables(text: &[u8]) -> Vec<OutlineEntry> {
    let mut found: Vec<OutlineEntry> = Vec::new();
    let mut in_table = false;
    for (number, line) in lines(text) {
        if line.starts_with(b"[") {
            in_table = true;
            found.push(entry(number, 0, line));
        } else if !in_table
            && line.first().is_some_and(|&byte| super::word::is_name_byte(byte) || byte == b'"')
            && let Some(equals) = memchr::memchr(b'=', line)
        {
            found.push(entry(number, 0, &line[..equals]));
        }
    }
    found
}

/// The keys of the outermost object, by a scan that needs no valid JSON.
fn json_keys(text: &[u8]) -> Vec<OutlineEntry> {
    let mut found = Vec::new();
    let (mut depth, mut line, mut at) = (0u32, 0, 0);
    while at < text.len() {
        match text[at] {
            b'\n' => line += 1,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let start = at + 1;
                at = start;
                while at < text.len() && text[at] != b'"' {
                    at += if text[at] == b'\\' { 2 } else { 1 };
                }
                let end = at.min(text.len());
                let is_key = text
                    .get(end + 1..)
                    .is_some_and(|rest| rest.trim_ascii_start().starts_with(b":"));
                if depth == 1 && is_key {
                    found.push(entry(line, 0, &text[start..end]));
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

fn outermost_keys(text: &[u8]) -> Vec<OutlineEntry> {
    let is_key = |line: &[u8]| {
        line.first().is_some_and(|&byte| super::word::is_name_byte(byte)) && line.contains(&b':')
    };
    let keys = lines(text).filter(|(_, line)| is_key(line));
    keys.map(|(number, line)| {
        entry(number, 0, line.split(|&byte| byte == b':').next().unwrap_or(line))
    })
    .collect()
}

fn first_lines(text: &[u8]) -> Vec<OutlineEntry> {
    let shown = lines(text).filter(|(_, line)| !line.trim_ascii().is_empty()).take(FIRST_LINES);
    shown.map(|(number, line)| entry(number, 0, line)).collect()
}
