//! `toolkiln sessions`: lists, copies, exports and repairs conversations.

use std::io::{self, Read as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use protocol::SessionEvent;
use serde_json::json;
use store::{
    CheckMode, CheckReport, CopyReport, Exchange as _, ListFilter, PostgresDatabase,
    PostgresOptions, SessionId, SessionInfo, Store, copy_sessions, short_ids,
};
use timeline::{Timeline, count, money};

use crate::args::{ExportFormat, SessionsCheckArgs, SessionsCommand, SessionsCopyArgs};
use crate::chat::safe_text::one_line;
use crate::conversation::open_store;
use crate::output::{self, Printer, Stream};
use crate::project::Project;
use terminal::{Screen, ScreenOptions};

/// The exit code for damage that was found and not repaired.
const DAMAGED: u8 = 1;
/// The exit code for sessions that were not copied because they differ.
const DIFFERENT: u8 = 1;
/// The most that is read as an export.
const MAX_IMPORT_BYTES: u64 = 1024 * 1024 * 1024;
/// Characters of a title in the list.
const TITLE_WIDTH: usize = 60;

pub(crate) fn run(command: &SessionsCommand) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(perform(command))
}

async fn perform(command: &SessionsCommand) -> anyhow::Result<ExitCode> {
    match command {
        SessionsCommand::List(args) => {
            let store = store_at(&args.root).await?;
            if args.json {
                let filter = ListFilter { limit: Some(args.limit), ..ListFilter::default() };
                output::json(&json!(store.list(&filter).await?))?;
            } else {
                list(&*store, args.limit).await?;
            }
        }
        SessionsCommand::Show(args) => show(&*store_at(&args.root).await?, &args.session).await?,
        SessionsCommand::Fork(args) => {
            let store = store_at(&args.of.root).await?;
            let id = store.fork(&store.find(&args.of.session).await?, args.at).await?;
            output::result(&id.to_string())?;
            if let Some(line) = other_end(&*store, &id, args.at).await? {
                output::to_user(&line);
            }
        }
        SessionsCommand::Rename(args) => {
            let store = store_at(&args.of.root).await?;
            store.rename(&store.find(&args.of.session).await?, &args.title).await?;
        }
        SessionsCommand::Delete(args) => {
            let store = store_at(&args.root).await?;
            store.delete(&store.find(&args.session).await?).await?;
        }
        SessionsCommand::Export(args) => {
            export(&*store_at(&args.of.root).await?, &args.of.session, args.format).await?;
        }
        SessionsCommand::Import(args) => import(&*store_at(&args.root).await?).await?,
        SessionsCommand::Copy(args) => return copy(args).await,
        SessionsCommand::Check(args) => return check(args).await,
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn store_at(root: &Path) -> anyhow::Result<Arc<dyn Store>> {
    open_store(&Project::open(root)?).await
}

/// Prints the conversations, the last one first.
async fn list(store: &dyn Store, limit: u32) -> anyhow::Result<()> {
    let listed = listed(store, limit).await?;
    if listed.is_empty() {
        output::to_user("There are no sessions yet.");
    } else {
        output::result(&listed)?;
    }
    Ok(())
}

/// The newest sessions, one a line.
pub(crate) async fn listed(store: &dyn Store, limit: u32) -> anyhow::Result<String> {
    let sessions = store.list(&ListFilter::default()).await?;
    let short = short_ids(sessions.iter().map(|session| &session.id));
    let width = short.values().map(|id| id.len()).max().unwrap_or(0);
    let newest = sessions.iter().take(usize::try_from(limit).unwrap_or(usize::MAX));
    let lines = newest.map(|session| {
        let id = short.get(&session.id).copied().unwrap_or(session.id.as_str());
        line(&format!("{id:width$}"), session)
    });
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

fn line(id: &str, session: &SessionInfo) -> String {
    let title: String = one_line(session.title.as_deref().unwrap_or("(nothing said)"))
        .chars()
        .take(TITLE_WIDTH)
        .collect();
    let cost = session.cost_usd.map(|cost| format!(" · {}", money(cost))).unwrap_or_default();
    format!(
        "{id}  {}  {:11}  {title}  ({}, {} tokens{cost})",
        minute(session.updated),
        session.state.as_str(),
        session.model,
        count(session.usage.total()),
    )
}

/// A time to the minute, as the user's clock shows it.
fn minute(milliseconds: i64) -> String {
    minute_in(milliseconds, TimeZone::system())
}

fn minute_in(milliseconds: i64, zone: TimeZone) -> String {
    let time = Timestamp::from_millisecond(milliseconds).unwrap_or_default();
    time.to_zoned(zone).strftime("%Y-%m-%d %H:%M").to_string()
}

/// A line for the user if a copy does not end where it was asked to.
async fn other_end(
    store: &dyn Store,
    copy: &SessionId,
    wanted: Option<u64>,
) -> anyhow::Result<Option<String>> {
    let loaded = store.load(copy).await?;
    let origin = loaded.entries.iter().find_map(|entry| match &entry.event {
        SessionEvent::Opened(opened) => opened.forked_from.as_ref(),
        _ => None,
    });
    let (Some(origin), Some(wanted)) = (origin, wanted) else { return Ok(None) };
    let end = origin.sequence;
    Ok((end != wanted).then(|| {
        format!(
            "The copy ends with entry {end}: up to {wanted} there is no later one behind which no answer \
             and no call is half done."
        )
    }))
}

async fn show(store: &dyn Store, session: &str) -> anyhow::Result<()> {
    let loaded = store.load(&store.find(session).await?).await?;
    let options = ScreenOptions {
        words: Stream::Out.style(),
        notes: Stream::Out.style(),
        thoughts: true,
        messages: true,
        questions: false,
        context_window: None,
    };
    let mut screen = Screen::new(Printer::inked(Stream::Out), Printer::inked(Stream::Out), options);
    loaded.entries.iter().try_for_each(|entry| screen.show(entry))?;
    screen.finish()?;
    tell(&loaded.damage);
    Ok(())
}

async fn export(store: &dyn Store, session: &str, format: ExportFormat) -> anyhow::Result<()> {
    let id = store.find(session).await?;
    let draw = match format {
        ExportFormat::Json => {
            let text = store.export(&id).await?;
            return Ok(output::json_text(text.trim_end_matches('\n'))?);
        }
        ExportFormat::Markdown => timeline::markdown,
        ExportFormat::Html => timeline::html,
    };
    let loaded = store.load(&id).await?;
    tell(&loaded.damage);
    Ok(output::result(draw(&Timeline::of(&loaded.entries)).trim_end_matches('\n'))?)
}

async fn import(store: &dyn Store) -> anyhow::Result<()> {
    let mut text = String::new();
    let mut input = io::stdin().lock().take(MAX_IMPORT_BYTES);
    input.read_to_string(&mut text).context("the export on standard input cannot be read")?;
    let imported = store.import(&text).await?;
    tell(&imported.damage);
    output::result(&imported.id.to_string())?;
    Ok(())
}

/// Copies between the project here and a project in a database. What differs there is named, and exit code 1.
async fn copy(args: &SessionsCopyArgs) -> anyhow::Result<ExitCode> {
    let here = store_at(&args.root).await?;
    let url = args.from.as_ref().or(args.to.as_ref()).context("no database is named")?;
    let database =
        PostgresDatabase::open(PostgresOptions::new(url, "toolkiln sessions copy")).await?;
    let there: Arc<dyn Store> = Arc::new(database.store(&args.project));
    let (from, to) = match args.from {
        Some(_) => (there, here),
        None => (here, there),
    };
    let only = match &args.session {
        Some(text) => Some(from.find(text).await?),
        None => None,
    };
    let report = copy_sessions(&*from, &*to, only.as_ref()).await;
    database.leave().await?;
    let CopyReport { copied, same, different, damage } = report?;
    tell(&damage);
    for id in &different {
        output::to_user(&format!("toolkiln: {id} is there with another log, and was left alone"));
    }
    output::result(&format!("{} copied, {} were there already.", copied.len(), same.len()))?;
    Ok(if different.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(DIFFERENT) })
}

async fn check(args: &SessionsCheckArgs) -> anyhow::Result<ExitCode> {
    let store = store_at(&args.root).await?;
    let id = match &args.session {
        Some(text) => Some(store.find(text).await?),
        None => None,
    };
    let mode = if args.repair { CheckMode::Repair } else { CheckMode::Look };
    let report = store.check(id.as_ref(), mode).await?;
    if args.json {
        output::json(&json!(report))?;
    } else {
        explain(&report)?;
    }
    let left = report.findings.iter().any(|finding| finding.repaired.is_none());
    Ok(if left { ExitCode::from(DAMAGED) } else { ExitCode::SUCCESS })
}

fn explain(report: &CheckReport) -> io::Result<()> {
    for finding in &report.findings {
        let session = finding.session.as_ref().map(|id| format!("{id}: ")).unwrap_or_default();
        output::result(&format!("{session}{}", finding.problem))?;
        if let Some(repaired) = &finding.repaired {
            output::result(&format!("    repaired: {repaired}"))?;
        }
    }
    for note in &report.earlier {
        output::result(&format!("repaired earlier, {}: {}", minute(note.at), note.text))?;
    }
    let found = report.findings.len();
    output::result(&format!(
        "{} sessions with {} entries; {found} problems.",
        report.sessions, report.entries
    ))
}

fn tell(damage: &[String]) {
    damage.iter().for_each(|line| output::to_user(&format!("toolkiln: {line}")));
}

#[cfg(test)]
mod tests {
    use jiff::tz::{Offset, TimeZone};

    use super::*;

    #[test]
    fn times_are_those_of_the_users_clock() {
        let kathmandu = Offset::from_seconds(5 * 3600 + 45 * 60).unwrap();
        let shown = |zone| minute_in(1_700_000_059_999, zone);
        assert_eq!(shown(TimeZone::UTC), "2023-11-14 22:14");
        assert_eq!(shown(TimeZone::fixed(kathmandu)), "2023-11-15 03:59");
    }
}
