//! The rule that "always" would remember, and what it would allow in words.

use std::collections::BTreeSet;

use protocol::{CommandSpec, ProjectMode, Proposal, RunMode, visible};

use super::{
    CommandPattern, Decision, Effect, HostPattern, PathPattern, Rule, RuleSource, ToolPattern,
    protection,
};

/// More paths than this make no rule that a user would read before agreeing.
const MAX_PATHS: usize = 8;

/// The narrowest rule that lets `proposal` of `tool`, which has these effects, pass from now on. There is none if no rule can
/// say exactly what was shown.
///
/// For files it names the tool and the paths. There is none for protected names, deletions and
/// links. For a foreign tool it names the definition, unless the server says that the tool may
/// destroy something. For a web request it names the server, unless the request sends something. For
/// a command it names the words of its one program; there is none if it is
/// dangerous or not fully understood, if anything but the words decides what it does (input,
/// redirections, variables, another directory, the network), or if it is more than one command.
/// Because a rule does not say all of that, the executor lets it count only for a proposal that
/// would be remembered by the very same rule.
pub(crate) fn suggest_rule(tool: &str, proposal: &Proposal, effects: &[Effect]) -> Option<Rule> {
    match proposal {
        Proposal::Command(spec) => {
            let rule = rule_for(tool, effects).filter(|_| is_all_words(spec))?;
            is_all_of(rule.command.first()?, &spec.argv).then_some(rule)
        }
        Proposal::Changes(_) => rule_for(tool, effects),
        Proposal::Web(_) => rule_for_server(tool, effects),
        Proposal::Foreign(call) if call.destructive || call.asks.is_some() => None,
        Proposal::Foreign(call) => {
            let tool = ToolPattern::new(globset::escape(tool)).ok()?;
            let rule = Rule::new(Decision::Allow, RuleSource::Remembered);
            Some(Rule { tool, definition: Some(call.definition), ..rule })
        }
    }
}

/// Whether the pattern is all that is run, or all that a shell is given, so that nothing in it can
/// have been overlooked.
fn is_all_of(pattern: &CommandPattern, argv: &[String]) -> bool {
    let words = argv.join(" ");
    let text = match argv {
        [shell, flag, script] if matches!(shell.as_str(), "bash" | "sh") && flag == "-c" => script,
        _ => &words,
    };
    let words: Vec<&str> = text.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
    words.join(" ") == pattern.as_str()
}

/// Whether nothing but the words of the command decides what it does.
fn is_all_words(spec: &CommandSpec) -> bool {
    let CommandSpec {
        argv: _,
        working_dir,
        env,
        stdin,
        timeout_ms: _,
        network,
        project,
        run,
        writable,
        keep,
        first,
        shown,
    } = spec;
    matches!(working_dir.as_str(), "" | ".")
        && env.is_empty()
        && stdin.is_none()
        && !network
        && *project != ProjectMode::Direct
        && *run == RunMode::Wait
        && writable.is_empty()
        && keep.is_empty()
        && first.is_empty()
        && shown.is_none()
}

/// The rule for a request that sends nothing but its address. A search goes to the configured server.
fn rule_for_server(tool: &str, effects: &[Effect]) -> Option<Rule> {
    let [Effect { web: Some(web), .. }] = effects else { return None };
    let tool = ToolPattern::new(globset::escape(tool)).ok()?;
    let hosts = vec![HostPattern::exactly(web).ok().filter(|_| !web.sends)?];
    Some(Rule { tool, hosts, ..Rule::new(Decision::Allow, RuleSource::Remembered) })
}

/// The rule for these effects.
pub(super) fn rule_for(tool: &str, effects: &[Effect]) -> Option<Rule> {
    let tool = ToolPattern::new(globset::escape(tool)).ok()?;
    let rule = Rule { tool, ..Rule::new(Decision::Allow, RuleSource::Remembered) };
    if effects.iter().any(|effect| effect.run.is_some()) {
        let [effect] = effects else { return None };
        return Some(Rule { command: vec![effect.run.as_ref()?.memory()?], ..rule });
    }
    let paths: Option<BTreeSet<&str>> = effects.iter().map(rememberable_path).collect();
    let paths = paths.filter(|paths| !paths.is_empty() && paths.len() <= MAX_PATHS)?;
    let paths = paths.into_iter().map(PathPattern::exactly).collect::<Result<_, _>>();
    Some(Rule { paths: paths.ok()?, ..rule })
}

fn rememberable_path(effect: &Effect) -> Option<&str> {
    let path = effect.path.as_deref()?;
    let refused = effect.kind.is_grave() || effect.tree || protection(path, effect.tree).is_some();
    (!refused).then_some(path)
}

/// What `rule`, which [`suggest_rule`] made for these effects, lets pass from now on.
pub(crate) fn in_words(rule: &Rule, effects: &[Effect]) -> String {
    let tool = visible(rule.tool.as_str());
    if let [command] = rule.command.as_slice() {
        let command = visible(command.as_str());
        return format!(
            "from now on {tool} may run exactly `{command}` in the project's directory without a question"
        );
    }
    if rule.definition.is_some() {
        return format!(
            "from now on {tool} may be called with any arguments without a question, until its server \
             describes it otherwise"
        );
    }
    if let [host] = rule.hosts.as_slice() {
        let host = visible(&host.to_string());
        return format!("from now on {tool} may fetch from {host} without a question");
    }
    let paths: BTreeSet<&str> =
        effects.iter().filter_map(|effect| effect.path.as_deref()).collect();
    let paths: Vec<String> = paths.into_iter().map(|path| format!("`{}`", visible(path))).collect();
    let paths = paths.join(", ");
    format!(
        "from now on {tool} may create and change {paths}, with any content, without a question"
    )
}

#[cfg(test)]
mod tests {
    use protocol::{Base, Change, ChangeSet, FileBytes};

    use super::*;
    use crate::policy::{EffectKind, effects_of};

    fn suggested(effects: &[Effect]) -> String {
        rule_for("edit_lines", effects).map(|rule| rule.to_string()).unwrap_or_default()
    }

    #[test]
    fn the_rule_names_the_files_and_nothing_around_them() {
        let edit = |path: &str| Effect::on(EffectKind::Overwrite, path);
        assert_eq!(suggested(&[edit("src/a.rs")]), "allow edit_lines on /src/a.rs");
        assert_eq!(
            suggested(&[edit("src/a.rs"), edit("src/x/b.rs"), edit("docs/c.md")]),
            "allow edit_lines on /docs/c.md, /src/a.rs, /src/x/b.rs"
        );
        assert_eq!(suggested(&[edit("app/[id]/p.ts")]), "allow edit_lines on /app/[[]id[]]/p.ts");
    }

    #[test]
    fn grave_and_protected_effects_are_never_remembered() {
        let edit = Effect::on(EffectKind::Overwrite, "src/a.rs");
        for other in [
            Effect::on(EffectKind::Delete, "src/b.rs"),
            Effect::on(EffectKind::Link, "src/b.rs"),
            Effect::on(EffectKind::Create, ".envrc"),
            Effect { tree: true, ..Effect::on(EffectKind::Move, "src") },
            Effect::outside(EffectKind::Run, "make"),
            Effect::outside(EffectKind::Fetch, "GET https://example.org"),
        ] {
            assert_eq!(suggested(&[edit.clone(), other.clone()]), "", "{other}");
        }
        assert_eq!(suggested(&[]), "");
    }

    fn shell(text: &str) -> CommandSpec {
        let argv = ["bash", "-c", text].map(str::to_owned).to_vec();
        CommandSpec { argv, working_dir: ".".into(), ..CommandSpec::default() }
    }

    fn of_command(spec: CommandSpec) -> Option<String> {
        let proposal = Proposal::Command(spec);
        let effects = effects_of(&proposal);
        Some(in_words(&suggest_rule("bash", &proposal, &effects)?, &effects))
    }

    #[test]
    fn a_command_is_remembered_only_if_its_words_are_all_of_it() {
        let words = "from now on bash may run exactly `make all` in the project's directory without a question";
        assert_eq!(of_command(shell("make  all")).as_deref(), Some(words));
        for more in [
            "cd sub && make all",
            "make all; make install",
            "make all | sh",
            "echo x | make all",
            "make all < input",
            "make all > output",
            "make all 2>&1",
            "python3 - <<'E'\nprint(1)\nE",
            "python3 <<< 'print(1)'",
            "make $X",
        ] {
            assert_eq!(of_command(shell(more)), None, "{more}");
        }
        let variable = [("CC".to_owned(), "evil".to_owned())];
        let wrapped = ["bash", "-e", "-c", "make all"].map(str::to_owned).to_vec();
        for other in [
            CommandSpec { argv: wrapped, ..shell("") },
            CommandSpec { working_dir: "sub".into(), ..shell("make all") },
            CommandSpec { stdin: Some("x".into()), ..shell("make all") },
            CommandSpec { env: variable.into(), ..shell("make all") },
            CommandSpec { network: true, ..shell("make all") },
            CommandSpec { run: RunMode::Job, ..shell("make all") },
            CommandSpec { project: ProjectMode::Direct, ..shell("make all") },
            CommandSpec { writable: vec![".git".into()], ..shell("make all") },
        ] {
            assert_eq!(of_command(other.clone()), None, "{other:?}");
        }
    }

    #[test]
    fn a_rule_about_files_is_said_in_words_that_hide_nothing() {
        let write = Change::Write {
            path: "src/a\u{202e}.rs".into(),
            base: Base::Absent,
            content: FileBytes(b"x".to_vec()),
            mode: None,
        };
        let proposal = Proposal::Changes(ChangeSet { changes: vec![write] });
        let effects = effects_of(&proposal);
        let rule = suggest_rule("edit_lines", &proposal, &effects).unwrap();
        insta::assert_snapshot!(in_words(&rule, &effects), @r"from now on edit_lines may create and change `src/a\u{202E}.rs`, with any content, without a question");
    }
}
