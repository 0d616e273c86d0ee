//! A turn at the terminal: what happens is shown as it is written down.

use std::pin::pin;

use protocol::TurnEnd;
use session::{Session, SessionError, TurnOutcome};
use tokio_util::sync::CancellationToken;

use super::live::Feeds;
use super::{Chat, ChatScreen};
use crate::args::allow_rule;
use crate::chat::attachments::with_mentioned;
use crate::interrupt::on_interrupt;
use crate::output::Stream;

impl Chat {
    /// Sends a message with the files it mentions. Answers whether to go on.
    pub(super) async fn say(&mut self, message: String) -> anyhow::Result<bool> {
        let attached = self
            .work("reading what is mentioned", async |session, _| {
                with_mentioned(session.executor(), message).await
            })
            .await?;
        let Some(attached) = attached else { return Ok(false) };
        for note in attached.told(self.session.options()) {
            self.note(&note);
        }
        let content = attached.content;
        let outcome = self
            .work("working", async |session, cancel| session.send(content, cancel).await)
            .await?;
        self.after(outcome).await
    }

    /// Goes on after a pause. Answers whether to go on with the chat.
    pub(super) async fn go_on(&mut self) -> anyhow::Result<bool> {
        let outcome = self
            .work("working", async |session, cancel| session.continue_turn(cancel).await)
            .await?;
        self.after(outcome).await
    }

    /// Carries something on while the user can type, answer questions and stop it. None if the user leaves and does
    /// not wait for its end.
    pub(super) async fn work<T>(
        &mut self,
        words: &str,
        work: impl AsyncFnOnce(&mut Session, &CancellationToken) -> T,
    ) -> anyhow::Result<Option<T>> {
        self.tell_standing();
        let cancel = CancellationToken::new();
        let mut feeds = Feeds::of(&self.session);
        let lent = self.project.working.lend(self.session.executor());
        let work = work(&mut self.session, &cancel);
        let done = match &mut self.live {
            Some(live) => live.during(&mut self.screen, &mut feeds, &cancel, words, work).await?,
            None => {
                // The window may have been resized since.
                self.screen.options_mut().words = Stream::Out.style();
                self.screen.options_mut().notes = Stream::Err.style();
                let _interrupt = on_interrupt(cancel.clone());
                Some(shown_as_lines(&mut self.screen, &mut feeds, work).await?)
            }
        };
        for undone in lent.undone() {
            self.session.tell(&format!("The user has used undo. {undone}")).await?;
        }
        Ok(done)
    }

    /// After a turn: says how to go on, and offers rules.
    async fn after(
        &mut self,
        outcome: Option<Result<TurnOutcome, SessionError>>,
    ) -> anyhow::Result<bool> {
        let Some(outcome) = outcome else { return Ok(false) };
        match outcome? {
            TurnOutcome::Paused(_) => self.note("/continue goes on; a new message ends this turn."),
            TurnOutcome::Ended(TurnEnd::Cancelled) => {
                let feeds = Feeds::of(&self.session);
                if let Some(live) = &mut self.live {
                    live.take_queue_back(&feeds);
                }
            }
            TurnOutcome::Ended(_) => {}
        }
        self.offer_rules().await?;
        Ok(true)
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

/// Writes what happens during `work` as it comes.
pub(crate) async fn shown_as_lines<T>(
    screen: &mut ChatScreen,
    feeds: &mut Feeds,
    work: impl Future<Output = T>,
) -> anyhow::Result<T> {
    let mut work = pin!(work);
    let done = loop {
        tokio::select! {
            biased;
            shown = feeds.show_next(screen) => shown?,
            done = &mut work => break done,
        }
    };
    while let Some(entry) = feeds.written_before() {
        screen.show(&entry)?;
    }
    Ok(done)
}
