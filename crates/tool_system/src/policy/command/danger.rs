//! Commands that no coding task needs. They could do no harm where they
//! run; refusing them tells a model at once what it would otherwise find out slowly.

use super::{CommandLine, SimpleCommand};

/// Directories that hold a system or all of a user's files.
const WHOLE: [&str; 16] = [
    "", "~", "$HOME", "${HOME}", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/opt", "/root",
    "/sbin", "/usr", "/var", "/sys",
];
/// Names below `/dev` that are no devices of their own.
const PLAIN_DEVICES: [&str; 7] = ["null", "zero", "stdout", "stderr", "stdin", "tty", "full"];

/// Why a line is refused, to follow "it"; `None` if it is not.
pub(super) fn refusal(line: &CommandLine) -> Option<String> {
    if line.multiplies {
        return Some("starts itself over and over".to_owned());
    }
    line.commands.iter().find_map(ruin)
}

/// Whether a function in the text does nothing but start itself twice.
pub(super) fn is_fork_bomb(text: &str) -> bool {
    let dense: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    dense.match_indices("(){").any(|(at, opening)| {
        let before = dense[..at].rsplit([';', '&', '|', '\n', '{']).next().unwrap_or_default();
        let name = before.trim_start_matches("function");
        !name.is_empty() && dense[at + opening.len()..].starts_with(&format!("{name}|{name}"))
    })
}

fn ruin(command: &SimpleCommand) -> Option<String> {
    let written = command.redirects.iter().filter(|redirect| redirect.writes);
    if let Some(disk) = written.map(|redirect| &redirect.target.text).find(|text| is_device(text)) {
        return Some(format!("overwrites the device {disk}"));
    }
    let program = command.program()?;
    match program {
        "rm" | "shred" => {
            let is_whole = |text: &str| WHOLE.contains(&text.trim_end_matches(['/', '*', '.']));
            let mut names = command.args().iter().map(|arg| arg.text.as_str());
            let whole = names.find(|text| text.starts_with(['/', '~', '$']) && is_whole(text))?;
            Some(format!("deletes {whole} with everything in it"))
        }
        "dd" => {
            let mut outputs = command.args().iter().filter_map(|arg| arg.text.strip_prefix("of="));
            outputs.find(|path| is_device(path)).map(|path| format!("overwrites the device {path}"))
        }
        "mkswap" | "wipefs" | "blkdiscard" | "fdisk" | "parted" | "sfdisk" | "sgdisk" => {
            Some("changes what a disk holds".to_owned())
        }
        _ if program.starts_with("mkfs") => Some("changes what a disk holds".to_owned()),
        "shutdown" | "reboot" | "halt" | "poweroff" => Some("stops the machine".to_owned()),
        _ => None,
    }
}

fn is_device(path: &str) -> bool {
    path.strip_prefix("/dev/").is_some_and(|name| {
        !PLAIN_DEVICES.contains(&name) && !name.starts_with("fd/") && !name.starts_with("shm/")
    })
}
