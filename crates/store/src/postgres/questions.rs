//! Questions about calls by hand, for all replicas.

use async_trait::async_trait;
use serde_json::Value;
use sqlx::AssertSqlSafe;

use super::PostgresDatabase;
use super::lease::lives;
use crate::{Hint, QuestionBoard, QuestionState, ShownQuestion, StoreError};

const ASKING: &str = "reading questions of replicas";
const TELLING: &str = "writing questions for replicas";
/// How long whoever has answered can see what became of it.
const SETTLED_FOR: &str = "interval '1 minute'";

impl PostgresDatabase {
    /// Changes a question, and tells all replicas if that was possible.
    async fn change_question(
        &self,
        sql: &'static str,
        number: i64,
        text: Option<String>,
    ) -> Result<bool, StoreError> {
        let change = sqlx::query(sql).bind(number).bind(text).bind(self.inner.presence.id());
        let changed = self.bounded(TELLING, change.execute(&self.inner.pool)).await?;
        if changed.rows_affected() > 0 {
            self.inner.hints.tell(Hint::Questions);
        }
        Ok(changed.rows_affected() > 0)
    }
}

#[async_trait]
impl QuestionBoard for PostgresDatabase {
    async fn show_question(&self, question: Value) -> Result<i64, StoreError> {
        let show = format!(
            "WITH old AS (DELETE FROM questions WHERE state IN ('done', 'refused') \
             AND at < clock_timestamp() - {SETTLED_FOR}) \
             INSERT INTO questions (replica, question) VALUES ($1, $2) RETURNING number"
        );
        let show = sqlx::query_scalar(AssertSqlSafe(show)).bind(self.inner.presence.id());
        let show = show.bind(question.to_string()).fetch_one(&self.inner.pool);
        let number = self.bounded(TELLING, show).await?;
        self.inner.hints.tell(Hint::Questions);
        Ok(number)
    }

    async fn remove_question(&self, number: i64) -> Result<(), StoreError> {
        let remove = "DELETE FROM questions WHERE number = $1 AND $2::text IS NULL AND replica = $3 \
                      AND state IN ('open', 'answered')";
        self.change_question(remove, number, None).await.map(drop)
    }

    async fn questions_elsewhere(&self, known: &[i64]) -> Result<Vec<ShownQuestion>, StoreError> {
        let sql = format!(
            "SELECT number, CASE WHEN number = ANY($2) THEN NULL ELSE question END \
             FROM questions JOIN replicas ON replicas.id = replica \
             WHERE replica <> $1 AND state = 'open' AND {} ORDER BY number",
            lives()
        );
        let all = sqlx::query_as(AssertSqlSafe(sql)).bind(self.inner.presence.id()).bind(known);
        let all: Vec<(i64, Option<String>)> =
            self.bounded(ASKING, all.fetch_all(&self.inner.pool)).await?;
        let shown = |(number, question): (i64, Option<String>)| {
            let question = question.and_then(|text| serde_json::from_str(&text).ok());
            ShownQuestion { number, question }
        };
        Ok(all.into_iter().map(shown).collect())
    }

    async fn leave_answer(&self, number: i64, answer: Value) -> Result<bool, StoreError> {
        let leave = "UPDATE questions SET state = 'answered', answer = $2 \
                     WHERE number = $1 AND state = 'open' AND replica <> $3";
        self.change_question(leave, number, Some(answer.to_string())).await
    }

    async fn take_back_answer(&self, number: i64) -> Result<bool, StoreError> {
        let take_back = "UPDATE questions SET state = 'open', answer = $2 \
                         WHERE number = $1 AND state = 'answered' AND replica <> $3";
        self.change_question(take_back, number, None).await
    }

    async fn question_states(
        &self,
        numbers: &[i64],
    ) -> Result<Vec<(i64, QuestionState)>, StoreError> {
        let states = "SELECT number, state FROM questions WHERE number = ANY($1)";
        let states = sqlx::query_as(states).bind(numbers).fetch_all(&self.inner.pool);
        let states: Vec<(i64, String)> = self.bounded(ASKING, states).await?;
        let state = |(number, word): (i64, String)| (number, QuestionState::from_word(&word));
        Ok(states.into_iter().map(state).collect())
    }

    async fn take_answer(&self, number: i64) -> Result<Option<Value>, StoreError> {
        let take = "UPDATE questions SET state = 'taken' WHERE number = $1 \
                    AND state IN ('answered', 'taken') AND replica = $2 RETURNING answer";
        let take = sqlx::query_scalar(take).bind(number).bind(self.inner.presence.id());
        let answer: Option<Option<String>> =
            self.bounded(TELLING, take.fetch_optional(&self.inner.pool)).await?;
        Ok(answer.flatten().and_then(|text| serde_json::from_str(&text).ok()))
    }

    async fn settle_answer(&self, number: i64, has_counted: bool) -> Result<(), StoreError> {
        let settle = "UPDATE questions SET state = $2, at = clock_timestamp() \
                      WHERE number = $1 AND state = 'taken' AND replica = $3";
        let state = if has_counted { "done" } else { "refused" };
        self.change_question(settle, number, Some(state.to_owned())).await.map(drop)
    }
}
