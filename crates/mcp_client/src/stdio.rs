//! A server that is a program of its own, confined, with pipes as its standard streams.

mod input;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};

use protocol::CommandSpec;
use sandbox::{
    Access, Canceller, Copy, Exit, Launcher, OutputChunk, Profile, ProjectAccess, Ran, RunOptions,
    Sandbox, SandboxError, Stream, Unconfined, Visible,
};
use serde_json::Value;

use crate::lines::{LineSplitter, MAX_LINE};
use crate::locked::locked;
use crate::peer::Peer;
use crate::wire::{NotSent, SentAt, Wire};
use input::Input;

/// Messages that wait to be read by the server. One that reads nothing costs no more than these.
const WAITING_MESSAGES: usize = 64;
/// A server runs until it is not needed any more; that is sooner than in a year.
const LIFETIME_MS: u64 = 365 * 24 * 60 * 60 * 1000;
/// The sandbox keeps the ends of both outputs; what counts is taken while it comes.
const KEPT_BYTES: usize = 16 * 1024;

/// How a server's program is run.
#[derive(Clone, Debug)]
pub struct ServerProgram {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Where it runs, if it can read the project.
    pub project: Option<PathBuf>,
    /// A directory of its own.
    pub home: PathBuf,
    /// Whether what it writes there stays. Then it cannot use sockets with a path: other processes may
    /// listen at one there.
    pub keeps: bool,
    /// Its variables.
    pub env: BTreeMap<String, String>,
    /// Whether it reaches the network.
    pub network: bool,
    /// What else it can read.
    pub read: Vec<PathBuf>,
    /// What confined programs of this user see of the machine.
    pub profile: Profile,
    /// The program that confines it.
    pub launcher: Launcher,
    /// The operator wants it not to be confined.
    pub unconfined: bool,
}

impl ServerProgram {
    fn spec(&self) -> CommandSpec {
        let mut argv = Vec::new();
        if let Some(project) = &self.project {
            // The sandbox starts programs in the directory that they can write.
            argv.extend(["env".to_owned(), "-C".to_owned(), project.display().to_string()]);
        }
        argv.extend(self.argv.iter().cloned());
        CommandSpec {
            argv,
            working_dir: ".".to_owned(),
            env: self.env.clone(),
            timeout_ms: LIFETIME_MS,
            network: self.network,
            ..CommandSpec::default()
        }
    }

    /// Its own directory is all that it can write; the project is one of the things that it can read.
    fn profile(&self, access: ProjectAccess) -> Profile {
        let mut profile = self.profile.clone();
        profile.root.clone_from(&self.home);
        profile.project = access;
        profile.protected = Vec::new();
        profile.limits.output_bytes = KEPT_BYTES;
        let shown = self.read.iter().chain(&self.project).cloned();
        profile.visible.extend(shown.map(|path| Visible { path, access: Access::Read }));
        profile
    }

    fn run(
        &self,
        options: RunOptions<'_>,
        on_output: impl FnMut(OutputChunk<'_>),
    ) -> Result<Ran, SandboxError> {
        let (spec, launcher) = (self.spec(), self.launcher.clone());
        let access = match self.keeps || self.unconfined {
            true => ProjectAccess::Direct,
            false => ProjectAccess::Copy(Copy::default()),
        };
        let profile = self.profile(access);
        match self.unconfined {
            true => Unconfined::new(profile)?.run(&spec, options, on_output),
            false => Sandbox::new(profile, launcher)?.run(&spec, options, on_output),
        }
    }
}

/// The pipes of a running program.
struct StdioWire {
    queue: Mutex<WriteQueue>,
    input: Arc<Input>,
    canceller: Canceller,
}

/// Lines that wait to be written.
struct WriteQueue {
    lines: SyncSender<Vec<u8>>,
    /// Bytes of all lines so far.
    bytes: u64,
}

impl Wire for StdioWire {
    fn send(&self, message: &Value) -> Result<SentAt, NotSent> {
        let mut line = serde_json::to_vec(message).map_err(|_| NotSent::Gone)?;
        line.push(b'\n');
        let (mut queue, length) = (locked(&self.queue), line.len() as u64);
        queue.lines.try_send(line).map_err(|error| match error {
            TrySendError::Full(_) => NotSent::TooMany,
            TrySendError::Disconnected(_) => NotSent::Gone,
        })?;
        let at = SentAt(queue.bytes);
        queue.bytes += length;
        Ok(at)
    }

    fn may_be_read(&self, at: SentAt) -> bool {
        self.input.read_bytes().is_none_or(|read| at.0 < read)
    }

    fn stop(&self) {
        self.canceller.cancel();
    }
}

/// Starts the program on threads of its own; it ends with `peer`.
pub(crate) fn start(program: ServerProgram, peer: &Arc<Peer>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("it cannot be started: {error}");
    let (stdin, pipe) = std::io::pipe().map_err(failed)?;
    let (lines, waiting) = sync_channel::<Vec<u8>>(WAITING_MESSAGES);
    let input = Arc::new(Input::new(pipe, stdin.try_clone().map_err(failed)?));
    let canceller = Canceller::new().map_err(|error| error.to_string())?;
    peer.connect(Box::new(StdioWire {
        queue: Mutex::new(WriteQueue { lines, bytes: 0 }),
        input: Arc::clone(&input),
        canceller: canceller.clone(),
    }));
    // A program that does not read keeps only this thread waiting.
    let written = Arc::clone(&input);
    let writing = move || written.write(waiting);
    std::thread::Builder::new().name("server input".into()).spawn(writing).map_err(failed)?;
    // The thread does not keep the connection alive that it serves.
    let heard = Arc::downgrade(peer);
    let running = move || {
        let mut lines = LineSplitter::new(MAX_LINE);
        let options = RunOptions {
            cancel: Some(&canceller),
            stdin: Some(stdin.into()),
            ..RunOptions::default()
        };
        let ran = program.run(options, |OutputChunk { stream, bytes }| {
            let Some(peer) = heard.upgrade() else { return canceller.cancel() };
            match stream {
                Stream::Stdout => {
                    lines.feed(bytes, |line| peer.take(line.into()));
                    if lines.is_endless() {
                        canceller.cancel();
                    }
                }
                Stream::Stderr => peer.note_stderr(bytes),
            }
        });
        // Also where a process that it left behind could read on.
        input.take_back();
        if let Some(peer) = heard.upgrade() {
            peer.ended(how_it_ended(ran));
        }
    };
    std::thread::Builder::new().name("server".into()).spawn(running).map_err(failed)?;
    Ok(())
}

fn how_it_ended(ran: Result<Ran, SandboxError>) -> String {
    match ran.map(|ran| ran.exit) {
        Ok(Exit::Code(code)) => format!("it ended with exit code {code}"),
        Ok(Exit::Signal(signal)) => format!("it was ended by signal {signal}"),
        Ok(Exit::Timeout) => "its time was over".to_owned(),
        Ok(Exit::Cancelled) => "it was stopped".to_owned(),
        Ok(Exit::Limit(_)) => "it exceeded a limit".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};

    use super::*;

    #[test]
    fn every_message_has_its_place() {
        let (read, pipe) = std::io::pipe().unwrap();
        let input = Arc::new(Input::new(pipe, read.try_clone().unwrap()));
        let (lines, waiting) = sync_channel(2);
        let queue = Mutex::new(WriteQueue { lines, bytes: 0 });
        let canceller = Canceller::new().unwrap();
        let wire = StdioWire { queue, input: Arc::clone(&input), canceller };
        let [one, two] = [1, 2].map(|number| wire.send(&Value::from(number)).unwrap());
        assert_eq!(wire.send(&Value::from(3)), Err(NotSent::TooMany));
        assert!(wire.may_be_read(two), "it could be read before the program ends");
        let writer = Arc::clone(&input);
        let writing = std::thread::spawn(move || writer.write(waiting));
        // Unbuffered, so that only the first line is taken out of the pipe.
        BufReader::with_capacity(1, read).read_line(&mut String::new()).unwrap();
        input.take_back();
        // Nothing is written after that, so the writer ends with the next line at the latest.
        let last = wire.send(&Value::from(4));
        writing.join().unwrap();
        assert_eq!(wire.send(&Value::from(5)), Err(NotSent::Gone));
        assert_eq!((wire.may_be_read(one), wire.may_be_read(two)), (true, false));
        assert!(last.is_err() || !wire.may_be_read(last.unwrap()));
    }
}
