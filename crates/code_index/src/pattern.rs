//! Patterns that do not parse.

use protocol::{ErrorCode, ToolError};

/// Why a pattern cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PatternError {
    /// The regular expression is wrong.
    #[error("`{pattern}` is not a valid regular expression: {reason}")]
    Regex {
        /// The pattern as given.
        pattern: String,
        /// What the engine says.
        reason: String,
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

/// Characters that mean something in a regular expression.
const SPECIAL: &str = r"\.+*?()|[]{}^$";

impl From<PatternError> for ToolError {
    fn from(error: PatternError) -> Self {
        let suggestion = match &error {
            PatternError::Regex { pattern, .. } => format!(
                "Use a valid pattern such as `class \\w+Test`. To find the text itself, escape \
                 it: `{}`.",
                escaped(pattern)
            ),
            PatternError::Glob { .. } => {
                "Use a valid glob such as `**/*.tsx`, `src/**/*.test.ts` or `*.{js,ts}`.".into()
            }
        };
        ToolError::new(ErrorCode::InvalidPattern, error.to_string()).suggest(suggestion)
    }
}

fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut escaped, character| {
        if SPECIAL.contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
        escaped
    })
}
