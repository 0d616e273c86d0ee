//! Replays what really happened to published packages, by our own tools.
//!
//! `cargo run -p tool_system --example replay_history -- OLD NEW [OLD NEW]…`
//!
//! The arguments are pairs of directories with two successive versions of a package. A copy of the
//! old version is made into the new one in each of several ways. After each way every file of the
//! tree must hold exactly the bytes of the new version, and after undoing it exactly those of the
//! old one.
#![allow(clippy::print_stdout, reason = "a checking program reports on the terminal")]

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use protocol::ToolCall;
use serde_json::{Map, Value, json};
use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};
use testkit::Fixture;
use tokio_util::sync::CancellationToken;
use tool_system::{
    ApproveAll, ExecutorOptions, JournalPerformer, OnDemand, ToolExecutor, ToolRegistry,
};
use workspace::{
    Entry, EntryKind, Flow, Journal, JournalOptions, LineEnding, Text, Visitor, WalkOptions,
    Workspace,
};

const CONTEXT_LINES: usize = 3;
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (pairs, []) = arguments.as_chunks::<2>() else {
        println!("usage: replay_history OLD NEW [OLD NEW]…");
        return ExitCode::from(2);
    };
    let mut total = Score::default();
    for same in pairs.chunk_by(|[left, _], [right, _]| package(left) == package(right)) {
        let mut score = Score::default();
        for [old, new] in same {
            replay(Path::new(old), Path::new(new), &mut score).await;
        }
        let Score { files, passed, detours, .. } = score;
        println!(
            "{:16} {} steps, {files} files, {passed} passed, {detours} by another way",
            package(&same[0][0]),
            same.len(),
        );
        score.failures.iter().for_each(|failure| println!("FAILED {failure}"));
        total.passed += score.passed;
        total.failures.append(&mut score.failures);
    }
    println!("{} passed, {} failed", total.passed, total.failures.len());
    if total.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
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
    failures: Vec<String>,
}

/// How the change of a file is expressed.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// All files in one unified diff.
    Patch,
    /// All files in one call with search/replace blocks.
    Blocks,
    /// A call for each place, from the bottom up.
    Lines,
    /// A call for each file, with all of its text.
    WholeFiles,
}

async fn replay(old: &Path, new: &Path, score: &mut Score) {
    let name = new.file_name().unwrap_or_default().to_string_lossy();
    let (old, new) = (tree(&open(old)), tree(&open(new)));
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
    score.files += changes.len();
    for way in [Way::Patch, Way::Blocks, Way::Lines, Way::WholeFiles] {
        // A fresh copy for each way, so that one that fails spoils no other.
        let bench = Bench::holding(&old);
        match bench.there_and_back(way, &changes, &old, &new).await {
            Ok(detours) => {
                score.passed += changes.len();
                score.detours += detours;
            }
            Err(problem) => score.failures.push(format!("{name}, {way:?}: {problem}")),
        }
    }
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
    fn visit(&mut self, entry: &Entry<'_>) -> Flow {
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
            session: "replay".into(),
            approver: Arc::new(ApproveAll),
            performer: Some(Arc::new(JournalPerformer::new(Arc::clone(&journal)))),
            journal: Some(journal),
            ..ExecutorOptions::default()
        };
        let registry = Arc::new(ToolRegistry::builtin());
        let executor = ToolExecutor::new(registry, Arc::clone(&workspace), options);
        Bench { workspace, executor, _project: project }
    }

    /// Makes all changes and takes them back. The answer is how many took another way.
    async fn there_and_back(
        &self,
        way: Way,
        changes: &[FileChange],
        old: &Tree,
        new: &Tree,
    ) -> Result<usize, String> {
        let (calls, detours) = calls(way, changes);
        let mut ids = Vec::new();
        for (tool, arguments) in &calls {
            ids.push(self.call(tool, arguments).await?["change_id"].clone());
        }
        // A directory that lost its last file is still there; a package has no such directories.
        let mut changed = tree(&self.workspace);
        changed.retain(|path, content| content.is_some() || new.contains_key(path));
        difference(&changed, new).map_or(Ok(()), |where_| Err(format!("changing, {where_}")))?;
        let undos: Vec<Value> = match way {
            Way::Patch => vec![json!({}); calls.len()],
            Way::Blocks | Way::Lines => vec![json!({"session": true})],
            Way::WholeFiles => ids.iter().rev().map(|id| json!({"change_id": id})).collect(),
        };
        for arguments in &undos {
            self.call("undo", arguments).await?;
        }
        difference(&tree(&self.workspace), old)
            .map_or(Ok(detours), |where_| Err(format!("undoing, {where_}")))
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

struct FileChange {
    path: String,
    old: Option<Vec<u8>>,
    new: Option<Vec<u8>>,
}

type Call = (&'static str, Value);

/// The calls that make all changes, and how many files take another way than asked.
fn calls(way: Way, changes: &[FileChange]) -> (Vec<Call>, usize) {
    let (mut calls, mut patch, mut blocks, mut detours) = (Vec::new(), String::new(), vec![], 0);
    for FileChange { path, old, new } in changes {
        let text = |bytes: &Option<Vec<u8>>| match bytes {
            None => Some(None),
            Some(bytes) if workspace::is_binary(bytes) => None,
            Some(bytes) => String::from_utf8(bytes.clone()).ok().map(Some),
        };
        let (Some(old), Some(new_text)) = (text(old), text(new)) else {
            calls.push(match new {
                Some(new) => write_file(path, new),
                None => ("delete_file", json!({"path": path})),
            });
            continue;
        };
        match (way, old, new_text) {
            (Way::Patch, old, new) => patch += &unified(path, old.as_deref(), new.as_deref()),
            (Way::Blocks, None, new) => blocks.push(json!({"path": path, "content": new})),
            (Way::Blocks, _, None) => blocks.push(json!({"path": path, "delete": true})),
            (_, None, new) => calls.push(("create_file", json!({"path": path, "content": new}))),
            (_, _, None) => calls.push(("delete_file", json!({"path": path}))),
            (Way::WholeFiles, Some(old), Some(new)) if loses_carriage_returns(&old, &new) => {
                detours += 1;
                calls.push(write_file(path, new.as_bytes()));
            }
            (Way::WholeFiles, _, Some(new)) => {
                calls.push(("update_file", json!({"path": path, "content": new})));
            }
            (Way::Lines, Some(old), Some(new)) if keeps_endings(&old, &new) => {
                calls.extend(line_edits(path, &old, &new));
            }
            (Way::Blocks, Some(old), Some(new)) if keeps_endings(&old, &new) => {
                blocks.extend(search_blocks(path, &old, &new));
            }
            (Way::Lines | Way::Blocks, old, new) => {
                detours += 1;
                patch += &unified(path, old.as_deref(), new.as_deref());
            }
        }
    }
    if !blocks.is_empty() {
        calls.push(("apply_changes", json!({"changes": blocks})));
    }
    if !patch.is_empty() {
        calls.push(("apply_changes", json!({"patch": patch})));
    }
    (calls, detours)
}

fn write_file(path: &str, content: &[u8]) -> Call {
    let content = STANDARD.encode(content);
    let arguments =
        json!({"path": path, "content": content, "encoding": "base64", "create_dirs": true});
    ("write_file", arguments)
}

/// A file with CR LF keeps them when its text is updated with LF, as models write it.
fn loses_carriage_returns(old: &str, new: &str) -> bool {
    let crlf = Text::decode(old.as_bytes()).line_endings().dominant() == LineEnding::CrLf;
    crlf && new.contains('\n') && !new.contains('\r')
}

/// Whether all lines end alike before and after. Edits by text or line give new lines the endings
/// of the file, so that they cannot change how lines end.
fn keeps_endings(old: &str, new: &str) -> bool {
    let kinds = |text: &str| (text.contains("\r\n"), text.replace("\r\n", "").contains('\n'));
    let alike = kinds(old) == kinds(new) && kinds(old) != (true, true);
    !old.is_empty() && (new.is_empty() || alike && old.ends_with('\n') == new.ends_with('\n'))
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// The part of a unified diff about one file.
fn unified(path: &str, old: Option<&str>, new: Option<&str>) -> String {
    let name =
        |side, text: Option<&str>| text.map_or("/dev/null".into(), |_| format!("{side}/{path}"));
    let mut patch = format!("--- {}\n+++ {}\n", name("a", old), name("b", new));
    let (old, new) = (lines(old.unwrap_or_default()), lines(new.unwrap_or_default()));
    let mut push = |mark: char, lines: &[&str]| {
        for line in lines {
            let open = if line.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
            patch += &format!("{mark}{line}{open}");
        }
    };
    for Hunk { ops, old: from, new: to } in hunks(&old, &new) {
        // An empty side is named by the line before it.
        let start = |side: &Range<usize>| side.start + usize::from(!side.is_empty());
        let header =
            format!("@ -{},{} +{},{} @@\n", start(&from), from.len(), start(&to), to.len());
        push('@', &[&header]);
        for op in ops {
            match op {
                DiffOp::Equal { .. } => push(' ', &old[op.old_range()]),
                _ => {
                    push('-', &old[op.old_range()]);
                    push('+', &new[op.new_range()]);
                }
            }
        }
    }
    patch
}

struct Hunk {
    ops: Vec<DiffOp>,
    old: Range<usize>,
    new: Range<usize>,
}

fn hunks(old: &[&str], new: &[&str]) -> Vec<Hunk> {
    let groups = group_diff_ops(capture_diff_slices(Algorithm::Myers, old, new), CONTEXT_LINES);
    let hunk = |ops: Vec<DiffOp>| {
        let (first, last) = (ops.first()?, ops.last()?);
        let old = first.old_range().start..last.old_range().end;
        let new = first.new_range().start..last.new_range().end;
        Some(Hunk { old, new, ops })
    };
    groups.into_iter().filter_map(hunk).collect()
}

/// A block for each hunk, with as much context as makes its search text unique.
fn search_blocks(path: &str, old: &str, new: &str) -> Vec<Value> {
    let (old_lines, new_lines) = (lines(old), lines(new));
    let mut blocks: Vec<(Range<usize>, Range<usize>)> =
        hunks(&old_lines, &new_lines).into_iter().map(|hunk| (hunk.old, hunk.new)).collect();
    loop {
        let mut is_final = true;
        for (from, to) in &mut blocks {
            let search = old_lines[from.clone()].concat();
            if search.trim().is_empty() || occurs_again(old, &search) {
                is_final = false;
                (from.start, to.start) = (from.start.saturating_sub(1), to.start.saturating_sub(1));
                from.end = (from.end + 1).min(old_lines.len());
                to.end = (to.end + 1).min(new_lines.len());
            }
        }
        if is_final {
            break;
        }
        blocks = joined(blocks);
    }
    let block = |(from, to): (Range<usize>, Range<usize>)| json!({"path": path, "search": old_lines[from].concat(), "replace": new_lines[to].concat()});
    blocks.into_iter().map(block).collect()
}

/// Blocks that touch each other are one.
fn joined(blocks: Vec<(Range<usize>, Range<usize>)>) -> Vec<(Range<usize>, Range<usize>)> {
    let mut joined: Vec<(Range<usize>, Range<usize>)> = Vec::with_capacity(blocks.len());
    for (from, to) in blocks {
        match joined.last_mut() {
            Some((before, before_to)) if from.start <= before.end => {
                (before.end, before_to.end) = (from.end, to.end);
            }
            _ => joined.push((from, to)),
        }
    }
    joined
}

fn occurs_again(text: &str, search: &str) -> bool {
    let Some(first) = text.find(search) else { return false };
    // Overlapping places count too, as they do for the tool.
    let next = first + search.chars().next().map_or(1, char::len_utf8);
    text[next..].contains(search)
}

/// A line edit for each place, the last first, so that the numbers of the others stay right. The
/// content has LF, as models write it.
fn line_edits(path: &str, old: &str, new: &str) -> Vec<Call> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let text = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let edit = |op: DiffOp| {
        let (from, content) = (op.old_range(), text(&new[op.new_range()]));
        let (start, end, expected) = (from.start + 1, from.end, text(&old[from.clone()]));
        Some(match op {
            DiffOp::Equal { .. } => return None,
            DiffOp::Delete { .. } => {
                json!({"path": path, "operation": "delete", "start_line": start, "end_line": end, "expected": expected})
            }
            DiffOp::Insert { .. } => {
                json!({"path": path, "operation": "insert", "start_line": from.start, "content": content})
            }
            DiffOp::Replace { .. } => {
                json!({"path": path, "operation": "replace", "start_line": start, "end_line": end, "content": content, "expected": expected})
            }
        })
    };
    let ops = capture_diff_slices(Algorithm::Myers, &old, &new);
    ops.into_iter().rev().filter_map(edit).map(|edit| ("edit_lines", edit)).collect()
}
