//! The table of symbols of a living project.

use std::fs;

use code_index::{CodeBase, DefinitionQuery, find_definitions};

use crate::project::{Project, scope};

/// `path:line` of each definition.
fn defined(code: &CodeBase, name: &str) -> Vec<String> {
    let name = name.parse().unwrap();
    let query = DefinitionQuery { name, only: None, context: 0, max_line_chars: 100 };
    let found = find_definitions(code, &query, &scope("."), &|| false).unwrap();
    found.found.iter().map(|hit| format!("{}:{}", hit.path, hit.line)).collect()
}

#[test]
fn answers_from_the_table_are_about_the_files_as_they_are() {
    let project = Project::new(&[
        ("src/a.rs", "fn kiln() {}\n"),
        ("src/b.py", "def oven():\n    pass\n"),
        ("src/c.c", "int glaze(void)\n{\n\treturn 0;\n}\n"),
    ]);
    let code = project.indexed();
    // The first question has the table made and does not wait for it.
    assert_eq!(defined(&code, "kiln"), ["src/a.rs:1"]);
    code.wait_for_index();
    assert!(project.cache().join("symbols.table").exists());
    for (name, place) in [("kiln", "src/a.rs:1"), ("oven", "src/b.py:1"), ("glaze", "src/c.c:1")] {
        assert_eq!(defined(&code, name), [place]);
    }
    project.write("src/a.rs", "\n\nfn kiln() {}\nfn new_one() {}\n");
    assert_eq!(defined(&code, "kiln"), ["src/a.rs:3"]);
    assert_eq!(defined(&code, "new_one"), ["src/a.rs:4"]);
    fs::remove_file(project.path("src/b.py")).unwrap();
    assert_eq!(defined(&code, "oven"), [""; 0]);
    project.rename("src/c.c", "src/d.c");
    assert_eq!(defined(&code, "glaze"), ["src/d.c:1"]);
    // The next process finds the table and what changed since.
    drop(code);
    project.write("src/e.rs", "struct Later;\n");
    let code = project.open(true);
    for _ in 0..3 {
        assert_eq!(defined(&code, "glaze"), ["src/d.c:1"]);
        assert_eq!(defined(&code, "Later"), ["src/e.rs:1"]);
        assert_eq!(defined(&code, "oven"), [""; 0]);
        code.wait_for_index();
    }
}

#[test]
fn scripts_without_an_ending_are_in_the_table_and_other_files_are_not_read_again() {
    let project = Project::new(&[
        ("lib/a.bash", "setup() {\n  true\n}\n"),
        ("bin/tool", "#!/usr/bin/env bash\nsetup() {\n  true\n}\n"),
        ("LICENSE", "setup() {\n"),
    ]);
    project.write("bin/program", b"\x7fELF\0setup");
    let code = project.indexed();
    code.build_symbols(&|_, _| {}).unwrap().unwrap();
    assert_eq!(defined(&code, "setup"), ["bin/tool:2", "lib/a.bash:1"]);
    let query = DefinitionQuery {
        name: "setup".parse().unwrap(),
        only: None,
        context: 0,
        max_line_chars: 100,
    };
    let found = find_definitions(&code, &query, &scope("."), &|| false).unwrap();
    assert_eq!(found.coverage.files_read, 2);
    // What a file without an ending is may change.
    project.write("LICENSE", "#!/bin/sh\nsetup() {\n  true\n}\n");
    assert_eq!(defined(&code, "setup").len(), 3);
}
