//! Paths that always need approval: other programs run or follow what is in them.
//!
//! A write to these places gets code run, or another agent instructed, later and without any
//! approval. So the approver sees each change to them, also at new files, and no rule that allows
//! can cover them.

/// Names that are protected for the same reason.
#[derive(Clone, Copy, Debug)]
struct ProtectedGroup {
    /// Why a change there is dangerous, to follow "… is protected:".
    reason: &'static str,
    /// The names, in lower case. One or several names separated by slashes, found in a row anywhere
    /// in a path, protect the path and what lies beneath. A leading `*` stands for any beginning.
    names: &'static [&'static str],
}

/// Everything that is protected, with the reasons.
const PROTECTED: &[ProtectedGroup] = &[
    ProtectedGroup {
        reason: "it configures git, which can run programs",
        names: &[".git", "*.git", "git~1", ".gitmodules", ".gitattributes", ".gitconfig"],
    },
    ProtectedGroup {
        reason: "it decides what runs at a commit or a push",
        names: &[
            ".husky",
            ".githooks",
            ".git-hooks",
            ".hooks",
            ".lefthook",
            "lefthook.yml",
            "lefthook.yaml",
            "lefthook.toml",
            "lefthook-local.yml",
            ".lefthook.yml",
            ".overcommit.yml",
            ".pre-commit-config.yaml",
            ".pre-commit-config.yml",
            ".pre-commit-hooks.yaml",
            ".lintstagedrc",
        ],
    },
    ProtectedGroup {
        reason: "it decides what continuous integration runs, with its secrets",
        names: &[
            ".github/workflows",
            ".github/actions",
            ".github/dependabot.yml",
            ".gitlab-ci.yml",
            ".gitlab-ci.yaml",
            ".gitlab",
            ".forgejo",
            ".gitea",
            ".circleci",
            ".travis.yml",
            ".drone.yml",
            ".woodpecker",
            ".woodpecker.yml",
            ".cirrus.yml",
            ".buildkite",
            ".semaphore",
            ".teamcity",
            ".builds",
            ".build.yml",
            ".azure-pipelines",
            "azure-pipelines.yml",
            "azure-pipelines.yaml",
            "bitbucket-pipelines.yml",
            "appveyor.yml",
            ".appveyor.yml",
            "buildspec.yml",
            "cloudbuild.yaml",
            "jenkinsfile",
            "codeowners",
        ],
    },
    ProtectedGroup {
        reason: "shells and build tools run what it says as soon as they start here",
        names: &[
            ".envrc",
            ".direnv",
            ".mise",
            "mise.toml",
            ".mise.toml",
            "mise.local.toml",
            ".mise.local.toml",
            ".config/mise",
            ".bashrc",
            ".bash_profile",
            ".bash_login",
            ".profile",
            ".zshrc",
            ".zshenv",
            ".zprofile",
            ".config/fish",
            ".ssh",
            ".cargo/config",
            ".cargo/config.toml",
            ".npmrc",
            ".yarnrc",
            ".yarnrc.yml",
            ".pnpmfile.cjs",
            ".devcontainer",
            ".devcontainer.json",
        ],
    },
    ProtectedGroup {
        reason: "editors run what it says when they open the project",
        names: &[
            ".vscode",
            "*.code-workspace",
            ".idea",
            ".vs",
            ".zed",
            ".fleet",
            ".helix",
            ".nvim.lua",
            ".nvimrc",
            ".vimrc",
            ".exrc",
            ".lvimrc",
            ".dir-locals.el",
            ".dir-locals-2.el",
            "*.sublime-project",
        ],
    },
    ProtectedGroup {
        reason: "it instructs or configures coding agents",
        names: &[
            "agents.md",
            "agents.override.md",
            "agent.md",
            "claude.md",
            "claude.local.md",
            "gemini.md",
            "qwen.md",
            "skill.md",
            ".agents",
            ".agent",
            ".aider.conf.yml",
            ".amp",
            ".augment",
            ".augment-guidelines",
            ".claude",
            ".claude.json",
            ".cline",
            ".clinerules",
            ".codex",
            ".continue",
            ".crush.json",
            "crush.json",
            ".cursor",
            ".cursorignore",
            ".cursorrules",
            ".factory",
            ".gemini",
            ".github/agents",
            ".github/chatmodes",
            ".github/copilot-instructions.md",
            ".github/instructions",
            ".github/prompts",
            ".goose",
            ".goosehints",
            ".junie",
            ".kilocode",
            ".kiro",
            ".mcp.json",
            "mcp.json",
            ".opencode",
            "opencode.json",
            "opencode.jsonc",
            ".qwen",
            ".roo",
            ".roomodes",
            ".roorules",
            ".rules",
            ".trae",
            ".windsurf",
            ".windsurfrules",
        ],
    },
    ProtectedGroup { reason: "it is Toolkiln's own configuration", names: &[".toolkiln"] },
];

/// The file that makes any directory a git directory, together with what may already lie there.
const GIT_HEAD: &str = "HEAD";
/// Why that file is protected.
const GIT_HEAD_REASON: &str =
    "it can make a directory look like a git directory, whose configuration git uses";

/// Why `path` always asks, if it does. With `tree`, everything beneath the path counts too: a
/// directory that is to be called `.github` may bring workflows along.
pub(crate) fn protection(path: &str, tree: bool) -> Option<&'static str> {
    let names: Vec<String> = path.split('/').map(folded).collect();
    if path.rsplit('/').next() == Some(GIT_HEAD) {
        return Some(GIT_HEAD_REASON);
    }
    let holds = |entry: &&str| (0..names.len()).any(|start| in_a_row(&names[start..], entry, tree));
    PROTECTED.iter().find(|group| group.names.iter().any(holds)).map(|group| group.reason)
}

/// Whether `names` begins with the names of `entry`, or ends early and could continue so beneath.
fn in_a_row(names: &[String], entry: &str, tree: bool) -> bool {
    let mut names = names.iter();
    entry.split('/').all(|wanted| match (names.next(), wanted.strip_prefix('*')) {
        (None, _) => tree,
        (Some(name), Some(ending)) => name.ends_with(ending),
        (Some(name), None) => name == wanted,
    })
}

/// The name as the most forgiving file system would look it up: without case, without characters
/// that HFS+ ignores, without the trailing dots, spaces and streams that NTFS ignores.
fn folded(name: &str) -> String {
    // Upper case first, since some letters such as the long s have no lower case of their own.
    let visible: String = name.chars().filter(|c| !is_ignored(*c)).collect();
    let lower = visible.to_uppercase().to_lowercase();
    let plain = lower.split(':').next().unwrap_or_default();
    plain.trim_end_matches(['.', ' ']).to_owned()
}

fn is_ignored(character: char) -> bool {
    matches!(character, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_programs_obey_are_protected_wherever_they_are() {
        for path in [
            ".git/config",
            "sub/.git/hooks/pre-commit",
            ".git",
            "vendor/lib.git/config",
            ".GIT/config",
            ".g\u{200C}it/config",
            ".git./config",
            ".git::$INDEX_ALLOCATION/config",
            "GIT~1/config",
            ".gitmodules",
            ".gitattributes",
            "x/.gitattributes",
            ".github/workflows/ci.yml",
            ".GitHub/Workflows/ci.yml",
            ".gitlab-ci.yml",
            "Jenkinsfile",
            ".husky/pre-commit",
            ".envrc",
            ".vscode/tasks.json",
            ".idea/workspace.xml",
            "my.code-workspace",
            "AGENTS.md",
            "docs/agents.md",
            "Claude.md",
            "\u{17F}kill.md",
            ".cursor/rules/a.mdc",
            ".mcp.json",
            ".claude/settings.json",
            ".codex/config.toml",
            ".toolkiln/config.toml",
            "fixtures/repo/HEAD",
        ] {
            assert!(protection(path, false).is_some(), "{path}");
        }
    }

    #[test]
    fn ordinary_names_are_not() {
        for path in [
            "src/main.rs",
            ".gitignore",
            ".github/ISSUE_TEMPLATE/bug.md",
            ".github",
            "workflows/a.yml",
            "src/git/mod.rs",
            "src/head/head.rs",
            "docs/claude.md.txt",
            "agents/agents.rs",
            "git",
            "",
        ] {
            assert_eq!(protection(path, false), None, "{path}");
        }
    }

    #[test]
    fn a_directory_that_could_bring_protected_names_along_is_protected() {
        assert!(protection(".github", true).is_some());
        assert!(protection("a/.cargo", true).is_some());
        assert!(protection("src", true).is_none());
        assert!(protection(".github/ISSUE_TEMPLATE", true).is_none());
    }

    #[test]
    fn the_table_is_written_as_it_is_compared() {
        for entry in PROTECTED.iter().flat_map(|group| group.names) {
            for name in entry.split('/') {
                assert_eq!(folded(name), name, "{entry}");
            }
        }
    }
}
