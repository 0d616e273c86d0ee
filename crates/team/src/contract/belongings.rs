//! Shares, sessions, budgets, keys and the audit.

use super::{browser, hash, user};
use crate::{
    AuditEntry, AuditFilter, AuditKind, AuditPlace, BudgetScope, DayBudget, KeyOwner, PeopleError,
    PeopleStore, PlacedEntry, RemovedSession, RemovedSpending, Sealed, SessionAccess, Share,
    Spending, TeamRole, UserId, Visibility,
};

/// More than two readings of a clock lie apart.
const A_MINUTE_MS: i64 = 60 * 1_000;

pub(super) async fn a_project_is_shared_with_some_users(store: &dyn PeopleStore) {
    let ada = user(store, "Ada", TeamRole::Admin).await;
    let bob = user(store, "Bob", TeamRole::Member).await;
    let share = |project: &str| Share { project: project.to_owned(), user: bob.id.clone() };
    for project in ["web", "api", "web"] {
        store.share(&ada.id, &share(project)).await.unwrap();
    }
    assert_eq!(store.shares().await.unwrap(), [share("api"), share("web")]);
    store.begin_browser(browser(&bob, "b", 60)).await.unwrap();
    let projects = store.by_browser(&hash("b")).await.unwrap().unwrap().projects;
    assert_eq!(projects, ["api", "web"]);
    let version = store.version().await.unwrap();
    store.unshare(&ada.id, &share("api")).await.unwrap();
    assert!(store.version().await.unwrap() > version);
    assert!(store.unshare(&ada.id, &share("api")).await.is_err());
    assert_eq!(store.by_browser(&hash("b")).await.unwrap().unwrap().projects, ["web"]);
    let unknown = Share { project: "web".to_owned(), user: UserId::named("unknown") };
    let refused = store.share(&ada.id, &unknown).await;
    assert!(matches!(refused, Err(PeopleError::NotFound { .. })));
}

pub(super) async fn a_session_belongs_to_the_user_that_began_it(store: &dyn PeopleStore) {
    let ada = user(store, "Ada", TeamRole::Member).await;
    let bob = user(store, "Bob", TeamRole::Member).await;
    store.own("s1", "web", &ada.id).await.unwrap();
    // No later claim takes it away.
    store.own("s1", "web", &bob.id).await.unwrap();
    let ids = ["s2".to_owned(), "s1".to_owned()];
    let unknown = SessionAccess { owner: None, visibility: Visibility::Private };
    let own = |visibility| SessionAccess { owner: Some(ada.id.clone()), visibility };
    let found = store.access(&ids).await.unwrap();
    assert_eq!(found, [unknown.clone(), own(Visibility::Private)]);
    store.set_visibility(&ada.id, "s1", Visibility::Project).await.unwrap();
    assert_eq!(store.access(&ids).await.unwrap(), [unknown.clone(), own(Visibility::Project)]);
    assert!(store.set_visibility(&ada.id, "s2", Visibility::Project).await.is_err());
    store.disown("s1").await.unwrap();
    assert_eq!(store.access(&ids).await.unwrap(), [unknown.clone(), unknown]);
    assert_eq!(store.access(&[]).await.unwrap(), []);
}

pub(super) async fn what_was_spent_and_answered_outlives_its_session(store: &dyn PeopleStore) {
    let ada = user(store, "Ada", TeamRole::Member).await;
    let now = store.now().await.unwrap();
    let answer = |at, kind| AuditEntry {
        at,
        user: Some(ada.id.clone()),
        kind,
        project: Some("web".to_owned()),
        session: Some("s1".to_owned()),
        subject: "bash".to_owned(),
        detail: String::new(),
    };
    let answers = vec![answer(now - 5, AuditKind::Approved), answer(now - 9, AuditKind::Denied)];
    let removed = |session: &str, usd| RemovedSession {
        session: session.to_owned(),
        project: "web".to_owned(),
        owner: Some(ada.id.clone()),
        at: now,
        usd,
        answers: answers.clone(),
    };
    // The deletion failed the first time, and the session went on.
    store.keep_of_removed(removed("s1", 1.0)).await.unwrap();
    store.keep_of_removed(removed("s1", 2.5)).await.unwrap();
    let unowned = RemovedSession { owner: None, answers: Vec::new(), ..removed("s2", 0.5) };
    store.keep_of_removed(unowned).await.unwrap();
    let spending = |session: &str, user: Option<&UserId>, usd| RemovedSpending {
        session: session.to_owned(),
        spending: Spending { user: user.cloned(), project: "web".to_owned(), usd },
    };
    let spent = store.spent_by_removed(now).await.unwrap();
    assert_eq!(spent, [spending("s1", Some(&ada.id), 2.5), spending("s2", None, 0.5)]);
    assert_eq!(store.spent_by_removed(now + 1).await.unwrap(), []);
    let kept = store.audit(&AuditFilter::default()).await.unwrap().into_iter();
    let kept: Vec<AuditEntry> = kept.map(|it| it.entry).filter(|it| it.session.is_some()).collect();
    assert_eq!(kept, answers);
}

pub(super) async fn budgets_are_set_and_removed(store: &dyn PeopleStore) {
    let ada = user(store, "Ada", TeamRole::Admin).await;
    let scope = |user: Option<&UserId>, project: Option<&str>| BudgetScope {
        user: user.cloned(),
        project: project.map(str::to_owned),
    };
    let all = [
        scope(None, None),
        scope(Some(&ada.id), None),
        scope(None, Some("web")),
        scope(Some(&ada.id), Some("web")),
    ];
    for (at, scope) in all.iter().enumerate() {
        let budget = DayBudget { scope: scope.clone(), usd_per_day: at as f64 };
        store.set_budget(&ada.id, budget).await.unwrap();
    }
    assert_eq!(store.budgets().await.unwrap().len(), 4);
    let again = DayBudget { scope: all[0].clone(), usd_per_day: 9.5 };
    store.set_budget(&ada.id, again.clone()).await.unwrap();
    let kept = store.budgets().await.unwrap();
    assert!(kept.len() == 4 && kept.contains(&again), "{kept:?}");
    for wrong in [-1.0, f64::NAN] {
        let budget = DayBudget { scope: all[0].clone(), usd_per_day: wrong };
        assert!(store.set_budget(&ada.id, budget).await.is_err());
    }
    for scope in &all {
        store.remove_budget(&ada.id, scope).await.unwrap();
        assert!(store.remove_budget(&ada.id, scope).await.is_err());
    }
    assert_eq!(store.budgets().await.unwrap(), []);
}

pub(super) async fn keys_are_kept_for_their_owner(store: &dyn PeopleStore) {
    let ada = user(store, "Ada", TeamRole::Member).await;
    let bob = user(store, "Bob", TeamRole::Member).await;
    let owner = |user: &UserId, provider: &str| KeyOwner {
        user: user.clone(),
        provider: provider.to_owned(),
    };
    let sealed = |key: &str, byte| Sealed { key_id: key.to_owned(), bytes: vec![byte; 40] };
    store.keep_key(&owner(&ada.id, "one"), sealed("k1", 1)).await.unwrap();
    store.keep_key(&owner(&ada.id, "one"), sealed("k1", 2)).await.unwrap();
    store.keep_key(&owner(&bob.id, "one"), sealed("k1", 3)).await.unwrap();
    let kept = store.kept_keys(&ada.id).await.unwrap();
    assert_eq!(
        (kept.len(), kept[0].provider.as_str(), kept[0].sealed_with.as_str()),
        (1, "one", "k1")
    );
    let of_ada = store.sealed_keys(Some(&ada.id)).await.unwrap();
    assert_eq!(of_ada, [(owner(&ada.id, "one"), sealed("k1", 2))]);
    assert_eq!(store.sealed_keys(None).await.unwrap().len(), 2);
    let ada_one = owner(&ada.id, "one");
    assert!(!store.reseal_key(&ada_one, &sealed("k1", 1), sealed("k2", 4)).await.unwrap());
    assert!(store.reseal_key(&ada_one, &sealed("k1", 2), sealed("k2", 4)).await.unwrap());
    assert_eq!(store.kept_keys(&ada.id).await.unwrap()[0].sealed_with, "k2");
    store.remove_key(&ada_one).await.unwrap();
    assert!(store.remove_key(&ada_one).await.is_err());
    assert_eq!(store.kept_keys(&ada.id).await.unwrap(), []);
    assert_eq!(store.kept_keys(&bob.id).await.unwrap().len(), 1);
}

pub(super) async fn the_audit_can_be_filtered(store: &dyn PeopleStore) {
    let ada = user(store, "Ada", TeamRole::Admin).await;
    let entry = |user: Option<&UserId>, subject: &str| AuditEntry {
        at: 0,
        user: user.cloned(),
        kind: AuditKind::RuleRevoked,
        project: Some("web".to_owned()),
        session: Some("s".to_owned()),
        subject: subject.to_owned(),
        detail: "d".to_owned(),
    };
    store.note(entry(Some(&ada.id), "one")).await.unwrap();
    store.note(entry(None, "two")).await.unwrap();
    let subjects = |entries: Vec<PlacedEntry>| -> Vec<String> {
        let entries = entries.into_iter().map(|placed| placed.entry);
        let ours = entries.filter(|entry| entry.kind == AuditKind::RuleRevoked);
        ours.map(|entry| entry.subject).collect()
    };
    let all = store.audit(&AuditFilter::default()).await.unwrap();
    let now = store.now().await.unwrap();
    // The store's own clock counts, whatever the entry says.
    assert!(all.iter().all(|it| it.entry.at > 0 && it.entry.at <= now));
    assert!(all.iter().all(|it| it.place.at == it.entry.at && it.place.session.is_empty()));
    let first = &all[0].entry;
    assert_eq!((first.project.as_deref(), first.session.as_deref()), (Some("web"), Some("s")));
    let mut paged = Vec::new();
    let mut behind = None;
    loop {
        let page = AuditFilter { behind, limit: Some(2), ..AuditFilter::default() };
        let page = store.audit(&page).await.unwrap();
        let Some(last) = page.last() else { break };
        behind = Some(last.place.clone());
        paged.extend(page);
    }
    assert_eq!(paged, all, "pages have everything once");
    assert_eq!(subjects(all), ["two", "one"]);
    let of = |project: &str| AuditFilter { project: Some(project.into()), ..Default::default() };
    assert_eq!(subjects(store.audit(&of("web")).await.unwrap()), ["two", "one"]);
    assert_eq!(store.audit(&of("secret")).await.unwrap(), []);
    // What a log holds of the same moment stands before rows of their own.
    let place = paged[0].place.clone();
    let behind_log = AuditPlace { session: "s".to_owned(), number: 1, ..place };
    let behind_log = AuditFilter { behind: Some(behind_log), ..AuditFilter::default() };
    assert_eq!(store.audit(&behind_log).await.unwrap(), paged);
    let of_ada = AuditFilter { user: Some(ada.id.clone()), ..AuditFilter::default() };
    assert_eq!(subjects(store.audit(&of_ada).await.unwrap()), ["one"]);
    let limited = AuditFilter { limit: Some(1), ..AuditFilter::default() };
    assert_eq!(subjects(store.audit(&limited).await.unwrap()), ["two"]);
    let later = AuditFilter { since: Some(now + A_MINUTE_MS), ..AuditFilter::default() };
    assert_eq!(subjects(store.audit(&later).await.unwrap()), [""; 0]);
    let never = AuditFilter { since: Some(i64::MAX), ..AuditFilter::default() };
    let none = AuditFilter { user: Some(UserId::named("\0")), ..AuditFilter::default() };
    for filter in [never, none, of("\0")] {
        assert_eq!(store.audit(&filter).await.unwrap(), [], "{filter:?}");
    }
    let all = AuditFilter { since: Some(i64::MIN), before: Some(i64::MAX), ..Default::default() };
    assert_eq!(store.audit(&all).await.unwrap(), paged);
    let earlier = AuditFilter { before: Some(now - A_MINUTE_MS), ..AuditFilter::default() };
    assert_eq!(subjects(store.audit(&earlier).await.unwrap()), [""; 0]);
}
