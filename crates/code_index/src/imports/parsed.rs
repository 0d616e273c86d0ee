//! What is known about files once they were parsed, within a question and across questions. It is for `find_importers`
//! and `impact`, which meet the same files again with every question; no bench has a target for it.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use protocol::ContentHash;
use workspace::RelPath;

use super::extract::{FileFacts, extract};
use super::project_files::{ProjectFiles, stem_of};

/// How many imports are remembered across questions; about 300 bytes each.
const REMEMBERED_IMPORTS: usize = 100_000;

/// Facts across questions, by content: a file is read again for each question and parsed only if
/// this content was not parsed before. So nothing here can be out of date.
static REMEMBERED: LazyLock<Mutex<Remembered>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct Remembered {
    facts: HashMap<ParsedKey, Arc<FileFacts>>,
    imports: usize,
}

/// The content, and what of the name decides how it is understood.
type ParsedKey = (ContentHash, Box<[u8]>, bool);

/// The parsed files of one question.
pub(super) struct ParsedFiles {
    files: Arc<dyn ProjectFiles>,
    known: Mutex<HashMap<RelPath, Arc<FileFacts>>>,
}

impl ParsedFiles {
    pub(super) fn new(files: Arc<dyn ProjectFiles>) -> ParsedFiles {
        ParsedFiles { files, known: Mutex::default() }
    }

    /// The facts of a file, which is read if it was not before.
    pub(super) fn facts(&self, path: &RelPath) -> Arc<FileFacts> {
        if let Some(facts) = locked(&self.known).get(path) {
            return Arc::clone(facts);
        }
        match self.files.read(path) {
            Some(bytes) => self.learn(path, &bytes),
            None => Arc::default(),
        }
    }

    /// The facts of a file with this content.
    pub(super) fn learn(&self, path: &RelPath, bytes: &[u8]) -> Arc<FileFacts> {
        let key = (
            ContentHash::of(bytes),
            path.extension().unwrap_or_default().into(),
            stem_of(path) == "__init__",
        );
        let remembered = locked(&REMEMBERED).facts.get(&key).cloned();
        let facts =
            remembered.unwrap_or_else(|| match extract(path, bytes, &|| self.files.is_over()) {
                Some(facts) => remember(key, facts),
                None => Arc::default(),
            });
        locked(&self.known).insert(path.clone(), Arc::clone(&facts));
        facts
    }
}

fn remember(key: ParsedKey, facts: FileFacts) -> Arc<FileFacts> {
    let weight = facts.imports.len() + 1;
    let facts = Arc::new(facts);
    let mut remembered = locked(&REMEMBERED);
    if remembered.imports + weight > REMEMBERED_IMPORTS {
        *remembered = Remembered::default();
    }
    remembered.imports += weight;
    remembered.facts.insert(key, Arc::clone(&facts));
    facts
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
