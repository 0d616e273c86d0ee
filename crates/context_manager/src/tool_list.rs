//! Which tools a request lists: all of them, or those that are often needed and those that the model
//! has asked for.

use std::collections::HashSet;
use std::sync::Arc;

use protocol::Content;

use crate::{AgentOptions, ChatContext, Deferral, Ports, ToolListing, ToolSpec};

/// The list of the last request. The same list is shared by requests until it changes: by that
/// providers recognise what they have serialised before.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToolList(Option<Made>);

#[derive(Clone, Debug)]
struct Made {
    of: Arc<[ToolSpec]>,
    choice: Choice,
    list: Arc<[ToolSpec]>,
}

/// A tool that the model has asked for, and the call that first found it.
#[derive(Clone, Debug)]
pub(crate) struct FirstFound {
    pub(crate) name: String,
    pub(crate) call_id: String,
}

/// What decides about a list.
#[derive(Clone, Debug, PartialEq)]
struct Choice {
    deferral: Deferral,
    /// Tools that the model has asked for, and whether it can still see that they were first found. Once
    /// it cannot, a tool is listed plainly for good: to find it again must not change the list, which is
    /// the beginning of what providers keep in their caches.
    found: Vec<(String, bool)>,
}

impl ToolList {
    fn get(&mut self, all: Arc<[ToolSpec]>, choice: Choice) -> Arc<[ToolSpec]> {
        if let Some(made) = &self.0
            && Arc::ptr_eq(&made.of, &all)
            && made.choice == choice
        {
            return Arc::clone(&made.list);
        }
        let list = listed(&all, &choice);
        self.0 = Some(Made { of: all, choice, list: Arc::clone(&list) });
        list
    }
}

impl ChatContext {
    /// The tools of the next request. What was found stays at the end in the order in which it was
    /// found, so that the beginning of the list never changes.
    pub(crate) fn listed_tools(
        &mut self,
        ports: &Ports,
        options: &AgentOptions,
    ) -> Arc<[ToolSpec]> {
        if !options.offers_tools {
            return Arc::default();
        }
        let choice = self.choice(ports.model.deferral(&options.model));
        self.tool_list_mut().get(ports.tools.tools(), choice)
    }

    /// Those of `all` that the next request lists, where models learn of others in this way.
    pub fn listed_of(&self, all: &Arc<[ToolSpec]>, deferral: Deferral) -> Arc<[ToolSpec]> {
        listed(all, &self.choice(deferral))
    }

    fn choice(&self, deferral: Deferral) -> Choice {
        Choice { deferral, found: self.found() }
    }

    fn found(&self) -> Vec<(String, bool)> {
        if self.found_tools().is_empty() {
            return Vec::new();
        }
        let units = self.conversation().units().iter();
        let contents = units.flat_map(|unit| unit.messages()).flat_map(|message| &message.content);
        let seen: HashSet<&str> = contents
            .filter_map(|content| match content {
                Content::ToolResult { tool_use_id, found_tools, .. } => {
                    (!found_tools.is_empty()).then_some(tool_use_id.as_str())
                }
                _ => None,
            })
            .collect();
        let found = self.found_tools().iter();
        found.map(|tool| (tool.name.clone(), seen.contains(tool.call_id.as_str()))).collect()
    }
}

fn listed(all: &Arc<[ToolSpec]>, choice: &Choice) -> Arc<[ToolSpec]> {
    let has = |listing| all.iter().any(|tool| tool.listing == listing);
    let plain = |tool: &ToolSpec| ToolSpec { listing: ToolListing::Always, ..tool.clone() };
    let lists_own = choice.deferral == Deferral::ListAll || !has(ToolListing::OnDemand);
    if !has(ToolListing::Finder) || lists_own && !has(ToolListing::Foreign) {
        if all.iter().all(|tool| tool.listing == ToolListing::Always) {
            return Arc::clone(all);
        }
        return all.iter().filter(|tool| tool.listing != ToolListing::Finder).map(plain).collect();
    }
    let is_native = choice.deferral == Deferral::Native;
    let is_deferred = |tool: &&ToolSpec| match choice.deferral {
        Deferral::ListAll => tool.listing == ToolListing::Foreign,
        Deferral::Append | Deferral::Native => tool.listing.is_deferred(),
    };
    let first = all.iter().filter(|tool| !is_deferred(tool));
    let found = choice.found.iter().filter_map(|(name, is_seen)| {
        let is_it = |tool: &&ToolSpec| is_deferred(tool) && tool.name == *name;
        all.iter().find(is_it).map(|tool| (tool, *is_seen))
    });
    let told = |tool: &ToolSpec| match tool.listing {
        ToolListing::Foreign => ToolSpec { listing: ToolListing::OnDemand, ..tool.clone() },
        _ => tool.clone(),
    };
    let all = first.map(|tool| (tool, true)).chain(found);
    all.map(|(tool, is_seen)| if is_native && is_seen { told(tool) } else { plain(tool) }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tools() -> Arc<[ToolSpec]> {
        let tool = |name: &str, listing| ToolSpec {
            name: name.into(),
            description: String::new(),
            parameters: json!({}),
            listing,
        };
        [
            tool("read", ToolListing::Always),
            tool("undo", ToolListing::OnDemand),
            tool("find", ToolListing::Finder),
            tool("redo", ToolListing::OnDemand),
            tool("edit", ToolListing::Always),
        ]
        .into()
    }

    fn shown(deferral: Deferral, found: &[(&str, bool)]) -> String {
        let found = found.iter().map(|(name, seen)| ((*name).to_owned(), *seen)).collect();
        let list = listed(&tools(), &Choice { deferral, found });
        let words = list.iter().map(|tool| match tool.listing {
            ToolListing::Always => tool.name.clone(),
            ToolListing::OnDemand => format!("({})", tool.name),
            ToolListing::Foreign => panic!("{} is in a request", tool.name),
            ToolListing::Finder => format!("[{}]", tool.name),
        });
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn which_tools_are_listed_and_how() {
        let found = [("redo", true), ("undo", false), ("gone", true), ("read", true)];
        let table = [
            (Deferral::ListAll, &found[..], "read undo redo edit"),
            (Deferral::Append, &[], "read find edit"),
            (Deferral::Append, &found, "read find edit redo undo"),
            (Deferral::Native, &[], "read [find] edit"),
            (Deferral::Native, &found, "read [find] edit (redo) undo"),
        ];
        for (deferral, found, expected) in table {
            assert_eq!(shown(deferral, found), expected, "{deferral:?}");
        }
    }

    #[test]
    fn foreign_tools_are_asked_for_everywhere() {
        let foreign = ["a__x", "a__y"].map(|name| ToolSpec {
            name: name.into(),
            description: String::new(),
            parameters: json!({}),
            listing: ToolListing::Foreign,
        });
        let all: Arc<[ToolSpec]> = tools().iter().cloned().chain(foreign).collect();
        let shown = |deferral, found: &[&str]| {
            let found = found.iter().map(|name| ((*name).to_owned(), true)).collect();
            let list = listed(&all, &Choice { deferral, found });
            let words = list.iter().map(|tool| format!("{}:{:?}", tool.name, tool.listing));
            words.collect::<Vec<_>>().join(" ").replace(":Always", "")
        };
        assert_eq!(shown(Deferral::ListAll, &[]), "read undo find redo edit");
        assert_eq!(shown(Deferral::ListAll, &["a__y", "undo"]), "read undo find redo edit a__y");
        assert_eq!(shown(Deferral::Append, &["a__y"]), "read find edit a__y");
        assert_eq!(shown(Deferral::Native, &["a__y"]), "read find:Finder edit a__y:OnDemand");
    }

    #[test]
    fn a_list_is_shared_until_something_is_found() {
        let all = tools();
        let mut list = ToolList::default();
        let mut get = |found: &[&str]| {
            let found = found.iter().map(|name| ((*name).to_owned(), true)).collect();
            list.get(Arc::clone(&all), Choice { deferral: Deferral::Native, found })
        };
        let first = get(&[]);
        assert!(Arc::ptr_eq(&first, &get(&[])));
        let second = get(&["undo"]);
        assert_eq!(second[..first.len()], first[..]);
        assert!(Arc::ptr_eq(&second, &get(&["undo"])));
    }

    #[test]
    fn where_everything_is_listed_anyway_nothing_is_copied() {
        let all: Arc<[ToolSpec]> = tools().iter().take(1).cloned().collect();
        let choice = Choice { deferral: Deferral::Native, found: Vec::new() };
        assert!(Arc::ptr_eq(&listed(&all, &choice), &all));
    }
}
