//! The command line of `toolkiln sessions`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

pub(crate) const EXAMPLES: &str = "\
Examples:
  toolkiln sessions list
  toolkiln sessions show \"the failing test\"
  toolkiln sessions check --repair";

const EXPORT_EXAMPLES: &str = "\
Examples:
  toolkiln sessions export 1m7h > conversation.jsonl
  toolkiln sessions export 1m7h --format html > conversation.html";

const COPY_EXAMPLES: &str = "\
Examples:
  toolkiln sessions copy --to postgres://me@db.example/team --project website
  toolkiln sessions copy 1m7h --from postgres://me@db.example/team --project website

The password is taken from PGPASSWORD or ~/.pgpass, so that it is not seen by others.";

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List conversations, the last one first
    #[command(after_help = "Examples:\n  toolkiln sessions list --limit 5")]
    List(SessionsListArgs),
    /// Show a conversation
    #[command(after_help = "Examples:\n  toolkiln sessions show \"the failing test\"")]
    Show(SessionArgs),
    /// Copy a conversation, up to an entry if one is named
    #[command(after_help = "Examples:\n  toolkiln sessions fork 1m7h --at 12")]
    Fork(SessionsForkArgs),
    /// Give a conversation a name
    #[command(after_help = "Examples:\n  toolkiln sessions rename 1m7h \"the failing test\"")]
    Rename(SessionsRenameArgs),
    /// Remove a conversation for good
    #[command(after_help = "Examples:\n  toolkiln sessions delete 1m7h")]
    Delete(SessionArgs),
    /// Print a conversation as JSON lines, as Markdown or as an HTML page
    #[command(after_help = EXPORT_EXAMPLES)]
    Export(SessionsExportArgs),
    /// Make a conversation from JSON lines on standard input
    #[command(after_help = "Examples:\n  toolkiln sessions import < conversation.jsonl")]
    Import(SessionsImportArgs),
    /// Copy conversations between this project and the database of a team
    #[command(after_help = COPY_EXAMPLES)]
    Copy(SessionsCopyArgs),
    /// Look for damage
    #[command(
        after_help = "Examples:\n  toolkiln sessions check\n  toolkiln sessions check --repair"
    )]
    Check(SessionsCheckArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SessionsListArgs {
    /// The project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// How many to show
    #[arg(long, default_value = "20")]
    pub(crate) limit: u32,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    /// The conversation: its id, the beginning of it, or its title
    pub(crate) session: String,
    /// The project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct SessionsForkArgs {
    #[command(flatten)]
    pub(crate) of: SessionArgs,
    /// The last entry that is copied
    #[arg(long, value_name = "ENTRY")]
    pub(crate) at: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct SessionsRenameArgs {
    #[command(flatten)]
    pub(crate) of: SessionArgs,
    /// The name
    pub(crate) title: String,
}

#[derive(Debug, Args)]
pub(crate) struct SessionsExportArgs {
    #[command(flatten)]
    pub(crate) of: SessionArgs,
    /// JSON lines hold everything and can be imported; the others are for reading
    #[arg(long, value_enum, default_value_t = ExportFormat::Json)]
    pub(crate) format: ExportFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// The log, one entry a line
    Json,
    /// What was seen, as a Markdown document
    Markdown,
    /// What was seen, as one HTML file that needs nothing else
    Html,
}

#[derive(Debug, Args)]
pub(crate) struct SessionsImportArgs {
    /// The project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
}

#[derive(Debug, Args)]
#[group(id = "direction", required = true, args = ["from", "to"])]
pub(crate) struct SessionsCopyArgs {
    /// The conversation; all of them if left out
    pub(crate) session: Option<String>,
    /// Copy from this database to here
    #[arg(long, value_name = "URL")]
    pub(crate) from: Option<String>,
    /// Copy from here to this database
    #[arg(long, value_name = "URL", conflicts_with = "from")]
    pub(crate) to: Option<String>,
    /// What the project is called in the database
    #[arg(long, value_name = "NAME")]
    pub(crate) project: String,
    /// The project here
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct SessionsCheckArgs {
    /// The conversation; all of them if left out
    pub(crate) session: Option<String>,
    /// The project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// Repair what can be repaired and say what was done
    #[arg(long)]
    pub(crate) repair: bool,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
