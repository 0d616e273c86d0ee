use proptest::prelude::*;

use super::*;

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

#[test]
fn accepted_spellings_are_normalised() {
    let table = [
        ("src/main.rs", "src/main.rs"),
        (".", "."),
        ("./", "."),
        ("a/..", "."),
        ("./src//lib.rs", "src/lib.rs"),
        ("src/", "src"),
        ("a/./b/../c", "a/c"),
        ("a/b/../../c", "c"),
        ("..a/...", "..a/..."),
        (" leading and trailing ", " leading and trailing "),
        ("-rf", "-rf"),
        ("~/x", "~/x"),
        ("caf\\xE9/\\x5Cx41", "caf\\xE9/\\x5Cx41"),
        ("\\x61", "a"),
    ];
    for (text, shown) in table {
        assert_eq!(path(text).to_text(), shown, "{text}");
    }
}

#[test]
fn refused_spellings_say_why() {
    let long = "a/".repeat(MAX_PATH_BYTES);
    let table = [
        ("", PathError::Empty),
        ("a\0b", PathError::Nul),
        ("a\\x00b", PathError::Nul),
        ("a\\x2Fb", PathError::NotAName),
        ("\\x2Fetc/passwd", PathError::NotAName),
        ("/", PathError::Absolute),
        ("/etc/passwd", PathError::Absolute),
        ("..", PathError::LeavesRoot),
        ("../x", PathError::LeavesRoot),
        ("a/../../x", PathError::LeavesRoot),
        ("a/../../a", PathError::LeavesRoot),
        ("\\x2E\\x2E/x", PathError::LeavesRoot),
        (long.as_str(), PathError::TooLong),
    ];
    for (text, reason) in table {
        assert_eq!(RelPath::parse(text), Err(reason), "{text}");
    }
}

#[test]
fn the_longest_path_is_accepted() {
    let longest = "a".repeat(MAX_PATH_BYTES);
    assert_eq!(path(&longest).as_bytes().len(), MAX_PATH_BYTES);
    let escaped = "\\xFF".repeat(MAX_PATH_BYTES);
    assert_eq!(path(&escaped).as_bytes().len(), MAX_PATH_BYTES);
    assert_eq!(RelPath::parse(&format!("{longest}b")), Err(PathError::TooLong));
}

#[test]
fn parts_of_a_path() {
    let p = path("src/extensions/read.file.rs");
    assert_eq!(p.file_name(), Some(&b"read.file.rs"[..]));
    assert_eq!(p.extension(), Some(&b"rs"[..]));
    assert_eq!(p.parent(), Some(path("src/extensions")));
    assert_eq!(p.depth(), 3);
    assert_eq!(p.components().next(), Some(&b"src"[..]));
    assert_eq!(path("a").parent(), Some(RelPath::root()));
    assert_eq!(path(".bashrc").extension(), None);
    assert_eq!(path("a.d/x").extension(), None);

    let root = RelPath::root();
    assert!(root.is_root());
    assert_eq!(root.parent(), None);
    assert_eq!(root.file_name(), None);
    assert_eq!(root.depth(), 0);
    assert_eq!(root.as_path(), Path::new("."));
    assert_eq!(root, path("."));
}

#[test]
fn joining_takes_one_name() {
    assert_eq!(RelPath::root().join(b"a").unwrap().join(b"b").unwrap(), path("a/b"));
    for bad in [&b""[..], b".", b"..", b"a/b", b"a\0"] {
        assert!(path("a").join(bad).is_err());
    }
}

#[test]
fn a_prefix_is_whole_components() {
    assert!(path("src/lib.rs").starts_with(&path("src")));
    assert!(path("src").starts_with(&path("src")));
    assert!(path("src").starts_with(&RelPath::root()));
    assert!(!path("srcs/lib.rs").starts_with(&path("src")));
    assert!(!path("src").starts_with(&path("src/lib.rs")));
}

#[test]
fn contents_directly_follow_their_directory() {
    let mut paths = ["a.b", "a/z", "a", "a b", "a-b", ".", "a/b/c"].map(path);
    paths.sort();
    let shown: Vec<String> = paths.iter().map(RelPath::to_text).collect();
    assert_eq!(shown, [".", "a", "a/b/c", "a/z", "a b", "a-b", "a.b"]);
}

#[test]
fn json_carries_any_path() {
    let p = path("caf\\xE9");
    let json = serde_json::to_string(&p).unwrap();
    assert_eq!(json, r#""caf\\xE9""#);
    assert_eq!(serde_json::from_str::<RelPath>(&json).unwrap(), p);
    assert!(serde_json::from_str::<RelPath>(r#""../x""#).is_err());
}

/// Any name the file system could hold, with a bias to the characters that escapes are made of.
fn name() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        3 => any::<u8>(),
        2 => prop::sample::select(b"\\x0fF5C.".to_vec()),
    ];
    prop::collection::vec(byte, 1..12)
        .prop_filter("not a name", |n| RelPath::root().join(n).is_ok())
}

proptest! {
    #[test]
    fn text_round_trips_for_any_bytes(names in prop::collection::vec(name(), 0..5)) {
        let mut p = RelPath::root();
        for name in &names {
            p = p.join(name).unwrap();
        }
        let text = p.to_text();
        prop_assert!(!text.bytes().any(|b| b.is_ascii_control()));
        prop_assert_eq!(RelPath::parse(&text).unwrap(), p);
    }

    #[test]
    fn parsing_never_panics_and_is_idempotent(text in ".{0,40}") {
        if let Ok(p) = RelPath::parse(&text) {
            prop_assert_eq!(RelPath::parse(&p.to_text()).unwrap(), p);
        }
    }

    #[test]
    fn order_is_by_component(
        a in prop::collection::vec(name(), 0..4),
        b in prop::collection::vec(name(), 0..4),
    ) {
        let build = |names: &[Vec<u8>]| {
            names.iter().fold(RelPath::root(), |p, n| p.join(n).unwrap())
        };
        prop_assert_eq!(build(&a).cmp(&build(&b)), a.cmp(&b));
    }
}
