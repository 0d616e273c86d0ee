//! Commands that only look, and pass in every mode if their arguments are plain.

use super::target::Scene;
use super::{SimpleCommand, Word, WordKind, environment, git::Git};

/// Programs of which no option writes, runs or connects.
const LOOKING: &[&str] = &[
    ":",
    "[",
    "arch",
    "base64",
    "basename",
    "break",
    "cat",
    "cksum",
    "cmp",
    "comm",
    "continue",
    "cut",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "exit",
    "expand",
    "false",
    "fgrep",
    "fmt",
    "fold",
    "free",
    "grep",
    "groups",
    "head",
    "id",
    "jq",
    "join",
    "ls",
    "md5sum",
    "nl",
    "nproc",
    "od",
    "paste",
    "printenv",
    "printf",
    "ps",
    "pwd",
    "read",
    "readlink",
    "realpath",
    "return",
    "rev",
    "seq",
    "set",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "shift",
    "sleep",
    "stat",
    "strings",
    "tac",
    "tail",
    "test",
    "tr",
    "true",
    "type",
    "uname",
    "unset",
    "uptime",
    "wait",
    "wc",
    "which",
    "whoami",
];
/// Programs whose arguments are text and no paths.
const TEXT: &[&str] =
    &[":", "[", "echo", "exit", "printf", "read", "return", "seq", "set", "sleep", "test", "tr"];
/// Programs whose first operand is a pattern.
const PATTERN_FIRST: &[&str] = &["egrep", "fgrep", "grep", "jq", "rg"];
/// Programs that only look unless an option begins like one of these.
const LOOKING_UNLESS: &[(&str, &[&str])] = &[
    ("date", &["-s", "--set"]),
    ("fd", &["-x", "-X", "--exec"]),
    ("fdfind", &["-x", "-X", "--exec"]),
    ("file", &["-C", "--compile"]),
    ("find", &["-delete", "-fprint", "-fls"]),
    ("rg", &["--pre", "--hostname-bin", "-z", "--search-zip"]),
    ("sort", &["-o", "--output", "--compress-program", "-T", "--temporary-directory"]),
    ("tree", &["-o", "--output"]),
];
/// Programs that may be asked for their version.
const VERSIONED: &[&str] = &[
    "bash", "bun", "cargo", "clang", "cmake", "deno", "docker", "dotnet", "gcc", "go", "gradle",
    "java", "make", "mvn", "node", "npm", "npx", "perl", "php", "pip", "pip3", "pnpm", "pytest",
    "python", "python3", "rg", "ruby", "rustc", "rustup", "tsc", "uv", "yarn",
];
/// Subcommands of git that only look, whatever their arguments, but for [`GIT_WRITES`].
const GIT_LOOKS: &[&str] = &[
    "blame",
    "cat-file",
    "check-ignore",
    "count-objects",
    "describe",
    "diff",
    "diff-tree",
    "for-each-ref",
    "grep",
    "help",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "name-rev",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-ref",
    "status",
    "var",
    "version",
    "whatchanged",
];
/// Options with which even these write or run something.
const GIT_WRITES: &[&str] = &[
    "--output",
    "--ext-diff",
    "--textconv",
    "--filters",
    "--open-files-in-pager",
    "-O",
    "--no-index",
];

/// Whether `command` only looks, and at nothing but the project.
pub(super) fn only_looks(command: &SimpleCommand, scene: &Scene<'_>) -> bool {
    let Some(called) = command.called() else { return only_reads_files(command, scene) };
    let program = command.program().unwrap_or(called);
    let system =
        [program, &format!("/bin/{program}"), &format!("/usr/bin/{program}")].contains(&called);
    let quiet = command.assignments.iter().all(|set| environment::is_indifferent(&set.name));
    system && quiet && only_reads_files(command, scene) && looks(program, command, scene)
}

/// Whether the shell writes nothing for it and reads nothing foreign.
fn only_reads_files(command: &SimpleCommand, scene: &Scene<'_>) -> bool {
    let number = |word: &Word| word.text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let fine =
        |redirect: &super::Redirect| number(&redirect.target) || scene.stays(&redirect.target);
    command.written().next().is_none() && command.redirects.iter().all(fine)
}

fn looks(program: &str, command: &SimpleCommand, scene: &Scene<'_>) -> bool {
    let begins = |starts: &[&str]| {
        command.args().iter().any(|arg| starts.iter().any(|start| could_be(&arg.text, start)))
    };
    if VERSIONED.contains(&program) && command.args() == [Word::plain("--version")] {
        return true;
    }
    match program {
        "cd" => command.args().len() == 1 && all_plain(command.args(), scene),
        "command" => command.has(&["-v", "-V"]) && all_plain(command.args(), scene),
        "env" => command.args().is_empty(),
        "export" | "local" | "declare" | "readonly" | "typeset" => true,
        "sed" => is_line_print(command) && all_plain(&command.args()[2..], scene),
        "uniq" => command.operands().count() < 2 && all_plain(command.args(), scene),
        "git" => git_looks(command, scene),
        _ if TEXT.contains(&program) => {
            command.args().iter().all(|arg| arg.kind != WordKind::Opaque)
        }
        _ if LOOKING.contains(&program) => {
            let patterns = command.args().iter().all(|arg| arg.kind != WordKind::Opaque);
            patterns && reads_inside(program, command, scene)
        }
        _ => LOOKING_UNLESS.iter().any(|(name, unless)| {
            let plain = |arg: &Word| match arg.kind {
                WordKind::Plain => true,
                // It may turn out to be a file that is called like an option.
                WordKind::Pattern => !arg.text.starts_with(['*', '?', '[', '{']),
                WordKind::Opaque => false,
            };
            *name == program
                && !begins(unless)
                && command.args().iter().all(plain)
                && reads_inside(program, command, scene)
        }),
    }
}

/// Whether an argument could be this option: with a value, cut short as many programs take it, or as
/// a letter in a bundle.
fn could_be(arg: &str, option: &str) -> bool {
    let name = arg.split('=').next().unwrap_or_default();
    let cut = name.len() > "--".len() && name.starts_with("--") && option.starts_with(name);
    let letter = option.strip_prefix('-').filter(|rest| rest.len() == 1);
    let bundled = letter.is_some_and(|letter| {
        let letters = arg.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        letters.is_some_and(|letters| letters.contains(letter))
    });
    arg.starts_with(option) || cut || bundled
}

fn all_plain(args: &[Word], scene: &Scene<'_>) -> bool {
    args.iter().all(|arg| arg.kind == WordKind::Plain && scene.stays(arg))
}

/// Whether no argument could be a path that leads out of the project.
fn reads_inside(program: &str, command: &SimpleCommand, scene: &Scene<'_>) -> bool {
    let from_file =
        command.has_short('f') || command.has_short('e') || command.has(&["--file", "--regexp"]);
    let pattern = (PATTERN_FIRST.contains(&program) && !from_file)
        .then(|| command.operands().next())
        .flatten();
    let inside = |arg: &Word| match arg.text.split_once('=') {
        Some((option, value)) if option.starts_with('-') => scene.stays(&Word::plain(value)),
        _ => scene.stays(arg),
    };
    command
        .args()
        .iter()
        .all(|arg| pattern.is_some_and(|first| std::ptr::eq(first, arg)) || inside(arg))
}

/// `sed -n '10,20p' file`, which models like to read files by.
fn is_line_print(command: &SimpleCommand) -> bool {
    let [option, script, ..] = command.args() else { return false };
    let range = |text: &str| {
        let lines = text.strip_suffix('p').unwrap_or_default();
        !lines.is_empty() && lines.chars().all(|c| c.is_ascii_digit() || ",$".contains(c))
    };
    let more_options = command.args()[2..].iter().any(|arg| arg.text.starts_with('-'));
    option.text == "-n" && script.text.split(';').all(range) && !more_options
}

fn git_looks(command: &SimpleCommand, scene: &Scene<'_>) -> bool {
    let Ok(Some(git)) = Git::of(command) else { return false };
    let writes = |arg: &Word| GIT_WRITES.iter().any(|option| could_be(&arg.text, option));
    let elsewhere = git.directories.iter().any(|directory| !scene.stays(directory));
    if elsewhere || !all_plain(git.args, scene) || git.args.iter().any(writes) {
        return false;
    }
    let first = git.args.first().map(|arg| arg.text.as_str());
    let only = |allowed: &[&str]| git.args.iter().all(|arg| allowed.contains(&arg.text.as_str()));
    match git.subcommand {
        "branch" => only(&[
            "-a",
            "-r",
            "-v",
            "-vv",
            "--all",
            "--list",
            "--remotes",
            "--show-current",
            "--verbose",
        ]),
        "tag" => only(&["-l", "--list", "-n"]),
        "remote" => only(&["-v", "--verbose"]),
        "stash" | "worktree" => first == Some("list"),
        "reflog" => matches!(first, None | Some("show")),
        "config" => matches!(first, Some("--get" | "--list" | "-l" | "--get-all")),
        "grep" => !git.has_short('O'),
        subcommand => GIT_LOOKS.contains(&subcommand),
    }
}
