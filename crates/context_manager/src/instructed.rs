//! Which instructions of the project the model can see, so that each is told once, and again when it
//! has changed or was left out to make room.

use std::collections::{BTreeMap, HashMap};

use protocol::{ContentHash, Instructions, SessionEvent};

use crate::{ChatContext, Doors, LogError};

/// What the model was told last of each file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Instructed(HashMap<String, Told>);

#[derive(Clone, Copy, Debug)]
struct Told {
    version: ContentHash,
    sequence: u64,
}

impl Instructed {
    pub(crate) fn told(&mut self, sequence: u64, told: &Instructions) {
        let version = told.version;
        self.0.insert(told.path.clone(), Told { version, sequence });
    }

    /// The version of each file that stands after the entry `through`.
    fn after(&self, through: u64) -> BTreeMap<String, ContentHash> {
        let seen = self.0.iter().filter(|(_, told)| told.sequence > through);
        seen.map(|(path, told)| (path.clone(), told.version)).collect()
    }
}

impl ChatContext {
    /// Tells the model what it cannot see of the instructions for where it works.
    pub(crate) async fn tell_instructions(&mut self, doors: &Doors) -> Result<(), LogError> {
        let known = self.instructed().after(self.conversation().through());
        let told = doors.tools.instructions(&known).await;
        self.record(doors, told.into_iter().map(SessionEvent::Instructed).collect()).await
    }
}
