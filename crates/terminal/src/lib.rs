//! A conversation at a terminal: what is shown of it, what is typed, and how both share the screen.

mod cards;
mod columns;
mod diff;
mod fuzzy;
mod ink;
mod inline_view;
mod input;
mod live_lines;
mod markdown;
mod modes;
mod notices;
mod notification;
mod output_style;
mod pager;
mod picker;
mod question;
mod screen;
mod status;
mod syntax;
mod viewer;

pub use cards::{CardPlace, last_lines, plan, running, wrapped_line};
pub use columns::{columns, fit};
pub use diff::{DiffView, SourceLine};
pub use fuzzy::best_matches;
pub use ink::Ink;
pub use inline_view::{InlineView, ScreenSize};
pub use input::{
    CandidateKind, CommandHint, CompletionKind, Draft, HistoryWrite, InputAction, InputBox,
    InputHistory, Mention, MentionCandidate, MessageQueue, Submission, SubmissionKind,
    mention_can_begin, mention_of, mentions,
};
pub use live_lines::{LiveLines, LiveStyle, wrap_painted};
pub use modes::{FoundModes, KeyModes, restore};
pub use notification::{Notification, NotificationKind};
pub use output_style::OutputStyle;
pub use picker::{Picker, PickerOutcome};
pub use question::{
    CommentPlace, DEAD_TIME, KeyMoment, PanelAnswer, PanelFile, PanelLine, PanelOutcome, PanelPart,
    PanelQuestion, QuestionPanel, RuleLifetime,
};
pub use screen::{Screen, ScreenOptions};
pub use status::{Spinner, StatusActivity, StatusLine};
pub use viewer::{Viewer, ViewerSheet};
