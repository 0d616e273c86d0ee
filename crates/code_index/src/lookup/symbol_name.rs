//! The name that a query asks for, in any of its usual spellings.

use std::str::FromStr;

use protocol::{ErrorCode, ToolError};
use workspace::RelPath;

/// Parts of a path of names that stand for a place and not for a name.
const RELATIVE: [&str; 5] = ["crate", "self", "super", "this", "Self"];
/// The most characters of a name; what is longer is not a name.
const MAX_CHARS: usize = 256;

/// A name, and what it is said to stand in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolName {
    /// The name alone.
    pub name: String,
    /// What it is said to stand in, outermost first.
    pub within: Vec<String>,
}

/// The text holds no name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a name")]
pub struct NotAName(String);

impl From<NotAName> for ToolError {
    fn from(error: NotAName) -> ToolError {
        ToolError::new(ErrorCode::InvalidArguments, error.to_string())
            .suggest("Give one name, such as parse, Session::new or pkg.Func.")
    }
}

impl FromStr for SymbolName {
    type Err = NotAName;

    fn from_str(text: &str) -> Result<Self, NotAName> {
        SymbolName::parse(text).ok_or_else(|| NotAName(text.to_owned()))
    }
}

/// How well a place fits what a name is said to stand in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fit {
    /// The container ends in just these names, or nothing was said.
    Exact,
    /// The names appear in order among directories, file and containers.
    Loose,
}

impl SymbolName {
    /// Reads `name`, `Type::method`, `Type.method`, `pkg.Func`, `Class#method`, `ptr->field`,
    /// `Name\Space\Class`, with or without `()` and type arguments. None if no name is in it.
    pub fn parse(text: &str) -> Option<SymbolName> {
        let text = text.trim().trim_matches('`');
        if text.len() > MAX_CHARS * 4 || text.contains('\0') {
            return None;
        }
        let text = text.strip_suffix("()").unwrap_or(text);
        let plain = without_type_arguments(text);
        let mut parts: Vec<&str> = split(&plain);
        let name = parts.pop()?.to_owned();
        let is_name = !name.chars().any(char::is_whitespace) && name.chars().count() <= MAX_CHARS;
        let within = parts.into_iter().filter(|part| !RELATIVE.contains(part));
        is_name.then(|| SymbolName { within: within.map(str::to_owned).collect(), name })
    }

    /// Whether something in `container` in the file at `path` is what is meant; none if not.
    pub(crate) fn fits(&self, path: &RelPath, container: Option<&str>) -> Option<Fit> {
        if self.within.is_empty() {
            return Some(Fit::Exact);
        }
        let containers: Vec<&str> = container.map(split).unwrap_or_default();
        let tail = containers.len().checked_sub(self.within.len());
        if tail.is_some_and(|from| containers[from..] == self.within[..]) {
            return Some(Fit::Exact);
        }
        let files = path.components().map(|part| {
            let name = String::from_utf8_lossy(part);
            let stem = name.split_once('.').map_or(&*name, |(stem, _)| stem);
            stem.replace('-', "_")
        });
        let mut wanted = self.within.iter().map(|part| part.replace('-', "_")).peekable();
        for part in files.chain(containers.into_iter().map(str::to_owned)) {
            wanted.next_if_eq(&part);
        }
        wanted.peek().is_none().then_some(Fit::Loose)
    }

    /// The name as it is usually written.
    pub fn to_text(&self) -> String {
        let mut text = self.within.join(".");
        if !text.is_empty() {
            text.push('.');
        }
        text.push_str(&self.name);
        text
    }
}

/// The names in a path of names. Characters at the ends that belong to no name are left out.
fn split(path: &str) -> Vec<&str> {
    let separators = |c: char| matches!(c, '.' | ':' | '\\' | '#' | '/');
    path.split("->")
        .flat_map(|part| part.split(separators))
        .map(|part| {
            part.trim_matches(|c: char| c.is_whitespace() || matches!(c, '&' | '*' | '$' | '@'))
        })
        .filter(|part| !part.is_empty())
        .collect()
}

/// `Vec<T>::push` without its `<T>`. Operators such as `operator<` have no closing bracket and stay.
fn without_type_arguments(text: &str) -> String {
    let closing = text.matches('>').count().saturating_sub(text.matches("->").count());
    if text.matches('<').count() != closing {
        return text.to_owned();
    }
    let mut plain = String::with_capacity(text.len());
    let mut depth = 0usize;
    let mut before = ' ';
    for c in text.chars() {
        match c {
            '<' => depth += 1,
            '>' if before != '-' => depth = depth.saturating_sub(1),
            _ if depth == 0 => plain.push(c),
            _ => {}
        }
        before = c;
    }
    plain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_common_spelling_is_understood() {
        let table: [(&str, &[&str], &str); 14] = [
            ("main", &[], "main"),
            ("Type::method", &["Type"], "method"),
            ("Type.method()", &["Type"], "method"),
            ("pkg.Func", &["pkg"], "Func"),
            ("Class#method", &["Class"], "method"),
            ("dev->driver", &["dev"], "driver"),
            ("App\\Models\\User", &["App", "Models"], "User"),
            ("crate::lookup::Word::new", &["lookup", "Word"], "new"),
            ("Vec<Option<T>>::push", &["Vec"], "push"),
            ("`foo`", &[], "foo"),
            ("$user", &[], "user"),
            ("::std::swap", &["std"], "swap"),
            ("@Override", &[], "Override"),
            (" valid? ", &[], "valid?"),
        ];
        for (text, within, name) in table {
            let found = SymbolName::parse(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(
                (found.within.as_slice(), found.name.as_str()),
                (within.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>().as_slice(), name,),
                "{text}"
            );
        }
        for text in ["", "  ", "::", "()", "two words", "a\0b"] {
            assert_eq!(SymbolName::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_qualified_name_fits_containers_first_and_then_files() {
        let fit = |name: &str, path: &str, container: Option<&str>| {
            SymbolName::parse(name).unwrap().fits(&RelPath::parse(path).unwrap(), container)
        };
        assert_eq!(fit("f", "a.rs", Some("X")), Some(Fit::Exact));
        assert_eq!(fit("X.f", "a.rs", Some("ns.X")), Some(Fit::Exact));
        assert_eq!(fit("ns::X::f", "a.rs", Some("ns.X")), Some(Fit::Exact));
        assert_eq!(fit("X.f", "a.rs", Some("Y")), None);
        assert_eq!(fit("http.Get", "net/http/client.go", None), Some(Fit::Loose));
        assert_eq!(fit("os.path.join", "lib/os/path.py", None), Some(Fit::Loose));
        assert_eq!(fit("my_crate::a::f", "crates/my-crate/src/a.rs", None), Some(Fit::Loose));
        assert_eq!(fit("b::a::f", "crates/a/b.rs", None), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in ".*") {
            if let Some(name) = SymbolName::parse(&text) {
                prop_assert!(!name.name.is_empty());
                // A name fits the container that it says itself.
                let path = RelPath::parse("a/b.rs").unwrap();
                let container = name.within.join(".");
                prop_assert_eq!(name.fits(&path, Some(&container)), Some(Fit::Exact));
            }
        }
    }
}
