//! Users of the team.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::secret::{NoRandomness, random_bytes};
use crate::{PeopleError, TeamRole};

/// Bytes of an id: as many as make equal ones impossible.
const ID_BYTES: usize = 12;
/// Characters of a name, which stands in lists.
const LONGEST_NAME: usize = 100;

/// The name of a user for programs. It never changes and is never given to another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UserId(String);

impl UserId {
    /// One that was never used before.
    pub fn generate() -> Result<Self, NoRandomness> {
        let bytes: [u8; ID_BYTES] = random_bytes()?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// The one that a request or a row names.
    pub fn named(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UserId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who the identity provider says a user is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// The provider.
    pub issuer: String,
    /// The user there. It is the only part that the provider promises never to give to another.
    pub subject: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct User {
    /// The name for programs.
    pub id: UserId,
    /// The name for people.
    pub name: String,
    /// As the identity provider says it, to be shown. Nothing is decided by it.
    pub email: Option<String>,
    /// What the user may do.
    pub role: TeamRole,
    /// Whether the user may do nothing at all for now.
    pub is_disabled: bool,
    /// When the user was added: milliseconds since 1970, UTC.
    pub added: i64,
}

/// A user to be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewUser {
    /// The name for people.
    pub name: String,
    /// To be shown.
    pub email: Option<String>,
    /// How the user logs in; none for one who has only the invitation.
    pub identity: Option<Identity>,
}

impl NewUser {
    /// The same with a name that can be shown.
    pub fn checked(self) -> Result<Self, PeopleError> {
        let name = shown_name(&self.name)?;
        let email = self.email.map(|email| protocol::visible(&email));
        Ok(Self { name, email: email.filter(|email| email.len() <= LONGEST_NAME * 3), ..self })
    }
}

/// What is to be different. What is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserChange {
    /// Another name.
    pub name: Option<String>,
    /// Another role.
    pub role: Option<TeamRole>,
    /// Whether the user is disabled.
    pub is_disabled: Option<bool>,
}

impl UserChange {
    /// The same with a name that can be shown.
    pub fn checked(self) -> Result<Self, PeopleError> {
        let name = self.name.as_deref().map(shown_name).transpose()?;
        Ok(Self { name, ..self })
    }

    /// Whether a user who was an active admin is none any more.
    pub fn ends_admin(&self, user: &User) -> bool {
        let was = user.role == TeamRole::Admin && !user.is_disabled;
        let role = self.role.unwrap_or(user.role);
        let is_disabled = self.is_disabled.unwrap_or(user.is_disabled);
        was && (role != TeamRole::Admin || is_disabled)
    }

    /// The change in words, for the audit.
    pub fn told(&self) -> String {
        let name = self.name.as_ref().map(|name| format!("name {name}"));
        let role = self.role.map(|role| format!("role {role}"));
        let disabled =
            self.is_disabled.map(|is| if is { "disabled" } else { "enabled" }.to_owned());
        [name, role, disabled].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

fn shown_name(name: &str) -> Result<String, PeopleError> {
    let name = protocol::visible(name.trim());
    match name.chars().count() {
        1..=LONGEST_NAME => Ok(name),
        _ => Err(PeopleError::Invalid(format!("a name has 1 to {LONGEST_NAME} characters"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_and_shows_what_it_holds() {
        let named = |name: &str| {
            let new = NewUser { name: name.to_owned(), email: None, identity: None };
            new.checked().map(|user| user.name)
        };
        assert_eq!(named(" Ada ").unwrap(), "Ada");
        assert!(named("  ").is_err());
        assert!(named(&"x".repeat(LONGEST_NAME + 1)).is_err());
        assert!(!named("a\u{202e}b").unwrap().contains('\u{202e}'));
    }

    #[test]
    fn ids_are_never_the_same() {
        let (one, two) = (UserId::generate().unwrap(), UserId::generate().unwrap());
        assert_eq!((one.as_str().len(), two.as_str().len()), (24, 24));
        assert_ne!(one, two);
    }
}
