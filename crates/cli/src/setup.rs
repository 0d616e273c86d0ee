//! Puts the pieces together: the one place where concrete types meet.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use tool_system::{ApproveAll, Approver, ExecutorOptions, RefuseAll, ToolExecutor, ToolRegistry};
use workspace::Workspace;

use crate::args::Scope;
use crate::config::Config;
use crate::{environment, output};

/// A project with its configuration.
pub(crate) struct Project {
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) config: Config,
}

impl Project {
    /// Opens the project at `root` and reads the configuration.
    pub(crate) fn open(root: &Path) -> anyhow::Result<Self> {
        let workspace = Workspace::open(root).context("the project cannot be opened")?;
        let config = Config::load(environment::config_dir().as_deref(), &workspace)?;
        Ok(Self { workspace: Arc::new(workspace), config })
    }

    /// The tools that are not switched off.
    pub(crate) fn registry(&self) -> ToolRegistry {
        let mut registry = ToolRegistry::builtin();
        for name in &self.config.disabled_tools {
            if !registry.disable(name) {
                output::to_people(&format!(
                    "toolkiln: the configuration disables `{name}`, which is no tool"
                ));
            }
        }
        registry
    }

    /// The executor for a door. `adjust` sets what that door wants differently.
    pub(crate) fn executor(
        &self,
        scope: &Scope,
        approver: Arc<dyn Approver>,
        adjust: impl FnOnce(&mut ExecutorOptions),
    ) -> anyhow::Result<ToolExecutor> {
        let mut options = ExecutorOptions {
            vocabulary: scope.vocabulary,
            role: self.config.role(&scope.role)?,
            limits: self.config.limits.clone(),
            approver,
            ..ExecutorOptions::default()
        };
        adjust(&mut options);
        let registry = Arc::new(self.registry());
        Ok(ToolExecutor::new(registry, Arc::clone(&self.workspace), options))
    }
}

/// Who answers for the person when the door itself cannot ask.
pub(crate) fn approver(yes: bool) -> Arc<dyn Approver> {
    if yes {
        return Arc::new(ApproveAll);
    }
    Arc::new(RefuseAll { how_to_allow: "Run it again with --yes to approve it beforehand.".into() })
}
