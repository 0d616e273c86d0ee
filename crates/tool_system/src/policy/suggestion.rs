//! The rules that "always allow this" would remember.

use std::collections::BTreeSet;

use super::{
    CommandPattern, Decision, Effect, InvalidPattern, PathPattern, Rule, RuleSource, ToolPattern,
    protection,
};

/// More paths or commands than this make no rule that a person would read before agreeing.
const MAX_PATHS: usize = 8;

/// The rules that a person could choose from to let such an action pass from now on, the narrowest
/// first: exactly these files, then everything in their directories. Both hold for this tool only.
///
/// There are none for protected names, deletions, links and the web, and no wide one for files
/// directly in the project root. For a command line there is one rule, of exactly its commands, and
/// none if it is dangerous, writes through the shell or is not fully understood.
pub fn suggest_rules(tool: &str, effects: &[Effect]) -> Vec<Rule> {
    if effects.iter().any(|effect| effect.run.is_some()) {
        return command_rule(tool, effects).into_iter().collect();
    }
    let paths: Option<BTreeSet<&str>> = effects.iter().map(rememberable_path).collect();
    let Some(paths) = paths.filter(|paths| !paths.is_empty()) else { return Vec::new() };
    let directories: Option<BTreeSet<&str>> =
        paths.iter().map(|path| path.rsplit_once('/').map(|(directory, _)| directory)).collect();
    let exact = rule(tool, &paths, PathPattern::exactly);
    let wide = directories.and_then(|names| rule(tool, &outermost(&names), PathPattern::beneath));
    exact.into_iter().chain(wide).collect()
}

/// The rule that allows exactly these commands. What passes anyway needs none.
fn command_rule(tool: &str, effects: &[Effect]) -> Option<Rule> {
    let mut command: Vec<CommandPattern> = Vec::new();
    for effect in effects {
        let pattern = match &effect.run {
            Some(run) => run.memory()?,
            None => return None,
        };
        if !command.contains(&pattern) {
            command.push(pattern);
        }
    }
    if command.is_empty() || command.len() > MAX_PATHS {
        return None;
    }
    Some(Rule {
        tool: ToolPattern::new(globset::escape(tool)).ok()?,
        command,
        ..Rule::new(Decision::Allow, RuleSource::Remembered)
    })
}

fn rememberable_path(effect: &Effect) -> Option<&str> {
    let path = effect.path.as_deref()?;
    let refused = effect.kind.is_grave() || effect.tree || protection(path, effect.tree).is_some();
    (!refused).then_some(path)
}

/// The directories that lie in none of the others.
fn outermost<'a>(directories: &BTreeSet<&'a str>) -> BTreeSet<&'a str> {
    let inside = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'))
    };
    let covered = |name: &str| directories.iter().any(|outer| inside(name, outer));
    directories.iter().copied().filter(|name| !covered(name)).collect()
}

fn rule(
    tool: &str,
    paths: &BTreeSet<&str>,
    pattern: fn(&str) -> Result<PathPattern, InvalidPattern>,
) -> Option<Rule> {
    if paths.len() > MAX_PATHS {
        return None;
    }
    let paths: Result<Vec<_>, _> = paths.iter().map(|path| pattern(path)).collect();
    Some(Rule {
        tool: ToolPattern::new(globset::escape(tool)).ok()?,
        paths: paths.ok()?,
        ..Rule::new(Decision::Allow, RuleSource::Remembered)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::EffectKind;

    fn suggested(effects: &[Effect]) -> Vec<String> {
        suggest_rules("edit_lines", effects).iter().map(Rule::to_string).collect()
    }

    #[test]
    fn the_file_comes_first_and_its_directory_second() {
        let edit = |path: &str| Effect::on(EffectKind::Overwrite, path);
        assert_eq!(
            suggested(&[edit("src/a.rs")]),
            ["allow edit_lines on /src/a.rs", "allow edit_lines on src/**"]
        );
        assert_eq!(
            suggested(&[edit("src/a.rs"), edit("src/x/b.rs"), edit("docs/c.md")]),
            [
                "allow edit_lines on /docs/c.md, /src/a.rs, /src/x/b.rs",
                "allow edit_lines on docs/**, src/**"
            ]
        );
        assert_eq!(suggested(&[edit("README.md")]), ["allow edit_lines on /README.md"]);
        assert_eq!(
            suggested(&[edit("app/[id]/p.ts")])[0],
            "allow edit_lines on /app/[[]id[]]/p.ts"
        );
    }

    #[test]
    fn grave_and_protected_effects_are_never_remembered() {
        let edit = Effect::on(EffectKind::Overwrite, "src/a.rs");
        for other in [
            Effect::on(EffectKind::Delete, "src/b.rs"),
            Effect::on(EffectKind::Link, "src/b.rs"),
            Effect::on(EffectKind::Create, ".envrc"),
            Effect::on_tree(EffectKind::Move, "src"),
            Effect::outside(EffectKind::Run, "make"),
            Effect::outside(EffectKind::Fetch, "GET https://example.org"),
        ] {
            assert!(suggested(&[edit.clone(), other.clone()]).is_empty(), "{other}");
        }
        assert!(suggested(&[]).is_empty());
    }
}
