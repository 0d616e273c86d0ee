//! What the panel is given, and what it answers.

use std::collections::BTreeMap;

use crossterm::event::KeyEvent;
use protocol::QuestionText;

/// What is asked, in words and lines that were made before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PanelQuestion {
    /// The question itself, such as `Edit 2 files, +7 −3?`.
    pub title: String,
    /// Why it is asked, if a rule says so.
    pub reason: Option<String>,
    /// What a careful reader should know first.
    pub warnings: Vec<String>,
    /// What "always" would allow; absent where it is not offered.
    pub rule: Option<String>,
    /// The files that would change.
    pub files: Vec<PanelFile>,
    /// The whole diff, or the command, as it is drawn.
    pub diff: Vec<PanelLine>,
    /// Whether the proposal can be edited.
    pub can_edit: bool,
    /// Which one this is of all that wait, counted from 1, and how many these are.
    pub position: (usize, usize),
}

impl PanelQuestion {
    /// The words of a question. Files, the reason of a rule and a drawn diff are added by the caller.
    pub fn of(text: &QuestionText) -> Self {
        let rule = text.always.as_deref();
        let plain = |line: &str| PanelLine { drawn: line.to_owned(), place: None };
        Self {
            title: text.title.clone(),
            warnings: text.warnings.clone(),
            rule: rule.map(|words| words.strip_prefix("Always: ").unwrap_or(words).to_owned()),
            diff: text.what.lines().map(plain).collect(),
            position: (1, 1),
            ..Self::default()
        }
    }
}

/// A file of the question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PanelFile {
    /// Its path, as answers name it.
    pub path: String,
    /// Lines that come.
    pub added: usize,
    /// Lines that go.
    pub removed: usize,
    /// What can be approved one by one; a file without hunks is one part without lines.
    pub parts: Vec<PanelPart>,
}

/// A hunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PanelPart {
    /// Where it is, such as `line 41`.
    pub title: String,
    /// Its lines as they are drawn.
    pub lines: Vec<String>,
}

/// A line of the diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PanelLine {
    /// The line with its attributes.
    pub drawn: String,
    /// What a comment on it is about; absent for headings.
    pub place: Option<CommentPlace>,
}

impl AsRef<str> for PanelLine {
    fn as_ref(&self) -> &str {
        &self.drawn
    }
}

/// The line of a file that a comment is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommentPlace {
    /// The file.
    pub path: String,
    /// The line, counted from 1.
    pub line: usize,
}

/// How long a rule is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleLifetime {
    /// Until the session ends.
    Session,
    /// For this project, in later sessions too.
    ForGood,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PanelAnswer {
    /// Do it.
    Yes,
    /// Do not, perhaps for a reason that the model reads.
    No(Option<String>),
    /// Do a part: of each file named here, only these hunks, counted from 0. Other files are approved as a whole.
    Parts(BTreeMap<String, Vec<usize>>),
    /// Edit the proposal first.
    Edit,
    /// Do not, because of this line.
    Comment {
        /// The line.
        place: CommentPlace,
        /// What is wrong with it.
        text: String,
    },
    /// Do it, and keep the rule that was shown.
    Always(RuleLifetime),
}

impl PanelAnswer {
    /// Whether something is done because of it.
    pub fn approves(&self) -> bool {
        matches!(self, PanelAnswer::Yes | PanelAnswer::Parts(_) | PanelAnswer::Always(_))
    }
}

/// What came of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PanelOutcome {
    /// The keys are for the input box, in this order.
    ToInput(Vec<KeyEvent>),
    /// What is drawn has changed.
    Changed,
    /// The question is answered. Editing and comments leave it to the caller whether it stays.
    Answer(PanelAnswer),
}
