//! `toolkiln index`: the index that makes searches instant, built now or looked at.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Args;
use jiff::{Timestamp, Unit};
use serde_json::json;
use tool_system::{IndexFacts, IndexStatus};

use crate::output::{self, Stream};
use crate::project::{Lifetime, Project};

/// What is wrong if neither XDG_CACHE_HOME nor HOME is set.
const NO_PLACE: &str = "there is no place for an index: neither XDG_CACHE_HOME nor HOME is set";

/// How often the progress is shown.
const SHOW_EVERY: Duration = Duration::from_millis(100);

const EXAMPLES: &str = "\
Examples:
  toolkiln index
  toolkiln index --status
  toolkiln index --symbols --root ~/linux";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct IndexArgs {
    /// The project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// Only say what there is and what has changed since
    #[arg(long)]
    pub(crate) status: bool,
    /// Also make the table of all symbols, which a server makes when it is first asked for one
    #[arg(long, conflicts_with = "status")]
    pub(crate) symbols: bool,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &IndexArgs) -> anyhow::Result<ExitCode> {
    let project = Project::open(&args.root)?;
    let code = project.code_base(Lifetime::OneCall);
    if !args.status {
        let started = Instant::now();
        let built = code.build_index(&progress("Indexing")).context(NO_PLACE)??;
        end_progress();
        output::to_user(&format!("Indexed {} files in {:.1?}.", built.files, started.elapsed()));
    }
    if args.symbols {
        let started = Instant::now();
        let made = code.build_symbols(&progress("Parsing")).context(NO_PLACE)??;
        end_progress();
        output::to_user(&format!(
            "Found {} symbols in {} files in {:.1?}.",
            made.symbols,
            made.files,
            started.elapsed()
        ));
    }
    let status = code.check_index().unwrap_or_default();
    if args.json {
        output::json(&as_json(&status))?;
    } else {
        described(&status).iter().try_for_each(|line| output::result(line))?;
    }
    Ok(if status.trouble.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Shows the progress, at most a few times a second.
fn progress(what: &'static str) -> impl Fn(u64, u64) + Sync {
    let shown = Mutex::new(Instant::now());
    let is_terminal = Stream::Err.is_terminal();
    move |done, total| {
        let Ok(mut shown) = shown.lock() else { return };
        if is_terminal && (shown.elapsed() > SHOW_EVERY || done == total) {
            *shown = Instant::now();
            output::progress(&format!("{what}: {done} of {total} files"));
        }
    }
}

/// Leaves the line of progress.
fn end_progress() {
    if Stream::Err.is_terminal() {
        output::to_user("");
    }
}

fn described(status: &IndexStatus) -> Vec<String> {
    let mut lines = Vec::new();
    match &status.index {
        None => {
            lines.push("No index. Searches walk the project, which is quick for small ones.".into())
        }
        Some(facts) => {
            lines.push(format!(
                "Index of {} files, built {}: {} for {} of text ({:.1} %).",
                facts.files,
                built(facts),
                size(facts.bytes),
                size(facts.text_bytes),
                share(facts)
            ));
            lines.push(match status.changed {
                0 => "Nothing has changed since.".into(),
                1 => "1 file has changed since; it is searched without the index.".into(),
                many => format!("{many} files have changed since; they are searched without it."),
            });
        }
    }
    if let Some(trouble) = &status.trouble {
        lines.push(format!("It cannot be used: {trouble}."));
    }
    lines
}

fn as_json(status: &IndexStatus) -> serde_json::Value {
    let index = status.index.as_ref().map(|facts| {
        json!({
            "files": facts.files,
            "bytes": facts.bytes,
            "text_bytes": facts.text_bytes,
            "built": built(facts),
        })
    });
    json!({
        "index": index,
        "files": status.files,
        "changed": status.changed,
        "trouble": status.trouble,
    })
}

fn built(facts: &IndexFacts) -> String {
    let time = Timestamp::try_from(facts.built).unwrap_or_default();
    time.round(Unit::Second).unwrap_or(time).to_string()
}

fn share(facts: &IndexFacts) -> f64 {
    100.0 * facts.bytes as f64 / facts.text_bytes.max(1) as f64
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} KB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}
