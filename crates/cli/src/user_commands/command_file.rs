//! The text of a command that a user has written.

/// A command that sends a prepared message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UserCommand {
    /// As it is typed after the slash.
    pub(crate) name: String,
    /// What it does, for help and completion; the beginning of its text if nothing is said.
    pub(crate) about: String,
    /// What is typed after the name, such as `[FILE]`.
    pub(crate) argument_hint: Option<String>,
    body: Vec<BodyPiece>,
}

/// A part of the message.
#[derive(Clone, Debug, PartialEq, Eq)]
enum BodyPiece {
    Text(String),
    /// Everything that is typed after the name.
    AllArguments,
    /// A word of it, counted from 0.
    Argument(usize),
}

/// What stands above and below the description of a command.
const FENCE: &str = "---";
/// Characters of the text that stand for a description.
const ABOUT_LENGTH: usize = 60;
/// Stands for everything that is typed after the name.
const ALL_ARGUMENTS: &str = "ARGUMENTS";
/// What can be typed after a name, if the file does not say it.
const ANY_ARGUMENTS: &str = "[ARGUMENTS]";

impl UserCommand {
    /// Reads a file: an optional block with `description` and `argument-hint` between two lines of
    /// dashes, then the message. An error is a part of a sentence.
    pub(crate) fn parse(name: &str, text: &str) -> Result<Self, String> {
        let is_part =
            |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        if name.is_empty() || !name.chars().all(is_part) {
            return Err("has a name with other characters than a-z, 0-9, - and _".to_owned());
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (head, body) = split(text)?;
        let (mut about, mut argument_hint) = (None, None);
        for line in head.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (key, value) = line.split_once(':').ok_or_else(|| {
                format!("begins with the line `{line}`, which is not of the form `key: value`")
            })?;
            let value = unquoted(value.trim());
            match key.trim() {
                "description" => about = Some(value.to_owned()),
                "argument-hint" => argument_hint = Some(value.to_owned()),
                // Files that were written for other programs have more.
                _ => {}
            }
        }
        let body = body.trim();
        if body.is_empty() {
            return Err("has no text to send".to_owned());
        }
        let pieces = pieces(body);
        let takes_arguments = pieces.iter().any(|piece| !matches!(piece, BodyPiece::Text(_)));
        let hint = argument_hint.filter(|hint| !hint.is_empty());
        let first = || body.lines().next().unwrap_or_default().chars().take(ABOUT_LENGTH).collect();
        Ok(Self {
            name: name.to_owned(),
            about: about.filter(|about| !about.is_empty()).unwrap_or_else(first),
            argument_hint: hint.or_else(|| takes_arguments.then(|| ANY_ARGUMENTS.to_owned())),
            body: pieces,
        })
    }

    /// The command as it is typed, such as `/review [FILE]`.
    pub(crate) fn usage(&self) -> String {
        let hint = self.argument_hint.iter().map(|hint| format!(" {hint}"));
        format!("/{}{}", self.name, hint.collect::<String>())
    }

    /// The message, with what was typed in the places of `$ARGUMENTS`, `$1`, `$2` …; at its end if it
    /// has no such place.
    pub(crate) fn message(&self, arguments: &str) -> String {
        let arguments = arguments.trim();
        let each = argument_words(arguments);
        let mut message = String::new();
        for piece in &self.body {
            message.push_str(match piece {
                BodyPiece::Text(text) => text,
                BodyPiece::AllArguments => arguments,
                BodyPiece::Argument(at) => each.get(*at).map_or("", String::as_str),
            });
        }
        let has_place = self.body.iter().any(|piece| !matches!(piece, BodyPiece::Text(_)));
        if !has_place && !arguments.is_empty() {
            message.push_str(&format!("\n\n{arguments}"));
        }
        message
    }
}

/// The text of a file, with `$ARGUMENTS` and `$1`, `$2` … as places.
fn pieces(body: &str) -> Vec<BodyPiece> {
    let mut pieces = Vec::new();
    let (mut text, mut rest) = (String::new(), body);
    while let Some(at) = rest.find('$') {
        text.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number = after[..digits].parse().ok().and_then(|number: usize| number.checked_sub(1));
        let (place, after) = match (after.strip_prefix(ALL_ARGUMENTS), number) {
            (Some(after), _) => (BodyPiece::AllArguments, after),
            (None, Some(number)) => (BodyPiece::Argument(number), &after[digits..]),
            (None, None) => {
                text.push('$');
                rest = after;
                continue;
            }
        };
        pieces.push(BodyPiece::Text(std::mem::take(&mut text)));
        pieces.push(place);
        rest = after;
    }
    text.push_str(rest);
    pieces.push(BodyPiece::Text(text));
    pieces
}

/// The block at the beginning, if there is one, and the rest.
fn split(text: &str) -> Result<(&str, &str), String> {
    let Some(rest) = text.strip_prefix(FENCE).filter(|rest| rest.starts_with(['\n', '\r'])) else {
        return Ok(("", text));
    };
    let mut start = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == FENCE {
            return Ok((&rest[..start], &rest[start + line.len()..]));
        }
        start += line.len();
    }
    Err("begins with a block that has no end; a line `---` ends it".to_owned())
}

fn unquoted(value: &str) -> &str {
    let within = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    within('"').or_else(|| within('\'')).unwrap_or(value)
}

/// Words, of which those in double quotes may hold blanks.
fn argument_words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, false);
    for c in text.chars() {
        match c {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            c if c.is_whitespace() && !quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_what_it_does_and_what_it_takes() {
        let text = "---\ndescription: \"Review: a file\"\nargument-hint: [FILE]\nmodel: x\n---\n\nLook at $1.\n";
        let command = UserCommand::parse("review", text).unwrap();
        assert_eq!(
            (command.about.as_str(), &*command.usage()),
            ("Review: a file", "/review [FILE]")
        );
        assert_eq!(command.message("src/a.rs"), "Look at src/a.rs.");
        let bare = UserCommand::parse("tidy", "Tidy up.\nThen stop.").unwrap();
        assert_eq!((bare.about.as_str(), &*bare.usage()), ("Tidy up.", "/tidy"));
        for takes in ["Fix $ARGUMENTS", "Fix $1"] {
            let command = UserCommand::parse("fix", takes).unwrap();
            assert_eq!(command.usage(), "/fix [ARGUMENTS]", "{takes}");
        }
    }

    #[test]
    fn what_was_typed_stands_where_the_text_wants_it() {
        let table = [
            ("Fix $ARGUMENTS now", "a  b", "Fix a  b now"),
            ("$1 then $2", "\"a b\" c d", "a b then c"),
            ("$1 and $3", "x", "x and "),
            ("Costs $5 or $x", "", "Costs  or $x"),
            ("No place", "here", "No place\n\nhere"),
            ("No place", " ", "No place"),
            ("$ARGUMENTS", "$1 $ARGUMENTS", "$1 $ARGUMENTS"),
            ("$0 $", "", "$0 $"),
        ];
        for (body, typed, expected) in table {
            let command = UserCommand::parse("x", body).unwrap();
            assert_eq!(command.message(typed), expected, "{body} with {typed}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        let wrong = |name, text| UserCommand::parse(name, text).unwrap_err();
        assert!(wrong("Two words", "x").contains("other characters"));
        assert!(wrong("x", "---\ndescription: a\n").contains("has no end"));
        assert!(wrong("x", "---\nnonsense\n---\nx").contains("`nonsense`"));
        assert!(wrong("x", "---\ndescription: a\n---\n \n").contains("no text"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "[-$a:1\\n \"é]{0,40}", typed in "[$1a\" é]{0,20}") {
            if let Ok(command) = UserCommand::parse("x", &text) {
                command.message(&typed);
            }
        }
    }
}
