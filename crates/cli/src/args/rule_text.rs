//! Rules as they are typed: a tool, and the paths, the command or the servers that it is about.

use protocol::ToolPermission;
use tool_system::policy::{
    CommandPattern, Decision, HostPattern, PathPattern, Rule, RuleSource, ToolPattern,
};
use tool_system::{Category, ListedTool, ToolRegistry, Vocabulary};

/// The rule by which the user allows something, such as `edit_lines:src/**` or `bash:cargo test*`.
pub(crate) fn allow_rule(text: &str) -> anyhow::Result<Rule> {
    rule(Decision::Allow, text)
}

/// The rule that an option of the command line makes.
pub(crate) fn rule(decision: Decision, text: &str) -> anyhow::Result<Rule> {
    let (tool, what) = text.split_once(':').unwrap_or((text, ""));
    let rule =
        Rule { tool: ToolPattern::new(tool)?, ..Rule::new(decision, RuleSource::CommandLine) };
    if what.is_empty() {
        return Ok(rule);
    }
    // A command may hold commas; paths are separated by them.
    if runs_commands(tool) {
        return Ok(Rule { command: vec![CommandPattern::new(what)?], ..rule });
    }
    if reaches_web(tool) {
        let hosts = what.split(',').filter(|host| !host.is_empty()).map(HostPattern::new);
        return Ok(Rule { hosts: hosts.collect::<Result<_, _>>()?, ..rule });
    }
    let patterns = what.split(',').filter(|path| !path.is_empty());
    Ok(Rule { paths: patterns.map(PathPattern::new).collect::<Result<_, _>>()?, ..rule })
}

fn reaches_web(tool: &str) -> bool {
    is_tool(tool, |listed| listed.definition().category == Category::Web)
}

fn is_tool(tool: &str, fits: impl Fn(&ListedTool) -> bool) -> bool {
    ToolRegistry::builtin().get(Vocabulary::Standard, tool).is_ok_and(|listed| fits(&listed))
}

fn runs_commands(tool: &str) -> bool {
    is_tool(tool, |listed| {
        listed.definition().required_permissions.contains(ToolPermission::ExecuteCommands)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_rule_is_about_depends_on_the_tool() {
        let shown = |text: &str| rule(Decision::Allow, text).map(|rule| rule.to_string());
        for (text, expected) in [
            ("edit_lines:src/**,docs/**", "allow edit_lines on src/**, docs/**"),
            ("*:src/**", "allow * on src/**"),
            ("bash", "allow bash"),
            (
                "web_fetch:docs.rs,http://localhost:8080",
                "allow web_fetch at docs.rs, http://localhost:8080",
            ),
            ("bash:cargo test*", "allow bash of `cargo test*`"),
            ("bash:echo a,b:c", "allow bash of `echo a,b:c`"),
        ] {
            assert_eq!(shown(text).unwrap(), expected);
        }
        assert!(shown("bash:ls*").is_err());
    }
}
