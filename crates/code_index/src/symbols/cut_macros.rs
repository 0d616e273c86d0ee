//! Leaving out macros and attributes around definitions of C and C++.
//!
//! Without a preprocessor `class EXPORT(x) Foo final : Bar {` is a function to the parser, and
//! `API_CONSTEXPR Foo(int a) : a(a) {}` an error that it may not recover from before the end of the
//! file. What is written like a macro and stands where only an attribute can stand is left out before
//! parsing, so that the rest is what the compiler would see. When in doubt, it stays.

use std::ops::Range;

/// Bytes within which the brackets behind a macro have to close.
const MAX_ARGUMENTS: usize = 2048;
/// Macros in a row.
const MAX_IN_A_ROW: usize = 8;
/// A shorter word in capitals is a type or a template parameter.
const MIN_MACRO_BYTES: usize = 3;

/// Words of the compilers that take arguments and say something about what follows.
const ATTRIBUTES: [&[u8]; 4] = [b"__attribute__", b"__declspec", b"alignas", b"_Alignas"];
/// Words before a definition which a macro may follow.
const SPECIFIERS: [&[u8]; 10] = [
    b"static",
    b"inline",
    b"extern",
    b"virtual",
    b"explicit",
    b"friend",
    b"constexpr",
    b"mutable",
    b"__inline",
    b"__extension__",
];
/// Words that may stand between the parameters of a function and a macro behind them.
const BEHIND_PARAMETERS: [&[u8]; 6] =
    [b"const", b"volatile", b"noexcept", b"override", b"final", b"mutable"];
/// Words that begin a definition whatever follows them.
const BEGINNINGS: [&[u8]; 9] = [
    b"class",
    b"struct",
    b"union",
    b"enum",
    b"template",
    b"typedef",
    b"namespace",
    b"using",
    b"explicit",
];
const ACCESS: [&[u8]; 4] = [b"public", b"protected", b"private", b"signals"];
const TYPE_WORDS: [&[u8]; 4] = [b"class", b"struct", b"union", b"enum"];
/// Parts of the names of macros that define what is between their brackets.
const DEFINING: [&[u8]; 5] = [b"DEFINE", b"DECLARE", b"TEST", b"EVENT", b"_HEAD"];

/// The macros of `text` that are to be left out, in order. Lines within `bodies` are not looked at.
pub(super) fn attribute_macros(
    is_cpp: bool,
    text: &[u8],
    bodies: &[Range<usize>],
) -> Vec<Range<usize>> {
    let scan = MacroScan { text, is_cpp };
    let mut found = Vec::new();
    let mut bodies = bodies.iter().peekable();
    let mut in_directive = false;
    let mut at = 0;
    while at < text.len() {
        while bodies.next_if(|body| body.end <= at).is_some() {}
        if let Some(body) = bodies.peek()
            && body.start <= at
        {
            at = body.end;
            continue;
        }
        let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |length| at + length);
        let line = &text[at..end];
        let continues = line.trim_ascii_end().ends_with(b"\\");
        let is_directive = in_directive || line.trim_ascii_start().starts_with(b"#");
        in_directive = is_directive && continues;
        if !is_directive {
            scan.line(at..end, &mut found);
        }
        at = end + 1;
    }
    found.sort_by_key(|range: &Range<usize>| (range.start, range.end));
    found.dedup_by(|next, one| next.start < one.end);
    found
}

struct MacroScan<'a> {
    text: &'a [u8],
    is_cpp: bool,
}

impl MacroScan<'_> {
    fn line(&self, line: Range<usize>, found: &mut Vec<Range<usize>>) {
        if !may_have_macros(&self.text[line.clone()]) {
            return;
        }
        self.before_definition(line.clone(), found);
        self.behind_parameters(line.clone(), found);
        self.behind_type_words(line, found);
    }

    /// `MACRO type name`, `static MACRO(x) type name`, and in C++ `MACRO name(`.
    fn before_definition(&self, line: Range<usize>, found: &mut Vec<Range<usize>>) {
        let Some(mut at) = self.definition_start(line.clone()) else { return };
        let is_margin = at == line.start;
        let first = at;
        for _ in 0..MAX_IN_A_ROW {
            let Some((end, defines)) = self.macro_at(at) else { break };
            if defines {
                break;
            }
            let next = self.next_at(end);
            let is_alone = is_margin
                && at == first
                && self.text[end..line.end.max(end)].trim_ascii().is_empty()
                && matches!(self.text.get(next), None | Some(b'#' | b'/'));
            if !is_alone && !self.is_definition(next) && self.macro_at(next).is_none() {
                break;
            }
            if !is_alone && !self.is_definition(next) && !self.is_row_before_definition(next) {
                break;
            }
            found.push(at..end);
            if is_alone {
                break;
            }
            at = next;
        }
    }

    /// Whether macros in a row end before a definition.
    fn is_row_before_definition(&self, mut at: usize) -> bool {
        for _ in 0..MAX_IN_A_ROW {
            let Some((end, false)) = self.macro_at(at) else { return false };
            at = self.next_at(end);
            if self.is_definition(at) {
                return true;
            }
        }
        false
    }

    /// Where a definition may begin in a line: behind blanks, `static` and the like, and a head of a
    /// template.
    fn definition_start(&self, line: Range<usize>) -> Option<usize> {
        let mut at = self.blanks(line.start);
        while at < line.end {
            let word = self.word(at);
            if word == b"template" {
                at = self.blanks(self.angle_end(self.blanks(at + word.len()))?);
            } else if SPECIFIERS.contains(&word) {
                at = self.blanks(at + word.len());
            } else {
                return Some(at);
            }
        }
        None
    }

    /// `) MACRO {`, `) const MACRO(x);`: what follows the parameters of a function.
    fn behind_parameters(&self, line: Range<usize>, found: &mut Vec<Range<usize>>) {
        for close in memchr::memchr_iter(b')', &self.text[line.clone()]) {
            let mut at = self.next_at(line.start + close + 1);
            if !self.text.get(at).is_some_and(|byte| is_word_byte(*byte)) {
                continue;
            }
            while BEHIND_PARAMETERS.contains(&self.word(at)) {
                at = self.next_at(at + self.word(at).len());
            }
            let mut row = Vec::new();
            while let Some((end, false)) = self.macro_at(at).filter(|_| row.len() < MAX_IN_A_ROW) {
                row.push(at..end);
                at = self.next_at(end);
            }
            let goes_on = match self.text.get(at) {
                Some(b'{' | b';') => true,
                Some(b':') => self.is_cpp && self.text.get(at + 1) != Some(&b':'),
                Some(b'=') => self.is_cpp && self.text.get(at + 1) != Some(&b'='),
                _ => self.is_cpp && BEHIND_PARAMETERS.contains(&self.word(at)),
            };
            // `if (a) MACRO;` loses a statement, which defines nothing.
            if goes_on {
                found.extend(row);
            }
        }
    }

    /// `class MACRO(x) Name final : Base {`, `struct __attribute__((packed)) name {`.
    fn behind_type_words(&self, line: Range<usize>, found: &mut Vec<Range<usize>>) {
        for word in TYPE_WORDS {
            for place in memchr::memmem::find_iter(&self.text[line.clone()], word) {
                let start = line.start + place;
                let is_whole = start.checked_sub(1).is_none_or(|at| !is_word_byte(self.text[at]));
                let mut at = start + word.len();
                if !is_whole
                    || !self.text.get(at).is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\n'))
                {
                    continue;
                }
                at = self.next_at(at);
                if word == b"enum" && matches!(self.word(at), b"class" | b"struct") {
                    at = self.next_at(at + self.word(at).len());
                }
                let mut row = Vec::new();
                while let Some((end, _)) = self.macro_at(at).filter(|_| row.len() < MAX_IN_A_ROW) {
                    let next = self.next_at(end);
                    if self.word(next).is_empty() || self.word(next) == b"final" {
                        break;
                    }
                    row.push(at..end);
                    at = next;
                }
                if !row.is_empty() && self.is_type_head(at) {
                    found.extend(row);
                }
            }
        }
    }

    /// Whether the name of a type with a body or a base stands at a place.
    fn is_type_head(&self, at: usize) -> bool {
        let mut at = self.qualified_end(at);
        if self.text.get(at) == Some(&b'<') {
            let Some(end) = self.angle_end(at) else { return false };
            at = self.next_at(end);
        }
        if self.word(at) == b"final" {
            at = self.next_at(at + b"final".len());
        }
        matches!(self.text.get(at), Some(b'{' | b':'))
    }

    /// Whether a definition begins at a place: a type and a name, or a name and its parameters.
    fn is_definition(&self, mut at: usize) -> bool {
        while matches!(self.word(at), b"const" | b"volatile") {
            at = self.next_at(at + self.word(at).len());
        }
        let word = self.word(at);
        let is_destructor = self.is_cpp && self.text.get(at) == Some(&b'~');
        if is_destructor || self.is_cpp && ACCESS.contains(&word) {
            return is_destructor || self.text.get(self.next_at(at + word.len())) == Some(&b':');
        }
        if word.is_empty() || word[0].is_ascii_digit() {
            return false;
        }
        if BEGINNINGS.contains(&word) || SPECIFIERS.contains(&word) {
            return true;
        }
        let mut next = self.qualified_end(at);
        if self.is_cpp && self.text.get(next) == Some(&b'<') {
            let Some(end) = self.angle_end(next) else { return false };
            next = self.qualified_end(self.next_at(end));
        }
        let mut has_stars = false;
        while matches!(self.text.get(next), Some(b'*' | b'&')) {
            has_stars = true;
            next = self.next_at(next + 1);
        }
        match self.text.get(next) {
            Some(b'(') => self.is_cpp && !has_stars,
            Some(byte) => is_word_byte(*byte) && !byte.is_ascii_digit(),
            None => false,
        }
    }

    /// The end of a macro with its arguments, or of an attribute, and whether it may define something
    /// itself.
    fn macro_at(&self, at: usize) -> Option<(usize, bool)> {
        if self.is_cpp && self.text[at.min(self.text.len())..].starts_with(b"[[") {
            let end = memchr::memmem::find(self.window(at), b"]]")?;
            return Some((at + end + 2, false));
        }
        let word = self.word(at);
        let end = at + word.len();
        if ATTRIBUTES.contains(&word) {
            let open = self.next_at(end);
            return (self.text.get(open) == Some(&b'('))
                .then(|| self.bracket_end(open))
                .flatten()
                .map(|end| (end, false));
        }
        let is_macro = word.len() >= MIN_MACRO_BYTES
            && word.iter().any(u8::is_ascii_uppercase)
            && word.iter().all(|byte| !byte.is_ascii_lowercase())
            && !word[0].is_ascii_digit();
        if !is_macro {
            return None;
        }
        let defines = DEFINING.iter().any(|part| memchr::memmem::find(word, part).is_some());
        match self.text.get(self.blanks(end)) {
            Some(b'(') => Some((self.bracket_end(self.blanks(end))?, defines)),
            _ => Some((end, false)),
        }
    }

    /// Behind `a::b::c`, blanks left out.
    fn qualified_end(&self, mut at: usize) -> usize {
        loop {
            at = self.next_at(at + self.word(at).len());
            if !self.is_cpp || !self.text[at.min(self.text.len())..].starts_with(b"::") {
                return at;
            }
            at = self.next_at(at + 2);
            if self.word(at).is_empty() {
                return at;
            }
        }
    }

    fn bracket_end(&self, open: usize) -> Option<usize> {
        let mut depth = 0u32;
        let mut in_string = false;
        let window = self.window(open);
        let mut bytes = window.iter().enumerate();
        while let Some((offset, byte)) = bytes.next() {
            match byte {
                b'\\' if in_string => drop(bytes.next()),
                b'"' => in_string = !in_string,
                _ if in_string => {}
                b'(' => depth += 1,
                b')' if depth == 1 => return Some(open + offset + 1),
                b')' => depth -= 1,
                b'{' | b'}' | b';' | b'#' => return None,
                _ => {}
            }
        }
        None
    }

    fn angle_end(&self, open: usize) -> Option<usize> {
        if self.text.get(open) != Some(&b'<') {
            return None;
        }
        let mut depth = 0u32;
        for (offset, byte) in self.window(open).iter().enumerate() {
            match byte {
                b'<' => depth += 1,
                // The arrow of a return type closes nothing.
                b'>' if offset > 0 && self.text[open + offset - 1] == b'-' => {}
                b'>' if depth == 1 => return Some(open + offset + 1),
                b'>' => depth -= 1,
                b'{' | b'}' | b';' | b'#' => return None,
                _ => {}
            }
        }
        None
    }

    fn window(&self, at: usize) -> &[u8] {
        &self.text[at.min(self.text.len())..(at + MAX_ARGUMENTS).min(self.text.len())]
    }

    fn word(&self, at: usize) -> &[u8] {
        let rest = &self.text[at.min(self.text.len())..];
        let end = rest.iter().position(|byte| !is_word_byte(*byte)).unwrap_or(rest.len());
        &rest[..end]
    }

    /// Behind blanks of the same line.
    fn blanks(&self, at: usize) -> usize {
        let rest = &self.text[at.min(self.text.len())..];
        at + rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
    }

    /// Behind blanks, line ends included.
    fn next_at(&self, at: usize) -> usize {
        let rest = &self.text[at.min(self.text.len())..];
        at + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
    }
}

/// Whether a line is worth a closer look, which most are not: capitals or underscores side by side, an
/// attribute in brackets, or an end behind which a macro may stand in the next line.
fn may_have_macros(line: &[u8]) -> bool {
    let is_part = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
    let end = line.trim_ascii_end();
    let pair = |pair: &[u8]| is_part(pair[0]) && is_part(pair[1]) || pair == b"[[";
    end.ends_with(b")") || end.ends_with(b"const") || line.windows(2).any(pair)
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The text without what is left out, blanks joined.
    fn rest(is_cpp: bool, text: &str) -> String {
        let mut kept = text.to_owned();
        for range in attribute_macros(is_cpp, text.as_bytes(), &[]).into_iter().rev() {
            kept.replace_range(range, "");
        }
        kept.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn macros_around_definitions_are_left_out_in_cpp() {
        let table = [
            ("class API Foo {", "class Foo {"),
            ("class API(x, \")\") Foo final : Bar {", "class Foo final : Bar {"),
            ("class ONE TWO(2) Foo\n{", "class Foo {"),
            ("enum class API Foo : int {", "enum class Foo : int {"),
            ("struct __attribute__((packed)) Foo {", "struct Foo {"),
            ("struct [[nodiscard]] alignas(8) Foo {", "struct Foo {"),
            ("template <typename T> class API Foo<T*> {", "template <typename T> class Foo<T*> {"),
            ("API_CONST int f() {", "int f() {"),
            ("  API_CONST Foo(int a) : a(a) {}", "Foo(int a) : a(a) {}"),
            ("  API_CONST ~Foo() {}", "~Foo() {}"),
            ("static API(1) ns::A<int> f();", "static ns::A<int> f();"),
            ("ONE TWO const char* f();", "const char* f();"),
            ("template <typename T> API T f(T a) {", "template <typename T> T f(T a) {"),
            ("[[nodiscard]] int f();", "int f();"),
            ("__attribute__((noinline)) void f() {}", "void f() {}"),
            ("void f() LOCKS(mu_) {", "void f() {"),
            ("void f() const LOCKS(mu_) OTHER;", "void f() const ;"),
            ("void f() API_NOEXCEPT override {", "void f() override {"),
            ("Foo(int a) API : a(a) {", "Foo(int a) : a(a) {"),
            ("LIB_BEGIN_NAMESPACE\nLIB_EXPORT\nclass A {", "class A {"),
            ("LIB_END_NAMESPACE\n#endif", "#endif"),
            ("  Q_OBJECT\n public:\n", "public:"),
        ];
        for (text, expected) in table {
            assert_eq!(rest(true, text), expected, "{text}");
        }
    }

    #[test]
    fn macros_around_definitions_are_left_out_in_c() {
        let table = [
            ("EXPORT(int) char *f(void) {", "char *f(void) {"),
            ("static API int f(void);", "static int f(void);"),
            ("struct PACKED foo {", "struct foo {"),
            ("struct PACKED(4) foo {", "struct foo {"),
            ("int f(int a) NONNULL(1) {", "int f(int a) {"),
        ];
        for (text, expected) in table {
            assert_eq!(rest(false, text), expected, "{text}");
        }
    }

    #[test]
    fn what_may_be_a_type_a_name_or_a_definition_stays() {
        let table = [
            (true, "BOOL flag;"),
            (true, "struct FOO bar;"),
            (true, "struct FOO *bar() {"),
            (true, "enum { ONE, TWO, LAST };"),
            (true, "TEST(Suite, name) {"),
            (true, "DEFINE_FLAG(int, x, 1) int y;"),
            (true, "#define A(x) API int f()"),
            (true, "#define A \\\n API int f()"),
            (true, "class Foo final : Bar {"),
            (false, "BOOL f(int a) {"),
            (false, "FILE *f(void) {"),
            (false, "SYSCALL_DEFINE1(name, int, a) {"),
            (false, "DEFINE_MUTEX(lock); int a;"),
            (false, "UINT32 a[4];"),
            (false, "int MAX(int a, int b);"),
        ];
        for (is_cpp, text) in table {
            let blanks = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(rest(is_cpp, text), blanks, "{text}");
        }
    }

    #[test]
    fn words_in_a_row_take_no_stack() {
        let text = format!("API {}int f();", "const ".repeat(200_000));
        let found = attribute_macros(true, text.as_bytes(), &[]);
        assert_eq!(found.first(), Some(&(0..3)));
    }

    proptest! {
        #[test]
        fn what_is_left_out_is_in_order_and_within_the_text(
            text in "(class |struct |API|LONG_NAME|int |f|\\(|\\)|\\{|\\}|;|<|>|::|\\[\\[|\\]\\]|\"|#|\\\\|\n| ){0,24}",
            is_cpp: bool,
        ) {
            let found = attribute_macros(is_cpp, text.as_bytes(), &[]);
            for pair in found.windows(2) {
                prop_assert!(pair[0].end <= pair[1].start);
            }
            for range in found {
                prop_assert!(range.start < range.end && range.end <= text.len());
            }
        }
    }
}
