//! How much of a model's context a text will take, without a tokenizer.

/// Bytes of ASCII text per token, as a rule of thumb for code and prose alike.
const ASCII_BYTES_PER_TOKEN: usize = 4;

/// An estimate of the tokens in `text`.
///
/// Four ASCII bytes make a token; a character outside ASCII counts as one token of its own, since
/// tokenizers rarely merge those. The result errs on the high side for prose, which is the safe
/// side for a budget.
pub fn estimate_tokens(text: &str) -> usize {
    let characters = text.chars().count();
    let ascii = text.bytes().filter(u8::is_ascii).count();
    ascii.div_ceil(ASCII_BYTES_PER_TOKEN) + (characters - ascii)
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
