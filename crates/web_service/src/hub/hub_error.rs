//! What can go wrong with a session that clients share.

use protocol::ToolError;
use session::SessionError;
use store::StoreError;
use team::PeopleError;

/// Why something cannot be done with a session.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// No project has this name.
    #[error("there is no project `{name}`")]
    UnknownProject {
        /// What was looked for.
        name: String,
    },
    /// Several projects are served, so one has to be named.
    #[error("several projects are served: name one")]
    NoProjectNamed,
    /// No project has this session.
    #[error("there is no session `{id}`")]
    UnknownSession {
        /// What was looked for.
        id: String,
    },
    /// A turn runs, which has to end first.
    #[error("a turn runs in this session: interrupt it first, or wait for its end")]
    Working,
    /// No turn runs that could be ended.
    #[error("no turn runs in this session")]
    NotWorking,
    /// There is no pause to go on from.
    #[error("the session is not paused")]
    NotPaused,
    /// The service is about to end.
    #[error("the service is about to end")]
    Closing,
    /// Every session that is open has a turn that runs.
    #[error("too many sessions are at work: wait for the end of one, or interrupt it")]
    TooManyOpen,
    /// Too many messages wait for the running turn.
    #[error("too many messages wait for the running turn: wait for its end, or interrupt it")]
    QueueFull,
    /// The message was taken back before a turn took it.
    #[error("the message was taken back")]
    Withdrawn,
    /// The message was taken by a turn, or there never was one.
    #[error("the message does not wait any more")]
    NotWaiting,
    /// Another answer was first.
    #[error("the question is not open; it may have been answered already")]
    AnsweredAlready,
    /// The replica that has the session open does not answer, and no other could take it up.
    #[error(
        "the session is open in a replica that does not answer: ask again in a moment; a message with an \
         Idempotency-Key still waits and is not repeated by asking again"
    )]
    NoAnswer,
    /// A newer version of Toolkiln asks for something that this one does not know.
    #[error(
        "the replica that has the session open does not know this request ({reason}): update it"
    )]
    NotUnderstood {
        /// What is not understood.
        reason: String,
    },
    /// Another replica refuses.
    #[error("{message}")]
    Refused {
        /// The status of the answer.
        status: u16,
        /// The code of the error.
        code: String,
        /// What it says.
        message: String,
    },
    /// There is only this process, and no inbox that it shares with others.
    #[error("this service has no other replicas")]
    NoReplicas,
    /// The system gives no random bytes.
    #[error("the system gives no random bytes")]
    NoRandomness,
    /// A name of a model or a role means nothing here.
    #[error("{}", .0.message)]
    Named(ToolError),
    /// The message could not be written down.
    #[error("the message could not be written down: {reason}")]
    NotWritten {
        /// What the store says.
        reason: String,
    },
    /// The client may see it, but not do this with it.
    #[error("your role does not allow this")]
    NotAllowed,
    /// The service has no team.
    #[error("this service has no team")]
    NoTeam,
    /// A budget is used up for today.
    #[error("the budget for {scope} is used up: {spent:.2} of {limit:.2} USD today")]
    OverBudget {
        /// What the budget is for.
        scope: String,
        /// US dollars that were spent.
        spent: f64,
        /// US dollars a day.
        limit: f64,
    },
    /// The users cannot be asked for.
    #[error(transparent)]
    People(#[from] PeopleError),
    /// The session refuses.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The store refuses.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<ToolError> for HubError {
    fn from(error: ToolError) -> Self {
        Self::Named(error)
    }
}

impl HubError {
    /// The code of an answer that says that no turn runs.
    pub(crate) const NOT_WORKING: &'static str = "NOT_WORKING";

    /// Whether another replica has the session.
    pub(crate) fn is_in_use(&self) -> bool {
        match self {
            Self::Store(error) | Self::Session(SessionError::Store(error)) => {
                matches!(error, StoreError::InUse { .. })
            }
            _ => false,
        }
    }

    /// Whether there is no such session.
    pub(crate) fn is_gone(&self) -> bool {
        match self {
            Self::Store(error) | Self::Session(SessionError::Store(error)) => {
                matches!(error, StoreError::NotFound { .. })
            }
            Self::UnknownSession { .. } => true,
            _ => false,
        }
    }
}
