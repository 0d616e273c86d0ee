//! Licence expressions: `MIT OR Apache-2.0`, `(A AND B) OR C`, `A WITH exception`, and the old
//! form `A/B`, which means OR.

/// Whether the licences for which `is_allowed` holds are enough. A licence with an exception is
/// asked for as a whole, `A WITH exception`.
pub(crate) fn is_satisfied(
    expression: &str,
    is_allowed: impl Fn(&str) -> bool,
) -> Result<bool, String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " / ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut parser = Parser { words: &words, is_allowed };
    let answer = parser.any_of()?;
    match parser.words.first() {
        None => Ok(answer),
        Some(word) => Err(format!("`{word}` is not expected there")),
    }
}

struct Parser<'a, F> {
    words: &'a [&'a str],
    is_allowed: F,
}

impl<'a, F: Fn(&str) -> bool> Parser<'a, F> {
    fn any_of(&mut self) -> Result<bool, String> {
        let mut answer = self.all_of()?;
        while self.take("OR") || self.take("/") {
            // The right side is read in any case, for its mistakes.
            answer |= self.all_of()?;
        }
        Ok(answer)
    }

    fn all_of(&mut self) -> Result<bool, String> {
        let mut answer = self.one()?;
        while self.take("AND") {
            answer &= self.one()?;
        }
        Ok(answer)
    }

    fn one(&mut self) -> Result<bool, String> {
        if self.take("(") {
            let answer = self.any_of()?;
            return if self.take(")") { Ok(answer) } else { Err("a `)` is missing".into()) };
        }
        let licence = self.identifier()?;
        if self.take("WITH") {
            let exception = self.identifier()?;
            return Ok((self.is_allowed)(&format!("{licence} WITH {exception}")));
        }
        Ok((self.is_allowed)(licence))
    }

    fn identifier(&mut self) -> Result<&'a str, String> {
        match self.words.split_first() {
            None => Err("a licence is missing at the end".into()),
            Some((&word, rest)) => {
                if matches!(word, "AND" | "OR" | "WITH" | "(" | ")" | "/") {
                    return Err(format!("a licence is missing before `{word}`"));
                }
                self.words = rest;
                Ok(word)
            }
        }
    }

    fn take(&mut self, wanted: &str) -> bool {
        match self.words.split_first() {
            Some((word, rest)) if *word == wanted => {
                self.words = rest;
                true
            }
            _ => false,
        }
    }
}

#[test]
fn expressions_are_evaluated() {
    let allowed = ["A", "B", "C WITH E"];
    let table = [
        ("A", Ok(true)),
        ("X", Ok(false)),
        ("a", Ok(false)),
        ("X OR A", Ok(true)),
        ("X/A", Ok(true)),
        ("X / Y", Ok(false)),
        ("A AND X", Ok(false)),
        ("A AND B", Ok(true)),
        ("X OR A AND B", Ok(true)),
        ("X AND A OR B", Ok(true)),
        ("X AND (A OR B)", Ok(false)),
        ("(A OR X) AND (Y OR B)", Ok(true)),
        ("((A))", Ok(true)),
        ("C", Ok(false)),
        ("C WITH E", Ok(true)),
        ("C WITH F OR A", Ok(true)),
        ("A WITH E", Ok(false)),
        ("A+", Ok(false)),
        ("", Err("at the end")),
        ("A OR", Err("at the end")),
        ("(A", Err("`)` is missing")),
        ("A B", Err("`B` is not expected")),
        ("A OR AND B", Err("before `AND`")),
    ];
    for (expression, expected) in table {
        let answer = is_satisfied(expression, |id| allowed.contains(&id));
        match (answer, expected) {
            (Ok(answer), Ok(expected)) => assert_eq!(answer, expected, "{expression}"),
            (Err(why), Err(part)) => assert!(why.contains(part), "{expression}: {why}"),
            (answer, expected) => panic!("{expression}: {answer:?}, expected {expected:?}"),
        }
    }
}
