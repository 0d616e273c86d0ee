//! The pass over all files that fills a table.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use workspace::{RelPath, Workspace};

use super::bytes::{PackedPlace, write_name};
use super::runs::{NameRuns, merge};
use super::{FOOTER_NUMBERS, FileStamp, MAGIC, NAMES_PER_BLOCK, NO_STAMP};
use crate::Language;
use crate::code_base::project_headers;
use crate::language::SourceCount;
use crate::lookup::word_files::read_text;
use crate::symbols::{Parsers, SymbolKind};

/// Bytes that are handed on at once.
const WRITE_BYTES: usize = 256 * 1024;

/// How the pass goes about it.
#[derive(Debug, Clone)]
pub(crate) struct TableOptions {
    /// Threads to use; 0 for as many as there are processors.
    pub(crate) threads: usize,
    /// Size above which a file is left out.
    pub(crate) max_file_bytes: u64,
    /// The time that one file may take.
    pub(crate) file_time: Duration,
    /// Whether no caller waits for it, so that it runs at low priority.
    pub(crate) background: bool,
}

/// What a pass did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TableReport {
    /// Files in the table.
    pub files: u64,
    /// Different names.
    pub names: u64,
    /// Definitions.
    pub symbols: u64,
    /// Bytes of text that were parsed.
    pub text_bytes: u64,
    /// Whether it was cancelled; what was written is not a complete table then.
    pub cancelled: bool,
}

/// Parses `files`, as far as their language is known, on several threads, and writes the table.
/// `progress` is told how many of how many files are done; `cancel` is asked before each.
pub(crate) fn write_symbol_table(
    workspace: &Workspace,
    files: impl IntoIterator<Item = RelPath>,
    options: &TableOptions,
    cancel: &(dyn Fn() -> bool + Sync),
    progress: &(dyn Fn(u64, u64) + Sync),
    out: &mut dyn Write,
) -> io::Result<TableReport> {
    let mut files: Vec<RelPath> = files.into_iter().filter(Language::may_be_parsed).collect();
    files.sort();
    files.dedup();
    let mut sources = SourceCount::default();
    for path in &files {
        if sources.add(path.as_bytes()) {
            break;
        }
    }
    let pass = TablePass {
        workspace,
        headers: project_headers(&sources, workspace),
        files: &files,
        options,
        cancel,
        progress,
        next: AtomicUsize::new(0),
        containers: Mutex::default(),
    };
    let threads = match options.threads {
        0 => workspace::available_threads(),
        threads => threads,
    };
    let workers: Vec<TableWorker> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(|| pass.work())).collect();
        handles.into_iter().filter_map(|handle| handle.join().ok()).collect()
    });
    let done: usize = workers.iter().map(|worker| worker.stamps.len()).sum();
    let mut report = TableReport { files: files.len() as u64, ..TableReport::default() };
    // A worker that is lost has lost its files too.
    if cancel() || done < files.len() {
        report.cancelled = true;
        return Ok(report);
    }
    let mut stamps = vec![NO_STAMP; files.len()];
    let mut runs = Vec::new();
    for worker in workers {
        report.symbols += worker.symbols;
        report.text_bytes += worker.text_bytes;
        runs.extend(worker.gathered.runs);
        for (file, stamp) in worker.stamps {
            stamps[file] = stamp;
        }
    }
    let containers = pass.containers.into_inner().unwrap_or_else(PoisonError::into_inner);
    report.names = write(out, &runs, (&files, &stamps), containers)?;
    Ok(report)
}

struct TablePass<'a> {
    workspace: &'a Workspace,
    /// What headers are that could be C or C++.
    headers: Language,
    files: &'a [RelPath],
    options: &'a TableOptions,
    cancel: &'a (dyn Fn() -> bool + Sync),
    progress: &'a (dyn Fn(u64, u64) + Sync),
    next: AtomicUsize,
    containers: Mutex<HashMap<String, u32>>,
}

#[derive(Default)]
struct TableWorker {
    gathered: NameRuns,
    stamps: Vec<(usize, FileStamp)>,
    symbols: u64,
    text_bytes: u64,
}

impl TablePass<'_> {
    fn work(&self) -> TableWorker {
        if self.options.background {
            workspace::lower_priority();
        }
        let mut worker = TableWorker::default();
        let mut parsers = Parsers::new();
        let mut buffer = Vec::new();
        while !(self.cancel)() {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = self.files.get(index) else { break };
            let stamp = self.parse(index, path, &mut parsers, &mut buffer, &mut worker);
            worker.stamps.push((index, stamp.unwrap_or(NO_STAMP)));
            (self.progress)(index as u64 + 1, self.files.len() as u64);
        }
        worker.gathered.pack();
        worker
    }

    /// Adds what a file defines; none if it cannot be read or not be parsed to its end. A file without
    /// an ending that is no script defines nothing, and that is known then.
    fn parse(
        &self,
        index: usize,
        path: &RelPath,
        parsers: &mut Parsers,
        buffer: &mut Vec<u8>,
        worker: &mut TableWorker,
    ) -> Option<FileStamp> {
        let file = self.workspace.open_file(path).ok()?;
        let text = read_text(&file, self.options.max_file_bytes, buffer);
        let language = text.and_then(|text| Language::in_project(path, text, || self.headers));
        let Some((text, language)) = text.zip(language) else {
            return Language::of(path).is_none().then(|| FileStamp::of(&file.meta));
        };
        worker.text_bytes += text.len() as u64;
        let found = parsers.symbols(language, text, Instant::now() + self.options.file_time);
        if !found.complete {
            return None;
        }
        worker.symbols += found.symbols.len() as u64;
        let mut last: Option<(&str, u32)> = None;
        for symbol in &found.symbols {
            let container = match (symbol.container.as_deref(), last) {
                (None, _) => 0,
                (Some(name), Some((known, id))) if known == name => id,
                (Some(name), _) => self.container(name),
            };
            last = symbol.container.as_deref().map(|name| (name, container));
            let place = PackedPlace {
                file: index as u32,
                line: symbol.line,
                column: symbol.column,
                kind: kind_number(symbol.kind),
                container,
            };
            worker.gathered.add(symbol.name.as_bytes(), place);
        }
        Some(FileStamp::of(&file.meta))
    }

    /// One more than the number of a container.
    fn container(&self, name: &str) -> u32 {
        let mut all = self.containers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = all.get(name) {
            return *id;
        }
        let id = all.len() as u32 + 1;
        all.insert(name.to_owned(), id);
        id
    }
}

fn kind_number(kind: SymbolKind) -> u8 {
    SymbolKind::ALL.iter().position(|one| *one == kind).unwrap_or(0) as u8
}

/// Writes all parts and gives the number of names.
pub(super) fn write(
    out: &mut dyn Write,
    runs: &[Vec<u8>],
    (files, stamps): (&[RelPath], &[FileStamp]),
    containers: HashMap<String, u32>,
) -> io::Result<u64> {
    let mut out = Counted { out, buffer: Vec::new(), written: 0 };
    let mut blocks = Vec::new();
    let mut before: Vec<u8> = Vec::new();
    let mut names = 0usize;
    merge(runs, |name, places| {
        if names.is_multiple_of(NAMES_PER_BLOCK) {
            blocks.push(out.place());
            before.clear();
        }
        names += 1;
        write_name(&mut out.buffer, &before, name, places);
        before.clear();
        before.extend_from_slice(name);
        out.flush_if_full()
    })?;
    let mut ends = vec![out.place()];
    for block in blocks {
        out.number(block);
    }
    ends.push(out.place());
    let mut path_end = 0;
    for (path, stamp) in files.iter().zip(stamps) {
        path_end += path.as_bytes().len() as u64;
        for number in [stamp.size, stamp.modified, stamp.ino, path_end] {
            out.number(number);
        }
        out.flush_if_full()?;
    }
    ends.push(out.place());
    for path in files {
        out.buffer.extend_from_slice(path.as_bytes());
        out.flush_if_full()?;
    }
    ends.push(out.place());
    let mut by_number: Vec<(u32, String)> =
        containers.into_iter().map(|(name, id)| (id, name)).collect();
    by_number.sort_unstable();
    let mut end = 0;
    for (_, name) in &by_number {
        end += name.len() as u64;
        out.number(end);
    }
    ends.push(out.place());
    for (_, name) in &by_number {
        out.buffer.extend_from_slice(name.as_bytes());
        out.flush_if_full()?;
    }
    ends.push(out.place());
    debug_assert_eq!(ends.len(), FOOTER_NUMBERS);
    for number in ends {
        out.number(number);
    }
    out.buffer.extend_from_slice(&MAGIC);
    out.flush()?;
    Ok(names as u64)
}

/// Counts what is written.
struct Counted<'a> {
    out: &'a mut dyn Write,
    buffer: Vec<u8>,
    written: u64,
}

impl Counted<'_> {
    fn place(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    fn number(&mut self, number: u64) {
        self.buffer.extend_from_slice(&number.to_le_bytes());
    }

    fn flush_if_full(&mut self) -> io::Result<()> {
        if self.buffer.len() >= WRITE_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}
