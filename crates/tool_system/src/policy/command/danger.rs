//! Commands that can do damage, and what exactly the damage would be.

use serde::{Deserialize, Serialize};

use super::target::{Scene, Target};
use super::{SimpleCommand, Word, WordKind, ruin};

/// How much a danger weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// A person is asked unless a rule allows exactly this command.
    Asked,
    /// A person is asked, whatever rules say.
    AlwaysAsked,
    /// It is not done.
    Refused,
}

/// What could go wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Danger {
    /// How much it weighs.
    pub weight: Weight,
    /// What would happen, to follow "it": `deletes target and everything in it`.
    pub reason: String,
}

impl Danger {
    pub(super) fn asked(reason: impl Into<String>) -> Option<Self> {
        Some(Self { weight: Weight::Asked, reason: reason.into() })
    }

    pub(super) fn always(reason: impl Into<String>) -> Option<Self> {
        Some(Self { weight: Weight::AlwaysAsked, reason: reason.into() })
    }

    pub(super) fn refused(reason: impl Into<String>) -> Option<Self> {
        Some(Self { weight: Weight::Refused, reason: reason.into() })
    }
}

/// Why a text that starts itself over and over is refused.
pub(super) const FORK_BOMB: &str = "starts itself over and over until the machine stands still";

/// Whether a function in the text does nothing but start itself twice.
pub(super) fn is_fork_bomb(text: &str) -> bool {
    let dense: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    dense.match_indices("(){").any(|(at, opening)| {
        let before = dense[..at].rsplit([';', '&', '|', '\n', '{']).next().unwrap_or_default();
        let name = before.trim_start_matches("function");
        !name.is_empty() && dense[at + opening.len()..].starts_with(&format!("{name}|{name}"))
    })
}

/// Programs that fetch what somebody else wrote.
const FETCHERS: &[&str] = &["curl", "wget", "fetch", "aria2c", "http", "nc", "ncat"];
/// Programs that run what they read.
const INTERPRETERS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "ksh", "fish", "python", "python3", "perl", "ruby", "node", "php",
];
/// Programs that write to paths among their arguments.
const WRITERS: &[&str] = &[
    "chmod", "chown", "cp", "dd", "install", "ln", "mkdir", "mv", "rm", "rmdir", "rsync", "sed",
    "shred", "tee", "touch", "truncate", "unlink",
];

/// The worst that `command` can do, as far as its text and what is known tell.
pub(super) fn danger_of(command: &SimpleCommand, scene: &Scene<'_>) -> Option<Danger> {
    let dangers = [
        ruin::ruin(command, scene),
        writes(command, scene),
        fetched_code(command),
        rights(command),
        ruin::loss(command, scene),
        publishing(command),
        elsewhere(command),
    ];
    // The first of the gravest.
    dangers
        .into_iter()
        .flatten()
        .reduce(|worst, next| if next.weight > worst.weight { next } else { worst })
}

/// Writing to names that other programs obey, or out of the project.
fn writes(command: &SimpleCommand, scene: &Scene<'_>) -> Option<Danger> {
    let program = command.program().unwrap_or_default();
    let edits = program != "sed" || command.args().iter().any(|arg| is_in_place(&arg.text));
    let named: Vec<&Word> = match WRITERS.contains(&program) && edits {
        true => command.operands().collect(),
        false => Vec::new(),
    };
    let written: Vec<&Word> = command.written().collect();
    let protected = written.iter().chain(&named).find_map(|word| {
        let reason = scene.protection(word)?;
        Danger::always(format!("writes to {word}, which is protected ({reason})"))
    });
    if protected.is_some() {
        return protected;
    }
    written.into_iter().find_map(|word| match scene.target(word) {
        _ if word.kind == WordKind::Pattern => {
            Danger::always(format!("writes to whatever {word} stands for"))
        }
        Target::Outside => {
            Danger::always(format!("writes to {word}, which is outside of the project"))
        }
        Target::Unknown => {
            Danger::always(format!("writes to a file that turns out only as it runs ({word})"))
        }
        Target::Inside(_) | Target::Scratch => None,
    })
}

fn is_in_place(option: &str) -> bool {
    option.starts_with("--in-place")
        || option.strip_prefix('-').is_some_and(|rest| !rest.starts_with('-') && rest.contains('i'))
}

fn fetched_code(command: &SimpleCommand) -> Option<Danger> {
    let program = command.program().filter(|program| INTERPRETERS.contains(program))?;
    let source = command.fed_by.as_deref().filter(|source| FETCHERS.contains(source))?;
    Danger::always(format!("lets {program} run whatever {source} fetches"))
}

fn rights(command: &SimpleCommand) -> Option<Danger> {
    match command.program()? {
        program @ ("sudo" | "doas" | "su" | "pkexec") => {
            Danger::asked(format!("takes the rights of another user by {program}"))
        }
        program @ ("chmod" | "chown" | "chgrp")
            if command.has_short('R') || command.has(&["--recursive"]) =>
        {
            Danger::asked(format!(
                "changes the rights of everything beneath a directory by {program}"
            ))
        }
        "chmod" if command.has(&["777", "0777", "a+rwx", "u+s", "+s", "g+s", "4755"]) => {
            Danger::asked(
                "opens files to everybody, or lets them run with the rights of their owner",
            )
        }
        "crontab" | "at" | "batch" if !command.has(&["-l"]) => {
            Danger::asked("makes something run later, when nobody is asked")
        }
        "systemctl" | "service" | "launchctl"
            if !command.has(&["status", "show", "list", "is-active"]) =>
        {
            Danger::asked("changes which services run on this machine")
        }
        "iptables" | "nft" | "ufw" | "sysctl" => {
            Danger::asked("changes how this machine is set up")
        }
        "killall" | "pkill" => Danger::asked("ends every process that is called so"),
        "history" if command.has_short('c') => Danger::asked("deletes the history of commands"),
        _ => None,
    }
}

/// Programs and the words behind which something is published.
const PUBLISHING: &[(&str, &[&str])] = &[
    ("cargo", &["publish", "yank", "owner"]),
    ("npm", &["publish", "unpublish", "deprecate", "dist-tag"]),
    ("pnpm", &["publish"]),
    ("yarn", &["publish", "npm publish"]),
    ("bun", &["publish"]),
    ("lerna", &["publish"]),
    ("twine", &["upload"]),
    ("poetry", &["publish"]),
    ("uv", &["publish"]),
    ("flit", &["publish"]),
    ("gem", &["push", "yank"]),
    ("mvn", &["deploy"]),
    ("docker", &["push"]),
    ("podman", &["push"]),
    ("helm", &["push"]),
    ("dotnet", &["nuget push"]),
    ("gh", &["release create", "release delete", "repo delete", "pr merge", "secret set"]),
    ("vercel", &["deploy", "--prod"]),
    ("fly", &["deploy"]),
    ("firebase", &["deploy"]),
];

fn publishing(command: &SimpleCommand) -> Option<Danger> {
    let program = command.program()?;
    let (_, phrases) = PUBLISHING.iter().find(|(name, _)| *name == program)?;
    let words: Vec<&str> = command.args().iter().map(|arg| arg.text.as_str()).collect();
    let spoken = |phrase: &&&str| {
        let parts: Vec<&str> = phrase.split(' ').collect();
        words.windows(parts.len()).any(|window| window == parts)
    };
    let phrase = phrases.iter().find(spoken)?;
    if words.contains(&"--dry-run") {
        return None;
    }
    Danger::asked(format!(
        "publishes or takes back something for others to see ({program} {phrase})"
    ))
}

/// Programs and the words behind which something is destroyed or installed that is not in the project.
const ELSEWHERE: &[(&str, &[&str], &str)] = &[
    ("terraform", &["apply", "destroy"], "changes infrastructure"),
    ("tofu", &["apply", "destroy"], "changes infrastructure"),
    ("pulumi", &["up", "destroy"], "changes infrastructure"),
    ("kubectl", &["delete", "apply", "drain", "scale"], "changes a cluster"),
    (
        "aws",
        &["rm", "delete", "terminate-instances", "delete-stack", "delete-bucket"],
        "deletes things in the cloud",
    ),
    ("gcloud", &["delete"], "deletes things in the cloud"),
    ("az", &["delete"], "deletes things in the cloud"),
    (
        "docker",
        &["prune", "rm", "rmi", "--privileged"],
        "removes containers or images, or runs one with all rights",
    ),
    (
        "podman",
        &["prune", "rm", "rmi", "--privileged"],
        "removes containers or images, or runs one with all rights",
    ),
    ("redis-cli", &["flushall", "FLUSHALL", "flushdb", "FLUSHDB"], "empties a database"),
    ("dropdb", &[], "deletes a database"),
    ("npm", &["install", "i", "add", "ci", "update"], "installs packages, whose scripts run"),
    ("pnpm", &["install", "i", "add", "update"], "installs packages, whose scripts run"),
    ("yarn", &["install", "add", "upgrade"], "installs packages, whose scripts run"),
    ("bun", &["install", "add"], "installs packages, whose scripts run"),
    ("pip", &["install", "uninstall"], "installs packages, whose scripts run"),
    ("pip3", &["install", "uninstall"], "installs packages, whose scripts run"),
    ("cargo", &["install", "uninstall"], "installs programs"),
    ("gem", &["install"], "installs packages, whose scripts run"),
    ("apt", &["install", "remove", "purge"], "changes what is installed on this machine"),
    ("apt-get", &["install", "remove", "purge"], "changes what is installed on this machine"),
    ("dnf", &["install", "remove"], "changes what is installed on this machine"),
    ("brew", &["install", "uninstall"], "changes what is installed on this machine"),
];

fn elsewhere(command: &SimpleCommand) -> Option<Danger> {
    let program = command.program()?;
    let (_, _, reason) = ELSEWHERE
        .iter()
        .find(|(name, words, _)| *name == program && (words.is_empty() || command.has(words)))?;
    Danger::asked(*reason)
}
