//! What building and asking a trigram index costs.
//!
//! ```sh
//! cargo run --release -p code_index --example index_speed -- DIRECTORY [PATTERN…]
//! ```
//!
//! The index is built in the temp directory and removed again. A pattern that begins with `i:` is
//! looked for without regard to case.

#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use std::error::Error;
use std::fs::File;
use std::io::{self, Read as _};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant, UNIX_EPOCH};

use code_index::index::{
    Extractor, Flags, IndexBuilder, IndexStamp, IndexedFile, SearchableContent, Segment, Spool,
    TrigramPlan,
};
use workspace::{EntryKind, Flow, RelPath, StateDir, WalkEntry, WalkOptions, Workspace};

const THREADS: usize = 2;
/// Larger files are not searched.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Neighbouring files that a thread takes at a time, in bytes.
const SHARE_BYTES: u64 = 8 << 20;
/// How often each question is asked; the quickest answer counts.
const ROUNDS: usize = 20;

const PATTERNS: [&str; 16] = [
    "kvm_arch_vcpu_ioctl_get_mpstate",
    "spi_nor_erase_multi_sectors",
    "mutex_lock",
    "EXPORT_SYMBOL",
    "return",
    "EXPORT_SYMBOL_GPL\\(\\w+_register\\)",
    "static\\s+int\\s+\\w+_probe\\(",
    "(foo|bar|baz)_init",
    "\\bstruct [a-z]+_ops\\b",
    "0x[0-9a-f]{8}",
    "i:mutex_lock",
    "i:todo|fixme|xxx",
    "i:straße",
    "no_such_identifier_anywhere",
    "qzxj",
    "\\w+\\s*=\\s*\\d+",
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let root = arguments.next().ok_or("usage: index_speed DIRECTORY [PATTERN…]")?;
    let mut patterns: Vec<String> = arguments.collect();
    if patterns.is_empty() {
        patterns = PATTERNS.map(str::to_owned).into();
    }
    let workspace = Workspace::open(Path::new(&root))?;
    let at = std::env::temp_dir().join(format!("toolkiln-index-speed-{}", std::process::id()));
    let measured = measure(&workspace, &at, &patterns);
    std::fs::remove_dir_all(&at)?;
    measured
}

fn measure(workspace: &Workspace, at: &Path, patterns: &[String]) -> Result<(), Box<dyn Error>> {
    let state = StateDir::open(workspace, at)?;
    let start = Instant::now();
    let mut files = scan(workspace)?;
    let scanned = start.elapsed();
    let spool = FileSpool { file: state.scratch()?, end: AtomicU64::new(0) };
    let builder = IndexBuilder::new(&spool);
    let text = read(workspace, &builder, &mut files)?;
    let read = start.elapsed();
    let mut draft = state.draft("text.index")?;
    let listed: Vec<IndexedFile<'_>> = files
        .iter()
        .map(|file| IndexedFile {
            path: file.path.as_bytes(),
            stamp: file.stamp,
            flags: file.flags,
        })
        .collect();
    let totals = builder.finish(&listed, b"{}", THREADS, &mut draft)?;
    let built = start.elapsed();
    draft.publish()?;
    let published = start.elapsed();
    let mb = |bytes: u64| bytes as f64 / 1e6;
    println!("files     {}, text indexed {:.1} MB", files.len(), mb(text));
    println!("scan      {:8.3} s", scanned.as_secs_f64());
    println!("read      {:8.3} s", (read - scanned).as_secs_f64());
    println!("merge     {:8.3} s", (built - read).as_secs_f64());
    println!(
        "in all    {:8.3} s, and {:.3} s to sync",
        built.as_secs_f64(),
        (published - built).as_secs_f64()
    );
    println!(
        "index     {:8.1} MB, {:.2} % of the text; {} trigrams, {} postings; {:.1} MB set aside",
        mb(totals.bytes),
        100.0 * totals.bytes as f64 / text as f64,
        totals.trigrams,
        totals.postings,
        mb(spool.end.load(Ordering::Relaxed)),
    );
    println!("peak      {:8.1} MB resident", peak_kb()? as f64 / 1e3);

    let mapped = state.map("text.index")?.ok_or("the index is gone")?;
    let start = Instant::now();
    let segment = Segment::open(mapped)?;
    println!("open      {:8.3} ms", milliseconds(start.elapsed()));
    for pattern in patterns {
        let (case_sensitive, regex) = match pattern.strip_prefix("i:") {
            Some(rest) => (false, rest),
            None => (true, pattern.as_str()),
        };
        let mut planning = Duration::MAX;
        let mut asking = Duration::MAX;
        let mut first = None;
        let mut count = 0;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            let plan = TrigramPlan::of(regex, case_sensitive, false);
            planning = planning.min(start.elapsed());
            let start = Instant::now();
            count = segment.candidates(&plan).count();
            first.get_or_insert(start.elapsed());
            asking = asking.min(start.elapsed());
        }
        println!(
            "{count:8} candidates  plan {:.4} ms  first {:.4} ms  best {:.4} ms  {pattern}",
            milliseconds(planning),
            milliseconds(first.unwrap_or_default()),
            milliseconds(asking),
        );
    }
    Ok(())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

struct Scanned {
    path: RelPath,
    size: u64,
    stamp: IndexStamp,
    flags: Flags,
}

fn scan(workspace: &Workspace) -> Result<Vec<Scanned>, workspace::Error> {
    let options = WalkOptions { threads: THREADS, ..WalkOptions::default() };
    let visitor = || Scanner(Vec::new());
    let (_, threads) = workspace.walk(&options, &|| false, visitor)?;
    let mut files: Vec<Scanned> = threads.into_iter().flat_map(|thread| thread.0).collect();
    files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

struct Scanner(Vec<Scanned>);

impl workspace::Visitor for Scanner {
    fn visit(&mut self, entry: &WalkEntry<'_>) -> Flow {
        if entry.kind() == EntryKind::File
            && let Ok(meta) = entry.meta()
        {
            let since = |time: std::time::SystemTime| {
                time.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as i64)
            };
            let stamp = IndexStamp {
                size: meta.size,
                modified: since(meta.modified),
                changed: since(meta.changed),
                inode: meta.ino,
            };
            let flags =
                if meta.size > MAX_FILE_BYTES { Flags::TOO_LARGE } else { Flags::default() };
            self.0.push(Scanned { path: entry.path(), size: meta.size, stamp, flags });
        }
        Flow::Continue
    }
}

/// What a thread has read: bytes of text, and what it found in each file.
type Share = (u64, Vec<(u32, Flags)>);

/// Reads all files on several threads and returns the bytes of text.
fn read(
    workspace: &Workspace,
    builder: &IndexBuilder<'_>,
    files: &mut [Scanned],
) -> Result<u64, Box<dyn Error>> {
    let shares = shares(files);
    let next = AtomicUsize::new(0);
    let known = &*files;
    let threads: Vec<io::Result<Share>> = std::thread::scope(|scope| {
        let work = || {
            let mut batch = builder.batch();
            let mut extractor = Extractor::new();
            let mut buffer = Vec::new();
            let (mut text, mut flags) = (0, Vec::new());
            while let Some(share) = shares.get(next.fetch_add(1, Ordering::Relaxed)) {
                for file in share.clone() {
                    let scanned = &known[file as usize];
                    if scanned.flags.contains(Flags::TOO_LARGE) {
                        continue;
                    }
                    buffer.clear();
                    let opened = workspace.open_listed(&scanned.path).map_err(io::Error::other)?;
                    (&opened.file).take(MAX_FILE_BYTES).read_to_end(&mut buffer)?;
                    let content = extractor.read(&buffer);
                    flags.push((file, content.flags()));
                    if let SearchableContent::Text { trigrams, .. } = content {
                        text += buffer.len() as u64;
                        batch.add(file, trigrams)?;
                    }
                }
            }
            batch.finish()?;
            Ok((text, flags))
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread panicked")).collect()
    });
    let mut text = 0;
    for thread in threads {
        let (more, flags) = thread?;
        text += more;
        for (file, flags) in flags {
            files[file as usize].flags = flags;
        }
    }
    Ok(text)
}

/// Ranges of neighbouring files of about the same size.
fn shares(files: &[Scanned]) -> Vec<Range<u32>> {
    let mut shares = Vec::new();
    let (mut start, mut size) = (0, 0);
    for (at, file) in (0u32..).zip(files) {
        size += file.size.min(MAX_FILE_BYTES);
        if size >= SHARE_BYTES {
            shares.push(start..at + 1);
            (start, size) = (at + 1, 0);
        }
    }
    shares.push(start..files.len() as u32);
    shares
}

struct FileSpool {
    file: File,
    end: AtomicU64,
}

impl Spool for FileSpool {
    fn append(&self, bytes: &[u8]) -> io::Result<u64> {
        let at = self.end.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.file.write_all_at(bytes, at)?;
        Ok(at)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }
}

fn peak_kb() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.split_whitespace().nth(1).ok_or("no VmHWM")?.parse()?)
}
