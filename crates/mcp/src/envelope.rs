//! Recovers id and method from a message that is malformed or too long.

use memchr::memchr2;
use rmcp::model::RequestId;

/// Bytes of a key or plain value at the top level that are kept; ids of real clients are far
/// shorter.
const TOKEN_BYTES: usize = 256;

/// Finds the `id` and the `method` at the top level of a JSON text that arrives in pieces, without
/// keeping the text. So a client whose request is too long or malformed still gets an
/// answer that it can match.
#[derive(Default)]
pub(crate) struct Envelope {
    depth: usize,
    in_string: bool,
    escaped: bool,
    key: Vec<u8>,
    token: Vec<u8>,
    id: Option<RequestId>,
    has_method: bool,
}

impl Envelope {
    /// Looks through a whole text.
    pub(crate) fn of(text: &[u8]) -> Self {
        let mut envelope = Self::default();
        envelope.feed(text);
        envelope
    }

    /// The id, if the text is a request.
    pub(crate) fn request_id(&self) -> Option<RequestId> {
        self.id.clone().filter(|_| self.has_method)
    }

    /// Whether the text is a notification, which must never be answered.
    pub(crate) fn is_notification(&self) -> bool {
        self.has_method && self.id.is_none()
    }

    /// Takes the next piece.
    pub(crate) fn feed(&mut self, piece: &[u8]) {
        let mut rest = piece;
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            if self.in_string {
                self.inside_string(byte);
                if self.in_string && !self.escaped && !self.keeps() {
                    let next = memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
                    rest = &rest[next..];
                }
            } else {
                self.outside_strings(byte);
            }
        }
    }

    fn inside_string(&mut self, byte: u8) {
        self.keep(byte);
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' => self.escaped = true,
            b'"' => self.in_string = false,
            _ => {}
        }
    }

    fn outside_strings(&mut self, byte: u8) {
        match byte {
            b'"' => {
                self.in_string = true;
                self.keep(byte);
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.end_member();
                self.depth = self.depth.saturating_sub(1);
            }
            b',' => self.end_member(),
            b':' if self.depth == 1 => self.key = std::mem::take(&mut self.token),
            _ if byte.is_ascii_whitespace() => {}
            _ => self.keep(byte),
        }
    }

    fn keeps(&self) -> bool {
        // One byte more than allowed marks the token as too long, so that it matches nothing.
        self.depth == 1 && self.token.len() <= TOKEN_BYTES
    }

    fn keep(&mut self, byte: u8) {
        if self.keeps() {
            self.token.push(byte);
        }
    }

    fn end_member(&mut self) {
        if self.depth != 1 {
            return;
        }
        let token = std::mem::take(&mut self.token);
        match std::mem::take(&mut self.key).as_slice() {
            b"\"id\"" if token.len() <= TOKEN_BYTES => {
                self.id = serde_json::from_slice(&token).ok()
            }
            b"\"method\"" => self.has_method = true,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> (Option<String>, bool) {
        let envelope = Envelope::of(text.as_bytes());
        (envelope.request_id().map(|id| id.to_string()), envelope.is_notification())
    }

    #[test]
    fn the_id_of_a_request_is_found_wherever_it_stands() {
        let padding = "x".repeat(5000);
        let table = [
            (r#"{"id":7,"method":"m","params":{}}"#.to_owned(), Some("7")),
            (format!(r#"{{"method":"m","params":{{"t":"{padding}"}},"id":7}}"#), Some("7")),
            (format!(r#"{{"method":"{padding}","id":"a-b"}}"#), Some("a-b")),
            (r#" { "id" : "q\"," , "method" : "m" } "#.to_owned(), Some("q\",")),
            (r#"{"id":7,"method":"m","params":{"x":"cut off"#.to_owned(), Some("7")),
            (r#"{"id":7,"method":"m","params":[{"id":8}],"#.to_owned(), Some("7")),
            (r#"{"params":{"id":7},"text":"\"id\":7,","method":"m"}"#.to_owned(), None),
            (r#"[{"id":7,"method":"m"}]"#.to_owned(), None),
            (r#"{"id":7,"result":{}}"#.to_owned(), None),
            (r#"{"id":null,"method":"m"}"#.to_owned(), None),
            (format!(r#"{{"id":"{padding}","method":"m"}}"#), None),
            ("}}]],,::\"".to_owned(), None),
        ];
        for (text, expected) in table {
            assert_eq!(told(&text).0.as_deref(), expected, "{text:.80}");
        }
    }

    #[test]
    fn a_message_with_a_method_and_no_id_is_a_notification() {
        assert!(told(r#"{"method":"notifications/x","params":{"id":1}}"#).1);
        assert!(!told(r#"{"id":1,"method":"x"}"#).1);
        assert!(!told(r#"{"id":1}"#).1);
    }

    #[test]
    fn pieces_reveal_what_the_whole_reveals() {
        let text = br#"{"method":"m\\","params":{"a":"\"b"},"id":"c\\d"}"#;
        for at in 0..text.len() {
            let mut envelope = Envelope::default();
            envelope.feed(&text[..at]);
            envelope.feed(&text[at..]);
            assert_eq!(envelope.request_id(), Some(RequestId::String("c\\d".into())), "{at}");
        }
    }
}
