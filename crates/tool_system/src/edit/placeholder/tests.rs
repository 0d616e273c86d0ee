use super::*;

#[test]
fn text_that_stands_for_code_is_found() {
    let table = [
        "// rest of code unchanged",
        "// ... rest of the code ...",
        "// ... existing code ...",
        "    // ... (unchanged)",
        "# remaining functions here",
        "# ... rest of the file remains the same",
        "/* ... existing code ... */",
        "/* rest of the implementation unchanged */",
        "<!-- ... rest of the document ... -->",
        "{/* ... existing code ... */}",
        "-- ... rest of the file unchanged ...",
        "// … existing code …",
        "# ... same as before ...",
        "// ... omitted for brevity",
        "// rest of the function stays the same",
        "// Existing code remains unchanged.",
        "# The rest of the code goes here",
        "// ... other methods ...",
        "// ... remaining methods unchanged ...",
        "// [existing code unchanged]",
        "[... rest of the code ...]",
        "... existing code ...",
        "...rest of code unchanged...",
        "fn main() { /* ... existing code ... */ }",
        "def f(): # ... existing implementation ...",
        "// ...rest of the code",
        "// ... keep existing code",
        "// ... rest",
        "% ... unchanged ...",
        "// ... rest of main.rs ...",
        "// (rest of the code unchanged)",
        "// ... imports unchanged",
    ];
    for line in table {
        assert!(is_placeholder(line.trim()), "{line}");
    }
}

#[test]
fn real_code_and_prose_pass() {
    let table = [
        "...rest",
        "...rest,",
        "{ ...existing, other: 1 }",
        "[...other, items]",
        "[...existing, code]",
        "return { ...existing };",
        "function f(...rest) {",
        "(...rest)",
        "...",
        "def f(): ...",
        "x: Callable[..., int]",
        "    ...  # Ellipsis",
        "// ... and so on",
        "// and so on ...",
        "// The rest of the header is parsed lazily...",
        "# Rest of the arguments",
        "// Rest of the file",
        "// the rest is padding",
        "// Existing files are skipped",
        "// Existing entries are unchanged by this call",
        "// Remaining items are handled by the caller.",
        "# existing users...",
        "// loading existing users...",
        "// unchanged",
        "// Unchanged lines keep their bytes",
        "// same as above",
        "// (see above)",
        "* rest of the file unchanged",
        "println!(\"rest of code unchanged\");",
        "let rest = &code[..];",
        "for (a, ...existing) of x {} // existing code path",
        "match x { [first, rest @ ..] => rest }",
        "// TODO: implement the remaining methods",
        "// Keep the existing code path for old clients.",
        "#[cfg(test)] // tests",
        "#include <existing/code.h>",
        "// [1] existing code",
        "git log a...b # same",
        "",
    ];
    for line in table {
        assert!(!is_placeholder(line.trim()), "{line}");
    }
}

#[test]
fn a_line_that_the_file_has_is_no_placeholder() {
    let line = "// ... existing code ...";
    let new = format!("a\n  {line}\n");
    refuse_placeholder(&new, format!("x\r\n{line}\r\n").as_bytes()).unwrap();
    let error = refuse_placeholder(&new, b"other").unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidArguments);
    assert_eq!(error.details["placeholder_line"], 2);
    assert_eq!(error.details["placeholder"], line);
}
