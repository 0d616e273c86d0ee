//! A project with everything that makes searching hard, and changes to it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::random::Random;

/// A file with binary data so far in that ripgrep shows what comes before; see `main.rs`.
pub(crate) const LATE_BINARY: &str = "data/late.bin";

/// Where the large files are, which are there in the first rounds only.
const LARGE: &str = "data";
/// The size of files above which neither search looks.
pub(crate) const MAX_FILE_BYTES: u64 = 128 * 1024;

/// Words that texts and patterns are made of: code, letters with several cases, other scripts.
pub(crate) const WORDS: &[&str] = &[
    "alpha",
    "Beta",
    "gamma_ray",
    "DeltaForce",
    "parse",
    "Parser",
    "parsing",
    "index",
    "INDEX",
    "search_text",
    "fileName",
    "user",
    "User",
    "users",
    "session",
    "token",
    "TODO",
    "FIXME",
    "fn",
    "return",
    "import",
    "self",
    "null",
    "0x1F",
    "42",
    "3.14",
    "größe",
    "Straße",
    "STRASSE",
    "naïve",
    "café",
    "ΔΕΛΤΑ",
    "δελτα",
    "Σίσυφος",
    "привет",
    "Привет",
    "日本語",
    "İstanbul",
    "ıstanbul",
    "\u{212A}elvin",
    "kelvin",
    "\u{17F}ession",
    "e\u{301}",
    "🦀",
    "foo.bar",
    "a+b",
    "(x)",
    "[y]",
    "{z}",
    "$var",
    "path/to/file",
    "C:\\dir",
    "--flag",
    "#define",
    "\"text\"",
];

const EXTENSIONS: &[&str] =
    &["rs", "py", "js", "ts", "go", "c", "java", "md", "txt", "html", "json", "toml"];
const DIRECTORIES: &[&str] = &["", "src", "src/deep/er", "docs", "web", "with space", "nested/a"];
const LINE_ENDINGS: &[&str] = &["\n", "\n", "\n", "\r\n"];

/// One line of a text, without its ending.
pub(crate) fn line(random: &mut Random) -> String {
    let mut line = " ".repeat(random.below(3) * 2);
    for place in 0..random.below(7) {
        if place > 0 {
            line.push_str(random.pick(&[" ", " ", "_", ", ", "::", "\t", "("]));
        }
        line.push_str(random.pick(WORDS));
    }
    if random.chance(1, 3) {
        line.push_str(random.pick(&[";", " {", ")", "}", " "]));
    }
    line
}

fn text(random: &mut Random, lines: usize) -> String {
    let ending = random.pick(LINE_ENDINGS);
    let mut text: String = (0..lines).map(|_| line(random) + ending).collect();
    if random.chance(1, 4) {
        text.truncate(text.trim_end().len());
    }
    text
}

/// The corpus, as it is changed.
pub(crate) struct Corpus {
    pub(crate) root: PathBuf,
    random: Random,
    /// Ordinary text files, which may be changed.
    files: Vec<String>,
    made: usize,
}

impl Corpus {
    pub(crate) fn make(root: &Path, seed: u64) -> Corpus {
        let mut corpus =
            Corpus { root: root.to_owned(), random: Random::new(seed), files: Vec::new(), made: 0 };
        for _ in 0..40 {
            corpus.create();
        }
        corpus.make_odd_files();
        corpus.make_ignored_files();
        corpus
    }

    fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory).expect("the corpus can be written");
        }
        fs::write(path, bytes).expect("the corpus can be written");
    }

    fn make_odd_files(&mut self) {
        let sample = text(&mut self.random, 12);
        let wide: Vec<u16> = "\u{FEFF}".encode_utf16().chain(sample.encode_utf16()).collect();
        let little: Vec<u8> = wide.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = wide.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        self.write("odd/utf16le.txt", little);
        self.write("odd/utf16be.txt", big);
        self.write("odd/utf8bom.txt", format!("\u{FEFF}{sample}"));
        self.write("odd/latin1.txt", b"caf\xE9 na\xEFve\nstra\xDFe user\n\xFF\xFE\xFD index\n");
        self.write("odd/empty.txt", "");
        self.write("odd/only_newlines.txt", "\n\n\r\n\n");
        self.write("odd/no_newline.txt", "alpha user");
        self.write("odd/old_mac.txt", "alpha\rBeta user\rparse\r");
        self.write("odd/controls.txt", "user\u{B}alpha\u{C}Beta\n\u{85}user\u{2028}index\n");
        let long = (0..200).map(|_| line(&mut self.random) + " ").collect::<String>();
        self.write("odd/long.txt", format!("{long}\nuser at the end of it\n{long}"));
        self.write("data/early.bin", b"user alpha\n\0\x01index\n");
        // Long lines, so that there are few of them to compare.
        let filling = format!("user index {}\n", "=".repeat(4084)).into_bytes();
        self.write("data/middle.bin", [filling.repeat(8), vec![0, 1, 2]].concat());
        self.write(LATE_BINARY, [filling.repeat(24), vec![0, 1, 2]].concat());
        let limit = usize::try_from(MAX_FILE_BYTES).expect("it is small");
        let mut at_limit = filling.repeat(limit / filling.len());
        at_limit.resize(limit, b'x');
        self.write("data/at_limit.txt", at_limit);
        self.write("data/over_limit.txt", "user index\n".repeat(limit / 11 + 1));
        self.write("with space/ünïcode näme.txt", &sample);
        self.write("with space/-dash.txt", &sample);
        for (link, target) in
            [("link.txt", "odd/latin1.txt"), ("src/up", ".."), ("broken", "nowhere")]
        {
            symlink(target, self.root.join(link)).expect("links can be made");
        }
    }

    fn make_ignored_files(&mut self) {
        let sample = text(&mut self.random, 6);
        self.write(".git/info/exclude", "excluded.txt\n");
        self.write(".git/config", "user index\n");
        self.write(".gitignore", "*.log\nbuild/\n/only_root.txt\n!keep.log\ndocs/*.tmp\n");
        self.write(".ignore", "secret.txt\n");
        self.write("nested/.gitignore", "*\n!a/\n!a/*.rs\n!.gitignore\n");
        self.write("nested/a/.ignore", "!unignored.log\nignored_here.*\n");
        for path in [
            "x.log",
            "keep.log",
            "build/out.txt",
            "src/build/out.txt",
            "only_root.txt",
            "src/only_root.txt",
            "excluded.txt",
            "src/excluded.txt",
            "secret.txt",
            "docs/x.tmp",
            "docs/deep/x.tmp",
            "nested/b.rs",
            "nested/a/c.rs",
            "nested/a/unignored.log",
            "nested/a/ignored_here.rs",
            ".env",
            ".config/settings.toml",
            "src/.hidden.rs",
        ] {
            self.write(path, &sample);
        }
    }

    fn create(&mut self) {
        let directory = self.random.pick(DIRECTORIES);
        let extension = self.random.pick(EXTENSIONS);
        self.made += 1;
        let separator = if directory.is_empty() { "" } else { "/" };
        let path = format!("{directory}{separator}file{}.{extension}", self.made);
        let lines = self.random.below(40);
        let text = text(&mut self.random, lines);
        self.write(&path, text);
        self.files.push(path);
    }

    /// Takes away the large files, with which a round takes several times as long.
    pub(crate) fn remove_large(&self) {
        fs::remove_dir_all(self.root.join(LARGE)).expect("the corpus can be changed");
    }

    /// Edits, makes, deletes, renames.
    pub(crate) fn change(&mut self) {
        for _ in 0..4 {
            let chosen = self.random.below(self.files.len());
            let path = self.root.join(&self.files[chosen]);
            match self.random.below(10) {
                0 | 1 => self.create(),
                2 if self.files.len() > 20 => {
                    fs::remove_file(&path).expect("a file can be deleted");
                    self.files.swap_remove(chosen);
                }
                3 => {
                    self.made += 1;
                    let new = format!("src/renamed{}.rs", self.made);
                    fs::rename(&path, self.root.join(&new)).expect("a file can be renamed");
                    self.files[chosen] = new;
                }
                4 => {
                    let both = [fs::read(&path).unwrap_or_default(), b"appended user\n".to_vec()];
                    fs::write(&path, both.concat()).expect("a file can be appended to");
                }
                5 => fs::write(&path, b"now binary user\n\0\n").expect("a file can be written"),
                6 => fs::write(&path, "").expect("a file can be emptied"),
                7 => self.change_rules(),
                8 => self.move_directory(),
                _ => {
                    let text = text(&mut self.random, 20);
                    fs::write(&path, text).expect("a file can be written");
                }
            }
        }
    }

    fn change_rules(&mut self) {
        let rules = ["*.log\nbuild/\n", "*.log\n*.toml\nweb\n", "", "src/deep/\n*.md\n!keep.log\n"];
        let rules = self.random.pick(&rules);
        self.write(".gitignore", rules);
    }

    /// Renames a directory to and fro, with what is in it.
    fn move_directory(&self) {
        let names = ["movable", "moved"].map(|name| self.root.join(name));
        if fs::rename(&names[0], &names[1]).is_err() && fs::rename(&names[1], &names[0]).is_err() {
            self.write("movable/in/here.txt", "user index\nalpha\n");
        }
    }
}
