//! A name for a conversation, by which OpenAI finds the machine that has its beginning in the cache.

use context_manager::{CacheHint, ModelRequest};
use protocol::ContentHash;

/// Names longer than 64 characters are refused.
const LENGTH: usize = 32;

/// The same name for all requests of a conversation; none if nothing is worth keeping.
pub(crate) fn cache_key(request: &ModelRequest) -> Option<String> {
    if request.cache == CacheHint::Nothing {
        return None;
    }
    let mut beginning = vec![request.model.clone(), request.system.clone()];
    let first = request.messages.first().map(|message| message.content.as_slice());
    beginning.extend(
        first
            .unwrap_or_default()
            .iter()
            .filter_map(|content| content.words().map(ToString::to_string)),
    );
    let mut name = ContentHash::of(beginning.join("\0").as_bytes()).to_string();
    name.truncate(LENGTH);
    Some(name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{empty_request, full_request};

    #[test]
    fn a_conversation_keeps_its_name_as_it_grows_and_shares_it_with_no_other() {
        let request = full_request("p", json!({}));
        let name = cache_key(&request).expect("a conversation is worth keeping");
        assert_eq!(name.len(), LENGTH);
        let mut grown = request.clone();
        grown.messages.push(request.messages[0].clone());
        assert_eq!(cache_key(&grown), Some(name.clone()));
        let mut other = request.clone();
        other.messages.remove(0);
        assert_ne!(cache_key(&other), Some(name));
        assert_eq!(cache_key(&empty_request()), None);
    }
}
