//! A temporary project directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::fixture_text::{EntryKind, parse};

/// A project directory made from text and removed on drop.
///
/// ```
/// let project = testkit::Fixture::new(
///     r#"
/// //- /src/main.rs
/// fn main() {}
/// //- /run.sh mode=755
/// #!/bin/sh
/// //- /latest symlink=src/main.rs
/// //- /empty/
/// //- /three_bytes base64=AAEC
/// "#,
/// );
/// assert_eq!(project.read("src/main.rs"), "fn main() {}\n");
/// ```
///
/// The content of a file is exactly what stands between its heading and the next one, so it ends
/// with a line break. Use [`Fixture::write`] or `base64=` for content that does not.
///
/// The root has no symlink in its path and is the only entry of a directory of its own: a test that
/// needs something just outside the project may put it beside the root and have it removed as well.
#[derive(Debug)]
pub struct Fixture {
    root: PathBuf,
    // Held for its drop alone.
    _directory: TempDir,
}

impl Fixture {
    /// Makes the project described by `text`.
    #[track_caller]
    pub fn new(text: &str) -> Fixture {
        let entries = parse(text).unwrap_or_else(|why| panic!("fixture: {why}"));
        // The default name of a temporary directory begins with a dot, which some tools take for
        // "hidden".
        let directory = tempfile::Builder::new().prefix("toolkiln-").tempdir();
        let directory = directory.unwrap_or_else(|error| panic!("no temporary directory: {error}"));
        let root = expect(fs::canonicalize(directory.path()), directory.path()).join("project");
        expect(fs::create_dir(&root), &root);
        let fixture = Fixture { root, _directory: directory };
        for entry in entries {
            fixture.make(&entry.path, entry.kind);
        }
        fixture
    }

    /// The directory of the project, absolute and without symlinks.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The absolute path of something in the project, whether it exists or not.
    pub fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// The content of a file that must be UTF-8.
    #[track_caller]
    pub fn read(&self, relative: impl AsRef<Path>) -> String {
        let path = self.path(relative);
        expect(fs::read_to_string(&path), &path)
    }

    /// The content of a file, byte for byte.
    #[track_caller]
    pub fn read_bytes(&self, relative: impl AsRef<Path>) -> Vec<u8> {
        let path = self.path(relative);
        expect(fs::read(&path), &path)
    }

    /// Makes a file look as if it had last been changed in 1970, so that its time stamp can be
    /// trusted to show the next change.
    #[track_caller]
    pub fn make_old(&self, relative: impl AsRef<Path>) {
        let path = self.path(relative);
        let file = expect(fs::File::options().write(true).open(&path), &path);
        expect(file.set_modified(std::time::SystemTime::UNIX_EPOCH), &path);
    }

    /// Writes a file and makes the directories above it.
    #[track_caller]
    pub fn write(&self, relative: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        let path = self.path(relative);
        self.make_parent(&path);
        expect(fs::write(&path, bytes), &path);
    }

    #[track_caller]
    fn make(&self, relative: &str, kind: EntryKind) {
        let path = self.path(relative);
        match kind {
            EntryKind::Directory => expect(fs::create_dir_all(&path), &path),
            EntryKind::Symlink { target } => {
                self.make_parent(&path);
                expect(system::symlink(&target, &path), &path);
            }
            EntryKind::File { bytes, mode } => {
                self.write(relative, bytes);
                if let Some(mode) = mode {
                    expect(system::set_mode(&path, mode), &path);
                }
            }
        }
    }

    #[track_caller]
    fn make_parent(&self, path: &Path) {
        if let Some(parent) = path.parent() {
            expect(fs::create_dir_all(parent), parent);
        }
    }
}

#[track_caller]
fn expect<T>(result: io::Result<T>, path: &Path) -> T {
    result.unwrap_or_else(|error| panic!("fixture: {}: {error}", path.display()))
}

#[cfg(unix)]
mod system {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    pub(super) fn symlink(target: &str, link: &Path) -> io::Result<()> {
        std::os::unix::fs::symlink(target, link)
    }

    pub(super) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
    }
}

#[cfg(not(unix))]
mod system {
    use super::*;

    pub(super) fn symlink(_: &str, _: &Path) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "symlinks in fixtures need Unix"))
    }

    pub(super) fn set_mode(_: &Path, _: u32) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "modes in fixtures need Unix"))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_project_is_made_as_written_and_removed_on_drop() {
        let project = Fixture::new(
            r#"
//- /docs/a.md
text
//- /run.sh mode=755
#!/bin/sh
//- /link symlink=docs/a.md
//- /empty/
//- /bin/three base64=AAEC
"#,
        );
        assert_eq!(project.read("docs/a.md"), "text\n");
        assert_eq!(project.read("link"), "text\n");
        assert_eq!(project.read_bytes("bin/three"), [0, 1, 2]);
        assert!(project.path("empty").is_dir());
        let mode =
            fs::metadata(project.path("run.sh")).expect("run.sh exists").permissions().mode();
        assert_eq!(mode & 0o777, 0o755);

        project.write("new/deep.txt", "x");
        assert_eq!(project.read("new/deep.txt"), "x");

        let root = project.root().to_owned();
        drop(project);
        assert!(!root.exists());
    }

    #[test]
    #[should_panic(expected = "fixture: `//- a`: the path must begin with `/`")]
    fn a_mistake_in_the_text_is_a_panic_that_names_it() {
        Fixture::new("//- a\n");
    }
}
