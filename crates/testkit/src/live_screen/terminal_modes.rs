//! The modes of a terminal, by name, so that a difference can be read.

use std::collections::BTreeSet;

use rustix::termios::{SpecialCodeIndex, Termios};
use vt100::MouseProtocolMode;

use super::shown::Shown;

/// The special characters and times that `stty -a` shows.
const CODES: [SpecialCodeIndex; 16] = [
    SpecialCodeIndex::VINTR,
    SpecialCodeIndex::VQUIT,
    SpecialCodeIndex::VERASE,
    SpecialCodeIndex::VKILL,
    SpecialCodeIndex::VEOF,
    SpecialCodeIndex::VTIME,
    SpecialCodeIndex::VMIN,
    SpecialCodeIndex::VSTART,
    SpecialCodeIndex::VSTOP,
    SpecialCodeIndex::VSUSP,
    SpecialCodeIndex::VEOL,
    SpecialCodeIndex::VREPRINT,
    SpecialCodeIndex::VDISCARD,
    SpecialCodeIndex::VWERASE,
    SpecialCodeIndex::VLNEXT,
    SpecialCodeIndex::VEOL2,
];

/// What `stty -a` shows, and the modes that a program switches on by writing to the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalModes(BTreeSet<String>);

impl TerminalModes {
    pub(super) fn new(modes: &Termios, shown: &Shown) -> Self {
        let mut names = BTreeSet::new();
        let mut add = |name: &str| {
            names.insert(name.to_lowercase());
        };
        modes.input_modes.iter_names().for_each(|(name, _)| add(name));
        modes.output_modes.iter_names().for_each(|(name, _)| add(name));
        modes.control_modes.iter_names().for_each(|(name, _)| add(name));
        modes.local_modes.iter_names().for_each(|(name, _)| add(name));
        for code in CODES {
            add(&format!("{code:?}={}", modes.special_codes[code]));
        }
        let screen = shown.screen();
        let written = [
            ("bracketed paste", screen.bracketed_paste()),
            ("hidden cursor", screen.hide_cursor()),
            ("alternate screen", screen.alternate_screen()),
            ("application cursor", screen.application_cursor()),
            ("application keypad", screen.application_keypad()),
            ("mouse", screen.mouse_protocol_mode() != MouseProtocolMode::None),
            ("keyboard protocol", shown.keyboard_levels() > 0),
            ("unfinished update", shown.is_in_update()),
        ];
        written.iter().filter(|(_, is_on)| *is_on).for_each(|(name, _)| add(name));
        Self(names)
    }

    /// Whether a mode is on, by its name in `stty -a`, such as `icanon`.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// What is on now with `+`, and what is no longer on with `-`.
    pub fn changes_since(&self, before: &Self) -> Vec<String> {
        let lost = before.0.difference(&self.0).map(|name| format!("-{name}"));
        let added = self.0.difference(&before.0).map(|name| format!("+{name}"));
        lost.chain(added).collect()
    }
}
