//! What is kept about servers: what they said last, and what the user has approved of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use protocol::ContentHash;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::definition::ForeignDefinition;
use crate::handshake::Era;

/// A place for small files with plain names.
pub trait Shelf: Send + Sync {
    /// The content of a file, if there is one.
    fn read(&self, name: &str) -> Option<Vec<u8>>;

    /// Makes `bytes` the content of a file, or says why that cannot be.
    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), String>;
}

/// Where it is kept.
#[derive(Clone)]
pub struct ServerRecords {
    /// What can be asked for again.
    pub cache: Arc<dyn Shelf>,
    /// What only the user can say again.
    pub approvals: Arc<dyn Shelf>,
}

/// What a server said last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LastSaid {
    identity: String,
    pub(crate) era: Option<Era>,
    pub(crate) tools: Vec<Value>,
}

/// What the user has approved of a server's tools.
#[derive(Default, Serialize, Deserialize)]
struct Approvals {
    tools: BTreeMap<String, ApprovedDefinition>,
}

#[derive(Serialize, Deserialize)]
struct ApprovedDefinition {
    hash: ContentHash,
    shown: String,
}

impl ServerRecords {
    /// What the server with this identity said last.
    pub(crate) fn last_said(&self, key: &str, identity: ContentHash) -> Option<LastSaid> {
        let said: LastSaid = parsed(&*self.cache, key)?;
        (said.identity == identity.to_string()).then_some(said)
    }

    /// Keeps what a server said. That this fails costs time at the next start, and no more.
    pub(crate) fn keep_said(&self, key: &str, identity: ContentHash, era: Era, tools: Vec<Value>) {
        let said = LastSaid { identity: identity.to_string(), era: Some(era), tools };
        if parsed::<LastSaid>(&*self.cache, key).as_ref() != Some(&said) {
            let _ = written(&*self.cache, key, &said);
        }
    }

    /// What the user has not agreed to of a definition; none if exactly this was approved.
    pub(crate) fn news(&self, key: &str, definition: &ForeignDefinition) -> Option<String> {
        let approvals: Approvals = parsed(&*self.approvals, key).unwrap_or_default();
        let known = approvals.tools.get(&definition.tool);
        match known {
            Some(known) if known.hash == definition.hash => None,
            known => Some(definition.news(known.map(|known| known.shown.as_str()))),
        }
    }

    /// Keeps that the user has approved these definitions.
    pub(crate) fn approve<'d>(
        &self,
        key: &str,
        definitions: impl IntoIterator<Item = &'d ForeignDefinition>,
    ) -> Result<(), String> {
        let mut approvals: Approvals = parsed(&*self.approvals, key).unwrap_or_default();
        for ForeignDefinition { tool, hash, shown, .. } in definitions {
            let approved = ApprovedDefinition { hash: *hash, shown: shown.clone() };
            approvals.tools.insert(tool.clone(), approved);
        }
        written(&*self.approvals, key, &approvals)
    }
}

fn file(key: &str) -> String {
    format!("{key}.json")
}

/// A file that is damaged counts as none.
fn parsed<T: DeserializeOwned>(shelf: &dyn Shelf, key: &str) -> Option<T> {
    serde_json::from_slice(&shelf.read(&file(key))?).ok()
}

fn written(shelf: &dyn Shelf, key: &str, content: &impl Serialize) -> Result<(), String> {
    let bytes = serde_json::to_vec(content).map_err(|error| error.to_string())?;
    shelf.write(&file(key), &bytes)
}
