//! What a terminal obeys in the bytes that were written to it, sequence by sequence.

/// What the chat itself writes, besides text: moves within its frame, clearing, modes.
const OWN: [&str; 14] = [
    "\x1b[J",
    "\x1b[K",
    "\x1b[H",
    "\x1b[?2026h",
    "\x1b[?2026l",
    "\x1b[?25h",
    "\x1b[?25l",
    "\x1b[?2004h",
    "\x1b[?2004l",
    "\x1b[>1u",
    "\x1b[<u",
    "\x1b[0m",
    "\r",
    "\n",
];

/// A piece of what was written.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TerminalPiece<'a> {
    Text(&'a str),
    /// A control sequence or a control character.
    Sequence(&'a str),
}

/// Everything that was written, in its order.
pub(super) fn pieces(written: &str) -> Vec<TerminalPiece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = written;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\x1b' => sequence_length(rest),
            _ if is_obeyed(first) => first.len_utf8(),
            _ => {
                let length = rest.find(is_obeyed).unwrap_or(rest.len());
                pieces.push(TerminalPiece::Text(&rest[..length]));
                rest = &rest[length..];
                continue;
            }
        };
        pieces.push(TerminalPiece::Sequence(&rest[..length]));
        rest = &rest[length..];
    }
    pieces
}

/// Controls, and what turns text around or hides it.
fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// The length of the escape sequence that `text` begins with, up to its end or the end of the text.
fn sequence_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let end = |from: usize, is_end: &dyn Fn(u8) -> bool| {
        let found = bytes.iter().skip(from).position(|byte| is_end(*byte));
        found.map_or(bytes.len(), |at| from + at + 1)
    };
    match bytes.get(1) {
        Some(b'[') => end(2, &|byte| (0x40..=0x7e).contains(&byte)),
        Some(b']') => match (text.find("\x1b\\"), text.find('\x07')) {
            (Some(end), bell) if bell.is_none_or(|bell| end < bell) => end + 2,
            (_, bell) => bell.map_or(text.len(), |bell| bell + 1),
        },
        _ => bytes.len().min(2),
    }
}

/// Whether the chat writes it itself. Colours are those of its inks, which never blink or fill the background red.
fn is_own(sequence: &str) -> bool {
    let numbers = |end: char| {
        sequence
            .strip_prefix("\x1b[")
            .and_then(|rest| rest.strip_suffix(end))
            .map(|numbers| numbers.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'))
    };
    let moves = ['A', 'B', 'C'].into_iter().any(|end| numbers(end) == Some(true));
    let paints = numbers('m') == Some(true) && sequence != "\x1b[5;41m";
    let links = sequence.starts_with("\x1b]8;;");
    // A question rings the bell.
    OWN.contains(&sequence) || moves || paints || links || sequence == "\x07"
}

/// The sequences that are not the chat's own. Colours and links are, where there are colours.
pub(super) fn obeyed(written: &[u8]) -> Vec<String> {
    let written = String::from_utf8_lossy(written);
    let pieces = pieces(&written);
    let others = pieces.iter().filter_map(|piece| match piece {
        TerminalPiece::Sequence(sequence) if !is_own(sequence) => Some(sequence.escape_debug()),
        _ => None,
    });
    others.map(|sequence| sequence.to_string()).collect()
}

/// Whether attributes were written.
pub(super) fn paints(written: &[u8]) -> bool {
    let written = String::from_utf8_lossy(written);
    pieces(&written).iter().any(|piece| match piece {
        TerminalPiece::Sequence(sequence) => sequence.ends_with('m') || sequence.contains("]8;"),
        TerminalPiece::Text(_) => false,
    })
}

/// The text that was written while no frame was: there is none unless the terminal echoes what is typed.
pub(super) fn outside_of_updates(written: &[u8]) -> String {
    let written = String::from_utf8_lossy(written);
    let mut is_in_update = false;
    let mut outside = String::new();
    for piece in pieces(&written) {
        match piece {
            TerminalPiece::Sequence("\x1b[?2026h") => is_in_update = true,
            TerminalPiece::Sequence("\x1b[?2026l") => is_in_update = false,
            TerminalPiece::Text(text) if !is_in_update => outside.push_str(text),
            _ => {}
        }
    }
    outside
}

#[test]
fn sequences_are_told_from_text() {
    let text = "a\x1b[2Jb\x1b]0;t\x07c\u{9b}\x1bc\u{200b}\x1b[5;41m\x1b[31m\x1b[2C\r\n";
    let others = obeyed(text.as_bytes());
    assert_eq!(others.len(), 6, "{others:?}");
    assert_eq!(outside_of_updates(b"a\x1b[?2026hb\x1b[?2026lc"), "ac");
    assert!(paints(b"\x1b[1m") && !paints(b"\x1b[2Jm"));
}
