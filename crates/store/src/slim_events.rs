//! The fields of events that are counted. Logs hold whole files, and reading those back would make every statistic slow.

use std::collections::BTreeSet;

use protocol::{ApprovalResponse, ForkPoint, Settings, Usage};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use crate::event_data::EventData;

/// The fields that `T` asks for; none if the event does not have them.
pub(crate) fn parse<T: DeserializeOwned>(data: EventData<'_>) -> Option<T> {
    #[derive(Deserialize)]
    struct Event<T> {
        data: T,
    }
    data.parse::<Event<T>>().ok().map(|event| event.data)
}

#[derive(Deserialize)]
pub(crate) struct Nested {
    pub(crate) call_id: String,
    pub(crate) entry: Value,
}

#[derive(Deserialize)]
pub(crate) struct SlimOpened {
    pub(crate) settings: Settings,
    #[serde(default)]
    pub(crate) forked_from: Option<ForkPoint>,
}

#[derive(Deserialize)]
pub(crate) struct SlimAnswer {
    pub(crate) content: Vec<SlimContent>,
    pub(crate) usage: Usage,
    #[serde(default)]
    pub(crate) cost_usd: Option<f64>,
    pub(crate) duration_ms: u64,
}

/// A summary, or an answer that failed: a server may charge for the part that came.
#[derive(Deserialize)]
pub(crate) struct SlimSpending {
    #[serde(default)]
    pub(crate) usage: Usage,
    #[serde(default)]
    pub(crate) cost_usd: Option<f64>,
}

/// Only calls have all of these.
#[derive(Deserialize)]
pub(crate) struct SlimContent {
    #[serde(default)]
    pub(crate) id: Option<String>,
    #[serde(default)]
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) arguments: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SlimQuestion {
    pub(crate) step_id: String,
    pub(crate) tool: String,
    pub(crate) proposal: SlimProposal,
}

#[derive(Deserialize)]
pub(crate) struct SlimProposal {
    #[serde(default)]
    pub(crate) changes: Vec<SlimChange>,
}

#[derive(Deserialize)]
pub(crate) struct SlimChange {
    pub(crate) op: String,
    #[serde(default)]
    pub(crate) path: Option<String>,
}

impl SlimProposal {
    /// The directories of the files that are written; none if anything else happens as well, because
    /// then a yes says more than "write here".
    pub(crate) fn directories(&self) -> BTreeSet<String> {
        let directory = |change: &SlimChange| {
            let path = change.path.as_deref().filter(|_| change.op == "write")?;
            path.rsplit_once('/').map(|(directory, _)| directory.to_owned())
        };
        let all: Option<BTreeSet<String>> = self.changes.iter().map(directory).collect();
        all.unwrap_or_default()
    }
}

#[derive(Deserialize)]
pub(crate) struct AnsweredApproval {
    pub(crate) call_id: String,
    pub(crate) response: ApprovalResponse,
}

#[derive(Deserialize)]
pub(crate) struct SlimEnd {
    pub(crate) call_id: String,
    pub(crate) result: SlimResult,
    pub(crate) duration_ms: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SlimResult {
    Ok(IgnoredAny),
    Error(SlimError),
}

#[derive(Deserialize)]
pub(crate) struct SlimError {
    pub(crate) code: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_plain_writes_below_the_root_have_directories() {
        let proposal = |changes: Value| {
            let slim: SlimProposal = serde_json::from_value(json!({ "changes": changes })).unwrap();
            slim.directories().into_iter().collect::<Vec<_>>().join(" ")
        };
        let write = |path: &str| json!({"op": "write", "path": path});
        assert_eq!(proposal(json!([write("src/a.rs"), write("src/b/c.rs")])), "src src/b");
        assert_eq!(proposal(json!([write("README.md")])), "");
        assert_eq!(proposal(json!([write("src/a.rs"), {"op": "delete", "path": "src/b"}])), "");
        assert_eq!(proposal(json!([])), "");
    }
}
