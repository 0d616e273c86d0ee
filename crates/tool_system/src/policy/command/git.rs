//! What a git command line means, after the options before the subcommand.

use super::{CommandWord, SimpleCommand};

/// A git command without the options of git itself.
pub(super) struct Git<'a> {
    pub(super) subcommand: &'a str,
    pub(super) args: &'a [CommandWord],
    /// Settings given with `-c`.
    settings: Vec<&'a str>,
}

/// Settings that switch things off and nothing on.
const HARMLESS_SETTINGS: &[&str] = &[
    "core.fsmonitor=",
    "core.fsmonitor=false",
    "core.hookspath=/dev/null",
    "core.askpass=true",
    "core.editor=true",
    "core.sshcommand=ssh",
    "credential.helper=",
    "core.pager=cat",
    "core.pager=",
    "core.quotepath=false",
    "core.quotepath=true",
    "core.untrackedcache=false",
    "core.attributesfile=/dev/null",
    "core.excludesfile=/dev/null",
    "color.ui=false",
    "color.ui=never",
    "diff.external=",
    "gc.auto=0",
    "maintenance.auto=false",
    "commit.gpgsign=false",
    "log.showsignature=false",
    "protocol.ext.allow=never",
    "safe.barerepository=explicit",
    "submodule.recurse=false",
    "advice.detachedhead=false",
];

/// Options of git itself that stand alone and change nothing that matters.
const FLAGS: &[&str] = &[
    "--no-pager",
    "-P",
    "--no-optional-locks",
    "--literal-pathspecs",
    "--no-replace-objects",
    "--no-lazy-fetch",
    "--version",
    "--help",
];

impl<'a> Git<'a> {
    /// Reads a git command; an error says what is not known in it.
    pub(super) fn of(command: &'a SimpleCommand) -> Result<Option<Self>, String> {
        if command.program() != Some("git") {
            return Ok(None);
        }
        let mut settings = Vec::new();
        let mut rest = command.args();
        while let Some((first, after)) = rest.split_first() {
            let Some(text) = first.as_plain() else {
                return Err("the subcommand of git is only known when it runs".to_owned());
            };
            rest = match text {
                "-C" => after.get(1..).unwrap_or_default(),
                "-c" => {
                    settings.extend(after.first().map(|setting| setting.text.as_str()));
                    after.get(1..).unwrap_or_default()
                }
                flag if FLAGS.contains(&flag) => after,
                option if option.starts_with('-') => {
                    return Err(format!("git gets the option {option}"));
                }
                subcommand => {
                    return Ok(Some(Self { subcommand, args: after, settings }));
                }
            };
        }
        Ok(Some(Self { subcommand: "help", args: &[], settings }))
    }

    /// Whether a long option is there, with or without a value.
    fn has_long(&self, option: &str) -> bool {
        let is = |arg: &CommandWord| {
            arg.text
                .strip_prefix(option)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        };
        self.args.iter().any(is)
    }

    /// Whether a letter is in a bundle of short options.
    fn has_short(&self, letter: char) -> bool {
        let bundle = |arg: &CommandWord| {
            let rest = arg.text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
            rest.is_some_and(|rest| rest.contains(letter))
        };
        self.args.iter().any(bundle)
    }
}

/// Why it cannot be told what a git command runs.
pub(super) fn doubt(command: &SimpleCommand) -> Option<String> {
    let git = match Git::of(command) {
        Ok(git) => git?,
        Err(why) => return Some(why),
    };
    let strange = |setting: &&&str| !HARMLESS_SETTINGS.contains(&setting.to_lowercase().as_str());
    if let Some(setting) = git.settings.iter().find(strange) {
        return Some(format!("git is configured with `{}`", super::excerpt(setting)));
    }
    let runs = match git.subcommand {
        "bisect" => git.args.first().is_some_and(|arg| arg.text == "run"),
        "submodule" => git.args.first().is_some_and(|arg| arg.text == "foreach"),
        "rebase" => git.has_long("--exec") || git.has_short('x'),
        "filter-branch" | "difftool" | "mergetool" => true,
        "ls-remote" | "fetch" | "clone" | "pull" => {
            git.has_long("--upload-pack") || git.args.iter().any(|arg| is_helper_address(&arg.text))
        }
        "push" => git.has_long("--receive-pack") || git.has_long("--exec"),
        _ => false,
    };
    runs.then(|| format!("git {} runs other programs", git.subcommand))
}

/// Addresses such as `ext::sh -c …` name a program to run.
fn is_helper_address(text: &str) -> bool {
    text.contains("::")
}
