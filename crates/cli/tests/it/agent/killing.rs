//! `kill -9` at any moment, then going on: nothing that was shown is lost, nothing is done twice, and
//! the model is told what became of the call that was under way.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Stdio};

use protocol::{Content, ErrorCode, LogEntry, SessionEvent};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use serde_json::{Value, json};
use testkit::model_server::{ModelCall, WireFormat};
use testkit::{Fault, ModelServer, Reply};

use super::bench::{Bench, Model};
use super::validity;

const PROJECT: &str = "//- /notes.txt\nzero\n";
const MESSAGE: &str = "Write one, two, three into the notes";
const WORDS: [&str; 3] = ["one", "two", "three"];
const FINISHED: &str = "zero\none\ntwo\nthree\n";
/// The answers of an undisturbed run.
const ANSWERS: usize = 7;

fn look() -> Reply {
    Reply::text("I look at the notes. ").and_call("read_file", json!({"path": "notes.txt"}))
}

/// Adds a line: doing it twice would show.
fn add(word: &str) -> Reply {
    let line = json!({"path": "notes.txt", "content": format!("{word}\n")});
    Reply::text(&format!("I add {word}. ")).and_call("append_file", line)
}

/// The answer with this number: six with a call and one without.
fn answer(number: usize) -> Reply {
    match number {
        1 => add("one"),
        3 => add("two"),
        4 => add("three"),
        0 | 2 | 5 => look(),
        _ => Reply::text("All is written."),
    }
}

/// A model that looks what is there, and adds what is missing.
fn careful(request: &ModelCall) -> Reply {
    let said = request.body.to_string();
    let since = said.rfind("Go on").map_or("", |at| &said[at..]);
    if !since.contains("zero") {
        return look();
    }
    let missing = WORDS.into_iter().filter(|word| !since.contains(word));
    let reply = missing.fold(Reply::default(), |reply, word| {
        let line = json!({"path": "notes.txt", "content": format!("{word}\n")});
        reply.and_call("append_file", line)
    });
    if reply.parts.is_empty() { Reply::text("All is written.") } else { reply }
}

/// A run that is shown line by line, and cannot be further than two lines ahead of its reader.
fn begin(bench: &Bench, model: Model<'_>) -> (Child, BufReader<File>) {
    // Each write is a packet of its own, and there is room for one.
    let (reader, writer) = pipe_with(PipeFlags::DIRECT | PipeFlags::CLOEXEC).unwrap();
    fcntl_setpipe_size(&writer, 4096).unwrap();
    let mut command = bench.asking(model, MESSAGE);
    command.args(["--json", "--yes"]).stdout(writer).stderr(Stdio::null());
    (command.spawn().unwrap(), BufReader::new(File::from(reader)))
}

/// Ends the process without a warning, and gives what it has shown since: whole lines only.
fn kill(mut child: Child, mut shown: BufReader<File>) -> Vec<String> {
    child.kill().unwrap();
    child.wait().unwrap();
    let mut rest = String::new();
    shown.read_to_string(&mut rest).unwrap();
    let whole = rest.rfind('\n').map_or("", |end| &rest[..=end]);
    whole.lines().map(str::to_owned).collect()
}

/// Goes on with the session that has shown these lines, and looks at everything that was promised.
fn goes_on(bench: &Bench, format: WireFormat, shown: &[String]) {
    let first: Value = serde_json::from_str(&shown[0]).unwrap();
    let session = first["data"]["id"].as_str().unwrap();
    let server = ModelServer::answering(careful);
    let resume = format!("--resume={session}");
    let model = Model { format, server: &server };
    let ran = bench.ask(model, "Go on", &["--yes", &resume]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.ends_with("All is written.\n"), "{}", ran.stdout);
    assert_eq!(bench.project.read("notes.txt"), FINISHED, "{shown:#?}\n{}", ran.stderr);
    server.calls().iter().for_each(validity::check);

    let log = bench.log(session);
    for line in shown {
        let Ok(entry) = serde_json::from_str::<LogEntry>(line) else { continue };
        assert_eq!(log.get(entry.sequence as usize - 1), Some(&entry));
    }
    nothing_runs_twice(&log);
    let interrupted = log.iter().filter(|entry| {
        matches!(&entry.event, SessionEvent::CallEnded { result: Err(error), .. }
            if error.code == ErrorCode::Interrupted)
    });
    let answers = server.calls()[0].tool_answers();
    let told = answers.iter().filter(|answer| answer.text.contains("The session ended"));
    assert_eq!(told.count(), interrupted.count());
}

/// Each call has begun at most once and has exactly one result.
fn nothing_runs_twice(log: &[LogEntry]) {
    let mut calls: HashMap<&str, (usize, usize)> = HashMap::new();
    for entry in log {
        match &entry.event {
            SessionEvent::ModelAnswered(answer) => {
                for content in &answer.content {
                    if let Content::ToolUse(call) = content {
                        assert_eq!(calls.insert(&call.id, (0, 0)), None);
                    }
                }
            }
            SessionEvent::CallStarted { call_id, .. } => calls.get_mut(&**call_id).unwrap().0 += 1,
            SessionEvent::CallEnded { call_id, .. } => calls.get_mut(&**call_id).unwrap().1 += 1,
            _ => {}
        }
    }
    assert!(calls.values().all(|(begun, ended)| *begun <= 1 && *ended == 1), "{calls:?}");
}

/// Kills a run after every third line that it shows.
fn after_lines(format: WireFormat, first: usize) {
    for lines in (first..).step_by(3) {
        let bench = Bench::new(PROJECT);
        let server = ModelServer::start((0..ANSWERS).map(answer));
        let (child, mut reader) = begin(&bench, Model { format, server: &server });
        let mut shown = Vec::new();
        for _ in 0..lines {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap() > 0 {
                shown.push(line);
            }
        }
        let is_over = shown.len() < lines;
        shown.extend(kill(child, reader));
        goes_on(&bench, format, &shown);
        if is_over {
            return;
        }
    }
}

#[test]
fn killed_after_any_line_in_the_form_of_anthropic() {
    after_lines(WireFormat::Anthropic, 1);
}

#[test]
fn killed_after_any_line_in_the_form_of_chat_completions() {
    after_lines(WireFormat::Chat, 2);
}

#[test]
fn killed_after_any_line_in_the_form_of_responses() {
    after_lines(WireFormat::Responses, 3);
}

/// Kills a run whose model hangs in the answer with this number.
fn during_answer(number: usize, format: WireFormat, fault: Fault) {
    let bench = Bench::new(PROJECT);
    let hanging = answer(number).with_fault(fault);
    let server = ModelServer::start((0..number).map(answer).chain([hanging]));
    let mut command = bench.asking(Model { format, server: &server }, MESSAGE);
    command.args(["--json", "--yes"]).stderr(Stdio::null());
    let (reader, writer) = std::io::pipe().unwrap();
    let child = command.stdout(writer).spawn().unwrap();
    // It holds a copy of the end that is written to.
    drop(command);
    server.watch().wait_for_calls(number + 1);
    let reader = BufReader::new(File::from(std::os::fd::OwnedFd::from(reader)));
    goes_on(&bench, format, &kill(child, reader));
}

#[test]
fn killed_while_the_model_is_silent() {
    for number in 0..ANSWERS {
        during_answer(number, WireFormat::ALL[number % 3], Fault::HangBefore);
    }
}

#[test]
fn killed_in_the_middle_of_an_answer() {
    for number in 0..ANSWERS {
        for (part, of) in [(1, 3), (2, 3)] {
            let format = WireFormat::ALL[(number + part) % 3];
            let bytes = answer(number).render(format, number).len() * part / of;
            during_answer(number, format, Fault::HangAfter(bytes));
        }
    }
}
