//! A conversation at a terminal: what is shown of it, what is typed, and how both share the screen.

mod cards;
mod fuzzy;
mod inline_view;
mod input;
mod live_lines;
mod markdown;
mod modes;
mod notices;
mod output_style;
mod picker;
mod question;
mod screen;
mod status;

pub use cards::{CardPlace, plan};
pub use inline_view::{InlineView, ScreenSize};
pub use input::{
    CandidateKind, CommandHint, CompletionKind, Draft, HistoryWrite, InputAction, InputBox,
    InputHistory, Mention, MentionCandidate, MessageQueue, Submission, SubmissionKind,
    mention_can_begin, mention_of, mentions,
};
pub use live_lines::{LiveLines, LiveStyle};
pub use modes::{KeyModes, restore};
pub use output_style::{Ink, OutputStyle, columns, fit};
pub use picker::{Picker, PickerOutcome};
pub use question::{
    CommentPlace, DEAD_TIME, PanelAnswer, PanelFile, PanelLine, PanelOutcome, PanelPart,
    PanelQuestion, QuestionPanel, RuleLifetime,
};
pub use screen::{Screen, ScreenOptions};
pub use status::{Spinner, StatusActivity, StatusLine};
