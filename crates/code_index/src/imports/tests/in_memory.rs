//! A project that exists only in a test.

use std::collections::BTreeMap;

use workspace::{EntryKind, RelPath};

use crate::imports::project_files::{PathList, ProjectFiles};

/// Files by path, and links.
pub(super) struct FilesInMemory {
    files: BTreeMap<RelPath, Vec<u8>>,
    links: BTreeMap<RelPath, Vec<u8>>,
    paths: PathList,
}

impl FilesInMemory {
    /// From text in which `//- /path` begins a file, and `//- /path -> target` is a link.
    pub(super) fn parse(text: &str) -> FilesInMemory {
        let mut files = Vec::new();
        let mut links = BTreeMap::new();
        for part in text.split("//- /").skip(1) {
            let (header, content) = part.split_once('\n').unwrap_or((part, ""));
            match header.split_once(" -> ") {
                Some((link, target)) => {
                    links.insert(super::path(link), target.as_bytes().to_vec());
                }
                None => files.push((super::path(header.trim()), content.as_bytes().to_vec())),
            }
        }
        FilesInMemory { links, ..FilesInMemory::new(files) }
    }

    pub(super) fn new(files: impl IntoIterator<Item = (RelPath, Vec<u8>)>) -> FilesInMemory {
        let files: BTreeMap<_, _> = files.into_iter().collect();
        // As on a real disk: what is installed is there and does not count.
        let counts = |path: &&RelPath| {
            !path.components().any(|name| matches!(name, b"node_modules" | b"dist"))
        };
        let paths = PathList::new(files.keys().filter(counts).cloned().collect());
        FilesInMemory { files, links: BTreeMap::new(), paths }
    }
}

impl FilesInMemory {
    /// The path with the links on the way followed, as a system does; the last name is not.
    fn real(&self, path: &RelPath) -> RelPath {
        let mut real = RelPath::root();
        for name in path.components() {
            if let Some(target) = self.links.get(&real) {
                let dir = real.parent().unwrap_or_else(RelPath::root);
                let target = String::from_utf8_lossy(target);
                real = crate::imports::project_files::join(&dir, &target).unwrap_or(dir);
            }
            real = real.join(name).unwrap();
        }
        real
    }
}

impl ProjectFiles for FilesInMemory {
    fn kind(&self, path: &RelPath) -> Option<EntryKind> {
        let path = &self.real(path);
        if self.files.contains_key(path) {
            return Some(EntryKind::File);
        }
        if self.links.contains_key(path) {
            return Some(EntryKind::Symlink);
        }
        let mut inside = self.files.keys().chain(self.links.keys());
        inside.any(|file| file.starts_with(path)).then_some(EntryKind::Directory)
    }

    fn read_link(&self, path: &RelPath) -> Option<Vec<u8>> {
        self.links.get(path).cloned()
    }

    fn read(&self, path: &RelPath) -> Option<Vec<u8>> {
        self.files.get(&self.real(path)).cloned()
    }

    fn paths(&self) -> &PathList {
        &self.paths
    }

    fn visit(
        &self,
        start: &RelPath,
        _pattern: Option<&str>,
        wanted: &(dyn Fn(&RelPath) -> bool + Sync),
        look: &(dyn Fn(RelPath, Vec<u8>) + Sync),
    ) {
        for path in self.paths.beneath(start).filter(|path| wanted(path)) {
            look(path.clone(), self.files[path].clone());
        }
    }

    fn is_over(&self) -> bool {
        false
    }
}
