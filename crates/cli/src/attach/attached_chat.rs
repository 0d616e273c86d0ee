//! `toolkiln chat --attach URL`: a conversation that a service runs, at this terminal.

use std::process::ExitCode;

use terminal::{Ink, Notification, Screen, ScreenOptions, SubmissionKind, mentions};
use tokio_util::sync::CancellationToken;

use super::{RemoteSession, Service};
use crate::chat::ChatScreen;
use crate::chat::lines;
use crate::chat::live::{self, Feeds, Live, LiveOptions, Standing, Wanted};
use crate::chat::slash_commands::{ChatCommand, Typed, parse};
use crate::commands::chat::ChatArgs;
use crate::environment;
use crate::output::{Printer, Stream};

/// What was typed before, in the directory of all states.
const HISTORY: &str = "web/history";
/// What can be typed here beside messages.
const HELP: &str = "Messages go to the service, which runs the session. /continue goes on after a pause, /stop ends \
                    the running turn, /exit leaves; the session goes on without you. @FILE attaches a file.";

/// Joins the service and converses until the user leaves.
pub(crate) async fn chat(args: &ChatArgs, url: &str) -> anyhow::Result<ExitCode> {
    let network = environment::Environment::gather().network.for_providers();
    let service = Service::connect(url, &network).await?;
    let brief = service.session(args.resume.as_deref()).await?;
    let (session, feeds) = RemoteSession::follow(&service, &brief.id);
    let feeds =
        Feeds::elsewhere(feeds.written, feeds.activity, std::sync::Arc::clone(&session.approvals));
    let mut chat = AttachedChat::begin(service, session, feeds)?;
    chat.show_past().await?;
    let ended = chat.converse(args.prompt.as_deref()).await;
    chat.close();
    ended
}

struct AttachedChat {
    service: Service,
    session: RemoteSession,
    feeds: Feeds,
    screen: ChatScreen,
    /// The drawn terminal; absent where lines are read and written.
    live: Option<Live>,
}

impl AttachedChat {
    fn begin(service: Service, session: RemoteSession, feeds: Feeds) -> anyhow::Result<Self> {
        let is_live = live::is_possible();
        let options = ScreenOptions {
            words: Stream::Out.style(),
            notes: Stream::Err.style(),
            thoughts: !is_live,
            messages: is_live,
            questions: !is_live,
            context_window: None,
        };
        let screen = Screen::new(Printer::inked(Stream::Out), Printer::inked(Stream::Err), options);
        let live = match (is_live, environment::state_dir()) {
            (true, Some(states)) => {
                let notify = Notification::new(Default::default(), environment::variable);
                let mut live = Live::begin(LiveOptions { history: states.join(HISTORY), notify })?;
                live.standing = Standing { mode: service.url.clone(), ..Standing::default() };
                Some(live)
            }
            _ => None,
        };
        let mut chat = Self { service, session, feeds, screen, live };
        let (url, id) = (&chat.service.url, &chat.session.id);
        let greeting = format!("toolkiln · session {id} at {url} · /help");
        chat.note(&greeting);
        Ok(chat)
    }

    /// Shows what was said before this terminal came.
    async fn show_past(&mut self) -> anyhow::Result<()> {
        let length = self.session.length().await?;
        self.session.reaches(length).await?;
        let now = *self.screen.options_mut();
        *self.screen.options_mut() = ScreenOptions { messages: true, questions: false, ..now };
        while let Some(entry) = self.feeds.written_before() {
            self.screen.show(&entry)?;
        }
        *self.screen.options_mut() = now;
        Ok(())
    }

    async fn converse(&mut self, first: Option<&str>) -> anyhow::Result<ExitCode> {
        if let Some(first) = first.filter(|text| !text.trim().is_empty())
            && !self.say(first.to_owned()).await?
        {
            return Ok(self.exit_code());
        }
        loop {
            let goes_on = match &mut self.live {
                Some(live) => match tokio::select! {
                    wanted = live.next(&mut self.screen, &mut self.feeds) => wanted?,
                    why = self.session.over() => anyhow::bail!("{why}"),
                } {
                    Wanted::Leave => false,
                    Wanted::Rewind => {
                        self.note("Going back is possible in the browser.");
                        true
                    }
                    Wanted::Said { kind: SubmissionKind::Command, text } => {
                        self.screen.echo(&text)?;
                        self.entered(&text).await?
                    }
                    Wanted::Said { text, .. } => self.entered(&text).await?,
                },
                None => match lines::read_message()? {
                    Some(text) => self.entered(&text).await?,
                    None => false,
                },
            };
            if !goes_on {
                return Ok(self.exit_code());
            }
        }
    }

    /// Does what was typed. Answers whether to go on.
    async fn entered(&mut self, text: &str) -> anyhow::Result<bool> {
        match parse(text, &[]) {
            Typed::Nothing => {}
            Typed::Message(message) => return self.say(message).await,
            Typed::Mistake(advice) => self.note(&advice),
            Typed::Command(ChatCommand::Exit) => return Ok(false),
            Typed::Command(ChatCommand::Help) => self.note(HELP),
            Typed::Command(ChatCommand::Continue) => {
                return self.turn(async |session| session.go_on().await).await;
            }
            Typed::Command(ChatCommand::Other { name, .. }) if name == "stop" => {
                self.session.interrupt().await?;
            }
            Typed::Command(_) => self.note("This is not possible in a session of a service; /help"),
        }
        Ok(true)
    }

    /// Sends a message and shows its turn. Answers whether to go on.
    async fn say(&mut self, message: String) -> anyhow::Result<bool> {
        let files: Vec<String> =
            mentions(&message).iter().map(|mention| mention.path.to_owned()).collect();
        self.turn(async |session| session.say(&message, &files).await).await
    }

    async fn turn(
        &mut self,
        begin: impl AsyncFnOnce(&RemoteSession) -> anyhow::Result<super::remote_session::SaidThere>,
    ) -> anyhow::Result<bool> {
        let said = match begin(&self.session).await {
            Ok(said) => said,
            Err(error) => return self.failed(error),
        };
        for note in &said.notes {
            self.note(note);
        }
        let cancel = CancellationToken::new();
        let session = &self.session;
        let work = async {
            tokio::select! {
                over = session.is_answered(&said) => over,
                () = cancel.cancelled() => {
                    session.interrupt().await?;
                    session.is_answered(&said).await
                }
            }
        };
        let over = match &mut self.live {
            Some(live) => {
                live.during(&mut self.screen, &mut self.feeds, &cancel, "working", work).await?
            }
            None => {
                let _interrupt = crate::interrupt::on_interrupt(cancel.clone());
                let screen = &mut self.screen;
                Some(crate::chat::shown_as_lines(screen, &mut self.feeds, work).await?)
            }
        };
        match over {
            None => Ok(false),
            Some(Ok(())) => Ok(true),
            Some(Err(error)) => self.failed(error),
        }
    }

    /// Says what went wrong, unless that ends everything.
    fn failed(&mut self, error: anyhow::Error) -> anyhow::Result<bool> {
        if self.session.is_over() {
            return Err(error);
        }
        self.note(&format!("{error:#}"));
        Ok(true)
    }

    fn note(&mut self, text: &str) {
        let _ = self.screen.remark(text, Ink::DIM);
    }

    fn exit_code(&self) -> ExitCode {
        self.live.as_ref().and_then(Live::exit_code).map_or(ExitCode::SUCCESS, ExitCode::from)
    }

    /// Releases the terminal. The session goes on.
    fn close(mut self) {
        let _ = self.screen.finish();
        self.live = None;
        let (url, id) = (&self.service.url, &self.session.id);
        crate::output::to_user(&format!("Join again: toolkiln chat --attach {url} --resume {id}"));
    }
}
