//! The requests in plain English: one table of what can be asked for and in which forms.
//!
//! A form is a row of words: `find|show` is one of several words, `the?` may be missing, `@add` is
//! one of a class of words. `<name:kind>` is a slot, `<kind>` one that is called as its kind; `sentence.rs`
//! has the kinds. The first form that fits the whole sentence wins, so those that need more words
//! stand before those that need fewer. Punctuation, politeness and `in this project` have been
//! dropped before.

use serde_json::json;

use crate::help;
use crate::plan_run::{PlanResult, PlanRun};
use crate::plans::{changing, finding, project};
use crate::tools::{GIT_DIFF, GIT_LOG, GIT_STATUS, REDO, RUN_TESTS, UNDO};

/// Something that can be asked for, and what is done about it.
pub(crate) struct KnownRequest {
    pub(crate) plan: fn(&mut PlanRun<'_>) -> PlanResult,
    pub(crate) forms: &'static [&'static str],
}

/// Words that are used alike in several forms.
pub(crate) const CLASSES: &[(&str, &str)] = &[
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
    ("@folder", "directory|folder"),
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

/// `plan => "form" "form";`, any number of times.
macro_rules! requests {
    ($($plan:expr => $($form:literal)+;)+) => {
        &[$(KnownRequest { plan: $plan, forms: &[$($form),+] }),+]
    };
}

pub(crate) const REQUESTS: &[KnownRequest] = requests! {
    project::fact =>
        "@read <file> and|then @tell me? the|its? @project? <fact:name|version|description>"
        "what|@tell me? is? the|this|its? @project? <fact:name|version> of|for? this|the? @project?"
        "what is the|this? @project called|named"
        "what|which <fact:version> is this|it|the? @project?";
    finding::definition =>
        "@find|tell|see me? out? where <symbol> is|are|gets @defined"
        "where is|are <symbol> @defined"
        "@find|go|jump me? up? to? the? @definition of|for <symbol>"
        "@definition of <symbol>"
        "define <symbol:name>";
    changing::comment =>
        "@add a|an|the? @kind? @comment <text:quote> @to the? very? @top of <file>"
        "@add a|an|the? @kind? @comment that? @saying <text:x> @to the? very? @top of <file>"
        "@add a|an|the? @kind? @comment @to the? very? @top of <file>"
        "@add a|an|the? @kind? @comment @to the? very? @top of <file> that? @saying <text:x>"
        "@add a|an|the? @kind? @comment @to the? very? @top of <file> @explaining <about:x>"
        "@add a|an|the? @kind? @comment @to <file> @explaining <about:x>"
        "@add a|an|the? @kind? @comment <text:quote> @to <file>";
    changing::add_line =>
        "@add a|the? @line? <line:quote> @to the? very? @bottom of <file>"
        "@add a|the? @line? <line:quote> @to the? very? <top:@top> of <file>"
        "@add a|the? @line? <line:quote> @to <file>"
        "@add a|the @line <line:x> @to the? very? @bottom of <file>"
        "@add a|the @line <line:x> @to the? very? <top:@top> of <file>"
        "@add a|the @line <line:x> to <file>";
    changing::replace =>
        "replace|change all? the? text|word? <find:x> @with <replace:x> in the? file? <file>"
        "in <file> replace|change <find:x> @with <replace:x>";
    changing::move_file =>
        "move|rename the? file|@folder? <file> to|into|as <to:word>";
    changing::rename =>
        "rename <symbol> to|into|as <to:symbol> everywhere|globally?";
    changing::create =>
        "@create a? new? file? @called? <file> that? @saying the? @line? <content:x>"
        "@create a|an? new? empty? file @called? <file>";
    changing::delete =>
        "delete|remove|erase the? file|@folder? <file>";
    |script| script.tell(UNDO, "Undoing the last change.", json!({})) =>
        "undo|revert @it? @last? change|edit|one|step|it?"
        "take|roll @it? @last? change? back";
    |script| script.tell(REDO, "Redoing it.", json!({})) =>
        "redo @it? @last? change|edit|one|step|it?";
    finding::impact =>
        "what|who|which @files? will|would|could? @breaks @if i|we|you? @change <symbol>"
        "what|which @files? is|are|gets affected @if i|we|you? a? @change? to? <symbol>"
        "@find|tell me? the? impact of|on @change? to? <symbol>";
    finding::users =>
        "what|which|who|@find me? @all? other? @files? that? @use from? <symbol>"
        "what|which|who @files? that? depend|depends on <symbol>"
        "where is|are <symbol> used|imported|needed|required"
        "@find me? @all? importers|users|dependents of <symbol>";
    finding::references =>
        "what|which|who @files|functions? call|calls|reference|references <symbol>"
        "where is|are <symbol> called|referenced|mentioned"
        "@find me? @all? uses|usages|references|callers|calls of|to|for <symbol>";
    finding::files =>
        "@find me? @all? files|file named|called|matching|like <file:x>";
    finding::list =>
        "@find me? @all? files|directory|directories|folders|contents here?";
    finding::files =>
        "@find me? @all? <file:word> files"
        "where is the? file|files? <file>"
        "@find me? the? file <file>";
    finding::todos =>
        "@find me? @all? open? todos"
        "@find me? @all? open? todos @in <within:word>"
        "what|which todos are there? open|left?"
        "todos|todo";
    finding::list =>
        "@find me? @all? files|contents|content|@folder|entries @in|of <path:directories>"
        "what|which files? is|are there? @in the? @folder? <path:directory> @folder?"
        "ls|dir"
        "ls|dir <path:directory>";
    finding::outline =>
        "@find me? @all? files|contents|content|@folder|entries @in|of <file>"
        "what|which files? is|are there? @in the? @folder? <file> @folder?"
        "ls|dir <file>";
    finding::search =>
        "@find me? for? @all? open? of? the? <text:word> @comments"
        "@find me? for? @all? open? of? the? <text:word> @comments @in <within:word>"
        "@find me? @all? @matches of|with|containing|for <text:x> @in the? <within:place> @folder?"
        "@find me? @all? @matches of|with|containing|for <text:x>"
        "@search the|this? @project? for the? @line|word|pattern? <text:quote> @in the? <within:word> @folder?"
        "@search the|this? @project? for the? @line|word|pattern? <text:x> @in the? <within:place> @folder?"
        "@search the|this? @project? for the? @line|word|pattern? <text:x>"
        "which|what @files contain|contains|mention|mentions|have|has <text:x>";
    project::overview =>
        "what is|does this|the @project do|about|for?"
        "@explain|@tell me? about? the|an? @structure? of|about? this|the @project @structure?"
        "@explain|@tell me? an|the? @project? @structure"
        "how is this|the @project structured|organized|organised";
    finding::outline =>
        "@explain me? the? file|structure|outline? of? <file>"
        "what does|is in? the? file? <file> do|about|for|contain|define?";
    finding::show =>
        "@read|show|print|display|cat|view me? the? contents|content? of? file? <file>";
    |script| script.tell(GIT_STATUS, "Asking git.", json!({})) =>
        "git status"
        "@find|what me? is? the? git? status"
        "what has|have|is i|we? changed"
        "@find me? the? uncommitted changes|files";
    |script| script.tell(GIT_DIFF, "Asking git.", json!({})) =>
        "git diff"
        "@find me? the? git? diff";
    |script| script.tell(GIT_LOG, "Asking git.", json!({})) =>
        "git log"
        "@find me? the? git? log|commits"
        "@find me? the? @last commits";
    |script| script.tell(RUN_TESTS, "Running the tests.", json!({})) =>
        "run|execute @all|my? tests|test suite?";
    |_| Ok(help::HELLO.to_owned()) =>
        "hello|hi|hey|hallo there|you|toolkiln?"
        "good morning|afternoon|evening|day";
    |_| Ok("You are welcome.".to_owned()) =>
        "thanks|thank|great|ok|okay|cool|nice|perfect you? very? much?";
    |script| Ok(help::overview(script.tools)) =>
        "help me?"
        "what can|could you do"
        "what|how can|could|should|do i ask|say|do|type you?";
    finding::search =>
        "@find|grep <text:quote>"
        "@find|grep <text:quote> @in the? <within:word> @folder?"
        "find|search|grep <text:name>"
        "find|search|grep <text:word> @in the? <within:place> @folder?";
    finding::definition =>
        "where is|are <symbol>";
};
