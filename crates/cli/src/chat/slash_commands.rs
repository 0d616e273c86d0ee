//! What is typed at the prompt: a message, or a command that begins with a slash.

/// What a line at the prompt means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// Nothing but white space.
    Nothing,
    /// Something for the model.
    Message(String),
    /// Something for Toolkiln.
    Command(ChatCommand),
    /// A command that does not exist or lacks something; this says what to do.
    Mistake(String),
}

/// What can be commanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ChatCommand {
    Help,
    /// Take back the last change, or the one with this id.
    Undo(Option<String>),
    /// Make a change again that was taken back.
    Redo,
    /// Show what the session has changed.
    Diff,
    /// Show or change the model.
    Model(Option<String>),
    /// Show or change the role.
    Role(Option<String>),
    /// Go on with another session, the last one if no id is given.
    Resume(Option<String>),
    Sessions,
    New,
    /// Go on in a copy of this session.
    Fork,
    Rename(String),
    Plan,
    /// Go on after a pause.
    Continue,
    /// Make the conversation shorter for the model.
    Compact,
    /// Show what the model sees and how full that is.
    Context,
    /// Show what the session has cost.
    Cost,
    Tools,
    /// Allow something without asking.
    Allow(String),
    Clear,
    Exit,
}

/// What follows the name of a command.
#[derive(Clone, Copy, Debug)]
enum Argument {
    None(fn() -> ChatCommand),
    Optional(&'static str, fn(Option<String>) -> ChatCommand),
    Required(&'static str, fn(String) -> ChatCommand),
}

/// A command with what help and completion say about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommandInfo {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    aliases: &'static [&'static str],
    argument: Argument,
}

const fn command(name: &'static str, argument: Argument, about: &'static str) -> CommandInfo {
    CommandInfo { name, about, aliases: &[], argument }
}

/// All commands, in the order of the help.
pub(crate) const COMMANDS: &[CommandInfo] = {
    use Argument::{None, Optional, Required};
    use ChatCommand as C;
    &[
        command("help", None(|| C::Help), "list the commands"),
        command("undo", Optional("CHANGE", C::Undo), "take back the last change"),
        command("redo", None(|| C::Redo), "make a change again that was taken back"),
        command("diff", None(|| C::Diff), "show what this session has changed"),
        command("model", Optional("NAME", C::Model), "show or change the model"),
        command("role", Optional("NAME", C::Role), "show or change the role"),
        command("plan", None(|| C::Plan), "show the plan"),
        command("continue", None(|| C::Continue), "go on after a pause"),
        command("tools", None(|| C::Tools), "list the tools"),
        command("allow", Required("RULE", C::Allow), "allow something without asking"),
        command("context", None(|| C::Context), "show what the model sees and how full that is"),
        command("compact", None(|| C::Compact), "make the conversation shorter for the model"),
        command("cost", None(|| C::Cost), "show what this session has cost"),
        command("sessions", None(|| C::Sessions), "list the sessions"),
        command("resume", Optional("ID", C::Resume), "go on with another session"),
        command("new", None(|| C::New), "begin a new session"),
        command("fork", None(|| C::Fork), "go on in a copy of this session"),
        command("rename", Required("TITLE", C::Rename), "name this session"),
        command("clear", None(|| C::Clear), "clear the screen"),
        CommandInfo {
            aliases: &["quit", "q"],
            ..command("exit", None(|| C::Exit), "leave; Ctrl-D does the same")
        },
    ]
};

/// Names that are less alike than this are not suggested.
const SIMILAR: f64 = 0.8;

impl CommandInfo {
    /// The command as it is typed, such as `/model [NAME]`.
    pub(crate) fn usage(&self) -> String {
        format!("/{}{}", self.name, self.argument_usage())
    }

    /// What is typed after the name, with a space before it.
    pub(crate) fn argument_usage(&self) -> String {
        match self.argument {
            Argument::None(_) => String::new(),
            Argument::Optional(name, _) => format!(" [{name}]"),
            Argument::Required(name, _) => format!(" {name}"),
        }
    }

    fn typed(&self, argument: &str) -> Typed {
        let given = (!argument.is_empty()).then(|| argument.to_owned());
        match (self.argument, given) {
            (Argument::None(make), None) => Typed::Command(make()),
            (Argument::None(_), Some(_)) => {
                Typed::Mistake(format!("`/{}` is typed without anything after it.", self.name))
            }
            (Argument::Optional(_, make), given) => Typed::Command(make(given)),
            (Argument::Required(_, make), Some(given)) => Typed::Command(make(given)),
            (Argument::Required(..), None) => {
                Typed::Mistake(format!("Something is missing: `{}`.", self.usage()))
            }
        }
    }
}

/// Reads a line of the prompt. A slash before the name of one of `tools` is a message: the offline
/// provider understands it. So is everything that does not look like a command, such as a path.
pub(crate) fn parse(line: &str, tools: &[String]) -> Typed {
    if line.trim().is_empty() {
        return Typed::Nothing;
    }
    let message = || Typed::Message(line.trim().to_owned());
    let Some(rest) = line.strip_prefix('/') else { return message() };
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
        return message();
    }
    let wanted = name.to_ascii_lowercase();
    let is_named =
        |info: &&CommandInfo| info.name == wanted || info.aliases.contains(&wanted.as_str());
    match COMMANDS.iter().find(is_named) {
        Some(info) => info.typed(argument.trim()),
        None if tools.iter().any(|tool| tool == name) => message(),
        None => unknown(name, tools),
    }
}

fn unknown(name: &str, tools: &[String]) -> Typed {
    let known = COMMANDS.iter().map(|info| info.name).chain(tools.iter().map(String::as_str));
    let scored = known.map(|known| (strsim::jaro_winkler(&name.to_lowercase(), known), known));
    let best = scored.max_by(|(left, _), (right, _)| left.total_cmp(right));
    let hint = match best {
        Some((score, close)) if score >= SIMILAR => format!("Did you mean `/{close}`?"),
        _ => "`/help` lists the commands.".to_owned(),
    };
    Typed::Mistake(format!(
        "There is no command `/{name}`. {hint} To send it to the model, put a space before it."
    ))
}

/// The commands with what they do, one a line.
pub(crate) fn help() -> String {
    let width = COMMANDS.iter().map(|info| info.usage().len()).max().unwrap_or(0);
    let lines = COMMANDS.iter().map(|info| format!("  {:width$}  {}\n", info.usage(), info.about));
    let keys = "\
  @path             mentions a file; Tab completes it
  Alt-Enter, or \\ at the end of a line, begins a new line
  Ctrl-C            cancels the turn; twice leaves
";
    lines.chain([keys.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(line: &str) -> Typed {
        parse(line, &["grep".into(), "undo".into(), "read_file".into()])
    }

    #[test]
    fn commands_and_messages_are_told_apart() {
        let command = Typed::Command;
        let message = |text: &str| Typed::Message(text.into());
        let table = [
            ("  ", Typed::Nothing),
            ("fix it\nnow ", message("fix it\nnow")),
            ("/help", command(ChatCommand::Help)),
            ("/UNDO", command(ChatCommand::Undo(None))),
            ("/undo c7 ", command(ChatCommand::Undo(Some("c7".into())))),
            ("/model gpt", command(ChatCommand::Model(Some("gpt".into())))),
            ("/rename  two words", command(ChatCommand::Rename("two words".into()))),
            ("/quit", command(ChatCommand::Exit)),
            ("/grep pattern=x", message("/grep pattern=x")),
            ("/etc/passwd is odd", message("/etc/passwd is odd")),
            ("/** a comment */", message("/** a comment */")),
            (" /help", message("/help")),
        ];
        for (line, expected) in table {
            assert_eq!(typed(line), expected, "{line:?}");
        }
    }

    #[test]
    fn mistakes_say_what_to_do() {
        let said = |line| match typed(line) {
            Typed::Mistake(text) => text,
            other => panic!("{line} is {other:?}"),
        };
        assert_eq!(said("/rename"), "Something is missing: `/rename TITLE`.");
        assert_eq!(said("/new x"), "`/new` is typed without anything after it.");
        assert!(said("/modle x").contains("Did you mean `/model`?"));
        assert!(said("/read_fle x").contains("Did you mean `/read_file`?"));
        assert!(said("/xyzzy").contains("`/help` lists the commands."));
    }

    #[test]
    fn every_command_is_in_the_help_and_no_name_is_taken_twice() {
        let help = help();
        let mut names: Vec<&str> = COMMANDS
            .iter()
            .flat_map(|info| info.aliases.iter().copied().chain([info.name]))
            .collect();
        assert!(COMMANDS.iter().all(|info| help.contains(&info.usage())));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
