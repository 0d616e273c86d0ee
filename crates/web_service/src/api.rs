//! What clients can ask for: one table, and a file for each group of routes.

mod access;
mod approvals;
mod changes;
mod colours;
mod completion;
mod conversation;
mod custom_tools;
mod days;
mod overview;
mod project;
mod search_all;
mod sessions;
mod stream;
mod team;
mod tools;

pub(crate) use approvals::{QuestionBrief, QuestionNames};
pub(crate) use colours::blocking;
pub(crate) use sessions::{ListedSession, SessionBrief};
pub(crate) use stream::EVENT_STREAM;

use crate::route::Route;

/// All routes of the service of a team: those of every service, and those about its users.
pub fn team_routes() -> Vec<Route> {
    routes().into_iter().chain(team::routes()).collect()
}

/// All routes of a service with one user.
pub fn routes() -> Vec<Route> {
    let groups = [
        access::routes(),
        overview::routes(),
        project::routes(),
        colours::routes(),
        sessions::routes(),
        conversation::routes(),
        approvals::routes(),
        changes::routes(),
        completion::routes(),
        custom_tools::routes(),
        days::routes(),
        search_all::routes(),
        tools::routes(),
        stream::routes(),
    ];
    groups.into_iter().flatten().collect()
}
