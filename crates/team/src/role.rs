//! What each role may ask for.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter, EnumString};

/// What a user of the team may do. Each role may do what the one before may.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    Display,
    EnumString,
    EnumIter,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum TeamRole {
    /// Looks at what is shared.
    Viewer,
    /// Begins sessions, and works with the tools of the projects that are shared with the user.
    Member,
    /// Sees all sessions of these projects, and answers their questions.
    Approver,
    /// Sees and does everything, and manages users, projects and budgets.
    Admin,
}

/// What a request needs. A token has some of them, and never more than its user's role.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    Display,
    EnumString,
    EnumIter,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Scope {
    /// Look at sessions and projects.
    Read,
    /// Begin sessions, send messages, interrupt.
    Chat,
    /// Answer questions and take rules back.
    Approve,
    /// Look at files and call tools by hand.
    Tools,
    /// Call tools as another agent, over MCP.
    Mcp,
    /// Manage users, projects, budgets, and read the audit.
    Admin,
}

impl TeamRole {
    /// All of them, the one that may do least first.
    pub const ALL: [Self; 4] = [Self::Viewer, Self::Member, Self::Approver, Self::Admin];

    /// What the role may ask for.
    pub fn scopes(self) -> &'static [Scope] {
        match self {
            Self::Viewer => &[Scope::Read],
            Self::Member => &[Scope::Read, Scope::Chat, Scope::Tools, Scope::Mcp],
            Self::Approver => &[Scope::Read, Scope::Chat, Scope::Tools, Scope::Mcp, Scope::Approve],
            Self::Admin => {
                &[Scope::Read, Scope::Chat, Scope::Tools, Scope::Mcp, Scope::Approve, Scope::Admin]
            }
        }
    }

    /// Whether the role may ask for this.
    pub fn may(self, scope: Scope) -> bool {
        self.scopes().contains(&scope)
    }
}

#[cfg(test)]
mod tests {
    use strum::IntoEnumIterator as _;

    use super::*;

    #[test]
    fn each_role_may_do_what_the_one_before_may_and_something_more() {
        assert_eq!(TeamRole::iter().collect::<Vec<_>>(), TeamRole::ALL);
        for (less, more) in TeamRole::ALL.iter().zip(&TeamRole::ALL[1..]) {
            assert!(less.scopes().iter().all(|scope| more.may(*scope)), "{less} {more}");
            assert!(less < more && less.scopes().len() < more.scopes().len());
        }
        assert!(Scope::iter().all(|scope| TeamRole::Admin.may(scope)));
        let row = |role: TeamRole| Scope::iter().map(|scope| role.may(scope)).collect::<Vec<_>>();
        assert_eq!(row(TeamRole::Viewer), [true, false, false, false, false, false]);
        assert_eq!(row(TeamRole::Member), [true, true, false, true, true, false]);
        assert_eq!(row(TeamRole::Approver), [true, true, true, true, true, false]);
    }

    #[test]
    fn names_are_the_same_in_json_and_in_the_database() {
        for role in TeamRole::ALL {
            assert_eq!(serde_json::to_value(role).unwrap(), role.to_string());
            assert_eq!(role.to_string().parse(), Ok(role));
        }
        assert!("Admin".parse::<TeamRole>().is_err());
        for scope in Scope::iter() {
            assert_eq!(serde_json::to_value(scope).unwrap(), scope.to_string());
        }
    }
}
