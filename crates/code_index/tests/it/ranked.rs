//! Ranked searches where an index chooses which files are read.

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

fn best(code: &CodeBase, query: &str, count: usize) -> (Vec<String>, u64) {
    let query = RankedQuery {
        text: query.into(),
        snippet_lines: 3,
        max_line_chars: 80,
        ..RankedQuery::default()
    };
    let scope = SearchScope { max_results: count, ..scope(".") };
    let found = search_ranked(code, &query, &scope, &|| false).unwrap();
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
