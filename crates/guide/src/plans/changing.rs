//! Plans that change something. A tool proposes the change, and the approver decides.

use serde_json::{Value, json};

use super::{ReadFile, read};
use crate::comment::{comment as as_comment, explanation, lines_before};
use crate::results::{indented, told};
use crate::script::{Script, Stop, Told};
use crate::tools::{APPEND, CREATE, DELETE, EDIT_LINES, MOVE, OUTLINE, RENAME, REPLACE, REWRITE};

/// The most lines of a comment that are shown before it is proposed.
const MAX_SHOWN: usize = 10;

pub(super) fn comment(script: &mut Script<'_>, file: &str) -> Told {
    let found = read(script, file)?;
    let path = found.path.as_str();
    if as_comment(path, "").is_none() {
        return Ok(format!(
            "I do not know how comments are written in {path}; nothing was changed."
        ));
    }
    let text = match script.slot("text") {
        Some(text) => text.to_owned(),
        None if script.tools.can(OUTLINE) => {
            let say = format!("Asking for the outline of {path}.");
            let outline = script.attempt(OUTLINE, &say, json!({"path": path}))?.ok();
            let outline = outline.and_then(|outline| outline["outline"].as_str());
            explanation(path, Some(outline.unwrap_or_default()), &found.lines)
        }
        None => explanation(path, None, &found.lines),
    };
    let comment = as_comment(path, &text).unwrap_or_default();
    let at = lines_before(path, &found.lines.lines);
    let say = format!("Proposing this comment for {path}:\n\n{}\n", indented(&comment, MAX_SHOWN));
    let result = insert(script, &say, &found, at, &comment)?;
    Ok(told(&format!("Done: the comment is at the top of {path}."), result))
}

/// Inserts a text after a number of lines, with whatever tool there is for it.
fn insert<'a>(
    script: &mut Script<'a>,
    say: &str,
    file: &ReadFile<'_>,
    after: usize,
    text: &str,
) -> Result<&'a Value, Stop> {
    let ReadFile { path, lines, .. } = file;
    if script.tools.can(EDIT_LINES) {
        let arguments =
            json!({"path": path, "operation": "insert", "start_line": after, "content": text});
        return script.ask(EDIT_LINES, say, arguments);
    }
    if !lines.whole {
        return Err(Stop::Answer(format!(
            "{path} is too long to be seen as a whole, and the tools of this session can only \
             rewrite it as a whole; nothing was changed."
        )));
    }
    let mut whole: Vec<&str> = lines.lines.iter().map(String::as_str).collect();
    whole.insert(after.min(whole.len()), text);
    let end = if lines.ends_with_break || lines.lines.is_empty() { "\n" } else { "" };
    let content = format!("{}{end}", whole.join("\n"));
    let description = format!("Adds: {}", text.trim_end());
    let arguments = json!({"path": path, "content": content, "description": description});
    script.ask(REWRITE, say, arguments)
}

pub(super) fn add_line(script: &mut Script<'_>, file: &str) -> Told {
    let line = script.slot("line").unwrap_or_default();
    let is_top = script.slot("top").is_some();
    let found = read(script, file)?;
    let path = found.path.as_str();
    let say = format!("Proposing to add the line to {path}.");
    let result = if !is_top && script.tools.can(APPEND) {
        script.ask(APPEND, &say, json!({"path": path, "content": format!("{line}\n")}))?
    } else {
        let total = found.result["total_lines"].as_u64().and_then(|all| usize::try_from(all).ok());
        let at = match is_top {
            true => lines_before(path, &found.lines.lines),
            false => total.unwrap_or(found.lines.lines.len()),
        };
        insert(script, &say, &found, at, line)?
    };
    Ok(told(&format!("Done: the line is in {path}."), result))
}

pub(super) fn replace(script: &mut Script<'_>, file: &str) -> Told {
    let [find, replace] = ["find", "replace"].map(|name| script.slot(name).unwrap_or_default());
    let found = read(script, file)?;
    let path = found.path.as_str();
    let say = format!("Proposing to replace `{find}` with `{replace}` in {path}.");
    if script.tools.can(REPLACE) {
        let arguments = json!({"path": path, "find": find, "replace": replace});
        return script.tell(REPLACE, &say, arguments);
    }
    let text = found.lines.text();
    let count = text.matches(find).count();
    if count == 0 || !found.lines.whole {
        return Ok(format!("`{find}` is not in what I can see of {path}; nothing was changed."));
    }
    let description = format!("Replaces {find} with {replace}");
    let content = text.replace(find, replace);
    let arguments = json!({"path": path, "content": content, "description": description});
    let result = script.ask(REWRITE, &say, arguments)?;
    Ok(told(&format!("Done: {count} replaced in {path}."), result))
}

pub(super) fn rename(script: &mut Script<'_>, symbol: &str) -> Told {
    let to = script.slot("to").unwrap_or_default();
    let say = format!("Proposing to rename `{symbol}` to `{to}` wherever it is used.");
    script.tell(RENAME, &say, json!({"symbol": symbol, "new_name": to}))
}

pub(super) fn create(script: &mut Script<'_>, file: &str) -> Told {
    let content = script.slot("content").map(|text| format!("{}\n", text.trim_end_matches('\n')));
    let arguments = json!({
        "path": file,
        "content": content.unwrap_or_default(),
        "description": "As asked for",
        "create_dirs": true,
    });
    let result = script.ask(CREATE, &format!("Proposing to create {file}."), arguments)?;
    let path = result["path"].as_str().unwrap_or(file);
    Ok(format!("Done: {path} is there. \"undo\" takes it back."))
}

pub(super) fn delete(script: &mut Script<'_>, file: &str) -> Told {
    script.ask(DELETE, &format!("Proposing to delete {file}."), json!({"path": file}))?;
    Ok(format!("Done: {file} is gone. \"undo\" brings it back."))
}

pub(super) fn move_file(script: &mut Script<'_>, file: &str) -> Told {
    let to = script.slot("to").unwrap_or_default();
    let say = format!("Proposing to move {file} to {to}.");
    script.ask(MOVE, &say, json!({"from": file, "to": to}))?;
    Ok(format!("Done: {file} is {to} from here on. \"undo\" takes it back."))
}
