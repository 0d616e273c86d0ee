//! `git diff --numstat --patch`.

use schemars::JsonSchema;
use serde::Serialize;

/// How much of a file differs.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct FileStat {
    pub(crate) path: String,
    /// Lines; absent for a binary file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) added: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) removed: Option<u64>,
}

/// The numbers for each file, and the patch that follows them.
pub(crate) fn stats_and_patch(printed: &str) -> (Vec<FileStat>, &str) {
    let mut files = Vec::new();
    let mut rest = printed;
    while let Some((line, after)) = rest.split_once('\n') {
        let Some(file) = stat(line) else { break };
        files.push(file);
        rest = after;
    }
    (files, rest.trim_start_matches('\n'))
}

fn stat(line: &str) -> Option<FileStat> {
    let mut fields = line.splitn(3, '\t');
    let mut number = || {
        let field = fields.next()?;
        if field == "-" { Some(None) } else { field.parse().ok().map(Some) }
    };
    let (added, removed) = (number()?, number()?);
    Some(FileStat { path: fields.next()?.to_owned(), added, removed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_before_the_patch() {
        let printed =
            "2\t1\tsrc/a b.rs\n-\t-\tlogo.png\n\ndiff --git a/x b/x\n1\t2\tnot a number line\n";
        let (files, patch) = stats_and_patch(printed);
        assert_eq!(files.len(), 2);
        assert_eq!((files[0].added, files[0].removed, files[1].added), (Some(2), Some(1), None));
        assert!(patch.starts_with("diff --git") && patch.ends_with("number line\n"));
        assert_eq!(stats_and_patch(""), (Vec::new(), ""));
    }
}
