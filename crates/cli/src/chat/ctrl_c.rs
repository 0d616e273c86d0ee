//! What Ctrl-C does: it stops what runs; twice in a row, it leaves.

/// When Ctrl-C was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Running,
    /// Nothing runs and nothing is typed.
    AtEmptyPrompt,
    /// Something is typed and not sent.
    WhileTyping,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reaction {
    CancelTurn,
    /// Throw away what was typed.
    ClearLine,
    /// Say that another Ctrl-C leaves.
    SayAgainToLeave,
    Leave,
}

/// Remembers whether Ctrl-C was pressed just before.
#[derive(Debug, Default)]
pub(crate) struct CtrlC {
    pressed: bool,
}

impl CtrlC {
    pub(crate) fn press(&mut self, moment: Moment) -> Reaction {
        let again = std::mem::replace(&mut self.pressed, moment != Moment::WhileTyping);
        match moment {
            Moment::WhileTyping => Reaction::ClearLine,
            _ if again => Reaction::Leave,
            Moment::Running => Reaction::CancelTurn,
            Moment::AtEmptyPrompt => Reaction::SayAgainToLeave,
        }
    }

    /// Something else was entered; the next Ctrl-C is a first one.
    pub(crate) fn forget(&mut self) {
        self.pressed = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_stops_and_twice_leaves() {
        use Moment::{AtEmptyPrompt, Running, WhileTyping};
        use Reaction::{CancelTurn, ClearLine, Leave, SayAgainToLeave};
        let table: [(&[Moment], &[Reaction]); 5] = [
            (&[AtEmptyPrompt, AtEmptyPrompt], &[SayAgainToLeave, Leave]),
            (&[Running, Running], &[CancelTurn, Leave]),
            (&[Running, AtEmptyPrompt], &[CancelTurn, Leave]),
            (&[WhileTyping, WhileTyping], &[ClearLine, ClearLine]),
            (
                &[AtEmptyPrompt, WhileTyping, AtEmptyPrompt],
                &[SayAgainToLeave, ClearLine, SayAgainToLeave],
            ),
        ];
        for (moments, expected) in table {
            let mut keys = CtrlC::default();
            let reactions: Vec<Reaction> =
                moments.iter().map(|moment| keys.press(*moment)).collect();
            assert_eq!(reactions, expected, "{moments:?}");
        }
        let mut keys = CtrlC::default();
        keys.press(AtEmptyPrompt);
        keys.forget();
        assert_eq!(keys.press(AtEmptyPrompt), SayAgainToLeave);
    }
}
