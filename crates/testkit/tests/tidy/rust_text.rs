//! Rust text taken apart just far enough to tell code from comments and from string literals, so
//! that a rule about code does not stumble over a fixture that quotes it.

/// What a file says, by kind.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RustText {
    /// The code: the content of string and character literals and all comments left out.
    pub(crate) code: String,
    /// The comments without their marks, each with the number of its first line.
    pub(crate) comments: Vec<(usize, String)>,
}

/// Takes a file apart. Text that is not valid Rust gives some answer, never a panic.
pub(crate) fn split(source: &str) -> RustText {
    let mut text = RustText::default();
    let mut rest = source;
    let line_of = |rest: &str| 1 + source[..source.len() - rest.len()].matches('\n').count();
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("//") {
            let end = rest.find('\n').unwrap_or(rest.len());
            let comment = rest[2..end].trim_start_matches(['/', '!']).trim();
            text.comments.push((line_of(rest), comment.to_owned()));
            rest = &rest[end..];
        } else if rest.starts_with("/*") {
            let end = block_comment_end(rest);
            let comment = rest[2..end].trim_end_matches("*/").trim_start_matches(['*', '!']).trim();
            text.comments.push((line_of(rest), comment.to_owned()));
            rest = &rest[end..];
        } else if let Some(end) = raw_string_end(rest, &text.code) {
            text.code.push_str("\"\"");
            rest = &rest[end..];
        } else if c == '"' {
            text.code.push_str("\"\"");
            rest = &rest[quoted_end(rest, '"')..];
        } else if c == '\'' && is_character(rest) {
            text.code.push_str("''");
            rest = &rest[quoted_end(rest, '\'')..];
        } else {
            text.code.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    text
}

/// The text without what only tests compile. Its lines keep their numbers. Formatted text is expected: an
/// item ends where a line of its own depth ends it.
pub(crate) fn shipped(source: &str) -> String {
    let mut kept = String::with_capacity(source.len());
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        if line.trim() == "#[cfg(test)]" {
            let depth = line.len() - line.trim_start().len();
            let mut is_begun = false;
            for line in lines.by_ref() {
                kept.push('\n');
                let (item, here) = (line.trim(), line.len() - line.trim_start().len() == depth);
                let is_attribute = !is_begun && item.starts_with("#[");
                let is_whole = !is_begun && item.ends_with('}');
                is_begun |= !is_attribute && !item.is_empty();
                let ends = item.ends_with(';') || matches!(item, "}" | "},");
                if is_whole || (is_begun && here && ends) {
                    break;
                }
            }
        } else {
            kept.push_str(line);
        }
        kept.push('\n');
    }
    kept
}

fn block_comment_end(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The end of a raw string that begins here, if one does. `before` tells a prefix from the last
/// letter of a name.
fn raw_string_end(text: &str, before: &str) -> Option<usize> {
    if before.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let prefix = ["r", "br", "cr"].into_iter().find(|prefix| {
        text.strip_prefix(prefix).is_some_and(|rest| rest.trim_start_matches('#').starts_with('"'))
    })?;
    let hashes = text[prefix.len()..].bytes().take_while(|byte| *byte == b'#').count();
    let start = prefix.len() + hashes + 1;
    let close = format!("\"{}", "#".repeat(hashes));
    Some(text[start..].find(&close).map_or(text.len(), |at| start + at + close.len()))
}

fn quoted_end(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// Whether the `'` that begins the text opens a character and not a lifetime.
fn is_character(text: &str) -> bool {
    let mut following = text.chars().skip(1);
    following.next() == Some('\\') || following.next() == Some('\'')
}

#[test]
fn code_comments_and_literals_are_told_apart() {
    type Comments = &'static [(usize, &'static str)];
    let table: [(&str, &str, Comments); 11] = [
        ("a // b\nc", "a \nc", &[(1, "b")]),
        ("x\n//! doc", "x\n", &[(2, "doc")]),
        ("a /* b /* c */ d */ e", "a  e", &[(1, "b /* c */ d")]),
        (r#"f("// \" no")"#, r#"f("")"#, &[]),
        (r##"f(r#"a " // b"#, x)"##, r#"f("", x)"#, &[]),
        (r#"f(br"\", x)"#, r#"f("", x)"#, &[]),
        (r#"bar"s""#, r#"bar"""#, &[]),
        (r#"fn f<'a>(c: &'a str) { '"'; '\''; }"#, "fn f<'a>(c: &'a str) { ''; ''; }", &[]),
        ("'é' // ü", "'' ", &[(1, "ü")]),
        ("\"open", "\"\"", &[]),
        ("/* open", "", &[(1, "open")]),
    ];
    for (source, code, comments) in table {
        let text = split(source);
        assert_eq!(text.code, code, "{source}");
        let found: Vec<_> = text.comments.iter().map(|(line, text)| (*line, &**text)).collect();
        assert_eq!(found, comments, "{source}");
    }
}

#[test]
fn only_what_tests_compile_is_left_out() {
    let source = "#[cfg(test)]\nmod tests;\nuse a;\n#[cfg(test)]\n#[derive(A)]\nstruct B {\n    c: D,\n}\nfn e() {\n\
                  \x20   #[cfg(test)]\n    f(\n        g,\n    );\n    h();\n}\n#[cfg(test)]\nfn i() {}\nfn j() {}\n\
                  #[cfg(test)]\nfn k(\n) -> l {\n    m();\n}\nn\n";
    let left = shipped(source);
    assert_eq!(left.lines().count(), source.lines().count());
    let left: Vec<&str> = left.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(left, ["use a;", "fn e() {", "    h();", "}", "fn j() {}", "n"]);
}
