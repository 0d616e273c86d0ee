//! Lets the user edit some bytes in an editor of their choice.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::fs::{Access, access};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::Error;
use crate::temp_name::TempStem;

/// The texts of a user are for no other one.
const DIR_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// Where every user may make a directory. The environment is not read.
const TEMP_DIR: &str = "/tmp";

/// The name of the file if the suggested one is not a file name.
const FALLBACK_NAME: &str = "text";

/// Runs an editor on a private copy of `text` and returns what it holds afterwards. The
/// command is split at white space and gets the file as its last argument; it has the terminal to
/// itself until it ends. `suggested_name` gives the file its name, so that the editor knows the
/// language.
pub fn edit_in_program(editor: &str, suggested_name: &str, text: &[u8]) -> Result<Vec<u8>, Error> {
    EditorRun::default().edit(editor, suggested_name, text)
}

/// Editors that run one after the other, and the way to end them from another thread.
#[derive(Clone, Debug, Default)]
pub struct EditorRun(Arc<Mutex<EditorState>>);

#[derive(Debug, Default)]
struct EditorState {
    /// The editor that runs, if the kernel can name it.
    running: Option<OwnedFd>,
    is_over: bool,
}

impl EditorRun {
    /// Does what [`edit_in_program`] does. It fails without starting anything after [`Self::end`].
    pub fn edit(&self, editor: &str, suggested_name: &str, text: &[u8]) -> Result<Vec<u8>, Error> {
        edit_with(editor, suggested_name, text, |command| {
            let mut child = {
                let mut state = self.lock();
                if state.is_over {
                    return Err(io::ErrorKind::Interrupted.into());
                }
                let child = command.spawn()?;
                state.running = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).ok();
                child
            };
            let status = child.wait();
            self.lock().running = None;
            status
        })
    }

    /// Asks the editor to end, as the system does when it shuts down.
    pub fn end(&self) {
        let mut state = self.lock();
        state.is_over = true;
        if let Some(running) = &state.running {
            // It may have ended by itself.
            let _ = pidfd_send_signal(running, Signal::TERM);
        }
    }

    fn lock(&self) -> MutexGuard<'_, EditorState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn edit_with(
    editor: &str,
    suggested_name: &str,
    text: &[u8],
    run: impl FnOnce(&mut Command) -> io::Result<ExitStatus>,
) -> Result<Vec<u8>, Error> {
    let failed = |reason: String| Error::Editor { editor: editor.to_owned(), reason };
    let io_failed = |error: io::Error| failed(format!("could not be given the text: {error}"));
    let mut words = editor.split_whitespace();
    let program = words.next().ok_or_else(|| failed("has no name".to_owned()))?;
    let private = PrivateDir::new().map_err(io_failed)?;
    let name = Path::new(suggested_name).file_name().unwrap_or(FALLBACK_NAME.as_ref());
    let path = private.0.join(name);
    let options = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&path);
    options.and_then(|mut file| file.write_all(text)).map_err(io_failed)?;
    match run(Command::new(program).args(words).arg(&path)) {
        Ok(status) if status.success() => fs::read(&path).map_err(io_failed),
        Ok(status) => Err(failed(format!("failed ({status})"))),
        Err(error) => Err(failed(format!("could not be started: {error}"))),
    }
}

/// Starts a program that shows a file to the user, such as a browser, and does not wait for it. It has
/// nothing of the terminal.
pub fn show_in_program(program: &str, what: &Path) -> Result<(), Error> {
    let started = Command::new(program)
        .arg(what)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let reason = |error: io::Error| format!("could not be started: {error}");
    let failed = |error| Error::Editor { editor: program.to_owned(), reason: reason(error) };
    let mut child = started.map_err(failed)?;
    // A browser may run for as long as this process does; its end has to be taken notice of.
    thread::spawn(move || child.wait());
    Ok(())
}

/// The first of these programs that is found in the directories of `search_path`, as an absolute path. What
/// lies in a relative directory, and so perhaps in a project, is not found, nor is a path with blanks, at which
/// a command would be split.
pub fn find_program(names: &[&str], search_path: &OsStr) -> Option<String> {
    let runs = |path: &PathBuf| {
        let is_file = fs::metadata(path).is_ok_and(|meta| meta.is_file());
        is_file && access(path, Access::EXEC_OK).is_ok()
    };
    let found = names.iter().find_map(|name| {
        let directories = env::split_paths(search_path).filter(|path| path.is_absolute());
        let paths = directories.map(|directory| directory.join(name));
        let plain =
            |path: &PathBuf| path.to_str().is_some_and(|text| !text.contains(char::is_whitespace));
        paths.filter(plain).find(runs)
    });
    found?.into_os_string().into_string().ok()
}

/// A directory that only its owner can read, removed on drop.
struct PrivateDir(PathBuf);

impl PrivateDir {
    fn new() -> io::Result<PrivateDir> {
        let name = TempStem::random()?.name(0);
        let path = Path::new(TEMP_DIR).join(name);
        DirBuilder::new().mode(DIR_MODE).create(&path)?;
        Ok(PrivateDir(path))
    }
}

impl Drop for PrivateDir {
    fn drop(&mut self) {
        // Left for the system to clean up if it cannot be removed.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn the_editor_gets_the_bytes_and_gives_back_its_own() {
        // Replaces the first line of the file that comes last.
        let edited = edit_in_program("sed -i 1s/.*/new/", "dir/main.rs", b"old\nrest \xFF\n");
        assert_eq!(edited.unwrap(), b"new\nrest \xFF\n");
        assert_eq!(edit_in_program("true", "..", b"same").unwrap(), b"same");
    }

    #[test]
    fn an_editor_can_be_ended_from_elsewhere_and_none_is_started_after_it() {
        let place = testkit::Fixture::new("//- /editor.sh\necho >\"$1\"; exec sleep 1000\n");
        let begun = place.path("begun");
        mknodat(CWD, &begun, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let editor = format!("sh {} {}", place.path("editor.sh").display(), begun.display());
        let run = EditorRun::default();
        let edited = thread::scope(|scope| {
            let edited = scope.spawn(|| run.edit(&editor, "a", b"x"));
            fs::read(&begun).unwrap();
            run.end();
            edited.join().unwrap()
        });
        let message = format!("the editor {editor} failed (signal: 15 (SIGTERM))");
        assert_eq!(edited.unwrap_err().to_string(), message);
        assert!(run.edit("true", "a", b"x").is_err());
    }

    #[test]
    fn the_first_program_that_can_be_run_is_found() {
        let places = testkit::Fixture::new(
            "//- /a/vi mode=644\nx\n//- /b/nano mode=755\nx\n//- /c/vi/dir\nx\n//- /with blank/vi mode=755\nx\n",
        );
        let path = |names: &[&str]| {
            let paths = names.iter().map(|name| places.path(name));
            env::join_paths(paths.chain(["".into(), "b".into()])).unwrap()
        };
        let nano = places.path("b/nano").into_os_string().into_string().ok();
        let names = ["vi", "nano"];
        assert_eq!(find_program(&names, &path(&["a", "c", "with blank", "b"])), nano);
        assert_eq!(find_program(&names, &path(&["a", "c"])), None);
        assert_eq!(find_program(&names, OsStr::new("")), None);
        places.write("d/vi", "x");
        fs::set_permissions(places.path("d/vi"), fs::Permissions::from_mode(0o755)).unwrap();
        let vi = places.path("d/vi").into_os_string().into_string().ok();
        assert_eq!(find_program(&names, &path(&["b", "d"])), vi, "names come before places");
    }

    #[test]
    fn an_editor_that_fails_changes_nothing() {
        for (editor, message) in
            [("false", "the editor false failed (exit status: 1)"), ("", "the editor  has no name")]
        {
            let error = edit_in_program(editor, "a", b"x").unwrap_err();
            assert_eq!(error.to_string(), message);
        }
        assert!(edit_in_program("/nonexistent/editor", "a", b"x").is_err());
    }
}
