//! What destroys: the machine, the user's files, and work that git does not hold.

use super::facts::listed;
use super::git::Git;
use super::target::{Scene, Target};
use super::{Danger, SimpleCommand, Word, WordKind};

/// What nobody wants done by a program that helps with code.
pub(super) fn ruin(command: &SimpleCommand, scene: &Scene<'_>) -> Option<Danger> {
    let disk = command.written().find(|word| is_disk(&word.text));
    if let Some(disk) = disk {
        return Danger::refused(format!("overwrites the device {disk}"));
    }
    let program = command.program()?;
    match program {
        "rm" | "shred" | "unlink" => {
            let whole = command.operands().find(|word| is_everything(word, scene))?;
            Danger::refused(format!("deletes {whole}, with everything in it"))
        }
        "dd" => {
            let device = command.args().iter().find_map(|arg| arg.text.strip_prefix("of="))?;
            match is_disk(device) {
                true => Danger::refused(format!("overwrites the device {device}")),
                false => Danger::asked(format!("overwrites {device} byte by byte")),
            }
        }
        _ if program.starts_with("mkfs")
            || matches!(program, "wipefs" | "mkswap" | "blkdiscard") =>
        {
            Danger::refused("makes an empty file system of a device")
        }
        "fdisk" | "parted" | "sgdisk" | "sfdisk" => {
            Danger::refused("changes the partitions of a disk")
        }
        "shutdown" | "reboot" | "halt" | "poweroff" => Danger::refused("stops the machine"),
        "init" | "telinit" if command.has(&["0", "6"]) => Danger::refused("stops the machine"),
        "systemctl" if command.has(&["poweroff", "reboot", "halt", "kexec", "suspend"]) => {
            Danger::refused("stops the machine")
        }
        "kill" if ends_everything(command) => Danger::refused("ends every process of the user"),
        "killall5" => Danger::refused("ends every process"),
        _ => None,
    }
}

fn is_disk(path: &str) -> bool {
    let harmless = ["null", "zero", "stdout", "stderr", "stdin", "tty", "full"];
    path.strip_prefix("/dev/").is_some_and(|name| {
        !harmless.contains(&name) && !name.starts_with("fd/") && !name.starts_with("shm/")
    })
}

/// The root, a home, or a directory of the system; and the project as a whole.
fn is_everything(word: &Word, scene: &Scene<'_>) -> bool {
    let text = word.text.trim_matches('"').trim_end_matches(['/', '*', '.']);
    let system = [
        "", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/opt", "/root", "/sbin", "/usr",
        "/var",
    ];
    match word.kind {
        WordKind::Opaque => matches!(text, "$HOME" | "${HOME}" | "$PWD"),
        WordKind::Plain | WordKind::Pattern if word.text.starts_with('/') => system.contains(&text),
        WordKind::Pattern if word.text.starts_with('~') => text == "~",
        WordKind::Plain => {
            matches!(scene.target(word), Target::Inside(paths) if paths.iter().any(String::is_empty))
        }
        WordKind::Pattern => false,
    }
}

/// `kill -9 -1`: the signal comes first, then a process of minus one.
fn ends_everything(command: &SimpleCommand) -> bool {
    let mut args = command.args().iter().map(|arg| arg.text.as_str()).peekable();
    match args.next() {
        Some("-s" | "-n") => {
            args.next();
        }
        Some("--") => return args.any(|arg| arg == "-1"),
        // `kill -1 -1` hangs up everything; `kill -1 123` one process.
        _ => {}
    }
    args.any(|arg| arg == "-1")
}

/// Work that would be lost, looking at what is known about the tree.
pub(super) fn loss(command: &SimpleCommand, scene: &Scene<'_>) -> Option<Danger> {
    match command.program()? {
        "rm" | "unlink" => removal(command, scene),
        "shred" => Danger::asked("overwrites files so that nothing can bring them back"),
        "find" if command.has(&["-delete"]) => Danger::asked("deletes every file that it finds"),
        "truncate" => Danger::asked("cuts files off"),
        "mv" if command.operands().last().is_some_and(|to| to.text == "/dev/null") => {
            Danger::asked("throws files away")
        }
        "git" => Git::of(command).ok().flatten().and_then(|git| git_loss(&git, scene)),
        program @ ("psql" | "mysql" | "sqlite3") => {
            let text = |arg: &Word| arg.text.to_lowercase();
            let drops = |arg: String| {
                arg.contains("drop ") || arg.contains("truncate ") || arg.contains("delete from")
            };
            let hit = command.args().iter().map(text).any(drops);
            if hit { Danger::asked(format!("deletes data by {program}")) } else { None }
        }
        _ => None,
    }
}

fn removal(command: &SimpleCommand, scene: &Scene<'_>) -> Option<Danger> {
    let recursive =
        command.has_short('r') || command.has_short('R') || command.has(&["--recursive"]);
    let forced = command.has_short('f') || command.has(&["--force"]);
    let named: Vec<_> = command.operands().map(Word::to_string).collect();
    let what = match (recursive, named.len()) {
        (false, _) => format!("deletes {}", named.join(", ")),
        (true, 1) => format!("deletes {} and everything in it", named.join(", ")),
        (true, _) => format!("deletes {} and everything in them", named.join(", ")),
    };
    if let Some(out) = command.operands().find(|word| scene.target(word) == Target::Outside) {
        return Danger::always(format!("deletes {out}, which is outside of the project"));
    }
    let paths = scene.paths(command.operands());
    let known = |files: Option<Vec<&str>>| {
        files.filter(|files| !paths.is_empty() && !files.is_empty()).map(|files| listed(&files))
    };
    if let Some(files) = known(scene.facts.untracked_in(&paths)) {
        return Danger::asked(format!("{what}; git does not hold {files}"));
    }
    if let Some(files) = known(scene.facts.dirty_in(&paths)) {
        return Danger::asked(format!("{what}; there are uncommitted changes in {files}"));
    }
    if recursive || forced { Danger::asked(what) } else { None }
}

fn git_loss(git: &Git<'_>, scene: &Scene<'_>) -> Option<Danger> {
    let facts = scene.facts;
    let uncommitted = |paths: &[String]| match facts.dirty_in(paths) {
        None => Danger::asked("discards uncommitted changes, if there are any"),
        Some(files) if files.is_empty() => None,
        Some(files) => {
            Danger::asked(format!("would discard uncommitted changes in {}", listed(&files)))
        }
    };
    let first = git.args.first().map(|arg| arg.text.as_str());
    match git.subcommand {
        "reset" if git.has_long("--hard") || git.has_long("--merge") => {
            let moves = git.operands().any(|arg| arg.text != "HEAD");
            let lost = uncommitted(&[]);
            lost.or_else(
                || if moves { Danger::asked("takes commits off the branch") } else { None },
            )
        }
        "clean" if git.has_short('f') || git.has_long("--force") => clean(git, scene),
        "checkout" | "switch"
            if git.has_long("--force")
                || git.has_short('f')
                || git.has_long("--discard-changes") =>
        {
            uncommitted(&[])
        }
        "checkout" if git.has(&["--", "."]) => uncommitted(&scene.paths(after_dashes(git))),
        "restore" if !git.has_long("--staged") || git.has_long("--worktree") => {
            uncommitted(&scene.paths(git.operands()))
        }
        "push" => push(git),
        "branch" if git.has_short('D') || git.has_long("--delete") || git.has_short('d') => {
            Danger::asked("deletes a branch")
        }
        "tag" if git.has_short('d') || git.has_long("--delete") => Danger::asked("deletes a tag"),
        "stash" if matches!(first, Some("drop" | "clear")) => {
            Danger::asked("deletes stashed changes")
        }
        "worktree" if first == Some("remove") => Danger::asked("deletes a working tree"),
        "commit" if git.has_long("--amend") => Danger::asked("rewrites the last commit"),
        "rebase" if !matches!(first, Some("--abort" | "--continue" | "--skip")) => {
            Danger::asked("rewrites commits")
        }
        "filter-branch" | "filter-repo" | "replace" => Danger::asked("rewrites the history"),
        "reflog" if matches!(first, Some("expire" | "delete")) => {
            Danger::asked("deletes what lost commits could be found by")
        }
        "gc" | "prune" if git.has_long("--prune") || git.subcommand == "prune" => {
            Danger::asked("deletes what lost commits could be found by")
        }
        "update-ref" if git.has_short('d') => Danger::asked("deletes a reference"),
        "config"
            if !matches!(first, Some("--get" | "--list" | "-l" | "--get-all"))
                && git.args.len() > 1 =>
        {
            Danger::always("changes what git does from now on")
        }
        "remote" if matches!(first, Some("add" | "set-url" | "remove" | "rename")) => {
            Danger::asked("changes where git sends and fetches")
        }
        _ => None,
    }
}

fn after_dashes<'a>(git: &Git<'a>) -> impl Iterator<Item = &'a Word> {
    let args = git.args;
    let start = args.iter().position(|arg| arg.text == "--").map_or(0, |at| at + 1);
    args[start..].iter().filter(|arg| !arg.text.starts_with('-'))
}

fn clean(git: &Git<'_>, scene: &Scene<'_>) -> Option<Danger> {
    let ignored = git.has_short('x') || git.has_short('X');
    match scene.facts.untracked_in(&scene.paths(git.operands())) {
        Some(files) if !files.is_empty() => {
            Danger::asked(format!("would delete {}, which git does not hold", listed(&files)))
        }
        Some(_) if !ignored => None,
        _ if ignored => Danger::asked("deletes files that git ignores or does not hold"),
        _ => Danger::asked("deletes files that git does not hold, if there are any"),
    }
}

fn push(git: &Git<'_>) -> Option<Danger> {
    let forced = git.has_short('f')
        || git.has_long("--force")
        || git.has_long("--force-with-lease")
        || git.has_long("--mirror")
        || git.operands().any(|arg| arg.text.starts_with('+'));
    let deletes = git.has_long("--delete")
        || git.has_short('d')
        || git.operands().any(|arg| arg.text.starts_with(':'));
    match (forced, deletes) {
        (true, _) => Danger::asked("overwrites the history that others have"),
        (_, true) => Danger::asked("deletes a branch or tag that others have"),
        _ => Danger::asked("sends commits to others"),
    }
}
