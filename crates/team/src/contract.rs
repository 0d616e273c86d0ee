//! What every [`PeopleStore`] must do. Each check gets an empty one and panics where it fails.

mod belongings;

use std::future::Future;
use std::pin::Pin;

use crate::{
    AuditFilter, AuditKind, Credential, Identity, KeptAttempt, NewBrowser, NewInvitation, NewToken,
    NewUser, PeopleError, PeopleStore, PlacedEntry, Scope, SecretHash, TeamRole, User, UserChange,
};

type Running<'s> = Pin<Box<dyn Future<Output = ()> + Send + 's>>;

/// A check with its name.
pub struct Check {
    /// What must hold.
    pub name: &'static str,
    /// Tries it.
    pub run: for<'s> fn(&'s dyn PeopleStore) -> Running<'s>,
}

macro_rules! checks {
    ($($path:path),+ $(,)?) => {
        &[$(Check { name: stringify!($path), run: |store| Box::pin($path(store)) }),+]
    };
}

/// All checks.
pub const CHECKS: &[Check] = checks![
    the_first_admin_comes_in_once_and_only_while_there_is_none,
    an_invitation_is_good_once_and_until_it_ends_or_is_withdrawn,
    an_invitation_is_good_only_while_its_maker_is_an_admin,
    the_last_admin_stays_one,
    a_token_ends_when_it_expires_or_is_revoked_or_its_user_is_disabled,
    a_token_is_revoked_by_its_owner_and_not_by_another,
    a_token_is_revoked_with_all_that_was_made_with_it,
    a_browser_is_logged_in_until_it_logs_out,
    an_identity_is_one_user,
    a_login_that_has_begun_is_taken_once_and_only_by_its_browser,
    every_change_of_rights_is_in_the_audit_and_grows_the_version,
    belongings::a_project_is_shared_with_some_users,
    belongings::a_session_belongs_to_the_user_that_began_it,
    belongings::what_was_spent_and_answered_outlives_its_session,
    belongings::budgets_are_set_and_removed,
    belongings::keys_are_kept_for_their_owner,
    belongings::the_audit_can_be_filtered,
];

pub(crate) fn hash(text: &str) -> SecretHash {
    SecretHash::of(text)
}

fn new_user(name: &str, identity: Option<Identity>) -> NewUser {
    NewUser { name: name.to_owned(), email: None, identity }
}

fn invitation(role: TeamRole, secret: &str) -> NewInvitation {
    let projects = vec!["web".to_owned()];
    NewInvitation { note: "for Ada".to_owned(), role, projects, seconds: 60, hash: hash(secret) }
}

/// A user of this role.
pub(crate) async fn user(store: &dyn PeopleStore, name: &str, role: TeamRole) -> User {
    store.add_user(new_user(name, None), role).await.unwrap()
}

async fn the_first_admin_comes_in_once_and_only_while_there_is_none(store: &dyn PeopleStore) {
    assert!(store.invite_first_admin(invitation(TeamRole::Admin, "one")).await.unwrap());
    // The service was started again: only the newer link is good.
    assert!(store.invite_first_admin(invitation(TeamRole::Admin, "two")).await.unwrap());
    assert!(store.accept(&hash("one"), new_user("Eve", None)).await.unwrap().is_none());
    let admin = store.accept(&hash("two"), new_user("Ada", None)).await.unwrap().unwrap();
    assert_eq!((admin.role, admin.name.as_str()), (TeamRole::Admin, "Ada"));
    assert!(store.accept(&hash("two"), new_user("Eve", None)).await.unwrap().is_none());
    assert!(!store.invite_first_admin(invitation(TeamRole::Admin, "three")).await.unwrap());
    assert!(store.accept(&hash("three"), new_user("Eve", None)).await.unwrap().is_none());
    assert_eq!(store.users().await.unwrap(), [admin]);
}

async fn an_invitation_is_good_once_and_until_it_ends_or_is_withdrawn(store: &dyn PeopleStore) {
    let admin = user(store, "Ada", TeamRole::Admin).await;
    let ended = NewInvitation { seconds: 0, ..invitation(TeamRole::Member, "ended") };
    store.invite(&admin.id, ended).await.unwrap();
    assert_eq!(store.open_invitation(&hash("ended")).await.unwrap(), None);
    assert!(store.accept(&hash("ended"), new_user("Bob", None)).await.unwrap().is_none());
    assert_eq!(store.invitations().await.unwrap(), []);
    let open = store.invite(&admin.id, invitation(TeamRole::Member, "open")).await.unwrap();
    assert_eq!(store.invitations().await.unwrap(), std::slice::from_ref(&open));
    assert_eq!((open.made_by.as_ref(), open.role), (Some(&admin.id), TeamRole::Member));
    store.withdraw_invitation(&admin.id, &open.id).await.unwrap();
    assert!(store.accept(&hash("open"), new_user("Bob", None)).await.unwrap().is_none());
    let missing = store.withdraw_invitation(&admin.id, &open.id).await;
    assert!(matches!(missing, Err(PeopleError::NotFound { .. })));
    let good = store.invite(&admin.id, invitation(TeamRole::Member, "good")).await.unwrap();
    assert_eq!(store.open_invitation(&hash("good")).await.unwrap(), Some(good));
    // A name that is refused does not use it up.
    assert!(store.accept(&hash("good"), new_user(" ", None)).await.is_err());
    let bob = store.accept(&hash("good"), new_user("Bob", None)).await.unwrap().unwrap();
    store.begin_browser(browser(&bob, "browser", 60)).await.unwrap();
    let known = store.by_browser(&hash("browser")).await.unwrap().unwrap();
    assert_eq!(
        (known.user.role, known.projects.as_slice()),
        (TeamRole::Member, &["web".to_owned()][..])
    );
}

async fn an_invitation_is_good_only_while_its_maker_is_an_admin(store: &dyn PeopleStore) {
    let ada = user(store, "Ada", TeamRole::Admin).await;
    let eve = user(store, "Eve", TeamRole::Admin).await;
    let demoted = UserChange { role: Some(TeamRole::Member), ..UserChange::default() };
    let disabled = UserChange { is_disabled: Some(true), ..UserChange::default() };
    let again = UserChange { role: Some(TeamRole::Admin), ..disabled.clone() };
    let again = UserChange { is_disabled: Some(false), ..again };
    for (change, secret) in [(demoted, "one"), (disabled, "two")] {
        store.invite(&eve.id, invitation(TeamRole::Admin, secret)).await.unwrap();
        store.change_user(&ada.id, &eve.id, change).await.unwrap();
        assert_eq!(store.open_invitation(&hash(secret)).await.unwrap(), None);
        assert_eq!(store.invitations().await.unwrap(), []);
        // Otherwise she would come back under another name.
        assert!(store.accept(&hash(secret), new_user("Eva", None)).await.unwrap().is_none());
        store.change_user(&ada.id, &eve.id, again.clone()).await.unwrap();
        let info = store.open_invitation(&hash(secret)).await.unwrap().unwrap();
        store.withdraw_invitation(&ada.id, &info.id).await.unwrap();
    }
}

async fn the_last_admin_stays_one(store: &dyn PeopleStore) {
    let ada = user(store, "Ada", TeamRole::Admin).await;
    let bob = user(store, "Bob", TeamRole::Member).await;
    let demote = || UserChange { role: Some(TeamRole::Member), ..UserChange::default() };
    let disable = || UserChange { is_disabled: Some(true), ..UserChange::default() };
    for change in [demote(), disable()] {
        let refused = store.change_user(&ada.id, &ada.id, change).await;
        assert_eq!(refused, Err(PeopleError::LastAdmin));
    }
    let promote = UserChange { role: Some(TeamRole::Admin), ..UserChange::default() };
    assert_eq!(store.change_user(&ada.id, &bob.id, promote).await.unwrap().role, TeamRole::Admin);
    assert_eq!(store.change_user(&bob.id, &ada.id, demote()).await.unwrap().role, TeamRole::Member);
    assert_eq!(store.change_user(&bob.id, &bob.id, disable()).await, Err(PeopleError::LastAdmin));
    let named = UserChange { name: Some("Ada L.".to_owned()), ..UserChange::default() };
    assert_eq!(store.change_user(&bob.id, &ada.id, named).await.unwrap().name, "Ada L.");
}

fn token(user: &User, secret: &str, days: u32) -> NewToken {
    let scopes = vec![Scope::Chat, Scope::Admin];
    let (user, name, hash) = (user.id.clone(), "ci".to_owned(), hash(secret));
    NewToken { user, name, scopes, days, hash, made_with: None }
}

fn browser(user: &User, secret: &str, seconds: u32) -> NewBrowser {
    NewBrowser { user: user.id.clone(), hash: hash(secret), seconds, made_with: None }
}

async fn a_token_ends_when_it_expires_or_is_revoked_or_its_user_is_disabled(
    store: &dyn PeopleStore,
) {
    let ada = user(store, "Ada", TeamRole::Admin).await;
    let bob = user(store, "Bob", TeamRole::Member).await;
    store.add_token(&bob.id, token(&bob, "ended", 0)).await.unwrap();
    assert!(store.by_token(&hash("ended")).await.unwrap().is_none());
    let info = store.add_token(&bob.id, token(&bob, "good", 1)).await.unwrap();
    let known = store.by_token(&hash("good")).await.unwrap().unwrap();
    let scopes = vec![Scope::Chat, Scope::Admin];
    assert_eq!(known.credential, Credential::Token { id: info.id.clone(), scopes });
    assert_eq!(known.user, bob);
    let day = std::time::Duration::from_secs(24 * 60 * 60);
    assert!(known.good_for <= day && known.good_for > day / 2, "{known:?}");
    let listed = store.tokens(Some(&bob.id)).await.unwrap();
    assert!(listed.iter().any(|listed| listed.id == info.id && listed.used.is_some()));
    // A token is not a browser, whatever cookie it stands in.
    assert!(store.by_browser(&hash("good")).await.unwrap().is_none());
    let disabled = |is| UserChange { is_disabled: Some(is), ..UserChange::default() };
    store.change_user(&ada.id, &bob.id, disabled(true)).await.unwrap();
    assert!(store.by_token(&hash("good")).await.unwrap().is_none());
    store.change_user(&ada.id, &bob.id, disabled(false)).await.unwrap();
    assert!(store.by_token(&hash("good")).await.unwrap().is_some());
    store.revoke_token(&bob.id, Some(&bob.id), &info.id).await.unwrap();
    assert!(store.by_token(&hash("good")).await.unwrap().is_none());
}

async fn a_token_is_revoked_with_all_that_was_made_with_it(store: &dyn PeopleStore) {
    let bob = user(store, "Bob", TeamRole::Member).await;
    let made = async |secret: &str, with: Option<&str>| {
        let new = NewToken { made_with: with.map(str::to_owned), ..token(&bob, secret, 1) };
        store.add_token(&bob.id, new).await
    };
    let first = made("first", None).await.unwrap().id;
    let second = made("second", Some(&first)).await.unwrap();
    assert_eq!(second.made_with.as_ref(), Some(&first));
    made("third", Some(&second.id)).await.unwrap();
    made("other", None).await.unwrap();
    let with = |secret, token: &str| NewBrowser {
        made_with: Some(token.to_owned()),
        ..browser(&bob, secret, 60)
    };
    store.begin_browser(with("page", &second.id)).await.unwrap();
    store.begin_browser(browser(&bob, "own", 60)).await.unwrap();
    let known = store.by_browser(&hash("page")).await.unwrap().unwrap();
    let Credential::Browser { token: Some(token) } = known.credential else {
        panic!("{known:?}");
    };
    assert_eq!(token.id, second.id);
    assert!(token.good_for > known.good_for, "{token:?}");
    store.revoke_token(&bob.id, Some(&bob.id), &first).await.unwrap();
    for gone in ["first", "second", "third"] {
        assert!(store.by_token(&hash(gone)).await.unwrap().is_none(), "{gone}");
    }
    assert!(store.by_browser(&hash("page")).await.unwrap().is_none());
    assert!(store.by_token(&hash("other")).await.unwrap().is_some());
    assert!(store.by_browser(&hash("own")).await.unwrap().is_some());
    let audit = store.audit(&AuditFilter::default()).await.unwrap();
    let revoked = |row: &&PlacedEntry| row.entry.kind == AuditKind::TokenRevoked;
    assert_eq!(audit.iter().filter(revoked).count(), 3);
    // One that is gone makes nothing any more.
    assert!(made("late", Some(&first)).await.is_err());
    assert!(store.begin_browser(with("late", &first)).await.is_err());
}

async fn a_token_is_revoked_by_its_owner_and_not_by_another(store: &dyn PeopleStore) {
    let ada = user(store, "Ada", TeamRole::Admin).await;
    let bob = user(store, "Bob", TeamRole::Member).await;
    let info = store.add_token(&ada.id, token(&ada, "of ada", 1)).await.unwrap();
    let refused = store.revoke_token(&bob.id, Some(&bob.id), &info.id).await;
    assert!(matches!(refused, Err(PeopleError::NotFound { .. })));
    assert_eq!(store.tokens(Some(&bob.id)).await.unwrap(), []);
    assert_eq!(store.tokens(None).await.unwrap().len(), 1);
    store.revoke_token(&ada.id, None, &info.id).await.unwrap();
    assert_eq!(store.tokens(None).await.unwrap(), []);
}

async fn a_browser_is_logged_in_until_it_logs_out(store: &dyn PeopleStore) {
    let ada = user(store, "Ada", TeamRole::Admin).await;
    let bob = user(store, "Bob", TeamRole::Member).await;
    store.begin_browser(browser(&bob, "ended", 0)).await.unwrap();
    assert!(store.by_browser(&hash("ended")).await.unwrap().is_none());
    store.begin_browser(browser(&bob, "one", 60)).await.unwrap();
    store.begin_browser(browser(&bob, "two", 60)).await.unwrap();
    assert!(store.by_token(&hash("one")).await.unwrap().is_none());
    assert!(store.end_browser(&hash("one")).await.unwrap());
    assert!(!store.end_browser(&hash("one")).await.unwrap());
    assert!(store.by_browser(&hash("one")).await.unwrap().is_none());
    let known = store.by_browser(&hash("two")).await.unwrap().unwrap();
    assert_eq!(known.user, bob);
    let minute = std::time::Duration::from_secs(60);
    assert!(known.good_for <= minute && known.good_for > minute / 2, "{known:?}");
    // One who was disabled has to log in again afterwards.
    let disabled = |is| UserChange { is_disabled: Some(is), ..UserChange::default() };
    store.change_user(&ada.id, &bob.id, disabled(true)).await.unwrap();
    store.change_user(&ada.id, &bob.id, disabled(false)).await.unwrap();
    assert!(store.by_browser(&hash("two")).await.unwrap().is_none());
}

async fn an_identity_is_one_user(store: &dyn PeopleStore) {
    let identity = |subject: &str| {
        let (issuer, subject) = ("https://id.org".to_owned(), subject.to_owned());
        Identity { issuer, subject }
    };
    let admin = user(store, "Ada", TeamRole::Admin).await;
    let bob =
        store.add_user(new_user("Bob", Some(identity("b"))), TeamRole::Approver).await.unwrap();
    assert_eq!(store.user_of(&identity("b")).await.unwrap(), Some(bob.clone()));
    assert_eq!(store.user_of(&identity("B")).await.unwrap(), None);
    let again = store.add_user(new_user("Bob", Some(identity("b"))), TeamRole::Viewer).await;
    assert_eq!(again, Err(PeopleError::Exists("user")));
    // An invitation never takes a role away, and may give a higher one.
    store.invite(&admin.id, invitation(TeamRole::Member, "low")).await.unwrap();
    let same = store.accept(&hash("low"), new_user("Bob", Some(identity("b")))).await.unwrap();
    assert_eq!(same, Some(bob.clone()));
    store.invite(&admin.id, invitation(TeamRole::Admin, "high")).await.unwrap();
    let more = store.accept(&hash("high"), new_user("Bob", Some(identity("b")))).await.unwrap();
    assert_eq!(more, Some(User { role: TeamRole::Admin, ..bob }));
    assert_eq!(store.users().await.unwrap().len(), 2);
}

async fn a_login_that_has_begun_is_taken_once_and_only_by_its_browser(store: &dyn PeopleStore) {
    let attempt = |state: &str| KeptAttempt {
        state: hash(state),
        browser: hash("browser"),
        nonce: "n".to_owned(),
        verifier: "v".to_owned(),
        invitation: Some(hash("invited")),
    };
    store.keep_attempt(attempt("s"), 60).await.unwrap();
    assert_eq!(store.take_attempt(&hash("s"), &hash("other")).await.unwrap(), None);
    assert_eq!(store.take_attempt(&hash("x"), &hash("browser")).await.unwrap(), None);
    let taken = store.take_attempt(&hash("s"), &hash("browser")).await.unwrap();
    assert_eq!(taken, Some(attempt("s")));
    assert_eq!(store.take_attempt(&hash("s"), &hash("browser")).await.unwrap(), None);
    store.keep_attempt(attempt("late"), 0).await.unwrap();
    assert_eq!(store.take_attempt(&hash("late"), &hash("browser")).await.unwrap(), None);
}

async fn every_change_of_rights_is_in_the_audit_and_grows_the_version(store: &dyn PeopleStore) {
    let ada = user(store, "Ada", TeamRole::Admin).await;
    let bob = user(store, "Bob", TeamRole::Member).await;
    let before = store.version().await.unwrap();
    let change = UserChange { role: Some(TeamRole::Viewer), ..UserChange::default() };
    store.change_user(&ada.id, &bob.id, change).await.unwrap();
    assert!(store.version().await.unwrap() > before);
    let last =
        store.audit(&AuditFilter { limit: Some(1), ..AuditFilter::default() }).await.unwrap();
    let [PlacedEntry { entry: last, .. }] = last.as_slice() else { panic!("{last:?}") };
    assert_eq!((last.user.as_ref(), last.kind), (Some(&ada.id), AuditKind::UserChanged));
    assert_eq!((last.subject.as_str(), last.detail.as_str()), (bob.id.as_str(), "role viewer"));
    let kinds = store.audit(&AuditFilter::default()).await.unwrap();
    let kinds: Vec<AuditKind> = kinds.iter().map(|placed| placed.entry.kind).collect();
    assert_eq!(kinds, [AuditKind::UserChanged, AuditKind::UserAdded, AuditKind::UserAdded]);
    let before = store.version().await.unwrap();
    let info = store.add_token(&bob.id, token(&bob, "t", 1)).await.unwrap();
    store.revoke_token(&ada.id, None, &info.id).await.unwrap();
    assert!(store.version().await.unwrap() > before);
}
