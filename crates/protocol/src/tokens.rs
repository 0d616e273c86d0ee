//! How much of a model's context a text will take, without a tokenizer.

use std::io;

/// Bytes of ASCII text per token, as a rule of thumb for code and prose alike.
const ASCII_BYTES_PER_TOKEN: usize = 4;

/// An estimate of the tokens in `text`.
///
/// Four ASCII bytes make a token; a character outside ASCII counts as one token of its own, since
/// tokenizers rarely merge those. The result errs on the high side for prose, which is the safe
/// side for a budget.
pub fn estimate_tokens(text: &str) -> usize {
    let mut count = TokenCount::default();
    count.add(text.as_bytes());
    count.tokens()
}

/// Counts a text that is written to it, so that a long one need not be in memory as a whole.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokenCount {
    ascii: usize,
    others: usize,
}

impl TokenCount {
    fn add(&mut self, bytes: &[u8]) {
        // Each character outside ASCII has one byte that is not a continuation.
        let is_continuation = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
        let ascii = bytes.iter().filter(|byte| byte.is_ascii()).count();
        let continuing = bytes.iter().filter(|byte| is_continuation(byte)).count();
        self.ascii += ascii;
        self.others += bytes.len() - ascii - continuing;
    }

    /// The estimate for all that was written, by the rule of [`estimate_tokens`].
    pub fn tokens(&self) -> usize {
        self.ascii.div_ceil(ASCII_BYTES_PER_TOKEN) + self.others
    }
}

impl io::Write for TokenCount {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.add(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_is_four_bytes_a_token_and_other_characters_one_each() {
        assert_eq!(estimate_tokens(""), 0);
        assert_eq!(estimate_tokens("abcd"), 1);
        assert_eq!(estimate_tokens("abcde"), 2);
        assert_eq!(estimate_tokens("héllo"), 2);
        assert_eq!(estimate_tokens("日本"), 2);
    }
}
