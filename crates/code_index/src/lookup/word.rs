//! A name as a word in text: found fast, and only where it stands alone.

use memchr::memmem::Finder;

/// A name to look for.
pub(crate) struct WholeWord {
    finder: Finder<'static>,
}

impl WholeWord {
    /// A name that is not empty.
    pub(crate) fn new(name: &str) -> WholeWord {
        WholeWord { finder: Finder::new(name).into_owned() }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.finder.needle()
    }

    /// Where it begins, each time it stands as a word of its own.
    pub(crate) fn places<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
        let length = self.bytes().len();
        self.finder.find_iter(text).filter(move |&at| stands_alone(text, at, at + length))
    }

    /// Whether it stands anywhere as a word of its own.
    pub(crate) fn is_in(&self, text: &[u8]) -> bool {
        self.places(text).next().is_some()
    }
}

/// Whether a byte can be part of a name. Bytes outside of ASCII are letters more often than not.
pub(crate) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// Whether the bytes from `start` to `end` are not part of a longer name. A border inside of what
/// is sought, as at the end of `empty?`, counts as one. A `$` may stand before a name: it begins
/// variables in PHP and shells.
fn stands_alone(text: &[u8], start: usize, end: usize) -> bool {
    let joined = |left: Option<&u8>, right: Option<&u8>| match (left, right) {
        (Some(&left), Some(&right)) => is_name_byte(left) && is_name_byte(right),
        _ => false,
    };
    let before = start.checked_sub(1).and_then(|at| text.get(at));
    let last = end.checked_sub(1).and_then(|at| text.get(at));
    let begins = !joined(before, text.get(start)) || before == Some(&b'$');
    begins && !joined(last, text.get(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_found_only_where_it_stands_alone() {
        let table: [(&str, &str, &[usize]); 8] = [
            ("foo", "foo food _foo foo2 (foo)", &[0, 20]),
            ("foo", "a.foo->foo::foo", &[2, 7, 12]),
            ("foo", "$foo = $food", &[1]),
            ("$x", "let $x = a$x;", &[4]),
            ("empty?", "empty? empty?x", &[0, 7]),
            ("é", "é aé", &[0]),
            ("x", "", &[]),
            ("aa", "aaa aa", &[4]),
        ];
        for (name, text, expected) in table {
            let found: Vec<_> = WholeWord::new(name).places(text.as_bytes()).collect();
            assert_eq!(found, expected, "{name} in {text}");
        }
    }
}
