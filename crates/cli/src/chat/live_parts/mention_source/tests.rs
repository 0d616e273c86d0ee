//! What is offered for what was typed.

use testkit::Fixture;
use tool_system::{ExecutorOptions, ToolRegistry};
use workspace::Workspace;

use super::*;

/// Longer than any test takes.
const FOREVER: Duration = Duration::from_secs(600);

fn source(project: &Fixture) -> MentionSource {
    let workspace = Arc::new(Workspace::open(project.root()).unwrap());
    let tools = ProjectTools::new(ToolRegistry::builtin(), workspace, ExecutorOptions::default());
    // Nothing in these tests depends on how fast the machine is.
    let patience = MentionPatience {
        kept: FOREVER,
        listing: FOREVER,
        symbols: FOREVER,
        only_symbols: FOREVER,
        symbol_names: FOREVER,
    };
    MentionSource { patience, ..MentionSource::new(&tools) }
}

async fn texts(source: &MentionSource, query: &str) -> Vec<String> {
    let found = source.candidates(query).await;
    found.into_iter().map(|candidate| candidate.text).collect()
}

const PROJECT: &str = "
//- /.gitignore
target/
*.log
//- /.github/ci.yml
x
//- /README.md
x
//- /debug.log
x
//- /src/cart.ts
export class Cart { total() { return 0; } }
//- /src/canary_rotation.ts
x
//- /src/deep/er/money.ts
x
//- /target/cart.o
x
//- /test/cart.test.ts
import { Cart } from '../src/cart';
";

#[tokio::test]
async fn files_and_directories_are_found_by_a_few_letters() {
    let project = Fixture::new(PROJECT);
    let source = source(&project);
    let table: [(&str, &[&str]); 10] = [
        ("", &["src/", "test/", "README.md"]),
        ("src/", &["src/deep/", "src/canary_rotation.ts", "src/cart.ts"]),
        ("src/deep/", &["src/deep/er/"]),
        ("src/money", &["src/deep/er/money.ts"]),
        ("read", &["README.md"]),
        ("er/", &["src/deep/er/", "src/deep/er/money.ts"]),
        (".git", &[".github/", ".gitignore", ".github/ci.yml"]),
        (".github/", &[".github/ci.yml"]),
        ("debug", &[]),
        ("zzz", &[]),
    ];
    for (query, expected) in table {
        assert_eq!(texts(&source, query).await, expected, "{query:?}");
    }
    let found = texts(&source, "cart").await;
    assert_eq!(found, ["src/cart.ts", "test/cart.test.ts", "src/canary_rotation.ts"]);
    let kinds = |candidates: Vec<MentionCandidate>| -> Vec<CandidateKind> {
        candidates.into_iter().map(|candidate| candidate.kind).collect()
    };
    let top = kinds(source.candidates("").await);
    assert_eq!(top, [CandidateKind::Directory, CandidateKind::Directory, CandidateKind::File]);
}

#[tokio::test]
async fn a_symbol_is_found_by_its_name_and_leads_to_its_file() {
    let project = Fixture::new(PROJECT);
    let source = source(&project);
    let found = source.candidates("Cart").await;
    let symbols: Vec<_> =
        found.iter().filter(|found| found.kind == CandidateKind::Symbol).collect();
    let expected = MentionCandidate {
        text: "Cart".into(),
        target: Some("src/cart.ts".into()),
        kind: CandidateKind::Symbol,
        detail: "class src/cart.ts:1".into(),
    };
    assert_eq!(symbols, [&expected], "an import is not a definition");
    // The same answer again, not a remark that it was given before.
    assert_eq!(source.candidates("Cart").await, found);
    for none in ["C", "src/", "total(", "9x", "Cart::", ""] {
        assert!(!can_name_a_symbol(none), "{none}");
    }
    for name in ["total", "Cart::total", "pkg.Func", "_x", "$el"] {
        assert!(can_name_a_symbol(name), "{name}");
    }
}

#[tokio::test]
async fn a_slow_lookup_is_waited_for_only_where_nothing_else_is_found() {
    let project = Fixture::new(PROJECT);
    let mut source = source(&project);
    source.patience.symbols = Duration::ZERO;
    assert_eq!(texts(&source, "total").await, ["total"]);
    source.patience.only_symbols = Duration::ZERO;
    // The names do not depend on how the lookup goes.
    assert!(texts(&source, "cart").await.contains(&"src/cart.ts".to_owned()));
}

#[tokio::test]
async fn symbols_are_found_by_letters_in_their_order_the_best_first() {
    let project = Fixture::new(
        "
//- /src/shop.ts
export class ShoppingCart { total() { const sum = 0; return sum; } }
export function scatter() {}
export function cart() {}
//- /src/other.ts
import { ShoppingCart } from './shop';
export function cart() {}
",
    );
    let source = source(&project);
    let found = async |letters: &str| -> Vec<String> {
        let (found, is_complete) = source.symbols_like(letters).await;
        assert!(is_complete, "{letters}");
        found.into_iter().map(|it| format!("{} {}", it.text, it.detail)).collect()
    };
    insta::assert_snapshot!(found("cart").await.join("\n"), @"
    cart function src/other.ts:2
    cart function src/shop.ts:3
    ShoppingCart class src/shop.ts:1
    ");
    insta::assert_snapshot!(found("shcart").await.join("\n"), @"ShoppingCart class src/shop.ts:1");
    insta::assert_snapshot!(found("ShoppingCart::total").await.join("\n"), @"ShoppingCart::total method src/shop.ts:1");
    assert_eq!(found("sum").await.len(), 1, "a local variable only by its whole name");
    assert!(found("c").await.is_empty() && found("zzz").await.is_empty());
}

#[tokio::test]
async fn names_that_a_terminal_would_obey_are_not_offered() {
    let project = Fixture::new("//- /plain.txt\nx\n");
    for name in ["a\u{1b}[2J.txt", "b\u{202e}.txt", "c\n.txt", "d\u{200b}.txt"] {
        project.write(name, "x");
        project.write(format!("{name}_dir/inside.txt"), "x");
    }
    let source = source(&project);
    assert_eq!(texts(&source, "").await, ["plain.txt"]);
    assert_eq!(texts(&source, "txt").await, ["plain.txt"]);
    assert!(texts(&source, "inside").await.is_empty());
}

#[tokio::test]
async fn at_most_fifty_are_offered() {
    let project = Fixture::new("");
    (0..200).for_each(|n| project.write(format!("file{n}.txt"), "x"));
    let source = source(&project);
    for query in ["", "file", "f1"] {
        assert_eq!(texts(&source, query).await.len(), MOST_CANDIDATES, "{query}");
    }
    assert_eq!(texts(&source, "file123").await, ["file123.txt"]);
}

#[tokio::test]
async fn names_are_kept_for_a_while_and_then_listed_again() {
    let project = Fixture::new("//- /old.txt\nx\n");
    let mut source = source(&project);
    assert_eq!(texts(&source, "").await, ["old.txt"]);
    project.write("new.txt", "x");
    assert_eq!(texts(&source, "").await, ["old.txt"], "the list is kept");
    source.patience.kept = Duration::ZERO;
    assert_eq!(texts(&source, "").await, ["new.txt", "old.txt"]);
    // Without patience the older list is the answer, and a newer one is on its way.
    project.write("newest.txt", "x");
    source.patience.listing = Duration::ZERO;
    let mut lists = source.names.lists();
    texts(&source, "").await;
    lists.changed().await.unwrap();
    source.patience.kept = FOREVER;
    assert_eq!(texts(&source, "").await, ["new.txt", "newest.txt", "old.txt"]);
}

#[tokio::test]
async fn many_questions_at_once_all_get_an_answer() {
    let project = Fixture::new(PROJECT);
    let mut source = source(&project);
    source.patience.kept = Duration::ZERO;
    let questions = ["read", "read", "read", "read"].map(|query| texts(&source, query));
    for found in futures_util::future::join_all(questions).await {
        assert_eq!(found, ["README.md"]);
    }
    let dropped = source.candidates("cart");
    drop(dropped);
    assert_eq!(texts(&source, "read").await, ["README.md"]);
}

#[tokio::test]
async fn a_project_that_cannot_be_listed_offers_nothing() {
    let project = Fixture::new("//- /inner/a.txt\nx\n");
    let workspace = Arc::new(Workspace::open(&project.path("inner")).unwrap());
    let list = Arc::new(NameList::of_files(workspace));
    drop(project);
    let names = list.newest(FOREVER, FOREVER).await;
    assert!(names.matching("", MOST_CANDIDATES).is_empty());
}
