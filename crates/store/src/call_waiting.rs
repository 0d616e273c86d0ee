//! How long calls waited for the user, so that statistics count working time only. Pure.

use std::collections::HashMap;

use protocol::Waiting;
use serde::{Deserialize, Serialize};

/// The waiting of the calls of one session. A call is named by the path of its agent and its own id.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct CallWaiting(HashMap<String, CallWait>);

#[derive(Default, Serialize, Deserialize)]
struct CallWait {
    #[serde(with = "waiting_parts")]
    waiting: Waiting,
    /// Whether the call itself asks, and not a sub-agent that works for it.
    is_asking: bool,
}

impl CallWaiting {
    /// The call waits for the user, and with it every call that it works for.
    pub(crate) fn asked(&mut self, agent: &str, call_id: &str, at: i64) {
        let call = path(agent, call_id);
        let wait = self.0.entry(call.clone()).or_default();
        if !std::mem::replace(&mut wait.is_asking, true) {
            with_ancestors(&call, |call| {
                self.0.entry(call.to_owned()).or_default().waiting.begin(at);
            });
        }
    }

    /// The call has its answer.
    pub(crate) fn answered(&mut self, agent: &str, call_id: &str, at: i64) {
        let call = path(agent, call_id);
        let Some(wait) = self.0.get_mut(&call) else { return };
        if std::mem::take(&mut wait.is_asking) {
            with_ancestors(&call, |call| {
                self.0.entry(call.to_owned()).or_default().waiting.end(at);
            });
        }
    }

    /// The call has ended, answered or not. How much of its time it worked.
    pub(crate) fn ended(&mut self, agent: &str, call_id: &str, at: i64, duration_ms: u64) -> u64 {
        self.answered(agent, call_id, at);
        let wait = self.0.remove(&path(agent, call_id));
        duration_ms.saturating_sub(wait.map_or(0, |wait| wait.waiting.until(at)))
    }
}

/// A [`Waiting`] with all of its parts; what clients read of it has not all.
mod waiting_parts {
    use protocol::Waiting;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    pub(super) fn serialize<S: Serializer>(waiting: &Waiting, out: S) -> Result<S::Ok, S::Error> {
        waiting.parts().serialize(out)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Waiting, D::Error> {
        Ok(Waiting::from_parts(<(u64, Option<i64>, u32)>::deserialize(input)?))
    }
}

fn path(agent: &str, call_id: &str) -> String {
    format!("{agent}/{call_id}")
}

/// Goes from a call to the one whose sub-agent made it, and so on.
fn with_ancestors(call: &str, mut each: impl FnMut(&str)) {
    let mut next = call;
    while !next.is_empty() {
        each(next);
        next = next.rsplit_once('/').map_or("", |(above, _)| above);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_do_not_work_while_they_or_their_sub_agents_ask() {
        let mut waiting = CallWaiting::default();
        waiting.asked("", "edit", 1_000);
        waiting.answered("", "edit", 4_000);
        assert_eq!(waiting.ended("", "edit", 5_000, 4_500), 1_500);
        // Two sub-agents of one call ask at the same time; the second is never answered.
        waiting.asked("/task", "a", 1_000);
        waiting.asked("/task", "b", 2_000);
        waiting.answered("/task", "a", 3_000);
        assert_eq!(waiting.ended("/task", "b", 6_000, 5_000), 1_000);
        assert_eq!(waiting.ended("", "task", 9_000, 9_000), 4_000);
        assert_eq!(waiting.ended("", "other", 9_000, 7), 7);
    }
}
