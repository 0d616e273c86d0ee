//! Lets the user edit some bytes in an editor of their choice.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use rustix::fs::{Access, access};

use crate::Error;
use crate::temp_name::TempStem;

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
    let failed = |reason: String| Error::Editor { editor: editor.to_owned(), reason };
    let io_failed = |error: io::Error| failed(format!("could not be given the text: {error}"));
    let mut words = editor.split_whitespace();
    let program = words.next().ok_or_else(|| failed("has no name".to_owned()))?;
    let private = PrivateDir::new().map_err(io_failed)?;
    let name = Path::new(suggested_name).file_name().unwrap_or(FALLBACK_NAME.as_ref());
    let path = private.0.join(name);
    let options = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&path);
    options.and_then(|mut file| file.write_all(text)).map_err(io_failed)?;
    let status = Command::new(program).args(words).arg(&path).status();
    match status {
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

    use super::*;

    #[test]
    fn the_editor_gets_the_bytes_and_gives_back_its_own() {
        // Replaces the first line of the file that comes last.
        let edited = edit_in_program("sed -i 1s/.*/new/", "dir/main.rs", b"old\nrest \xFF\n");
        assert_eq!(edited.unwrap(), b"new\nrest \xFF\n");
        assert_eq!(edit_in_program("true", "..", b"same").unwrap(), b"same");
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
