//! The forms of requests in plain English.
//!
//! A form is a row of words: `find|show` is one of several words, `the?` may be missing, `@add` is
//! one of a class of words. `<x>` stands for any words (as few as possible), `<word>` for one,
//! `<name>` for one that is no plain word, `<file>` for one that can name a file, `<symbol>` for
//! one that may have its kind beside it (`the function f`), `<quote>` for a quoted text. The first
//! form that fits the whole sentence wins. Punctuation, politeness and `in this project` have been
//! dropped before.

use super::intent::{Fact, Intent, Place};

/// Words that are used alike in several forms.
pub(super) const CLASSES: &[(&str, &str)] = &[
    ("@add", "add|append|put|write|insert"),
    ("@all", "all|every|any|the|each"),
    ("@breaks", "breaks|break|happens|happen"),
    ("@bottom", "end|bottom"),
    ("@called", "called|named|at"),
    ("@change", "change|changes|changed|changing|remove|removing|touch|edit|modify|delete|rename"),
    ("@comment", "comment|header"),
    ("@comments", "comments|comment|notes|markers|marks|items|annotations"),
    ("@create", "create|make|add|write"),
    ("@defined", "defined|declared|implemented"),
    ("@definition", "definition|definitions|declaration|implementation"),
    ("@explain", "explain|describe|summarize|summarise|outline"),
    ("@explaining", "explaining|describing|about|that|which|to|summarizing|summarising"),
    ("@files", "files|file|modules|module|code|parts|places"),
    ("@find", "find|list|show|search|get|collect|count|look|locate|give"),
    ("@if", "if|when|by"),
    ("@in", "in|under|inside|within"),
    ("@it", "it|that|this|my|your|the"),
    ("@kind", "header|doc|short|brief|explanatory|new|small"),
    ("@last", "last|latest|previous|recent"),
    ("@line", "line|text|lines"),
    ("@matches", "occurrences|mentions|matches|appearances|instances|lines"),
    ("@project", "project|package|crate|repo|repository|codebase|code|app|application"),
    ("@read", "read|open|check|parse|see"),
    ("@saying", "saying|says|with|containing|contains|reading"),
    ("@search", "search|look|grep|scan"),
    ("@structure", "structure|layout|architecture|overview|summary"),
    ("@tell", "tell|show|give|say"),
    ("@to", "to|at|on|in|into"),
    ("@top", "top|start|beginning|head"),
    ("@use", "use|uses|using|import|imports|importing|need|needs|require|requires"),
    ("@with", "with|by|to|into"),
];

/// Builds an intent from what the placeholders of a form stand for, in order.
type Build = fn(&[String]) -> Intent;

/// The forms, those that need more words before those that are content with fewer.
pub(super) const FORMS: &[(&str, Build)] = &[
    ("@read <file> and|then @tell me? the|its? @project? name", |x| fact_in(x, Fact::Name)),
    ("@read <file> and|then @tell me? the|its? @project? version", |x| fact_in(x, Fact::Version)),
    ("@read <file> and|then @tell me? the|its? @project? description", |x| {
        fact_in(x, Fact::Description)
    }),
    ("what|@tell me? is? the|this|its? @project? name of|for? this|the? @project?", |_| {
        fact(Fact::Name)
    }),
    ("what|@tell me? is? the|this|its? @project? version of|for? this|the? @project?", |_| {
        fact(Fact::Version)
    }),
    ("what is the|this? @project called|named", |_| fact(Fact::Name)),
    ("what|which version is this|it|the? @project?", |_| fact(Fact::Version)),
    ("@find|tell|see me? out? where <symbol> is|are|gets @defined", |x| {
        Intent::Define(x[0].clone())
    }),
    ("where is|are <symbol> @defined", |x| Intent::Define(x[0].clone())),
    ("@find|go|jump me? up? to? the? @definition of|for <symbol>", |x| {
        Intent::Define(x[0].clone())
    }),
    ("@definition of <symbol>", |x| Intent::Define(x[0].clone())),
    ("define <name>", |x| Intent::Define(x[0].clone())),
    ("@add a|an|the? @kind? @comment <quote> @to the? very? @top of <file>", |x| {
        comment(&x[1], Some(&x[0]))
    }),
    ("@add a|an|the? @kind? @comment that? @saying <x> @to the? very? @top of <file>", |x| {
        comment(&x[1], Some(&x[0]))
    }),
    ("@add a|an|the? @kind? @comment @to the? very? @top of <file>", |x| comment(&x[0], None)),
    ("@add a|an|the? @kind? @comment @to the? very? @top of <file> that? @saying <x>", |x| {
        comment(&x[0], Some(&x[1]))
    }),
    ("@add a|an|the? @kind? @comment @to the? very? @top of <file> @explaining <x>", |x| {
        comment(&x[0], None)
    }),
    ("@add a|an|the? @kind? @comment @to <file> @explaining <x>", |x| comment(&x[0], None)),
    ("@add a|an|the? @kind? @comment <quote> @to <file>", |x| comment(&x[1], Some(&x[0]))),
    ("@add a|the? @line? <quote> @to the? very? @bottom of <file>", |x| add(x, Place::Bottom)),
    ("@add a|the? @line? <quote> @to the? very? @top of <file>", |x| add(x, Place::Top)),
    ("@add a|the? @line? <quote> @to <file>", |x| add(x, Place::Bottom)),
    ("@add a|the @line <x> @to the? very? @bottom of <file>", |x| add(x, Place::Bottom)),
    ("@add a|the @line <x> @to the? very? @top of <file>", |x| add(x, Place::Top)),
    ("@add a|the @line <x> to <file>", |x| add(x, Place::Bottom)),
    ("replace|change all? the? text|word? <x> @with <x> in the? file? <file>", |x| {
        replace(&x[0], &x[1], &x[2])
    }),
    ("in <file> replace|change <x> @with <x>", |x| replace(&x[1], &x[2], &x[0])),
    ("move|rename the? file|directory|folder? <file> to|into|as <word>", |x| Intent::Move {
        from: x[0].clone(),
        to: x[1].clone(),
    }),
    ("rename <symbol> to|into|as <symbol> everywhere|globally?", |x| Intent::Rename {
        symbol: x[0].clone(),
        to: x[1].clone(),
    }),
    ("@create a? new? file? @called? <file> that? @saying the? @line? <x>", |x| Intent::Create {
        file: x[0].clone(),
        content: x[1].clone(),
    }),
    ("@create a|an? new? empty? file @called? <file>", |x| Intent::Create {
        file: x[0].clone(),
        content: String::new(),
    }),
    ("delete|remove|erase the? file|directory|folder? <file>", |x| Intent::Delete(x[0].clone())),
    ("undo|revert @it? @last? change|edit|one|step|it?", |_| Intent::Undo),
    ("take|roll @it? @last? change? back", |_| Intent::Undo),
    ("redo @it? @last? change|edit|one|step|it?", |_| Intent::Redo),
    ("what|who|which @files? will|would|could? @breaks @if i|we|you? @change <symbol>", |x| {
        Intent::Impact(x[0].clone())
    }),
    ("what|which @files? is|are|gets affected @if i|we|you? a? @change? to? <symbol>", |x| {
        Intent::Impact(x[0].clone())
    }),
    ("@find|tell me? the? impact of|on @change? to? <symbol>", |x| Intent::Impact(x[0].clone())),
    ("what|which|who|@find me? @all? other? @files? that? @use from? <symbol>", |x| {
        Intent::Users(x[0].clone())
    }),
    ("what|which|who @files? that? depend|depends on <symbol>", |x| Intent::Users(x[0].clone())),
    ("what|which|who @files|functions? call|calls|reference|references <symbol>", |x| {
        Intent::References(x[0].clone())
    }),
    ("where is|are <symbol> used|imported|needed|required", |x| Intent::Users(x[0].clone())),
    ("where is|are <symbol> called|referenced|mentioned", |x| Intent::References(x[0].clone())),
    ("@find me? @all? importers|users|dependents of <symbol>", |x| Intent::Users(x[0].clone())),
    ("@find me? @all? uses|usages|references|callers|calls of|to|for <symbol>", |x| {
        Intent::References(x[0].clone())
    }),
    ("@find me? @all? files|file named|called|matching|like <x>", |x| {
        Intent::FindFiles(x[0].clone())
    }),
    ("@find me? @all? files|directory|directories|folders|contents here?", |_| {
        Intent::List(".".into())
    }),
    ("@find me? @all? <word> files", |x| Intent::FindFiles(x[0].clone())),
    ("where is the? file|files? <file>", |x| Intent::FindFiles(x[0].clone())),
    ("@find me? the? file <file>", |x| Intent::FindFiles(x[0].clone())),
    ("@find me? @all? files|contents|content|directory|folder|entries @in|of <x>", |x| list(&x[0])),
    ("what|which files? is|are there? @in the? directory|folder? <word> directory|folder?", |x| {
        list(&x[0])
    }),
    ("ls|dir", |_| Intent::List(".".into())),
    ("ls|dir <word>", |x| list(&x[0])),
    ("@find me? for? @all? open? of? the? <word> @comments", |x| search(&x[0])),
    ("@find me? for? @all? open? of? the? <word> @comments @in <word>", |x| {
        search_in(&x[0], &x[1])
    }),
    ("@find me? @all? @matches of|with|containing|for <x> @in <file>", |x| search_in(&x[0], &x[1])),
    ("@find me? @all? @matches of|with|containing|for <x>", |x| search(&x[0])),
    ("@search the|this? @project? for the? @line|word|pattern? <x> @in <file>", |x| {
        search_in(&x[0], &x[1])
    }),
    ("@search the|this? @project? for the? @line|word|pattern? <x>", |x| search(&x[0])),
    ("which|what @files contain|contains|mention|mentions|have|has <x>", |x| search(&x[0])),
    ("what is|does this|the @project do|about|for?", |_| Intent::Overview),
    (
        "@explain|@tell me? about? the|an? @structure? of|about? this|the @project @structure?",
        |_| Intent::Overview,
    ),
    ("@explain|@tell me? an|the? @project? @structure", |_| Intent::Overview),
    ("how is this|the @project structured|organized|organised", |_| Intent::Overview),
    ("@explain me? the? file|structure|outline? of? <file>", |x| Intent::Outline(x[0].clone())),
    ("what does|is in? the? file? <file> do|about|for|contain|define?", |x| {
        Intent::Outline(x[0].clone())
    }),
    ("@read|show|print|display|cat|view me? the? contents|content? of? file? <file>", |x| {
        Intent::Read(x[0].clone())
    }),
    ("run|execute @all|my? tests|test suite?", |_| Intent::RunTests),
    ("hello|hi|hey|hallo there|you|toolkiln?", |_| Intent::Hello),
    ("good morning|afternoon|evening|day", |_| Intent::Hello),
    ("thanks|thank|great|ok|okay|cool|nice|perfect you? very? much?", |_| Intent::Thanks),
    ("help me?", |_| Intent::Help),
    ("what can|could you do", |_| Intent::Help),
    ("what|how can|could|should|do i ask|say|do|type you?", |_| Intent::Help),
    ("find|search|grep <quote>", |x| search(&x[0])),
    ("find|search <name>", |x| search(&x[0])),
];

fn fact(fact: Fact) -> Intent {
    Intent::ProjectFact { file: None, fact }
}

fn fact_in(captured: &[String], fact: Fact) -> Intent {
    Intent::ProjectFact { file: Some(captured[0].clone()), fact }
}

fn comment(file: &str, text: Option<&str>) -> Intent {
    Intent::CommentAtTop { file: file.to_owned(), text: text.map(str::to_owned) }
}

fn add(captured: &[String], place: Place) -> Intent {
    Intent::AddLine { file: captured[1].clone(), line: captured[0].clone(), place }
}

fn replace(find: &str, replace: &str, file: &str) -> Intent {
    Intent::Replace { find: find.to_owned(), replace: replace.to_owned(), file: file.to_owned() }
}

fn search(text: &str) -> Intent {
    Intent::Search { text: text.to_owned(), within: None }
}

fn search_in(text: &str, place: &str) -> Intent {
    let place = directory(place);
    Intent::Search { text: text.to_owned(), within: (place != ".").then_some(place) }
}

/// What is in a directory is its entries; what is in a file is what it defines.
fn list(place: &str) -> Intent {
    let place = directory(place);
    let name = place.rsplit('/').next().unwrap_or_default();
    if name.trim_matches('.').contains('.') { Intent::Outline(place) } else { Intent::List(place) }
}

/// `the src directory` is `src`; the project itself is `.`.
fn directory(words: &str) -> String {
    const WHOLE: [&str; 7] = ["project", "repo", "repository", "codebase", "root", "here", "code"];
    const NOISE: [&str; 7] = ["the", "this", "directory", "folder", "of", "whole", "entire"];
    let is_one_of = |words: &[&str], word: &str| words.contains(&word.to_lowercase().as_str());
    let words: Vec<_> = words.split_whitespace().filter(|word| !is_one_of(&NOISE, word)).collect();
    let is_whole = words.iter().all(|word| is_one_of(&WHOLE, word));
    if is_whole { ".".to_owned() } else { words.join(" ") }
}
