use proptest::prelude::*;

use super::*;
use crate::plan_run::{PlanRun, PlanStop};
use crate::plans::respond;
use crate::testing::tools_of;
use crate::tools::Tools;
use tool_system::Vocabulary;

/// What sentences mean: the first tool that is called, or the first word that is answered, and the
/// slots; below it sentences that ask for just that.
const MEANINGS: &str = r##"
read_file file=package.json fact=name
    Read package.json and tell me the project name
    please read package.json, then tell me the name.
    Could you open `package.json` and show me the project's name?
list_directory fact=name
    What is the project name?
    What is the name of this project
list_directory
    what's this project called
list_directory fact=version
    what is the project's version?
    Which version is this?
    tell me the version
find_definition symbol=DatabaseService
    Find where DatabaseService is defined
    where is DatabaseService defined?
    Where is the class DatabaseService implemented in this project?
    show me the definition of DatabaseService
    go to the definition of the DatabaseService class, please
    Hey, can you find where `DatabaseService` is declared?
find_definition symbol=handle_submit
    where is the function handle_submit() defined
glob file=main.js about=what it does
    Add a comment to the top of main.js explaining what it does
glob file=main.js
    add a header comment at the top of main.js
glob file=main.js about=it
    I'd like you to put a short comment at the beginning of main.js describing it.
glob text=Fires the kiln. file=a.py
    add a comment "Fires the kiln." to the top of a.py
    add a comment saying "Fires the kiln." at the top of a.py
glob line=target/ file=.gitignore
    add the line "target/" to .gitignore
    append 'target/' to the end of .gitignore
glob line=x y top=top file=a.txt
    insert a line x y at the top of a.txt
read_file find=a b replace=c file=src/x.rs
    replace "a b" with c in src/x.rs
read_file file=src/x.rs find=a b replace=c
    In src/x.rs, change a b to c
rename_symbol symbol=fire to=light
    rename fire to light
    rename the function fire() to light everywhere
move_file file=a.md to=docs/a.md
    move a.md to docs/a.md
    rename the file a.md to docs/a.md
create_file file=notes.md content=# Notes
    create file notes.md containing "# Notes"
    create a new file called notes.md with the text # Notes
create_file file=notes.md
    create an empty file notes.md
delete_file file=docs/a.md
    delete docs/a.md
    remove the file docs/a.md.
undo
    undo
    Undo the last change
    undo that, please
    revert my last edit
redo
    redo
    redo it
grep text=TODO
    Find all TODO comments in the project
    Find all TODO comments in this project
    find all TODO comments
    list every TODO comment in the whole codebase
    search for TODO
    Search the project for "TODO"
    find all occurrences of TODO in this repo
    which files contain TODO?
    find TODO
grep text=TODO within=src
    find all TODO comments in src
grep
    list todos
    show me all open TODOs
    todos
grep within=src
    list todos in src
grep text=a b within=src
    find "a b" in src
    search "a b" in the src directory
    search for a b in src
    grep "a b" in src
grep text=apples in stock
    search for apples in stock
grep text=a within=tests
    find a in tests
git_status
    git status
    show me the git status
    what has changed?
    what's the status
git_diff
    git diff
git_log
    git log
    show the last commits
find_definition symbol=Cart
    where is Cart?
    Where's the class Cart
grep text=a b within=src/x
    search for a b in src/x
grep text=a b( within=src
    Search for "a b(" in src
find_references symbol=main
    find all uses of main
    find all references to main
    who calls main?
glob file=*.rs
    find files named *.rs
    find all *.rs files
glob file=rust
    find all rust files in this project
list_directory path=src
    list the files in src
    what's in src?
    show the contents of the src directory
    ls src
list_directory
    list the files
    list the files in this project
    ls
list_directory path=.
    what files are in the project
read_file file=src/main.rs
    show me src/main.rs
    read the file src/main.rs
    cat src/main.rs
find_definition symbol=ToolExecutionService
    What files use ToolExecutionService?
    which files import ToolExecutionService
    who imports ToolExecutionService?
    Where is ToolExecutionService used?
    find all files that use ToolExecutionService
    what depends on the module ToolExecutionService?
impact symbol=src/db.ts
    what breaks if I change src/db.ts?
    What would happen if we delete src/db.ts
    what is affected by changes to src/db.ts
list_directory
    what is this project?
    explain the structure
    Explain the structure of this project
    what does this project do
    tell me about this project
    How is the code organized?
    give me an overview
read_file file=src/main.rs
    what does src/main.rs do?
    explain src/main.rs
    outline src/main.rs
    what is in src/main.rs
    list the contents of src/main.rs
    ls src/main.rs
I
    help
    What can you do?
    what can I ask you
    help me
Hello.
    hello
    Hi there!
    good morning
You
    thanks
    Thank you very much!
    ok
run_tests
    run the tests
    please run all tests
"##;

#[test]
fn sentences_mean_what_they_say() {
    let tools = tools_of(Vocabulary::Standard);
    let mut expected = "";
    for line in MEANINGS.lines().filter(|line| !line.is_empty()) {
        let Some(sentence) = line.strip_prefix("    ") else {
            expected = line;
            continue;
        };
        let (request, slots) = understand(sentence).unwrap_or_else(|| panic!("{sentence}"));
        let steps = [].iter();
        let first =
            match (request.plan)(&mut PlanRun { tools: Tools(&tools), slots: &slots, steps }) {
                Err(PlanStop::Call { name, .. }) => name,
                Ok(text) | Err(PlanStop::Answer(text)) => {
                    text.split(' ').next().unwrap().to_owned()
                }
            };
        let slots = slots.iter().map(|(name, text)| format!(" {name}={text}"));
        assert_eq!(format!("{first}{}", slots.collect::<String>()), expected, "{sentence}");
    }
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
        assert!(understand(sentence).is_none(), "{sentence}");
    }
}

/// A sentence that has the form, with every optional word or without.
fn sentence_of(form: &str, with_optional: bool) -> String {
    let words = form.split(' ').filter_map(|part| {
        let slot = part.strip_prefix('<').and_then(|slot| slot.strip_suffix('>'));
        let part = slot.map_or(part, |slot| slot.split_once(':').map_or(slot, |(_, kind)| kind));
        match part {
            "x" | "word" | "directory" | "directories" => return Some("something"),
            "name" | "symbol" => return Some("Kiln"),
            "file" if slot.is_some() => return Some("a.rs"),
            "place" => return Some("src"),
            "quote" => return Some("\"two words\""),
            _ => {}
        }
        let required = part.strip_suffix('?');
        let first = required.unwrap_or(part).split('|').next()?;
        let class = CLASSES.iter().find(|(class, _)| *class == first);
        let word = class.map_or(Some(first), |(_, words)| words.split('|').next());
        word.filter(|_| with_optional || required.is_none())
    });
    words.collect::<Vec<_>>().join(" ")
}

fn forms() -> impl Iterator<Item = &'static str> {
    REQUESTS.iter().flat_map(|request| request.forms.iter().copied())
}

#[test]
fn every_form_is_reached_and_has_the_slots_of_its_plan() {
    let tools = tools_of(Vocabulary::Standard);
    for form in forms() {
        for with_optional in [true, false] {
            let sentence = sentence_of(form, with_optional);
            assert!(fit(form, &sentence_words(&sentence)).is_some(), "{form}: {sentence}");
            assert!(understand(&sentence).is_some(), "{form}: {sentence}");
            if let Err(PlanStop::Call { arguments, .. }) = respond(&sentence, &tools, &[]) {
                let empty =
                    arguments.iter().find(|(name, value)| *value == "" && *name != "content");
                assert_eq!(empty, None, "{form}: {sentence}");
            }
        }
    }
}

#[test]
fn classes_are_used_and_known() {
    let used = |form: &'static str| form.split([' ', '|', '?', ':', '>']);
    for (name, _) in CLASSES {
        assert!(forms().flat_map(used).any(|part| part == *name), "{name} is used nowhere");
    }
    for part in forms().flat_map(used).filter(|part| part.starts_with('@')) {
        assert!(CLASSES.iter().any(|(name, _)| *name == part), "{part}");
    }
}

proptest! {
    #[test]
    fn what_is_understood_was_said(
        words in prop::collection::vec("find|the|all|in|of|to|a\\.rs|\"x y\"|TODO|add|comment|\\PC{0,6}", 0..20)
    ) {
        let text = words.join(" ");
        let said: Vec<String> = sentence_words(&text).into_iter().map(|word| word.text).collect();
        let said = said.join(" ");
        for (name, slot) in understand(&text).map(|(_, slots)| slots).unwrap_or_default() {
            let mut parts = slot.split_whitespace().filter(|part| *part != ".");
            prop_assert!(parts.all(|part| said.contains(part)), "{name}={slot} in {text}");
        }
    }
}

#[test]
fn one_misspelled_word_is_corrected_where_that_makes_a_request() {
    let cases = [
        ("fnid all TODO comments", Some("find all TODO comments")),
        ("where is Kiln definde?", Some("where is Kiln defined?")),
        ("Please serach for \"fnid\"", Some("Please search for \"fnid\"")),
        ("fnid al TODO coments", None),
        ("sing a song", None),
        ("", None),
    ];
    for (text, expected) in cases {
        assert_eq!(corrected(text).as_deref(), expected, "{text}");
    }
}
