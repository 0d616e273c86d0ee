//! What is typed at the prompt: a message, a command that begins with a slash, or a command for the
//! shell, which begins with an exclamation mark.

mod help;

use crate::user_commands::UserCommands;

pub(crate) use help::help;

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
    /// List what runs in the background.
    Jobs,
    /// Have the model write a file with instructions for agents.
    Init,
    /// Run this in the shell, and let the model know.
    Shell(String),
    /// A command that is not ours; the user may have written it.
    Other {
        name: String,
        arguments: String,
    },
    /// List the models, or change to one.
    Model(Option<String>),
    /// Show or change the role.
    Role(Option<String>),
    /// Go on with another session, the last one if no id is given.
    Resume(Option<String>),
    /// Go back to an earlier message.
    Rewind,
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

/// Where the help lists a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommandGroup {
    Work,
    Model,
    Sessions,
    Other,
}

impl CommandGroup {
    const ALL: [Self; 4] = [Self::Work, Self::Model, Self::Sessions, Self::Other];

    fn heading(self) -> &'static str {
        match self {
            Self::Work => "Work",
            Self::Model => "Model and context",
            Self::Sessions => "Sessions",
            Self::Other => "Other",
        }
    }
}

/// A command with what help and completion say about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommandInfo {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    group: CommandGroup,
    aliases: &'static [&'static str],
    argument: Argument,
}

const fn command(
    group: CommandGroup,
    name: &'static str,
    argument: Argument,
    about: &'static str,
) -> CommandInfo {
    CommandInfo { name, about, group, aliases: &[], argument }
}

/// All commands, in the order of the help.
pub(crate) const COMMANDS: &[CommandInfo] = {
    use Argument::{None, Optional, Required};
    use ChatCommand as C;
    use CommandGroup::{Model, Other, Sessions, Work};
    &[
        command(Work, "undo", Optional("CHANGE", C::Undo), "take back the last change"),
        command(Work, "redo", None(|| C::Redo), "make a change again that was taken back"),
        command(Work, "diff", None(|| C::Diff), "show what this session has changed"),
        command(Work, "jobs", None(|| C::Jobs), "list what runs in the background"),
        command(Work, "plan", None(|| C::Plan), "show the plan"),
        command(Work, "continue", None(|| C::Continue), "go on after a pause"),
        command(Work, "init", None(|| C::Init), "have AGENTS.md written for this project"),
        command(Work, "tools", None(|| C::Tools), "list the tools"),
        command(Work, "allow", Required("RULE", C::Allow), "allow something without asking"),
        command(Model, "model", Optional("NAME", C::Model), "list the models, or change to one"),
        command(Model, "role", Optional("NAME", C::Role), "show or change the role"),
        command(Model, "context", None(|| C::Context), "show what fills the model's window"),
        command(
            Model,
            "compact",
            None(|| C::Compact),
            "make the conversation shorter for the model",
        ),
        command(Model, "cost", None(|| C::Cost), "show what was used and what it cost"),
        command(Sessions, "sessions", None(|| C::Sessions), "list the sessions"),
        command(Sessions, "resume", Optional("ID", C::Resume), "go on with another session"),
        command(Sessions, "rewind", None(|| C::Rewind), "go back to an earlier message"),
        command(Sessions, "new", None(|| C::New), "begin a new session"),
        command(Sessions, "fork", None(|| C::Fork), "go on in a copy of this session"),
        command(Sessions, "rename", Required("TITLE", C::Rename), "name this session"),
        command(Other, "help", None(|| C::Help), "list the commands and keys"),
        command(Other, "clear", None(|| C::Clear), "clear the screen"),
        CommandInfo {
            aliases: &["quit", "q"],
            ..command(Other, "exit", None(|| C::Exit), "leave; Ctrl-D does the same")
        },
    ]
};

/// What `/init` asks for.
pub(crate) const INIT_REQUEST: &str = "Write AGENTS.md in the root of this project: instructions for coding agents that \
    work here. Look at the project first: its README, manifests, build and test configuration, continuous \
    integration, and a few typical source and test files. Then say, in at most 60 lines, what an agent cannot \
    guess: what the project is, how it is laid out, the exact commands that build, test (also a single test), \
    lint and format it, conventions of the code that differ from what is usual, and what must not be touched. \
    Check commands against the files that define them, and leave out what you could not find. If AGENTS.md \
    or a similar file exists already, improve AGENTS.md and keep what is right in it.";

/// Names that are less alike than this are not suggested.
const SIMILAR: f64 = 0.8;

impl CommandInfo {
    /// The command as it is typed, such as `/model [NAME]`.
    pub(crate) fn usage(&self) -> String {
        format!("/{}{}", self.name, self.argument_usage())
    }

    /// What is typed after the name, with a space before it.
    fn argument_usage(&self) -> String {
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

/// A command as completion offers it: ours, or one that the user has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OfferedCommand {
    /// Without the slash.
    pub(crate) name: String,
    /// As it is typed, such as `/model [NAME]`.
    pub(crate) usage: String,
    pub(crate) about: String,
}

impl OfferedCommand {
    /// What is typed after the name, with a space before it.
    pub(crate) fn argument_usage(&self) -> &str {
        self.usage.get(self.name.len() + 1..).unwrap_or_default()
    }
}

/// All commands that can be typed, those of the user last.
pub(crate) fn offered(user: &UserCommands) -> Vec<OfferedCommand> {
    let ours = COMMANDS.iter().map(|info| OfferedCommand {
        name: info.name.to_owned(),
        usage: info.usage(),
        about: info.about.to_owned(),
    });
    let theirs = user.usable.iter().map(|command| OfferedCommand {
        name: command.name.clone(),
        usage: command.usage(),
        about: command.about.clone(),
    });
    ours.chain(theirs).collect()
}

/// Whether a command of ours has this name.
pub(crate) fn is_command(name: &str) -> bool {
    COMMANDS.iter().any(|info| info.name == name || info.aliases.contains(&name))
}

/// Whether a line of the prompt ends the conversation.
pub(crate) fn leaves(line: &str) -> bool {
    parse(line, &[]) == Typed::Command(ChatCommand::Exit)
}

/// Reads a line of the prompt. A slash before the name of one of `tools` is a message: the offline
/// provider understands it. So is everything that does not look like a command, such as a path.
pub(crate) fn parse(line: &str, tools: &[String]) -> Typed {
    if line.trim().is_empty() {
        return Typed::Nothing;
    }
    let message = || Typed::Message(line.trim().to_owned());
    if let Some(command) = line.strip_prefix('!').map(str::trim) {
        return match command {
            "" => Typed::Mistake("A command for the shell is missing: `!COMMAND`.".to_owned()),
            command => Typed::Command(ChatCommand::Shell(command.to_owned())),
        };
    }
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
        None => Typed::Command(ChatCommand::Other {
            name: name.to_owned(),
            arguments: argument.trim().to_owned(),
        }),
    }
}

/// What to say about a command that does not exist.
pub(crate) fn unknown(name: &str, tools: &[String], user: &UserCommands) -> String {
    let theirs = user.usable.iter().map(|command| command.name.as_str());
    let known = COMMANDS.iter().map(|info| info.name).chain(theirs);
    let known = known.chain(tools.iter().map(String::as_str));
    let scored = known.map(|known| (strsim::jaro_winkler(&name.to_lowercase(), known), known));
    let best = scored.max_by(|(left, _), (right, _)| left.total_cmp(right));
    let hint = match best {
        Some((score, close)) if score >= SIMILAR => format!("Did you mean `/{close}`?"),
        _ => "`/help` lists the commands.".to_owned(),
    };
    format!("There is no command `/{name}`. {hint} To send it to the model, put a space before it.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user_commands::UserCommand;

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
            ("!git status", command(ChatCommand::Shell("git status".into()))),
            ("! ls -la ", command(ChatCommand::Shell("ls -la".into()))),
            (" !important", message("!important")),
            (
                "/review a  b ",
                command(ChatCommand::Other { name: "review".into(), arguments: "a  b".into() }),
            ),
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
        assert_eq!(said("! "), "A command for the shell is missing: `!COMMAND`.");
        let review = UserCommand::parse("review", "Look.").unwrap();
        let user = UserCommands { usable: vec![review], ..UserCommands::default() };
        let unknown = |name| unknown(name, &["read_file".into()], &user);
        assert!(unknown("modle").contains("Did you mean `/model`?"));
        assert!(unknown("read_fle").contains("Did you mean `/read_file`?"));
        assert!(unknown("reviwe").contains("Did you mean `/review`?"));
        assert!(unknown("xyzzy").contains("`/help` lists the commands."));
    }

    #[test]
    fn every_command_is_in_the_help_and_no_name_is_taken_twice() {
        let help = help(&UserCommands::default(), terminal::OutputStyle::PIPE);
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
