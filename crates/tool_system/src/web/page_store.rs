//! Pages that were fetched a short time ago.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use protocol::WebRequest;

use super::WebPage;
use crate::locked::locked;

/// How long a page is kept.
const LIFETIME: Duration = Duration::from_secs(15 * 60);

/// What was asked for: two requests with the same key have the same answer for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PageKey {
    method: String,
    url: String,
    headers: BTreeMap<String, String>,
    body: Option<String>,
}

impl PageKey {
    pub(crate) fn of(request: &WebRequest) -> Self {
        let WebRequest { method, url, headers, body, .. } = request.clone();
        Self { method, url, headers, body }
    }
}

/// The pages of one session, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct PageStore(Mutex<VecDeque<(PageKey, Instant, Arc<WebPage>)>>);

impl PageStore {
    /// Keeps a page, and forgets old ones above `most` bytes. Only a good answer is kept.
    pub(crate) fn put(&self, key: PageKey, page: &Arc<WebPage>, most: u64, now: Instant) {
        if !page.is_success() {
            return;
        }
        let mut pages = locked(&self.0);
        pages.retain(|(other, _, _)| *other != key);
        pages.push_back((key, now, Arc::clone(page)));
        let size = |(_, _, page): &(PageKey, Instant, Arc<WebPage>)| page.text.len() as u64;
        let mut all: u64 = pages.iter().map(size).sum();
        while all > most
            && let Some(oldest) = pages.pop_front()
        {
            all -= size(&oldest);
        }
    }

    /// The page that was fetched with this key.
    pub(crate) fn get(&self, key: &PageKey, now: Instant) -> Option<Arc<WebPage>> {
        let mut pages = locked(&self.0);
        pages.retain(|(_, at, _)| now.saturating_duration_since(*at) < LIFETIME);
        pages.iter().find(|(other, _, _)| other == key).map(|(_, _, page)| Arc::clone(page))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str, status: u16) -> Arc<WebPage> {
        Arc::new(WebPage { status, text: text.into(), ..WebPage::default() })
    }

    fn key(url: &str) -> PageKey {
        PageKey::of(&WebRequest { url: url.into(), ..WebRequest::default() })
    }

    #[test]
    fn a_page_is_kept_for_a_while_and_within_bounds() {
        let (store, start) = (PageStore::default(), Instant::now());
        store.put(key("a"), &page("12345", 200), 10, start);
        assert!(store.get(&key("a"), start).is_some() && store.get(&key("b"), start).is_none());
        store.put(key("b"), &page("12345", 200), 10, start + Duration::from_secs(60));
        store.put(key("bad"), &page("1234567890", 500), 10, start);
        assert!(store.get(&key("a"), start).is_some() && store.get(&key("bad"), start).is_none());
        store.put(key("c"), &page("1", 200), 10, start + Duration::from_secs(60));
        assert!(store.get(&key("a"), start).is_none(), "the oldest went");
        let later = start + LIFETIME;
        assert!(store.get(&key("b"), later).is_some());
        assert!(store.get(&key("b"), later + Duration::from_secs(60)).is_none());
        store.put(key("d"), &page("12345678901", 200), 10, start);
        assert!(store.get(&key("d"), start).is_none(), "too large");
    }
}
