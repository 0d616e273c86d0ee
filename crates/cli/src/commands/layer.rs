//! `toolkiln layer`: what commands have left in the project's private layer.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use jiff::{Timestamp, Unit};
use sandbox::{LayerUse, PrivateLayer};
use serde_json::json;

use crate::output;
use crate::project::Project;

/// Units that sizes are shown in.
const KB: f64 = 1e3;
const MB: f64 = 1e6;

const EXAMPLES: &str = "\
Examples:
  toolkiln layer
  toolkiln layer --clear";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LayerArgs {
    /// The project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// Forget all of it
    #[arg(long)]
    pub(crate) clear: bool,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &LayerArgs) -> anyhow::Result<ExitCode> {
    let project = Project::open(&args.root)?;
    let path = project.layer().context("neither XDG_STATE_HOME nor HOME is set")?;
    if args.clear
        && let Some(layer) = PrivateLayer::find(&path)?
    {
        layer.clear().map_err(|error| match error.kind() {
            std::io::ErrorKind::WouldBlock => {
                anyhow::anyhow!("a command of this project is running; try again when it has ended")
            }
            _ => error.into(),
        })?;
    }
    let usage = usage(&project)?;
    if args.json {
        output::json(&json!({"path": path, "bytes": usage.bytes}))?;
    } else {
        output::result(&described(usage))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What the layer of a project holds; nothing if no command ever ran.
pub(crate) fn usage(project: &Project) -> anyhow::Result<LayerUse> {
    let layer = project.layer().map(|path| PrivateLayer::find(&path)).transpose()?.flatten();
    Ok(layer.map(|layer| layer.usage()).transpose()?.unwrap_or_default())
}

/// How much it is, and since when.
pub(crate) fn described(usage: LayerUse) -> String {
    let Some(changed) = usage.changed.and_then(|time| Timestamp::try_from(time).ok()) else {
        return "empty; commands have kept no ignored files".to_owned();
    };
    let size = match usage.bytes as f64 {
        bytes if bytes < MB => format!("{:.0} KB", bytes / KB),
        bytes => format!("{:.0} MB", bytes / MB),
    };
    let changed = changed.round(Unit::Second).unwrap_or(changed);
    format!("{size} of ignored files that commands wrote, last {changed}")
}
