//! Prompts for common work, which hosts offer to their users as commands.

use rmcp::ErrorData;
use rmcp::model::{
    GetPromptResult, JsonObject, ListPromptsResult, Prompt, PromptArgument, PromptMessage, Role,
};

/// A prompt: what it is called, what it asks of the user, and what it says.
struct PromptText {
    name: &'static str,
    title: &'static str,
    about: &'static str,
    argument: ArgumentText,
    /// What it says, before what the argument adds.
    text: &'static str,
}

struct ArgumentText {
    name: &'static str,
    about: &'static str,
    required: bool,
    /// Goes before the argument in the prompt.
    lead: &'static str,
}

const PROMPTS: [PromptText; 4] = [
    PromptText {
        name: "explore",
        title: "Explore the project",
        about: "Find out how the project is built up, and say so in a page",
        argument: ArgumentText {
            name: "area",
            about: "The part to look at; all of it if left out",
            required: false,
            lead: "Look only at this part: ",
        },
        text: "Explore this project with the Toolkiln tools and change nothing. List its directories, read its \
               documentation, outline the main files and follow the imports between them. Then say in about a \
               page: what it is for, where it begins to run, which parts it has and how they use each other, how \
               it is built and tested, and which file to read first. Name files and lines for what you say.",
    },
    PromptText {
        name: "review_changes",
        title: "Review changes",
        about: "Look for mistakes in what was changed since the last commit",
        argument: ArgumentText {
            name: "focus",
            about: "What to look for in particular",
            required: false,
            lead: "Look in particular for this: ",
        },
        text: "Review what was changed in this project since the last commit, and change nothing. Look at the \
               status and the diff, then at the code around each change and at everything that uses what was \
               changed. Report mistakes, the gravest first: for each the file and line, what goes wrong with \
               which input, and how to repair it. Say also which changes have no test. Leave out matters of \
               taste. If you find nothing, say so.",
    },
    PromptText {
        name: "fix_tests",
        title: "Fix failing tests",
        about: "Run the tests, find out why some fail, and repair the cause",
        argument: ArgumentText {
            name: "tests",
            about: "Which tests to run; all of them if left out",
            required: false,
            lead: "Run only these tests: ",
        },
        text: "Run the tests of this project. For each that fails, read the test and the code that it tests, find \
               the cause, and repair the code with the smallest change that does it. Change a test only if it is \
               wrong itself, and say why. Run the tests again until they pass or you can say what is in the way. \
               In the end say what was wrong and what you changed.",
    },
    PromptText {
        name: "explain",
        title: "Explain code",
        about: "Explain a file or a symbol of the project",
        argument: ArgumentText {
            name: "path",
            about: "The file or the symbol",
            required: true,
            lead: "Explain this: ",
        },
        text: "Explain a part of this project to a programmer who does not know it, and change nothing. Read it, \
               what it uses and what uses it. Say what it is for, how it works step by step, what it takes for \
               granted, and what would break if it changed. Name files and lines for what you say.",
    },
];

/// All prompts.
pub(crate) fn list() -> ListPromptsResult {
    let listed = PROMPTS.iter().map(|prompt| {
        let argument = PromptArgument::new(prompt.argument.name)
            .with_description(prompt.argument.about)
            .with_required(prompt.argument.required);
        Prompt::new(prompt.name, Some(prompt.about), Some(vec![argument])).with_title(prompt.title)
    });
    ListPromptsResult::with_all_items(listed.collect())
}

/// A prompt with its argument filled in.
pub(crate) fn get(
    name: &str,
    arguments: Option<&JsonObject>,
) -> Result<GetPromptResult, ErrorData> {
    let invalid = |message: String| ErrorData::invalid_params(message, None);
    let prompt = PROMPTS.iter().find(|prompt| prompt.name == name).ok_or_else(|| {
        let names: Vec<&str> = PROMPTS.iter().map(|prompt| prompt.name).collect();
        invalid(format!("there is no prompt `{name}`; there are: {}", names.join(", ")))
    })?;
    let ArgumentText { name: argument, required, lead, .. } = prompt.argument;
    let given = arguments.and_then(|given| given.get(argument)).and_then(|given| given.as_str());
    let text = match given.map(str::trim).filter(|given| !given.is_empty()) {
        Some(given) => format!("{}\n\n{lead}{given}", prompt.text),
        None if required => {
            return Err(invalid(format!("the prompt `{name}` needs the argument `{argument}`")));
        }
        None => prompt.text.to_owned(),
    };
    let messages = vec![PromptMessage::new_text(Role::User, text)];
    Ok(GetPromptResult::new(messages).with_description(prompt.about))
}
