//! The table of command lines.

const TABLE: &str = include_str!("lines.txt");

/// A command line that would change the project.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// What it is an example of.
    pub(crate) family: String,
    pub(crate) way: Way,
    /// The command; for tests the directory they are in, and perhaps the framework.
    pub(crate) text: String,
    /// The command that does the same without our tools.
    pub(crate) control: String,
    /// A program that may not be there.
    pub(crate) needs: Option<String>,
}

/// The tool that runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Bash,
    Code,
    Python,
    Tests,
    Job,
}

impl Line {
    pub(crate) fn all() -> Vec<Line> {
        let mut family = "";
        let mut all = Vec::new();
        for text in TABLE.lines() {
            match text.strip_prefix("## ") {
                Some(name) => family = name,
                None if text.is_empty() || text.starts_with('#') => {}
                None => all.push(Line::parse(family, text)),
            }
        }
        all
    }

    fn parse(family: &str, text: &str) -> Line {
        let (way, rest) = text.split_once(": ").unwrap_or_else(|| panic!("no tool: {text}"));
        let way = match way {
            "bash" => Way::Bash,
            "code" => Way::Code,
            "python" => Way::Python,
            "tests" => Way::Tests,
            "job" => Way::Job,
            _ => panic!("no tool: {text}"),
        };
        let needs = rest.strip_prefix('{').and_then(|rest| rest.split_once("} "));
        let needs = needs.filter(|(name, _)| name.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        let rest = needs.map_or(rest, |(_, rest)| rest).replace('↵', "\n");
        let (text, control) = match way {
            Way::Tests => {
                let (text, control) = rest.split_once(" | ").expect("a directory and a command");
                (text.to_owned(), control.to_owned())
            }
            Way::Python => (rest.clone(), format!("python3 -c {}", quoted(&rest))),
            _ => (rest.clone(), rest),
        };
        let needs = needs.map(|(name, _)| name.to_owned());
        Line { family: family.to_owned(), way, text, control, needs }
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
