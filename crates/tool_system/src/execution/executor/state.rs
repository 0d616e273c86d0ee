//! What all calls of one executor have in common.

use std::sync::{Arc, Mutex};

use code_index::CodeBase;
use protocol::{ErrorCode, Remember, ToolError};

use crate::commands::Jobs;
use crate::instructions::TouchedInstructions;
use crate::locked::locked;
use crate::own_changes::OwnChanges;
use crate::policy::{Policy, Rule};
use crate::result_store::ResultStore;
use crate::turn::TurnMemory;
use crate::web::PageStore;
use crate::{ActivityStream, Caller, ExecutorOptions, FileTracker, ListedTool, Performer};

pub(crate) struct ExecutorState {
    pub(crate) options: ExecutorOptions,
    pub(crate) caller: Caller,
    pub(crate) code: Arc<CodeBase>,
    pub(crate) activity: ActivityStream,
    pub(crate) files: FileTracker,
    pub(crate) instructions: TouchedInstructions,
    pub(crate) results: ResultStore,
    pub(crate) pages: PageStore,
    pub(crate) own_changes: OwnChanges,
    pub(crate) jobs: Jobs,
    pub(crate) answers: TurnMemory,
    /// The policy after so many changes of rules since, once it has been needed.
    policy: Mutex<Option<(usize, Arc<Policy>)>>,
}

impl ExecutorState {
    pub(crate) fn new(code: Arc<CodeBase>, options: ExecutorOptions, caller: Caller) -> Self {
        let limits = options.limits.in_vocabulary(options.vocabulary);
        Self {
            code,
            activity: ActivityStream::default(),
            files: FileTracker::new(options.require_read),
            instructions: TouchedInstructions::default(),
            results: ResultStore::new(limits.kept_result_bytes),
            pages: PageStore::default(),
            own_changes: OwnChanges::default(),
            jobs: Jobs::default(),
            answers: TurnMemory::default(),
            policy: Mutex::default(),
            options: ExecutorOptions { limits, ..options },
            caller,
        }
    }

    /// Whether the role may use the tool at all.
    pub(crate) fn check_role(&self, listed: &ListedTool) -> Result<(), ToolError> {
        let (role, needed) = (&self.caller.role, listed.definition().required_permissions);
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
        let learned = self.caller.learned_rules.changes();
        match &*current {
            Some((changes, policy)) if *changes == learned => Ok(Arc::clone(policy)),
            _ => {
                let policy = self.caller.learned_rules.added_to(self.options.policy.get()?);
                Ok(Arc::clone(&current.insert((learned, Arc::new(policy))).1))
            }
        }
    }

    /// Has rules not count any more that other processes have taken back.
    pub(crate) async fn take_revocations(&self) -> Result<(), ToolError> {
        if let Some(keeper) = &self.options.rule_keeper {
            self.caller.learned_rules.take_back(keeper.revocations().await?);
        }
        Ok(())
    }

    /// Adds a rule to the policy, and has it kept if it is to hold for good.
    pub(crate) async fn remember(&self, rule: Rule, scope: Remember) -> Result<(), ToolError> {
        if let (Remember::Project, Some(keeper)) = (scope, &self.options.rule_keeper) {
            keeper.keep(&rule).await?;
        }
        self.caller.learned_rules.add(rule);
        Ok(())
    }

    pub(crate) fn performer(&self) -> Result<&Arc<dyn Performer>, ToolError> {
        let message = "this session is read-only: nothing can be changed or run";
        let performer = self.options.performer.as_ref();
        performer.ok_or_else(|| ToolError::new(ErrorCode::PermissionDenied, message))
    }
}
