//! `toolkiln sessions` and `toolkiln stats`, on conversations that were really held.

use serde_json::Value;
use testkit::Fixture;

use crate::run::{Ran, run_with_state, run_with_state_and_input};

fn project() -> Fixture {
    Fixture::new("//- /a.txt\nTODO: bake\n//- /b.txt\none\n")
}

fn say(project: &Fixture, message: &str) -> Ran {
    run_with_state(project, &["run", message, "--provider", "offline"])
}

fn sessions(project: &Fixture, arguments: &[&str]) -> Ran {
    let mut all = vec!["sessions"];
    all.extend(arguments);
    run_with_state(project, &all)
}

fn ids(project: &Fixture) -> Vec<String> {
    let listed = sessions(project, &["list", "--json"]).json();
    let id = |session: &Value| session["id"].as_str().unwrap().to_owned();
    listed.as_array().unwrap().iter().map(id).collect()
}

#[test]
fn conversations_are_listed_shown_named_copied_and_removed() {
    let project = project();
    assert_eq!(sessions(&project, &["list"]).stderr, "There are no sessions yet.\n");
    assert_eq!(say(&project, "grep TODO").code, 0);
    assert_eq!(say(&project, "read b.txt").code, 0);
    let before = ids(&project);
    assert_eq!(before.len(), 2);
    let listed = sessions(&project, &["list"]).stdout;
    assert!(listed.lines().next().unwrap().contains("read b.txt"), "the last one first: {listed}");

    let first = before[1].as_str();
    let shown = sessions(&project, &["show", first]).stdout;
    assert!(shown.contains("› grep TODO") && shown.contains("  Searched  TODO"), "{shown}");
    assert_eq!(sessions(&project, &["rename", first, "baking"]).code, 0);
    let fork = sessions(&project, &["fork", "baking"]).stdout;
    assert_eq!(ids(&project).len(), 3);
    assert_eq!(sessions(&project, &["delete", fork.trim()]).code, 0);
    let whole = sessions(&project, &["fork", "baking", "--at", "2"]);
    assert_eq!(whole.stderr, "");
    let cut = sessions(&project, &["fork", "baking", "--at", "4"]);
    assert!(cut.stderr.starts_with("The copy ends with entry 2: up to 4"), "{}", cut.stderr);
    for copy in [whole, cut] {
        assert_eq!(sessions(&project, &["delete", copy.stdout.trim()]).code, 0);
    }
    assert_eq!(ids(&project).len(), 2);
    let missing = sessions(&project, &["show", "no such thing"]);
    assert_eq!(missing.code, 2);
    assert!(missing.stderr.contains("no such thing"), "{}", missing.stderr);
}

#[test]
fn an_export_makes_the_same_conversation_elsewhere_and_damaged_lines_are_named() {
    let project = project();
    say(&project, "grep TODO");
    let id = ids(&project).remove(0);
    let export = sessions(&project, &["export", &id]).stdout;
    let other = self::project();
    let imported = run_with_state_and_input(&other, &["sessions", "import"], &export);
    assert_eq!((imported.code, imported.stderr.as_str()), (0, ""));
    let again = sessions(&other, &["export", imported.stdout.trim()]).stdout;
    let entries = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(entries(&again), entries(&export));

    let mut lines: Vec<&str> = export.lines().collect();
    lines[3] = "{\"sequence\": 3, \"at\": bro";
    let damaged =
        run_with_state_and_input(&other, &["sessions", "import"], &(lines.join("\n") + "\n"));
    assert_eq!(damaged.code, 0);
    assert!(damaged.stderr.contains('4'), "the line is named: {}", damaged.stderr);
}

#[test]
fn conversations_go_to_the_database_of_a_team_and_back() {
    let Some(server) = testkit::Postgres::shared() else { return };
    let database = server.database();
    let (project, other) = (project(), project());
    say(&project, "grep TODO");
    let id = ids(&project).remove(0);
    let copy = |project: &Fixture, direction: &str| {
        sessions(project, &["copy", direction, database.url(), "--project", "bakery"])
    };
    assert_eq!(copy(&project, "--to").stdout, "1 copied, 0 were there already.\n");
    assert_eq!(copy(&project, "--to").stdout, "0 copied, 1 were there already.\n");
    assert_eq!(copy(&other, "--from").stdout, "1 copied, 0 were there already.\n");
    let entries = |project: &Fixture| {
        let text = sessions(project, &["export", &id]).stdout;
        text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(entries(&project), entries(&other));
    assert_eq!(sessions(&other, &["rename", &id, "changed"]).code, 0);
    let refused = copy(&other, "--to");
    assert_eq!((refused.code, refused.stdout.as_str()), (1, "0 copied, 0 were there already.\n"));
    assert!(
        refused.stderr.contains(&format!("{id} is there with another log")),
        "{}",
        refused.stderr
    );
    assert_eq!(database.sql("SELECT count(*) FROM replicas"), "0", "it has said goodbye");
    assert_eq!(sessions(&other, &["copy", "--project", "bakery"]).code, 2);
}

/// What SQLite still holds beside the file goes into it when the last user closes it.
fn write_out(file: &std::path::Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime
        .block_on(async { store::SqliteStore::open(file).await.unwrap().close().await.unwrap() });
}

#[test]
fn a_check_finds_nothing_in_a_sound_store_and_explains_what_it_repairs_in_a_damaged_one() {
    let project = project();
    say(&project, "grep TODO");
    let sound = sessions(&project, &["check"]);
    assert_eq!(sound.code, 0, "{}", sound.stdout);
    assert!(sound.stdout.ends_with("0 problems.\n"), "{}", sound.stdout);

    let state = project.root().with_file_name("state").join("toolkiln");
    let own = std::fs::read_dir(state).unwrap().next().unwrap().unwrap().path();
    let file = own.join("sessions.db");
    write_out(&file);
    let mut bytes = std::fs::read(&file).unwrap();
    let said = br#""text":"grep TODO""#;
    let at = bytes.windows(said.len()).position(|window| window == said).unwrap();
    bytes[at + said.len() - 2] = b'A';
    std::fs::write(&file, bytes).unwrap();

    let found = sessions(&project, &["check"]);
    assert_eq!(found.code, 1, "{}", found.stdout);
    let repaired = sessions(&project, &["check", "--repair"]);
    assert_eq!(repaired.code, 0, "{}", repaired.stdout);
    assert!(repaired.stdout.contains("repaired:"), "{}", repaired.stdout);
    assert_eq!(say(&project, "read b.txt").code, 0, "the store is in use as before");
}

#[test]
fn statistics_count_calls_and_what_was_learned_can_be_forgotten() {
    let project = project();
    say(&project, "grep TODO");
    say(&project, "grep nothing-of-the-kind");
    let stats = run_with_state(&project, &["stats", "--json"]).json();
    let grep = &stats["tools"][0];
    assert_eq!(
        (&grep["tool"], &grep["calls"], &grep["ok"]),
        (&"grep".into(), &2.into(), &2.into())
    );
    assert_eq!(stats["models"][0]["model"], "offline");
    assert_eq!(stats["sessions"].as_array().unwrap().len(), 2);
    let table = run_with_state(&project, &["stats"]).stdout;
    assert!(table.starts_with("tool  calls"), "{table}");

    let learned = run_with_state(&project, &["stats", "--favourites", "--json"]).json();
    assert_eq!(learned["tools"][0]["name"], "grep");
    assert_eq!(run_with_state(&project, &["stats", "--clear-favourites"]).code, 0);
    let learned = run_with_state(&project, &["stats", "--favourites", "--json"]).json();
    assert_eq!(learned["tools"], Value::Array(Vec::new()));
}

#[test]
fn a_conversation_is_exported_as_a_document_to_read() {
    let project = project();
    say(&project, "grep TODO");
    let id = ids(&project).remove(0);
    // The first line tells when it was exported.
    let entries = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    let log = sessions(&project, &["export", &id]).stdout;
    let json = sessions(&project, &["export", &id, "--format", "json"]).stdout;
    assert!(entries(&log).len() > 3);
    assert_eq!(entries(&json), entries(&log));
    let document = sessions(&project, &["export", &id, "--format", "markdown"]).stdout;
    assert!(
        document.starts_with("# grep TODO\n") && document.contains("\n> grep TODO\n"),
        "{document}"
    );
    let page = sessions(&project, &["export", &id, "--format", "html"]).stdout;
    assert!(page.starts_with("<!doctype html>\n") && page.ends_with("</html>\n"), "{page}");
    assert!(page.contains("<div class=\"text\">grep TODO</div>"), "{page}");
    let unknown = sessions(&project, &["export", &id, "--format", "pdf"]);
    assert_eq!(unknown.code, 2, "{}", unknown.stderr);
}
