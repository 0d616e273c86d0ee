//! The pipeline of a call, from the executor through the approval gate to the performer, and what the calls
//! of an executor have in common.

pub(crate) mod activity;
pub(crate) mod agent_host;
pub(crate) mod approval_gate;
pub(crate) mod approver;
pub(crate) mod caller;
pub(crate) mod checks;
pub(crate) mod context;
pub(crate) mod editor_writes;
pub(crate) mod executor;
pub(crate) mod file_tracker;
pub(crate) mod judging;
pub(crate) mod learned_rules;
pub(crate) mod on_demand;
pub(crate) mod open_documents;
pub(crate) mod own_changes;
pub(crate) mod perform;
pub(crate) mod project_tools;
pub(crate) mod turn;
