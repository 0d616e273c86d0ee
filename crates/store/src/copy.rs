//! Copies sessions from one store to another, of whatever kinds they are.

use crate::{ListFilter, SessionId, Store, StoreError};

/// What became of the sessions that were to be copied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyReport {
    /// Are there now, with the same ids and, byte for byte, the same logs.
    pub copied: Vec<SessionId>,
    /// Were there before, with the same logs.
    pub same: Vec<SessionId>,
    /// Are there with other logs, and were left alone.
    pub different: Vec<SessionId>,
    /// What could not be read, as text for the user.
    pub damage: Vec<String>,
}

/// Copies one session, or all, with their ids. What is there already is left as it is, so that a copy that was
/// broken off can be made again.
pub async fn copy_sessions(
    from: &dyn Store,
    to: &dyn Store,
    only: Option<&SessionId>,
) -> Result<CopyReport, StoreError> {
    let mut ids = match only {
        Some(id) => vec![id.clone()],
        None => {
            let all = from.list(&ListFilter::default()).await?;
            all.into_iter().map(|session| session.id).collect()
        }
    };
    // Forks after the sessions that they come from.
    ids.sort();
    let mut report = CopyReport::default();
    for id in ids {
        let text = from.export(&id).await?;
        match to.import_as(&id, &text).await {
            Ok(imported) => {
                let named = imported.damage.iter().map(|line| format!("{id}: {line}"));
                report.damage.extend(named);
                report.copied.push(id);
            }
            Err(StoreError::Exists { .. }) => match to.export(&id).await {
                Ok(there) if entries(&there) == entries(&text) => report.same.push(id),
                // In a project that this store does not show, it is another one as well.
                Ok(_) | Err(StoreError::NotFound { .. }) => report.different.push(id),
                Err(error) => return Err(error),
            },
            Err(error) => return Err(error),
        }
    }
    Ok(report)
}

/// An export without its header, which says when it was made.
fn entries(export: &str) -> &str {
    export.split_once('\n').map_or("", |(_, entries)| entries)
}
