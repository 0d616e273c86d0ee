//! Answers to questions about calls by hand, for the audit. They are in no log of a session.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use context_manager::{LogError, SessionLog};
use protocol::{ApprovalResponse, LogEntry, SessionEvent};
use team::UserId;

use super::SessionTeam;

/// Questions whose tool is known. One that was withdrawn is never answered, and must not stay for ever.
const MOST_KNOWN: usize = 256;

/// An answer to a question about a call by hand.
pub(crate) struct AnswerByHand<'a> {
    pub(crate) project: &'a str,
    /// Whose call it is, as clients name it.
    pub(crate) owner: &'a str,
    pub(crate) tool: &'a str,
    pub(crate) response: &'a ApprovalResponse,
}

/// Writes answers down before anything is done about them, at the replica where they count. So nothing is approved that
/// the audit does not show, whatever becomes of the client that has answered.
pub(super) struct DirectCallAnswers {
    team: Arc<dyn SessionTeam>,
    project: String,
    owner: String,
    /// The calls that ask, with their tools.
    asked: Mutex<VecDeque<(String, String)>>,
}

impl DirectCallAnswers {
    pub(super) fn new(team: Arc<dyn SessionTeam>, project: &str, user: &UserId) -> Self {
        let (project, owner) = (project.to_owned(), name_by_hand(project, Some(user)));
        Self { team, project, owner, asked: Mutex::default() }
    }

    fn asks(&self, call: String, tool: String) {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.push_back((call, tool));
        if asked.len() > MOST_KNOWN {
            asked.pop_front();
        }
    }

    /// The tool of a call that has asked, or its id.
    fn tool_of(&self, call: String) -> String {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let at = asked.iter().position(|(asking, _)| *asking == call);
        at.and_then(|at| asked.remove(at)).map_or(call, |(_, tool)| tool)
    }
}

#[async_trait]
impl SessionLog for DirectCallAnswers {
    async fn append(&self, events: Vec<SessionEvent>) -> Result<Vec<LogEntry>, LogError> {
        for event in events {
            match event {
                SessionEvent::ApprovalAsked(asked) => self.asks(asked.step_id, asked.tool),
                SessionEvent::ApprovalAnswered { call_id, response } => {
                    let tool = self.tool_of(call_id);
                    let (project, owner) = (&self.project, &self.owner);
                    let answer = AnswerByHand { project, owner, tool: &tool, response: &response };
                    let noted = self.team.note_answer(answer).await;
                    noted.map_err(|error| LogError { message: error.to_string() })?;
                }
                _ => {}
            }
        }
        Ok(Vec::new())
    }
}

/// Says in place of a session that a call by hand asks; the name of the project follows, and for a team the user's.
const BY_HAND: &str = "project:";

/// What clients name the calls by hand of a user by, in place of a session.
pub(crate) fn name_by_hand(project: &str, user: Option<&UserId>) -> String {
    match user {
        Some(user) => format!("{BY_HAND}{project}:{user}"),
        None => format!("{BY_HAND}{project}"),
    }
}
