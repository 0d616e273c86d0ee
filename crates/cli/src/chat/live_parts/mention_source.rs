//! What can be mentioned after an `@`: files, directories and symbols of the project.

mod project_names;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use protocol::{AgentRole, ToolCall, visible};
use serde_json::{Map, Value, json};
use terminal::{CandidateKind, MentionCandidate, best_matches};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tool_system::extensions::intelligence::find_definition;
use tool_system::{Caller, ProjectTools, ToolExecutor, Vocabulary};

use project_names::NameList;

/// Candidates of one answer. A list on the screen shows a few of them at a time.
const MOST_CANDIDATES: usize = 50;
/// Symbols among them, so that files stay visible.
const MOST_SYMBOLS: usize = 10;
/// Places of a name that was found by some of its letters.
const MOST_PLACES: usize = 3;
/// Characters from which on symbols are looked for. One letter is the name of too many.
const LEAST_FOR_SYMBOLS: usize = 2;

/// How long an answer may wait for what makes it better.
#[derive(Clone, Copy, Debug)]
struct MentionPatience {
    /// How long names are offered before they are listed again.
    kept: Duration,
    /// How long a newer list is waited for, if there is an older one.
    listing: Duration,
    /// How long symbols are waited for while there are names to show. Without an index a lookup reads many
    /// files, and a list that comes late is of no use to a user who types on.
    symbols: Duration,
    /// How much longer they are waited for if there is nothing else to show.
    only_symbols: Duration,
    /// How long the first list of all symbols is waited for by a search of its own.
    symbol_names: Duration,
}

impl Default for MentionPatience {
    fn default() -> Self {
        Self {
            kept: Duration::from_secs(3),
            listing: Duration::from_millis(5),
            symbols: Duration::from_millis(15),
            only_symbols: Duration::from_millis(200),
            symbol_names: Duration::from_millis(500),
        }
    }
}

/// Finds what a few letters may mean.
pub(crate) struct MentionSource {
    names: Arc<NameList>,
    symbol_names: Arc<NameList>,
    executor: ToolExecutor,
    patience: MentionPatience,
}

impl MentionSource {
    pub(crate) fn new(tools: &ProjectTools) -> Self {
        // A lookup that is repeated is answered again, not referred to, as it is by default.
        let caller = Caller { role: AgentRole::Planner, ..Caller::default() };
        let executor = tools.clone().with_vocabulary(Vocabulary::Standard).executor(caller);
        let names = Arc::new(NameList::of_files(Arc::clone(tools.code.workspace())));
        let max_file_bytes = tools.options.limits.grep_file_bytes;
        let symbol_names = NameList::of_symbols(Arc::clone(&tools.code), max_file_bytes);
        let patience = MentionPatience::default();
        Self { names, symbol_names: Arc::new(symbol_names), executor, patience }
    }

    /// What `query` may mean, the best first. An empty one lists the top directory, and one that ends with a
    /// slash the directory that it names. All work is done on other threads, and ends early if this is dropped.
    pub(crate) async fn candidates(&self, query: &str) -> Vec<MentionCandidate> {
        let lookup = self.symbols(query);
        tokio::pin!(lookup);
        let beside = timeout(self.patience.symbols, &mut lookup);
        let (mut candidates, symbols) = tokio::join!(self.paths(query), beside);
        let symbols = match symbols {
            Ok(symbols) => symbols,
            Err(_) if candidates.is_empty() => {
                timeout(self.patience.only_symbols, lookup).await.unwrap_or_default()
            }
            Err(_) => Vec::new(),
        };
        if symbols.is_empty() {
            return candidates;
        }
        candidates.extend(symbols);
        let texts = candidates.iter().map(|candidate| candidate.text.as_str());
        let best = best_matches(query, texts, MOST_CANDIDATES);
        best.into_iter().map(|at| candidates[at].clone()).collect()
    }

    /// Definitions of names that hold these letters in their order, the best first; one more than are shown if there
    /// are more. And whether all names were looked at, which is not so while the first list of them is being made.
    /// Unlike completion, which is of no use if it comes late, this waits for the definitions.
    pub(crate) async fn symbols_like(&self, letters: &str) -> (Vec<MentionCandidate>, bool) {
        if !can_name_a_symbol(letters) {
            return (Vec::new(), true);
        }
        let cancel = CancellationToken::new();
        let _cancels_on_drop = cancel.clone().drop_guard();
        let (names, is_complete) = self.names_like(letters).await.unwrap_or_default();
        let mut found = Vec::new();
        for name in names {
            // What the letters spell is what is meant, wherever it is defined.
            let most = if name == letters { MOST_SYMBOLS } else { MOST_PLACES };
            found.extend(self.defined(&name, most, &cancel).await.unwrap_or_default());
            if found.len() > MOST_SYMBOLS {
                break;
            }
        }
        if found.is_empty() {
            // The list has no `Cart::total` and no name that only text tells of.
            found = self.defined(letters, MOST_SYMBOLS, &cancel).await.unwrap_or_default();
        }
        (found, is_complete)
    }

    /// Names of symbols, the best first, and whether all were looked at.
    async fn names_like(&self, letters: &str) -> Option<(Vec<String>, bool)> {
        let MentionPatience { kept, listing, symbol_names, .. } = self.patience;
        let names = timeout(symbol_names, self.symbol_names.newest(kept, listing)).await.ok()?;
        let letters = letters.to_owned();
        let finding = move || (names.holding(&letters, MOST_SYMBOLS + 1), names.is_complete);
        tokio::task::spawn_blocking(finding).await.ok()
    }

    async fn paths(&self, query: &str) -> Vec<MentionCandidate> {
        let names = self.names.newest(self.patience.kept, self.patience.listing).await;
        let query = query.to_owned();
        let finding = move || names.matching(&query, MOST_CANDIDATES);
        let found = tokio::task::spawn_blocking(finding).await.unwrap_or_default();
        found.into_iter().map(path_candidate).collect()
    }

    /// The definitions of a name. The lookup ends when this is dropped.
    async fn symbols(&self, query: &str) -> Vec<MentionCandidate> {
        if !can_name_a_symbol(query) {
            return Vec::new();
        }
        let cancel = CancellationToken::new();
        let _cancels_on_drop = cancel.clone().drop_guard();
        self.defined(query, MOST_SYMBOLS, &cancel).await.unwrap_or_default()
    }

    async fn defined(
        &self,
        name: &str,
        most: usize,
        cancel: &CancellationToken,
    ) -> Option<Vec<MentionCandidate>> {
        let arguments = json!({"symbol": name, "context": 0, "max_results": most});
        let arguments: Map<String, Value> = arguments.as_object()?.clone();
        let call = ToolCall::new("completion", find_definition::NAME, arguments);
        let found = self.executor.execute_tool(&call, cancel).await.ok()?;
        let definitions = found.get("definitions")?.as_array()?;
        Some(definitions.iter().filter_map(|found| symbol_candidate(name, found)).collect())
    }
}

/// Whether a definition can have this name, perhaps with that of its container: `Cart::total`.
fn can_name_a_symbol(query: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '.' | '$');
    query.chars().count() >= LEAST_FOR_SYMBOLS
        && query.chars().all(is_part)
        && query.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$'))
        && query.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '$'))
}

fn symbol_candidate(name: &str, found: &Value) -> Option<MentionCandidate> {
    let (path, line) = (found["path"].as_str()?, found["line"].as_u64()?);
    let kind = found["kind"].as_str().filter(|kind| *kind != "import")?;
    (visible(path) == path).then(|| MentionCandidate {
        text: name.to_owned(),
        target: Some(path.to_owned()),
        kind: CandidateKind::Symbol,
        detail: format!("{kind} {path}:{line}"),
    })
}

fn path_candidate(path: String) -> MentionCandidate {
    let is_directory = path.ends_with('/');
    let kind = if is_directory { CandidateKind::Directory } else { CandidateKind::File };
    MentionCandidate { text: path, target: None, kind, detail: String::new() }
}
