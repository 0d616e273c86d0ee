//! Routes that only the service of a team has: logging in, one's own account, and managing users.

mod account;
mod audit;
mod login;
mod people;
mod sharing;
mod spending;

pub(super) use account::OwnAccount;
pub(super) use login::{log_in, log_out};

use team::UserId;

use crate::api_error::ApiError;
use crate::route::{Request, Route};
use crate::view::{TeamState, TeamViewer};

pub(super) fn routes() -> Vec<Route> {
    let groups = [
        login::routes(),
        account::routes(),
        people::routes(),
        sharing::routes(),
        spending::routes(),
        audit::routes(),
    ];
    groups.into_iter().flatten().collect()
}

/// The user that asks. Every route here but logins needs one.
fn user<Q, B>(request: &Request<Q, B>) -> Result<&TeamViewer, ApiError> {
    request.hub.user().ok_or_else(no_team)
}

fn no_team() -> ApiError {
    ApiError::not_found("this service has no team")
}

/// A user that a path names.
fn named<Q, B>(request: &Request<Q, B>) -> UserId {
    UserId::named(request.part("user"))
}

/// Lets streams see at once what has changed.
async fn told(team: &TeamState) -> Result<(), ApiError> {
    Ok(team.refresh().await?)
}
