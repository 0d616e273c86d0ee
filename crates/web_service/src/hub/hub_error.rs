//! What can go wrong with a session that clients share.

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
