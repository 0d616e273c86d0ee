//! Users and invitations.

use sqlx::PgConnection;

use super::*;

/// The columns of a user, as `UserRow` reads them.
macro_rules! user_columns {
    () => {
        "u.id, u.name, u.email, u.role, u.is_disabled, (EXTRACT(EPOCH FROM u.added) * 1000)::BIGINT"
    };
}
pub(super) use user_columns;

pub(super) type UserRow = (String, String, Option<String>, String, bool, i64);

pub(super) fn user((id, name, email, role, is_disabled, added): UserRow) -> Done<User> {
    let role = role.parse().map_err(|_| unreadable(&role))?;
    Ok(User { id: UserId::named(id), name, email, role, is_disabled, added })
}

type InvitationRow = (i64, String, String, Vec<String>, Option<String>, i64);

fn invitation((id, note, role, projects, made_by, expires): InvitationRow) -> Done<InvitationInfo> {
    let role = role.parse().map_err(|_| unreadable(&role))?;
    let made_by = made_by.map(UserId::named);
    Ok(InvitationInfo { id: id.to_string(), note, role, projects, made_by, expires })
}

impl PostgresDatabase {
    pub(super) async fn all_users(&self) -> Done<Vec<User>> {
        const ALL: &str = concat!("SELECT ", user_columns!(), " FROM users u ORDER BY u.number");
        let rows: Vec<UserRow> = sqlx::query_as(ALL).fetch_all(self.pool()).await?;
        rows.into_iter().map(user).collect()
    }

    pub(super) async fn found_identity(&self, identity: &Identity) -> Done<Option<User>> {
        let mut conn = self.pool().acquire().await?;
        user_of(&mut conn, identity).await
    }

    pub(super) async fn added_user(&self, new: NewUser, role: TeamRole) -> Done<User> {
        let mut tx = self.begin_change().await?;
        let user = add(&mut tx, new, role).await?;
        tx.commit().await?;
        Ok(user)
    }

    pub(super) async fn changed_user(
        &self,
        by: &UserId,
        id: &UserId,
        change: UserChange,
    ) -> Done<User> {
        let mut tx = self.begin_change().await?;
        let user = change_user(&mut tx, by, id, change).await?;
        tx.commit().await?;
        Ok(user)
    }

    pub(super) async fn invited(&self, by: &UserId, new: NewInvitation) -> Done<InvitationInfo> {
        let mut tx = self.begin().await?;
        let info = invite(&mut tx, Some(by), new).await?;
        tx.commit().await?;
        Ok(info)
    }

    pub(super) async fn invited_first_admin(&self, new: NewInvitation) -> Done<bool> {
        let mut tx = self.begin_change().await?;
        if admins(&mut tx).await? > 0 {
            return Ok(false);
        }
        sqlx::query("DELETE FROM invitations WHERE made_by IS NULL").execute(&mut *tx).await?;
        invite(&mut tx, None, new).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// The invitations that are open, or the one with this secret.
    pub(super) async fn open_invitations(
        &self,
        hash: Option<&SecretHash>,
    ) -> Done<Vec<InvitationInfo>> {
        let open = "SELECT id, note, role, projects, made_by, \
                    (EXTRACT(EPOCH FROM expires) * 1000)::BIGINT FROM invitations \
                    WHERE expires > clock_timestamp() AND ($1::BYTEA IS NULL OR hash = $1) \
                    AND (made_by IS NULL OR EXISTS (SELECT FROM users WHERE users.id = made_by \
                    AND users.role = 'admin' AND NOT is_disabled)) ORDER BY id";
        let open = sqlx::query_as(open).bind(hash.map(SecretHash::as_bytes));
        let rows: Vec<InvitationRow> = open.fetch_all(self.pool()).await?;
        rows.into_iter().map(invitation).collect()
    }

    pub(super) async fn withdrawn_invitation(&self, by: &UserId, id: &str) -> Done<()> {
        let mut tx = self.begin().await?;
        let delete = "DELETE FROM invitations WHERE id::TEXT = $1";
        let deleted = sqlx::query(delete).bind(id).execute(&mut *tx).await?;
        if deleted.rows_affected() == 0 {
            return Err(not_found("invitation", id));
        }
        note(&mut tx, Some(by), AuditKind::InvitationWithdrawn, id, "").await?;
        Ok(tx.commit().await?)
    }

    pub(super) async fn accepted(&self, hash: &SecretHash, new: NewUser) -> Done<Option<User>> {
        let mut tx = self.begin_change().await?;
        // Whoever deletes the row has the invitation; a failure below gives it back.
        let take = "DELETE FROM invitations WHERE hash = $1 AND expires > clock_timestamp() \
                    AND (made_by IS NULL OR EXISTS (SELECT FROM users WHERE users.id = made_by \
                    AND users.role = 'admin' AND NOT is_disabled)) RETURNING role, projects";
        let taken: Option<(String, Vec<String>)> =
            sqlx::query_as(take).bind(hash.as_bytes()).fetch_optional(&mut *tx).await?;
        let Some((role, projects)) = taken else { return Ok(None) };
        let role: TeamRole = role.parse().map_err(|_| unreadable(&role))?;
        let known = match &new.identity {
            Some(identity) => user_of(&mut tx, identity).await?,
            None => None,
        };
        let user = match known {
            Some(user) => {
                let role = Some(role.max(user.role));
                let change = UserChange { role, ..UserChange::default() };
                change_user(&mut tx, &user.id, &user.id, change).await?
            }
            None => add(&mut tx, new, role).await?,
        };
        let share = "INSERT INTO shares (project, user_id) SELECT unnest($1::TEXT[]), $2 \
                     ON CONFLICT DO NOTHING";
        sqlx::query(share).bind(projects).bind(user.id.as_str()).execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(Some(user))
    }
}

async fn user_of(conn: &mut PgConnection, identity: &Identity) -> Done<Option<User>> {
    const ONE: &str =
        concat!("SELECT ", user_columns!(), " FROM users u WHERE u.issuer = $1 AND u.subject = $2");
    let row: Option<UserRow> = sqlx::query_as(ONE)
        .bind(&identity.issuer)
        .bind(&identity.subject)
        .fetch_optional(conn)
        .await?;
    row.map(user).transpose()
}

async fn add(conn: &mut PgConnection, new: NewUser, role: TeamRole) -> Done<User> {
    const INSERT: &str = concat!(
        "INSERT INTO users AS u (id, name, email, role, issuer, subject) \
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (issuer, subject) DO NOTHING RETURNING ",
        user_columns!()
    );
    let NewUser { name, email, identity } = new.checked()?;
    let (issuer, subject) = identity.map(|it| (it.issuer, it.subject)).unzip();
    let insert = sqlx::query_as(INSERT).bind(UserId::generate()?.as_str().to_owned());
    let insert = insert.bind(name).bind(email).bind(role.to_string()).bind(issuer).bind(subject);
    let row: Option<UserRow> = insert.fetch_optional(&mut *conn).await?;
    let user = user(row.ok_or(PeopleError::Exists("user"))?)?;
    let detail = format!("role {role}");
    note(conn, Some(&user.id), AuditKind::UserAdded, user.id.as_str(), &detail).await?;
    Ok(user)
}

async fn admins(conn: &mut PgConnection) -> Done<i64> {
    let count = "SELECT count(*) FROM users WHERE role = 'admin' AND NOT is_disabled";
    Ok(sqlx::query_scalar(count).fetch_one(conn).await?)
}

/// In a transaction that [`PostgresDatabase::begin_change`] has begun.
async fn change_user(
    conn: &mut PgConnection,
    by: &UserId,
    id: &UserId,
    change: UserChange,
) -> Done<User> {
    const ONE: &str = concat!("SELECT ", user_columns!(), " FROM users u WHERE u.id = $1");
    const CHANGE: &str = concat!(
        "UPDATE users u SET name = coalesce($2, name), role = coalesce($3, role), \
         is_disabled = coalesce($4, is_disabled) WHERE u.id = $1 RETURNING ",
        user_columns!()
    );
    let change = change.checked()?;
    let row: Option<UserRow> =
        sqlx::query_as(ONE).bind(id.as_str()).fetch_optional(&mut *conn).await?;
    let before = user(row.ok_or_else(|| not_found("user", id.as_str()))?)?;
    if change.ends_admin(&before) && admins(conn).await? == 1 {
        return Err(PeopleError::LastAdmin.into());
    }
    let told = change.told();
    let role = change.role.map(|role| role.to_string());
    let update = sqlx::query_as(CHANGE).bind(id.as_str()).bind(change.name).bind(role);
    let row: UserRow = update.bind(change.is_disabled).fetch_one(&mut *conn).await?;
    let after = user(row)?;
    if after.is_disabled {
        let end = "DELETE FROM browsers WHERE user_id = $1";
        sqlx::query(end).bind(id.as_str()).execute(&mut *conn).await?;
    }
    note(conn, Some(by), AuditKind::UserChanged, id.as_str(), &told).await?;
    Ok(after)
}

async fn invite(
    conn: &mut PgConnection,
    by: Option<&UserId>,
    new: NewInvitation,
) -> Done<InvitationInfo> {
    let insert = "INSERT INTO invitations (hash, note, role, projects, made_by, expires) \
                  VALUES ($1, $2, $3, $4, $5, clock_timestamp() + make_interval(secs => $6)) \
                  RETURNING id, note, role, projects, made_by, \
                  (EXTRACT(EPOCH FROM expires) * 1000)::BIGINT";
    let insert = sqlx::query_as(insert).bind(new.hash.as_bytes()).bind(&new.note);
    let insert = insert.bind(new.role.to_string()).bind(new.projects).bind(by.map(UserId::as_str));
    let row: InvitationRow = insert.bind(f64::from(new.seconds)).fetch_one(&mut *conn).await?;
    let info = invitation(row)?;
    let detail = format!("role {}: {}", info.role, info.note);
    note(conn, by, AuditKind::Invited, &info.id, &detail).await?;
    Ok(info)
}
