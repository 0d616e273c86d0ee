//! How commands are confined, for the page.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use sandbox::Launcher;

use crate::environment;

/// How commands are confined. Finding out starts processes, so it is done once, when it is first asked for,
/// and not waited for.
#[derive(Clone, Default)]
pub(super) struct SandboxFact {
    found: Arc<OnceLock<String>>,
    looking: Arc<AtomicBool>,
}

impl SandboxFact {
    pub(super) fn known(told: &str) -> Self {
        let fact = Self::default();
        let _ = fact.found.set(told.to_owned());
        fact
    }

    pub(super) fn told(&self, root: &Path) -> Option<String> {
        if self.found.get().is_none() && !self.looking.swap(true, Ordering::AcqRel) {
            let (found, root) = (Arc::clone(&self.found), root.to_owned());
            tokio::task::spawn_blocking(move || {
                let home = environment::confinement(&root).home;
                let level = sandbox::probe(&root, &home, &Launcher::this_program()).level;
                let none = || "commands cannot be confined, so none is run".to_owned();
                let _ = found.set(level.map_or_else(none, |level| level.summary()));
            });
        }
        self.found.get().cloned()
    }
}
