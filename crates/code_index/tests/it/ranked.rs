//! Ranked searches where an index chooses which files are read.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use code_index::{CodeBase, RankedQuery, SearchScope, search_ranked};

use crate::project::{Project, scope};

/// More files than are read for one question.
const FILES: usize = 1200;

/// A project where each file has common words, and a few have rare ones.
fn project() -> Project {
    let project = Project::new(&[]);
    for number in 0..FILES {
        let text = format!("fn request_{number}() {{\n    response(user, state);\n}}\n");
        project.write(&format!("src/part{}/file{number}.rs", number % 7), text);
    }
    project.write("src/part1/file8.rs", "fn seal(request: Request) {\n    checksum(request)\n}\n");
    project.write("src/part2/ledger.rs", "fn request() {}\n");
    project.write("docs/ledger.md", "the ledger of a request\n");
    project
}

fn query(text: &str) -> RankedQuery {
    RankedQuery {
        text: text.into(),
        snippet_lines: 3,
        max_line_chars: 80,
        ..RankedQuery::default()
    }
}

fn best(code: &CodeBase, text: &str, count: usize) -> (Vec<String>, u64) {
    let scope = SearchScope { max_results: count, ..scope(".") };
    let found = search_ranked(code, &query(text), &scope, &|| false).unwrap();
    (found.files.iter().map(|file| file.path.to_text()).collect(), found.total)
}

#[test]
fn the_files_that_an_index_has_chosen_are_those_that_come_first_anyway() {
    let project = project();
    let (indexed, plain) = (project.indexed(), project.plain());
    let table = [
        ("checksum of a request", "src/part1/file8.rs"),
        ("request ledger", "src/part2/ledger.rs"),
        ("request_77 response", "src/part0/file77.rs"),
        ("ledger.md request", "docs/ledger.md"),
    ];
    for (query, expected) in table {
        let (first, total) = best(&indexed, query, 1);
        assert_eq!(first, [expected], "{query}");
        assert_eq!(best(&plain, query, 1).0, first, "{query}");
        assert!(total > 1000, "{query} has common words: {total}");
    }
    assert!(indexed.index_status().unwrap().in_use);
    // Where every file that may answer is read, both say the same about all of them.
    assert_eq!(best(&indexed, "checksum", 10), best(&plain, "checksum", 10));
    // Words that are too short for an index are looked for in every file.
    assert_eq!(best(&indexed, "fn", 3), best(&plain, "fn", 3));
    assert_eq!(best(&indexed, "zebra", 3), (vec![], 0));
}

/// An index knows which letters a file has, not which words.
#[test]
fn files_that_have_the_letters_and_not_the_word_do_not_hide_those_that_have_it() {
    let project = Project::new(&[]);
    for number in 0..FILES {
        project.write(&format!("src/file{number}.rs"), "fn restart() {\n    party();\n}\n");
    }
    project.write("src/zone.rs", "fn zone() {\n    art();\n}\n");
    let (indexed, plain) = (project.indexed(), project.plain());
    for query in ["art", "the art"] {
        assert_eq!(best(&indexed, query, 10), (vec!["src/zone.rs".to_owned()], 1), "{query}");
        assert_eq!(best(&plain, query, 10), best(&indexed, query, 10), "{query}");
    }
    assert_eq!(best(&indexed, "arty", 10), best(&plain, "arty", 10));
    assert!(indexed.index_status().unwrap().in_use);
}

/// Of a term that is too short for an index, nothing is known but what the files read have.
#[test]
fn a_term_that_an_index_knows_nothing_about_is_as_common_as_without_one() {
    let project = project();
    project.write("src/a.rs", "fn seal() {\n    checksum(of)\n}\n");
    let (indexed, plain) = (project.indexed(), project.plain());
    let query = "fn checksum";
    assert_eq!(best(&indexed, query, 2).0, best(&plain, query, 2).0);
}

/// Files with nothing but such a term are found where the others are too few.
#[test]
fn files_with_nothing_but_a_short_word_are_found_as_without_an_index() {
    let project = project();
    project.write("src/a.rs", "fn seal() {\n    db(checksum)\n}\n");
    project.write("src/b.rs", "fn seal() {\n    db(response)\n}\n");
    let (indexed, plain) = (project.indexed(), project.plain());
    for query in ["db checksum", "checksum of db", "db ledger", "db zebra"] {
        assert_eq!(best(&indexed, query, 20), best(&plain, query, 20), "{query}");
    }
    let names = best(&indexed, "db zebra", 20).0;
    assert_eq!(names, ["src/a.rs", "src/b.rs"]);
    assert!(indexed.index_status().unwrap().in_use);
}

#[test]
fn a_total_is_exact_or_says_that_it_is_not() {
    let project = project();
    let (indexed, plain) = (project.indexed(), project.plain());
    for (text, count, is_exact) in [
        ("request", 10, false),
        ("checksum", 1, true),
        ("request", 5000, true),
        ("fn ledger", 1, false),
    ] {
        let scope = || SearchScope { max_results: count, ..scope(".") };
        let found = search_ranked(&indexed, &query(text), &scope(), &|| false).unwrap();
        let all = search_ranked(&plain, &query(text), &scope(), &|| false).unwrap();
        assert_eq!(found.total_is_upper_bound, !is_exact, "{text}");
        assert!(!all.total_is_upper_bound);
        let fits = if is_exact { found.total == all.total } else { found.total >= all.total };
        assert!(fits, "{text}: {} for {}", found.total, all.total);
    }
}

#[test]
fn what_was_written_since_is_read_whatever_the_index_says() {
    let project = project();
    let code = project.indexed();
    project.write("src/part3/new.rs", "fn request() {\n    quorum(request)\n}\n");
    assert_eq!(best(&code, "quorum request", 1).0, ["src/part3/new.rs"]);
    project.write("src/part1/file8.rs", "fn request() {}\n");
    assert_eq!(best(&code, "checksum", 1), (vec![], 0));
    assert!(code.index_status().unwrap().in_use);
}

/// How files become such that an index knows nothing of their text.
#[derive(Debug, Clone, Copy)]
enum Unknown {
    /// They are written after it was built, and it is used by a process that just began.
    WrittenSince,
    /// The same, told by the file watcher.
    SeenWritten,
    /// They have a second name, under which they can change unseen.
    Linked,
}

/// A project with `count` more files that an index knows nothing of. Each has common words; one of
/// a hundred, a rare one.
fn with_unknown(count: usize, how: Unknown) -> (Project, CodeBase) {
    let project = project();
    let links = project.root().with_file_name("links");
    fs::create_dir(&links).unwrap();
    let write = |number: usize| {
        let rare = if number.is_multiple_of(100) { "quorum" } else { "response" };
        let path = format!("src/more{}/item{number}.rs", number % 3);
        project.write(&path, format!("fn request() {{\n    {rare}(user, {number});\n}}\n"));
        if matches!(how, Unknown::Linked) {
            fs::hard_link(project.path(&path), links.join(number.to_string())).unwrap();
        }
    };
    let code = match how {
        Unknown::Linked => {
            (0..count).for_each(write);
            project.indexed()
        }
        Unknown::WrittenSince => {
            project.indexed();
            (0..count).for_each(write);
            project.open(false)
        }
        Unknown::SeenWritten => {
            let code = project.indexed();
            for number in 0..count {
                write(number);
                // More events at once would be answered by a walk.
                if number % 200 == 199 {
                    best(&code, "user", 1);
                }
            }
            code
        }
    };
    (project, code)
}

#[test]
fn the_answer_does_not_depend_on_how_much_an_index_does_not_know() {
    let how = [Unknown::WrittenSince, Unknown::SeenWritten, Unknown::Linked];
    for (count, how) in [600, 2000].into_iter().flat_map(|count| how.map(|how| (count, how))) {
        let (project, code) = with_unknown(count, how);
        let plain = project.plain();
        let quorums = count / 100;
        for (query, files) in [
            ("checksum of a request", 1),
            ("request ledger", 2),
            ("user quorum", quorums),
            ("request of a quorum", quorums),
            ("request_77 response", 1),
        ] {
            let (answer, expected) = (best(&code, query, files).0, best(&plain, query, files).0);
            assert_eq!(answer, expected, "{query}, {count} {how:?}");
        }
        // Where every file that may answer is read, both say the same about all of them.
        for query in ["quorum", "checksum", "ledger quorum", "zebra"] {
            let (answer, expected) = (best(&code, query, 100), best(&plain, query, 100));
            assert_eq!(answer, expected, "{query}, {count} {how:?}");
        }
        assert!(code.index_status().unwrap().in_use, "{count} {how:?}");
    }
}

#[test]
fn files_may_change_at_any_moment_of_a_search() {
    type Attack = fn(&Project);
    let attacks: [Attack; 4] = [
        |project| fs::remove_file(project.path("b.rs")).unwrap_or_default(),
        |project| project.write("b.rs", ""),
        |project| project.write("b.rs", "\0needle"),
        |project| project.write("b.rs", "needle ".repeat(300_000)),
    ];
    let texts =
        [("a.rs", "fn needle() {}\n"), ("b.rs", "needle\n"), ("c.rs", "needle\n\nneedle\n")];
    for attack in attacks {
        for moment in 0..12 {
            let project = Project::new(&texts);
            let asked = AtomicUsize::new(0);
            let strike = || {
                if asked.fetch_add(1, Ordering::Relaxed) == moment {
                    attack(&project);
                }
                false
            };
            let found = search_ranked(&project.plain(), &query("needle"), &scope("."), &strike);
            let found = found.unwrap();
            let names: Vec<String> = found.files.iter().map(|file| file.path.to_text()).collect();
            assert!(names.contains(&"a.rs".into()) && names.contains(&"c.rs".into()), "{names:?}");
            assert_eq!(found.total, names.len() as u64, "{names:?}");
        }
    }
}

#[test]
fn a_search_ends_when_its_time_is_over_or_it_is_cancelled() {
    let project = project();
    for code in [project.plain(), project.indexed()] {
        let over = SearchScope { deadline: Instant::now(), ..scope(".") };
        let found = search_ranked(&code, &query("request checksum"), &over, &|| false).unwrap();
        assert!(found.walk.timed_out && found.files.is_empty(), "{found:?}");
        let found = search_ranked(&code, &query("request"), &scope("."), &|| true).unwrap();
        assert!(found.walk.cancelled && found.files.is_empty(), "{found:?}");
    }
}

#[test]
fn one_line_of_a_megabyte_stands_behind_code_and_is_shown_where_it_matches() {
    let project = Project::new(&[("src/a.js", "export function needle() {}\n")]);
    let minified =
        format!("{}function needle(){{}}{}", "a.b(c);".repeat(70_000), ";x=1".repeat(99_000));
    project.write("web/app.js", &minified);
    let found = search_ranked(&project.plain(), &query("needle"), &scope("."), &|| false).unwrap();
    let names: Vec<String> = found.files.iter().map(|file| file.path.to_text()).collect();
    assert_eq!(names, ["src/a.js", "web/app.js"]);
    let line = &found.files[1].snippet.lines[0];
    assert!(line.contains("function needle()") && line.chars().count() < 100, "{line}");
}
