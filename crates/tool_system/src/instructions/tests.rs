use proptest::prelude::*;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use testkit::Fixture;

use super::*;

fn project(fixture: &Fixture) -> Workspace {
    Workspace::open(fixture.root()).unwrap()
}

/// What is found in the root, in a line each.
fn found(fixture: &Fixture, limits: &Limits) -> Vec<String> {
    let files = InstructionFile::of_project(&project(fixture), limits);
    files.iter().map(told).collect()
}

fn told(file: &InstructionFile) -> String {
    match (&file.content, file.remark()) {
        (Ok(content), None) => format!("{}: {}", file.path, content.text.trim()),
        (_, remark) => format!("{}: {}", file.path, remark.unwrap_or_default()),
    }
}

#[test]
fn the_first_of_the_usual_names_counts() {
    let table = [
        ("//- /AGENTS.md\na\n//- /CLAUDE.md\nc\n", "AGENTS.md: a"),
        ("//- /CLAUDE.md\nc\n//- /GEMINI.md\ng\n", "CLAUDE.md: c"),
        ("//- /.cursorrules\nr\n//- /GEMINI.md\ng\n", "GEMINI.md: g"),
        (
            "//- /.github/copilot-instructions.md\nh\n//- /.cursorrules\nr\n",
            ".github/copilot-instructions.md: h",
        ),
        ("//- /.windsurfrules\nw\n", ".windsurfrules: w"),
        // Nothing is said in a file of blanks, and a link in the project is followed.
        ("//- /AGENTS.md\n  \n//- /CLAUDE.md\nc\n", "CLAUDE.md: c"),
        ("//- /AGENTS.md symlink=docs/how.md\n//- /docs/how.md\nl\n", "AGENTS.md: l"),
    ];
    for (files, expected) in table {
        assert_eq!(found(&Fixture::new(files), &Limits::default()), [expected]);
    }
    assert!(found(&Fixture::new("//- /a.txt\na\n"), &Limits::default()).is_empty());
}

#[test]
fn what_is_no_file_of_the_project_is_refused_by_name_and_the_next_one_counts() {
    let refused = |links: &str| {
        let fixture = Fixture::new(&format!("//- /CLAUDE.md\nc\n{links}"));
        found(&fixture, &Limits::default())
    };
    assert_eq!(
        refused("//- /AGENTS.md symlink=/etc/passwd\n"),
        [
            "AGENTS.md: not read: AGENTS.md leaves the project through a symbolic link",
            "CLAUDE.md: c"
        ]
    );
    assert_eq!(
        refused("//- /AGENTS.md symlink=../../etc/passwd\n"),
        [
            "AGENTS.md: not read: AGENTS.md leaves the project through a symbolic link",
            "CLAUDE.md: c"
        ]
    );
    assert_eq!(
        refused("//- /AGENTS.md symlink=AGENTS.md\n"),
        ["AGENTS.md: not read: AGENTS.md goes through too many symbolic links", "CLAUDE.md: c"]
    );
    assert_eq!(
        refused("//- /AGENTS.md/inner\nx\n"),
        ["AGENTS.md: not read: AGENTS.md is a directory, not a regular file", "CLAUDE.md: c"]
    );
    // Opening a pipe without a writer would wait for ever.
    let fixture = Fixture::new("//- /CLAUDE.md\nc\n");
    let pipe = fixture.path("AGENTS.md");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
    assert_eq!(
        found(&fixture, &Limits::default()),
        ["AGENTS.md: not read: AGENTS.md is a named pipe, not a regular file", "CLAUDE.md: c"]
    );
}

#[test]
fn what_is_not_text_is_refused() {
    let fixture = Fixture::new("//- /a\na\n");
    for bytes in [&b"\xff\xfea\0b\0"[..], b"fine so far \xc3", b"\xc3\x28"] {
        fixture.write("AGENTS.md", bytes);
        let limits = Limits::default();
        assert_eq!(found(&fixture, &limits), ["AGENTS.md: not read: AGENTS.md is not UTF-8 text"]);
    }
    fixture.write("AGENTS.md", "\u{feff}Marked.");
    assert_eq!(found(&fixture, &Limits::default()), ["AGENTS.md: Marked."]);
}

#[test]
fn a_large_file_is_cut_at_a_line_and_says_where_it_goes_on() {
    let fixture = Fixture::new("//- /a\na\n");
    fixture.write("AGENTS.md", "One more line.\n".repeat(700_000));
    let files = InstructionFile::of_project(&project(&fixture), &Limits::default());
    let [InstructionFile { content: Ok(content), .. }] = &files[..] else { panic!("{files:?}") };
    assert_eq!((content.text.len(), content.bytes), (32_760, 10_500_000));
    assert_eq!(content.cut_at_line, Some(2185));
    assert_eq!(
        files[0].remark().unwrap(),
        "cut: 32760 of 10500000 bytes are shown; the rest begins in line 2185"
    );
}

#[test]
fn the_users_own_file_has_one_name() {
    let dir = Fixture::new("//- /CLAUDE.md\nc\n");
    assert_eq!(InstructionFile::of_user(dir.root(), &Limits::default()), None);
    let dir = Fixture::new("//- /AGENTS.md\nmine\n");
    let own = InstructionFile::of_user(dir.root(), &Limits::default()).unwrap();
    assert_eq!(told(&own), "AGENTS.md: mine");
}

#[test]
fn the_users_own_file_may_be_a_link_to_elsewhere() {
    let home = Fixture::new(
        "//- /dotfiles/agent.md\nmine\n//- /config/AGENTS.md symlink=../dotfiles/agent.md\n",
    );
    let own = InstructionFile::of_user(&home.path("config"), &Limits::default()).unwrap();
    assert_eq!(told(&own), "AGENTS.md: mine");
}

/// What an agent is shown after it has seen these files, one after the other.
fn touched(fixture: &Fixture, seen: &[&str], limits: &Limits) -> Vec<String> {
    let (tracker, instructions) = (FileTracker::new(false), TouchedInstructions::default());
    let mut files = Vec::new();
    for path in seen {
        tracker.note(&RelPath::parse(path).unwrap(), ContentHash::of(b""));
        files = instructions.gather(&tracker, &project(fixture), limits);
    }
    files.iter().map(told).collect()
}

#[test]
fn directories_count_when_a_file_beneath_them_was_seen() {
    let fixture = Fixture::new(
        "//- /AGENTS.md\nroot\n//- /b/CLAUDE.md\nb\n//- /b/c/AGENTS.md\nbc\n//- /b/c/f.rs\nx\n\
         //- /a/AGENTS.md\na\n//- /b/d/AGENTS.md\nbd\n",
    );
    let limits = Limits::default();
    assert_eq!(touched(&fixture, &["top.rs"], &limits), ["AGENTS.md: root"]);
    assert_eq!(
        touched(&fixture, &["b/c/f.rs", "a/x"], &limits),
        ["AGENTS.md: root", "b/CLAUDE.md: b", "b/c/AGENTS.md: bc", "a/AGENTS.md: a"]
    );
    let shallow = Limits { walk_depth: 1, ..limits };
    assert_eq!(touched(&fixture, &["b/c/f.rs"], &shallow), ["AGENTS.md: root", "b/CLAUDE.md: b"]);
}

#[test]
fn a_file_that_changed_is_noticed_in_a_new_turn() {
    let fixture = Fixture::new("//- /a/AGENTS.md\nold\n");
    let (tracker, instructions) = (FileTracker::new(false), TouchedInstructions::default());
    tracker.note(&RelPath::parse("a/x").unwrap(), ContentHash::of(b""));
    let gather = || instructions.gather(&tracker, &project(&fixture), &Limits::default());
    let before = gather();
    fixture.write("a/AGENTS.md", "new");
    assert_eq!(gather(), before);
    instructions.look_again();
    let after = gather();
    assert_eq!(
        (told(&before[0]), told(&after[0])),
        ("a/AGENTS.md: old".into(), "a/AGENTS.md: new".into())
    );
    assert_ne!(before[0].version, after[0].version);
}

#[test]
fn files_and_bytes_are_bounded_in_all() {
    let deep: Vec<String> = (1..20).map(|depth| vec!["d"; depth].join("/")).collect();
    let files = deep.iter().map(|dir| format!("//- /{dir}/AGENTS.md\n0123456789\n"));
    let fixture = Fixture::new(&files.collect::<String>());
    let seen = format!("{}/f", deep[18]);
    let all = touched(&fixture, &[&seen], &Limits::default());
    assert_eq!(all.len(), 19);
    let few = Limits { agents_md_files: 3, ..Limits::default() };
    let shown = touched(&fixture, &[&seen], &few);
    assert_eq!((shown.len(), &shown[..3]), (4, &all[..3]));
    assert_eq!(
        shown[3],
        "d/d/d/d/AGENTS.md: not read: there are more than 3 files or 131072 bytes of instructions; \
         nothing further is shown"
    );
    let small = Limits { agents_md_all_bytes: 25, ..Limits::default() };
    let shown = touched(&fixture, &[&seen], &small);
    assert_eq!((shown.len(), &shown[..2]), (3, &all[..2]));
}

proptest! {
    #[test]
    fn any_bytes_are_shown_in_bounds_or_refused(
        bytes in proptest::collection::vec(any::<u8>(), 0..64),
        text in "\\PC{0,40}\n?\\PC{0,40}",
        most in 0_u64..48,
    ) {
        let fixture = Fixture::new("//- /a\na\n");
        for bytes in [bytes.as_slice(), text.as_bytes()] {
            fixture.write("AGENTS.md", bytes);
            let limits = Limits { agents_md_bytes: most, ..Limits::default() };
            let files = InstructionFile::of_project(&project(&fixture), &limits);
            match files.first().map(|file| &file.content) {
                Some(Ok(content)) => {
                    prop_assert!(content.text.len() as u64 <= most);
                    prop_assert_eq!(content.bytes, bytes.len() as u64);
                    let start = String::from_utf8_lossy(bytes);
                    let start = start.trim_start_matches(BYTE_ORDER_MARK);
                    prop_assert!(start.starts_with(&content.text));
                    let is_whole = content.text == start;
                    prop_assert!(content.cut_at_line.is_some() || is_whole);
                }
                Some(Err(_)) => prop_assert!(std::str::from_utf8(bytes).is_err()),
                None => {}
            }
        }
    }
}

#[test]
fn instructions_are_known_until_a_file_in_another_directory_is_seen_or_a_turn_begins() {
    let project =
        Fixture::new("//- /AGENTS.md\nroot\n//- /a/AGENTS.md\na\n//- /a/x\n1\n//- /a/y\n1\n");
    let workspace = Workspace::open(project.root()).unwrap();
    let (limits, tracker) = (Limits::default(), FileTracker::new(false));
    let touched = TouchedInstructions::default();
    let known = || touched.known(&tracker).map(|files| files.len());
    let gather = || touched.gather(&tracker, &workspace, &limits).len();
    let read = |path: &str| tracker.note(&RelPath::parse(path).unwrap(), ContentHash::of(b"1\n"));
    assert_eq!((known(), gather(), known()), (None, 1, Some(1)));
    read("a/x");
    assert_eq!((known(), gather(), known()), (None, 2, Some(2)));
    read("a/y");
    assert_eq!(known(), Some(2));
    touched.look_again();
    assert_eq!((known(), gather()), (None, 2));
}
