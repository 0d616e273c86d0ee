//! What calls a user back to the terminal: a bell, or a message on the desktop.

use timeline::safe_text::harmless;

use crate::columns::fit;

/// Columns of a message. Desktops show about one line.
const MOST_COLUMNS: usize = 100;
/// Stands before every message. A terminal that knows other commands by the same number, such as
/// progress bars by `9;4`, must not take a text for one.
const SENDER: &str = "toolkiln";

/// What a user wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NotificationKind {
    /// The bell, which every terminal has.
    #[default]
    Bell,
    /// A message on the desktop, where the terminal can show one.
    Desktop,
    /// Nothing.
    Off,
}

/// How the terminal shows a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Channel {
    Nothing,
    Bell,
    /// `OSC 9`, as documented by iTerm2, WezTerm, kitty, foot and Ghostty. Others leave it out.
    Osc9,
    /// `OSC 777`, as documented by urxvt, which takes no `OSC 9`.
    Osc777,
}

/// How this terminal is made to call its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notification {
    channel: Channel,
    /// Whether tmux has to hand it on to the terminal that it runs in.
    through_tmux: bool,
}

impl Notification {
    /// Chooses by the variables `TERM`, `TMUX` and `STY`, which `read` gives.
    pub fn new(kind: NotificationKind, read: impl Fn(&str) -> Option<String>) -> Self {
        let read = |name: &str| read(name).unwrap_or_default();
        let term = read("TERM");
        let through_tmux = !read("TMUX").is_empty();
        // The console of Linux prints a part of what it does not know, and GNU screen hands nothing on.
        let is_plain = matches!(term.as_str(), "" | "dumb" | "linux")
            || !read("STY").is_empty() && !through_tmux;
        let channel = match kind {
            NotificationKind::Off => Channel::Nothing,
            NotificationKind::Bell => Channel::Bell,
            NotificationKind::Desktop if is_plain => Channel::Bell,
            NotificationKind::Desktop if term.starts_with("rxvt") => Channel::Osc777,
            NotificationKind::Desktop => Channel::Osc9,
        };
        Self { channel, through_tmux }
    }

    /// The bytes that say `text`; empty if nothing is to be said.
    pub fn bytes(&self, text: &str) -> String {
        let words: Vec<&str> = text.split_whitespace().collect();
        let text = fit(&harmless(&words.join(" ")), MOST_COLUMNS);
        // A semicolon separates the parts of a command.
        let text = text.replace(';', ",");
        let command = match self.channel {
            Channel::Nothing => return String::new(),
            // tmux knows the bell itself.
            Channel::Bell => return "\x07".to_owned(),
            Channel::Osc9 => format!("\x1b]9;{SENDER}: {text}\x07"),
            Channel::Osc777 => format!("\x1b]777;notify;{SENDER};{text}\x07"),
        };
        match self.through_tmux {
            true => format!("\x1bPtmux;{}\x1b\\", command.replace('\x1b', "\x1b\x1b")),
            false => command,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Variables<'a> = &'a [(&'a str, &'a str)];

    fn notification(kind: NotificationKind, variables: Variables<'_>) -> Notification {
        let variables = variables.to_vec();
        Notification::new(kind, move |name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn each_terminal_gets_what_it_documents() {
        use NotificationKind::{Bell, Desktop, Off};
        let tmux = ("TMUX", "/tmp/tmux-0/default,1,0");
        let osc9 = "\x1b]9;toolkiln: done\x07";
        let table: [(NotificationKind, Variables<'_>, &str); 13] = [
            (Off, &[("TERM", "xterm-kitty")], ""),
            (Off, &[("TERM", "tmux-256color"), tmux], ""),
            (Bell, &[("TERM", "xterm-kitty")], "\x07"),
            (Bell, &[("TERM", "tmux-256color"), tmux], "\x07"),
            (Bell, &[], "\x07"),
            (Desktop, &[("TERM", "xterm-256color")], osc9),
            (Desktop, &[("TERM", "foot")], osc9),
            (Desktop, &[("TERM", "rxvt-unicode-256color")], "\x1b]777;notify;toolkiln;done\x07"),
            (Desktop, &[("TERM", "linux")], "\x07"),
            (Desktop, &[("TERM", "dumb")], "\x07"),
            (Desktop, &[], "\x07"),
            (Desktop, &[("TERM", "screen"), ("STY", "1.pts-0")], "\x07"),
            (
                Desktop,
                &[("TERM", "tmux-256color"), tmux],
                "\x1bPtmux;\x1b\x1b]9;toolkiln: done\x07\x1b\\",
            ),
        ];
        for (kind, variables, expected) in table {
            assert_eq!(notification(kind, variables).bytes("done"), expected, "{variables:?}");
        }
    }

    #[test]
    fn a_text_is_one_short_line() {
        let osc9 = notification(NotificationKind::Desktop, &[("TERM", "xterm")]);
        let long = osc9.bytes(&"漢".repeat(200));
        assert!(long.ends_with("…\x07") && long.len() < 200, "{long:?}");
        assert_eq!(osc9.bytes("4;1;50\n b\t"), "\x1b]9;toolkiln: 4,1,50 b\x07");
    }

    proptest! {
        #[test]
        fn no_text_ends_the_command_or_begins_another(text in any::<String>(), in_tmux: bool) {
            let variables: Variables<'_> = match in_tmux {
                true => &[("TERM", "tmux"), ("TMUX", "x")],
                false => &[("TERM", "rxvt")],
            };
            let bytes = notification(NotificationKind::Desktop, variables).bytes(&text);
            let (start, end) = match in_tmux {
                true => ("\x1bPtmux;\x1b\x1b]9;", "\x07\x1b\\"),
                false => ("\x1b]777;notify;", "\x07"),
            };
            let inner = bytes.strip_prefix(start).and_then(|rest| rest.strip_suffix(end));
            prop_assert!(inner.is_some_and(|inner| !inner.contains(char::is_control)), "{bytes:?}");
        }
    }
}
