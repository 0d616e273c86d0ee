//! Conversations that become too long.

use context_manager::{CompactOutcome, ModelErrorKind, ModelEvent, StopReason, TurnOutcome, Usage};
use insta::assert_snapshot;
use proptest::prelude::*;
use protocol::{Compaction, SessionEvent, TurnEnd};
use serde_json::json;

use crate::stage::{Line, Reply, Stage, done, says, text, using, wants_one};

const DONE: TurnOutcome = TurnOutcome::Ended(TurnEnd::Done);

fn compactions(stage: &Stage) -> Vec<Compaction> {
    let entries = stage.entries().into_iter();
    entries
        .filter_map(|entry| match entry.event {
            SessionEvent::Compacted(compaction) => Some(compaction),
            _ => None,
        })
        .collect()
}

fn big(index: usize, size: usize) -> Reply {
    wants_one(&format!("c{index}"), "big", json!({"path": format!("f{index}"), "size": size}))
}

/// A window of ten thousand tokens, of which a request may take eight.
fn small(replies: impl IntoIterator<Item = Reply>) -> Stage {
    Stage::new(replies).with(|options| {
        options.context_tokens = 10_000;
        options.max_tokens = 1_000;
        options.turn_limit = 100;
    })
}

#[tokio::test]
async fn first_old_long_results_are_shown_in_a_few_words() {
    let calls = (0..14).map(|index| big(index, 2_400));
    let mut stage = small(calls.chain([says("Done.")]));
    assert_eq!(stage.send("read them all").await, DONE);
    let compactions = compactions(&stage);
    assert_eq!(compactions.len(), 1);
    assert_eq!((compactions[0].through, compactions[0].summary.as_str()), (0, ""));
    assert!(compactions[0].tokens_after < compactions[0].tokens_before);
    let request = stage.last_request();
    let results: Vec<_> = request.lines().filter(|line| line.starts_with("user: <")).collect();
    assert_eq!(results.len(), 14);
    assert_snapshot!(results[0], @"user: <c0 = 328 characters>");
    assert_snapshot!(results[13], @"user: <c13 = 2402 characters>");
}

#[tokio::test]
async fn then_the_earlier_part_is_replaced_by_what_matters_of_it() {
    // Results that are too short to be worth shortening.
    let calls = (0..40).map(|index| big(index, 380 * 4));
    let refusal = wants_one("r", "refused", json!({"path": "src/main.rs"}));
    let replies = [refusal].into_iter().chain(calls).chain([says("Done.")]);
    let mut stage = small(replies).with(|options| options.turn_limit = 100);
    // The summary is asked of the same model, which follows its script and calls a tool: that is
    // no summary.
    assert_eq!(stage.send("Tidy up, but keep names.").await, DONE);
    let last = compactions(&stage).pop().expect("there was a compaction");
    assert!(!last.by_model);
    let task = stage.entries().iter().find_map(|entry| match &entry.event {
        SessionEvent::UserMessage { .. } => Some(entry.sequence),
        _ => None,
    });
    assert_eq!(Some(last.kept.as_slice()), task.as_slice().into());
    let messages = stage.requests().pop().unwrap().messages;
    let words = &messages[1].content;
    assert_eq!(words, &[protocol::Content::Text { text: "Tidy up, but keep names.".into() }]);
    assert!(last.summary.contains("that you are working on follows this summary"));
    assert!(last.summary.contains("User rejected changes: keep the name"));
    assert!(last.summary.contains("- f1"));
}

#[tokio::test]
async fn a_model_adds_what_happened() {
    let usage = Usage { input: 5_000, output: 50, ..Usage::default() };
    let told = Usage { input: 100, output: 3_000, ..Usage::default() };
    let replies = [
        using(says(&"a long story ".repeat(1000)), told),
        using(says("The parser was slow; a table made it fast."), usage),
        says("What else?"),
    ];
    let mut stage = small(replies);
    stage.send("Make it faster.").await;
    let outcome = stage.context.compact(&stage.ports(), &stage.options, &stage.cancel()).await;
    let CompactOutcome::Compacted(made) = outcome.unwrap() else { panic!() };
    assert!(made.tokens_after < made.tokens_before / 2, "{made:?}");
    let compaction = compactions(&stage).pop().unwrap();
    assert!(compaction.by_model);
    let mut both = told;
    both += usage;
    assert_eq!((compaction.usage, stage.context.usage()), (usage, both));
    let asked = stage.requests().pop().unwrap();
    assert!(asked.tools.is_empty());
    assert_eq!(stage.send("And now?").await, DONE);
    assert_snapshot!(stage.last_request(), @r"
    user: [To save space, the earlier part of this conversation is left out: 2 messages, entries 1 to 5 of its log. Each can be read like a file by its number, such as message:1. What matters of it:]

    ## The task, in the user's words
    Make it faster.

    ## What you said last
    a long story a long story a long story a long story a long story a long story a long story a long story a long story a long 
    [… shortened from 12999 characters …]
    ng story a long story a long story a long story a long story

    ## What happened, summarised
    The parser was slow; a table made it fast.
    user: And now?
    ");
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_failed_is_asked_for_again_and_all_attempts_are_paid() {
    let told = Usage { input: 100, output: 3_000, ..Usage::default() };
    let usage = Usage { input: 5_000, output: 50, ..Usage::default() };
    let cut = vec![text("The par"), Line::Fails(ModelErrorKind::Cut)];
    let mut stage = small([
        using(says(&"a long story ".repeat(1000)), told),
        vec![Line::Fails(ModelErrorKind::Overloaded)],
        using(cut, usage),
        using(says("The parser was slow."), usage),
    ]);
    stage.send("Make it faster.").await;
    let outcome = stage.context.compact(&stage.ports(), &stage.options, &stage.cancel()).await;
    assert!(matches!(outcome.unwrap(), CompactOutcome::Compacted(_)));
    let compaction = compactions(&stage).pop().unwrap();
    assert!(compaction.by_model && compaction.summary.ends_with("\nThe parser was slow."));
    assert_eq!(compaction.usage.input, 2 * usage.input);
    assert_eq!(stage.requests().len(), 4);
}

#[tokio::test]
async fn what_a_model_wrote_survives_a_compaction_without_one() {
    let story = || says(&"a long story ".repeat(1000));
    let mut stage = small([story(), says("It began well."), story()]);
    for words in ["one", "two"] {
        stage.send(words).await;
        let ports = stage.ports();
        stage.context.compact(&ports, &stage.options, &stage.cancel()).await.unwrap();
    }
    let last = compactions(&stage).pop().unwrap();
    assert!(!last.by_model);
    assert!(last.summary.ends_with("## What happened, summarised\nIt began well."));
}

#[tokio::test]
async fn a_result_that_is_too_long_by_itself_is_shown_by_its_beginning() {
    let mut stage = small([big(0, 1_000), big(1, 40_000), says("I see.")]);
    assert_eq!(stage.send("read it").await, DONE);
    let request = stage.requests().pop().unwrap();
    let result = serde_json::to_string(&request.messages.last().unwrap().content).unwrap();
    assert!(
        result.contains("the result of big(path=\\\"f1\\\", size=40000), 40000 characters."),
        "{result}"
    );
}

#[tokio::test]
async fn a_short_conversation_has_nothing_to_leave_out() {
    let mut stage = Stage::new([says("hi")]);
    stage.send("hello").await;
    let outcome = stage.context.compact(&stage.ports(), &stage.options, &stage.cancel()).await;
    assert_eq!(outcome.unwrap(), CompactOutcome::NothingToLeaveOut);
    assert!(compactions(&stage).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_cancel_while_the_summary_is_written_changes_nothing() {
    let mut stage = small([says(&"a long story ".repeat(1000)), vec![text("So"), Line::Cancelled]]);
    stage.send("go").await;
    let outcome = stage.context.compact(&stage.ports(), &stage.options, &stage.cancel()).await;
    assert_eq!(outcome.unwrap(), CompactOutcome::Cancelled);
    assert!(compactions(&stage).is_empty());
}

#[tokio::test]
async fn if_the_provider_says_that_it_is_full_room_is_made_once() {
    let full = || vec![Line::Refuses(ModelErrorKind::ContextFull)];
    let story = || says(&"a long story ".repeat(100));
    let mut stage = small([story(), full(), says("Ah.")]);
    stage.send("one").await;
    assert_eq!(stage.send("two").await, DONE);
    assert_eq!(compactions(&stage).len(), 1);

    let mut stage = small([story(), full(), full(), says("too late")]);
    stage.send("one").await;
    assert_eq!(stage.send("two").await, TurnOutcome::Ended(TurnEnd::ContextFull));

    let mut stage = small([full()]);
    let nothing = stage.send("there is nothing to leave out").await;
    assert_eq!(nothing, TurnOutcome::Ended(TurnEnd::ContextFull));
}

#[tokio::test]
async fn an_answer_that_was_cut_because_all_is_full_goes_on_after_room_was_made() {
    let story = "a long story ".repeat(100);
    let cut = vec![text("and th"), done(StopReason::ContextFull)];
    let mut stage = small([says(&story), cut, says("en.")]);
    stage.send("one").await;
    assert_eq!(stage.send("two").await, DONE);
    let request = stage.last_request();
    assert_snapshot!(request.lines().last().unwrap(), @"user: [Automatic note] Your last answer was cut because the conversation had become too long. Go on where you stopped.");
}

#[tokio::test]
async fn a_summary_that_the_budget_has_no_room_for_is_not_asked_for() {
    let told = Usage { input: 100, output: 3_000, ..Usage::default() };
    for (budget, requests) in [(4_000, 1), (40_000, 2)] {
        let replies = [using(says(&"a long story ".repeat(1000)), told), says("It was long.")];
        let mut stage = small(replies).with(|options| options.budget.tokens = Some(budget));
        stage.send("Tell me a story.").await;
        let outcome = stage.context.compact(&stage.ports(), &stage.options, &stage.cancel()).await;
        assert!(matches!(outcome.unwrap(), CompactOutcome::Compacted { .. }));
        assert_eq!(stage.requests().len(), requests);
        assert_eq!(compactions(&stage)[0].by_model, requests == 2);
    }
}

#[tokio::test]
async fn a_summary_that_is_cancelled_is_paid_for() {
    let told = Usage { input: 100, output: 3_000, ..Usage::default() };
    let announced = Usage { input: 2_000, output: 1, ..Usage::default() };
    let replies = [
        using(says(&"a long story ".repeat(1000)), told),
        using(vec![text("It"), Line::Cancelled], announced),
    ];
    let mut stage = small(replies);
    stage.send("Tell me a story.").await;
    let outcome = stage.context.compact(&stage.ports(), &stage.options, &stage.cancel()).await;
    assert_eq!(outcome.unwrap(), CompactOutcome::Cancelled);
    assert!(compactions(&stage).is_empty());
    assert_eq!(stage.context.usage().total(), told.total() + announced.total());
}

#[tokio::test]
async fn a_server_that_reports_a_hundred_tokens_each_time_is_not_sent_more_than_fits() {
    let usage = Usage { input: 90, output: 10, ..Usage::default() };
    let replies = (0..30).map(|index| using(big(index, 12_000), usage));
    let mut stage = Stage::new(replies.chain([using(says("Done."), usage)])).with(|options| {
        options.context_tokens = 20_000;
        options.max_tokens = 1_000;
        options.turn_limit = 100;
    });
    assert_eq!(stage.send("Look at everything.").await, DONE);
    assert!(!compactions(&stage).is_empty());
    for request in stage.requests() {
        let bytes: usize =
            request.messages.iter().map(|m| serde_json::to_vec(m).unwrap().len()).sum();
        assert!(bytes < 20_000 * 4, "{bytes} bytes were sent into a window of 20k tokens");
    }
}

fn any_step() -> impl Strategy<Value = (u8, usize, u64)> {
    (0_u8..4, 0_usize..6_000, 0_u64..3)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn every_request_fits_or_the_turn_says_that_it_cannot(
        context_tokens in 300_u64..12_000,
        max_tokens in 1_u32..4_000,
        steps in prop::collection::vec(any_step(), 1..24),
        words in prop::collection::vec(0_usize..3_000, 1..4),
    ) {
        // A provider may count more tokens than we do.
        let replies = steps.iter().enumerate().map(|(index, &(kind, size, factor))| {
            let reply = match kind {
                0 => says(&"w ".repeat(size / 2)),
                1 => vec![Line::Piece(ModelEvent::Thinking("hm".into())), done(StopReason::EndOfTurn)],
                _ => big(index, size),
            };
            let input = context_tokens * factor / 4;
            using(reply, Usage { input, ..Usage::default() })
        });
        let mut stage = Stage::new(replies).with(|options| {
            options.context_tokens = context_tokens;
            options.max_tokens = max_tokens;
            options.turn_limit = 100;
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        for size in words {
            runtime.block_on(stage.send(&"word ".repeat(size / 5)));
        }
        let room = context_tokens * 9 / 10 - u64::from(max_tokens).min(context_tokens / 4);
        for entry in stage.entries() {
            match entry.event {
                SessionEvent::ModelAsked { estimated_tokens } => {
                    prop_assert!(estimated_tokens <= room, "{estimated_tokens} > {room}");
                }
                SessionEvent::Compacted(compaction) => {
                    prop_assert!(compaction.tokens_after < compaction.tokens_before.max(1));
                }
                _ => {}
            }
        }
    }
}
