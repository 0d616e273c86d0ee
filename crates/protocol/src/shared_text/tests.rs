use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

/// How many blocks these texts take together.
fn blocks<'a>(texts: impl IntoIterator<Item = &'a SharedText>) -> usize {
    let spans = texts.into_iter().flat_map(|text| &text.spans);
    spans.map(|span| Arc::as_ptr(&span.block)).collect::<HashSet<_>>().len()
}

#[test]
fn what_is_put_together_from_pieces_is_in_memory_once() {
    let (mut whole, mut told) = (SharedText::new(), SharedText::new());
    for number in 0..40_000 {
        let piece = whole.push_piece(&format!("line {number}\n"));
        told.push(&piece);
    }
    assert_eq!(told, whole);
    let small = whole.spans.iter().filter(|span| span.block.room < SHARED_FROM).count();
    // The first small blocks are copied, into about as many.
    assert!(blocks([&whole, &told]) <= blocks([&whole]) + small, "{}", blocks([&whole, &told]));
    assert!(blocks([&whole]) < 20);
}

#[test]
fn who_holds_a_part_does_not_see_what_others_add_behind_it() {
    let mut one = SharedText::new();
    one.push_str("shared");
    let mut other = one.clone();
    one.push_str(" by one");
    other.push_str(" by other");
    assert_eq!((one, other), ("shared by one".into(), "shared by other".into()));
}

#[test]
fn a_text_can_be_added_to_itself() {
    let mut text = SharedText::new();
    text.push_str("ab");
    let same = text.clone();
    text.push(&same);
    text.push_with(&same, |piece| Some(piece.to_uppercase()));
    assert_eq!(text, "ababAB");
}

#[test]
fn small_texts_from_elsewhere_are_copied_into_few_blocks() {
    let mut text = SharedText::new();
    (0..1000).for_each(|_| text.push(&"word ".into()));
    assert_eq!(text.len(), 5000);
    assert!(text.spans.len() < 10, "{}", text.spans.len());
}

#[test]
fn a_text_begins_with_what_it_was_before_and_with_nothing_else() {
    let mut text = SharedText::from("one ");
    let before = text.clone();
    (0..100).for_each(|_| text.push_str("two three "));
    let later = text.clone();
    text.push_str("four");
    assert!(text.begins_with(&later) && later.begins_with(&before) && text.begins_with(&text));
    assert!(!before.begins_with(&text) && !text.begins_with(&"two".into()));
    assert!(text.begins_with(&"one two".into()) && text.begins_with(&SharedText::new()));
}

#[test]
fn a_text_is_blank_if_every_piece_is() {
    let mut text = SharedText::from(" \n");
    text.push_str("\t");
    assert!(text.is_blank() && SharedText::new().is_blank());
    text.push_str("x");
    assert!(!text.is_blank());
}

proptest! {
    #[test]
    fn however_it_is_put_together_it_is_the_same_text_and_the_same_json(
        pieces in prop::collection::vec((any::<String>(), 1_usize..200, any::<bool>()), 0..12),
    ) {
        let (mut plain, mut grown, mut told) = (String::new(), SharedText::new(), SharedText::new());
        for (piece, times, comes_from_elsewhere) in &pieces {
            let piece = piece.repeat(*times);
            let before = plain.len();
            plain.push_str(&piece);
            let part = grown.push_piece(&piece);
            prop_assert_eq!(&part, piece.as_str());
            prop_assert_eq!(grown.copied(before..plain.len()), piece.clone());
            let elsewhere = SharedText::from(piece);
            told.push(if *comes_from_elsewhere { &elsewhere } else { &part });
        }
        prop_assert_eq!(&grown, plain.as_str());
        prop_assert_eq!(&told, &grown);
        let json = serde_json::to_string(&told).unwrap();
        prop_assert_eq!(&json, &serde_json::to_string(&plain).unwrap());
        prop_assert_eq!(serde_json::from_str::<SharedText>(&json).unwrap(), told);
    }
}
