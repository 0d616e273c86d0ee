//! The text form of a project: `//- /path options` headings, each followed by the content of that
//! file.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// One thing to make below the root of a fixture.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Relative to the root, without a slash at either end.
    pub(crate) path: String,
    pub(crate) kind: EntryKind,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    File { bytes: Vec<u8>, mode: Option<u32> },
    Symlink { target: String },
    Directory,
}

const HEADING: &str = "//- ";

/// Reads a whole fixture. The error says what is wrong in words and is meant for a panic message.
pub(crate) fn parse(text: &str) -> Result<Vec<Entry>, String> {
    // A raw string usually opens with a line break for the sake of its looks.
    let text = text.strip_prefix('\n').unwrap_or(text);
    let mut sections: Vec<(&str, String)> = Vec::new();
    for line in text.split_inclusive('\n') {
        if let Some(heading) = line.strip_prefix(HEADING) {
            sections.push((heading.trim(), String::new()));
        } else if let Some((_, content)) = sections.last_mut() {
            content.push_str(line);
        } else if !line.trim().is_empty() {
            return Err(format!("text before the first `{HEADING}/path` heading: {line:?}"));
        }
    }
    let mut entries: Vec<Entry> = Vec::with_capacity(sections.len());
    for (heading, content) in sections {
        let entry =
            entry(heading, content).map_err(|why| format!("`{HEADING}{heading}`: {why}"))?;
        if entries.iter().any(|known| known.path == entry.path) {
            return Err(format!("`{HEADING}{heading}`: this path is given twice"));
        }
        entries.push(entry);
    }
    Ok(entries)
}

fn entry(heading: &str, content: String) -> Result<Entry, String> {
    let Heading { path, mode, symlink, base64 } = heading_parts(heading)?;
    let is_directory = path.ends_with('/');
    let path = relative_path(path)?;
    let has_no_content = content.trim().is_empty();
    let kind = match (is_directory, symlink, base64) {
        (true, None, None) if mode.is_none() && has_no_content => EntryKind::Directory,
        (true, ..) => return Err("a directory takes neither options nor content".into()),
        (false, Some(target), None) if mode.is_none() && has_no_content => {
            EntryKind::Symlink { target: target.to_owned() }
        }
        (false, Some(_), _) => return Err("a symlink takes no other option and no content".into()),
        (false, None, Some(encoded)) if has_no_content => {
            let bytes = STANDARD.decode(encoded).map_err(|error| format!("base64: {error}"))?;
            EntryKind::File { bytes, mode }
        }
        (false, None, Some(_)) => return Err("with base64 the content must be empty".into()),
        (false, None, None) => EntryKind::File { bytes: content.into_bytes(), mode },
    };
    Ok(Entry { path, kind })
}

struct Heading<'a> {
    path: &'a str,
    mode: Option<u32>,
    symlink: Option<&'a str>,
    base64: Option<&'a str>,
}

/// Options are taken from the right, so that a path may hold spaces.
fn heading_parts(heading: &str) -> Result<Heading<'_>, String> {
    let mut parts = Heading { path: heading, mode: None, symlink: None, base64: None };
    while let Some((rest, word)) = parts.path.rsplit_once(' ') {
        let Some((key, value)) = word.split_once('=') else { break };
        match key {
            "mode" => {
                let mode = u32::from_str_radix(value, 8);
                parts.mode = Some(mode.map_err(|_| format!("`{value}` is not an octal mode"))?);
            }
            "symlink" => parts.symlink = Some(value),
            "base64" => parts.base64 = Some(value),
            _ => return Err(format!("unknown option `{key}`; there are mode, symlink, base64")),
        }
        parts.path = rest.trim_end();
    }
    Ok(parts)
}

fn relative_path(path: &str) -> Result<String, String> {
    let Some(relative) = path.strip_prefix('/') else {
        return Err("the path must begin with `/`".into());
    };
    let relative = relative.strip_suffix('/').unwrap_or(relative);
    if relative.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err("the path must name something below the root, without `.` or `..`".into());
    }
    Ok(relative.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, bytes: &[u8], mode: Option<u32>) -> Entry {
        Entry { path: path.into(), kind: EntryKind::File { bytes: bytes.into(), mode } }
    }

    #[test]
    fn every_form_of_heading_is_understood() {
        let link = EntryKind::Symlink { target: "../target".into() };
        let table: Vec<(&str, Vec<Entry>)> = vec![
            ("", vec![]),
            ("\n", vec![]),
            ("//- /a", vec![file("a", b"", None)]),
            ("\n//- /a\nx", vec![file("a", b"x", None)]),
            (
                "//- /a\n\n x \n\n//- /b\n",
                vec![file("a", b"\n x \n\n", None), file("b", b"", None)],
            ),
            ("//- /a\r\none\r\n", vec![file("a", b"one\r\n", None)]),
            (
                "//- /src/main.rs\n //- /not/a/heading\n",
                vec![file("src/main.rs", b" //- /not/a/heading\n", None)],
            ),
            ("//- /run.sh mode=755\n#!\n", vec![file("run.sh", b"#!\n", Some(0o755))]),
            ("//- /two words.txt  mode=600\n", vec![file("two words.txt", b"", Some(0o600))]),
            ("//- /bin base64=AAEC\n\n", vec![file("bin", &[0, 1, 2], None)]),
            ("//- /bin mode=444 base64=/w==\n", vec![file("bin", &[255], Some(0o444))]),
            ("//- /dir/ \n", vec![Entry { path: "dir".into(), kind: EntryKind::Directory }]),
            ("//- /link symlink=../target\n", vec![Entry { path: "link".into(), kind: link }]),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text), Ok(expected), "{text:?}");
        }
    }

    #[test]
    fn a_mistake_is_named() {
        let table = [
            ("lost\n//- /a\n", "before the first"),
            ("//- a\n", "must begin with"),
            ("//- /a/../b\n", "below the root"),
            ("//- /\n", "below the root"),
            ("//- /a\n//- /a\n", "twice"),
            ("//- /a mod=755\n", "unknown option `mod`"),
            ("//- /a mode=9\n", "not an octal mode"),
            ("//- /a base64=!\n", "base64"),
            ("//- /a base64=AAEC\ntext\n", "must be empty"),
            ("//- /a/ mode=755\n", "a directory takes"),
            ("//- /a/\ntext\n", "a directory takes"),
            ("//- /a symlink=b\ntext\n", "a symlink takes"),
        ];
        for (text, part) in table {
            let message = parse(text).expect_err(text);
            assert!(message.contains(part), "{text:?}: {message}");
        }
    }
}
