//! Replays what really happened to published packages, by our own tools.
//!
//! `cargo run -p tool_system --example replay_history -- DIRECTORY…`
//!
//! Each directory holds a version of a package and is called `name-version`; of two neighbours with
//! the same name the second is the next version of the first. A copy of the old version is made
//! into the new one in each of several ways. After each way every file of the
//! tree must hold exactly the bytes of the new version, and after undoing it exactly those of the
//! old one. Where a way is not always clear, a call may be refused, and then its file must be as it
//! was; it is never anything else.
#![allow(clippy::print_stdout, reason = "a checking program reports on the terminal")]

mod blocks;
mod expressing;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use protocol::ToolCall;
use serde_json::{Map, Value, json};
use testkit::Fixture;
use tokio_util::sync::CancellationToken;
use tool_system::{
    ApproveAll, Caller, ExecutorOptions, JournalPerformer, OnDemand, ProjectTools, ToolExecutor,
    ToolRegistry,
};
use workspace::{
    EntryKind, Flow, Journal, JournalOptions, Visitor, WalkEntry, WalkOptions, Workspace,
};

use crate::expressing::{FileChange, Way, calls};

const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

#[tokio::main]
async fn main() -> ExitCode {
    let directories: Vec<String> = std::env::args().skip(1).collect();
    // All at once: every step has a project of its own.
    let begun = directories
        .chunk_by(|left, right| package(left) == package(right))
        .map(|versions| {
            let steps = versions.array_windows();
            let steps = steps.map(|[old, new]| tokio::spawn(replay(old.into(), new.into())));
            (versions, steps.collect::<Vec<_>>())
        })
        .collect::<Vec<_>>();
    let mut total = Score::default();
    for (versions, steps) in begun {
        let mut score = Score::default();
        for step in steps {
            score.add(step.await.expect("a step that does not panic"));
        }
        let Score { files, passed, detours, refused, .. } = score;
        println!(
            "{:16} {} steps, {files} changed files, {passed} passed ({detours} by a detour), {refused} refused",
            package(&versions[0]),
            versions.len() - 1,
        );
        score.failures.iter().for_each(|failure| println!("FAILED {failure}"));
        total.add(score);
    }
    println!("{} passed, {} refused, {} failed", total.passed, total.refused, total.failures.len());
    let is_good = total.failures.is_empty() && total.passed > 0;
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The name in `…/name-1.2.3`.
fn package(directory: &str) -> &str {
    let name = Path::new(directory).file_name().and_then(|name| name.to_str()).unwrap_or(directory);
    name.rsplit_once('-').map_or(name, |(name, _)| name)
}

#[derive(Default)]
struct Score {
    /// Files that differ between two versions.
    files: usize,
    /// Files that became what they should, once for each way.
    passed: usize,
    /// How many of them the way has no words for, so that another way was taken for the file.
    detours: usize,
    /// Files that were left alone because the change was not clear.
    refused: usize,
    failures: Vec<String>,
}

impl Score {
    fn add(&mut self, mut other: Score) {
        self.files += other.files;
        self.passed += other.passed;
        self.detours += other.detours;
        self.refused += other.refused;
        self.failures.append(&mut other.failures);
    }
}

/// Makes one version into the next in every way.
async fn replay(old: PathBuf, new: PathBuf) -> Score {
    let name = new.file_name().unwrap_or_default().to_string_lossy();
    let (old, new) = (tree(&open(&old)), tree(&open(&new)));
    let paths: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let content = |tree: &'_ Tree, path: &str| tree.get(path).cloned().flatten();
    let changes: Vec<FileChange> = paths
        .into_iter()
        .map(|path| FileChange {
            path: path.clone(),
            old: content(&old, path),
            new: content(&new, path),
        })
        .filter(|change| change.old != change.new)
        .collect();
    let mut score = Score { files: changes.len(), ..Score::default() };
    for way in Way::ALL {
        // A fresh copy for each way, so that one that fails spoils no other.
        let bench = Bench::holding(&old);
        match bench.there_and_back(way, &changes, &old, &new).await {
            Ok(Replayed { detours, refused }) => {
                score.passed += changes.len() - refused;
                score.detours += detours;
                score.refused += refused;
            }
            Err(problem) => score.failures.push(format!("{name}, {way:?}: {problem}")),
        }
    }
    score
}

/// How many files took another way than asked, and how many were left alone.
struct Replayed {
    detours: usize,
    refused: usize,
}

/// The content of every file by its path; directories have none.
type Tree = BTreeMap<String, Option<Vec<u8>>>;

fn open(directory: &Path) -> Workspace {
    Workspace::open(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()))
}

fn tree(workspace: &Workspace) -> Tree {
    let options = WalkOptions { hidden: true, respect_ignore: false, ..WalkOptions::default() };
    let (report, found) = workspace.walk(&options, &|| false, Found::default).expect("a walk");
    assert!(!report.entries_limited && report.unreadable.is_empty(), "not all of it was read");
    found.into_iter().flat_map(|found| found.0).collect()
}

#[derive(Default)]
struct Found(Tree);

impl Visitor for Found {
    fn visit(&mut self, entry: &WalkEntry<'_>) -> Flow {
        let content = (entry.kind() != EntryKind::Directory).then(|| {
            let bytes = entry.open().and_then(|mut file| file.read_all(MAX_FILE_BYTES));
            bytes.unwrap_or_else(|error| panic!("{}: {error}", entry.path()))
        });
        self.0.insert(entry.path().to_text(), content);
        Flow::Continue
    }
}

/// A copy of a package that tools may change, all of whose proposals are approved.
struct Bench {
    workspace: Arc<Workspace>,
    executor: ToolExecutor,
    // Held for its drop alone.
    _project: Fixture,
}

impl Bench {
    fn holding(files: &Tree) -> Bench {
        let project = Fixture::new("");
        for (path, content) in files {
            content.iter().for_each(|content| project.write(path, content));
        }
        let workspace = Arc::new(open(project.root()));
        let state = project.root().with_file_name("state");
        let journal = Journal::open(Arc::clone(&workspace), &state, JournalOptions::default());
        let journal = Arc::new(OnDemand::from(Arc::new(journal.expect("a journal"))));
        let options = ExecutorOptions {
            performer: Some(Arc::new(JournalPerformer::new(Arc::clone(&journal)))),
            history: Some(tool_system::History::of(journal)),
            ..ExecutorOptions::default()
        };
        let tools = ProjectTools::new(ToolRegistry::builtin(), Arc::clone(&workspace), options);
        let approver = Arc::new(ApproveAll);
        let session = "replay".to_owned();
        let executor = tools.executor(Caller { session, approver, ..Caller::default() });
        Bench { workspace, executor, _project: project }
    }

    /// Makes all changes and takes them back.
    async fn there_and_back(
        &self,
        way: Way,
        changes: &[FileChange],
        old: &Tree,
        new: &Tree,
    ) -> Result<Replayed, String> {
        let (calls, detours) = calls(way, changes);
        let mut expected = new.clone();
        let mut ids = Vec::new();
        let mut refused = 0;
        for (tool, arguments) in &calls {
            match self.call(tool, arguments).await {
                Ok(done) => ids.push(done["change_id"].clone()),
                // All changes of such a call are to one file.
                Err(_) if way.may_be_refused() && arguments["changes"][0]["search"].is_string() => {
                    let path = arguments["changes"][0]["path"].as_str().unwrap_or_default();
                    expected.insert(path.to_owned(), old.get(path).cloned().flatten());
                    refused += 1;
                }
                Err(problem) => return Err(problem),
            }
        }
        // A directory that lost its last file is still there; a package has no such directories.
        let mut changed = tree(&self.workspace);
        changed.retain(|path, content| content.is_some() || new.contains_key(path));
        difference(&changed, &expected)
            .map_or(Ok(()), |where_| Err(format!("changing, {where_}")))?;
        let undos: Vec<Value> = match way {
            _ if ids.is_empty() => Vec::new(),
            Way::Patch => vec![json!({}); ids.len()],
            Way::WholeFiles => ids.iter().rev().map(|id| json!({"change_id": id})).collect(),
            _ => vec![json!({"session": true})],
        };
        for arguments in &undos {
            self.call("undo", arguments).await?;
        }
        let replayed = Replayed { detours, refused };
        difference(&tree(&self.workspace), old)
            .map_or(Ok(replayed), |where_| Err(format!("undoing, {where_}")))
    }

    async fn call(&self, tool: &str, arguments: &Value) -> Result<Value, String> {
        let arguments: Map<String, Value> = arguments.as_object().cloned().unwrap_or_default();
        let path = arguments.get("path").cloned().unwrap_or_default();
        let call = ToolCall::new("c", tool, arguments);
        let result = self.executor.execute_tool(&call, &CancellationToken::new()).await;
        result.map_err(|error| format!("{tool} {path} was refused: {error}"))
    }
}

/// The first file that is not as it should be, and where.
fn difference(found: &Tree, expected: &Tree) -> Option<String> {
    let paths: BTreeSet<&String> = found.keys().chain(expected.keys()).collect();
    let path = paths.into_iter().find(|path| found.get(*path) != expected.get(*path))?;
    let (Some(found), Some(expected)) = (found.get(path), expected.get(path)) else {
        return Some(format!("{path}: is there: {}", found.contains_key(path)));
    };
    let found = found.as_deref().unwrap_or_default();
    let expected = expected.as_deref().unwrap_or_default();
    let same = found.iter().zip(expected).take_while(|(left, right)| left == right).count();
    let line = found[..same].iter().filter(|byte| **byte == b'\n').count();
    let shown = |bytes: &[u8]| {
        let line = bytes.split_inclusive(|byte| *byte == b'\n').nth(line).unwrap_or_default();
        String::from_utf8_lossy(line).into_owned()
    };
    let (found, expected) = (shown(found), shown(expected));
    Some(format!("{path}:{}: {found:?} instead of {expected:?}", line + 1))
}
