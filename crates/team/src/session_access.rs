//! What may be done with a session, by whom.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter, EnumString};

use crate::{TeamRole, UserId};

/// Who sees a session beside its owner, approvers and admins.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Display, EnumString,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Visibility {
    /// No other user.
    #[default]
    Private,
    /// Everyone whom the project is shared with.
    Project,
}

/// What is known of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionAccess {
    /// The user that began it; none for one that was made without a user, such as by an import.
    pub owner: Option<UserId>,
    /// Who sees it.
    pub visibility: Visibility,
}

/// What a user wants to do with a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumIter)]
pub enum SessionAct {
    /// See it: its log, events, files it changed, questions.
    Read,
    /// Say something in it, interrupt, go on, go back, rename it.
    Write,
    /// Answer its questions.
    Answer,
    /// Delete it, or decide who sees it.
    Manage,
}

/// What a user has to do with a session of a project that is shared with the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumIter)]
pub enum Relation {
    /// The user began it.
    Own,
    /// Another did, and everyone of the project may see it.
    Shared,
    /// Another did.
    Other,
}

impl Relation {
    /// That of a user to a session.
    pub fn of(user: &UserId, session: &SessionAccess) -> Self {
        match (&session.owner, session.visibility) {
            (Some(owner), _) if owner == user => Self::Own,
            (_, Visibility::Project) => Self::Shared,
            (_, Visibility::Private) => Self::Other,
        }
    }
}

/// Whether a role may do something with a session, in a project that is shared with the user. Only the owner
/// writes, because what is written there is done in the owner's name and paid from the owner's budget. An approver
/// sees what is asked about, an admin ends and removes what must be.
pub fn may(role: TeamRole, relation: Relation, act: SessionAct) -> bool {
    match act {
        SessionAct::Read => match relation {
            Relation::Own | Relation::Shared => true,
            Relation::Other => role >= TeamRole::Approver,
        },
        SessionAct::Write => relation == Relation::Own && role >= TeamRole::Member,
        SessionAct::Answer => role >= TeamRole::Approver,
        SessionAct::Manage => {
            role == TeamRole::Admin || (relation == Relation::Own && role >= TeamRole::Member)
        }
    }
}

/// Whether a user may say yes to a question that `asker` has caused. With `four_eyes` it is always another user; that
/// of a call whose user is not known is then for admins.
pub fn may_approve(user: &UserId, role: TeamRole, asker: Option<&UserId>, four_eyes: bool) -> bool {
    role >= TeamRole::Approver
        && match asker {
            _ if !four_eyes => true,
            Some(asker) => asker != user,
            None => role == TeamRole::Admin,
        }
}

#[cfg(test)]
mod tests {
    use strum::IntoEnumIterator as _;

    use super::*;

    #[test]
    fn who_may_do_what_with_a_session() {
        let mut table = String::new();
        for relation in Relation::iter() {
            for role in TeamRole::ALL {
                let acts = SessionAct::iter().filter(|act| may(role, relation, *act));
                let acts: Vec<String> = acts.map(|act| format!("{act:?}")).collect();
                table.push_str(&format!("{relation:?} {role}: {}\n", acts.join(" ")));
            }
        }
        insta::assert_snapshot!(table, @r"
        Own viewer: Read
        Own member: Read Write Manage
        Own approver: Read Write Answer Manage
        Own admin: Read Write Answer Manage
        Shared viewer: Read
        Shared member: Read
        Shared approver: Read Answer
        Shared admin: Read Answer Manage
        Other viewer: 
        Other member: 
        Other approver: Read Answer
        Other admin: Read Answer Manage
        ");
    }

    #[test]
    fn a_role_that_may_do_more_never_may_do_less() {
        for relation in Relation::iter() {
            for act in SessionAct::iter() {
                for (less, more) in TeamRole::ALL.iter().zip(&TeamRole::ALL[1..]) {
                    assert!(!may(*less, relation, act) || may(*more, relation, act));
                }
            }
        }
    }

    #[test]
    fn who_asks_does_not_approve_if_the_team_wants_that() {
        let (ada, bob) = (UserId::named("ada"), UserId::named("bob"));
        for role in [TeamRole::Viewer, TeamRole::Member] {
            assert!(!may_approve(&ada, role, Some(&bob), false), "{role}");
        }
        for role in [TeamRole::Approver, TeamRole::Admin] {
            assert!(may_approve(&ada, role, Some(&ada), false));
            assert!(!may_approve(&ada, role, Some(&ada), true));
            assert!(may_approve(&ada, role, Some(&bob), true));
        }
        assert!(!may_approve(&ada, TeamRole::Approver, None, true));
        assert!(may_approve(&ada, TeamRole::Admin, None, true));
    }

    #[test]
    fn a_session_without_an_owner_is_of_no_user() {
        let session = SessionAccess { owner: None, visibility: Visibility::Private };
        assert_eq!(Relation::of(&UserId::named("ada"), &session), Relation::Other);
    }
}
