use std::sync::Arc;
use std::time::{Duration, Instant};

use testkit::Fixture;
use workspace::Workspace;

use super::*;
use crate::FileFilter;

const PROJECT: &str = "
//- /a.txt
one needle
two
three needle
//- /b/c.txt
needle
needle
//- /b.txt
needle {
  body
}
";

fn scope(max_results: usize) -> SearchScope {
    SearchScope {
        start: RelPath::root(),
        filter: FileFilter::default(),
        hidden: false,
        max_depth: 32,
        max_entries: 10_000,
        deadline: Instant::now() + Duration::from_secs(60),
        max_results,
        max_file_bytes: 1024 * 1024,
        file_time: Duration::from_secs(60),
    }
}

fn search(project: &Fixture, query: &TextQuery, max_results: usize) -> TextMatches {
    let code = CodeBase::new(Arc::new(Workspace::open(project.root()).unwrap()));
    search_text(&code, query, &scope(max_results), &|| false).unwrap().unwrap()
}

fn query(pattern: &str) -> TextQuery {
    TextQuery { pattern: pattern.into(), max_line_chars: 100, ..TextQuery::default() }
}

fn places(found: &TextMatches) -> Vec<String> {
    found.matches.iter().map(|at| format!("{}:{}", at.path, at.line)).collect()
}

#[test]
fn pages_follow_each_other_without_gap_or_repetition_whatever_their_size() {
    let project = Fixture::new(PROJECT);
    let whole = places(&search(&project, &query("needle"), 100));
    assert_eq!(whole, ["a.txt:1", "a.txt:3", "b/c.txt:1", "b/c.txt:2", "b.txt:1"]);
    for size in 1..=6 {
        let mut query = query("needle");
        let mut pages = Vec::new();
        loop {
            let page = search(&project, &query, size);
            assert_eq!((page.total, page.earlier), (5, pages.len() as u64), "page size {size}");
            pages.extend(places(&page));
            let Some(last) = page.matches.last() else { break };
            query.after = Some(TextPosition { path: last.path.clone(), line: last.line });
        }
        assert_eq!(pages, whole, "page size {size}");
    }
}

#[test]
fn a_page_is_right_though_the_file_it_continues_in_has_changed() {
    let project = Fixture::new(PROJECT);
    let mut query = query("needle");
    query.after = Some(TextPosition { path: RelPath::parse("a.txt").unwrap(), line: 1 });
    project.write("a.txt", "needle\nneedle\nneedle\n");
    assert_eq!(places(&search(&project, &query, 2)), ["a.txt:2", "a.txt:3"]);
    project.write("a.txt", "nothing\n");
    let page = search(&project, &query, 1);
    assert_eq!((places(&page), page.earlier), (vec!["b/c.txt:1".into()], 0));
}

#[test]
fn the_context_of_a_page_is_that_of_its_own_matches() {
    let project = Fixture::new("//- /a.txt\n1\nhit\n2\nhit\n3\n");
    let mut query = query("hit");
    query.context = 1;
    query.after = Some(TextPosition { path: RelPath::parse("a.txt").unwrap(), line: 2 });
    let page = search(&project, &query, 5);
    assert_eq!((page.matches.len(), page.earlier, page.total), (1, 1, 2));
    assert_eq!((page.matches[0].line, &page.matches[0].after), (4, &vec!["3".to_owned()]));
}

#[test]
fn files_with_their_counts_come_in_pages_too() {
    let project = Fixture::new(PROJECT);
    let mut query = query("needle");
    query.show = Show::Files;
    let page = search(&project, &query, 2);
    let shown: Vec<_> = page.files.iter().map(|file| (file.path.to_text(), file.count)).collect();
    assert_eq!(shown, [("a.txt".into(), 2), ("b/c.txt".into(), 2)]);
    assert_eq!((page.total, page.files_with_matches, page.matches.len()), (5, 3, 0));
    query.after = Some(TextPosition { path: RelPath::parse("b/c.txt").unwrap(), line: 0 });
    let page = search(&project, &query, 2);
    assert_eq!((page.files[0].path.to_text(), page.earlier), ("b.txt".into(), 2));
}

#[test]
fn a_match_over_several_lines_has_the_line_it_begins_in_and_all_its_lines() {
    let project = Fixture::new(PROJECT);
    let mut query = query(r"\{\n\s*body\n\}");
    query.multiline = true;
    let found = search(&project, &query, 5);
    assert_eq!(places(&found), ["b.txt:1"]);
    assert_eq!(found.matches[0].text, "needle {\n  body\n}");
    query.pattern = "needle.*body".into();
    assert_eq!(search(&project, &query, 5).total, 0, "a dot is not a line break");
    query.pattern = "(?s)needle .*body".into();
    assert_eq!(search(&project, &query, 5).total, 1);
}

#[test]
fn binary_data_far_into_a_file_makes_it_binary_for_every_kind_of_search() {
    let project = Fixture::new("");
    let mut bytes = "needle\n".repeat(20_000).into_bytes();
    bytes.push(0);
    project.write("late.bin", bytes);
    for multiline in [false, true] {
        let query = TextQuery { multiline, ..query(r"needle\s") };
        assert_eq!(search(&project, &query, 5).total, 0, "multiline: {multiline}");
    }
}
