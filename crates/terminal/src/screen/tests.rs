//! Whole transcripts as they look.

mod whole_screens;

use insta::assert_snapshot;
use protocol::{
    AgentRole, Compaction, Content, ErrorCode, ModelAnswer, ModelErrorKind, PauseReason, PlanStep,
    SessionEvent, Settings, StepStatus, StopReason, ToolCall, ToolError, ToolResult, TurnEnd,
    Usage,
};
use serde_json::{Value, json};

use super::*;

/// A screen whose two writers end up in one text, as on a terminal.
#[derive(Clone, Default)]
struct Paper(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Paper {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

struct Story {
    screen: Screen<Paper, Paper>,
    words: Paper,
    notes: Paper,
    sequence: u64,
}

impl Story {
    fn on_terminal() -> Self {
        let paper = Paper::default();
        Self::new(OutputStyle::terminal(60), paper.clone(), paper)
    }

    fn at(width: usize) -> Self {
        let paper = Paper::default();
        Self::new(OutputStyle::terminal(width), paper.clone(), paper)
    }

    fn headless() -> Self {
        Self::new(OutputStyle::PIPE, Paper::default(), Paper::default())
    }

    fn new(style: OutputStyle, words: Paper, notes: Paper) -> Self {
        let options = ScreenOptions {
            words: style,
            notes: style,
            thoughts: true,
            messages: true,
            questions: false,
            context_window: Some(200_000),
        };
        let screen = Screen::new(words.clone(), notes.clone(), options);
        Self { screen, words, notes, sequence: 0 }
    }

    fn log(&mut self, event: SessionEvent) {
        self.sequence += 1;
        let at = self.sequence as i64 * 500;
        self.screen.show(&LogEntry { sequence: self.sequence, at, event }).unwrap();
    }

    fn live(&mut self, call_id: &str, data: ActivityData) {
        let event = ActivityEvent { sequence: 1, call_id: call_id.into(), data };
        self.screen.activity(&event).unwrap();
    }

    fn says(&mut self, pieces: &[&str], calls: Vec<ToolCall>) {
        self.log(SessionEvent::ModelAsked { estimated_tokens: 100 });
        for piece in pieces {
            self.log(SessionEvent::TextDelta { text: (*piece).into() });
        }
        self.log(answer(&pieces.concat(), calls));
    }

    fn chunk(&mut self, call_id: &str, text: &str) {
        self.live(call_id, ActivityData::ToolOutputChunk { chunk: text.into() });
    }

    fn end(&mut self, call_id: &str, preview: &[&str], result: ToolResult) {
        let preview = preview.iter().map(|line| (*line).to_owned()).collect();
        let data = ActivityData::ToolCallEnd {
            tool_name: "t".into(),
            success: true,
            duration_ms: 3,
            preview,
        };
        if result.is_ok() {
            self.live(call_id, data);
        }
        self.log(SessionEvent::CallEnded {
            call_id: call_id.into(),
            result,
            text: None,
            images: Vec::new(),
            title: None,
            found_tools: Vec::new(),
            duration_ms: 3,
        });
    }

    /// The terminal, with colours and weights left out.
    fn bare(&self) -> String {
        bare(&self.notes.text()).lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    }
}

/// Text without our own sequences.
fn bare(text: &str) -> String {
    let mut bare = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = Ink::length_at_start(rest);
        if length.is_none() {
            bare.push(c);
        }
        rest = &rest[length.unwrap_or(c.len_utf8())..];
    }
    bare
}

fn call(id: &str, name: &str, arguments: Value) -> ToolCall {
    ToolCall::new(id, name, arguments.as_object().unwrap().clone())
}

fn answer(text: &str, calls: Vec<ToolCall>) -> SessionEvent {
    let text = Content::Text { text: text.into() };
    SessionEvent::ModelAnswered(ModelAnswer {
        content: std::iter::once(text).chain(calls.into_iter().map(Content::ToolUse)).collect(),
        broken: Vec::new(),
        stop: StopReason::ToolUse,
        usage: Usage { input: 1_200, output: 345, cache_read: 8_000, cache_write: 0 },
        cost_usd: Some(0.0123),
        duration_ms: 900,
    })
}

fn message(text: &str) -> SessionEvent {
    SessionEvent::UserMessage { content: vec![Content::Text { text: text.into() }] }
}

fn started(id: &str) -> SessionEvent {
    SessionEvent::CallStarted { call_id: id.into(), title: None }
}

fn nested(event: SessionEvent) -> SessionEvent {
    let entry = Box::new(LogEntry { sequence: 1, at: 0, event });
    SessionEvent::Nested { call_id: "d".into(), entry }
}

fn step(text: &str, status: StepStatus) -> PlanStep {
    PlanStep { text: text.into(), status }
}

fn a_turn(story: &mut Story) {
    story.log(message("Where are the notes\nto ourselves?"));
    story.log(SessionEvent::ThinkingDelta { text: "Let me look.".into() });
    let grep = call("1", "grep", json!({"pattern": "TODO", "path": "src"}));
    let read = call("2", "read_file", json!({"path": "src/x.rs"}));
    story.says(&["I'll **search", "** for them."], vec![grep, read]);
    story.log(started("1"));
    story.log(started("2"));
    story.end("1", &["12 matches in 5 files"], Ok(json!({"total": 12})));
    let error = ToolError::new(ErrorCode::FileNotFound, "src/x.rs does not exist")
        .suggest("Did you mean src/y.rs?");
    story.end("2", &[], Err(error));
    let steps = |last| vec![step("search", StepStatus::Done), step("fix", last)];
    story.log(SessionEvent::PlanChanged { steps: steps(StepStatus::InProgress) });
    story.log(SessionEvent::PlanChanged { steps: steps(StepStatus::InProgress) });
    let bash = call("3", "bash", json!({"command": "cargo test"}));
    story.says(&[], vec![bash]);
    story.log(started("3"));
    story.chunk("3", "running 2 te");
    story.chunk("3", "sts\n\x1b[32mok\x1b[0m\n");
    story.end("3", &["running 2 tests"], Ok(json!({"exit_code": 1})));
    story.says(&["There are", " 12.\n- in `src`"], Vec::new());
    story.log(SessionEvent::TurnEnded(TurnEnd::Done));
}

#[test]
fn a_turn_on_a_terminal() {
    let mut story = Story::on_terminal();
    a_turn(&mut story);
    assert_snapshot!(story.bare(), @"
    › Where are the notes
      to ourselves?

    Let me look.

    I'll search for them.

      grep      TODO
                12 matches in 5 files
      read_file  src/x.rs
                failed
                FILE_NOT_FOUND: src/x.rs does not exist
                Did you mean src/y.rs?
    Plan
      ✔ search
      ▶ fix
      bash      cargo test
                exit code 1  (2 lines)
                running 2 tests
                ok

    There are 12.
    • in src

    27.6k in (24.0k cached) · 1.0k out · $0.0369 · 10 s ·
    context 5%
    ");
}

#[test]
fn a_turn_without_a_terminal_has_only_words_on_standard_output() {
    let mut story = Story::headless();
    a_turn(&mut story);
    assert_snapshot!(story.words.text(), @"
    I'll **search** for them.
    There are 12.
    - in `src`
    ");
    assert_snapshot!(story.notes.text(), @"
    › Where are the notes
      to ourselves?
    Let me look.
      grep      TODO                                           12 matches in 5 files
      read_file  src/x.rs                                                     failed
                FILE_NOT_FOUND: src/x.rs does not exist
                Did you mean src/y.rs?
    Plan
      ✔ search
      ▶ fix
      bash      cargo test                                    exit code 1  (2 lines)
                running 2 tests
                ok
    27.6k in (24.0k cached) · 1.0k out · $0.0369 · 10 s · context 5%
    ");
}

fn titled(id: &str, title: &str) -> SessionEvent {
    SessionEvent::CallStarted { call_id: id.into(), title: Some(title.into()) }
}

fn summed_up(id: &str, summary: &str, result: Value, duration_ms: u64) -> SessionEvent {
    SessionEvent::CallEnded {
        call_id: id.into(),
        result: Ok(result),
        text: None,
        images: Vec::new(),
        title: Some(summary.into()),
        found_tools: Vec::new(),
        duration_ms,
    }
}

#[test]
fn an_answer_without_words_and_calls_says_so() {
    let mut story = Story::on_terminal();
    story.log(answer(" \n", Vec::new()));
    assert!(story.bare().contains("(empty answer)"), "{}", story.bare());
    let mut story = Story::on_terminal();
    story.log(answer("", vec![call("1", "grep", json!({}))]));
    assert_eq!(story.bare(), "");
}

#[test]
fn thoughts_are_folded_unless_they_are_wanted() {
    let think = |thoughts: bool| {
        let mut story = Story::on_terminal();
        story.screen.options_mut().thoughts = thoughts;
        story.log(SessionEvent::ThinkingDelta { text: "Let me ".into() });
        story.log(SessionEvent::ThinkingDelta { text: "look.".into() });
        story.says(&["Here."], Vec::new());
        story.bare()
    };
    assert_eq!(think(true), "Let me look.\n\nHere.");
    assert_eq!(think(false), "Thought for 1.0 s\n\nHere.");
}

#[test]
fn what_comes_after_a_resize_has_the_new_width() {
    let mut story = Story::at(60);
    story.log(SessionEvent::TextDelta { text: "one two three four five six ".into() });
    story.screen.set_width(20);
    story.log(SessionEvent::TextDelta { text: "seven eight nine ten eleven".into() });
    story.log(answer("", Vec::new()));
    let drawn = story.bare();
    assert!(drawn.contains("\nseven eight nine ten\neleven"), "{drawn}");
}

#[test]
fn what_runs_is_in_the_living_part_and_nowhere_else() {
    let mut story = Story::at(80);
    story.log(titled("1", "Read a.rs"));
    story.log(summed_up("1", "Read a.rs, 9 lines", json!({}), 1));
    story.log(titled("2", "Run make"));
    story.chunk("2", "one\ntwo\nthree\n");
    assert_eq!(story.bare(), "");
    let living: Vec<String> = story.screen.living(9_000, 2).iter().map(|line| bare(line)).collect();
    assert_snapshot!(living.join("\n"), @"
    Read      a.rs                                                         9 lines
    Run       make                                                           7.5 s
              two
              three
    ");
    story.screen.finish().unwrap();
    assert!(story.bare().starts_with("  Read      a.rs"), "{}", story.bare());
}

#[test]
fn everything_else_is_one_line_each() {
    let mut story = Story::on_terminal();
    story.log(message("go"));
    story.log(SessionEvent::TextDelta { text: "Half an ans".into() });
    story.log(SessionEvent::ModelFailed {
        kind: ModelErrorKind::Overloaded,
        message: "529".into(),
        retry_in_ms: Some(2_000),
        usage: Usage::default(),
        cost_usd: None,
    });
    story.log(SessionEvent::Nudged { text: "You go in circles.\nStop.".into() });
    story.log(SessionEvent::Compacted(Compaction {
        by_model: true,
        tokens_before: 180_000,
        tokens_after: 21_500,
        summarised: 34,
        elided: vec!["c1".into(), "c2".into()],
        ..Compaction::default()
    }));
    story.log(SessionEvent::SettingsChanged(Settings {
        provider: "offline".into(),
        model: "echo".into(),
        role: AgentRole::Planner,
    }));
    story.log(SessionEvent::Renamed { title: "the \x1b[2Jname".into() });
    story.log(SessionEvent::ImagesRefused { message: "no images".into() });
    story.log(SessionEvent::Repaired { notes: vec!["a call had no result".into()] });
    story.live("0", ActivityData::Missed { events: 7 });
    story.log(SessionEvent::Paused(PauseReason::TurnLimit { turns: 10 }));
    story.log(SessionEvent::ModelFailed {
        kind: ModelErrorKind::Unauthorized,
        message: "invalid x-api-key".into(),
        retry_in_ms: None,
        usage: Usage::default(),
        cost_usd: None,
    });
    story.log(SessionEvent::TurnEnded(TurnEnd::Failed));
    assert_snapshot!(story.bare(), @r"
    › go

    Half an ans

    · the provider is overloaded: 529; trying again in 2.0 s
    · the model was told: You go in circles. Stop.
    · made room: 180k → 22k tokens (34 messages summarised, 2
      results shortened)
    · echo of offline answers, as planner
    · this session is called the \x1B[2Jname
    · the provider refused images: they are described in words
      until a model is chosen again
    · the log was repaired: a call had no result
    · too much at once: 7 reports are not shown
    · paused: the model has used tools 10 times in a row
    · the provider does not accept the key: invalid x-api-key
    4.5 s
    ");
}

#[test]
fn calls_side_by_side_and_in_sub_agents_are_told_apart() {
    let mut story = Story::on_terminal();
    let delegate = call("d", "delegate", json!({"task": "look around"}));
    let bash = call("b", "bash", json!({"command": "make"}));
    story.log(answer("", vec![delegate, bash]));
    story.log(started("d"));
    story.log(started("b"));
    story.chunk("b", "one\n");
    // A sub-agent may use an id that is taken outside of it.
    story.log(nested(answer("inner words", vec![call("b", "glob", json!({"pattern": "*"}))])));
    story.log(nested(started("b")));
    story.log(nested(SessionEvent::CallEnded {
        call_id: "b".into(),
        result: Ok(json!({"message": "No files."})),
        text: None,
        images: Vec::new(),
        title: None,
        found_tools: Vec::new(),
        duration_ms: 1,
    }));
    story.chunk("b", "two\n");
    story.end("d", &["It is", "a small project."], Ok(Value::Null));
    story.end("b", &[], Ok(Value::Null));
    let broken = call("x", "grep", json!({}));
    story.log(answer("", vec![broken]));
    story.end("x", &[], Err(ToolError::new(ErrorCode::InvalidArguments, "no JSON")));
    assert_snapshot!(story.bare(), @"
    delegate  look around
      glob      *
                No files.
              done
    bash      make
              (2 lines)
    grep
              failed
              INVALID_ARGUMENTS: no JSON
    ");
}

#[test]
fn an_answer_that_was_not_streamed_is_shown_whole() {
    let mut story = Story::headless();
    story.log(answer("# Whole", Vec::new()));
    story.log(answer("again", Vec::new()));
    assert_eq!(story.words.text(), "# Whole\nagain\n");
    assert_eq!(story.notes.text(), "");
}

#[test]
fn titles_of_tools_take_the_place_of_names_and_summaries_that_of_previews() {
    let mut story = Story::on_terminal();
    let edit = call("1", "edit_file", json!({"path": "a.rs"}));
    let read = call("2", "read_file", json!({"path": "b.rs"}));
    story.log(answer("", vec![edit, read]));
    story.log(titled("1", "Edit a.rs"));
    story.log(titled("2", "Read b.rs, lines 10 to 20\x1b[2J"));
    story.log(SessionEvent::CallEnded {
        call_id: "1".into(),
        result: Ok(json!({"message": "Applied."})),
        text: None,
        images: Vec::new(),
        title: Some("Edited 1 file, +2 −1".into()),
        found_tools: Vec::new(),
        duration_ms: 12,
    });
    story.end("2", &["fn main() {}"], Ok(Value::Null));
    assert_snapshot!(story.bare(), @"
    Edited    1 file
              +2 −1
    ");
}

#[test]
fn output_that_is_faster_than_the_log_waits_for_its_card() {
    let mut story = Story::on_terminal();
    story.chunk("b", "early\n");
    story.log(answer("", vec![call("b", "bash", json!({"command": "make"}))]));
    story.log(started("b"));
    story.chunk("b", "later\n");
    story.end("b", &[], Ok(json!({"exit_code": 0})));
    assert_snapshot!(story.bare(), @"
    bash      make
              (2 lines)
    ");
}
