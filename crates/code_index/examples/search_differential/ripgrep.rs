//! The same question, put to ripgrep.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::corpus::MAX_FILE_BYTES;
use crate::patterns::Question;

/// The first line of each match, by path. `None` if the pattern is refused.
pub(crate) type Places = Option<BTreeSet<(String, u64)>>;

pub(crate) struct Ripgrep {
    pub(crate) program: PathBuf,
}

impl Ripgrep {
    pub(crate) fn places(&self, root: &Path, question: &Question) -> Places {
        let mut command = Command::new(&self.program);
        command.current_dir(root).args(["--no-config", "--threads", "1"]);
        // The project's own ignore files count and nothing else does, as with ours.
        command.args(["--no-require-git", "--no-ignore-parent", "--no-ignore-global"]);
        command.args(["--max-filesize", &MAX_FILE_BYTES.to_string(), "--glob", "!.git"]);
        // In JSON a match over several lines is one, but all matches of a line are listed, which
        // takes long where there are thousands.
        if question.multiline {
            command.args(["--multiline", "--json"]);
        } else {
            command.args(["--line-number", "--no-heading", "--null", "--max-columns", "1"]);
        }
        if !question.case_sensitive {
            command.arg("--ignore-case");
        }
        if question.hidden {
            command.arg("--hidden");
        }
        let output = command.args(["--regexp", &question.pattern, "./"]).output();
        let output = output.expect("ripgrep can be started");
        // 0: matches, 1: none, 2: an error. A broken link is no error, as links are not followed.
        if output.status.code() == Some(2) {
            return None;
        }
        let lines = output.stdout.split(|&byte| byte == b'\n');
        let place = if question.multiline { in_json } else { in_text };
        Some(lines.filter_map(place).collect())
    }
}

/// The place in `./path NUL 12:text`; none in a remark on binary data.
fn in_text(line: &[u8]) -> Option<(String, u64)> {
    let nul = line.iter().position(|&byte| byte == 0)?;
    let path = std::str::from_utf8(&line[..nul]).expect("the corpus has names in UTF-8");
    let digits = line[nul + 1..].split(|byte| !byte.is_ascii_digit()).next()?;
    let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some((path.strip_prefix("./").unwrap_or(path).to_owned(), number))
}

#[derive(Deserialize)]
struct Message {
    r#type: String,
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    path: Option<Text>,
    line_number: Option<u64>,
}

#[derive(Deserialize)]
struct Text {
    text: String,
}

fn in_json(line: &[u8]) -> Option<(String, u64)> {
    if line.is_empty() {
        return None;
    }
    let message: Message = serde_json::from_slice(line).expect("ripgrep writes JSON");
    let path = message.data.path.filter(|_| message.r#type == "match")?.text;
    let path = path.strip_prefix("./").unwrap_or(&path).to_owned();
    Some((path, message.data.line_number?))
}
