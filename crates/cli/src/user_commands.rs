//! Commands that a user writes as files: `commands/NAME.md` in the configuration directory, and
//! `.toolkiln/commands/NAME.md` in a project, of which only those are used whose exact text the user has
//! trusted. The text is the message that `/NAME` sends.

mod command_file;

use workspace::{RelPath, Workspace};

use crate::chat::slash_commands::is_command;
use crate::custom_tools::{self, Trusted};
use crate::project::Project;

pub(crate) use command_file::UserCommand;

/// Where a project's commands lie.
pub(crate) const DIRECTORY: &str = ".toolkiln/commands";
/// Where the user's own lie, in the configuration directory.
const OWN_DIRECTORY: &str = "commands";
/// How the names of their files end.
const ENDING: &str = ".md";
/// A larger file is a mistake.
const MAX_FILE_BYTES: u64 = 64 * 1024;

/// The commands that can be typed, and what is wrong with the others.
#[derive(Debug, Default)]
pub(crate) struct UserCommands {
    /// In the order of their names.
    pub(crate) usable: Vec<UserCommand>,
    /// A line for each file whose command cannot be used: its name, and why.
    pub(crate) refused: Vec<(String, String)>,
}

impl UserCommands {
    /// Reads all of them. The user's own come before those of the project.
    pub(crate) fn load(project: &Project) -> Self {
        let mut all = Self::default();
        let own = project.environment.config_dir.as_ref().map(|dir| dir.join(OWN_DIRECTORY));
        if let Some(own) = own.and_then(|dir| Workspace::open(&dir).ok()) {
            all.add(&own, &RelPath::root(), |_, _| None);
        }
        if let Ok(directory) = RelPath::parse(DIRECTORY) {
            let mut trusted: Option<Trusted> = None;
            all.add(&project.workspace, &directory, |file, text| {
                let trusted = trusted.get_or_insert_with(|| custom_tools::trusted_files(project));
                (!trusted.covers(file, text)).then(|| {
                    let how = custom_tools::trust_command(project, file);
                    format!("is not trusted. Look at {file}, then run: {how}")
                })
            });
        }
        all.usable.sort_by(|left, right| left.name.cmp(&right.name));
        all
    }

    /// Adds the commands in a directory; `refuse` says why one is not used.
    fn add(
        &mut self,
        workspace: &Workspace,
        directory: &RelPath,
        mut refuse: impl FnMut(&str, &str) -> Option<String>,
    ) {
        let Ok(listing) = workspace.list_dir(directory, false) else { return };
        for entry in listing.entries.iter().filter(|entry| entry.name.ends_with(ENDING.as_bytes()))
        {
            let path = listing.path_of(entry);
            let file = path.to_text();
            let name = file.rsplit('/').next().unwrap_or(&file).trim_end_matches(ENDING).to_owned();
            let read = read(workspace, &path).and_then(|text| match refuse(&file, &text) {
                Some(why) => Err(why),
                None => UserCommand::parse(&name, &text),
            });
            match read {
                _ if is_command(&name) => {
                    self.refused.push((name, "has the name of a command of Toolkiln".to_owned()));
                }
                Ok(command) if self.named(&name).is_none() => self.usable.push(command),
                Ok(_) => {}
                Err(why) => self.refused.push((name, why)),
            }
        }
    }

    pub(crate) fn named(&self, name: &str) -> Option<&UserCommand> {
        self.usable.iter().find(|command| command.name == name)
    }

    /// Why the command of this name cannot be used, if there is a file for it.
    pub(crate) fn refusal(&self, name: &str) -> Option<String> {
        let (name, why) = self.refused.iter().find(|(refused, _)| refused == name)?;
        Some(format!("The command `/{name}` {why}"))
    }

    /// What a user should know about files whose commands cannot be used, one line each.
    pub(crate) fn refusals(&self) -> impl Iterator<Item = String> {
        self.refused.iter().map(|(name, why)| format!("/{name} {why}"))
    }
}

fn read(workspace: &Workspace, path: &RelPath) -> Result<String, String> {
    let bytes = workspace.open_file(path).and_then(|mut file| file.read_all(MAX_FILE_BYTES));
    let bytes = bytes.map_err(|error| format!("cannot be read: {error}"))?;
    String::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())
}
