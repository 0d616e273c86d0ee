//! Rules of projects that were taken back, so that they hold at no replica.

use async_trait::async_trait;

use crate::StoreError;

/// Which rules were taken back. Replicas keep rules themselves, each machine its own, and look here before they decide
/// by one.
#[async_trait]
pub trait RuleBoard: Send + Sync {
    /// Takes a rule of a project back for all replicas. Answers with the number of this revocation.
    async fn revoke_rule(&self, project: &str, rule: &str) -> Result<i64, StoreError>;

    /// Lets a rule count again where it is kept; with a number, only if that is its last revocation.
    async fn restore_rule(
        &self,
        project: &str,
        rule: &str,
        number: Option<i64>,
    ) -> Result<(), StoreError>;

    /// The rules of a project that are taken back.
    async fn revoked_rules(&self, project: &str) -> Result<Vec<RevokedRule>, StoreError>;
}

/// A rule that was taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevokedRule {
    /// Its id.
    pub rule: String,
    /// Tells it from an earlier revocation of the same rule.
    pub number: i64,
}
