//! Tokens, browsers, and logins that have begun.

use std::time::Duration;

use team::{BrowserToken, Credential, Scope};

use super::accounts::{UserRow, user, user_columns};
use super::*;

/// The projects that are shared with the user, in order.
macro_rules! projects_column {
    () => {
        "ARRAY(SELECT s.project FROM shares s WHERE s.user_id = u.id ORDER BY s.project)"
    };
}

type TokenRow = (i64, String, String, Vec<String>, i64, i64, Option<i64>, Option<i64>);

/// The columns of a token, as `TokenRow` reads them.
macro_rules! token_columns {
    () => {
        "id, user_id, name, scopes, (EXTRACT(EPOCH FROM made) * 1000)::BIGINT, \
         (EXTRACT(EPOCH FROM expires) * 1000)::BIGINT, (EXTRACT(EPOCH FROM used) * 1000)::BIGINT, \
         made_with"
    };
}

fn token((id, user, name, scopes, made, expires, used, made_with): TokenRow) -> Done<TokenInfo> {
    let (id, user, scopes) = (id.to_string(), UserId::named(user), read_scopes(scopes)?);
    let made_with = made_with.map(|id| id.to_string());
    Ok(TokenInfo { id, user, name, scopes, made, expires, used, made_with })
}

/// The row of a token that something is made with.
fn maker_row(token: Option<&str>) -> Done<Option<i64>> {
    let row = |id: &str| id.parse().map_err(|_| not_found("token", id));
    token.map(row).transpose()
}

/// What could not be made: its user is not there, or the token that it is made with was revoked meanwhile.
fn not_made(user: &UserId, made_with: Option<&str>) -> PeopleFailure {
    match made_with {
        Some(token) => not_found("token", token),
        None => not_found("user", user.as_str()),
    }
}

fn read_scopes(scopes: Vec<String>) -> Done<Vec<Scope>> {
    let read = |scope: String| scope.parse().map_err(|_| unreadable(&scope));
    scopes.into_iter().map(read).collect()
}

/// A user with the projects that are shared with it, and for how many seconds it is still recognised.
type FoundUser = (String, String, Option<String>, String, bool, i64, Vec<String>, f64);

fn recognised(found: FoundUser, credential: Credential) -> Done<Recognised> {
    let (id, name, email, role, is_disabled, added, projects, seconds) = found;
    let row: UserRow = (id, name, email, role, is_disabled, added);
    let good_for = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    Ok(Recognised { user: user(row)?, credential, projects, good_for })
}

/// The same with the token that a browser came with, and for how many seconds that is still good.
type BrowserUser =
    (String, String, Option<String>, String, bool, i64, Vec<String>, f64, Option<i64>, Option<f64>);

/// The same with a token: its id, its scopes, and whether its use is to be noted.
type TokenUser =
    (String, String, Option<String>, String, bool, i64, Vec<String>, f64, i64, Vec<String>, bool);

impl PostgresDatabase {
    pub(super) async fn recognised_token(&self, hash: &SecretHash) -> Done<Option<Recognised>> {
        const FIND: &str = concat!(
            "SELECT ",
            user_columns!(),
            ", ",
            projects_column!(),
            ", EXTRACT(EPOCH FROM t.expires - clock_timestamp())::FLOAT8, t.id, t.scopes, \
             t.used IS NULL OR t.used < clock_timestamp() - interval '1 minute' \
             FROM tokens t JOIN users u ON u.id = t.user_id \
             WHERE t.hash = $1 AND t.expires > clock_timestamp() AND NOT u.is_disabled"
        );
        let found: Option<TokenUser> =
            sqlx::query_as(FIND).bind(hash.as_bytes()).fetch_optional(self.pool()).await?;
        let Some(found) = found else { return Ok(None) };
        let (id, name, email, role, is_disabled, added, projects, left, token, scopes, is_news) =
            found;
        if is_news {
            let used = "UPDATE tokens SET used = clock_timestamp() WHERE id = $1";
            sqlx::query(used).bind(token).execute(self.pool()).await?;
        }
        let credential = Credential::Token { id: token.to_string(), scopes: read_scopes(scopes)? };
        let found = (id, name, email, role, is_disabled, added, projects, left);
        recognised(found, credential).map(Some)
    }

    pub(super) async fn recognised_browser(&self, hash: &SecretHash) -> Done<Option<Recognised>> {
        const FIND: &str = concat!(
            "SELECT ",
            user_columns!(),
            ", ",
            projects_column!(),
            ", EXTRACT(EPOCH FROM b.expires - clock_timestamp())::FLOAT8, t.id, \
             EXTRACT(EPOCH FROM t.expires - clock_timestamp())::FLOAT8 \
             FROM browsers b JOIN users u ON u.id = b.user_id LEFT JOIN tokens t ON t.id = b.made_with \
             WHERE b.hash = $1 AND b.expires > clock_timestamp() AND NOT u.is_disabled"
        );
        let found: Option<BrowserUser> =
            sqlx::query_as(FIND).bind(hash.as_bytes()).fetch_optional(self.pool()).await?;
        let Some(found) = found else { return Ok(None) };
        let (id, name, email, role, is_disabled, added, projects, left, token, token_left) = found;
        let token = token.zip(token_left).map(|(id, left)| BrowserToken {
            id: id.to_string(),
            good_for: Duration::try_from_secs_f64(left).unwrap_or_default(),
        });
        let found = (id, name, email, role, is_disabled, added, projects, left);
        recognised(found, Credential::Browser { token }).map(Some)
    }

    pub(super) async fn begun_browser(&self, new: NewBrowser) -> Done<()> {
        let NewBrowser { user, hash, seconds, made_with } = new;
        let mut tx = self.begin().await?;
        let ended = "DELETE FROM browsers WHERE expires < clock_timestamp()";
        sqlx::query(ended).execute(&mut *tx).await?;
        let begin = "INSERT INTO browsers (hash, user_id, expires, made_with) \
                     SELECT $1, id, clock_timestamp() + make_interval(secs => $3), $4 FROM users \
                     WHERE id = $2 AND ($4::BIGINT IS NULL OR EXISTS (SELECT FROM tokens t \
                     WHERE t.id = $4)) ON CONFLICT (hash) DO NOTHING";
        let begin = sqlx::query(begin).bind(hash.as_bytes()).bind(user.as_str());
        let begin = begin.bind(f64::from(seconds)).bind(maker_row(made_with.as_deref())?);
        if begin.execute(&mut *tx).await?.rows_affected() == 0 {
            return Err(not_made(&user, made_with.as_deref()));
        }
        note(&mut tx, Some(&user), AuditKind::LoggedIn, user.as_str(), "").await?;
        Ok(tx.commit().await?)
    }

    pub(super) async fn ended_browser(&self, hash: &SecretHash) -> Done<bool> {
        let mut tx = self.begin_change().await?;
        let end = "DELETE FROM browsers WHERE hash = $1 RETURNING user_id";
        let user: Option<String> =
            sqlx::query_scalar(end).bind(hash.as_bytes()).fetch_optional(&mut *tx).await?;
        let Some(user) = user.map(UserId::named) else { return Ok(false) };
        note(&mut tx, Some(&user), AuditKind::LoggedOut, user.as_str(), "").await?;
        tx.commit().await?;
        Ok(true)
    }

    pub(super) async fn added_token(&self, by: &UserId, new: NewToken) -> Done<TokenInfo> {
        const INSERT: &str = concat!(
            "INSERT INTO tokens (hash, user_id, name, scopes, expires, made_with) \
             SELECT $1, id, $3, $4, clock_timestamp() + make_interval(days => $5), $6 FROM users \
             WHERE id = $2 AND ($6::BIGINT IS NULL OR EXISTS (SELECT FROM tokens t WHERE t.id = $6)) \
             RETURNING ",
            token_columns!()
        );
        let mut tx = self.begin().await?;
        let scopes: Vec<String> = new.scopes.iter().map(ToString::to_string).collect();
        let days = i32::try_from(new.days).unwrap_or(i32::MAX);
        let insert = sqlx::query_as(INSERT).bind(new.hash.as_bytes()).bind(new.user.as_str());
        let made_with = new.made_with.as_deref();
        let insert = insert.bind(&new.name).bind(scopes).bind(days).bind(maker_row(made_with)?);
        let row: Option<TokenRow> = insert.fetch_optional(&mut *tx).await?;
        let info = token(row.ok_or_else(|| not_made(&new.user, made_with))?)?;
        note(&mut tx, Some(by), AuditKind::TokenMade, &info.id, &info.name).await?;
        tx.commit().await?;
        Ok(info)
    }

    pub(super) async fn listed_tokens(&self, user: Option<&UserId>) -> Done<Vec<TokenInfo>> {
        const LIST: &str = concat!(
            "SELECT ",
            token_columns!(),
            " FROM tokens WHERE $1::TEXT IS NULL OR user_id = $1 ORDER BY id"
        );
        let list = sqlx::query_as(LIST).bind(user.map(UserId::as_str));
        let rows: Vec<TokenRow> = list.fetch_all(self.pool()).await?;
        rows.into_iter().map(token).collect()
    }

    pub(super) async fn revoked_token(
        &self,
        by: &UserId,
        owner: Option<&UserId>,
        id: &str,
    ) -> Done<()> {
        let mut tx = self.begin_change().await?;
        // The database removes what was made with a token by itself; here it is named for the audit.
        let revoke = "WITH RECURSIVE gone AS (SELECT t.id FROM tokens t WHERE t.id::TEXT = $1 \
                      AND ($2::TEXT IS NULL OR t.user_id = $2) \
                      UNION SELECT t.id FROM tokens t JOIN gone ON t.made_with = gone.id) \
                      DELETE FROM tokens WHERE id IN (SELECT id FROM gone) RETURNING id, made_with";
        let revoke = sqlx::query_as(revoke).bind(id).bind(owner.map(UserId::as_str));
        let gone: Vec<(i64, Option<i64>)> = revoke.fetch_all(&mut *tx).await?;
        if gone.is_empty() {
            return Err(not_found("token", id));
        }
        for (id, made_with) in gone {
            let detail = made_with.map(|maker| format!("made with {maker}")).unwrap_or_default();
            note(&mut tx, Some(by), AuditKind::TokenRevoked, &id.to_string(), &detail).await?;
        }
        Ok(tx.commit().await?)
    }

    pub(super) async fn kept_attempt(&self, attempt: KeptAttempt, seconds: u32) -> Done<()> {
        let ended = "DELETE FROM login_attempts WHERE expires < clock_timestamp()";
        sqlx::query(ended).execute(self.pool()).await?;
        let keep = "INSERT INTO login_attempts (state, browser, nonce, verifier, invitation, expires) \
                    VALUES ($1, $2, $3, $4, $5, clock_timestamp() + make_interval(secs => $6))";
        let keep = sqlx::query(keep)
            .bind(attempt.state.as_bytes())
            .bind(attempt.browser.as_bytes())
            .bind(&attempt.nonce)
            .bind(&attempt.verifier)
            .bind(attempt.invitation.as_ref().map(SecretHash::as_bytes));
        keep.bind(f64::from(seconds)).execute(self.pool()).await?;
        Ok(())
    }

    pub(super) async fn taken_attempt(
        &self,
        state: &SecretHash,
        browser: &SecretHash,
    ) -> Done<Option<KeptAttempt>> {
        let take = "DELETE FROM login_attempts WHERE state = $1 AND browser = $2 \
                    RETURNING nonce, verifier, invitation, expires > clock_timestamp()";
        let take = sqlx::query_as(take).bind(state.as_bytes()).bind(browser.as_bytes());
        let row: Option<(String, String, Option<Vec<u8>>, bool)> =
            take.fetch_optional(self.pool()).await?;
        let Some((nonce, verifier, invitation, true)) = row else { return Ok(None) };
        let invitation = match invitation.map(|bytes| SecretHash::from_bytes(&bytes)) {
            Some(None) => return Err(unreadable("an invitation")),
            Some(Some(hash)) => Some(hash),
            None => None,
        };
        let (state, browser) = (state.clone(), browser.clone());
        Ok(Some(KeptAttempt { state, browser, nonce, verifier, invitation }))
    }
}
