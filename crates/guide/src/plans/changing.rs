//! Plans that change something. A tool proposes the change, and the approver decides.

use serde_json::{Value, json};

use super::comment::{as_comment, explanation, lines_before};
use super::{ReadFile, read};
use crate::plan_run::{PlanResult, PlanRun, PlanStop};
use crate::results::{below, indented};
use crate::tools::{APPEND, CREATE, DELETE, EDIT_LINES, MOVE, RENAME, REPLACE, REWRITE};

/// The most lines of a comment that are shown before it is proposed.
const MAX_SHOWN: usize = 10;

pub(crate) fn comment(script: &mut PlanRun<'_>) -> PlanResult {
    let found = read(script, script.text("file"))?;
    let path = found.path.as_str();
    let text = script.slot("text").map(str::to_owned);
    let text = text.unwrap_or_else(|| explanation(path, &found.lines.lines));
    let Some(comment) = as_comment(path, &text) else {
        return Ok(format!(
            "I do not know how comments are written in {path}; nothing was changed."
        ));
    };
    let at = lines_before(&found.lines.lines);
    let say = format!("Proposing this comment for {path}:\n\n{}\n", indented(&comment, MAX_SHOWN));
    let result = insert(script, &say, &found, at, &comment)?;
    Ok(below(&format!("Done: the comment is at the top of {path}."), result))
}

/// Inserts a text after a number of lines, with whatever tool there is for it.
fn insert<'a>(
    script: &mut PlanRun<'a>,
    say: &str,
    file: &ReadFile<'_>,
    after: usize,
    text: &str,
) -> Result<&'a Value, PlanStop> {
    let ReadFile { path, lines, .. } = file;
    let is_seen = lines.whole || after < lines.lines.len();
    if script.tools.can(EDIT_LINES) && is_seen {
        let arguments =
            json!({"path": path, "operation": "insert", "start_line": after, "content": text});
        return script.ask(EDIT_LINES, say, arguments);
    }
    let mut whole: Vec<&str> = lines.lines.iter().map(String::as_str).collect();
    whole.insert(after.min(whole.len()), text);
    let end = if lines.ends_with_break || lines.lines.is_empty() { "\n" } else { "" };
    let description = format!("Adds: {}", text.trim_end());
    rewrite(script, say, file, format!("{}{end}", whole.join("\n")), description)
}

fn rewrite<'a>(
    script: &mut PlanRun<'a>,
    say: &str,
    file: &ReadFile<'_>,
    content: String,
    description: String,
) -> Result<&'a Value, PlanStop> {
    let path = &file.path;
    if !file.lines.whole {
        return Err(PlanStop::Answer(format!(
            "{path} is too long to be seen as a whole, and the tools of this session can only \
             rewrite it as a whole; nothing was changed."
        )));
    }
    let arguments = json!({"path": path, "content": content, "description": description});
    script.ask(REWRITE, say, arguments)
}

pub(crate) fn add_line(script: &mut PlanRun<'_>) -> PlanResult {
    let line = script.text("line");
    let is_top = script.slot("top").is_some();
    let found = read(script, script.text("file"))?;
    let path = found.path.as_str();
    let say = format!("Proposing to add the line to {path}.");
    let result = if is_top {
        insert(script, &say, &found, lines_before(&found.lines.lines), line)?
    } else if script.tools.can(APPEND) {
        script.ask(APPEND, &say, json!({"path": path, "content": format!("{line}\n")}))?
    } else {
        insert(script, &say, &found, found.lines.lines.len(), line)?
    };
    Ok(below(&format!("Done: the line is in {path}."), result))
}

pub(crate) fn replace(script: &mut PlanRun<'_>) -> PlanResult {
    let [find, replace] = ["find", "replace"].map(|name| script.text(name));
    let found = read(script, script.text("file"))?;
    let path = found.path.as_str();
    let say = format!("Proposing to replace `{find}` with `{replace}` in {path}.");
    if script.tools.can(REPLACE) {
        let arguments = json!({"path": path, "find": find, "replace": replace});
        return script.tell(REPLACE, &say, arguments);
    }
    let text = found.lines.text();
    if !text.contains(find) {
        return Ok(format!("`{find}` is not in what I can see of {path}; nothing was changed."));
    }
    let description = format!("Replaces {find} with {replace}");
    let result = rewrite(script, &say, &found, text.replace(find, replace), description)?;
    Ok(below(&format!("Done: replaced in {path}."), result))
}

pub(crate) fn rename(script: &mut PlanRun<'_>) -> PlanResult {
    let [symbol, to] = ["symbol", "to"].map(|name| script.text(name));
    let say = format!("Proposing to rename `{symbol}` to `{to}` wherever it is used.");
    script.tell(RENAME, &say, json!({"symbol": symbol, "new_name": to}))
}

pub(crate) fn create(script: &mut PlanRun<'_>) -> PlanResult {
    let file = script.text("file");
    let content = script.slot("content").map(|text| format!("{}\n", text.trim_end_matches('\n')));
    let arguments = json!({
        "path": file,
        "content": content.unwrap_or_default(),
        "description": "As asked for",
        "create_dirs": true,
    });
    script.ask(CREATE, &format!("Proposing to create {file}."), arguments)?;
    Ok(format!("Done: {file} is there. \"undo\" takes it back."))
}

pub(crate) fn delete(script: &mut PlanRun<'_>) -> PlanResult {
    let file = script.text("file");
    script.ask(DELETE, &format!("Proposing to delete {file}."), json!({"path": file}))?;
    Ok(format!("Done: {file} is gone. \"undo\" brings it back."))
}

pub(crate) fn move_file(script: &mut PlanRun<'_>) -> PlanResult {
    let [file, to] = ["file", "to"].map(|name| script.text(name));
    let say = format!("Proposing to move {file} to {to}.");
    script.ask(MOVE, &say, json!({"from": file, "to": to}))?;
    Ok(format!("Done: {file} is now {to}. \"undo\" takes it back."))
}
