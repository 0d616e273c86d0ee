use std::cell::Cell;

use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use regex_syntax::hir::{Class, HirKind};

use super::*;
use crate::index::{Extractor, SearchableContent, Trigrams};

/// A condition as people would write it down.
fn spelled(need: &Need) -> String {
    let trigrams = need.all.iter().map(|trigram| {
        let bytes = &trigram.to_be_bytes()[1..];
        bytes.escape_ascii().to_string()
    });
    let groups = need.any.iter().map(|group| {
        let branches: Vec<String> = group.iter().map(spelled).collect();
        format!("({})", branches.join("|"))
    });
    trigrams.chain(groups).collect::<Vec<_>>().join(" ")
}

fn shown(plan: &TrigramPlan) -> String {
    match plan {
        TrigramPlan::All => "all".into(),
        TrigramPlan::Narrow(narrow) if narrow.folds => {
            format!("{} or folds", spelled(&narrow.need))
        }
        TrigramPlan::Narrow(narrow) => spelled(&narrow.need),
    }
}

#[test]
fn plans_of_patterns() {
    let table = [
        ("", "all"),
        ("ab", "all"),
        ("abc", "abc"),
        ("aBcD", "abc bcd"),
        ("abc.*def", "abc def"),
        ("abcd|abce", "abc (bcd|bce)"),
        ("abc|ab", "all"),
        ("abc|", "all"),
        ("(abc|abc)d", "abc bcd"),
        ("a[bc]d", "(abd|acd)"),
        ("a[bB]c", "abc"),
        ("(abc)?def", "def"),
        ("(abc)*def", "def"),
        ("(abc)+def", "abc bcd cde def"),
        ("x(abc)+", "abc xab"),
        ("a{3}", "aaa"),
        ("(ab){2,}", "aba bab"),
        ("(abc){100}", "abc bca cab"),
        ("a{0}bcd", "bcd"),
        (r"^abc\b$", "abc"),
        (r"\w+abc\s*\(", "abc"),
        ("ab[^x]cd", "all"),
        ("ab[0-9a-z]cdef", "cde def"),
        ("(?i)Mutex", "mut tex ute"),
        ("(?i)lock", "loc ock or folds"),
        ("a(?i:b)c", "abc"),
        ("\u{212A}elvin", r"elv lvi vin \x84\xaae \xaael \xe2\x84\xaa"),
        ("ä", "all"),
        ("äb", r"\xc3\xa4b"),
        ("(?i)äbc", r"(\x84bc \xc3\x84b|\xa4bc \xc3\xa4b)"),
        (r"(?-u:\xFFab)", r"\xffab"),
        ("abc[\\n ]def", " de abc bc  c d def"),
        ("[^\\s\\S]abc", "()"),
        ("(", "all"),
        ("one|two|three|four", "(fou our|hre ree thr|one|two)"),
        (
            "(one|two)(three|four)",
            "(efo fou nef one our|eth hre net one ree thr|fou ofo our two wof|hre oth ree thr two wot)",
        ),
    ];
    for (pattern, expected) in table {
        assert_eq!(shown(&TrigramPlan::of(pattern, true, false)), expected, "{pattern}");
    }
}

#[test]
fn matches_that_span_lines_ask_for_nothing_around_the_break() {
    assert_eq!(shown(&TrigramPlan::of("abc[\\n ]def", true, true)), "abc def");
    assert_eq!(shown(&TrigramPlan::of("abc\\ndefg", true, true)), "abc def efg");
    assert_eq!(shown(&TrigramPlan::of("abc\\ndefg", true, false)), "abc def efg");
}

#[test]
fn words_and_choices() {
    assert_eq!(shown(&TrigramPlan::all_of_words(&[b"FooBar", b"x", b"foo"])), "bar foo oba oob");
    assert_eq!(shown(&TrigramPlan::all_of_words(&[b"x"])), "all");
    let either = |words: [&[u8]; 2]| {
        TrigramPlan::any_of(words.map(|word| TrigramPlan::all_of_words(&[word])))
    };
    assert_eq!(shown(&either([b"foo", b"foobar"])), "foo");
    assert_eq!(shown(&either([b"foo", b"bar"])), "(bar|foo)");
    assert_eq!(shown(&either([b"foo", b"x"])), "all");
    assert!(!TrigramPlan::any_of([]).admits(&[], true));
}

#[test]
fn folds_are_asked_for_only_where_case_does_not_count() {
    let plan = TrigramPlan::of("lock", false, false);
    assert!(plan.admits(&[], true));
    assert!(!plan.admits(&[], false));
    assert!(!TrigramPlan::of("lock", true, false).admits(&[], true));
    assert!(!TrigramPlan::of("bite", false, false).admits(&[], true));
}

/// If this fails, the tables of the regex engine have grown, and the extractor has to look for
/// more characters.
#[test]
fn only_two_characters_fold_to_ascii() {
    let mut found = Vec::new();
    for letter in (0..=127u8).map(char::from) {
        let pattern = format!("(?i){}", regex_syntax::escape(&letter.to_string()));
        if let HirKind::Class(Class::Unicode(class)) = regex_syntax::parse(&pattern).unwrap().kind()
        {
            let members = class.iter().flat_map(|range| range.start()..=range.end());
            found.extend(members.filter(|member| !member.is_ascii()));
        }
    }
    found.sort_unstable();
    found.dedup();
    assert_eq!(found, ['\u{017F}', '\u{212A}']);
}

#[test]
fn a_huge_pattern_has_a_plan_of_bounded_size() {
    let words: Vec<String> = (0..5000).map(|word| format!("w{word}rd")).collect();
    assert!(TrigramPlan::of(&words.join("|"), true, false).admits(&[], false));
    let TrigramPlan::Narrow(narrow) = TrigramPlan::of(&words.join(".*"), true, false) else {
        panic!()
    };
    assert!(narrow.need.all.len() <= 1024);
    assert!(!TrigramPlan::of(&"(a|b)".repeat(2000), true, false).admits(&[], false));
}

/// The matcher as the text search makes it.
fn matcher(pattern: &str, case_sensitive: bool, multi_line: bool) -> Option<RegexMatcher> {
    RegexMatcherBuilder::new()
        .case_insensitive(!case_sensitive)
        .multi_line(true)
        .line_terminator(if multi_line { None } else { Some(b'\n') })
        .build(pattern)
        .ok()
}

/// A pattern together with a text that it may well match.
#[derive(Debug, Clone)]
struct Sample {
    pattern: String,
    text: Vec<u8>,
}

impl Sample {
    fn new(pattern: impl Into<String>, text: impl Into<Vec<u8>>) -> Sample {
        Sample { pattern: pattern.into(), text: text.into() }
    }
}

fn word() -> impl Strategy<Value = String> {
    let letters = "abckKsS_\u{212A}\u{017F}äÄß.(\t 09";
    let letters: Vec<char> = letters.chars().collect();
    proptest::collection::vec(select(letters), 0..7).prop_map(String::from_iter)
}

fn leaf() -> impl Strategy<Value = Sample> {
    let classes = [
        (r"\w", "ä"),
        (r"\s", "\t"),
        (r"\d", "0"),
        (".", "("),
        ("[abc]", "c"),
        ("[^abc]", "\u{212A}"),
        ("[k-s]", "s"),
        ("[[:upper:]]", "K"),
        (r"\p{Greek}", "λ"),
        ("(?i:[ks])", "\u{017F}"),
        (r"(?-u:\w)", "a"),
        ("(?i-u:k)", "K"),
        (r"[\n ]", " "),
        (r"\x6b", "k"),
        ("[äß]", "ß"),
        ("(?i:straSSe)", "\u{017F}"),
        ("^", ""),
        ("$", ""),
        (r"\b", ""),
        (r"\B", ""),
        (r"\A", ""),
        (r"\z", ""),
        ("", ""),
        (r"\n", "\n"),
        (r"(?-u:\xFF)", "?"),
        ("(?s:.)", "_"),
    ];
    prop_oneof![
        3 => word().prop_map(|word| Sample::new(regex_syntax::escape(&word), word)),
        1 => word().prop_map(|word| Sample::new(
            format!("(?i:{})", regex_syntax::escape(&word)), word.to_uppercase())),
        2 => select(classes.to_vec()).prop_map(|(pattern, text)| Sample::new(pattern, text)),
    ]
}

fn sample() -> impl Strategy<Value = Sample> {
    leaf().prop_recursive(4, 16, 4, |inner| {
        let several = || proptest::collection::vec(inner.clone(), 1..4);
        let counts = select(vec![
            ("?", 0), ("?", 1), ("*", 0), ("*", 2), ("+", 1), ("+", 3), ("{2}", 2), ("{2,}", 4),
            ("{1,3}", 2), ("{5}", 5), ("{0}", 0), ("*?", 1), ("+?", 2), ("{6,}", 7),
        ]);
        prop_oneof![
            4 => several().prop_map(|parts| Sample::new(
                parts.iter().map(|part| part.pattern.as_str()).collect::<String>(),
                parts.iter().flat_map(|part| part.text.clone()).collect::<Vec<u8>>())),
            2 => (several(), any::<prop::sample::Index>()).prop_map(|(parts, chosen)| {
                let branches: Vec<&str> = parts.iter().map(|part| part.pattern.as_str()).collect();
                Sample::new(format!("(?:{})", branches.join("|")), chosen.get(&parts).text.clone())
            }),
            2 => (inner.clone(), counts).prop_map(|(part, (count, times))| Sample::new(
                format!("(?:{}){count}", part.pattern), part.text.repeat(times))),
            1 => (inner.clone(), select(vec!["(?i)", "(?x)", "(?U)", "(?s)", "(?-m)"])).prop_map(
                |(part, flag)| Sample::new(format!("{flag}{}", part.pattern), part.text)),
            1 => inner.clone().prop_map(|part| Sample::new(format!("({})", part.pattern), part.text)),
        ]
    })
}

/// Checks a pattern with several texts: how many matched, and whether each was admitted.
fn searched(
    sample: &Sample,
    around: &[String],
    case_sensitive: bool,
    multi_line: bool,
) -> (usize, bool) {
    let Some(matcher) = matcher(&sample.pattern, case_sensitive, multi_line) else {
        return (0, true);
    };
    let plan = TrigramPlan::of(&sample.pattern, case_sensitive, multi_line);
    let mut extractor = Extractor::new();
    let matches = |text: &[u8]| matcher.is_match(text).unwrap();
    let (mut matched, mut admitted) = (0, true);
    for around in around.windows(2) {
        let text = [around[0].as_bytes(), &sample.text, around[1].as_bytes()].concat();
        for text in [text.to_ascii_uppercase(), text] {
            let SearchableContent::Text { trigrams, folds } = extractor.read(&text) else {
                continue;
            };
            let by_line = || text.split(|&byte| byte == b'\n').any(matches);
            if matches(&text) || (!multi_line && by_line()) {
                matched += 1;
                admitted &= plan.admits(Trigrams::of(trigrams).as_slice(), folds);
            }
        }
    }
    (matched, admitted)
}

/// Compiling a pattern takes most of the time, so each is tried on a dozen texts.
#[test]
fn no_plan_rules_out_a_match() {
    let config = Config { cases: 400, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let (texts, narrowed) = (Cell::new(0), Cell::new(0));
    let around = proptest::collection::vec(word(), 7);
    let cases = (sample(), around, any::<bool>(), any::<bool>());
    TestRunner::new_with_rng(config, rng)
        .run(&cases, |(sample, around, case_sensitive, multi_line)| {
            let (matched, admitted) = searched(&sample, &around, case_sensitive, multi_line);
            prop_assert!(admitted);
            texts.set(texts.get() + matched);
            if matched > 0 && !TrigramPlan::of(&sample.pattern, case_sensitive, multi_line).is_all()
            {
                narrowed.set(narrowed.get() + 1);
            }
            Ok(())
        })
        .unwrap();
    // Otherwise the test would show nothing.
    assert!(texts.get() > 2000, "{} texts matched", texts.get());
    assert!(narrowed.get() > 100, "{} plans narrowed", narrowed.get());
}
