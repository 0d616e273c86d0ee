use proptest::prelude::*;

use super::*;
use crate::intent::{Fact, Place};

fn search(text: &str, within: Option<&str>) -> Intent {
    Intent::Search { text: text.into(), within: within.map(str::to_owned) }
}

fn comment(file: &str, text: Option<&str>) -> Intent {
    Intent::CommentAtTop { file: file.into(), text: text.map(str::to_owned) }
}

fn fact(file: Option<&str>, fact: Fact) -> Intent {
    Intent::ProjectFact { file: file.map(str::to_owned), fact }
}

#[track_caller]
fn all_mean(expected: &Intent, sentences: &[&str]) {
    for sentence in sentences {
        assert_eq!(understand(sentence).as_ref(), Some(expected), "{sentence}");
    }
}

#[test]
fn facts_about_the_project() {
    let name_of = fact(Some("package.json"), Fact::Name);
    all_mean(
        &name_of,
        &[
            "Read package.json and tell me the project name",
            "please read package.json, then tell me the name.",
            "Could you open `package.json` and show me the project's name?",
        ],
    );
    all_mean(
        &fact(None, Fact::Name),
        &[
            "What is the project name?",
            "what's this project called",
            "What is the name of this project",
        ],
    );
    all_mean(
        &fact(None, Fact::Version),
        &["what is the project's version?", "Which version is this?", "tell me the version"],
    );
}

#[test]
fn definitions() {
    all_mean(
        &Intent::Define("DatabaseService".into()),
        &[
            "Find where DatabaseService is defined",
            "where is DatabaseService defined?",
            "Where is the class DatabaseService implemented in this project?",
            "show me the definition of DatabaseService",
            "go to the definition of the DatabaseService class, please",
            "Hey, can you find where `DatabaseService` is declared?",
        ],
    );
    all_mean(
        &Intent::Define("handle_submit".into()),
        &["where is the function handle_submit() defined"],
    );
}

#[test]
fn changes() {
    all_mean(
        &comment("main.js", None),
        &[
            "Add a comment to the top of main.js explaining what it does",
            "add a header comment at the top of main.js",
            "I'd like you to put a short comment at the beginning of main.js describing it.",
        ],
    );
    all_mean(
        &comment("a.py", Some("Fires the kiln.")),
        &[
            "add a comment \"Fires the kiln.\" to the top of a.py",
            "add a comment saying \"Fires the kiln.\" at the top of a.py",
        ],
    );
    let line = |file: &str, line: &str, place| Intent::AddLine {
        file: file.into(),
        line: line.into(),
        place,
    };
    all_mean(
        &line(".gitignore", "target/", Place::Bottom),
        &["add the line \"target/\" to .gitignore", "append 'target/' to the end of .gitignore"],
    );
    all_mean(&line("a.txt", "x y", Place::Top), &["insert a line x y at the top of a.txt"]);
    let replace =
        Intent::Replace { find: "a b".into(), replace: "c".into(), file: "src/x.rs".into() };
    all_mean(&replace, &["replace \"a b\" with c in src/x.rs", "In src/x.rs, change a b to c"]);
    let rename = Intent::Rename { symbol: "fire".into(), to: "light".into() };
    all_mean(&rename, &["rename fire to light", "rename the function fire() to light everywhere"]);
    let moved = Intent::Move { from: "a.md".into(), to: "docs/a.md".into() };
    all_mean(&moved, &["move a.md to docs/a.md", "rename the file a.md to docs/a.md"]);
    let create =
        |content: &str| Intent::Create { file: "notes.md".into(), content: content.into() };
    all_mean(
        &create("# Notes"),
        &[
            "create file notes.md containing \"# Notes\"",
            "create a new file called notes.md with the text # Notes",
        ],
    );
    all_mean(&create(""), &["create an empty file notes.md"]);
    all_mean(
        &Intent::Delete("docs/a.md".into()),
        &["delete docs/a.md", "remove the file docs/a.md."],
    );
    all_mean(
        &Intent::Undo,
        &["undo", "Undo the last change", "undo that, please", "revert my last edit"],
    );
    all_mean(&Intent::Redo, &["redo", "redo it"]);
}

#[test]
fn searches() {
    all_mean(
        &search("TODO", None),
        &[
            "Find all TODO comments in the project",
            "Find all TODO comments in this project",
            "find all TODO comments",
            "list every TODO comment in the whole codebase",
            "search for TODO",
            "Search the project for \"TODO\"",
            "find all occurrences of TODO in this repo",
            "which files contain TODO?",
            "find TODO",
        ],
    );
    all_mean(&search("TODO", Some("src")), &["find all TODO comments in src"]);
    all_mean(&search("a b", Some("src/x")), &["search for a b in src/x"]);
    all_mean(
        &Intent::References("main".into()),
        &["find all uses of main", "find all references to main", "who calls main?"],
    );
    all_mean(&Intent::FindFiles("*.rs".into()), &["find files named *.rs", "find all *.rs files"]);
    all_mean(&Intent::FindFiles("rust".into()), &["find all rust files in this project"]);
    all_mean(
        &Intent::List("src".into()),
        &[
            "list the files in src",
            "what's in src?",
            "show the contents of the src directory",
            "ls src",
        ],
    );
    all_mean(
        &Intent::List(".".into()),
        &[
            "list the files",
            "list the files in this project",
            "ls",
            "what files are in the project",
        ],
    );
    all_mean(
        &Intent::Read("src/main.rs".into()),
        &["show me src/main.rs", "read the file src/main.rs", "cat src/main.rs"],
    );
}

#[test]
fn users_and_structure() {
    all_mean(
        &Intent::Users("ToolExecutionService".into()),
        &[
            "What files use ToolExecutionService?",
            "which files import ToolExecutionService",
            "who imports ToolExecutionService?",
            "Where is ToolExecutionService used?",
            "find all files that use ToolExecutionService",
            "what depends on the module ToolExecutionService?",
        ],
    );
    all_mean(
        &Intent::Impact("src/db.ts".into()),
        &[
            "what breaks if I change src/db.ts?",
            "What would happen if we delete src/db.ts",
            "what is affected by changes to src/db.ts",
        ],
    );
    all_mean(
        &Intent::Overview,
        &[
            "what is this project?",
            "explain the structure",
            "Explain the structure of this project",
            "what does this project do",
            "tell me about this project",
            "How is the code organized?",
            "give me an overview",
        ],
    );
    all_mean(
        &Intent::Outline("src/main.rs".into()),
        &[
            "what does src/main.rs do?",
            "explain src/main.rs",
            "outline src/main.rs",
            "what is in src/main.rs",
        ],
    );
    all_mean(&Intent::Help, &["help", "What can you do?", "what can I ask you", "help me"]);
    all_mean(&Intent::Hello, &["hello", "Hi there!", "good morning"]);
    all_mean(&Intent::Thanks, &["thanks", "Thank you very much!", "ok"]);
    all_mean(&Intent::RunTests, &["run the tests", "please run all tests"]);
}

#[test]
fn what_is_not_understood_is_not_guessed_at() {
    let sentences = [
        "",
        "?",
        "remove the bug in the parser",
        "what needs to be fixed",
        "find bugs",
        "make it faster",
        "rename everything to something better please",
        "add logging to main.rs",
        "write a function that sorts a list",
        "where is it used",
        "delete everything",
        "why does this fail?",
        "fix the tests",
        "in the beginning",
    ];
    for sentence in sentences {
        assert_eq!(understand(sentence), None, "{sentence}");
    }
}

/// A sentence that has the form, with every optional word or without.
fn sentence_of(form: &str, with_optional: bool) -> String {
    let words = form.split(' ').filter_map(|part| match part {
        "<x>" | "<word>" => Some("something"),
        "<name>" | "<symbol>" => Some("Kiln"),
        "<file>" => Some("a.rs"),
        "<quote>" => Some("\"two words\""),
        _ => match part.strip_suffix('?') {
            Some(_) if !with_optional => None,
            Some(part) => class(part.split('|').next()?).next(),
            None => class(part.split('|').next()?).next(),
        },
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn every_form_is_reached_and_has_the_placeholders_it_builds_from() {
    for (form, build) in FORMS {
        for with_optional in [true, false] {
            let sentence = sentence_of(form, with_optional);
            let words = sentence_words(&sentence);
            let parts: Vec<Part<'_>> = form.split(' ').map(Part::of).collect();
            let mut captured = Vec::new();
            assert!(fits(&parts, &words, &mut captured), "{form}: {sentence}");
            build(&captured);
            assert!(understand(&sentence).is_some(), "{form}: {sentence}");
        }
    }
}

#[test]
fn classes_are_used_and_known() {
    for (name, _) in CLASSES {
        let is_used = |form: &str| form.split([' ', '|', '?']).any(|part| part == *name);
        assert!(FORMS.iter().any(|(form, _)| is_used(form)), "{name} is used nowhere");
    }
    for (form, _) in FORMS {
        for part in form.split([' ', '|', '?']).filter(|part| part.starts_with('@')) {
            assert!(CLASSES.iter().any(|(name, _)| *name == part), "{part} in {form}");
        }
    }
}

proptest! {
    #[test]
    fn any_sentence_is_understood_or_not(
        words in prop::collection::vec("find|the|all|in|of|to|a\\.rs|\"x y\"|TODO|add|comment|\\PC{0,6}", 0..20)
    ) {
        understand(&words.join(" "));
    }
}
