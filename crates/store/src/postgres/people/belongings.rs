//! Shares, sessions, budgets, keys and the audit.

use std::collections::HashMap;

use super::*;
use crate::postgres::write::storable;

type AuditRow = (i64, i64, Option<String>, String, Option<String>, Option<String>, String, String);

fn placed(
    (number, at, by, kind, project, session, subject, detail): AuditRow,
) -> Done<PlacedEntry> {
    let kind = kind.parse().map_err(|_| unreadable(&kind))?;
    let user = by.map(UserId::named);
    let entry = AuditEntry { at, user, kind, project, session, subject, detail };
    Ok(PlacedEntry { place: AuditPlace { at, session: String::new(), number }, entry })
}

/// Milliseconds since 1970 of the first and the last moment that audits are asked for: the years 0 and 275760.
const EARLIEST: i64 = -62_167_219_200_000;
const LATEST: i64 = 8_640_000_000_000_000;

/// An empty name in a row means all.
fn part(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

fn row_of(scope: &BudgetScope) -> (&str, &str) {
    (scope.user.as_ref().map_or("", UserId::as_str), scope.project.as_deref().unwrap_or_default())
}

/// The budgets of a user in a project. What sessions have spent today stands in their rows, which are found by the
/// day; those that were deleted since have a row of their own. One that has both was about to be deleted when
/// something failed.
const BALANCES: &str = "\
    SELECT b.user_id, b.project, b.usd_per_day, \
    (SELECT coalesce(sum(s.spent_usd), 0) FROM sessions s WHERE s.spent_day = day.number \
        AND b.project IN ('', s.project) AND (b.user_id = '' OR EXISTS (SELECT FROM session_owners o \
        WHERE o.session = s.id AND o.owner = b.user_id))) \
    + (SELECT coalesce(sum(r.usd), 0) FROM removed_spending r \
        WHERE r.at >= to_timestamp(day.number * 86400) AND b.project IN ('', r.project) \
        AND (b.user_id = '' OR r.owner = b.user_id) \
        AND NOT EXISTS (SELECT FROM sessions s WHERE s.id = r.session)) \
    FROM budgets b, (SELECT floor(extract(epoch FROM now()) / 86400)::BIGINT AS number) AS day \
    WHERE b.user_id IN ('', $1) AND b.project IN ('', $2) ORDER BY b.user_id, b.project";

fn budget(user: &str, project: &str, usd_per_day: f64) -> DayBudget {
    let (user, project) = (part(user).map(UserId::named), part(project).map(str::to_owned));
    DayBudget { scope: BudgetScope { user, project }, usd_per_day }
}

impl PostgresDatabase {
    pub(super) async fn all_shares(&self) -> Done<Vec<Share>> {
        let all = "SELECT project, user_id FROM shares ORDER BY project, user_id";
        let rows: Vec<(String, String)> = sqlx::query_as(all).fetch_all(self.pool()).await?;
        let share =
            |(project, user): (String, String)| Share { project, user: UserId::named(user) };
        Ok(rows.into_iter().map(share).collect())
    }

    pub(super) async fn shared(&self, by: &UserId, share: &Share) -> Done<()> {
        let mut tx = self.begin_change().await?;
        let is_user = "SELECT EXISTS (SELECT FROM users WHERE id = $1)";
        let is_user: bool =
            sqlx::query_scalar(is_user).bind(share.user.as_str()).fetch_one(&mut *tx).await?;
        if !is_user {
            return Err(not_found("user", share.user.as_str()));
        }
        let insert = "INSERT INTO shares (project, user_id) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        let insert = sqlx::query(insert).bind(&share.project).bind(share.user.as_str());
        if insert.execute(&mut *tx).await?.rows_affected() > 0 {
            let user = share.user.as_str();
            note(&mut tx, Some(by), AuditKind::Shared, user, &share.project).await?;
        }
        Ok(tx.commit().await?)
    }

    pub(super) async fn unshared(&self, by: &UserId, share: &Share) -> Done<()> {
        let mut tx = self.begin_change().await?;
        let delete = "DELETE FROM shares WHERE project = $1 AND user_id = $2";
        let delete = sqlx::query(delete).bind(&share.project).bind(share.user.as_str());
        if delete.execute(&mut *tx).await?.rows_affected() == 0 {
            return Err(not_found("share", &share.project));
        }
        note(&mut tx, Some(by), AuditKind::Unshared, share.user.as_str(), &share.project).await?;
        Ok(tx.commit().await?)
    }

    pub(super) async fn known_access(&self, sessions: &[String]) -> Done<Vec<SessionAccess>> {
        let find = "SELECT session, owner, visibility FROM session_owners WHERE session = ANY($1)";
        let rows: Vec<(String, String, String)> =
            sqlx::query_as(find).bind(sessions).fetch_all(self.pool()).await?;
        let mut known = HashMap::new();
        for (session, owner, visibility) in rows {
            let visibility = visibility.parse().map_err(|_| unreadable(&visibility))?;
            let owner = Some(UserId::named(owner));
            known.insert(session, SessionAccess { owner, visibility });
        }
        let unknown = || SessionAccess { owner: None, visibility: Visibility::Private };
        let access = |session| known.get(session).cloned().unwrap_or_else(unknown);
        Ok(sessions.iter().map(access).collect())
    }

    pub(super) async fn changed_visibility(
        &self,
        by: &UserId,
        session: &str,
        visibility: Visibility,
    ) -> Done<()> {
        let mut tx = self.begin_change().await?;
        let change = "UPDATE session_owners SET visibility = $2 WHERE session = $1";
        let change = sqlx::query(change).bind(session).bind(visibility.to_string());
        if change.execute(&mut *tx).await?.rows_affected() == 0 {
            return Err(not_found("session", session));
        }
        let told = visibility.to_string();
        note(&mut tx, Some(by), AuditKind::VisibilityChanged, session, &told).await?;
        Ok(tx.commit().await?)
    }

    pub(super) async fn all_budgets(&self) -> Done<Vec<DayBudget>> {
        let all = "SELECT user_id, project, usd_per_day FROM budgets ORDER BY user_id, project";
        let rows: Vec<(String, String, f64)> = sqlx::query_as(all).fetch_all(self.pool()).await?;
        let read = |(user, project, usd): (String, String, f64)| budget(&user, &project, usd);
        Ok(rows.into_iter().map(read).collect())
    }

    pub(super) async fn known_balances(
        &self,
        user: &UserId,
        project: &str,
    ) -> Done<Vec<BudgetBalance>> {
        let read = sqlx::query_as(BALANCES).bind(user.as_str()).bind(project);
        let rows: Vec<(String, String, f64, f64)> = read.fetch_all(self.pool()).await?;
        let balance = |(user, project, usd, spent): (String, String, f64, f64)| BudgetBalance {
            budget: budget(&user, &project, usd),
            spent,
        };
        Ok(rows.into_iter().map(balance).collect())
    }

    pub(super) async fn kept_budget(&self, by: &UserId, budget: DayBudget) -> Done<()> {
        let budget = budget.checked()?;
        let mut tx = self.begin().await?;
        let keep = "INSERT INTO budgets (user_id, project, usd_per_day) VALUES ($1, $2, $3) \
                    ON CONFLICT (user_id, project) DO UPDATE SET usd_per_day = $3";
        let (user, project) = row_of(&budget.scope);
        let keep = sqlx::query(keep).bind(user).bind(project).bind(budget.usd_per_day);
        keep.execute(&mut *tx).await?;
        let (scope, detail) =
            (budget.scope.to_string(), format!("{} USD a day", budget.usd_per_day));
        note(&mut tx, Some(by), AuditKind::BudgetSet, &scope, &detail).await?;
        Ok(tx.commit().await?)
    }

    pub(super) async fn removed_budget(&self, by: &UserId, scope: &BudgetScope) -> Done<()> {
        let mut tx = self.begin().await?;
        let (user, project) = row_of(scope);
        let remove = "DELETE FROM budgets WHERE user_id = $1 AND project = $2";
        let removed = sqlx::query(remove).bind(user).bind(project).execute(&mut *tx).await?;
        if removed.rows_affected() == 0 {
            return Err(not_found("budget", &scope.to_string()));
        }
        note(&mut tx, Some(by), AuditKind::BudgetRemoved, &scope.to_string(), "").await?;
        Ok(tx.commit().await?)
    }

    pub(super) async fn kept_key(&self, owner: &KeyOwner, sealed: Sealed) -> Done<()> {
        let mut tx = self.begin().await?;
        let keep = "INSERT INTO provider_keys (user_id, provider, key_id, sealed) \
                    VALUES ($1, $2, $3, $4) ON CONFLICT (user_id, provider) \
                    DO UPDATE SET key_id = $3, sealed = $4, kept = clock_timestamp()";
        let keep = sqlx::query(keep).bind(owner.user.as_str()).bind(&owner.provider);
        keep.bind(&sealed.key_id).bind(&sealed.bytes).execute(&mut *tx).await?;
        note(&mut tx, Some(&owner.user), AuditKind::KeyKept, &owner.provider, "").await?;
        Ok(tx.commit().await?)
    }

    pub(super) async fn listed_keys(&self, user: &UserId) -> Done<Vec<KeptKey>> {
        let list = "SELECT provider, key_id, (EXTRACT(EPOCH FROM kept) * 1000)::BIGINT \
                    FROM provider_keys WHERE user_id = $1 ORDER BY provider";
        let rows: Vec<(String, String, i64)> =
            sqlx::query_as(list).bind(user.as_str()).fetch_all(self.pool()).await?;
        let key = |(provider, sealed_with, kept)| KeptKey { provider, sealed_with, kept };
        Ok(rows.into_iter().map(key).collect())
    }

    pub(super) async fn all_sealed(&self, user: Option<&UserId>) -> Done<Vec<(KeyOwner, Sealed)>> {
        let all = "SELECT user_id, provider, key_id, sealed FROM provider_keys \
                   WHERE $1::TEXT IS NULL OR user_id = $1 ORDER BY user_id, provider";
        let rows: Vec<(String, String, String, Vec<u8>)> =
            sqlx::query_as(all).bind(user.map(UserId::as_str)).fetch_all(self.pool()).await?;
        let key = |(user, provider, key_id, bytes): (String, String, String, Vec<u8>)| {
            (KeyOwner { user: UserId::named(user), provider }, Sealed { key_id, bytes })
        };
        Ok(rows.into_iter().map(key).collect())
    }

    pub(super) async fn resealed(&self, owner: &KeyOwner, from: &Sealed, to: Sealed) -> Done<bool> {
        let reseal = "UPDATE provider_keys SET key_id = $4, sealed = $5 \
                      WHERE user_id = $1 AND provider = $2 AND sealed = $3";
        let reseal = sqlx::query(reseal).bind(owner.user.as_str()).bind(&owner.provider);
        let reseal = reseal.bind(&from.bytes).bind(&to.key_id).bind(&to.bytes);
        Ok(reseal.execute(self.pool()).await?.rows_affected() == 1)
    }

    pub(super) async fn removed_key(&self, owner: &KeyOwner) -> Done<()> {
        let mut tx = self.begin().await?;
        let remove = "DELETE FROM provider_keys WHERE user_id = $1 AND provider = $2";
        let remove = sqlx::query(remove).bind(owner.user.as_str()).bind(&owner.provider);
        if remove.execute(&mut *tx).await?.rows_affected() == 0 {
            return Err(not_found("key", &owner.provider));
        }
        note(&mut tx, Some(&owner.user), AuditKind::KeyRemoved, &owner.provider, "").await?;
        Ok(tx.commit().await?)
    }

    pub(super) async fn kept_of_removed(&self, removed: RemovedSession) -> Done<()> {
        let RemovedSession { session, project, owner, at, usd, answers } = removed;
        let mut tx = self.begin().await?;
        // Only what was spent today is ever asked for.
        let old = "DELETE FROM removed_spending WHERE at < clock_timestamp() - interval '2 days'";
        sqlx::query(old).execute(&mut *tx).await?;
        let keep = "INSERT INTO removed_spending (session, project, owner, at, usd) \
                    VALUES ($1, $2, $3, to_timestamp($4 / 1000.0), $5) ON CONFLICT (session) \
                    DO UPDATE SET project = $2, owner = $3, at = excluded.at, usd = $5";
        let keep = sqlx::query(keep).bind(&session).bind(project);
        let keep = keep.bind(owner.as_ref().map(UserId::as_str)).bind(at).bind(usd);
        keep.execute(&mut *tx).await?;
        let before = "DELETE FROM audit WHERE session = $1 AND kind IN ('approved', 'denied')";
        sqlx::query(before).bind(&session).execute(&mut *tx).await?;
        for answer in answers {
            let AuditEntry { at, user, kind, project, session, subject, detail } = answer;
            let insert = "INSERT INTO audit (at, user_id, kind, project, session, subject, detail) \
                          VALUES (to_timestamp($1 / 1000.0), $2, $3, $4, $5, $6, $7)";
            let insert = sqlx::query(insert).bind(at).bind(user.as_ref().map(UserId::as_str));
            let insert = insert.bind(kind.to_string()).bind(project).bind(session);
            insert.bind(subject).bind(detail).execute(&mut *tx).await?;
        }
        Ok(tx.commit().await?)
    }

    pub(super) async fn removed_since(&self, since: i64) -> Done<Vec<RemovedSpending>> {
        let read = "SELECT session, project, owner, usd FROM removed_spending \
                    WHERE at >= to_timestamp($1 / 1000.0) ORDER BY session";
        let rows: Vec<(String, String, Option<String>, f64)> =
            sqlx::query_as(read).bind(since).fetch_all(self.pool()).await?;
        let spent = |(session, project, owner, usd): (String, String, Option<String>, f64)| {
            let spending = Spending { user: owner.map(UserId::named), project, usd };
            RemovedSpending { session, spending }
        };
        Ok(rows.into_iter().map(spent).collect())
    }

    pub(super) async fn noted(&self, entry: AuditEntry) -> Done<()> {
        let AuditEntry { user, kind, project, session, subject, detail, .. } = entry;
        let insert = "INSERT INTO audit (user_id, kind, project, session, subject, detail) \
                      VALUES ($1, $2, $3, $4, $5, $6)";
        let insert = sqlx::query(insert).bind(user.as_ref().map(UserId::as_str));
        let insert = insert.bind(kind.to_string()).bind(project).bind(session);
        insert.bind(subject).bind(detail).execute(self.pool()).await?;
        Ok(())
    }

    pub(super) async fn audited(&self, filter: &AuditFilter) -> Done<Vec<PlacedEntry>> {
        let read = "SELECT number, (EXTRACT(EPOCH FROM at) * 1000)::BIGINT, user_id, kind, project, \
                    session, subject, detail FROM audit \
                    WHERE ($1::BIGINT IS NULL OR at >= to_timestamp($1 / 1000.0)) \
                    AND ($2::BIGINT IS NULL OR at < to_timestamp($2 / 1000.0)) \
                    AND ($3::TEXT IS NULL OR user_id = $3) AND ($4::TEXT IS NULL OR project = $4) \
                    AND ($5::BIGINT IS NULL OR (at, number) < (to_timestamp($5 / 1000.0), $6)) \
                    ORDER BY at DESC, number DESC LIMIT $7";
        // Rows of their own come behind what a log holds of the same moment.
        let before = filter.behind.as_ref().map(|behind| match behind.session.as_str() {
            "" => behind.number,
            _ => i64::MAX,
        });
        // A moment that the database cannot say is before or behind all that it has.
        let known = |at: i64| at.clamp(EARLIEST, LATEST);
        let (since, until) = (filter.since.map(known), filter.before.map(known));
        let user = filter.user.as_ref().map(|user| storable(user.as_str()));
        let read = sqlx::query_as(read).bind(since).bind(until).bind(user);
        let read = read.bind(filter.project.as_deref().map(storable));
        let read = read.bind(filter.behind.as_ref().map(|behind| known(behind.at))).bind(before);
        let rows: Vec<AuditRow> =
            read.bind(filter.limit.map(i64::from)).fetch_all(self.pool()).await?;
        rows.into_iter().map(placed).collect()
    }
}
