//! Which commands pass in every mode because they only look.

use protocol::{CommandSpec, Proposal};

use crate::policy::{Effect, effects_of};

fn only_looks(text: &str) -> bool {
    let argv = ["bash", "-c", text].map(str::to_owned).to_vec();
    let effects = effects_of(&Proposal::Command(CommandSpec { argv, ..CommandSpec::default() }));
    effects.iter().all(Effect::only_looks)
}

#[test]
fn commands_that_only_look_are_told_from_others() {
    let looking = [
        "ls",
        "ls -la src",
        "ls *.rs",
        "cat README.md",
        "cat src/*.rs | head -50",
        "head -n 20 src/main.rs",
        "wc -l src/*.rs",
        "pwd && ls",
        "cd crates/cli && cat Cargo.toml",
        "grep -rn 'fn main' src",
        "grep -rn '/api/v1' src | wc -l",
        "rg -n --type rust 'TODO|FIXME' crates",
        "find . -name '*.rs' -not -path './target/*'",
        "find src -type f | sort | uniq -c | sort -rn | head",
        "git status",
        "git status --short",
        "git log --oneline -10",
        "git diff HEAD~1 -- src/a.rs",
        "git diff --stat",
        "git show HEAD:src/a.rs",
        "git branch -a",
        "git --no-pager log -p -1",
        "git -c core.fsmonitor= -c core.hooksPath=/dev/null status --porcelain",
        "git ls-files | wc -l",
        "git blame -L 10,20 src/a.rs",
        "git stash list",
        "git remote -v",
        "git rev-parse HEAD 2>/dev/null",
        "sed -n '10,20p' src/a.rs",
        "sed -n 5p a.txt",
        "echo hello world",
        "printf '%s\\n' a b",
        "test -f Cargo.toml && echo yes || echo no",
        "[ -d src ]",
        "[[ -f x ]] && echo yes",
        "which cargo",
        "command -v node",
        "cargo --version",
        "node --version && npm --version",
        "du -sh target",
        "stat a.txt",
        "diff a.txt b.txt",
        "sort a.txt | uniq",
        "cut -d, -f1 a.csv | tr a-z A-Z",
        "jq '.scripts' package.json",
        "tail -n +5 a.txt",
        "LC_ALL=C sort a.txt",
        "timeout 5 cat a.txt",
        "for f in a b; do echo x; done",
        "set -euo pipefail; ls",
        "cat a.txt 2>&1",
        "cat < a.txt",
        "cat /tmp/out.txt",
        "find . -name x -exec cat a.txt ';'",
    ];
    for text in looking {
        assert!(only_looks(text), "{text}");
    }
    let not_looking = [
        "cat /etc/passwd",
        "cat ../other/x",
        "cat ~/.ssh/id_rsa",
        "cat $FILE",
        "ls $(pwd)",
        "cd .. && ls",
        "cd /",
        "cat a > b",
        "echo x >> a.txt",
        "sort -o a.txt a.txt",
        "rg --pre ./x y",
        "find . -fprint x",
        "git log --output=x",
        "git diff --ext-diff",
        "git branch new",
        "git tag v1",
        "sed -i s/a/b/ x",
        "sed -n 'w x' y",
        "sed 's/a/b/' x",
        "awk '{print $1}' x",
        "uniq a b",
        "./ls",
        "sort *",
        "FOO=1 ls",
        "tree -o x",
        "python3 -c 'print(1)'",
        "less a.txt",
        "cat < /etc/passwd",
        "xargs",
        "cat {/etc/passwd,a}",
        "cat */../../x",
        "sort -no a b",
        "sort --outp=a b",
        "git log --outp=x",
        "git diff --ext",
        "git -C .. log",
        "find . -fprint x -exec cat a ';'",
        "flock a ls",
        "fd -Hx rm",
        "jq . /etc/x.json",
    ];
    for text in not_looking {
        assert!(!only_looks(text), "{text}");
    }
}
