//! Which instructions of the project the model can see, so that each is told once, and again when it
//! has changed or was left out to make room.

use std::collections::{BTreeMap, HashMap};

use protocol::{ContentHash, Instructions, SessionEvent, estimate_tokens};

use crate::{AgentOptions, ChatContext, LogError, Ports};

/// Of the room in a request, one part in so many may be instructions of directories.
const SHARE: u64 = 8;

/// What the model was told last of each file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Instructed(HashMap<String, ShownVersion>);

#[derive(Clone, Copy, Debug)]
struct ShownVersion {
    version: ContentHash,
    sequence: u64,
    tokens: u64,
}

impl Instructed {
    pub(crate) fn told(&mut self, sequence: u64, told: &Instructions) {
        let (version, tokens) = (told.version, estimate_tokens(&told.text) as u64);
        self.0.insert(told.path.clone(), ShownVersion { version, sequence, tokens });
    }

    /// The tokens of those that stand after the entry `through`.
    fn tokens_after(&self, through: u64) -> u64 {
        self.0.values().filter(|told| told.sequence > through).map(|told| told.tokens).sum()
    }

    /// The version of each file that stands after the entry `through`.
    fn after(&self, through: u64) -> BTreeMap<String, ContentHash> {
        let seen = self.0.iter().filter(|(_, told)| told.sequence > through);
        seen.map(|(path, told)| (path.clone(), told.version)).collect()
    }
}

impl ChatContext {
    /// Tells the model what it cannot see of the instructions for where it works.
    pub(crate) async fn tell_instructions(
        &mut self,
        ports: &Ports,
        options: &AgentOptions,
    ) -> Result<(), LogError> {
        let through = self.conversation().through();
        let known = self.instructed().after(through);
        let taken = self.instructed().tokens_after(through);
        let room = (options.room() / SHARE).saturating_sub(taken);
        let told = ports.tools.instructions(&known, room).await;
        self.record(ports, told.into_iter().map(SessionEvent::Instructed).collect()).await
    }
}
