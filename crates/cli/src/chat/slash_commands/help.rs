//! What `/help` shows: commands in groups, then keys.

use terminal::{Ink, OutputStyle, columns, wrapped_line};

use super::{COMMANDS, CommandGroup};
use crate::user_commands::UserCommands;

/// What can be typed besides commands and plain words.
const KEYS: &[(&str, &str)] = &[
    ("@path", "attaches a file, an image or the listing of a directory"),
    ("@Name", "attaches the lines of a symbol that has one definition"),
    ("!command", "runs a command, confined, and lets the model know"),
    ("Shift-Enter", "begins a new line; so do Alt-Enter, Ctrl-J, and \\ at the end of a line"),
    ("Up", "takes back what is queued, then goes through what was typed before"),
    ("Ctrl-R", "searches in what was typed before"),
    ("Ctrl-G", "opens the message in your editor"),
    ("Ctrl-O", "opens what was folded: outputs, diffs, thoughts"),
    ("Esc", "stops the turn; twice goes back to an earlier message"),
    ("Ctrl-C", "stops the turn; twice leaves"),
    ("Ctrl-Z", "suspends; `fg` comes back"),
];

/// The commands with what they do, one a line, in groups; those of the user and the keys last.
/// What does not fit on a line goes on below its beginning.
pub(crate) fn help(user: &UserCommands, style: OutputStyle) -> String {
    let mut groups: Vec<(&str, Vec<(String, String)>)> = Vec::new();
    for group in CommandGroup::ALL {
        let own = COMMANDS.iter().filter(|info| info.group == group);
        let rows = own.map(|info| (info.usage(), info.about.to_owned())).collect();
        groups.push((group.heading(), rows));
    }
    let theirs = user.usable.iter().map(|command| (command.usage(), command.about.clone()));
    groups.push(("Your commands", theirs.collect()));
    let keys = KEYS.iter().map(|(key, about)| ((*key).to_owned(), (*about).to_owned()));
    groups.push(("Keys", keys.collect()));
    groups.retain(|(_, rows)| !rows.is_empty());
    let all = groups.iter().flat_map(|(_, rows)| rows);
    let width = all.map(|(usage, _)| columns(usage)).max().unwrap_or(0);
    let mut text = String::new();
    for (heading, rows) in groups {
        text.push_str(&format!("{heading}\n"));
        for (usage, about) in rows {
            let blanks = " ".repeat(width - columns(&usage));
            let mark = format!("  {usage}{blanks}  ");
            text.push_str(&wrapped_line(&mark, &about, Ink::PLAIN, style));
        }
    }
    user.refusals().for_each(|line| text.push_str(&format!("{line}\n")));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user_commands::UserCommand;

    #[test]
    fn commands_and_keys_stand_in_groups_and_keep_their_indent() {
        let review = "---\ndescription: look at a file\nargument-hint: FILE\n---\nLook at $1";
        let review = UserCommand::parse("review", review).unwrap();
        let user = UserCommands { usable: vec![review], ..UserCommands::default() };
        insta::assert_snapshot!(help(&user, OutputStyle::PIPE), @r"
        Work
          /undo [CHANGE]  take back the last change
          /redo           make a change again that was taken back
          /diff           show what this session has changed
          /jobs           list what runs in the background
          /plan           show the plan
          /continue       go on after a pause
          /init           have AGENTS.md written for this project
          /tools          list the tools
          /allow RULE     allow something without asking
        Model and context
          /model [NAME]   list the models, or change to one
          /role [NAME]    show or change the role
          /context        show what fills the model's window
          /compact        make the conversation shorter for the model
          /cost           show what was used and what it cost
        Sessions
          /sessions       list the sessions
          /resume [ID]    go on with another session
          /rewind         go back to an earlier message
          /new            begin a new session
          /fork           go on in a copy of this session
          /rename TITLE   name this session
        Other
          /help           list the commands and keys
          /clear          clear the screen
          /exit           leave; Ctrl-D does the same
        Your commands
          /review FILE    look at a file
        Keys
          @path           attaches a file, an image or the listing of a directory
          @Name           attaches the lines of a symbol that has one definition
          !command        runs a command, confined, and lets the model know
          Shift-Enter     begins a new line; so do Alt-Enter, Ctrl-J, and \ at the end of a line
          Up              takes back what is queued, then goes through what was typed before
          Ctrl-R          searches in what was typed before
          Ctrl-G          opens the message in your editor
          Ctrl-O          opens what was folded: outputs, diffs, thoughts
          Esc             stops the turn; twice goes back to an earlier message
          Ctrl-C          stops the turn; twice leaves
          Ctrl-Z          suspends; `fg` comes back
        ");
        assert!(!help(&UserCommands::default(), OutputStyle::PIPE).contains("Your commands"));
        let narrow = help(&UserCommands::default(), OutputStyle::terminal(60));
        let shown = narrow.lines().skip_while(|line| !line.contains("Shift-Enter"));
        insta::assert_snapshot!(shown.take(3).collect::<Vec<_>>().join("\n"), @r"
          Shift-Enter     begins a new line; so do Alt-Enter,
                          Ctrl-J, and \ at the end of a line
          Up              takes back what is queued, then goes
        ");
    }
}
