//! Finds the simple commands in a shell text, wherever in it they are.
//!
//! A grammar reads the text, and every word is read a second time by [`CommandWord::decode`]. What the
//! grammar stumbles over, what is not on the list of constructs known here, and what the two readings
//! disagree about, is a doubt. A doubt only ever adds a question.

use std::ops::{ControlFlow, Range};

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use super::{Assignment, CommandWord, Redirect, SimpleCommand};

/// The longest text that is looked through.
const MAX_BYTES: usize = 32 * 1024;
/// The most pipes and the most parentheses: the grammar takes long over very many in a row.
const MAX_PIPES: usize = 256;
const MAX_PARENTHESES: usize = 512;
/// How often the parser may ask whether to go on. It asks once in a hundred steps.
const MAX_CHECKS: usize = 5_000;
/// The deepest nesting that is followed.
const MAX_DEPTH: usize = 150;

/// Constructs without surprises. What is in them is visited.
const KNOWN: &[&str] = &[
    "ansi_c_string",
    "arithmetic_expansion",
    "array",
    "binary_expression",
    "brace_expression",
    "c_style_for_statement",
    "case_item",
    "case_statement",
    "command_name",
    "command_substitution",
    "comment",
    "compound_statement",
    "concatenation",
    "do_group",
    "elif_clause",
    "else_clause",
    "expansion",
    "extglob_pattern",
    "file_descriptor",
    "file_redirect",
    "function_definition",
    "heredoc_body",
    "heredoc_content",
    "heredoc_end",
    "heredoc_redirect",
    "heredoc_start",
    "herestring_redirect",
    "if_statement",
    "list",
    "negated_command",
    "number",
    "parenthesized_expression",
    "postfix_expression",
    "process_substitution",
    "program",
    "raw_string",
    "regex",
    "simple_expansion",
    "special_variable_name",
    "string",
    "string_content",
    "subscript",
    "subshell",
    "ternary_expression",
    "test_operator",
    "translated_string",
    "unary_expression",
    "variable_assignments",
    "variable_name",
    "while_statement",
    "word",
];

/// What a text holds.
#[derive(Debug, Default)]
pub(super) struct ShellScript {
    pub(super) commands: Vec<SimpleCommand>,
    pub(super) doubts: Vec<String>,
}

/// Reads a shell text.
pub(super) fn read(text: &str) -> ShellScript {
    let mut reader = ShellReader { text, script: ShellScript::default() };
    let count = |sign: &str| text.matches(sign).count();
    let parentheses = count("(").max(count(")"));
    if text.len() > MAX_BYTES || count("|") > MAX_PIPES || parentheses > MAX_PARENTHESES {
        reader.doubt("it is too long to be analysed");
        return reader.script;
    }
    if let Some(why) = deceptive(text) {
        reader.doubt(why);
    }
    match parse(text) {
        Some(tree) => {
            reader.visit(tree.root_node(), 0);
        }
        None => reader.doubt("it is not valid shell syntax"),
    }
    reader.script
}

/// The tree of a text; none if it takes more work than a text of that size should.
fn parse(text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let mut checks = 0;
    let mut watch = |_: &ParseState| {
        checks += 1;
        if checks < MAX_CHECKS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut watch);
    let mut rest = |at: usize, _| text.as_bytes().get(at..).unwrap_or_default();
    parser.parse_with_options(&mut rest, None, Some(options))
}

/// Signs that shells and grammars are known to read differently.
fn deceptive(text: &str) -> Option<&'static str> {
    let strange =
        |c: char| (c.is_control() && !matches!(c, '\n' | '\t')) || (!c.is_ascii() && is_blank(c));
    if text.contains(strange) {
        return Some("it contains control characters or look-alikes of spaces");
    }
    let bytes = text.as_bytes();
    let joins = |at: usize| {
        let before = at.checked_sub(1).and_then(|at| bytes.get(at));
        let after = bytes.get(at + 1);
        match after {
            Some(b' ' | b'\t') => true,
            Some(b'\n') => {
                let blank = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_whitespace);
                !blank(before) && !blank(bytes.get(at + 2))
            }
            _ => false,
        }
    };
    let slashes = memchr::memchr_iter(b'\\', bytes);
    slashes.into_iter().any(joins).then_some("a backslash joins what looks like two words")
}

/// Blank, or without any width of its own.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{200B}'..='\u{200F}' | '\u{2060}'..='\u{2064}' | '\u{FEFF}')
}

struct ShellReader<'t> {
    text: &'t str,
    script: ShellScript,
}

impl<'t> ShellReader<'t> {
    /// Visits a node; answers the place of the last command of the statement that it is.
    fn visit(&mut self, node: Node<'_>, depth: usize) -> Option<usize> {
        if depth > MAX_DEPTH {
            self.doubt("it is nested too deeply");
            return None;
        }
        if node.is_error() || node.is_missing() {
            self.doubt(&format!("its syntax is unclear at `{}`", self.excerpt(node)));
        }
        match node.kind() {
            "command" => Some(self.command(node, depth)),
            "declaration_command" | "unset_command" => Some(self.declaration(node, depth)),
            "variable_assignment" => {
                self.free_assignment(node);
                self.visit_children(node, depth)
            }
            "for_statement" | "test_command" => {
                self.doubt_evaluation(node);
                self.visit_children(node, depth)
            }
            "redirected_statement" => self.redirected(node, depth),
            "pipeline" => self.pipeline(node, depth),
            kind if !node.is_named() || KNOWN.contains(&kind) => self.visit_children(node, depth),
            "ERROR" => self.visit_children(node, depth),
            kind => {
                self.doubt(&format!("it holds a {}", kind.replace('_', " ")));
                self.visit_children(node, depth)
            }
        }
    }

    fn visit_children(&mut self, node: Node<'_>, depth: usize) -> Option<usize> {
        let mut last = None;
        for child in children(node) {
            last = self.visit(child, depth + 1).or(last);
        }
        last
    }

    fn command(&mut self, node: Node<'_>, depth: usize) -> usize {
        let at = self.push(SimpleCommand::at(node.byte_range()));
        let mut end = node.start_byte();
        for child in children(node) {
            if !is_gap(&self.text[end..child.start_byte()]) {
                self.doubt(&format!("the words of `{}` are unclear", self.excerpt(node)));
            }
            end = child.end_byte();
            match child.kind() {
                "variable_assignment" => match self.assignment(child) {
                    Some(assignment) => self.script.commands[at].assignments.push(assignment),
                    None => self.doubt("an assignment is unclear"),
                },
                "file_redirect" | "heredoc_redirect" | "herestring_redirect" => {
                    self.redirect(child, Some(at), depth);
                    continue;
                }
                _ => {
                    let word = self.word(child);
                    self.script.commands[at].words.push(word);
                }
            }
            self.visit_children(child, depth + 1);
        }
        at
    }

    /// `export`, `local`, `declare` and the like: what they assign counts as assigned.
    fn declaration(&mut self, node: Node<'_>, depth: usize) -> usize {
        let at = self.push(SimpleCommand::at(node.byte_range()));
        for child in children(node) {
            let word = match child.kind() {
                "variable_assignment" => {
                    self.free_assignment(child);
                    CommandWord::decode(self.slice(child))
                        .unwrap_or(CommandWord::opaque(self.slice(child)))
                }
                _ => self.word(child),
            };
            self.script.commands[at].words.push(word);
            self.visit_children(child, depth + 1);
        }
        at
    }

    /// An assignment that stays in force for the commands after it.
    fn free_assignment(&mut self, node: Node<'_>) {
        let name = node.child_by_field_name("name").map(|name| self.slice(name));
        match name {
            Some(name) => self.doubt_name(name),
            None => self.doubt("an assignment is unclear"),
        }
    }

    /// A loop that sets a variable which changes what commands mean, and a test whose quoted text is
    /// evaluated once more.
    fn doubt_evaluation(&mut self, node: Node<'_>) {
        if let Some(name) = node.child_by_field_name("variable") {
            self.doubt_name(self.slice(name));
        }
        let text = self.slice(node);
        let hidden = text.contains(['\'', '\\']) && text.contains(['$', '`']) && text.contains('[');
        if node.kind() == "test_command" && hidden && holds_substitution(text) {
            self.doubt("a test may run its text as a command");
        }
    }

    fn doubt_name(&mut self, name: &str) {
        if super::environment::is_suspicious(name) {
            self.doubt(&format!("it sets {name}, which changes what commands mean"));
        }
    }

    fn assignment(&self, node: Node<'_>) -> Option<Assignment> {
        let name = self.slice(node.child_by_field_name("name")?);
        let value = match node.child_by_field_name("value") {
            Some(value) => {
                CommandWord::decode(self.slice(value)).unwrap_or(CommandWord::opaque(""))
            }
            None => CommandWord::plain(""),
        };
        Some(Assignment { name: name.to_owned(), value })
    }

    fn redirected(&mut self, node: Node<'_>, depth: usize) -> Option<usize> {
        let mut tail = None;
        if let Some(body) = node.child_by_field_name("body") {
            tail = self.visit(body, depth + 1);
        }
        // A redirection of nothing (`> file`) is a command without words.
        let at = tail.unwrap_or_else(|| self.push(SimpleCommand::at(node.byte_range())));
        let mut cursor = node.walk();
        let redirects: Vec<_> = node.children_by_field_name("redirect", &mut cursor).collect();
        for redirect in redirects {
            self.redirect(redirect, Some(at), depth);
        }
        tail.or(Some(at))
    }

    fn redirect(&mut self, node: Node<'_>, command: Option<usize>, depth: usize) {
        if depth > MAX_DEPTH {
            self.doubt("it is nested too deeply");
            return;
        }
        let Some(at) = command else { return };
        match node.kind() {
            "file_redirect" => {
                let redirect = self.file_redirect(node);
                self.script.commands[at].redirects.push(redirect);
                self.visit_children(node, depth + 1);
            }
            "herestring_redirect" => {
                let raw = self.slice(node).trim_start_matches("<<<").trim();
                self.script.commands[at].input =
                    Some(CommandWord::decode(raw).unwrap_or(CommandWord::opaque(raw)));
                self.visit_children(node, depth + 1);
            }
            _ => self.heredoc(node, at, depth),
        }
    }

    /// The grammar keeps what stands on the line behind `<<EOF` inside of the redirection.
    fn heredoc(&mut self, node: Node<'_>, at: usize, depth: usize) {
        for child in children(node) {
            match child.kind() {
                "file_redirect" | "herestring_redirect" | "heredoc_redirect" => {
                    self.redirect(child, Some(at), depth + 1);
                }
                "heredoc_body" => {
                    let text = self.slice(child);
                    let plain = children(child).iter().all(|part| part.kind() == "heredoc_content");
                    if text.contains('`') {
                        self.doubt("a here-document may run commands");
                    }
                    let input =
                        if plain { CommandWord::plain(text) } else { CommandWord::opaque(text) };
                    self.script.commands[at].input = Some(input);
                    self.visit_children(child, depth + 1);
                }
                _ => {
                    self.visit(child, depth + 1);
                }
            }
        }
    }

    fn file_redirect(&mut self, node: Node<'_>) -> Redirect {
        let operator = children(node).iter().find(|child| !child.is_named()).map(|op| op.kind());
        if node.children_by_field_name("destination", &mut node.walk()).count() > 1 {
            self.doubt("words follow a redirection");
        }
        let target = node.child_by_field_name("destination");
        let target = target.map_or_else(|| CommandWord::plain("-"), |target| self.word(target));
        let number = |word: &CommandWord| {
            word.as_plain()
                .is_some_and(|text| text.bytes().all(|b| b.is_ascii_digit() || b == b'-'))
        };
        let writes = match operator {
            Some("<" | "<&" | "<&-" | ">&-") => false,
            Some(">&") => !number(&target),
            _ => true,
        };
        Redirect { writes, target, text: self.slice(node).to_owned() }
    }

    fn pipeline(&mut self, node: Node<'_>, depth: usize) -> Option<usize> {
        let mut tail: Option<usize> = None;
        for child in children(node) {
            tail = self.visit(child, depth + 1).or(tail);
        }
        tail
    }

    fn word(&mut self, node: Node<'_>) -> CommandWord {
        let raw = self.slice(node);
        if raw.contains("${") && (raw.contains('`') || raw.contains("@P")) {
            self.doubt(&format!("the expansion `{}` may run commands", self.excerpt(node)));
        }
        CommandWord::decode(raw).unwrap_or_else(|| {
            self.doubt(&format!("the word `{}` is unclear", self.excerpt(node)));
            CommandWord::opaque(raw)
        })
    }

    fn push(&mut self, command: SimpleCommand) -> usize {
        self.script.commands.push(command);
        self.script.commands.len() - 1
    }

    fn doubt(&mut self, why: &str) {
        if self.script.doubts.iter().all(|known| known != why) {
            self.script.doubts.push(why.to_owned());
        }
    }

    fn slice(&self, node: Node<'_>) -> &'t str {
        let Range { start, end } = node.byte_range();
        self.text.get(start..end).unwrap_or_default()
    }

    fn excerpt(&self, node: Node<'_>) -> String {
        super::excerpt(self.slice(node))
    }
}

fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).collect()
}

/// Whether a text would run something if a shell evaluated it.
pub(super) fn holds_substitution(text: &str) -> bool {
    text.contains("$(") || text.contains('`')
}

/// Whether nothing but blanks and continued lines stand between two words.
fn is_gap(between: &str) -> bool {
    between.replace("\\\n", " ").chars().all(|c| matches!(c, ' ' | '\t'))
}
