//! What the web tools share: fetching, pages, memory, searching.
//!
//! A web tool proposes a `WebRequest`; [`WebAccess`] performs it once it is approved. Connections are
//! made by [`net::WebClient`], which judges every address.

mod access;
mod markdown;
mod naming;
mod nesting;
mod page;
mod page_store;
mod rate_limit;
mod search;

pub use access::{WebAccess, WebOptions};
pub use search::{
    AskedSearch, Recency, SearchFormat, SearchHit, SearchKind, SearchProvider, SearchQuestion,
    SearchServer,
};

pub(crate) use naming::is_named_in;
pub(crate) use page::{PageView, WebPage};
pub(crate) use page_store::{PageKey, PageStore};
