//! What is pasted: cleaned, and collapsed if it is long.

use super::edit_buffer::TextChip;
use super::mentions::mention_of;

/// A paste with more lines than this is collapsed.
const MOST_LINES: usize = 5;
/// A paste with more characters than this is collapsed.
const MOST_CHARACTERS: usize = 500;

const IMAGE_ENDINGS: [&str; 6] = [".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp"];

/// What a paste becomes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pasted {
    Text(String),
    Chip(TextChip),
}

pub(crate) fn pasted(text: &str) -> Pasted {
    let text = cleaned(text);
    if let Some(path) = image_path(&text) {
        let mention = mention_of(&path);
        return Pasted::Chip(TextChip { label: mention.clone(), text: mention });
    }
    let (lines, characters) = (text.lines().count(), text.chars().count());
    let label = if lines > MOST_LINES {
        format!("[pasted {lines} lines]")
    } else if characters > MOST_CHARACTERS {
        format!("[pasted {characters} characters]")
    } else {
        return Pasted::Text(text);
    };
    Pasted::Chip(TextChip { label, text })
}

/// Text with `\n` at the end of lines and no control characters but these and tabs.
pub(crate) fn cleaned(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

/// The path of an image, if the text is nothing else. Terminals write a dropped file in quotes, with backslashes
/// or as an address.
fn image_path(text: &str) -> Option<String> {
    let text = text.trim();
    let quoted = |mark: char| text.strip_prefix(mark)?.strip_suffix(mark);
    let path = match quoted('\'').or_else(|| quoted('"')) {
        Some(path) => path.to_owned(),
        None => match text.strip_prefix("file://") {
            Some(address) => percent_decoded(address.strip_prefix("localhost").unwrap_or(address))?,
            None if text.contains(char::is_whitespace) && !text.contains("\\ ") => return None,
            None => text.replace("\\ ", " ").replace("\\(", "(").replace("\\)", ")"),
        },
    };
    let lower = path.to_lowercase();
    let is_image = IMAGE_ENDINGS.iter().any(|ending| lower.ends_with(ending));
    let is_one = path.starts_with('/') && !path.contains(['\n', '"']);
    (is_image && is_one).then_some(path)
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        let digits = (*first == b'%').then(|| after.get(..2)).flatten();
        let code = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => bytes.push(*first),
        }
    }
    let text = String::from_utf8(bytes).ok()?;
    (!text.contains(char::is_control)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_pastes_collapse_and_short_ones_are_cleaned() {
        let long = "line\r\n".repeat(41);
        let Pasted::Chip(chip) = pasted(&long) else { panic!("it is long") };
        assert_eq!(chip.label, "[pasted 41 lines]");
        assert_eq!(chip.text, "line\n".repeat(41));
        let Pasted::Chip(wide) = pasted(&"é".repeat(501)) else { panic!("it is wide") };
        assert_eq!(wide.label, "[pasted 501 characters]");
        assert_eq!(pasted("a\rb\tc\x1b[2J\0"), Pasted::Text("a\nb\tc[2J".into()));
        assert_eq!(pasted(&"x\n".repeat(5)), Pasted::Text("x\n".repeat(5)));
    }

    #[test]
    fn the_path_of_an_image_becomes_a_mention() {
        let table = [
            ("/abs/shot.png", Some("@/abs/shot.png")),
            ("'/abs/my shot.PNG' ", Some("@\"/abs/my shot.PNG\"")),
            ("/abs/my\\ shot.png", Some("@\"/abs/my shot.png\"")),
            ("file:///abs/my%20shot.jpg", Some("@\"/abs/my shot.jpg\"")),
            ("/abs/notes.txt", None),
            ("see /abs/shot.png", None),
            ("shot.png", None),
            ("file:///a%0Ab.png", None),
            ("/a.png\n/b.png", None),
        ];
        for (text, expected) in table {
            let mention = match pasted(text) {
                Pasted::Chip(chip) => Some(chip.text),
                Pasted::Text(_) => None,
            };
            assert_eq!(mention.as_deref(), expected, "{text}");
        }
    }
}
