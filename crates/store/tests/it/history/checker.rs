//! Holds what clients were told, and what watchers saw, against the logs in the end. Pure.
//!
//! Every text that clients write is unique. It begins with the claim under which it was written, as in `w1.4-17`: the
//! fourth claim of the client `w1`. One that begins with `item-` was written by the append that took that item.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A text at a position of a session's log.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Placed {
    pub(crate) session: String,
    pub(crate) sequence: u64,
    pub(crate) text: String,
}

/// What happened.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// What clients tried to write; whether it was written is not said by that.
    pub(crate) tried: BTreeSet<(String, String)>,
    /// What they were told is written, and where.
    pub(crate) acknowledged: Vec<Placed>,
    /// What watchers have read.
    pub(crate) seen: Vec<Placed>,
    /// Items that clients were told are in the inbox: the session and the key.
    pub(crate) put: BTreeSet<(String, String)>,
    /// What became of the items in the end.
    pub(crate) items: BTreeMap<(String, String), ItemEnd>,
    /// The logs in the end, each in the order in which it is read.
    pub(crate) logs: BTreeMap<String, Vec<(u64, Option<String>)>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemEnd {
    Waiting,
    Done,
}

/// Everything that must not happen and did.
pub(crate) fn violations(history: &History) -> Vec<String> {
    let mut found = Vec::new();
    for (session, log) in &history.logs {
        gaps(session, log, &mut found);
        repeated(session, log, &mut found);
        invented(history, session, log, &mut found);
        interleaved(session, log, &mut found);
    }
    let places: HashMap<(&str, u64), Option<&str>> = history
        .logs
        .iter()
        .flat_map(|(session, log)| {
            log.iter().map(move |(at, text)| ((session.as_str(), *at), text.as_deref()))
        })
        .collect();
    for (what, placed) in [("acknowledged", &history.acknowledged), ("read", &history.seen)] {
        for Placed { session, sequence, text } in placed {
            match places.get(&(session.as_str(), *sequence)).copied().flatten() {
                Some(there) if there == text => {}
                there => found.push(format!(
                    "{session}: {text} was {what} at {sequence}, where {} is",
                    there.unwrap_or("nothing")
                )),
            }
        }
    }
    items(history, &mut found);
    found
}

fn gaps(session: &str, log: &[(u64, Option<String>)], found: &mut Vec<String>) {
    for (expected, (at, _)) in (1..).zip(log) {
        if *at != expected {
            found.push(format!("{session}: {at} is where {expected} should be"));
            return;
        }
    }
}

fn repeated(session: &str, log: &[(u64, Option<String>)], found: &mut Vec<String>) {
    let mut known = BTreeMap::new();
    for (at, text) in log {
        if let Some(text) = text
            && let Some(before) = known.insert(text, at)
        {
            found.push(format!("{session}: {text} is there twice, at {before} and {at}"));
        }
    }
}

fn invented(
    history: &History,
    session: &str,
    log: &[(u64, Option<String>)],
    found: &mut Vec<String>,
) {
    for text in log.iter().filter_map(|(_, text)| text.as_ref()) {
        if !history.tried.contains(&(session.to_owned(), text.clone())) {
            found.push(format!("{session}: no client tried to write {text}"));
        }
    }
}

/// Once another claim has written, an earlier one must not write any more.
fn interleaved(session: &str, log: &[(u64, Option<String>)], found: &mut Vec<String>) {
    let mut over = BTreeSet::new();
    let mut current: Option<&str> = None;
    for (at, text) in log {
        let Some(claim) = text.as_deref().and_then(claim_of) else { continue };
        if current == Some(claim) {
            continue;
        }
        over.extend(current);
        if over.contains(claim) {
            found.push(format!("{session}: {claim} writes at {at} after its time"));
        }
        current = Some(claim);
    }
}

/// The claim of `w1.4-17` is `w1.4`; that of `item-k@w1.4-18` as well.
fn claim_of(text: &str) -> Option<&str> {
    let text = text.rsplit_once('@').map_or(text, |(_, text)| text);
    text.split_once('-').map(|(claim, _)| claim)
}

fn items(history: &History, found: &mut Vec<String>) {
    let mut taken: BTreeMap<(String, String), u64> = BTreeMap::new();
    for (session, log) in &history.logs {
        for (_, text) in log {
            let item = text.as_deref().and_then(|text| text.strip_prefix("item-"));
            if let Some((key, _)) = item.and_then(|item| item.split_once('@')) {
                *taken.entry((session.clone(), key.to_owned())).or_default() += 1;
            }
        }
    }
    for key in &history.put {
        if !history.items.contains_key(key) {
            found.push(format!("{}: item {} is lost", key.0, key.1));
        }
    }
    for (key, end) in &history.items {
        let times = taken.get(key).copied().unwrap_or_default();
        let expected = u64::from(*end == ItemEnd::Done);
        if times != expected {
            found.push(format!("{}: item {} is {end:?} and was taken {times} times", key.0, key.1));
        }
    }
    for (session, key) in taken.keys().filter(|key| !history.items.contains_key(key)) {
        found.push(format!("{session}: item {key} was taken and is not there"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The log of one session in which everything is in order.
    const GOOD: &[(u64, &str)] = &[
        (1, ""),
        (2, "w1.1-1"),
        (3, "w1.1-2"),
        (4, "item-k@w2.1-1"),
        (5, "w2.1-2"),
        (6, "w1.2-3"),
    ];

    fn history(log: &[(u64, &str)]) -> History {
        let key = |text: &str| ("s".to_owned(), text.to_owned());
        let placed =
            |sequence, text: &str| Placed { session: "s".into(), sequence, text: text.to_owned() };
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        History {
            tried: GOOD.iter().map(|(_, text)| key(text)).chain([key("w1.1-9")]).collect(),
            acknowledged: vec![placed(3, "w1.1-2"), placed(5, "w2.1-2")],
            seen: vec![placed(2, "w1.1-1")],
            put: [key("k")].into(),
            items: [(key("k"), ItemEnd::Done), (key("other"), ItemEnd::Waiting)].into(),
            logs: [("s".to_owned(), log.iter().map(|(at, it)| (*at, text(it))).collect())].into(),
        }
    }

    #[test]
    fn a_history_in_order_has_no_violations() {
        assert_eq!(violations(&history(GOOD)), Vec::<String>::new());
    }

    #[test]
    fn every_kind_of_bad_history_is_named() {
        let table: &[(&[(u64, &str)], &str)] = &[
            // An acknowledged event is lost, at the end and in the middle.
            (&GOOD[..4], "s: w2.1-2 was acknowledged at 5, where nothing is"),
            (
                &[(1, ""), (2, "w1.1-1"), (3, "w1.1-9"), (4, "item-k@w2.1-1"), (5, "w2.1-2")],
                "s: w1.1-2 was acknowledged at 3, where w1.1-9 is",
            ),
            // What a watcher has read is not there any more.
            (
                &[(1, ""), (2, "w1.1-9"), (3, "w1.1-2"), (4, "item-k@w2.1-1"), (5, "w2.1-2")],
                "s: w1.1-1 was read at 2, where w1.1-9 is",
            ),
            // Positions are missing, repeated or out of order.
            (
                &[(1, ""), (2, "w1.1-1"), (3, "w1.1-2"), (5, "w2.1-2"), (6, "item-k@w2.1-1")],
                "s: 5 is where 4 should be",
            ),
            // The same event twice, as after a repeated append.
            (
                &[
                    (1, ""),
                    (2, "w1.1-1"),
                    (3, "w1.1-2"),
                    (4, "item-k@w2.1-1"),
                    (5, "w2.1-2"),
                    (6, "w2.1-2"),
                ],
                "s: w2.1-2 is there twice, at 5 and 6",
            ),
            // An item that was taken twice.
            (
                &[
                    (1, ""),
                    (2, "w1.1-1"),
                    (3, "w1.1-2"),
                    (4, "item-k@w2.1-1"),
                    (5, "w2.1-2"),
                    (6, "item-k@w2.1-7"),
                ],
                "s: no client tried to write item-k@w2.1-7\ns: item k is Done and was taken 2 times",
            ),
            // One that is done, but whose append is not there.
            (
                &[(1, ""), (2, "w1.1-1"), (3, "w1.1-2"), (4, "w1.1-9"), (5, "w2.1-2")],
                "s: item k is Done and was taken 0 times",
            ),
            // A claim that writes after its time: two epochs interleaved.
            (
                &[
                    (1, ""),
                    (2, "w1.1-1"),
                    (3, "w1.1-2"),
                    (4, "item-k@w2.1-1"),
                    (5, "w2.1-2"),
                    (6, "w1.1-9"),
                ],
                "s: w1.1 writes at 6 after its time",
            ),
            // Something that no client wrote.
            (
                &[
                    (1, ""),
                    (2, "w1.1-1"),
                    (3, "w1.1-2"),
                    (4, "item-k@w2.1-1"),
                    (5, "w2.1-2"),
                    (6, "w3.1-1"),
                ],
                "s: no client tried to write w3.1-1",
            ),
        ];
        for (log, expected) in table {
            assert_eq!(violations(&history(log)).join("\n"), *expected);
        }
        let mut lost = history(GOOD);
        lost.put.insert(("s".into(), "gone".into()));
        assert_eq!(violations(&lost), ["s: item gone is lost"]);
        let mut early = history(GOOD);
        early.items.insert(("s".into(), "k".into()), ItemEnd::Waiting);
        assert_eq!(violations(&early), ["s: item k is Waiting and was taken 1 times"]);
    }
}
