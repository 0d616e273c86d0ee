//! Making an attempt, inside or outside.

use std::process::{Command, ExitCode};

use crate::{bombs, escapes, network};

const EXIT_BLOCKED: u8 = 10;
const SMALL_DISK: &std::ffi::CStr = c"size=128m";

/// What an attempt says: nothing to say means that it worked.
pub(crate) type Attempted = Result<(), String>;

pub(crate) fn attempt(name: &str, arguments: &[&str]) -> ExitCode {
    if let ("on-small-disk", [place, name, arguments @ ..]) = (name, arguments) {
        return on_small_disk(place, name, arguments);
    }
    let made = escapes::make(name, arguments)
        .or_else(|| bombs::make(name, arguments))
        .or_else(|| network::make(name, arguments));
    match made {
        None => {
            println!("no such attempt: {name}");
            ExitCode::from(2)
        }
        Some(Ok(())) => {
            println!("worked: {name}");
            ExitCode::SUCCESS
        }
        Some(Err(why)) => {
            println!("blocked: {name}: {why}");
            ExitCode::from(EXIT_BLOCKED)
        }
    }
}

/// Makes an attempt where a small disk of its own lies at `place`, so that a control which writes
/// without bounds fills nothing of the host. Only for controls: it changes mounts.
fn on_small_disk(place: &str, name: &str, arguments: &[&str]) -> ExitCode {
    let flags = rustix::mount::MountFlags::NOSUID | rustix::mount::MountFlags::NODEV;
    let ready = std::path::absolute(place).and_then(|place| {
        rustix::mount::mount("none", &place, "tmpfs", flags, Some(SMALL_DISK))?;
        // It may have covered the working directory.
        std::env::set_current_dir(&place)
    });
    match ready {
        Ok(()) => attempt(name, arguments),
        Err(why) => {
            println!("no small disk at {place}: {why}");
            ExitCode::from(2)
        }
    }
}

/// Makes an attempt in new namespaces, so that what it does to mounts or to the host name ends with it
/// and what it leaves running dies with it.
pub(crate) fn control(rest: &[&str]) -> ExitCode {
    let Some(itself) = std::env::current_exe().ok() else { return ExitCode::from(2) };
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child"]);
    if !rustix::process::geteuid().is_root() {
        unshare.args(["--user", "--map-root-user"]);
    }
    let status = unshare.arg(itself).arg("attempt").args(rest).status();
    let code =
        status.ok().and_then(|status| status.code()).and_then(|code| u8::try_from(code).ok());
    ExitCode::from(code.unwrap_or(2))
}
