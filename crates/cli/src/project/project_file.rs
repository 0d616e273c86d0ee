//! Files in the state directory that belong to one project, and not to whatever else is at its path.

use anyhow::Context as _;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use workspace::{StateDir, Workspace};

/// Far more than rules and trusted tools take; a larger file is damaged.
const MAX_BYTES: u64 = 1024 * 1024;

/// What is kept, and for which project.
#[derive(Serialize, Deserialize)]
struct ProjectRecord<T> {
    /// The identity of the project's directory: see [`Workspace::identity`].
    #[serde(default)]
    project: String,
    #[serde(flatten)]
    content: T,
}

/// What the file `name` holds for this project. What was kept for another directory at the same path,
/// such as an earlier clone, counts as nothing.
pub(crate) fn read<T: Default + DeserializeOwned>(
    workspace: &Workspace,
    state: &StateDir,
    name: &str,
) -> anyhow::Result<T> {
    let Some(bytes) = state.read(name, MAX_BYTES)? else { return Ok(T::default()) };
    let text = String::from_utf8(bytes).with_context(|| format!("{name} is not UTF-8"))?;
    let kept: ProjectRecord<T> =
        toml::from_str(&text).with_context(|| format!("{name} is damaged"))?;
    let is_ours = kept.project == workspace.identity()?;
    Ok(if is_ours { kept.content } else { T::default() })
}

/// Makes `content` what the file `name` holds for this project.
pub(crate) fn write<T: Serialize>(
    workspace: &Workspace,
    state: &StateDir,
    name: &str,
    content: T,
) -> anyhow::Result<()> {
    let kept = ProjectRecord { project: workspace.identity()?, content };
    Ok(state.replace(name, toml::to_string(&kept)?.as_bytes())?)
}
