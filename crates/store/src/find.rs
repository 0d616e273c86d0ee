//! Which session a user means.

use crate::{SessionId, StoreError};

/// Shorter pieces of an id or title mean too much.
pub(crate) const MIN_ID_PIECE: usize = 2;

/// The only one of these ids; none if there is none.
pub(crate) fn the_one(text: &str, ids: Vec<String>) -> Result<Option<SessionId>, StoreError> {
    let mut ids: Vec<SessionId> =
        ids.into_iter().filter_map(|id| SessionId::try_from(id).ok()).collect();
    match ids.len() {
        0 | 1 => Ok(ids.pop()),
        _ => Err(StoreError::Ambiguous { text: text.to_owned(), candidates: ids }),
    }
}
