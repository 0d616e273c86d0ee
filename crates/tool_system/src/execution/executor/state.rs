//! What all calls of one executor have in common.

use std::sync::{Arc, Mutex};

use code_index::CodeBase;
use protocol::{ErrorCode, ToolError};

use super::ExecutorOptions;
use crate::commands::Jobs;
use crate::instructions::TouchedInstructions;
use crate::locked::locked;
use crate::own_changes::OwnChanges;
use crate::policy::{Policy, Rule};
use crate::result_store::ResultStore;
use crate::turn::TurnMemory;
use crate::{ActivityStream, FileTracker, ListedTool, Performer};

pub(crate) struct ExecutorState {
    pub(crate) options: ExecutorOptions,
    pub(crate) code: Arc<CodeBase>,
    pub(crate) activity: ActivityStream,
    pub(crate) files: FileTracker,
    pub(crate) instructions: TouchedInstructions,
    pub(crate) results: ResultStore,
    pub(crate) own_changes: OwnChanges,
    pub(crate) jobs: Jobs,
    pub(crate) answers: TurnMemory,
    /// The policy with the rules that were remembered since, once it has been needed.
    policy: Mutex<Option<Arc<Policy>>>,
}

impl ExecutorState {
    pub(super) fn new(code: Arc<CodeBase>, options: ExecutorOptions) -> Self {
        let limits = options.limits.in_vocabulary(options.vocabulary);
        Self {
            code,
            activity: ActivityStream::default(),
            files: FileTracker::new(options.require_read),
            instructions: TouchedInstructions::default(),
            results: ResultStore::new(limits.kept_result_bytes),
            own_changes: OwnChanges::default(),
            jobs: Jobs::default(),
            answers: TurnMemory::default(),
            policy: Mutex::default(),
            options: ExecutorOptions { limits, ..options },
        }
    }

    /// Whether the role may use the tool at all.
    pub(crate) fn check_role(&self, listed: &ListedTool) -> Result<(), ToolError> {
        let (role, needed) = (&self.options.role, listed.definition().required_permissions);
        if role.permissions().covers(needed) {
            return Ok(());
        }
        let missing = needed.missing_from(role.permissions());
        let message = format!("the role {role} may not use {}: it lacks {missing}", listed.name());
        Err(ToolError::new(ErrorCode::PermissionDenied, message)
            .suggest("Use a tool that only reads, or ask the user for another role."))
    }

    /// What may be done without asking, and what not at all.
    pub(crate) fn policy(&self) -> Result<Arc<Policy>, ToolError> {
        let mut current = locked(&self.policy);
        match &*current {
            Some(policy) => Ok(Arc::clone(policy)),
            None => {
                let policy = Arc::new(self.options.policy.get()?.clone());
                Ok(Arc::clone(current.insert(policy)))
            }
        }
    }

    /// Adds a rule to the policy and has it kept.
    pub(crate) fn remember(&self, rule: Rule) -> Result<(), ToolError> {
        if let Some(keeper) = &self.options.rule_keeper {
            keeper.keep(&rule)?;
        }
        let widened = Policy::clone(&*self.policy()?).with_rule(rule);
        let mut current = locked(&self.policy);
        *current = Some(Arc::new(widened));
        Ok(())
    }

    pub(crate) fn performer(&self) -> Result<&Arc<dyn Performer>, ToolError> {
        let message = "this session is read-only: nothing can be changed or run";
        let performer = self.options.performer.as_ref();
        performer.ok_or_else(|| ToolError::new(ErrorCode::PermissionDenied, message))
    }
}
