//! Plans that change something. The change itself is proposed by a tool and decided by a person.

use serde_json::{Value, json};

use super::{ReadFile, read};
use crate::comment::{
    explanation, lines_before, names_in, needs_distance, outlined_names, style,
};
use crate::intent::Place;
use crate::results::{FileLines, describe, indented, told};
use crate::script::{Script, Stop, Told};
use crate::toolbox::Action;

/// The most lines of a comment that are shown before it is proposed.
const MAX_SHOWN: usize = 10;

pub(super) fn comment(script: &mut Script<'_>, file: &str, text: Option<&str>) -> Told {
    let found = read(script, file)?;
    let path = found.path.as_str();
    let Some(style) = style(path) else {
        return Ok(format!(
            "I do not know how comments are written in {path}; nothing was changed."
        ));
    };
    let lines = found.lines();
    let said = match text {
        Some(text) => text.to_owned(),
        None => what_it_does(script, path, &lines)?,
    };
    let mut comment = style.comment(&said);
    if needs_distance(path) {
        comment.push('\n');
    }
    let at = lines_before(path, &lines.lines);
    let say = format!("Proposing this comment for {path}:\n\n{}\n", indented(&comment, MAX_SHOWN));
    let result = insert(script, &say, &found, &lines, (at, &comment))?;
    Ok(told(&format!("Done: the comment is at the top of {path}."), result))
}

/// A sentence about a file, from its outline or, without one, from its text.
fn what_it_does(script: &mut Script<'_>, path: &str, lines: &FileLines) -> Result<String, Stop> {
    if !script.tools.can(Action::Outline) {
        return Ok(explanation(path, &names_in(&lines.lines), lines.lines.len()));
    }
    let say = format!("Asking for the outline of {path}.");
    let outline = script.attempt(&say, Action::Outline, &[("path", json!(path))])?;
    let outline = outline.ok().and_then(|outline| outline["outline"].as_str()).unwrap_or_default();
    Ok(explanation(path, &outlined_names(outline), lines.lines.len()))
}

/// Inserts a text after a number of lines, with whatever tool there is for it.
fn insert<'a>(
    script: &mut Script<'a>,
    say: &str,
    file: &ReadFile<'_>,
    lines: &FileLines,
    (after, text): (usize, &str),
) -> Result<&'a Value, Stop> {
    let path = ("path", json!(file.path));
    if script.tools.can(Action::EditLines) {
        let arguments = [
            path,
            ("operation", json!("insert")),
            ("start_line", json!(after)),
            ("content", json!(text)),
        ];
        return script.ask(say, Action::EditLines, &arguments);
    }
    if !lines.whole {
        let path = &file.path;
        return Err(Stop::Answer(format!(
            "{path} is too long to be seen as a whole, and the tools of this session can only \
             rewrite it as a whole; nothing was changed."
        )));
    }
    let (before, behind) = lines.lines.split_at(after.min(lines.lines.len()));
    let whole =
        before.iter().map(String::as_str).chain([text]).chain(behind.iter().map(String::as_str));
    let whole = whole.collect::<Vec<_>>().join("\n");
    let end = if lines.ends_with_break || lines.lines.is_empty() { "\n" } else { "" };
    let arguments = [
        path,
        ("content", json!(format!("{whole}{end}"))),
        ("description", json!(format!("Adds: {}", text.trim_end()))),
    ];
    script.ask(say, Action::Rewrite, &arguments)
}

pub(super) fn add_line(script: &mut Script<'_>, file: &str, line: &str, place: Place) -> Told {
    let found = read(script, file)?;
    let path = found.path.as_str();
    let lines = found.lines();
    let say = format!("Proposing to add the line to {path}.");
    let result = if place == Place::Bottom && script.tools.can(Action::Append) {
        let content = json!(format!("{line}\n"));
        script.ask(&say, Action::Append, &[("path", json!(path)), ("content", content)])?
    } else {
        let total =
            found.result["total_lines"].as_u64().and_then(|total| usize::try_from(total).ok());
        let at = match place {
            Place::Top => lines_before(path, &lines.lines),
            Place::Bottom => total.unwrap_or(lines.lines.len()),
        };
        insert(script, &say, &found, &lines, (at, line))?
    };
    Ok(told(&format!("Done: the line is in {path}."), result))
}

pub(super) fn replace(script: &mut Script<'_>, find: &str, replace: &str, file: &str) -> Told {
    let found = read(script, file)?;
    let path = found.path.as_str();
    let say = format!("Proposing to replace `{find}` with `{replace}` in {path}.");
    if script.tools.can(Action::Replace) {
        let arguments = [("path", json!(path)), ("find", json!(find)), ("replace", json!(replace))];
        return Ok(describe(script.ask(&say, Action::Replace, &arguments)?));
    }
    let lines = found.lines();
    let text = lines.text();
    let count = text.matches(find).count();
    if count == 0 || !lines.whole {
        return Ok(format!("`{find}` is not in what I can see of {path}; nothing was changed."));
    }
    let arguments = [
        ("path", json!(path)),
        ("content", json!(text.replace(find, replace))),
        ("description", json!(format!("Replaces {find} with {replace}"))),
    ];
    let result = script.ask(&say, Action::Rewrite, &arguments)?;
    Ok(told(&format!("Done: {count} replaced in {path}."), result))
}

pub(super) fn rename(script: &mut Script<'_>, symbol: &str, to: &str) -> Told {
    let say = format!("Proposing to rename `{symbol}` to `{to}` wherever it is used.");
    let arguments = [("symbol", json!(symbol)), ("new_name", json!(to))];
    Ok(describe(script.ask(&say, Action::Rename, &arguments)?))
}

pub(super) fn create(script: &mut Script<'_>, file: &str, content: &str) -> Told {
    let content = match content {
        "" => String::new(),
        text => format!("{}\n", text.trim_end_matches('\n')),
    };
    let arguments = [
        ("path", json!(file)),
        ("content", json!(content)),
        ("description", json!("As asked for")),
        ("create_dirs", json!(true)),
    ];
    let result = script.ask(&format!("Proposing to create {file}."), Action::Create, &arguments)?;
    let path = result["path"].as_str().unwrap_or(file);
    Ok(format!("Done: {path} is there. \"undo\" takes it back."))
}

pub(super) fn delete(script: &mut Script<'_>, file: &str) -> Told {
    let say = format!("Proposing to delete {file}.");
    script.ask(&say, Action::Delete, &[("path", json!(file))])?;
    Ok(format!("Done: {file} is gone. \"undo\" brings it back."))
}

pub(super) fn move_file(script: &mut Script<'_>, from: &str, to: &str) -> Told {
    let say = format!("Proposing to move {from} to {to}.");
    script.ask(&say, Action::Move, &[("from", json!(from)), ("to", json!(to))])?;
    Ok(format!("Done: {from} is {to} from here on. \"undo\" takes it back."))
}

/// An action without arguments.
pub(super) fn plainly(script: &mut Script<'_>, say: &str, action: Action) -> Told {
    Ok(describe(script.ask(say, action, &[])?))
}
