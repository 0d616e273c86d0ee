//! Users, invitations and all tokens, for admins.

use axum::http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use team::{
    INVITATION_SECONDS, InvitationInfo, NewInvitation, SecretKind, SecretText, TeamRole, User,
    UserChange,
};

use super::account::{ListedToken, TokenList};
use super::{named, told, user};
use crate::api_error::ApiError;
use crate::credentials::AccessScope;
use crate::guard::Need;
use crate::route::{Nothing, Request, Route};

/// Characters of the note of an invitation.
const LONGEST_NOTE: usize = 200;

pub(super) fn routes() -> Vec<Route> {
    let admin = Need::Scope(AccessScope::Admin);
    vec![
        Route::new(Method::GET, "/api/people", admin, "All users.", people),
        Route::new(
            Method::PATCH,
            "/api/people/{user}",
            admin,
            "Gives a user another role or name, or disables the user.",
            change,
        ),
        Route::new(Method::GET, "/api/invitations", admin, "Invitations that are open.", invited),
        Route::new(
            Method::POST,
            "/api/invitations",
            admin,
            "Invites a user. The link is shown once and is good once.",
            invite,
        ),
        Route::new(
            Method::DELETE,
            "/api/invitations/{invitation}",
            admin,
            "Takes an invitation back.",
            withdraw,
        ),
        Route::new(Method::GET, "/api/tokens", admin, "The tokens of all users.", tokens),
        Route::new(Method::DELETE, "/api/tokens/{token}", admin, "Revokes any token.", revoke),
    ]
}

/// Users.
#[derive(Debug, Serialize, JsonSchema)]
struct UserList {
    users: Vec<ListedUser>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ListedUser {
    id: String,
    name: String,
    /// As the identity provider says it. Nothing is decided by it.
    email: Option<String>,
    role: String,
    disabled: bool,
    /// Milliseconds since 1970, UTC.
    added: i64,
}

impl From<User> for ListedUser {
    fn from(user: User) -> Self {
        let User { id, name, email, role, is_disabled: disabled, added } = user;
        Self { id: id.to_string(), name, email, role: role.to_string(), disabled, added }
    }
}

async fn people(request: Request<Nothing, Nothing>) -> Result<UserList, ApiError> {
    let users = user(&request)?.team.people().users().await?;
    Ok(UserList { users: users.into_iter().map(ListedUser::from).collect() })
}

fn role(name: &str) -> Result<TeamRole, ApiError> {
    name.parse().map_err(|_| ApiError::invalid("a role is viewer, member, approver or admin"))
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UserPatch {
    name: Option<String>,
    /// `viewer`, `member`, `approver` or `admin`.
    role: Option<String>,
    disabled: Option<bool>,
}

async fn change(request: Request<Nothing, UserPatch>) -> Result<ListedUser, ApiError> {
    let asking = user(&request)?;
    let UserPatch { name, role: named_role, disabled } = &request.body;
    let change = UserChange {
        name: name.clone(),
        role: named_role.as_deref().map(role).transpose()?,
        is_disabled: *disabled,
    };
    let changed = asking.team.people().change_user(asking.id(), &named(&request), change).await?;
    told(&asking.team).await?;
    Ok(changed.into())
}

/// Invitations.
#[derive(Debug, Serialize, JsonSchema)]
struct InvitationList {
    invitations: Vec<ListedInvitation>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ListedInvitation {
    id: String,
    note: String,
    role: String,
    /// Projects that are shared with the user.
    projects: Vec<String>,
    /// The user that made it.
    made_by: Option<String>,
    /// Milliseconds since 1970, UTC.
    expires: i64,
}

impl From<InvitationInfo> for ListedInvitation {
    fn from(info: InvitationInfo) -> Self {
        let InvitationInfo { id, note, role, projects, made_by, expires } = info;
        let made_by = made_by.map(|user| user.to_string());
        Self { id, note, role: role.to_string(), projects, made_by, expires }
    }
}

async fn invited(request: Request<Nothing, Nothing>) -> Result<InvitationList, ApiError> {
    let open = user(&request)?.team.people().invitations().await?;
    Ok(InvitationList { invitations: open.into_iter().map(ListedInvitation::from).collect() })
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct InvitationBody {
    /// `viewer`, `member`, `approver` or `admin`.
    role: String,
    /// For whom it is meant, to be shown in the list.
    #[serde(default)]
    note: String,
    /// Projects that are shared with the user.
    #[serde(default)]
    projects: Vec<String>,
}

/// An invitation that was made.
#[derive(Debug, Serialize, JsonSchema)]
struct MadeInvitation {
    /// The link to be sent. It cannot be shown again.
    link: String,
    #[serde(flatten)]
    info: ListedInvitation,
}

async fn invite(request: Request<Nothing, InvitationBody>) -> Result<MadeInvitation, ApiError> {
    let asking = user(&request)?;
    let InvitationBody { role: name, note, projects } = &request.body;
    if note.chars().count() > LONGEST_NOTE {
        return Err(ApiError::invalid(format!("a note has at most {LONGEST_NOTE} characters")));
    }
    for project in projects {
        request.hub.project(Some(project))?;
    }
    let secret = SecretText::generate(SecretKind::Invitation);
    let secret = secret.map_err(|error| ApiError::internal(error.to_string()))?;
    let new = NewInvitation {
        note: protocol::visible(note),
        role: role(name)?,
        projects: projects.clone(),
        seconds: INVITATION_SECONDS,
        hash: secret.hash(),
    };
    let info = asking.team.people().invite(asking.id(), new).await?;
    let link = format!("{}/#code={}", request.app.site().url(), secret.expose());
    Ok(MadeInvitation { link, info: info.into() })
}

async fn withdraw(request: Request<Nothing, Nothing>) -> Result<Nothing, ApiError> {
    let asking = user(&request)?;
    let id = request.part("invitation");
    asking.team.people().withdraw_invitation(asking.id(), id).await?;
    Ok(Nothing {})
}

async fn tokens(request: Request<Nothing, Nothing>) -> Result<TokenList, ApiError> {
    let tokens = user(&request)?.team.people().tokens(None).await?;
    Ok(TokenList { tokens: tokens.into_iter().map(ListedToken::from).collect() })
}

async fn revoke(request: Request<Nothing, Nothing>) -> Result<Nothing, ApiError> {
    let asking = user(&request)?;
    asking.team.people().revoke_token(asking.id(), None, request.part("token")).await?;
    told(&asking.team).await?;
    Ok(Nothing {})
}
