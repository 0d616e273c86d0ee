//! The project as a disk of its own, for the JavaScript resolver: it sees nothing else.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use oxc_resolver::{FileMetadata, FileSystem, ResolveError};
use workspace::{EntryKind, RelPath};

use crate::imports::project_files::ProjectFiles;

/// Where the project seems to lie. Whatever climbs above it finds nothing.
const ROOT: &str = "/project";

const MODULES: &str = "node_modules";

/// Answers the resolver's questions from [`ProjectFiles`]. The packages of a workspace appear in
/// `node_modules`, as a package manager would link them there, installed or not; and a `jsconfig`
/// appears as a `tsconfig` where there is none.
#[derive(Default)]
pub(super) struct VirtualDisk {
    files: Option<Arc<dyn ProjectFiles>>,
    packages: BTreeMap<String, RelPath>,
}

impl VirtualDisk {
    pub(super) fn of(
        files: Arc<dyn ProjectFiles>,
        packages: BTreeMap<String, RelPath>,
    ) -> VirtualDisk {
        VirtualDisk { files: Some(files), packages }
    }

    /// The absolute path that the resolver knows a file by.
    pub(super) fn absolute(path: &RelPath) -> PathBuf {
        if path.is_root() { PathBuf::from(ROOT) } else { Path::new(ROOT).join(path.as_path()) }
    }

    /// The file behind an absolute path.
    pub(super) fn relative(path: &Path) -> Option<RelPath> {
        let mut found = RelPath::root();
        for component in path.strip_prefix(ROOT).ok()?.components() {
            match component {
                Component::Normal(name) => found = found.join(name.as_bytes()).ok()?,
                Component::CurDir => {}
                _ => return None,
            }
        }
        Some(found)
    }

    /// What is at a path: itself, a link to a package of the workspace, or a directory of such.
    fn look(&self, path: &Path) -> Option<PathTarget> {
        let relative = Self::relative(path)?;
        let names: Vec<&[u8]> = relative.components().collect();
        if let Some((first, inner)) = names.split_first()
            && *first == MODULES.as_bytes()
        {
            let scoped = inner.first().is_some_and(|name| name.starts_with(b"@"));
            let length = if scoped { 2 } else { 1 };
            if inner.len() < length {
                let prefix = String::from_utf8_lossy(inner.first().unwrap_or(&b"".as_slice()));
                if self.packages.keys().any(|name| name.starts_with(&*prefix)) {
                    return Some(PathTarget::Directory);
                }
            } else {
                let name = String::from_utf8_lossy(&inner[..length].join(&b'/')).into_owned();
                if let Some(package) = self.packages.get(&name) {
                    if inner.len() == length {
                        return Some(PathTarget::Link(Self::absolute(package)));
                    }
                    let mut real = package.clone();
                    for name in &inner[length..] {
                        real = real.join(name).ok()?;
                    }
                    return Some(PathTarget::Real(real));
                }
            }
        }
        Some(PathTarget::Real(relative))
    }

    fn files(&self) -> io::Result<&Arc<dyn ProjectFiles>> {
        self.files.as_ref().ok_or_else(not_found)
    }

    fn kind(&self, path: &RelPath) -> io::Result<EntryKind> {
        let files = self.files()?;
        if files.paths().contains(path) {
            return Ok(EntryKind::File);
        }
        if let Some(kind) = files.kind(path) {
            return Ok(kind);
        }
        javascript_config(path).and_then(|path| files.kind(&path)).ok_or_else(not_found)
    }

    /// What a path leads to through all links.
    fn followed(&self, path: &Path) -> io::Result<RelPath> {
        let mut path = path.to_path_buf();
        for _ in 0..MAX_LINKS {
            match self.look(&path).ok_or_else(not_found)? {
                PathTarget::Link(target) => path = target,
                PathTarget::Directory => return Err(not_found()),
                PathTarget::Real(real) => match self.kind(&real)? {
                    EntryKind::Symlink => path = self.link(&real)?,
                    _ => return Ok(real),
                },
            }
        }
        Err(not_found())
    }

    /// The target of a real link. It may climb, as long as it stays inside.
    fn link(&self, path: &RelPath) -> io::Result<PathBuf> {
        let target = self.files()?.read_link(path).ok_or_else(not_found)?;
        let target = Path::new(OsStr::from_bytes(&target));
        let mut found = Self::absolute(&path.parent().ok_or_else(not_found)?);
        for component in target.components() {
            match component {
                Component::Normal(name) => found.push(name),
                Component::CurDir => {}
                Component::ParentDir if found != Path::new(ROOT) => {
                    found.pop();
                }
                _ => return Err(not_found()),
            }
        }
        Ok(found)
    }
}

/// Links that lead to links, at most.
const MAX_LINKS: usize = 16;

enum PathTarget {
    Real(RelPath),
    Link(PathBuf),
    Directory,
}

fn not_found() -> io::Error {
    io::ErrorKind::NotFound.into()
}

/// The `jsconfig.json` in the place of a `tsconfig.json`.
fn javascript_config(path: &RelPath) -> Option<RelPath> {
    (path.file_name()? == b"tsconfig.json").then(|| path.parent()?.join(b"jsconfig.json").ok())?
}

impl FileSystem for VirtualDisk {
    /// An empty disk. The trait asks for one; ours is made by [`VirtualDisk::of`].
    fn new() -> VirtualDisk {
        VirtualDisk::default()
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let real = self.followed(path)?;
        let files = self.files()?;
        let bytes = files.read(&real);
        let bytes = bytes.or_else(|| files.read(&javascript_config(&real)?));
        bytes.ok_or_else(not_found)
    }

    fn read_to_string(&self, path: &Path) -> io::Result<String> {
        let bytes = FileSystem::read(self, path)?;
        String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData.into())
    }

    fn metadata(&self, path: &Path) -> io::Result<FileMetadata> {
        if matches!(self.look(path), Some(PathTarget::Directory)) {
            return Ok(described(EntryKind::Directory));
        }
        self.kind(&self.followed(path)?).map(described)
    }

    fn symlink_metadata(&self, path: &Path) -> io::Result<FileMetadata> {
        match self.look(path).ok_or_else(not_found)? {
            PathTarget::Link(_) => Ok(described(EntryKind::Symlink)),
            PathTarget::Directory => Ok(described(EntryKind::Directory)),
            PathTarget::Real(real) if real.is_root() => Ok(described(EntryKind::Directory)),
            PathTarget::Real(real) => self.kind(&real).map(described),
        }
    }

    fn read_link(&self, path: &Path) -> Result<PathBuf, ResolveError> {
        match self.look(path) {
            Some(PathTarget::Link(target)) => Ok(target),
            Some(PathTarget::Real(real)) => Ok(self.link(&real)?),
            _ => Err(not_found().into()),
        }
    }

    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        self.followed(path).map(|real| Self::absolute(&real))
    }
}

fn described(kind: EntryKind) -> FileMetadata {
    FileMetadata::new(
        kind == EntryKind::File,
        kind == EntryKind::Directory,
        kind == EntryKind::Symlink,
    )
}
