//! What the tools about imports share: the files they look at, and what they could not.

use std::sync::Arc;

use code_index::{FilesOnDisk, SearchScope};
use protocol::{ErrorCode, ToolError};

use crate::ToolContext;
use crate::search_notes::{Paging, ScopeArgs, exclusions, named_files, walk_warnings};

/// How many files that were too large are named.
const MAX_NAMED: usize = 20;

/// The project's files for one question about imports.
pub(crate) struct ImportFiles {
    pub(crate) files: Arc<FilesOnDisk>,
    scope: SearchScope,
}

impl ImportFiles {
    pub(crate) fn new(cx: &ToolContext) -> Result<ImportFiles, ToolError> {
        let scope = ScopeArgs {
            path: None,
            include: Vec::new(),
            exclude: exclusions(None),
            extensions: Vec::new(),
            hidden: false,
            max_results: None,
            default_results: 0,
            paging: Paging::None,
        }
        .scope(cx)?;
        let cancel = cx.clone();
        let files =
            FilesOnDisk::new(cx.code().clone(), scope.clone(), move || cancel.is_cancelled());
        Ok(ImportFiles { files: Arc::new(files), scope })
    }

    /// What kept the answer from covering everything.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = walk_warnings(&self.files.report(), &self.scope);
        let mut large = self.files.too_large();
        let count = large.len() as u64;
        large.truncate(MAX_NAMED);
        let size = format!("Skipped files over {} bytes", self.scope.max_file_bytes);
        warnings.extend(named_files(&size, &(count, large)));
        warnings
    }
}

/// The target as the index understands it: an absolute path becomes one from the root.
pub(crate) fn spelled(cx: &ToolContext, target: &str) -> Result<String, ToolError> {
    let target = target.trim();
    if target.is_empty() {
        let message = "target is empty";
        return Err(ToolError::new(ErrorCode::InvalidArguments, message)
            .suggest("Name a module: a path, a file's name, a package or a symbol."));
    }
    if target.starts_with('/') {
        return Ok(cx.workspace().resolve(target)?.to_text());
    }
    Ok(target.to_owned())
}

/// `Did you mean a, b?` if there is anything near.
pub(crate) fn did_you_mean(near: &[String]) -> Option<String> {
    (!near.is_empty()).then(|| format!("Did you mean {}?", near.join(", ")))
}
