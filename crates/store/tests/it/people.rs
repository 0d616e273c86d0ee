//! Users in the team's database.

use std::sync::Arc;

use store::{PostgresDatabase, PostgresOptions};
use team::contract::CHECKS;
use team::{NewInvitation, NewUser, PeopleError, PeopleStore, SecretHash, TeamRole, UserChange};

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
