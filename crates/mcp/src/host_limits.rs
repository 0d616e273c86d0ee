//! Limits for results that hosts show to their models.
//!
//! Hosts cut what is too long for them, mostly at about 25,000 tokens (Claude Code) and some at less,
//! and their cut takes away the note that says how to read on. Our pages are smaller than that.

use tool_system::Limits;

/// Bytes of text that one read returns: about 16,000 tokens of source code, without line numbers.
const READ_BYTES: u64 = 48 * 1024;
/// Bytes of a file that are returned as Base64 at once, which makes them a third longer.
const READ_BASE64_BYTES: u64 = 48 * 1024;
/// Estimated tokens that reading several files may fill.
const READ_TOKENS: u64 = 16_000;
/// Bytes that are shown of each of the two outputs of a command in the vocabularies of other agents.
const RUN_OUTPUT_BYTES: u64 = 32 * 1024;
/// Bytes of a whole result, with the names of its fields and the escapes of JSON.
const RESULT_BYTES: u64 = 80 * 1024;

/// `limits` for a server whose results go through a host. What the user has set to something else
/// than the default stays.
#[must_use]
pub fn host_limits(mut limits: Limits) -> Limits {
    let usual = Limits::default();
    let lower = |limit: &mut u64, usual: u64, most: u64| {
        if *limit == usual {
            *limit = usual.min(most);
        }
    };
    lower(&mut limits.read_bytes, usual.read_bytes, READ_BYTES);
    lower(&mut limits.read_base64_bytes, usual.read_base64_bytes, READ_BASE64_BYTES);
    lower(&mut limits.read_tokens, usual.read_tokens, READ_TOKENS);
    lower(&mut limits.foreign_output_bytes, usual.foreign_output_bytes, RUN_OUTPUT_BYTES);
    lower(&mut limits.result_bytes, usual.result_bytes, RESULT_BYTES);
    limits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_has_set_stays() {
        let set = Limits { read_bytes: 1_000_000, result_bytes: 10, ..Limits::default() };
        let limits = host_limits(set);
        assert_eq!((limits.read_bytes, limits.result_bytes), (1_000_000, 10));
        assert_eq!(limits.foreign_output_bytes, RUN_OUTPUT_BYTES);
        assert_eq!(limits.run_output_bytes, Limits::default().run_output_bytes);
        assert_eq!(limits.grep_results, Limits::default().grep_results);
    }
}
