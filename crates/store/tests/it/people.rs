//! Users in the team's database.

use std::sync::Arc;

use sqlx::Connection as _;
use sqlx::postgres::PgConnection;
use store::{PostgresDatabase, PostgresOptions, Store as _};
use team::contract::CHECKS;
use team::{
    BudgetScope, DayBudget, NewInvitation, NewUser, PeopleError, PeopleStore, RemovedSession,
    SecretHash, TeamRole, UserChange, UserId,
};

use crate::events::{answers, done, opened as opened_session, says};
use crate::stage::replica;

async fn opened(server: &testkit::Postgres) -> (testkit::PostgresDatabase, PostgresDatabase) {
    let database = server.database();
    let options = PostgresOptions::new(database.url(), "test");
    let opened = PostgresDatabase::open(options).await.unwrap();
    (database, opened)
}

#[tokio::test(flavor = "multi_thread")]
async fn users_in_postgresql_keep_the_contract() {
    let Some(server) = testkit::Postgres::shared() else { return };
    for check in CHECKS {
        let (_database, people) = opened(server).await;
        (check.run)(&people).await;
    }
}

fn new_user(name: &str) -> NewUser {
    NewUser { name: name.to_owned(), email: None, identity: None }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_that_show_one_invitation_at_once_one_comes_in() {
    let Some(server) = testkit::Postgres::shared() else { return };
    let (_database, people) = opened(server).await;
    let people = Arc::new(people);
    let hash = SecretHash::of("link");
    let invitation = NewInvitation {
        note: String::new(),
        role: TeamRole::Admin,
        projects: Vec::new(),
        seconds: 60,
        hash: hash.clone(),
    };
    assert!(people.invite_first_admin(invitation).await.unwrap());
    let accepting = (0..16).map(|at| {
        let (people, hash) = (Arc::clone(&people), hash.clone());
        tokio::spawn(async move { people.accept(&hash, new_user(&format!("{at}"))).await.unwrap() })
    });
    let mut came_in = 0;
    for accepted in accepting.collect::<Vec<_>>() {
        came_in += usize::from(accepted.await.unwrap().is_some());
    }
    assert_eq!((came_in, people.users().await.unwrap().len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_admins_that_demote_each_other_at_once_leave_one() {
    let Some(server) = testkit::Postgres::shared() else { return };
    for _ in 0..4 {
        let (_database, people) = opened(server).await;
        let one = people.add_user(new_user("one"), TeamRole::Admin).await.unwrap();
        let two = people.add_user(new_user("two"), TeamRole::Admin).await.unwrap();
        let demote = || UserChange { role: Some(TeamRole::Viewer), ..UserChange::default() };
        let (first, second) = tokio::join!(
            people.change_user(&one.id, &two.id, demote()),
            people.change_user(&two.id, &one.id, demote())
        );
        let refused = [first, second].into_iter().filter_map(Result::err).collect::<Vec<_>>();
        assert_eq!(refused, [PeopleError::LastAdmin]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_of_budgets_is_what_all_replicas_have_spent_today() {
    let Some(server) = testkit::Postgres::shared() else { return };
    let database = server.database();
    let (one, other) = (replica(&database, "one").await, replica(&database, "other").await);
    let add = async |name: &str| one.add_user(new_user(name), TeamRole::Member).await.unwrap().id;
    let (ada, bob) = (add("ada").await, add("bob").await);
    let scopes = [(Some(&ada), None), (None, Some("web")), (Some(&ada), Some("web")), (None, None)];
    for (user, project) in scopes {
        let (user, project) = (user.cloned(), project.map(str::to_owned));
        let budget = DayBudget { scope: BudgetScope { user, project }, usd_per_day: 9.0 };
        one.set_budget(&ada, budget).await.unwrap();
    }
    // An answer costs a quarter of a dollar.
    let spend = async |replica: &PostgresDatabase, owner: &UserId, project: &str| {
        let store = replica.store(project);
        let id = store.create(&opened_session()).await.unwrap();
        replica.own(id.as_str(), project, owner).await.unwrap();
        for _ in 0..2 {
            store.append(&id, vec![says("do"), answers(&[]), done()]).await.unwrap();
        }
        (store, id)
    };
    let (store, id) = spend(&one, &ada, "web").await;
    spend(&other, &ada, "api").await;
    spend(&other, &bob, "web").await;
    let spent = async |user: &UserId, project: &str| {
        let known = one.balances(user, project).await.unwrap().unwrap();
        known.iter().map(|it| (it.budget.scope.to_string(), it.spent)).collect::<Vec<_>>()
    };
    let row = |user: &str, project: &str, usd| (format!("{user} in {project}"), usd);
    let (all, of_ada, everywhere) = ("all users", ada.as_str(), "all projects");
    let of_all = [row(all, everywhere, 1.5), row(all, "web", 1.0)];
    let own = [row(of_ada, everywhere, 1.0), row(of_ada, "web", 0.5)];
    assert_eq!(spent(&ada, "web").await, [of_all.clone(), own.clone()].concat());
    assert_eq!(spent(&bob, "web").await, of_all);
    assert_eq!(spent(&ada, "api").await, [of_all[0].clone(), own[0].clone()]);
    // A copy has spent nothing, and what is deleted has spent what it had.
    let copy = store.fork(&id, None).await.unwrap();
    one.own(copy.as_str(), "web", &ada).await.unwrap();
    assert_eq!(spent(&ada, "web").await, [of_all.clone(), own.clone()].concat());
    let at = one.now().await.unwrap();
    let (session, project, owner) = (id.to_string(), "web".to_owned(), Some(ada.clone()));
    let removed = RemovedSession { session, project, owner, at, usd: 0.5, answers: Vec::new() };
    one.keep_of_removed(removed).await.unwrap();
    assert_eq!(spent(&ada, "web").await, [of_all.clone(), own.clone()].concat());
    store.delete(&id).await.unwrap();
    assert_eq!(spent(&ada, "web").await, [of_all, own].concat());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_budgets_of_today_do_not_count_yesterday() {
    let Some(server) = testkit::Postgres::shared() else { return };
    let (database, people) = opened(server).await;
    let ada = people.add_user(new_user("ada"), TeamRole::Member).await.unwrap().id;
    let scope = BudgetScope { user: Some(ada.clone()), project: None };
    people.set_budget(&ada, DayBudget { scope, usd_per_day: 1.0 }).await.unwrap();
    let store = people.store("web");
    let id = store.create(&opened_session()).await.unwrap();
    people.own(id.as_str(), "web", &ada).await.unwrap();
    let spend = async || {
        store.append(&id, vec![says("do"), answers(&[]), done()]).await.unwrap();
        people.balances(&ada, "web").await.unwrap().unwrap()[0].spent
    };
    assert_eq!(spend().await, 0.25);
    let mut conn = PgConnection::connect(database.url()).await.unwrap();
    let yesterday = "UPDATE sessions SET spent_day = spent_day - 1";
    sqlx::query(yesterday).execute(&mut conn).await.unwrap();
    assert_eq!(people.balances(&ada, "web").await.unwrap().unwrap()[0].spent, 0.0);
    assert_eq!(spend().await, 0.25);
}
