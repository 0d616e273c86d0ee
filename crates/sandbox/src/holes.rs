//! Copies files without filling their holes: a file may be far larger than what it holds.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

use rustix::io::Errno;

/// Copies all bytes of `source` into `target`, which is empty. Holes stay holes.
pub(crate) fn copy(source: &mut File, target: &mut File) -> io::Result<()> {
    let size = source.metadata()?.len();
    target.set_len(size)?;
    let mut at = 0;
    while at < size {
        let begin = match rustix::fs::seek(&*source, rustix::fs::SeekFrom::Data(at)) {
            Ok(begin) => begin,
            // Only holes are left.
            Err(Errno::NXIO) => break,
            Err(errno) => return Err(errno.into()),
        };
        let end = rustix::fs::seek(&*source, rustix::fs::SeekFrom::Hole(begin))?;
        source.seek(SeekFrom::Start(begin))?;
        target.seek(SeekFrom::Start(begin))?;
        io::copy(&mut source.by_ref().take(end - begin), target)?;
        at = end;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn holes_take_no_room_and_bytes_stay_where_they_were() {
        let mut source = tempfile::tempfile().unwrap();
        source.set_len(1 << 40).unwrap();
        for at in [0, 1 << 20, 1 << 39] {
            source.seek(SeekFrom::Start(at)).unwrap();
            source.write_all(b"here").unwrap();
        }
        let mut target = tempfile::tempfile().unwrap();
        copy(&mut source, &mut target).unwrap();
        let copied = target.metadata().unwrap();
        assert_eq!(copied.len(), 1 << 40);
        assert!(copied.blocks() * 512 < 1 << 20, "{copied:?}");
        for at in [0, 1 << 20, 1 << 39] {
            let mut bytes = [0; 5];
            target.seek(SeekFrom::Start(at)).unwrap();
            target.read_exact(&mut bytes).unwrap();
            assert_eq!(&bytes, b"here\0");
        }
    }

    #[test]
    fn an_empty_file_and_one_without_holes_are_copied_as_they_are() {
        for bytes in [Vec::new(), vec![7; 100_000]] {
            let mut source = tempfile::tempfile().unwrap();
            source.write_all(&bytes).unwrap();
            let mut target = tempfile::tempfile().unwrap();
            copy(&mut source, &mut target).unwrap();
            let mut copied = Vec::new();
            target.seek(SeekFrom::Start(0)).unwrap();
            target.read_to_end(&mut copied).unwrap();
            assert_eq!(copied, bytes);
        }
    }
}
