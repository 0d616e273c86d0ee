//! Writing down changes that another program has made for us, such as an editor that holds the file open.

use protocol::{Base, ContentHash};

use super::entry::JournalStep;
use super::image::EntryImage;
use super::old_bytes::OldBytes;
use super::plan::{JournalPlan, New, Planned};
use super::{Applied, EntryRole, Journal, Label, Purpose, Taking};
use crate::temp_name::TempStem;
use crate::{Error, RelPath};

/// A file that another program has just written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenElsewhere {
    /// The file, by a path that goes through no link.
    pub path: RelPath,
    /// What it was before; none if it was not there.
    pub before: Option<Vec<u8>>,
}

impl Journal {
    /// Makes an entry by which the files can be given back what they held before. Nothing in the project is changed;
    /// what the files hold now is what an undo expects. If this process dies meanwhile, the entry is found to be
    /// complete, because the files are as it says.
    pub fn record(&self, files: &[WrittenElsewhere], label: &Label) -> Result<Applied, Error> {
        let purpose = Purpose { label, role: EntryRole::Change, undoes: &[] };
        self.enter(purpose, Taking::Nothing, |_, stem| self.recorded(files, stem))
    }

    fn recorded(
        &self,
        files: &[WrittenElsewhere],
        stem: TempStem,
    ) -> Result<JournalPlan<'static>, Error> {
        let mut plan = JournalPlan::default();
        for (index, WrittenElsewhere { path, before }) in files.iter().enumerate() {
            let (after, _) = self.workspace.base_of(path, self.options.max_bytes)?;
            let before_base = match (before, &after) {
                (Some(bytes), Base::File { mode, .. }) => {
                    let (hash, size) = (ContentHash::of(bytes), bytes.len() as u64);
                    Base::File { hash, size, mode: *mode }
                }
                (None, Base::File { .. }) => Base::Absent,
                _ => return Err(Error::conflict(path, "is not a file any more")),
            };
            let old = before.clone().map(OldBytes::whole);
            let image = old.as_ref().map(|old| EntryImage::store(old, &mut plan.images));
            let parent = path.parent().unwrap_or_else(RelPath::root);
            let temp = parent.join_entry(stem.name(index).as_bytes());
            let (path, before) = (path.clone(), before_base);
            let step = JournalStep::Put { path, before, after, temp, image, kept: None };
            plan.planned.push(Planned {
                step,
                new: New::Nothing,
                old,
                metadata: None,
                mode: None,
                returns: false,
            });
        }
        Ok(plan)
    }
}
