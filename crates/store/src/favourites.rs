//! What is learned from sessions: which tools help, and which approvals are always the same.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::call_reader::{ApprovalVerdict, Observation};

/// After so many equal approvals a rule is offered.
const APPROVALS_BEFORE_RULE: u64 = 3;

/// What was learned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Favourites {
    /// Tools, the one that helped most often first.
    pub tools: Vec<FavouriteTool>,
    /// Rules that would have made approvals unnecessary, the one that saves most first.
    pub rules: Vec<SuggestedRule>,
}

/// How often a tool helped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FavouriteTool {
    /// The tool, as the model names it.
    pub name: String,
    /// Calls that ended.
    pub calls: u64,
    /// Those that ended well and were not made again at once.
    pub helped: u64,
}

/// A rule that could be offered. Whether policy would take it is not known here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SuggestedRule {
    /// The tool, as the model names it.
    pub tool: String,
    /// The paths it would be about, such as `src/**`.
    pub paths: String,
    /// How often that was approved as proposed since it was last refused.
    pub times: u64,
}

/// What a lesson is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LessonTopic {
    Tool,
    Approval,
    Denial,
}

impl LessonTopic {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            LessonTopic::Tool => "tool",
            LessonTopic::Approval => "approval",
            LessonTopic::Denial => "denial",
        }
    }

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        [LessonTopic::Tool, LessonTopic::Approval, LessonTopic::Denial]
            .into_iter()
            .find(|it| it.as_str() == word)
    }
}

/// What was learned from one session about one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lesson {
    pub(crate) topic: LessonTopic,
    pub(crate) tool: String,
    /// The directory that an approval was about.
    pub(crate) directory: String,
    pub(crate) uses: u64,
    pub(crate) helped: u64,
    pub(crate) last_at: i64,
}

/// Learns from one session.
#[derive(Default)]
pub(crate) struct Learner {
    lessons: BTreeMap<(LessonTopic, String, String), (u64, u64, i64)>,
}

impl Learner {
    pub(crate) fn learn(&mut self, at: i64, seen: &Observation<'_>) {
        match *seen {
            Observation::Call { tool, .. } => self.add(LessonTopic::Tool, tool, "", (1, 0), at),
            Observation::Helped { tool } => self.add(LessonTopic::Tool, tool, "", (0, 1), at),
            Observation::Answered { tool, verdict: ApprovalVerdict::Approved, directories } => {
                for directory in directories {
                    self.add(LessonTopic::Approval, tool, directory, (1, 0), at);
                }
            }
            Observation::Answered { tool, verdict: ApprovalVerdict::Denied, directories } => {
                for directory in directories {
                    let key = (LessonTopic::Approval, tool.to_owned(), directory.clone());
                    self.lessons.remove(&key);
                    self.add(LessonTopic::Denial, tool, directory, (1, 0), at);
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, topic: LessonTopic, tool: &str, directory: &str, plus: (u64, u64), at: i64) {
        let key = (topic, tool.to_owned(), directory.to_owned());
        let (uses, helped, last_at) = self.lessons.entry(key).or_default();
        *uses += plus.0;
        *helped += plus.1;
        *last_at = at.max(*last_at);
    }

    pub(crate) fn lessons(self) -> Vec<Lesson> {
        let lesson = |((topic, tool, directory), (uses, helped, last_at))| Lesson {
            topic,
            tool,
            directory,
            uses,
            helped,
            last_at,
        };
        self.lessons.into_iter().map(lesson).collect()
    }
}

/// Adds up what was learned from all sessions.
pub(crate) fn summarise(lessons: &[Lesson]) -> Favourites {
    let mut refused: BTreeMap<(&str, &str), i64> = BTreeMap::new();
    for lesson in lessons.iter().filter(|lesson| lesson.topic == LessonTopic::Denial) {
        let at = refused.entry((&lesson.tool, &lesson.directory)).or_insert(lesson.last_at);
        *at = lesson.last_at.max(*at);
    }
    let mut tools: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let mut approvals: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for lesson in lessons {
        let key = (lesson.tool.as_str(), lesson.directory.as_str());
        match lesson.topic {
            LessonTopic::Tool => {
                let (calls, helped) = tools.entry(&lesson.tool).or_default();
                *calls += lesson.uses;
                *helped += lesson.helped;
            }
            LessonTopic::Approval if refused.get(&key).is_none_or(|&at| lesson.last_at > at) => {
                *approvals.entry(key).or_default() += lesson.uses;
            }
            LessonTopic::Approval | LessonTopic::Denial => {}
        }
    }
    let mut tools: Vec<FavouriteTool> = (tools.into_iter())
        .map(|(name, (calls, helped))| FavouriteTool { name: name.to_owned(), calls, helped })
        .collect();
    tools.sort_by_key(|tool| std::cmp::Reverse((tool.helped, tool.calls)));
    let mut rules: Vec<SuggestedRule> = (approvals.into_iter())
        .filter(|&(_, times)| times >= APPROVALS_BEFORE_RULE)
        .map(|((tool, directory), times)| SuggestedRule {
            tool: tool.to_owned(),
            paths: format!("{directory}/**"),
            times,
        })
        .collect();
    rules.sort_by_key(|rule| std::cmp::Reverse(rule.times));
    Favourites { tools, rules }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn learned(answers: &[(ApprovalVerdict, i64)]) -> Vec<Lesson> {
        let mut learner = Learner::default();
        let directories = BTreeSet::from(["src".to_owned()]);
        for &(verdict, at) in answers {
            let directories = &directories;
            learner.learn(at, &Observation::Answered { tool: "edit", verdict, directories });
        }
        learner.lessons()
    }

    fn times(lessons: &[Lesson]) -> Option<u64> {
        summarise(lessons).rules.first().map(|rule| rule.times)
    }

    #[test]
    fn three_plain_yeses_make_a_rule_and_a_no_unmakes_it() {
        use ApprovalVerdict::{Approved, Denied, Edited, Remembered};
        let yes = [(Approved, 1), (Approved, 2), (Approved, 3)];
        assert_eq!(times(&learned(&yes[..2])), None);
        let rules = summarise(&learned(&yes)).rules;
        let rule = SuggestedRule { tool: "edit".into(), paths: "src/**".into(), times: 3 };
        assert_eq!(rules, [rule]);
        let others = [(Approved, 1), (Edited, 2), (Remembered, 3), (Approved, 4)];
        assert_eq!(times(&learned(&others)), None);
        let refused = [yes[0], yes[1], yes[2], (Denied, 4), (Approved, 5)];
        assert_eq!(times(&learned(&refused)), None);
    }

    #[test]
    fn sessions_add_up_but_not_across_a_later_no() {
        use ApprovalVerdict::{Approved, Denied};
        let mut all = learned(&[(Approved, 1), (Approved, 2)]);
        all.extend(learned(&[(Approved, 5)]));
        assert_eq!(times(&all), Some(3));
        all.extend(learned(&[(Denied, 3)]));
        assert_eq!(times(&all), None);
    }
}
