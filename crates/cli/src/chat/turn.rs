//! A turn at the terminal: what happens is shown as it is written down.

use protocol::{ActivityData, Content, TurnEnd};
use session::{Session, SessionError, TurnOutcome};
use tokio_util::sync::CancellationToken;

use super::Chat;
use crate::args::allow_rule;
use crate::chat::attachments::{notes, with_mentioned};
use crate::chat::input::Moment;
use crate::interrupt::on_interrupt;
use crate::output::Stream;

/// What carries a turn on.
enum Push {
    Message(Vec<Content>),
    Continue,
}

impl Push {
    async fn apply(
        self,
        session: &mut Session,
        cancel: &CancellationToken,
    ) -> Result<TurnOutcome, SessionError> {
        match self {
            Push::Message(content) => session.send(content, cancel).await,
            Push::Continue => session.continue_turn(cancel).await,
        }
    }
}

impl Chat {
    /// Sends a message with the files it mentions.
    pub(super) async fn say(&mut self, message: String) -> anyhow::Result<()> {
        let attached = with_mentioned(&self.session, message).await;
        for note in notes(&attached, self.session.options()) {
            self.note(&note);
        }
        self.push(Push::Message(attached.content)).await
    }

    /// Goes on after a pause.
    pub(super) async fn go_on(&mut self) -> anyhow::Result<()> {
        self.push(Push::Continue).await
    }

    async fn push(&mut self, push: Push) -> anyhow::Result<()> {
        // The window may have been resized since.
        self.screen.options_mut().words = Stream::Out.style();
        self.screen.options_mut().notes = Stream::Err.style();
        let mut written = self.session.log().watch();
        let mut activity = self.session.executor().activity().subscribe_all();
        let cancel = CancellationToken::new();
        let interrupt = on_interrupt(cancel.clone());
        let outcome = {
            let turn = push.apply(&mut self.session, &cancel);
            tokio::pin!(turn);
            loop {
                tokio::select! {
                    biased;
                    Some(event) = activity.next() => {
                        self.was_asked |= matches!(event.data, ActivityData::ApprovalRequested(_));
                        self.screen.activity(&event)?;
                    }
                    Some(entry) = written.recv() => self.screen.show(&entry)?,
                    outcome = &mut turn => break outcome?,
                }
            }
        };
        drop(interrupt);
        while let Ok(entry) = written.try_recv() {
            self.screen.show(&entry)?;
        }
        match outcome {
            TurnOutcome::Paused(_) => self.note("/continue goes on; a new message ends this turn."),
            TurnOutcome::Ended(TurnEnd::Cancelled) => {
                self.ctrl_c.press(Moment::Running);
            }
            TurnOutcome::Ended(_) => {}
        }
        self.offer_rules().await
    }

    fn is_allowed(&self, text: &str) -> bool {
        let (Ok(rule), Ok(policy)) = (allow_rule(text), self.session.executor().policy()) else {
            return false;
        };
        policy.rules().any(|known| known.id() == rule.id())
    }

    /// Offers rules for what is approved again and again, each once.
    async fn offer_rules(&mut self) -> anyhow::Result<()> {
        for rule in self.session.parts().store.favourites().await?.rules {
            let text = format!("{}:{}", rule.tool, rule.paths);
            if !self.offered_rules.contains(&text) && !self.is_allowed(&text) {
                self.note(&format!(
                    "You have approved {} on {} {} times. To be asked no more: /allow {text}",
                    rule.tool, rule.paths, rule.times
                ));
                self.offered_rules.push(text);
            }
        }
        Ok(())
    }
}
