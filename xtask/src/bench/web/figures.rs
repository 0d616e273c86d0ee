//! The tables of the services, and whether ours meets its targets.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use super::super::stats::Times;
use super::super::verdict::{Verdict, at_most, below};
use super::crowd::{CROWD, CrowdFigures};
use super::measures::Visits;
use super::{LONG_VISIT, LONGEST_VISIT, SESSIONS, START_VISIT, WATCHERS};

const START_MS: f64 = 40.0;
const PAGE_KB: f64 = 150.0;
const REQUESTS: f64 = 15.0;
const PAINT_MS: f64 = 250.0;
const INPUT_MS: f64 = 400.0;
const PROMPT_MS: f64 = 5.0;
const WATCHERS_P50_MS: f64 = 4.0;
const WATCHERS_P99_MS: f64 = 20.0;
const LONG_SESSION_MS: f64 = 500.0;
const LONGEST_SESSION_MS: f64 = 1000.0;
const IDLE_MB: f64 = 35.0;
const BUSY_MB: f64 = 100.0;

/// What was measured of one service. What could not be is absent.
#[derive(Debug)]
pub(super) struct ServiceFigures {
    pub(super) name: String,
    pub(super) start: Option<Times>,
    pub(super) prompt: Option<Times>,
    /// From the model's piece to a watcher, over all pieces and watchers.
    pub(super) watchers: Option<Times>,
    pub(super) idle_mb: Option<f64>,
    pub(super) busy_mb: Option<f64>,
    pub(super) visits: Option<BTreeMap<String, Visits>>,
}

/// Every target that can be checked with the figures at hand.
pub(super) fn judge(ours: &ServiceFigures, crowd: &CrowdFigures) -> Vec<Verdict> {
    let median = |times: &Option<Times>| times.as_ref().map(Times::median);
    let p99 = ours.watchers.as_ref().map(|times| times.percentile(99));
    let visit = |name: &str| ours.visits.as_ref().and_then(|visits| visits.get(name));
    let start = visit(START_VISIT);
    let opens = |name: &str| visit(name).and_then(|visits| middle(&visits.item));
    let under = [
        ("start to page served, p50", median(&ours.start), START_MS, "ms"),
        ("prompt to first event, p50", median(&ours.prompt), PROMPT_MS, "ms"),
        ("event to 100 watchers, p50", median(&ours.watchers), WATCHERS_P50_MS, "ms"),
        ("event to 100 watchers, p99", p99, WATCHERS_P99_MS, "ms"),
        ("memory, idle", ours.idle_mb, IDLE_MB, "MB"),
        ("memory, 20 sessions and 100 watchers", ours.busy_mb, BUSY_MB, "MB"),
        ("first paint, p50", start.and_then(|visits| middle(&visits.paint)), PAINT_MS, "ms"),
        ("usable input, p50", start.and_then(|visits| middle(&visits.input)), INPUT_MS, "ms"),
        ("session with 1,000 calls opens, p50", opens(LONG_VISIT), LONG_SESSION_MS, "ms"),
        ("session with 20,000 calls, p50", opens(LONGEST_VISIT), LONGEST_SESSION_MS, "ms"),
    ];
    let requests = visit(LONG_VISIT).map(|visits| visits.requests as f64);
    let up_to = [
        ("page as sent", start.map(kilobytes), PAGE_KB, "KB"),
        ("page with a session, requests", requests, REQUESTS, "requests"),
        ("200 running sessions, lost", Some(crowd.lost as f64), 0.0, "events"),
    ];
    let under = under
        .into_iter()
        .filter_map(|(what, measured, target, unit)| Some(below(what, measured?, target, unit)));
    let up_to = up_to
        .into_iter()
        .filter_map(|(what, measured, target, unit)| Some(at_most(what, measured?, target, unit)));
    under.chain(up_to).collect()
}

fn kilobytes(visits: &Visits) -> f64 {
    visits.bytes as f64 / 1024.0
}

/// The middle of milliseconds that the browser has measured, if it has.
fn middle(milliseconds: &[f64]) -> Option<f64> {
    let times: Vec<Duration> =
        milliseconds.iter().map(|time| Duration::from_secs_f64(time / 1000.0)).collect();
    (!times.is_empty()).then(|| Times::new(times).median())
}

/// One row a service, then one row a visit of each, then the sessions that ran at once.
pub(super) fn tables(services: &[ServiceFigures], crowd: &CrowdFigures) -> String {
    let mut text = format!(
        "| service | start p50 / p90, ms | prompt to event p50 / p90, ms | to {WATCHERS} watchers p50 / p99, ms \
         | idle, MB | {SESSIONS} sessions, {WATCHERS} watchers, MB |\n|---|---|---|---|---|---|\n",
    );
    for ServiceFigures { name, start, prompt, watchers, idle_mb, busy_mb, .. } in services {
        let (start, prompt) = (pair(start, 90, 1), pair(prompt, 90, 2));
        let watchers = pair(watchers, 99, 2);
        let (idle, busy) = (shown(*idle_mb, 1), shown(*busy_mb, 1));
        let _ = writeln!(text, "| {name} | {start} | {prompt} | {watchers} | {idle} | {busy} |");
    }
    text += "\n| page | requests | KB as sent | first paint p50, ms | input p50, ms | first item p50, ms |\n\
             |---|---|---|---|---|---|\n";
    for ServiceFigures { name, visits, .. } in services {
        for address in [START_VISIT, LONG_VISIT, LONGEST_VISIT] {
            let visit = visits.as_ref().and_then(|visits| visits.get(address));
            let time = |times: fn(&Visits) -> &Vec<f64>| {
                shown(visit.and_then(|visit| middle(times(visit))), 0)
            };
            let _ = writeln!(
                text,
                "| {name}, {address} | {} | {} | {} | {} | {} |",
                shown(visit.map(|visit| visit.requests as f64), 0),
                shown(visit.map(kilobytes), 1),
                time(|visit| &visit.paint),
                time(|visit| &visit.input),
                time(|visit| &visit.item),
            );
        }
    }
    let CrowdFigures { seconds, events, cores, peak_mb, lost } = crowd;
    let rate = *events as f64 / seconds;
    let _ = writeln!(
        text,
        "\n| sessions at once | seconds | events | events a second | cores | peak, MB | lost |\n\
         |---|---|---|---|---|---|---|\n\
         | {CROWD} | {seconds:.2} | {events} | {rate:.0} | {cores:.2} | {peak_mb:.1} | {lost} |"
    );
    text
}

/// A figure, or that there is none.
fn shown(figure: Option<f64>, digits: usize) -> String {
    figure.map_or("-".into(), |figure| format!("{figure:.digits$}"))
}

fn pair(times: &Option<Times>, percent: u32, digits: usize) -> String {
    times.as_ref().map_or("-".into(), |times| {
        format!("{:.digits$} / {:.digits$}", times.median(), times.percentile(percent))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(milliseconds: u64) -> Option<Times> {
        Some(Times::new(vec![Duration::from_millis(milliseconds)]))
    }

    fn ours() -> ServiceFigures {
        let visits = |item: Vec<f64>| Visits {
            requests: 15,
            bytes: 153_600,
            paint: vec![200.0],
            input: vec![500.0],
            item,
        };
        ServiceFigures {
            name: "toolkiln".into(),
            start: times(30),
            prompt: times(6),
            watchers: times(3),
            idle_mb: Some(20.0),
            busy_mb: Some(120.0),
            visits: Some(BTreeMap::from([
                (START_VISIT.into(), visits(vec![])),
                (LONG_VISIT.into(), visits(vec![600.0])),
                (LONGEST_VISIT.into(), visits(vec![600.0])),
            ])),
        }
    }

    fn without_a_browser() -> ServiceFigures {
        ServiceFigures { visits: None, ..ours() }
    }

    fn crowd(lost: u64) -> CrowdFigures {
        CrowdFigures { seconds: 2.0, events: 500, cores: 1.5, peak_mb: 40.0, lost }
    }

    #[test]
    fn targets_are_judged() {
        let verdicts = judge(&ours(), &crowd(1));
        let shown: Vec<(&str, bool)> = verdicts.iter().map(|v| (&*v.what, v.passed)).collect();
        assert_eq!(
            shown,
            [
                ("start to page served, p50: 30.00 ms (< 40 ms)", true),
                ("prompt to first event, p50: 6.00 ms (< 5 ms)", false),
                ("event to 100 watchers, p50: 3.00 ms (< 4 ms)", true),
                ("event to 100 watchers, p99: 3.00 ms (< 20 ms)", true),
                ("memory, idle: 20.00 MB (< 35 MB)", true),
                ("memory, 20 sessions and 100 watchers: 120.00 MB (< 100 MB)", false),
                ("first paint, p50: 200.00 ms (< 250 ms)", true),
                ("usable input, p50: 500.00 ms (< 400 ms)", false),
                ("session with 1,000 calls opens, p50: 600.00 ms (< 500 ms)", false),
                ("session with 20,000 calls, p50: 600.00 ms (< 1000 ms)", true),
                ("page as sent: 150.00 KB (≤ 150 KB)", true),
                ("page with a session, requests: 15.00 requests (≤ 15 requests)", true),
                ("200 running sessions, lost: 1.00 events (≤ 0 events)", false),
            ]
        );
    }

    #[test]
    fn without_a_browser_the_server_is_judged_alone() {
        assert_eq!(judge(&without_a_browser(), &crowd(0)).len(), 7);
    }

    #[test]
    fn what_could_not_be_measured_is_a_dash() {
        let peer = ServiceFigures {
            name: "other".into(),
            start: None,
            prompt: None,
            watchers: None,
            idle_mb: None,
            ..without_a_browser()
        };
        insta::assert_snapshot!(tables(&[ours(), peer], &crowd(0)), @r"
        | service | start p50 / p90, ms | prompt to event p50 / p90, ms | to 100 watchers p50 / p99, ms | idle, MB | 20 sessions, 100 watchers, MB |
        |---|---|---|---|---|---|
        | toolkiln | 30.0 / 30.0 | 6.00 / 6.00 | 3.00 / 3.00 | 20.0 | 120.0 |
        | other | - | - | - | - | 120.0 |

        | page | requests | KB as sent | first paint p50, ms | input p50, ms | first item p50, ms |
        |---|---|---|---|---|---|
        | toolkiln, start | 15 | 150.0 | 200 | 500 | - |
        | toolkiln, 1,000 calls | 15 | 150.0 | 200 | 500 | 600 |
        | toolkiln, 20,000 calls | 15 | 150.0 | 200 | 500 | 600 |
        | other, start | - | - | - | - | - |
        | other, 1,000 calls | - | - | - | - | - |
        | other, 20,000 calls | - | - | - | - | - |

        | sessions at once | seconds | events | events a second | cores | peak, MB | lost |
        |---|---|---|---|---|---|---|
        | 200 | 2.00 | 500 | 250 | 1.50 | 40.0 | 0 |
        ");
    }
}
