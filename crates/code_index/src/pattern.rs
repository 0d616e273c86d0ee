//! Patterns that do not parse: what is wrong, where, and what would be right.

mod advice;

use protocol::{ErrorCode, ToolError};

/// Why a pattern cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PatternError {
    /// The regular expression is wrong.
    #[error("`{pattern}` is not a valid regular expression: {reason}")]
    Regex {
        /// The pattern as given.
        pattern: String,
        /// What is wrong with it, and where.
        reason: String,
        /// What to do instead.
        advice: String,
    },
    /// The glob is wrong.
    #[error("`{pattern}` is not a valid glob: {reason}")]
    Glob {
        /// The pattern as given.
        pattern: String,
        /// What the parser says.
        reason: String,
    },
}

impl PatternError {
    /// Explains why `pattern` was refused.
    pub(crate) fn regex(pattern: &str, error: &grep_regex::Error) -> PatternError {
        let (reason, advice) = advice::on_regex(pattern, error);
        PatternError::Regex { pattern: pattern.to_owned(), reason, advice }
    }
}

impl From<PatternError> for ToolError {
    fn from(error: PatternError) -> Self {
        let message = error.to_string();
        let suggestion = match error {
            PatternError::Regex { advice, .. } => advice,
            PatternError::Glob { pattern, .. } => advice::on_glob(&pattern),
        };
        ToolError::new(ErrorCode::InvalidPattern, message).suggest(suggestion)
    }
}
