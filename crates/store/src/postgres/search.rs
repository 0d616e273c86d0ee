//! Messages by their words. The index is written with the messages, so that it is never behind.

use sqlx::Row as _;

use super::PostgresStore;
use super::read::event_data;
use crate::found_messages::{excerpt, text_of};
use crate::{FoundMessage, FoundMessages, SessionId, said_words};

/// Messages that are looked at for the sessions they are in.
const MOST_HITS: i64 = 500;

/// The newest message of each session that holds all words.
pub(super) async fn search(
    store: &PostgresStore,
    words: &str,
    limit: usize,
) -> Result<FoundMessages, sqlx::Error> {
    let Some(query) = said_words::query(words) else { return Ok(FoundMessages::default()) };
    let newest = "SELECT session, sequence, at FROM (SELECT DISTINCT ON (session) session, sequence, at \
        FROM said WHERE project = $1 AND words @@ $2::tsquery \
        ORDER BY session, at DESC, sequence DESC) AS newest \
        ORDER BY at DESC, sequence DESC, session LIMIT $3";
    let most = i64::try_from(limit).unwrap_or(MOST_HITS).clamp(0, MOST_HITS);
    let hits = sqlx::query_as(newest).bind(&*store.project).bind(query).bind(most + 1);
    let mut hits: Vec<(String, i64, i64)> = hits.fetch_all(&store.inner.pool).await?;
    let more = hits.len() as i64 > most;
    hits.truncate(usize::try_from(most).unwrap_or_default());
    let mut found = FoundMessages { more, ..FoundMessages::default() };
    for (session, sequence, at) in hits {
        let Ok(session) = SessionId::try_from(session) else { continue };
        let data = "SELECT data, packed FROM events WHERE session = $1 AND sequence = $2";
        let data = sqlx::query(data).bind(session.as_str()).bind(sequence);
        let Some(row) = data.fetch_optional(&store.inner.pool).await? else { continue };
        debug_assert_eq!(row.len(), 2);
        let text = event_data(&row).and_then(|data| text_of(&data.to_text().ok()?));
        let Some(text) = text else { continue };
        let sequence = u64::try_from(sequence).unwrap_or_default();
        let excerpt = excerpt(&text, words);
        found.messages.push(FoundMessage { session, sequence, at, excerpt });
    }
    Ok(found)
}
