//! The names of all files and directories of a project, and those of its symbols, listed on another thread and kept
//! for a while.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use protocol::visible;
use terminal::best_matches;
use tokio::sync::watch;
use tokio::time::timeout;
use tool_system::{CodeBase, NameBounds};
use workspace::{EntryKind, Flow, WalkEntry, WalkOptions, Workspace, available_threads};

/// Names that are kept. Beyond, letters no longer choose well, and a list takes much memory.
const MOST_NAMES: usize = 300_000;

/// How many times sooner a list that has not all names is made again.
const SOONER: u32 = 6;
/// How long the symbols of a project that has no table of them are looked for.
const SYMBOL_TIME: Duration = Duration::from_secs(5);

/// Names that are worth a thread of their own: about a millisecond.
const LEAST_FOR_A_THREAD: usize = 4000;
/// Threads that look for names at once; the user waits for nothing else meanwhile, but others may.
const MOST_THREADS: usize = 8;

/// The names at one moment, in order. Those of directories end with a slash.
#[derive(Debug)]
pub(super) struct ProjectNames {
    names: Vec<String>,
    listed: Instant,
    /// Whether these are all; if not, a new list is made soon.
    pub(super) is_complete: bool,
}

impl ProjectNames {
    /// Ignored names are left out, and those that a terminal would obey or a user not see.
    fn files(workspace: &Workspace) -> (Vec<String>, bool) {
        let options =
            WalkOptions { hidden: true, max_entries: MOST_NAMES, ..WalkOptions::default() };
        let walked = workspace.walk(&options, &|| false, NameCollector::default);
        let threads = walked.map(|(_, threads)| threads).unwrap_or_default();
        let mut names: Vec<String> = threads.into_iter().flat_map(|thread| thread.0).collect();
        names.sort_unstable();
        (names, true)
    }

    /// The names that a project defines.
    fn symbols(code: &CodeBase, max_file_bytes: u64) -> (Vec<String>, bool) {
        let deadline = Instant::now() + SYMBOL_TIME;
        code.symbol_names(&NameBounds { most: MOST_NAMES, max_file_bytes, deadline })
    }

    /// The names of symbols that hold these letters, the best first.
    pub(super) fn holding(&self, letters: &str, most: usize) -> Vec<String> {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        best(letters, &names, most)
    }

    /// The names that are meant by `query`, the best first.
    pub(super) fn matching(&self, query: &str, most: usize) -> Vec<String> {
        let wants_hidden = query.split('/').any(|part| part.starts_with('.'));
        let is_offered = |name: &&str| wants_hidden || !is_hidden(name);
        let (inside, rest) = self.directory_of(query);
        let inside_names = self.below(inside).iter().map(String::as_str).filter(is_offered);
        if rest.is_empty() {
            // What lies in the directory itself, directories first.
            let is_own = |name: &&str| {
                let own = name[inside.len()..].trim_end_matches('/');
                !own.is_empty() && !own.contains('/')
            };
            let own: Vec<&str> = inside_names.filter(is_own).collect();
            let (directories, files): (Vec<&str>, Vec<&str>) =
                own.into_iter().partition(|name| name.ends_with('/'));
            return directories.into_iter().chain(files).take(most).map(str::to_owned).collect();
        }
        let inside_names: Vec<&str> = inside_names.collect();
        let found = best(query, &inside_names, most);
        if !found.is_empty() || inside.is_empty() {
            return found;
        }
        let all: Vec<&str> = self.names.iter().map(String::as_str).filter(is_offered).collect();
        best(query, &all, most)
    }

    /// The directory that the query begins with, if there is such a one, and what follows.
    fn directory_of<'q>(&self, query: &'q str) -> (&'q str, &'q str) {
        let end = query.rfind('/').map_or(0, |at| at + 1);
        let (directory, rest) = query.split_at(end);
        let is_there = self.names.binary_search_by(|name| name.as_str().cmp(directory)).is_ok();
        if is_there { (directory, rest) } else { ("", query) }
    }

    /// All names that begin with this; they stand together.
    fn below(&self, directory: &str) -> &[String] {
        let start = self.names.partition_point(|name| name.as_str() < directory);
        let count = self.names[start..].partition_point(|name| name.starts_with(directory));
        &self.names[start..start + count]
    }
}

/// The best names, looked for on several threads if they are many. The best of all are among the best of
/// each part.
fn best(query: &str, names: &[&str], most: usize) -> Vec<String> {
    let best_of = |names: &[&str]| -> Vec<String> {
        let found = best_matches(query, names.iter().copied(), most);
        found.into_iter().map(|at| names[at].to_owned()).collect()
    };
    let threads = available_threads().min(MOST_THREADS).min(names.len() / LEAST_FOR_A_THREAD);
    if threads < 2 {
        return best_of(names);
    }
    let parts = names.chunks(names.len().div_ceil(threads));
    let mut winners: Vec<String> = thread::scope(|scope| {
        let parts: Vec<_> = parts.map(|part| scope.spawn(|| best_of(part))).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap_or_default()).collect()
    });
    // Of equally good names the first one wins, as in a single list.
    winners.sort_unstable();
    best_of(&winners.iter().map(String::as_str).collect::<Vec<_>>())
}

fn is_hidden(name: &str) -> bool {
    name.starts_with('.') || name.contains("/.")
}

/// Collects what one thread of a walk sees.
#[derive(Default)]
struct NameCollector(Vec<String>);

impl workspace::Visitor for NameCollector {
    fn visit(&mut self, entry: &WalkEntry<'_>) -> Flow {
        let end = match entry.kind() {
            EntryKind::Directory => "/",
            EntryKind::File | EntryKind::Symlink => "",
            _ => return Flow::Continue,
        };
        if let Ok(path) = str::from_utf8(entry.path().as_bytes())
            && visible(path) == path
        {
            self.0.push(format!("{path}{end}"));
        }
        Flow::Continue
    }
}

/// The newest list, and at most one that is being made.
pub(super) struct NameList {
    list: Box<dyn Fn() -> (Vec<String>, bool) + Send + Sync>,
    newest: watch::Sender<Option<Arc<ProjectNames>>>,
    is_listing: AtomicBool,
}

impl NameList {
    pub(super) fn of_files(workspace: Arc<Workspace>) -> Self {
        Self::new(move || ProjectNames::files(&workspace))
    }

    pub(super) fn of_symbols(code: Arc<CodeBase>, max_file_bytes: u64) -> Self {
        Self::new(move || ProjectNames::symbols(&code, max_file_bytes))
    }

    fn new(list: impl Fn() -> (Vec<String>, bool) + Send + Sync + 'static) -> Self {
        let (newest, is_listing) = (watch::Sender::new(None), AtomicBool::new(false));
        Self { list: Box::new(list), newest, is_listing }
    }

    /// The names. A list older than `kept` is made anew; that is waited for as long as `patience` if there is
    /// an older one, and else to its end.
    pub(super) async fn newest(
        self: &Arc<Self>,
        kept: Duration,
        patience: Duration,
    ) -> Arc<ProjectNames> {
        let mut lists = self.newest.subscribe();
        let old = lists.borrow_and_update().clone();
        if let Some(names) = &old
            && names.listed.elapsed() < if names.is_complete { kept } else { kept / SOONER }
        {
            return Arc::clone(names);
        }
        self.start_listing();
        // The sender lives in `self`, so that waiting can only end with a list.
        let newer = lists.wait_for(|names| {
            names
                .as_ref()
                .is_some_and(|names| old.as_ref().is_none_or(|old| !Arc::ptr_eq(old, names)))
        });
        let newer = match old {
            None => newer.await.ok(),
            Some(_) => timeout(patience, newer).await.ok().and_then(Result::ok),
        };
        let newer = newer.and_then(|names| names.clone());
        let none = || {
            Arc::new(ProjectNames { names: Vec::new(), listed: Instant::now(), is_complete: true })
        };
        newer.or(old).unwrap_or_else(none)
    }

    /// Tells of each list that is made.
    #[cfg(test)]
    pub(super) fn lists(&self) -> watch::Receiver<Option<Arc<ProjectNames>>> {
        self.newest.subscribe()
    }

    fn start_listing(self: &Arc<Self>) {
        if !self.is_listing.swap(true, Ordering::AcqRel) {
            let listing = ListingInProgress { list: Arc::clone(self), names: None };
            tokio::task::spawn_blocking(move || listing.run());
        }
    }
}

/// A list in the making. Whatever happens to it, those that wait get one.
struct ListingInProgress {
    list: Arc<NameList>,
    names: Option<ProjectNames>,
}

impl ListingInProgress {
    fn run(mut self) {
        let listed = Instant::now();
        let (names, is_complete) = (self.list.list)();
        self.names = Some(ProjectNames { names, listed, is_complete });
    }
}

impl Drop for ListingInProgress {
    fn drop(&mut self) {
        let none = || ProjectNames { names: Vec::new(), listed: Instant::now(), is_complete: true };
        let names = self.names.take().unwrap_or_else(none);
        self.list.is_listing.store(false, Ordering::Release);
        self.list.newest.send_replace(Some(Arc::new(names)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_threads_find_what_one_would() {
        let count = 3 * LEAST_FOR_A_THREAD;
        let mut names: Vec<String> =
            (0..count).map(|n| format!("module{}/part_{n}.rs", n % 90)).collect();
        names.sort_unstable();
        let all: Vec<&str> = names.iter().map(String::as_str).collect();
        for query in ["p", "part", "part_77", "m5p1", "module7/", "zzz"] {
            let one = best_matches(query, all.iter().copied(), 50);
            let one: Vec<&str> = one.into_iter().map(|at| all[at]).collect();
            assert_eq!(best(query, &all, 50), one, "{query}");
        }
    }
}
