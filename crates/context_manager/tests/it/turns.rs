//! Turns from beginning to end.

use context_manager::{ModelErrorKind, ModelEvent, StopReason, TurnOutcome, Usage};
use insta::assert_snapshot;
use protocol::{Content, TurnEnd};
use serde_json::json;

use crate::stage::{Line, Stage, broken, call, done, says, text, wants, wants_one};

const DONE: TurnOutcome = TurnOutcome::Ended(TurnEnd::Done);

#[tokio::test]
async fn a_question_is_answered() {
    let reply = vec![
        Line::Piece(ModelEvent::Thinking("let me ".into())),
        Line::Piece(ModelEvent::Thinking("see".into())),
        text("Hel"),
        text("lo"),
        done(StopReason::EndOfTurn),
    ];
    let mut stage = Stage::new([reply]);
    assert_eq!(stage.send("hi").await, DONE);
    assert_snapshot!(stage.story(), @r"
    user: hi
    asked
    thinking: let me see
    text: Hello
    answer EndOfTurn: Hello
    turn ended: Done
    ");
}

#[tokio::test]
async fn tools_are_called_until_the_model_has_nothing_more_to_call() {
    let mut stage = Stage::new([
        vec![text("I look."), call("c1", "look", json!({"path": "a"})), done(StopReason::ToolUse)],
        wants_one("c2", "write", json!({"path": "a"})),
        says("It is done."),
    ]);
    assert_eq!(stage.send("fix it").await, DONE);
    assert_snapshot!(stage.story(), @r#"
    user: fix it
    asked
    text: I look.
    answer ToolUse: I look. <c1 look(path="a")>
    start c1
    end c1: {"done":"a"}
    asked
    answer ToolUse: <c2 write(path="a")>
    start c2
    end c2: {"done":"a"}
    asked
    text: It is done.
    answer EndOfTurn: It is done.
    turn ended: Done
    "#);
    assert_snapshot!(stage.last_request(), @r#"
    user: fix it
    model: I look. <c1 look(path="a")>
    user: <c1 = {"done":"a"}>
    model: <c2 write(path="a")>
    user: <c2 = {"done":"a"}>
    "#);
    assert_eq!(stage.requests()[0].tools.len(), 2);
}

/// Seed: "Tool Execution Failures".
#[tokio::test]
async fn tool_execution_failures_go_back_to_the_model() {
    let mut stage = Stage::new([
        wants(vec![
            call("c1", "missing", json!({})),
            call("c2", "breaks", json!({})),
            call("c3", "nonsense", json!({})),
        ]),
        says("That file is not there. Which one do you mean?"),
    ]);
    assert_eq!(stage.send("read x.rs").await, DONE);
    assert_snapshot!(stage.last_request(), @r"
    user: read x.rs
    model: <c1 missing()> <c2 breaks()> <c3 nonsense()>
    user: <c1 = FILE_NOT_FOUND x.rs does not exist> <c2 = INTERNAL the tool failed unexpectedly: out of luck> <c3 = UNKNOWN_TOOL unknown tool nonsense>
    ");
}

/// Seed: "Approval Rejection".
#[tokio::test]
async fn approval_rejection_is_told_to_the_model_with_its_reason() {
    let mut stage =
        Stage::new([wants_one("c1", "refused", json!({})), says("How shall I change it then?")]);
    assert_eq!(stage.send("rename it").await, DONE);
    assert_snapshot!(stage.last_request(), @r"
    user: rename it
    model: <c1 refused()>
    user: <c1 = REJECTED User rejected changes: keep the name>
    ");
}

#[tokio::test]
async fn the_model_may_end_its_turn_with_a_call() {
    let mut stage = Stage::new([wants(vec![
        call("c1", "look", json!({"path": "a"})),
        call("c2", "write", json!({"path": "a", "terminate": true})),
        call("c3", "missing", json!({})),
    ])]);
    assert_eq!(stage.send("go").await, TurnOutcome::Ended(TurnEnd::Terminated));
    assert_snapshot!(stage.story(), @r#"
    user: go
    asked
    answer ToolUse: <c1 look(path="a")> <c2 write(path="a", terminate=true)> <c3 missing()>
    start c1
    end c1: {"done":"a"}
    start c2
    end c2: {"done":"a"}
    start c3
    end c3: FILE_NOT_FOUND x.rs does not exist
    turn ended: Terminated
    "#);
}

#[tokio::test]
async fn a_terminating_call_that_fails_goes_back_to_the_model() {
    let mut stage =
        Stage::new([wants_one("c1", "missing", json!({"terminate": true})), says("Sorry.")]);
    assert_eq!(stage.send("go").await, DONE);
    assert_eq!(stage.requests().len(), 2);
}

#[tokio::test]
async fn broken_calls_are_answered_and_never_run() {
    let cut = vec![
        call("c1", "look", json!({"path": "a"})),
        broken("c2", "write"),
        done(StopReason::MaxTokens),
    ];
    let mut stage = Stage::new([cut, says("Smaller, then.")]);
    assert_eq!(stage.send("write a book").await, DONE);
    assert_snapshot!(stage.story(), @r#"
    user: write a book
    asked
    answer MaxTokens: <c1 look(path="a")> <c2 write()>
    end c2: INVALID_ARGUMENTS This call of write was not run: the arguments are not valid JSON.
    start c1
    end c1: {"done":"a"}
    nudged: Your last answer was cut at the limit of 8192 tokens, and a call in it was not run. Do the work in smaller calls.
    asked
    text: Smaller, then.
    answer EndOfTurn: Smaller, then.
    turn ended: Done
    "#);
}

#[tokio::test]
async fn how_an_answer_without_calls_ends_the_turn() {
    let table = [
        (StopReason::EndOfTurn, TurnEnd::Done),
        (StopReason::ToolUse, TurnEnd::Done),
        (StopReason::MaxTokens, TurnEnd::MaxTokens),
        (StopReason::Refusal, TurnEnd::Refused),
        (StopReason::Other("odd".into()), TurnEnd::Done),
    ];
    for (stop, end) in table {
        let mut stage = Stage::new([vec![text("x"), done(stop)]]);
        assert_eq!(stage.send("go").await, TurnOutcome::Ended(end));
    }
}

#[tokio::test]
async fn the_calls_of_an_answer_that_was_refused_half_way_are_not_run() {
    let mut stage =
        Stage::new([vec![call("c1", "write", json!({})), done(StopReason::Refusal)], says("ok")]);
    assert_eq!(stage.send("go").await, TurnOutcome::Ended(TurnEnd::Refused));
    assert_snapshot!(stage.story(), @r"
    user: go
    asked
    answer Refusal: <c1 write()>
    end c1: CANCELLED This call was not run, because the answer that made it was withdrawn.
    turn ended: Refused
    ");
    assert_eq!(stage.send("something else").await, DONE);
}

#[tokio::test]
async fn a_model_that_pauses_is_asked_again_with_what_it_said() {
    let mut stage = Stage::new([vec![text("One moment."), done(StopReason::Pause)], says("Here.")]);
    assert_eq!(stage.send("go").await, DONE);
    assert_snapshot!(stage.last_request(), @r"
    user: go
    model: One moment.
    ");
}

#[tokio::test]
async fn thoughts_alone_are_sent_back_only_to_a_model_that_pauses() {
    let thought = || {
        let block = json!({"type": "thinking"});
        Line::Piece(ModelEvent::Kept(Content::Opaque { provider: "p".into(), block }))
    };
    let replies = [
        vec![thought(), done(StopReason::Pause)],
        vec![thought(), done(StopReason::MaxTokens)],
        says("Here."),
    ];
    let mut stage = Stage::new(replies);
    stage.send("one").await;
    stage.send("two").await;
    assert_snapshot!(stage.last_request(), @r#"
    user: one
    model: <{"type":"thinking"}>
    user: two
    "#);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_breaks_off_is_asked_for_again_and_its_calls_are_not_run() {
    let cut = vec![text("I wri"), call("c1", "write", json!({})), Line::Fails(ModelErrorKind::Cut)];
    let silent = vec![text("I")];
    let mut stage = Stage::new([cut, silent, says("Done.")]);
    assert_eq!(stage.send("go").await, DONE);
    assert_snapshot!(stage.story(), @r"
    user: go
    asked
    text: I wri
    failed: Cut, again in 500 ms
    asked
    text: I
    failed: the answer ended before it was complete, again in 1000 ms
    asked
    text: Done.
    answer EndOfTurn: Done.
    turn ended: Done
    ");
    assert_snapshot!(stage.last_request(), @"user: go");
}

#[tokio::test(start_paused = true)]
async fn after_three_retries_the_turn_fails() {
    let cut = || vec![text("I"), Line::Fails(ModelErrorKind::Overloaded)];
    let mut stage = Stage::new([cut(), cut(), cut(), cut(), says("too late")]);
    assert_eq!(stage.send("go").await, TurnOutcome::Ended(TurnEnd::Failed));
    assert_eq!(stage.requests().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn what_is_free_is_tried_five_times() {
    use ModelErrorKind::{Overloaded, RateLimited};
    for failing in [Line::Fails(Overloaded), Line::Refuses(RateLimited), Line::Unreachable] {
        let mut replies = vec![vec![failing]; 5];
        replies.push(says("too late"));
        let mut stage = Stage::new(replies);
        assert_eq!(stage.send("go").await, TurnOutcome::Ended(TurnEnd::Failed));
        assert_eq!(stage.requests().len(), 5);
        let end = stage.story().lines().rev().nth(1).unwrap_or_default().to_owned();
        assert!(end.contains("; tried 5 times; try again later"), "{end}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_good_answer_starts_the_count_again() {
    let busy = || vec![Line::Fails(ModelErrorKind::Overloaded)];
    let mut replies = vec![busy(); 4];
    replies.push(wants_one("c1", "look", json!({})));
    replies.extend(vec![busy(); 4]);
    replies.push(says("Done."));
    assert_eq!(Stage::new(replies).send("go").await, DONE);
}

#[tokio::test]
async fn what_the_provider_will_not_do_is_not_retried() {
    let table = [
        vec![Line::Refuses(ModelErrorKind::InvalidRequest)],
        vec![text("x"), Line::Fails(ModelErrorKind::Malformed)],
        vec![Line::FailsForGood(ModelErrorKind::Connection)],
        vec![Line::FailsForGood(ModelErrorKind::Overloaded)],
    ];
    for reply in table {
        let mut stage = Stage::new([reply, says("too late")]);
        assert_eq!(stage.send("go").await, TurnOutcome::Ended(TurnEnd::Failed));
        assert_eq!(stage.requests().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn each_attempt_is_written_down() {
    let mut stage = Stage::new([vec![Line::Fails(ModelErrorKind::Overloaded)], says("Hello")]);
    assert_eq!(stage.send("go").await, DONE);
    assert_snapshot!(stage.story(), @r"
    user: go
    asked
    failed: Overloaded, again in 500 ms
    asked
    text: Hello
    answer EndOfTurn: Hello
    turn ended: Done
    ");
}

#[tokio::test]
async fn usage_and_cost_are_added_up() {
    let usage = Usage { input: 1_000_000, output: 2, cache_read: 3, cache_write: 4 };
    let prices =
        context_manager::Prices { input: 3.0, output: 0.0, cache_read: 0.0, cache_write: 0.0 };
    let reply = || crate::stage::using(says("x"), usage);
    let mut stage = Stage::new([reply(), reply()]).with(|options| {
        options.prices = Some(prices);
        options.context_tokens = 10_000_000;
    });
    stage.send("a").await;
    stage.send("b").await;
    assert_eq!(
        stage.context.usage(),
        Usage { input: 2_000_000, output: 4, cache_read: 6, cache_write: 8 }
    );
    assert!((stage.context.cost_usd() - 6.0).abs() < 1e-9);
    // What the last request took, and what its answer adds to the next.
    assert_eq!(stage.context.context_tokens_used(), 1_000_022);
}

fn late(milliseconds: u64, words: &str) -> Line {
    Line::Late(milliseconds, ModelEvent::Text(words.into()))
}

#[tokio::test(start_paused = true)]
async fn the_first_words_are_written_at_once_and_those_that_follow_closely_together() {
    let reply = vec![
        late(500, "One"),
        late(1, ", two"),
        late(0, ", three"),
        // Nothing is kept waiting for what comes later.
        late(500, ", four"),
        late(500, ", five"),
        late(1, "."),
        done(StopReason::EndOfTurn),
    ];
    let mut stage = Stage::new([reply]);
    assert_eq!(stage.send("go").await, TurnOutcome::Ended(TurnEnd::Done));
    assert_snapshot!(stage.story(), @r"
    user: go
    asked
    text: One
    text: , two, three
    text: , four
    text: , five
    text: .
    answer EndOfTurn: One, two, three, four, five.
    turn ended: Done
    ");
}

#[tokio::test(start_paused = true)]
async fn where_many_words_come_at_once_those_that_follow_wait_longer() {
    let many = (0..40).map(|_| late(0, "."));
    let closely = [late(3, " two"), late(3, " three"), late(500, " four"), late(3, " five")];
    let closely = closely.into_iter().chain([done(StopReason::EndOfTurn)]);
    let mut stage =
        Stage::new([[late(500, "One")].into_iter().chain(many).chain(closely).collect()]);
    assert_eq!(stage.send("go").await, TurnOutcome::Ended(TurnEnd::Done));
    let story = stage.story();
    assert!(story.contains("\ntext:  two three\ntext:  four\ntext:  five\n"), "{story}");
}

#[tokio::test(start_paused = true)]
async fn words_that_wait_to_be_written_are_kept_when_the_answer_is_stopped_or_breaks() {
    let stopped = vec![late(500, "One"), late(1, ", two"), Line::Cancelled];
    let broken = vec![late(500, "One"), late(1, ", two"), Line::Fails(ModelErrorKind::Cut)];
    for (reply, end) in [(stopped, "the user stopped the answer"), (broken, "Cut, again in")] {
        let mut stage = Stage::new([reply, says("Fine.")]);
        stage.send("go").await;
        let story = stage.story();
        assert!(story.contains(&format!("text: One\ntext: , two\nfailed: {end}")), "{story}");
    }
}
