//! Going back to an earlier message, with or without the files of that moment.

use context_manager::{Charge, ChatContext};
use protocol::{Content, LogEntry, Rewind, RewoundEntries, SessionEvent};
use serde_json::Value;

use crate::session::{Session, SessionError};

/// A message of the user that a conversation can go back to.
#[derive(Clone, Debug, PartialEq)]
pub struct RewindPoint {
    /// Its entry in the log.
    pub sequence: u64,
    /// When it was sent: milliseconds since 1970, UTC.
    pub at: i64,
    /// What was said, to be said again or otherwise.
    pub content: Vec<Content>,
}

/// What becomes of files when a conversation goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RewindFiles {
    /// They stay as they are.
    Keep,
    /// What the session has changed since the message is undone, as one change that can be redone.
    /// Files that others have changed since stay as they are.
    Restore,
}

impl RewindPoint {
    /// The message that an entry holds, if it is one.
    pub fn of(entry: &LogEntry) -> Option<Self> {
        match &entry.event {
            SessionEvent::UserMessage { content } | SessionEvent::UserAdded { content } => {
                let content = content.clone();
                Some(Self { sequence: entry.sequence, at: entry.at, content })
            }
            _ => None,
        }
    }
}

impl Session {
    /// The messages that the conversation can go back to, oldest first.
    pub async fn rewind_points(&self) -> Result<Vec<RewindPoint>, SessionError> {
        if !self.is_stored().await {
            return Ok(Vec::new());
        }
        let entries = self.parts().store.load(self.id()).await?.entries;
        let rewound = RewoundEntries::of(&entries);
        let standing = entries.iter().filter(|entry| !rewound.contains(entry.sequence));
        Ok(standing.filter_map(RewindPoint::of).collect())
    }

    /// Goes back to before the message at this position of the log, as if it had not been said. What was
    /// left open is closed first. Answers with the message, and with what became of the files.
    pub async fn rewind(
        &mut self,
        to: u64,
        files: RewindFiles,
    ) -> Result<(RewindPoint, Rewind), SessionError> {
        let points = self.rewind_points().await?;
        let point = points.into_iter().find(|point| point.sequence == to);
        let point = point.ok_or(SessionError::NotAMessage { sequence: to })?;
        let model = &self.parts().model;
        let unfinished = self.context().unfinished(Charge::of(&*model.provider, model.prices));
        self.write(unfinished).await?;
        let (restored, kept) = match files {
            RewindFiles::Keep => Default::default(),
            RewindFiles::Restore => {
                let entries = self.parts().store.load(self.id()).await?.entries;
                let earlier = entries.iter().take_while(|entry| entry.sequence < to);
                let earlier: Vec<&str> = earlier.filter_map(|it| change_id(&it.event)).collect();
                let undone = self.executor().undo_since(point.at, &earlier).await;
                undone.map_err(SessionError::Files)?
            }
        };
        let rewind = Rewind { to, restored, kept };
        self.write(vec![SessionEvent::Rewound(rewind.clone())]).await?;
        // What counts from here on depends on the whole log.
        let entries = self.parts().store.load(self.id()).await?.entries;
        self.replace_context(ChatContext::replay(&entries));
        Ok((point, rewind))
    }
}

/// The change that a call has made, in a sub-agent too.
fn change_id(event: &SessionEvent) -> Option<&str> {
    match event {
        SessionEvent::CallEnded { result: Ok(value), .. } => {
            value.get("change_id").and_then(Value::as_str)
        }
        SessionEvent::Nested { entry, .. } => change_id(&entry.event),
        _ => None,
    }
}
