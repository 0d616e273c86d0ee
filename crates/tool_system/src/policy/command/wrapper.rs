//! Programs that run other commands: what they run is judged as well.

use super::{CommandWord, SimpleCommand, environment, git, syntax};

/// What a command runs besides itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Inner {
    /// Nothing that is known of.
    Nothing,
    Commands(Vec<SimpleCommand>),
    /// A shell text.
    Script(String),
    /// Something that cannot be told.
    Doubt(String),
}

/// A program that runs the rest of its arguments.
struct CommandWrapper {
    name: &'static str,
    /// Options that stand alone.
    flags: &'static [&'static str],
    /// Options whose value is the next word, or in the same word behind `=` or the letter.
    valued: &'static [&'static str],
    /// Words between the options and the command.
    operands: usize,
}

const fn prefix(name: &'static str) -> CommandWrapper {
    CommandWrapper { name, flags: &[], valued: &[], operands: 0 }
}

const PREFIXES: &[CommandWrapper] = &[
    CommandWrapper { flags: &["-p"], ..prefix("time") },
    prefix("nohup"),
    prefix("builtin"),
    prefix("coproc"),
    prefix("chronic"),
    prefix("unbuffer"),
    prefix("busybox"),
    CommandWrapper { flags: &["-p"], ..prefix("command") },
    CommandWrapper { flags: &["-c", "-l"], valued: &["-a"], ..prefix("exec") },
    CommandWrapper { flags: &["-f", "-w", "--fork", "--wait"], ..prefix("setsid") },
    CommandWrapper { valued: &["-n", "--adjustment"], ..prefix("nice") },
    CommandWrapper { flags: &["-t"], valued: &["-c", "-n"], ..prefix("ionice") },
    CommandWrapper {
        valued: &["-i", "-o", "-e", "--input", "--output", "--error"],
        ..prefix("stdbuf")
    },
    CommandWrapper {
        flags: &["--foreground", "--preserve-status", "-v", "--verbose"],
        valued: &["-k", "-s", "--kill-after", "--signal"],
        operands: 1,
        ..prefix("timeout")
    },
    CommandWrapper {
        flags: &["-n", "-x", "-s", "--nonblock"],
        valued: &["-w", "-E"],
        operands: 1,
        ..prefix("flock")
    },
    CommandWrapper {
        flags: &["-n", "-E", "-H", "-S", "-k", "-b"],
        valued: &["-u", "-g", "-p", "--user", "--group"],
        ..prefix("sudo")
    },
    CommandWrapper { flags: &["-n"], valued: &["-u"], ..prefix("doas") },
    CommandWrapper {
        flags: &["-0", "-r", "-t", "-x", "--null", "--no-run-if-empty"],
        valued: &["-n", "-P", "-I", "-L", "-d", "-s", "-a", "--max-args", "--max-procs"],
        ..prefix("xargs")
    },
];

const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "ash", "fish"];
/// What runs what it is told in ways that are not followed.
const UNFOLLOWED: &[&str] =
    &["parallel", "script", "expect", "trap", "alias", "enable", "su", "pkexec"];

/// What `command` runs besides itself.
pub(super) fn look_through(command: &SimpleCommand) -> Inner {
    let Some(program) = command.program() else { return Inner::Nothing };
    if let Some(inner) = shell_script(command) {
        return inner;
    }
    match program {
        "env" => env(command),
        "eval" => joined(command.args()),
        "watch" => watch(command),
        "find" | "gfind" => find(command),
        "fd" | "fdfind" if command.args().iter().any(|arg| runs_each(&arg.text)) => {
            Inner::Doubt(format!("{program} runs a command for each file"))
        }
        "git" => git::doubt(command).map_or(Inner::Nothing, Inner::Doubt),
        "command" if command.has(&["-v", "-V"]) => Inner::Nothing,
        program if UNFOLLOWED.contains(&program) && !command.args().is_empty() => {
            Inner::Doubt(format!("what {program} runs is not followed"))
        }
        program => match PREFIXES.iter().find(|prefix| prefix.name == program) {
            Some(prefix) => prefixed(command, prefix),
            None => Inner::Nothing,
        },
    }
}

fn runs_each(option: &str) -> bool {
    ["-x", "-X", "--exec"].iter().any(|start| option.starts_with(start))
}

/// The text that a shell is given; `None` if the command is no shell or runs a file.
pub(super) fn shell_script(command: &SimpleCommand) -> Option<Inner> {
    let program = command.program().filter(|program| SHELLS.contains(program))?;
    let doubt = |why: &str| Some(Inner::Doubt(format!("{program} {why}")));
    let mut args = command.args().iter();
    while let Some(arg) = args.next() {
        let Some(text) = arg.as_plain() else { return doubt("has unknown options") };
        match text {
            "--version" | "--help" => return None,
            // The name of a shell option follows.
            bundle if is_bundle(bundle) && bundle.contains('o') && !bundle.contains('c') => {
                args.next();
            }
            "-s" | "-" => return Some(from_input(command, program)),
            "--norc" | "--noprofile" | "--posix" | "--" | "--login" => {}
            bundle if is_bundle(bundle) && bundle.contains('c') && !bundle.contains('o') => {
                return match args.next().map(CommandWord::as_plain) {
                    Some(Some(script)) => Some(Inner::Script(script.to_owned())),
                    _ => doubt("runs a script that is only known when it runs"),
                };
            }
            bundle if is_bundle(bundle) && !bundle.contains('c') => {}
            option if option.starts_with('-') => return doubt("has unknown options"),
            _ => return None,
        }
    }
    Some(from_input(command, program))
}

fn is_bundle(text: &str) -> bool {
    let letters = text.strip_prefix(['-', '+']).unwrap_or_default();
    !letters.is_empty() && letters.chars().all(|letter| "celuxvnfo".contains(letter))
}

fn from_input(command: &SimpleCommand, program: &str) -> Inner {
    match command.input.as_ref().map(CommandWord::as_plain) {
        Some(Some(text)) => Inner::Script(text.to_owned()),
        _ => Inner::Doubt(format!("{program} reads what it runs from its input")),
    }
}

/// A text that is put together from words.
fn joined(words: &[CommandWord]) -> Inner {
    let texts: Option<Vec<_>> = words.iter().map(CommandWord::as_plain).collect();
    match texts {
        Some(texts) => Inner::Script(texts.join(" ")),
        None => Inner::Doubt("it runs a script that is only known when it runs".to_owned()),
    }
}

fn watch(command: &SimpleCommand) -> Inner {
    let mut args = command.args();
    while let Some((first, rest)) = args.split_first() {
        args = match first.text.as_str() {
            "-n" | "--interval" => rest.get(1..).unwrap_or_default(),
            option if option.starts_with('-') => rest,
            _ => break,
        };
    }
    joined(args)
}

fn env(command: &SimpleCommand) -> Inner {
    let mut inner = command.within(Vec::new());
    let mut args = command.args().iter();
    while let Some(arg) = args.next() {
        match (arg.text.as_str(), arg.text.split_once('=')) {
            ("-i" | "-" | "-0" | "--ignore-environment", _) => {}
            ("-u" | "--unset", _) => {
                args.next();
            }
            (option, _) if option.starts_with('-') => {
                return Inner::Doubt(format!("env gets the option {option}"));
            }
            (_, Some((name, value))) => inner.assignments.push(super::Assignment {
                name: name.to_owned(),
                value: CommandWord { text: value.to_owned(), kind: arg.kind },
            }),
            _ => {
                inner.words = std::iter::once(arg).chain(args).cloned().collect();
                return Inner::Commands(vec![inner]);
            }
        }
    }
    // Alone it prints the variables.
    Inner::Nothing
}

fn prefixed(command: &SimpleCommand, prefix: &CommandWrapper) -> Inner {
    let mut rest = command.args();
    while let Some((first, after)) = rest.split_first() {
        let text = first.text.as_str();
        if first.as_plain().is_none() || !text.starts_with('-') {
            break;
        }
        let glued = |option: &&&str| {
            let value = text.strip_prefix(**option);
            value.is_some_and(|value| {
                !value.is_empty() && (!option.starts_with("--") || value.starts_with('='))
            })
        };
        rest = if text == "--" {
            rest = after;
            break;
        } else if prefix.flags.contains(&text) || prefix.valued.iter().any(|option| glued(&option))
        {
            after
        } else if prefix.valued.contains(&text) {
            after.get(1..).unwrap_or_default()
        } else {
            return Inner::Doubt(format!("{} gets the option {text}", prefix.name));
        };
    }
    let mut words = rest.get(prefix.operands..).unwrap_or_default().to_vec();
    let is_xargs = prefix.name == "xargs";
    match words.first() {
        // `xargs` alone prints, `exec > file` only redirects, the others do nothing.
        None => Inner::Nothing,
        Some(_) => {
            if is_xargs {
                words.push(CommandWord::opaque("…"));
            }
            let mut inner = command.within(words);
            if is_xargs {
                inner.input = None;
            }
            Inner::Commands(vec![inner])
        }
    }
}

/// The commands behind `-exec` and its kin, each with the names that are found.
fn find(command: &SimpleCommand) -> Inner {
    let mut found = Vec::new();
    let mut args = command.args().iter();
    while let Some(arg) = args.next() {
        if !matches!(arg.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir") {
            continue;
        }
        let words: Vec<CommandWord> = args
            .by_ref()
            .take_while(|word| word.text != ";" && word.text != "+")
            .map(|word| {
                if word.text.contains("{}") {
                    CommandWord::opaque(word.text.clone())
                } else {
                    word.clone()
                }
            })
            .collect();
        found.push(command.within(words));
    }
    if found.is_empty() { Inner::Nothing } else { Inner::Commands(found) }
}

/// Builtins that set the variables they are given the names of.
const SETTERS: &[&str] = &[
    "declare",
    "export",
    "getopts",
    "let",
    "local",
    "mapfile",
    "printf",
    "read",
    "readarray",
    "readonly",
    "test",
    "typeset",
    "unset",
];

/// Why a builtin may set more than is plain to see: a variable that changes what commands mean, or
/// one whose name the shell evaluates.
pub(super) fn sets_variables(command: &SimpleCommand) -> Option<String> {
    let program = command.program().filter(|program| SETTERS.contains(program))?;
    let names = match program {
        "printf" if !command.args().first().is_some_and(|arg| arg.text.starts_with("-v")) => &[],
        "test" if !command.has(&["-v"]) => &[],
        _ => command.args(),
    };
    let strange = |word: &&CommandWord| {
        let name = word.text.split(['=', '+']).next().unwrap_or_default();
        let unknown = word.as_plain().is_none() && !word.text.contains('=');
        unknown
            || environment::is_suspicious(name.strip_prefix("-v").unwrap_or(name))
            || (word.as_plain().is_some() && syntax::holds_substitution(&word.text))
    };
    let word = names.iter().find(strange)?;
    Some(format!("{program} may change what commands mean by `{}`", super::excerpt(&word.text)))
}
