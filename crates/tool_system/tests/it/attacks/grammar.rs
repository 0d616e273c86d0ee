//! Command lines from the grammar of the shell, the same for the same seed.

use super::random::Random;

/// How deep constructs lie in each other.
const MOST_DEPTH: u32 = 3;

/// What commands work on: files of the project, its ignored and protected ones, names that are not
/// there yet, and other ways to the same places.
const PATHS: [&str; 36] = [
    "a.txt",
    "b.txt",
    "src",
    "src/main.rs",
    "dir/deep/c.txt",
    "run.sh",
    "link.txt",
    "dirlink",
    "dirlink/main.rs",
    "out/e.txt",
    "broken",
    "hard1",
    "ro.txt",
    "rodir/r.txt",
    "private.txt",
    "tagged.txt",
    "sparse",
    "'odd name.txt'",
    "./-dash",
    "target",
    "target/built",
    "target/held",
    "target/new",
    "ignored/x.txt",
    "node_modules/p",
    "app.log",
    ".git",
    ".git/HEAD",
    ".git/config",
    "nested/.git/HEAD",
    "sub/.git",
    "wt/.git",
    ".gitignore",
    ".toolkiln/config.toml",
    "new",
    "new/deep",
];
const PREFIXES: [&str; 6] = ["", "", "", "./", "$PWD/", "/proc/self/cwd/"];

/// Commands that write. `@` is a word that is usually a path, `%` any word.
const WRITERS: [&str; 50] = [
    "rm -rf @",
    "rm -f @ @",
    "mv @ @",
    "mv -f @ new",
    "cp @ @",
    "cp -a @ @",
    "cp -al @ new",
    "ln @ @",
    "ln -sf @ @",
    "ln -sfn @ @",
    "touch @",
    "touch -d 2001-01-01 @",
    "mkdir -p @",
    "mkdir @",
    "rmdir @",
    "tee @",
    "tee -a @",
    "truncate -s 3 @",
    "truncate -s 70000 @",
    "chmod 777 @",
    "chmod -R a-w @",
    "chmod u+s @",
    "chown 1 @",
    "dd if=b.txt of=@ status=none",
    "sed -i s/o/x/ @",
    "sed -n 'w new' @",
    "sort -o @ b.txt",
    "split -b 2 b.txt @",
    "shred -u @",
    "install -m 755 b.txt @",
    "mkfifo @",
    "mknod @ c 1 3",
    "find @ -delete",
    "find @ -name '*.txt' -exec rm {} +",
    "tar -cf @ src",
    "gzip -f @",
    "perl -pi -e s/o/x/ @",
    "awk '{ print > \"new\" }' @",
    "git add @",
    "git rm -rfq @",
    "git checkout -q -- @",
    "git commit -qam %",
    "git config x.y %",
    "git clean -fdxq",
    "git stash -qu",
    "git tag %",
    "mount --bind @ @",
    "umount -l @",
    "echo % >",
    "unshare -Ur rm -rf @",
];
/// Builtins, with what they take.
const BUILTINS: [&str; 26] = [
    "echo % %",
    "printf '%s\\n' %",
    "eval %",
    "eval \"rm -f @\"",
    "exec",
    "exec 3>@",
    "exec 4<>@",
    "export x=%",
    "declare -i n=%",
    "declare -a a=(% %)",
    "trap 'rm -rf @' EXIT",
    "trap 'touch @' DEBUG",
    "cd src",
    "cd ..",
    "cd @",
    "pushd @",
    "set -- % %",
    "set -e",
    "shopt -s nullglob dotglob extglob",
    "read x y",
    "test -e @",
    "[ -n % ]",
    "umask 777",
    "alias l='rm -rf @'",
    "kill -TERM $$",
    "wait",
];

/// Writes one command line.
pub(crate) struct Grammar<'a> {
    random: &'a mut Random,
    /// Bodies of here-documents that belong behind the next line break.
    bodies: Vec<String>,
}

impl<'a> Grammar<'a> {
    /// A whole line.
    pub(crate) fn line(random: &'a mut Random) -> String {
        let mut grammar = Grammar { random, bodies: Vec::new() };
        grammar.list(MOST_DEPTH)
    }

    /// Commands one after the other, with their here-documents.
    fn list(&mut self, depth: u32) -> String {
        let outer = std::mem::take(&mut self.bodies);
        let mut text = String::new();
        for at in 0..=self.random.below(3) {
            if at > 0 {
                text += self.random.pick(&["; ", " && ", " || ", "\n", "; ", " & "]);
            }
            text += &self.command(depth);
            if self.random.one_in(3) {
                self.end_line(&mut text);
            }
        }
        self.end_line(&mut text);
        self.bodies = outer;
        text
    }

    /// Nothing but bodies follows the end of a line that has here-documents.
    fn end_line(&mut self, text: &mut String) {
        if !self.bodies.is_empty() {
            *text += "\n";
            *text += &self.bodies.concat();
            self.bodies.clear();
            *text += ": ";
        }
    }

    fn command(&mut self, depth: u32) -> String {
        if depth == 0 {
            return self.simple(0);
        }
        let inner = depth - 1;
        let mut text = match self.random.below(14) {
            0 => format!("({})", self.list(inner)),
            1 => format!("{{ {}; }}", self.list(inner)),
            2 => format!("if {}; then {}; fi", self.command(inner), self.list(inner)),
            3 => format!(
                "for i in {} {}; do {}; done",
                self.word(inner),
                self.word(inner),
                self.list(inner)
            ),
            4 => format!("while read -r x; do {}; done < b.txt", self.list(inner)),
            5 => format!(
                "case {} in *o*) {};; *) {};; esac",
                self.word(inner),
                self.list(inner),
                self.list(inner)
            ),
            6 => format!("f() {{ {}; }}; f {}", self.list(inner), self.word(inner)),
            7 => format!("{} | {}", self.simple(inner), self.simple(inner)),
            8 => format!("! {}", self.simple(inner)),
            9 => format!("(( {} ))", self.arithmetic(inner)),
            10 => format!("[[ {} == {} ]]", self.word(inner), self.word(inner)),
            _ => return self.simple(depth),
        };
        text += &self.redirection(inner);
        text
    }

    fn simple(&mut self, depth: u32) -> String {
        let mut text = String::new();
        if self.random.one_in(6) {
            text += &format!("x={} ", self.word(depth));
        }
        if self.random.one_in(6) {
            text += &format!("{} ", self.redirection(depth).trim());
        }
        text +=
            self.random.pick(&["", "", "", "", "env ", "command ", "timeout 1 ", "nice ", "time "]);
        let template = match self.random.one_in(3) {
            true => self.random.pick(&BUILTINS),
            false => self.random.pick(&WRITERS),
        };
        for part in template.split_inclusive(['@', '%']) {
            match (part.strip_suffix('@'), part.strip_suffix("%")) {
                (Some(rest), _) => text += &format!("{rest}{}", self.place(depth)),
                (_, Some(rest)) if !part.contains("'%") => {
                    text += &format!("{rest}{}", self.word(depth))
                }
                _ => text += part,
            }
        }
        if template.ends_with('>') {
            text += &format!(" {}", self.place(depth));
        }
        for _ in 0..self.random.below(3) {
            text += &self.redirection(depth);
        }
        text
    }

    fn redirection(&mut self, depth: u32) -> String {
        let operator = self.random.pick(&[" > ", " >> ", " >| ", " &> ", " 2> ", " <> ", " 3> "]);
        match self.random.below(8) {
            0 | 1 => format!("{operator}{}", self.place(depth)),
            2 => {
                format!(" < {}", self.random.pick(&["a.txt", "b.txt", "src/main.rs", "/dev/null"]))
            }
            3 => format!(" <<< {}", self.word(depth)),
            4 if depth > 0 => {
                let body = match self.random.one_in(2) {
                    true => format!("$({})", self.flat()),
                    false => format!("`{}`", self.flat()),
                };
                self.bodies.push(format!("{body}\nE\n"));
                let delimiter = self.random.pick(&["E", "'E'", "\\E"]);
                format!(" <<{delimiter}")
            }
            5 if depth > 0 => format!(" > >({})", self.flat()),
            _ => String::new(),
        }
    }

    /// A command without here-documents or anything in it.
    fn flat(&mut self) -> String {
        let template = self.random.pick(&WRITERS[..32]);
        template.replace(['@', '%'], self.random.pick(&PATHS))
    }

    fn place(&mut self, depth: u32) -> String {
        match self.random.below(8) {
            0 if depth > 0 => self.word(depth - 1),
            _ => format!("{}{}", self.random.pick(&PREFIXES), self.random.pick(&PATHS)),
        }
    }

    fn word(&mut self, depth: u32) -> String {
        if depth == 0 {
            return (self.random.pick(&[
                "x",
                "'a b'",
                "\"$PWD\"",
                "*",
                "a.txt",
                "$x",
                "$'\\x61'",
                "{a,b}.txt",
            ]))
            .to_owned();
        }
        let inner = depth - 1;
        match self.random.below(9) {
            0 => format!("$({})", self.list(inner)),
            1 => format!("\"$({})\"", self.list(inner)),
            2 => format!("`{}`", self.flat()),
            3 => format!("${{x:-{}}}", self.word(inner)),
            4 => format!("\"${{x:=$({})}}\"", self.flat()),
            5 => format!("$(({}))", self.arithmetic(inner)),
            6 => format!("<({})", self.flat()),
            _ => self.word(0),
        }
    }

    fn arithmetic(&mut self, depth: u32) -> String {
        match self.random.below(4) {
            0 => format!("1 + $({}; echo 1)", self.flat()),
            1 => format!("a[$({})0]", self.flat()),
            2 if depth > 0 => format!("({}) * 2", self.arithmetic(depth - 1)),
            _ => "x = 1 << 2".to_owned(),
        }
    }
}
