//! How a server is started, or reached for the first time.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::ForeignServer;
use crate::handshake::{Era, greet, list_tools};
use crate::peer::{Lost, Peer};

/// How long a server may take until its tools are known. Some install themselves first.
const START_LIMIT: Duration = Duration::from_secs(60);

/// A server that runs, the era that it speaks, and the tools that it lists.
pub(super) type Started = (Arc<Peer>, Era, Vec<Value>);

/// Why a server does not run.
pub(super) struct NotStarted {
    pub(super) why: String,
    /// The last that it wrote to its standard error.
    pub(super) words: String,
    pub(super) is_for: StartFailure,
}

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StartFailure {
    /// It ended before it said anything.
    Ended,
    /// It answers only users who have logged in.
    NeedsLogin,
    Other,
}

impl ForeignServer {
    /// Starts it and asks for its tools. A few servers end when they are asked in the modern way; they
    /// are started once more.
    pub(super) async fn started(&self, known: Option<Era>) -> Result<Started, NotStarted> {
        // It is only closed with the process.
        let _turn = self.starts.acquire().await;
        match self.started_as(known).await {
            Err(NotStarted { is_for: StartFailure::Ended, .. }) if known != Some(Era::Legacy) => {
                self.started_as(Some(Era::Legacy)).await
            }
            first => first,
        }
    }

    async fn started_as(&self, known: Option<Era>) -> Result<Started, NotStarted> {
        let peer = Peer::new();
        (self.connect)(&peer).map_err(|why| NotStarted {
            why,
            words: String::new(),
            is_for: StartFailure::Other,
        })?;
        let talking = async {
            let era = greet(&peer, known).await?;
            Ok((era, list_tools(&peer, era).await?))
        };
        let talked: Result<_, Lost> = match tokio::time::timeout(START_LIMIT, talking).await {
            Ok(talked) => talked,
            Err(_) => {
                let seconds = START_LIMIT.as_secs();
                Err(Lost::Unsent(format!("it did not begin to answer within {seconds} s")))
            }
        };
        let (why, is_for) = match talked {
            Ok((era, listed)) => return Ok((peer, era, listed)),
            Err(Lost::NeedsLogin(why)) => (why, StartFailure::NeedsLogin),
            Err(Lost::Unsent(why) | Lost::Ended(why)) if peer.end().is_some() => {
                (why, StartFailure::Ended)
            }
            Err(Lost::Unsent(why) | Lost::Ended(why)) => (why, StartFailure::Other),
            Err(Lost::Busy) => ("it does not read what it is sent".to_owned(), StartFailure::Other),
        };
        Err(NotStarted { why, words: peer.last_words(), is_for })
    }
}
