//! Attempts to use more than allowed, or to stay longer.
#![allow(
    unsafe_code,
    reason = "leaving a parent and memory of the old kind have no safe wrappers; being refused is safe"
)]

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use crate::attempts::Attempted;
use crate::escapes::say;

const MIB: usize = 1 << 20;

pub(crate) fn make(name: &str, arguments: &[&str]) -> Option<Attempted> {
    Some(match (name, arguments) {
        ("fork", [count]) => fork(number(count)),
        ("memory", [mib]) => memory(number(mib)).map(drop),
        ("memory-held", [mib]) => memory_held(number(mib)),
        ("memory-tree", [children, mib]) => memory_tree(number(children), mib),
        ("memory-file", [mib]) => memory_file(number(mib)),
        ("shared-segments", [count, kib]) => shared_segments(number(count), number(kib)),
        ("semaphores", [sets, count]) => semaphores(number(sets), number(count)),
        ("messages", []) => messages(),
        ("output", [mib]) => output(number(mib)),
        ("disk-space", [path, mib]) => fill(path, number(mib)),
        ("many-files", [path, mib]) => many_files(path, number(mib)),
        ("spin", []) => spin(),
        ("daemon", [mark]) => daemon(mark, false),
        ("quiet-daemon", [mark]) => daemon(mark, true),
        ("linger", [_mark]) => linger(),
        ("outlive", [mark]) => outlive(mark),
        _ => return None,
    })
}

fn number(text: &str) -> usize {
    text.parse().unwrap_or(0)
}

/// Starts processes that wait, until it has `count`.
fn fork(count: usize) -> Attempted {
    let mut children: Vec<Child> = Vec::new();
    let failure = (0..count).find_map(|_| {
        let mut sleeper = Command::new("sleep");
        match sleeper.arg("1000").stdin(Stdio::null()).spawn() {
            Ok(child) => {
                children.push(child);
                None
            }
            Err(error) => Some(error.to_string()),
        }
    });
    say(&format!("{} processes", children.len()));
    for child in &mut children {
        let _ = child.kill();
        let _ = child.wait();
    }
    failure.map_or(Ok(()), Err)
}

fn memory(mib: usize) -> Result<Vec<Vec<u8>>, String> {
    let mut blocks = Vec::new();
    for _ in 0..mib {
        let mut block: Vec<u8> = Vec::new();
        block.try_reserve_exact(MIB).map_err(|error| error.to_string())?;
        block.resize(MIB, 1);
        blocks.push(block);
    }
    Ok(std::hint::black_box(blocks))
}

/// Keeps the memory until all brothers have theirs: until the parent closes our input.
fn memory_held(mib: usize) -> Attempted {
    let blocks = memory(mib)?;
    say("has it");
    let _ = std::io::read_to_string(std::io::stdin());
    drop(blocks);
    Ok(())
}

/// Children that all have their memory at the same time.
fn memory_tree(children: usize, mib: &str) -> Attempted {
    let itself = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut spawned = Vec::new();
    for _ in 0..children {
        let mut command = Command::new(&itself);
        command.args(["attempt", "memory-held", mib]).stdin(Stdio::piped()).stdout(Stdio::piped());
        spawned.push(command.spawn().map_err(|error| error.to_string())?);
    }
    let has_it = |child: &mut Child| {
        let line = child.stdout.take().map(|out| BufReader::new(out).lines().next());
        line.flatten().is_some_and(|line| line.is_ok_and(|line| line == "has it"))
    };
    let count = spawned.iter_mut().map(has_it).filter(|has| *has).count();
    // Each may have been killed since; only those that live now had it together.
    let alive = |child: &mut Child| child.try_wait().is_ok_and(|status| status.is_none());
    let alive = spawned.iter_mut().map(alive).filter(|alive| *alive).count();
    for child in &mut spawned {
        let _ = child.kill();
        let _ = child.wait();
    }
    match alive.min(count) {
        all if all == children => Ok(()),
        some => Err(format!("{some} of {children} had their memory together")),
    }
}

/// Memory that belongs to a descriptor.
fn memory_file(mib: usize) -> Attempted {
    let file = rustix::fs::memfd_create("bomb", rustix::fs::MemfdFlags::empty());
    let mut file = File::from(file.map_err(|error| error.to_string())?);
    let block = vec![b'x'; MIB];
    (0..mib).try_for_each(|_| file.write_all(&block)).map_err(|error| error.to_string())
}

/// Memory that belongs to no process at all, in segments that are filled and left.
fn shared_segments(count: usize, kib: usize) -> Attempted {
    for _ in 0..count {
        let bytes = kib * 1024;
        // SAFETY: the call takes numbers.
        let segment = unsafe { libc::shmget(libc::IPC_PRIVATE, bytes, 0o600) };
        if segment < 0 {
            return Err(std::io::Error::last_os_error().to_string());
        }
        // SAFETY: where it is attached is for the kernel to choose, and it has so many bytes.
        unsafe {
            let place = libc::shmat(segment, std::ptr::null(), 0);
            if place as isize == -1 {
                return Err(std::io::Error::last_os_error().to_string());
            }
            std::ptr::write_bytes(place.cast::<u8>(), 1, bytes);
            libc::shmdt(place);
        }
    }
    Ok(())
}

fn semaphores(sets: usize, count: usize) -> Attempted {
    let count = i32::try_from(count).unwrap_or(i32::MAX);
    for _ in 0..sets {
        // SAFETY: the call takes numbers.
        if unsafe { libc::semget(libc::IPC_PRIVATE, count, 0o600) } < 0 {
            return Err(std::io::Error::last_os_error().to_string());
        }
    }
    Ok(())
}

fn messages() -> Attempted {
    // SAFETY: the call takes numbers.
    match unsafe { libc::msgget(libc::IPC_PRIVATE, 0o600) } {
        -1 => Err(std::io::Error::last_os_error().to_string()),
        _ => Ok(()),
    }
}

fn output(mib: usize) -> Attempted {
    let block = vec![b'x'; MIB];
    let mut out = std::io::stdout().lock();
    for _ in 0..mib {
        out.write_all(&block).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn fill(path: &str, mib: usize) -> Attempted {
    let block = vec![b'x'; MIB];
    let mut file = File::create(path).map_err(|error| error.to_string())?;
    (0..mib).try_for_each(|_| file.write_all(&block)).map_err(|error| error.to_string())
}

fn many_files(path: &str, mib: usize) -> Attempted {
    let block = vec![b'x'; MIB];
    let write = |n| fs::write(format!("{path}/file{n}"), &block);
    (0..mib).try_for_each(write).map_err(|error| error.to_string())
}

fn spin() -> Attempted {
    loop {
        std::hint::spin_loop();
    }
}

/// Leaves a process of its own session, twice removed, that ignores requests to end and, unless it is
/// quiet, keeps the output open.
fn daemon(mark: &str, quiet: bool) -> Attempted {
    let itself = std::env::current_exe().map_err(|error| error.to_string())?;
    // SAFETY: this process has one thread; each copy goes on like any program.
    if unsafe { libc::fork() } == 0 {
        let _ = rustix::process::setsid();
        let mut command = Command::new("/bin/sh");
        let script = "trap '' TERM HUP INT; \"$0\" attempt linger \"$1\"";
        command.args(["-c", script]).arg(itself).arg(mark).stdin(Stdio::null());
        if quiet {
            command.stdout(Stdio::null()).stderr(Stdio::null());
        }
        let _ = command.spawn();
        std::process::exit(0);
    }
    Ok(())
}

fn linger() -> Attempted {
    say("lingers");
    loop {
        std::thread::park();
    }
}

/// Leaves a daemon and ends its parents as a plain time limit does: by killing their process group.
/// Works if the daemon is still there. It dies with the namespace of the control.
fn outlive(mark: &str) -> Attempted {
    let itself = std::env::current_exe().map_err(|error| error.to_string())?;
    let script = "\"$0\" attempt daemon \"$1\"; exec \"$0\" attempt spin";
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]).arg(itself).arg(mark);
    command.process_group(0).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let out = child.stdout.take().ok_or("no output")?;
    let mut lines = BufReader::new(out).lines().map_while(Result::ok);
    if !lines.any(|line| line == "lingers") {
        return Err("there is no daemon".to_owned());
    }
    let group = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process_group(group, rustix::process::Signal::KILL)
        .map_err(|error| error.to_string())?;
    child.wait().map_err(|error| error.to_string())?;
    match lingers(mark) {
        true => Ok(()),
        false => Err("the daemon was killed too".to_owned()),
    }
}

fn lingers(mark: &str) -> bool {
    let line = format!("attempt\0linger\0{mark}\0");
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
        .any(|found| found.ends_with(line.as_bytes()))
}
