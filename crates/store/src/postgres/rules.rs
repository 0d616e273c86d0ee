//! Rules that were taken back, for all replicas.

use async_trait::async_trait;

use super::PostgresDatabase;
use super::write::storable;
use crate::{RevokedRule, RuleBoard, StoreError};

const READING: &str = "reading which rules were taken back";
const TELLING: &str = "taking a rule back";

#[async_trait]
impl RuleBoard for PostgresDatabase {
    async fn revoke_rule(&self, project: &str, rule: &str) -> Result<i64, StoreError> {
        let revoke = "INSERT INTO revoked_rules (project, rule) VALUES ($1, $2) \
                      ON CONFLICT (project, rule) DO UPDATE SET number = DEFAULT RETURNING number";
        let revoke = sqlx::query_scalar(revoke).bind(project).bind(storable(rule));
        self.bounded(TELLING, revoke.fetch_one(&self.inner.pool)).await
    }

    async fn restore_rule(
        &self,
        project: &str,
        rule: &str,
        number: Option<i64>,
    ) -> Result<(), StoreError> {
        let restore = "DELETE FROM revoked_rules WHERE project = $1 AND rule = $2 \
                       AND ($3::bigint IS NULL OR number = $3)";
        let restore = sqlx::query(restore).bind(project).bind(storable(rule)).bind(number);
        self.bounded(TELLING, restore.execute(&self.inner.pool)).await.map(drop)
    }

    async fn revoked_rules(&self, project: &str) -> Result<Vec<RevokedRule>, StoreError> {
        let read = "SELECT rule, number FROM revoked_rules WHERE project = $1";
        let read = sqlx::query_as(read).bind(project);
        let rows: Vec<(String, i64)> =
            self.bounded(READING, read.fetch_all(&self.inner.pool)).await?;
        Ok(rows.into_iter().map(|(rule, number)| RevokedRule { rule, number }).collect())
    }
}
