//! Configuration: the user's own file, and a project's file that may only narrow it.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use protocol::{AgentRole, PermissionSet};
use serde::Deserialize;
use tool_system::policy::{ApprovalMode, PolicyTable, ProjectPolicyTable, Rule, RuleSource};
use tool_system::{LimitOverrides, Limits};
use workspace::Workspace;

/// Where a project keeps its configuration.
const PROJECT_FILE: &str = ".toolkiln/config.toml";
/// The user's file in the configuration directory.
const USER_FILE: &str = "config.toml";
/// A configuration file larger than this is a mistake.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// What is configured, after all files.
#[derive(Debug, Default)]
pub(crate) struct Config {
    pub(crate) disabled_tools: Vec<String>,
    pub(crate) limits: Limits,
    pub(crate) mode: ApprovalMode,
    pub(crate) rules: Vec<Rule>,
    roles: BTreeMap<String, PermissionSet>,
    /// The files that were read.
    pub(crate) sources: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct UserFile {
    tools: ToolsTable,
    limits: LimitOverrides,
    policy: PolicyTable,
    roles: BTreeMap<String, RoleTable>,
}

/// A project can switch tools off, lower limits and forbid more. It cannot define roles or allow
/// anything: whoever opens a project must not get wider rights from it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ProjectFile {
    tools: ToolsTable,
    limits: LimitOverrides,
    policy: ProjectPolicyTable,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ToolsTable {
    disabled: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RoleTable {
    permissions: PermissionSet,
}

impl Config {
    /// Reads the user's file and the project's.
    pub(crate) fn load(user_dir: Option<&Path>, project: &Workspace) -> anyhow::Result<Self> {
        let mut config = Self::default();
        if let Some(dir) = user_dir.and_then(|dir| Workspace::open(dir).ok())
            && let Some(text) = read(&dir, USER_FILE)?
        {
            let name = dir.given_path().join(USER_FILE).display().to_string();
            let file: UserFile = toml::from_str(&text).with_context(|| name.clone())?;
            config.disabled_tools.extend(file.tools.disabled);
            config.limits = config.limits.set_by(&file.limits);
            config.mode = file.policy.mode.unwrap_or_default();
            config.rules = file.policy.into_rules(RuleSource::User);
            config.roles =
                file.roles.into_iter().map(|(name, role)| (name, role.permissions)).collect();
            config.sources.push(name);
        }
        if let Some(text) = read(project, PROJECT_FILE)? {
            let file: ProjectFile = toml::from_str(&text).context(PROJECT_FILE)?;
            config.disabled_tools.extend(file.tools.disabled);
            config.limits = config.limits.narrowed_by(&file.limits);
            config.mode = config.mode.narrowed_by(file.policy.mode);
            config.rules.extend(file.policy.rules);
            config.sources.push(PROJECT_FILE.to_owned());
        }
        Ok(config)
    }

    /// The role called `name`.
    pub(crate) fn role(&self, name: &str) -> anyhow::Result<AgentRole> {
        match name {
            "planner" => Ok(AgentRole::Planner),
            "actor" => Ok(AgentRole::Actor),
            _ => match self.roles.get(name) {
                Some(permissions) => {
                    Ok(AgentRole::Custom { name: name.to_owned(), permissions: *permissions })
                }
                None => {
                    let known: Vec<_> = ["planner", "actor"]
                        .into_iter()
                        .chain(self.roles.keys().map(String::as_str))
                        .collect();
                    Err(anyhow!("there is no role `{name}`; there are {}", known.join(", ")))
                }
            },
        }
    }
}

fn read(dir: &Workspace, name: &str) -> anyhow::Result<Option<String>> {
    let path = dir.resolve(name)?;
    let bytes = match dir.open_file(&path) {
        Ok(mut file) => file.read_all(MAX_FILE_BYTES)?,
        Err(workspace::Error::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let text = String::from_utf8(bytes).with_context(|| format!("{name} is not UTF-8"))?;
    Ok(Some(text))
}
