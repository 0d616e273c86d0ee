//! OpenRouter's `reasoning_details`: thoughts with signatures, which come in pieces and go back whole.

use serde_json::{Map, Value};

/// The fields that grow; all others are replaced by what comes later.
const GROWING: [&str; 3] = ["text", "summary", "data"];

/// The thoughts so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Details(Vec<Map<String, Value>>);

impl Details {
    /// The pieces of one event.
    pub(super) fn push(&mut self, pieces: &Value) {
        let pieces = pieces.as_array().map(Vec::as_slice).unwrap_or_default();
        for piece in pieces.iter().filter_map(Value::as_object) {
            match self.0.last_mut().filter(|last| continues(last, piece)) {
                Some(last) => grow(last, piece),
                None => self.0.push(piece.clone()),
            }
        }
    }

    /// All of them, as one list to send back.
    pub(super) fn take(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.0).into_iter().map(Value::Object).collect()
    }
}

/// Sealed thoughts are never parted, so two of them are two.
fn continues(last: &Map<String, Value>, piece: &Map<String, Value>) -> bool {
    let same = |key| last.get(key) == piece.get(key);
    let has_new_id = piece.get("id").is_some_and(|id| !id.is_null()) && !same("id");
    same("type") && same("index") && !has_new_id && !piece.contains_key("data")
}

fn grow(last: &mut Map<String, Value>, piece: &Map<String, Value>) {
    for (key, value) in piece.iter().filter(|(_, value)| !value.is_null()) {
        match (last.get_mut(key), value) {
            (Some(Value::String(text)), Value::String(more)) if GROWING.contains(&key.as_str()) => {
                text.push_str(more);
            }
            _ => {
                last.insert(key.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pieces_of_one_thought_become_one_again() {
        let mut details = Details::default();
        for piece in [
            json!([{"type": "reasoning.text", "text": "I ", "signature": null, "index": 0, "format": "f"}]),
            json!([{"type": "reasoning.text", "text": "think", "index": 0, "format": "f"}]),
            json!([{"type": "reasoning.text", "signature": "sig", "index": 0}]),
            json!([{"type": "reasoning.encrypted", "data": "a", "id": "1", "index": 1}, {"type": "reasoning.encrypted", "data": "b", "id": "2", "index": 1}]),
            json!([{"type": "reasoning.summary", "summary": "s", "index": 2}, 7]),
            json!(null),
        ] {
            details.push(&piece);
        }
        let whole = json!([
            {"type": "reasoning.text", "text": "I think", "signature": "sig", "index": 0, "format": "f"},
            {"type": "reasoning.encrypted", "data": "a", "id": "1", "index": 1},
            {"type": "reasoning.encrypted", "data": "b", "id": "2", "index": 1},
            {"type": "reasoning.summary", "summary": "s", "index": 2},
        ]);
        assert_eq!(Value::from(details.take()), whole);
        assert!(details.take().is_empty());
    }
}
