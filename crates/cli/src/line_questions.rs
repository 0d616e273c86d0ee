//! Asks the user at the terminal: shows exactly what would happen and takes the answer.

pub(crate) mod question;

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protocol::{
    ApprovalRequest, ApprovalResponse, Change, ErrorCode, FileBytes, FileDiff, Proposal, ToolCall,
    ToolError, visible,
};
use serde_json::Map;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tool_system::extensions::management::undo;
use tool_system::prelude::async_trait;
use tool_system::{Approver, ToolExecutor};
use workspace::edit_in_program;

use crate::diff_view::{self, Drawn};
use crate::output::{self, Stream};
use question::Withdrawn;
use terminal::OutputStyle;

/// What the user can do where no question is answered.
const HOW_TO_ALLOW: &str =
    "Nothing was done. The user can allow it with --yes or with a rule (--allow 'TOOL:WHAT').";

/// What can be answered, each by its letter or its word alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AnswerKey {
    Yes,
    No,
    Edit,
    Hunks,
    Always,
    Undo,
    Help,
}

const KEYS: [(AnswerKey, &str, &str, &str); 7] = [
    (AnswerKey::Yes, "y", "yes", "do it"),
    (
        AnswerKey::No,
        "n",
        "no",
        "do not; a reason behind it goes to the model, as does any other text",
    ),
    (AnswerKey::Edit, "e", "edit", "edit the proposed text in your editor, then see it again"),
    (AnswerKey::Hunks, "h", "hunks", "pick hunks, then see what is left"),
    (
        AnswerKey::Always,
        "a",
        "always",
        "do it, and do not ask again for what is named under \"Always\"",
    ),
    (AnswerKey::Undo, "u", "undo", "undo the last change that was made, then ask again"),
    (AnswerKey::Help, "?", "help", "this text"),
];

/// What a line that was typed means.
#[derive(Debug, PartialEq, Eq)]
enum TypedAnswer {
    Key(AnswerKey),
    Refusal(Option<String>),
    Nothing,
}

impl TypedAnswer {
    /// Only a whole answer counts. Any other text is a refusal, with that text as the reason.
    fn of(line: &str, is_offered: impl Fn(AnswerKey) -> bool) -> Self {
        let line = line.trim();
        let is = |word: &str| line.eq_ignore_ascii_case(word);
        let key = KEYS.iter().find(|(_, letter, word, _)| is(letter) || is(word));
        match key {
            Some((AnswerKey::No, ..)) => TypedAnswer::Refusal(None),
            Some((key, ..)) if !is_offered(*key) => TypedAnswer::Key(AnswerKey::Help),
            Some((key, ..)) => TypedAnswer::Key(*key),
            None if line.is_empty() => TypedAnswer::Nothing,
            None => {
                let reason = line.split_once(' ').filter(|(word, _)| matches!(*word, "n" | "no"));
                let reason = reason.map_or(line, |(_, reason)| reason.trim());
                TypedAnswer::Refusal(Some(reason.to_owned()))
            }
        }
    }
}

/// The user at a terminal.
pub(crate) struct Terminal {
    /// The command that edits a file.
    editor: Option<String>,
    working: WorkingExecutor,
    /// One question at a time: an answer must not be taken for that to another.
    turn: tokio::sync::Mutex<()>,
}

impl Terminal {
    /// With the command that edits a file, and what `u` at a question undoes through.
    pub(crate) fn new(editor: Option<String>, working: WorkingExecutor) -> Self {
        Self { editor, working, turn: Default::default() }
    }
}

/// The executor that works at the moment, with the role, the rules and the tools that it has now. What the user undoes
/// while a question is open goes through it; as long as there is none, nothing can be undone.
#[derive(Clone, Default)]
pub(crate) struct WorkingExecutor(Arc<Mutex<WorkInHand>>);

#[derive(Default)]
struct WorkInHand {
    executor: Option<ToolExecutor>,
    /// What was undone meanwhile, in words.
    undone: Vec<String>,
}

impl WorkingExecutor {
    /// Lends `executor` until the answer is dropped.
    pub(crate) fn lend(&self, executor: &ToolExecutor) -> LentExecutor {
        *self.locked() = WorkInHand { executor: Some(executor.clone()), undone: Vec::new() };
        LentExecutor(self.clone())
    }

    fn executor(&self) -> Option<ToolExecutor> {
        self.locked().executor.clone()
    }

    fn locked(&self) -> MutexGuard<'_, WorkInHand> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends what was lent: executor and questions would else keep each other for ever.
pub(crate) struct LentExecutor(WorkingExecutor);

impl LentExecutor {
    /// What the user has undone since it was lent, in words.
    pub(crate) fn undone(self) -> Vec<String> {
        std::mem::take(&mut self.0.locked().undone)
    }
}

impl Drop for LentExecutor {
    fn drop(&mut self) {
        self.0.locked().executor = None;
    }
}

/// Whether the user can be asked: questions go to standard error, answers come from standard input.
pub(crate) fn is_attended() -> bool {
    io::stdin().is_terminal() && Stream::Err.is_terminal()
}

#[async_trait]
impl Approver for Terminal {
    async fn decide(&self, request: &ApprovalRequest) -> Result<ApprovalResponse, ToolError> {
        let _turn = self.turn.lock().await;
        screen_catches_up().await;
        let (withdrawn, withdraws) = question::withdrawable().map_err(unusable)?;
        let cancel = CancellationToken::new();
        let _cancels = cancel.clone().drop_guard();
        let asking = OpenQuestion {
            editor: self.editor.clone(),
            style: Stream::Err.style(),
            working: self.working.clone(),
            request: request.clone(),
            withdrawn,
            cancel,
        };
        let answered = tokio::task::spawn_blocking(move || asking.run()).await;
        drop(withdraws);
        answered.map_err(|error| ToolError::new(ErrorCode::Internal, error.to_string()))?
    }
}

/// How often the screen is given way. It shows a hundred entries and more each time.
const GIVING_WAY: usize = 16;

/// Lets the screen show what was written down before the question, such as the card of the call that is
/// asked about: it is another task of the same thread, and the question is drawn by a thread of its own.
async fn screen_catches_up() {
    for _ in 0..GIVING_WAY {
        tokio::task::yield_now().await;
    }
}

struct OpenQuestion {
    editor: Option<String>,
    style: OutputStyle,
    working: WorkingExecutor,
    request: ApprovalRequest,
    withdrawn: Withdrawn,
    /// Ends with the question what was begun while it was open.
    cancel: CancellationToken,
}

impl OpenQuestion {
    fn run(&self) -> Result<ApprovalResponse, ToolError> {
        let request = &self.request;
        let is_offered = |key: AnswerKey| match key {
            AnswerKey::Always => request.remembers.is_some(),
            AnswerKey::Undo => self.working.executor().is_some(),
            _ => true,
        };
        let offered: Vec<_> = KEYS.iter().filter(|(key, ..)| is_offered(*key)).collect();
        let letters: Vec<&str> = offered.iter().map(|(_, letter, ..)| *letter).collect();
        let question = format!("Do it? [{}] ", letters.join("/"));
        self.show(&diff_view::draw(request));
        loop {
            let line = self.prompt(&question).ok_or_else(unanswered)?;
            match TypedAnswer::of(&line, is_offered) {
                TypedAnswer::Nothing => {}
                TypedAnswer::Refusal(reason) => return Ok(ApprovalResponse::no(reason)),
                TypedAnswer::Key(AnswerKey::Yes) => return Ok(request.approve()),
                TypedAnswer::Key(AnswerKey::Always) => return Ok(request.approve_always()),
                TypedAnswer::Key(AnswerKey::Edit) => match self.edited() {
                    Ok(files) if files.is_empty() => say("Nothing was edited."),
                    Ok(files) => return Ok(request.with_files(files)),
                    Err(error) => say(&error.message),
                },
                TypedAnswer::Key(AnswerKey::Hunks) => match self.picked() {
                    Some(hunks) => return Ok(request.with_hunks(hunks)),
                    None => say("Nothing was picked."),
                },
                TypedAnswer::Key(AnswerKey::Undo) => {
                    if let Some(executor) = self.working.executor() {
                        say(&self.undo_last(&executor).unwrap_or_else(|error| error.message));
                    }
                }
                TypedAnswer::Key(AnswerKey::Help | AnswerKey::No) => {
                    for (_, letter, word, about) in &offered {
                        say(&format!("  {letter}, {word:8}{about}"));
                    }
                }
            }
        }
    }

    fn show(&self, lines: &[Drawn]) {
        output::painted(self.style, lines.iter().map(|(ink, line)| (*ink, line.as_str())));
    }

    /// The proposed texts as the user leaves them in the editor; only those that changed.
    fn edited(&self) -> Result<BTreeMap<String, FileBytes>, ToolError> {
        let Some(editor) = &self.editor else {
            let message = "no editor is set: set VISUAL or EDITOR";
            return Err(ToolError::new(ErrorCode::ExecutionError, message));
        };
        let Proposal::Changes(set) = &self.request.proposal else { return Ok(BTreeMap::new()) };
        let mut files = BTreeMap::new();
        for change in &set.changes {
            if let Change::Write { path, content, .. } = change {
                let name = path.rsplit('/').next().unwrap_or(path);
                let bytes = edit_in_program(editor, name, &content.0)?;
                if bytes != content.0 {
                    files.insert(path.clone(), FileBytes(bytes));
                }
            }
        }
        Ok(files)
    }

    /// Asks for each file which of its hunks are wanted; one without hunks counts as one.
    fn picked(&self) -> Option<BTreeMap<String, Vec<usize>>> {
        let mut picked = BTreeMap::new();
        let is_file = |diff: &&FileDiff| diff.kind != protocol::DiffKind::MakeDir;
        for diff in self.request.diffs.iter().filter(is_file) {
            let count = diff.parts();
            for (index, hunk) in diff.hunks.iter().enumerate() {
                self.show(&diff_view::hunk(index + 1, hunk));
            }
            let path = visible(&diff.path);
            let answer =
                self.prompt(&format!("{path}: which of 1-{count}, such as 1,3-4; 0 for none? "))?;
            let chosen = ranges(&answer, count)?;
            if chosen.len() < count {
                picked.insert(diff.path.clone(), chosen);
            }
        }
        (!picked.is_empty()).then_some(picked)
    }

    /// Asks on standard error; `None` if the input has ended.
    fn prompt(&self, question: &str) -> Option<String> {
        question::prompt(question, &self.withdrawn)
    }

    /// Through the tool, so that what it would do is judged, shown and asked about like anything else.
    fn undo_last(&self, executor: &ToolExecutor) -> Result<String, ToolError> {
        let call = ToolCall::new("undo_at_question", undo::NAME, Map::new());
        // Nothing more is undone from the question of its own.
        let own_question = Terminal::new(self.editor.clone(), WorkingExecutor::default());
        let undone = executor.report(&call, &self.cancel, &own_question);
        let report = Handle::current().block_on(undone);
        match report.result {
            Ok(_) => {
                let done = report.title.unwrap_or_else(|| call.name.clone());
                self.working.locked().undone.push(done.clone());
                Ok(format!("{done}. What is proposed may now be out of date; you will be told."))
            }
            Err(error) if error.code == ErrorCode::Rejected => Ok("Nothing was undone.".into()),
            Err(error) => Err(error),
        }
    }
}

/// Reads `1,3-4` as indexes from 0, and `0` as none of them; `None` if it is something else.
fn ranges(text: &str, count: usize) -> Option<Vec<usize>> {
    let mut chosen = Vec::new();
    if text.trim() == "0" {
        return Some(chosen);
    }
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first == 0 || first > last || last > count {
            return None;
        }
        chosen.extend(first - 1..last);
    }
    chosen.sort_unstable();
    chosen.dedup();
    (!chosen.is_empty()).then_some(chosen)
}

fn say(text: &str) {
    crate::output::to_user(text);
}

/// The question could not be read, which is not a no of the user.
fn unanswered() -> ToolError {
    let message = "the question at the terminal was not answered";
    ToolError::new(ErrorCode::ApprovalRequired, message).suggest(HOW_TO_ALLOW)
}

fn unusable(error: io::Error) -> ToolError {
    ToolError::new(ErrorCode::ExecutionError, format!("the user cannot be asked: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_answers_count() {
        let refusal = |text: &str| TypedAnswer::Refusal(Some(text.to_owned()));
        let table = [
            ("y", TypedAnswer::Key(AnswerKey::Yes)),
            (" YES ", TypedAnswer::Key(AnswerKey::Yes)),
            ("a", TypedAnswer::Key(AnswerKey::Always)),
            ("n", TypedAnswer::Refusal(None)),
            ("no", TypedAnswer::Refusal(None)),
            ("", TypedAnswer::Nothing),
            ("n use tabs", refusal("use tabs")),
            ("yes but use tabs", refusal("yes but use tabs")),
            ("y y", refusal("y y")),
            ("ye", refusal("ye")),
            ("ok", refusal("ok")),
            ("all", refusal("all")),
            ("y\u{200b}", refusal("y\u{200b}")),
        ];
        for (line, expected) in table {
            assert_eq!(TypedAnswer::of(line, |_| true), expected, "{line:?}");
        }
        for key in ["a", "undo"] {
            let answer = TypedAnswer::of(key, |_| false);
            assert_eq!(answer, TypedAnswer::Key(AnswerKey::Help), "{key} was not offered");
        }
    }

    #[test]
    fn ranges_are_read_as_people_write_them() {
        let table = [
            ("1", Some(vec![0])),
            ("1,3-4", Some(vec![0, 2, 3])),
            (" 2 - 3 , 1 ", Some(vec![0, 1, 2])),
            ("", None),
            (",", None),
            ("0", Some(vec![])),
            ("0,1", None),
            ("5", None),
            ("3-2", None),
            ("all", None),
        ];
        for (text, expected) in table {
            assert_eq!(ranges(text, 4), expected, "{text}");
        }
    }
}
