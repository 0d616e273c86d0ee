//! What can be typed after a slash: commands of the chat that make sense in an editor, and the user's own.

use agent_client_protocol_schema::v1::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, SessionUpdate,
    UnstructuredCommandInput,
};
use context_manager::CompactOutcome;
use protocol::{Content, ErrorCode, ToolCall, ToolError};
use serde_json::{Map, Value};
use session::{RewindFiles, RewindPoint, Session};
use tokio_util::sync::CancellationToken;
use tool_system::History;
use tool_system::extensions::management::{redo, undo};

use crate::editor_host::{EditorProject, SessionReport};

/// Characters of a message that a list shows.
const LISTED_CHARS: usize = 60;

/// A command of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EditorCommand {
    Compact,
    Undo,
    Redo,
    Diff,
    Continue,
    Rewind,
    Fork,
    Rename,
    Report(SessionReport),
}

/// All of them, with what is typed after the name and what they do.
const COMMANDS: &[(&str, EditorCommand, &str, &str)] = &[
    ("compact", EditorCommand::Compact, "", "make the conversation shorter for the model"),
    ("undo", EditorCommand::Undo, "CHANGE, or nothing for the last one", "take back a change"),
    ("redo", EditorCommand::Redo, "", "make a change again that was taken back"),
    ("diff", EditorCommand::Diff, "", "show what this session has changed"),
    ("continue", EditorCommand::Continue, "", "go on after a pause"),
    (
        "rewind",
        EditorCommand::Rewind,
        "NUMBER of a message, with `keep` if files are to stay; nothing lists them",
        "go back to an earlier message",
    ),
    ("fork", EditorCommand::Fork, "", "copy this session"),
    ("rename", EditorCommand::Rename, "TITLE", "name this session"),
    (
        "context",
        EditorCommand::Report(SessionReport::Context),
        "",
        "show what fills the model's window",
    ),
    ("cost", EditorCommand::Report(SessionReport::Cost), "", "show what was used and what it cost"),
    ("jobs", EditorCommand::Report(SessionReport::Jobs), "", "list what runs in the background"),
];

/// What the words of a user mean.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Meant {
    /// They are for the model, as they are or as the user's own command puts them.
    Message(String),
    Command(EditorCommand, String),
    /// A command of the user that cannot be used.
    Refused(String),
}

/// What a command has come to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CommandOutcome {
    /// This is to be told.
    Said(String),
    /// The turn goes on.
    Continues,
}

/// All commands, for the editor to offer.
pub(crate) fn offered(project: &dyn EditorProject) -> SessionUpdate {
    let ours = COMMANDS.iter().map(|(name, _, argument, about)| drawn(name, argument, about));
    let own = project.own_commands();
    let own = own.iter().map(|own| drawn(&own.name, &own.argument, &own.about));
    let update = AvailableCommandsUpdate::new(ours.chain(own).collect());
    SessionUpdate::AvailableCommandsUpdate(update)
}

fn drawn(name: &str, argument: &str, about: &str) -> AvailableCommand {
    let input = (!argument.is_empty())
        .then(|| AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(argument)));
    AvailableCommand::new(name, about).input(input)
}

/// What a text means. A slash before anything that is not a command is a message: a path, or a tool that the guide
/// understands.
pub(crate) fn meant(text: &str, project: &dyn EditorProject) -> Meant {
    let message = || Meant::Message(text.to_owned());
    let Some(rest) = text.trim_start().strip_prefix('/') else { return message() };
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest.trim_end(), ""));
    let argument = argument.trim();
    if let Some((_, command, ..)) = COMMANDS.iter().find(|(known, ..)| *known == name) {
        return Meant::Command(*command, argument.to_owned());
    }
    match project.own_message(name, argument) {
        Some(Ok(message)) => Meant::Message(message),
        Some(Err(why)) => Meant::Refused(why),
        None => message(),
    }
}

impl EditorCommand {
    /// Does it.
    pub(crate) async fn run(
        self,
        argument: &str,
        session: &mut Session,
        project: &dyn EditorProject,
        cancel: &CancellationToken,
    ) -> Result<CommandOutcome, ToolError> {
        let said = match self {
            Self::Continue => return Ok(CommandOutcome::Continues),
            Self::Report(report) => {
                format!("```\n{}\n```", project.report(report, session).await?.trim_end())
            }
            Self::Compact => match session.compact(cancel).await.map_err(broken)? {
                CompactOutcome::Compacted(compaction) => timeline::compacted(&compaction),
                CompactOutcome::NothingToLeaveOut => "Nothing can be left out.".to_owned(),
                CompactOutcome::Cancelled => "Cancelled; nothing has changed.".to_owned(),
            },
            Self::Undo => take_back(undo::NAME, argument, session, cancel).await?,
            Self::Redo => take_back(redo::NAME, "", session, cancel).await?,
            Self::Diff => session_diff(session)?,
            Self::Rewind => rewind(argument, session).await?,
            Self::Fork => fork(session).await?,
            Self::Rename if argument.is_empty() => {
                return Err(wrong("a title is missing", "Type `/rename TITLE`."));
            }
            Self::Rename => {
                session.rename(argument).await.map_err(broken)?;
                format!("This session is now called {argument}.")
            }
        };
        Ok(CommandOutcome::Said(said))
    }
}

/// Undoes or redoes through the very tool, so that the user sees what it does and is asked.
async fn take_back(
    tool: &str,
    change: &str,
    session: &mut Session,
    cancel: &CancellationToken,
) -> Result<String, ToolError> {
    let change = (!change.is_empty()).then(|| ("change_id".to_owned(), Value::from(change)));
    let arguments: Map<String, Value> = change.into_iter().collect();
    let call = ToolCall::new(format!("editor_{tool}"), tool, arguments);
    match session.executor().execute_tool(&call, cancel).await {
        Ok(value) => {
            let paths = value.get("paths").map(ToString::to_string).unwrap_or_default();
            let told = format!("The user has used {tool}; files changed: {paths}");
            session.tell(&told).await.map_err(broken)?;
            Ok(format!("{tool}: done {paths}"))
        }
        Err(error) if error.code == ErrorCode::Rejected => Ok("Nothing was changed.".to_owned()),
        Err(error) => Err(error),
    }
}

fn session_diff(session: &Session) -> Result<String, ToolError> {
    let history: Option<&History> = session.parts().tools.options.history.as_ref();
    let read_only = || wrong("this session is read-only", "Nothing was changed in it.");
    let diff = history.ok_or_else(read_only)?.session_diff(session.id().as_str())?;
    Ok(format!("```diff\n{}\n```", diff.text().trim_end()))
}

async fn rewind(argument: &str, session: &mut Session) -> Result<String, ToolError> {
    let points = session.rewind_points().await.map_err(broken)?;
    if argument.is_empty() {
        return Ok(match points.is_empty() {
            true => "Nothing has been said yet.".to_owned(),
            false => points.iter().zip(1..).map(listed).collect(),
        });
    }
    let mut words = argument.split_whitespace();
    let number = words.next().and_then(|word| word.parse::<usize>().ok());
    let files = match words.next() {
        None => RewindFiles::Restore,
        Some("keep") => RewindFiles::Keep,
        Some(other) => {
            return Err(wrong(
                &format!("`{other}` is not understood"),
                "Type `/rewind NUMBER keep`.",
            ));
        }
    };
    let point = number.and_then(|number| points.get(number.checked_sub(1)?));
    let unknown = || wrong("there is no such message", "Type `/rewind` to list them.");
    let point = point.ok_or_else(unknown)?;
    let (_, rewind) = session.rewind(point.sequence, files).await.map_err(broken)?;
    let mut said = "The conversation goes on from before that message.".to_owned();
    for (what, paths) in
        [("Restored", &rewind.restored), ("Changed since, left alone", &rewind.kept)]
    {
        if !paths.is_empty() {
            said.push_str(&format!(" {what}: {}.", paths.join(", ")));
        }
    }
    Ok(said)
}

fn listed((point, number): (&RewindPoint, usize)) -> String {
    let words = point.content.iter().find_map(|content| match content {
        Content::Text { text } => Some(text.to_string()),
        _ => None,
    });
    let words = words.unwrap_or_default();
    let line: String =
        words.lines().next().unwrap_or_default().chars().take(LISTED_CHARS).collect();
    format!("{number}. {line}\n")
}

async fn fork(session: &Session) -> Result<String, ToolError> {
    if !session.is_stored().await {
        return Ok("Nothing has been said yet, so there is nothing to fork.".to_owned());
    }
    let copy = session.parts().store.fork(session.id(), None).await.map_err(broken)?;
    Ok(format!("The copy is session {copy}; open it from the list of sessions."))
}

fn wrong(message: &str, suggestion: &str) -> ToolError {
    ToolError::new(ErrorCode::InvalidArguments, message).suggest(suggestion)
}

fn broken(error: impl std::fmt::Display) -> ToolError {
    ToolError::new(ErrorCode::ExecutionError, error.to_string())
}
