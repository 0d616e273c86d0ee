//! What the guide says about itself.

use context_manager::ToolSpec;

use crate::command::{parameters, usage};
use crate::nearest::nearest_requests;
use crate::tools::Tools;

/// The first line of the first answer.
pub(crate) const NOTICE: &str = "(No model is at work: this is Toolkiln's built-in guide, which \
    follows fixed rules. To get a model: toolkiln setup)";
/// Requests that are named to a user who was not understood.
const NAMED_REQUESTS: usize = 3;

/// Requests that are understood, and what becomes of them. The help and the documentation are made
/// from this list; similar words do as well.
pub fn examples() -> &'static [(&'static str, &'static str)] {
    &[
        ("Find all TODO comments in this project", "searches, and counts by file"),
        ("List todos", "the same in two words"),
        ("Search for \"connect(\" in src/db", "searches a text in one place"),
        ("Find \"two words\" in src", "the same"),
        ("Read package.json and tell me the project name", "reads a manifest and answers from it"),
        ("What is the project's version?", "finds the manifest first"),
        ("Find where DatabaseService is defined", "looks up a definition and shows it"),
        ("Where is DatabaseService?", "the same"),
        ("What files use ToolExecutionService?", "finds the module and the files that import it"),
        ("Find all references to main", "finds the uses of a name"),
        ("What breaks if I change src/db.ts?", "follows imports to everything affected"),
        ("List the files in src", "lists a directory"),
        ("Find all rust files", "finds files by language or name"),
        ("Show me src/main.rs", "reads a file"),
        ("What does src/main.rs do?", "outlines a file"),
        ("Explain the structure of this project", "lists the project and quotes its README"),
        ("git status", "shows what git sees as changed; also `git diff` and `git log`"),
        (
            "Add a comment to the top of main.js explaining what it does",
            "proposes a comment that names what the file defines",
        ),
        ("Add the line \"target/\" to .gitignore", "proposes a new last line"),
        ("Replace \"http:\" with \"https:\" in src/api.ts", "proposes a replacement"),
        ("Rename fire_kiln to light_kiln", "proposes to rename a symbol everywhere"),
        ("Create file notes.md containing \"# Notes\"", "proposes a new file"),
        ("Move notes.md to docs/notes.md", "proposes to move a file"),
        ("Delete docs/notes.md", "proposes to delete a file"),
        ("Undo the last change", "proposes to take it back"),
        ("grep TODO src", "runs a tool as a command"),
        ("/read_file path=src/main.rs limit=20", "runs a tool with named arguments"),
        ("grep TODO --path src --hidden", "the same with flags"),
        ("help", "lists all of this; `help grep` explains one tool"),
    ]
}

pub(crate) const HELLO: &str = "Hello. Ask for something like \"Find all TODO comments in this \
    project\", or run a tool as a command, such as `grep TODO`. `help` shows what I understand, and \
    `toolkiln setup` gets you a model.";

const HOW_TO_CONFIGURE: &str = "For anything else, `toolkiln setup` finds and tests a model: with a \
    key, from Ollama on this machine, or from any compatible server.";

/// What is said to a request that is not understood, with what may be meant by it: three lines.
pub(crate) fn not_understood(said: &str, meant: Option<&str>) -> String {
    let meant = meant.map(|meant| format!(" Did you mean: {meant}")).unwrap_or_default();
    let requests = nearest_requests(said, examples().iter().map(|(request, _)| *request));
    let requests = requests.into_iter().take(NAMED_REQUESTS).collect::<Vec<_>>().join(" · ");
    format!(
        "I did not understand that.{meant}\nThe nearest that I know: {requests}\n`help` lists the \
         rest. A model understands more: run `toolkiln setup`."
    )
}

fn requests() -> String {
    let rows = examples().iter().map(|(request, effect)| format!("- {request} ({effect})"));
    rows.collect::<Vec<_>>().join("\n")
}

/// What is understood: requests, and the tools with what each needs.
pub(crate) fn overview(tools: Tools<'_>) -> String {
    let mut text = format!(
        "I understand these requests and ones like them:\n\n{}\n\nEvery tool is a command, as in \
         `/tool name=value`. These need:\n\n",
        requests()
    );
    for tool in tools.0 {
        let needed = parameters(tool).into_iter().filter(|one| one.required);
        let needed: Vec<_> = needed.map(|one| one.name).collect();
        let needed = if needed.is_empty() { "nothing".to_owned() } else { needed.join(", ") };
        text += &format!("- {}: {needed}\n", tool.name);
    }
    text + &format!("\n`help NAME` shows all that a tool takes. {HOW_TO_CONFIGURE}")
}

/// All about one tool.
pub(crate) fn about(tool: &ToolSpec) -> String {
    let mut text = format!("{}: {}\n\n{}\n", tool.name, tool.description, usage(tool));
    for parameter in parameters(tool) {
        if let Some(explanation) = parameter.schema["description"].as_str() {
            text += &format!("\n- {}: {explanation}", parameter.name);
        }
    }
    text.trim_end().to_owned()
}
