//! The lines of a unified diff by what they are.

/// What a line of a unified diff is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffPart {
    /// It names a file, or says what happens to it as a whole.
    Head,
    /// Where in the file: `@@ -1,3 +1,4 @@`.
    Place,
    /// It comes.
    Add,
    /// It goes.
    Remove,
    /// It stays, or it is a remark.
    Same,
}

/// Each line with what it is. A line that goes and begins with `--` looks like the name of a file, so the
/// first sign alone does not tell.
pub fn diff_parts(diff: &str) -> Vec<(DiffPart, &str)> {
    let mut in_head = true;
    let part = |line| {
        let part = match line {
            _ if is_place(line) => DiffPart::Place,
            _ if in_head || line.starts_with("diff --git ") => DiffPart::Head,
            _ if line.starts_with('+') => DiffPart::Add,
            _ if line.starts_with('-') => DiffPart::Remove,
            _ => DiffPart::Same,
        };
        in_head = part == DiffPart::Head;
        (part, line)
    };
    diff.lines().map(part).collect()
}

fn is_place(line: &str) -> bool {
    line.starts_with("@@ ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_look_like_the_name_of_a_file_are_told_from_it() {
        use DiffPart::{Add, Head, Place, Remove, Same};
        let diff = "diff --git a/q.sql b/q.sql\n--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1,2 @@\n--- old\n\
                    +++ new\n select 1\ndiff --git a/b b/b\nnew file mode 100644\n--- /dev/null\n\
                    +++ b/b\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n";
        let parts: Vec<DiffPart> = diff_parts(diff).into_iter().map(|(part, _)| part).collect();
        let first = [Head, Head, Head, Place, Remove, Add, Same];
        let second = [Head, Head, Head, Head, Place, Add, Same];
        assert_eq!(parts, [first, second].concat());
    }
}
