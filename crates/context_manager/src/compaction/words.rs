//! Texts in less room. What the user said is whole as long as it fits; else its beginning and its
//! end are shown, and where the rest can be read.

use std::fmt::Write as _;

use protocol::{MessageHandle, joined_parts, line_after};

use crate::facts::Said;

/// What the note about a left out part takes, at most.
const NOTE: u64 = 48;
/// Less than this of an attached file is not worth showing.
const LEAST_OF_A_FILE: u64 = 2 * NOTE;
/// How many handles a list names.
const MOST_HANDLES: usize = 8;

/// What a text takes in a request, where it stands as a JSON string: line breaks and quotes take
/// more than in the text itself.
pub(super) fn cost(text: &str) -> u64 {
    let quarters: u64 = text.chars().map(price).sum();
    quarters.div_ceil(4)
}

/// What a character takes, in quarters of a token, by the rule of [`protocol::estimate_tokens`].
fn price(character: char) -> u64 {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..'\u{20}' => 6,
        _ if character.is_ascii() => 1,
        _ => 4,
    }
}

/// The beginning of a text that takes at most `tokens` tokens.
fn beginning(text: &str, tokens: u64) -> &str {
    let length = length(text.chars(), tokens);
    &text[..MessageHandle::cut_before(text, length)]
}

/// The end of a text that takes at most `tokens` tokens.
fn ending(text: &str, tokens: u64) -> &str {
    let length = length(text.chars().rev(), tokens);
    &text[text.len() - length..]
}

/// The bytes of as many characters as take at most `tokens` tokens.
fn length(characters: impl Iterator<Item = char>, tokens: u64) -> usize {
    let mut quarters = tokens.saturating_mul(4);
    let fits = |character: &char| {
        let left = quarters.checked_sub(price(*character));
        quarters = left.unwrap_or_default();
        left.is_some()
    };
    characters.take_while(fits).map(char::len_utf8).sum()
}

/// The beginning and the end of a text, so that both together take about `tokens` tokens.
pub(super) fn shortened(text: &str, tokens: u64) -> String {
    if cost(text) <= tokens {
        return text.to_owned();
    }
    let note = format!("\n[… shortened from {} characters …]\n", text.chars().count());
    around(text, tokens.saturating_sub(cost(&note)), |_, _| note)
}

/// As much of a text as takes `tokens` tokens, with a note in the middle that is made from how much
/// of its beginning and how many characters in between are meant.
fn around(text: &str, tokens: u64, note: impl FnOnce(&str, usize) -> String) -> String {
    let head = beginning(text, tokens - tokens / 3);
    let rest = &text[head.len()..];
    let tail = ending(rest, tokens / 3);
    let left_out = rest[..rest.len() - tail.len()].chars().count();
    let note = note(head, left_out);
    match tokens {
        0 => note.trim().to_owned(),
        _ => format!("{head}{note}{tail}"),
    }
}

/// What the user said, in about `tokens` tokens, part by part. Attached files are shortened before
/// the user's own words are. `readable` says whether handles can be promised.
pub(super) fn in_room(said: &Said, tokens: u64, readable: bool) -> Vec<String> {
    let spoken = |part: &&String| !part.trim().is_empty();
    if said.parts.iter().filter(spoken).map(|part| cost(part)).sum::<u64>() <= tokens {
        return said.parts.iter().filter(spoken).cloned().collect();
    }
    let Some((own, attached)) = said.parts.split_first() else { return Vec::new() };
    let attached: Vec<usize> =
        (1..=attached.len()).filter(|&at| !said.parts[at].trim().is_empty()).collect();
    let for_files = if attached.is_empty() { 0 } else { NOTE };
    let own_words = said.cut(0, tokens.saturating_sub(for_files), readable);
    let left = tokens.saturating_sub(cost(&own_words));
    let mut shown = if own.trim().is_empty() { Vec::new() } else { vec![own_words] };
    let costs: Vec<u64> = attached.iter().map(|&at| cost(&said.parts[at])).collect();
    let shares = fair_shares(&costs, left);
    let too_small = |(cost, share): (&u64, &u64)| *share < LEAST_OF_A_FILE && share < cost;
    if costs.iter().zip(&shares).any(too_small) {
        shown.push(said.without_files(attached.len(), readable));
    } else {
        shown.extend(attached.iter().zip(shares).map(|(&at, share)| said.cut(at, share, readable)));
    }
    shown
}

/// What the user said, in a line of a list.
pub(super) fn in_brief(said: &Said, tokens: u64, readable: bool) -> String {
    let own = said.parts.first().map(|own| own.trim()).unwrap_or_default();
    if said.parts.len() <= 1 && cost(own) <= tokens {
        return own.to_owned();
    }
    let shown = beginning(own, tokens).trim_end();
    match readable {
        true => format!("{shown}… [the whole: {}]", MessageHandle(said.sequence)),
        false => format!("{shown}…"),
    }
}

/// Handles for these entries: all of them, or the first ones and the last.
pub(super) fn handles(sequences: &[u64]) -> String {
    let named = |sequences: &[u64]| {
        let handles = sequences.iter().map(|&sequence| MessageHandle(sequence).to_string());
        handles.collect::<Vec<_>>().join(", ")
    };
    match sequences {
        [first @ .., last] if sequences.len() > MOST_HANDLES => {
            let first = &first[..MOST_HANDLES - 1];
            let more = sequences.len() - first.len();
            format!("{} and {more} more up to {}", named(first), MessageHandle(*last))
        }
        all => named(all),
    }
}

impl Said {
    /// One part in about `tokens` tokens.
    fn cut(&self, at: usize, tokens: u64, readable: bool) -> String {
        let text = &self.parts[at];
        if cost(text) <= tokens {
            return text.clone();
        }
        around(text, tokens.saturating_sub(NOTE), |head, left_out| {
            let total = text.chars().count();
            let mut note = format!("\n[… {left_out} of {total} characters are left out here");
            if readable {
                let line = line_after(&self.up_to(at, head));
                let handle = MessageHandle(self.sequence);
                // Writing to a string cannot fail.
                let _ = write!(note, ": read {handle} like a file, from line {line}");
            }
            note + " …]\n"
        })
    }

    /// What stands for all attached files.
    fn without_files(&self, count: usize, readable: bool) -> String {
        let files = if count == 1 { "an attached file is" } else { "attached files are" };
        let number = if count == 1 { String::new() } else { format!("{count} ") };
        match readable {
            true => {
                let line = line_after(&self.up_to(1, ""));
                let handle = MessageHandle(self.sequence);
                format!("[{number}{files} left out: read {handle} like a file, from line {line}]")
            }
            false => format!("[{number}{files} left out]"),
        }
    }

    /// What is read before a place in a part, by the handle of the message.
    fn up_to(&self, at: usize, head: &str) -> String {
        joined_parts(self.parts[..at].iter().map(String::as_str).chain([head]))
    }
}

/// Divides `total` among needs: each gets what it needs or, if that is too much, an equal share.
fn fair_shares(needs: &[u64], total: u64) -> Vec<u64> {
    let mut order: Vec<usize> = (0..needs.len()).collect();
    order.sort_by_key(|&at| needs[at]);
    let mut shares = vec![0; needs.len()];
    let mut left = total;
    for (done, at) in order.into_iter().enumerate() {
        let equal = left / (needs.len() - done) as u64;
        shares[at] = needs[at].min(equal);
        left -= shares[at];
    }
    shares
}

/// What is shown of several messages of the user in about `tokens` tokens, where that is not all.
pub(super) fn of_all<'a>(
    said: impl Iterator<Item = &'a Said>,
    tokens: u64,
    readable: bool,
) -> Vec<(u64, Vec<String>)> {
    let said: Vec<&Said> = said.collect();
    let needs: Vec<u64> =
        said.iter().map(|said| said.parts.iter().map(|part| cost(part)).sum()).collect();
    let shares = fair_shares(&needs, tokens);
    let cut = said.iter().zip(needs).zip(shares).filter(|((_, need), share)| share < need);
    cut.map(|((said, _), share)| (said.sequence, in_room(said, share, readable))).collect()
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use proptest::prelude::*;
    use protocol::{Content, SessionEvent, estimate_tokens, recalled_text};

    use super::*;

    fn said(parts: &[&str]) -> Said {
        Said { sequence: 12, parts: parts.iter().map(|&part| part.to_owned()).collect() }
    }

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end() {
        let long = format!("begin {} end", "x".repeat(4000));
        assert_snapshot!(shortened(&long, 20), @"
        begin xxxxxxxxxxxxxxxxxx
        [… shortened from 4010 characters …]
        xxxx end
        ");
        assert_eq!(shortened("short", 20), "short");
    }

    #[test]
    fn own_words_are_whole_as_long_as_there_is_room_and_files_make_it() {
        let words = "Fix the parser, please. ".repeat(20);
        let file = (1..=400).map(|line| format!("line {line}\n")).collect::<String>();
        let long = said(&[&words, &file, "a short file"]);
        let shown = in_room(&long, 500, true);
        assert_eq!((shown[0].as_str(), shown[2].as_str()), (words.as_str(), "a short file"));
        assert_snapshot!(shown[1].lines().filter(|line| line.contains('[')).collect::<String>(), @"[… 2318 of 3492 characters are left out here: read message:12 like a file, from line 101 …]");
        let noted = |tokens, readable| {
            let shown = in_room(&long, tokens, readable);
            assert_eq!(shown[0], words);
            shown[1..].join("\n")
        };
        assert_snapshot!(noted(180, true), @"[2 attached files are left out: read message:12 like a file, from line 3]");
        assert_snapshot!(noted(180, false), @"[2 attached files are left out]");
        assert_snapshot!(in_room(&long, 110, true).join("\n---\n"), @"
        Fix the parser, please. Fix the parser, 
        [… 424 of 480 characters are left out here: read message:12 like a file, from line 1 …]
        parser, please. 
        ---
        [2 attached files are left out: read message:12 like a file, from line 3]
        ");
    }

    #[test]
    fn lists_are_short_and_name_what_they_leave_out() {
        assert_eq!(in_brief(&said(&["Do it."]), 20, true), "Do it.");
        assert_snapshot!(in_brief(&said(&[&"word ".repeat(50)]), 5, true), @"word word word word… [the whole: message:12]");
        assert_snapshot!(in_brief(&said(&["Look.", "a file"]), 20, true), @"Look.… [the whole: message:12]");
        let many: Vec<u64> = (1..=40).collect();
        assert_snapshot!(handles(&many[..3]), @"message:1, message:2, message:3");
        assert!(handles(&many).ends_with(", message:7 and 33 more up to message:40"));
    }

    fn any_text() -> impl Strategy<Value = String> {
        prop_oneof![".{0,400}", "[a-z \n\"]{0,3000}", "x{0,4000}", "\u{1}{0,50}"]
    }

    proptest! {
        #[test]
        fn a_text_costs_what_it_takes_in_a_request(text in any_text()) {
            let json = serde_json::to_string(&text).unwrap();
            let quotes = estimate_tokens(&json) as u64;
            prop_assert!(cost(&text) <= quotes && quotes <= cost(&text) + 1);
        }

        #[test]
        fn what_is_shown_is_as_short_as_asked_and_the_rest_is_where_it_says(
            parts in prop::collection::vec(any_text(), 1..4),
            tokens in 100u64..900,
        ) {
            let said = Said { sequence: 12, parts };
            let shown = in_room(&said, tokens, true);
            let taken: u64 = shown.iter().map(|part| cost(part)).sum();
            prop_assert!(taken <= tokens + NOTE, "{} > {}", taken, tokens);
            let all: u64 = said.parts.iter().map(|part| cost(part)).sum();
            let whole = said.parts.iter().filter(|part| !part.trim().is_empty()).eq(shown.iter());
            prop_assert!(whole == (all <= tokens) || whole);
            if !whole {
                let shown = shown.join("\n");
                prop_assert!(shown.contains("message:12"), "{}", shown);
                let content = said.parts.iter().map(|text| Content::Text { text: text.into() });
                let event = SessionEvent::UserMessage { content: content.collect() };
                let recalled = recalled_text(&event).unwrap();
                let lines = recalled.matches('\n').count() + 1;
                for line in shown.split("from line ").skip(1) {
                    let number = line.split(|c: char| !c.is_ascii_digit()).next().unwrap();
                    if let Ok(number) = number.parse::<usize>() {
                        prop_assert!((1..=lines).contains(&number), "{} of {}", number, lines);
                    }
                }
            }
        }

        #[test]
        fn shares_are_fair(needs in prop::collection::vec(0u64..1000, 1..6), total in 0u64..3000) {
            let shares = fair_shares(&needs, total);
            let given: u64 = shares.iter().sum();
            prop_assert_eq!(given <= total, true);
            if needs.iter().sum::<u64>() <= total {
                prop_assert_eq!(shares, needs);
            }
        }
    }
}
