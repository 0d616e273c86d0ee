//! Variables that change what a command means, and variables that do not.

/// Names that make programs run or load something else than they are asked to.
const SUSPICIOUS: &[&str] = &[
    "PATH",
    "IFS",
    "ENV",
    "CDPATH",
    "GLOBIGNORE",
    "SHELLOPTS",
    "BASHOPTS",
    "PROMPT_COMMAND",
    "PS4",
    "HOME",
    "SHELL",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "MANPAGER",
    "LESSOPEN",
    "LESSCLOSE",
    "BROWSER",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PERL5OPT",
    "PERL5LIB",
    "PERL5DB",
    "RUBYOPT",
    "RUBYLIB",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "MAVEN_OPTS",
    "GRADLE_OPTS",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC",
    "RUSTFLAGS",
    "CARGO_HOME",
    "MAKEFLAGS",
    "GOFLAGS",
    "RIPGREP_CONFIG_PATH",
    "TAR_OPTIONS",
    "CC",
    "CXX",
    "LD",
];
/// Beginnings of such names.
const SUSPICIOUS_PREFIXES: &[&str] = &[
    "LD_",
    "DYLD_",
    "BASH_",
    "GIT_",
    "SSH_",
    "PYTHON",
    "npm_config_",
    "NPM_CONFIG_",
    "CARGO_TARGET_",
];
/// Names that only change how output looks or how much of it there is.
const INDIFFERENT: &[&str] = &[
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "COLUMNS",
    "LINES",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CI",
    "DEBUG",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "CARGO_TERM_COLOR",
    "NODE_ENV",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
];

/// Whether setting `name` changes what commands mean.
pub(crate) fn is_suspicious(name: &str) -> bool {
    // An element of an array is the variable, too.
    let name = name.split('[').next().unwrap_or_default();
    !is_indifferent(name)
        && (SUSPICIOUS.contains(&name)
            || SUSPICIOUS_PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
}

/// Whether a rule about a command holds with this variable set, too.
pub(super) fn is_indifferent(name: &str) -> bool {
    INDIFFERENT.contains(&name) || name.starts_with("LC_")
}
