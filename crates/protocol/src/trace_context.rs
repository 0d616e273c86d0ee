//! Where something stands in a trace, as W3C Trace Context writes it.

use serde_json::{Map, Value};

/// The keys under which MCP carries it in `_meta`, without a prefix by exception (SEP-414).
const PARENT: &str = "traceparent";
const STATE: &str = "tracestate";
/// Bytes of a `tracestate` that is handed on. The standard asks for no more.
const STATE_BYTES: usize = 512;
/// Members of a `tracestate`, and bytes of the key and of the value of each.
const STATE_MEMBERS: usize = 32;
const MEMBER_BYTES: usize = 256;
/// The flag with which a caller says that it records the trace.
const SAMPLED: u8 = 1;

/// The span that calls something, and the trace that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext {
    pub trace: [u8; 16],
    /// The span that calls.
    pub span: [u8; 8],
    /// Whether the caller records the trace.
    pub is_sampled: bool,
    /// What vendors add, handed on as it came.
    pub state: Option<String>,
}

impl TraceContext {
    /// What the metadata of a request says. Whatever does not follow the standard counts as not there, so that it
    /// never fails a request.
    pub fn in_meta(meta: &Map<String, Value>) -> Option<Self> {
        let text = |key| meta.get(key).and_then(Value::as_str);
        let context = Self::parse(text(PARENT)?)?;
        let is_handed_on = |state: &&str| state.len() <= STATE_BYTES && is_state(state);
        Some(Self { state: text(STATE).filter(is_handed_on).map(str::to_owned), ..context })
    }

    /// Adds it to the metadata of a request.
    pub fn add_to(&self, meta: &mut Map<String, Value>) {
        meta.insert(PARENT.to_owned(), self.traceparent().into());
        if let Some(state) = &self.state {
            meta.insert(STATE.to_owned(), state.as_str().into());
        }
    }

    /// `00-TRACE-SPAN-FLAGS`.
    pub fn traceparent(&self) -> String {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let flags = if self.is_sampled { SAMPLED } else { 0 };
        format!("00-{}-{}-{flags:02x}", hex(&self.trace), hex(&self.span))
    }

    /// Reads a `traceparent`. A later version than the first may be longer.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let [version] = bytes(parts.next()?)?;
        let trace: [u8; 16] = bytes(parts.next()?)?;
        let span: [u8; 8] = bytes(parts.next()?)?;
        let [flags] = bytes(parts.next()?)?;
        let is_known = version != 0xff && (version > 0 || parts.next().is_none());
        let is_valid = is_known && trace != [0; 16] && span != [0; 8];
        is_valid.then_some(Self { trace, span, is_sampled: flags & SAMPLED != 0, state: None })
    }
}

/// Whether a text is a list of `key=value`. A backend may refuse all that it is sent together with another.
fn is_state(text: &str) -> bool {
    let members: Vec<&str> =
        text.split(',').map(|member| member.trim_matches([' ', '\t'])).collect();
    let is_key = |key: &str| {
        let is_first = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let is_later = |byte: &u8| is_first(byte) || b"_-*/@".contains(byte);
        key.as_bytes().first().is_some_and(is_first) && key.as_bytes().iter().all(is_later)
    };
    let is_value = |value: &str| {
        let is_part = |byte: u8| (b' '..=b'~').contains(&byte) && byte != b'=';
        !value.is_empty() && value.bytes().all(is_part)
    };
    let is_member = |member: &&str| {
        let fits = |part: &str| part.len() <= MEMBER_BYTES;
        member
            .split_once('=')
            .is_some_and(|(key, value)| is_key(key) && fits(key) && is_value(value) && fits(value))
    };
    members.len() <= STATE_MEMBERS
        && members.iter().any(|member| !member.is_empty())
        && members.iter().filter(|member| !member.is_empty()).all(is_member)
}

/// Exactly so many bytes in lower-case hexadecimal digits.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    let is_lower = |digit: &u8| digit.is_ascii_digit() || (b'a'..=b'f').contains(digit);
    if digits.len() != 2 * N || !digits.iter().all(is_lower) {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(text.get(at..at + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const EXAMPLE: &str = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";

    fn read(meta: Value) -> Option<TraceContext> {
        TraceContext::in_meta(meta.as_object().unwrap())
    }

    #[test]
    fn what_was_read_is_written_as_it_came() {
        let given = json!({"traceparent": EXAMPLE, "tracestate": "rojo=00f067aa0ba902b7"});
        let context = read(given.clone()).unwrap();
        assert!(context.is_sampled);
        let mut written = Map::new();
        context.add_to(&mut written);
        assert_eq!(Value::Object(written), given);
        let unsampled = EXAMPLE.replace("-01", "-00");
        assert!(!read(json!({"traceparent": unsampled})).unwrap().is_sampled);
        // Only the first flag is ours to hand on.
        let more = read(json!({"traceparent": EXAMPLE.replace("-01", "-03")})).unwrap();
        assert_eq!(more.traceparent(), EXAMPLE);
    }

    #[test]
    fn what_does_not_follow_the_standard_is_not_there() {
        let later = format!("01{}-more", &EXAMPLE[2..]);
        assert!(read(json!({"traceparent": later})).is_some());
        for wrong in [
            "",
            "00",
            &EXAMPLE.to_uppercase(),
            &format!("{EXAMPLE}-more"),
            &EXAMPLE.replace("00-0a", "ff-0a"),
            &EXAMPLE.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
            &EXAMPLE.replace("00f067aa0ba902b7", &"0".repeat(16)),
            &EXAMPLE.replace("0af7", "0äf7"),
            &EXAMPLE[..EXAMPLE.len() - 1],
            &format!(" {EXAMPLE}"),
        ] {
            assert_eq!(read(json!({"traceparent": wrong})), None, "{wrong}");
        }
        assert_eq!(read(json!({"traceparent": 7})), None);
        assert_eq!(read(json!({})), None);
    }

    fn state(given: Value) -> Option<String> {
        read(json!({"traceparent": EXAMPLE, "tracestate": given})).unwrap().state
    }

    #[test]
    fn a_state_that_cannot_be_handed_on_is_left_out() {
        let many = |count: usize| vec!["a=1"; count].join(",");
        for good in [
            "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE",
            "fw529a3039@dt=FfAAAA , 0a_-*/=x y\t,,",
            &format!("{}=1", "k".repeat(256)),
            &format!("k={}", "v".repeat(256)),
            &many(32),
        ] {
            assert_eq!(state(json!(good)).as_deref(), Some(good));
        }
        for wrong in [
            "",
            " , ",
            "nonsense",
            "a=",
            "=a",
            "A=1",
            "a=1=2",
            "a b=1",
            "a=1,b",
            "a=\n",
            "a=\u{1b}[2J",
            "a=1\r\nauthorization: x",
            "a=ä",
            &format!("{}=1", "k".repeat(257)),
            &format!("k={}", "v".repeat(257)),
            &format!("a={},b={}", "x".repeat(250), "x".repeat(260)),
            &many(33),
            &"a=1,".repeat(4_000_000),
        ] {
            assert_eq!(state(json!(wrong)), None, "{}", &wrong[..wrong.len().min(60)]);
        }
        assert_eq!(state(json!(7)), None);
    }

    proptest! {
        /// Whatever is sent, what is handed on is what the standard allows and nothing that a header or a line could break at.
        #[test]
        fn whatever_is_sent_no_more_than_the_standard_allows_is_handed_on(
            parent in "\\PC{0,20}|[0-9a-f-]{50,60}|(00|01|ff)-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?",
            more in "\\PC{0,40}|([a-z]{1,3}=[ -~]{1,5},){1,40}",
        ) {
            if let Some(context) = read(json!({"traceparent": parent, "tracestate": more})) {
                let mut written = Map::new();
                context.add_to(&mut written);
                for value in written.values() {
                    let text = value.as_str().unwrap();
                    prop_assert!(text.len() <= STATE_BYTES);
                    prop_assert!(text.bytes().all(|byte| (b' '..=b'~').contains(&byte) || byte == b'\t'));
                }
                prop_assert!(context.trace != [0; 16] && context.span != [0; 8]);
                prop_assert_eq!(TraceContext::in_meta(&written), Some(context));
            }
        }
    }
}
