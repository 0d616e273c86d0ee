//! The one error a tool can answer with, and the table that gives each code its two spellings.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// Declares the codes once; everything that needs the list is derived from this table.
macro_rules! error_codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $text:literal => $kind:ident,)+) => {
        /// What went wrong, as a stable word that programs and models can rely on.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum ErrorCode {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl ErrorCode {
            /// Every code, in the order of the table.
            pub const ALL: &[ErrorCode] = &[$(ErrorCode::$variant),+];

            /// The upper-case spelling, such as `FILE_NOT_FOUND`.
            pub fn as_str(self) -> &'static str {
                match self { $(ErrorCode::$variant => $text),+ }
            }

            /// The coarse class that the flat view reports as `error_type`.
            pub fn error_type(self) -> ErrorType {
                match self { $(ErrorCode::$variant => ErrorType::$kind),+ }
            }
        }
    };
}

error_codes! {
    /// The arguments do not fit the tool's schema.
    InvalidArguments = "INVALID_ARGUMENTS" => Validation,
    /// No tool has this name.
    UnknownTool = "UNKNOWN_TOOL" => Validation,
    /// A regular expression or glob does not parse.
    InvalidPattern = "INVALID_PATTERN" => Validation,
    /// A line or byte range lies outside the file.
    InvalidRange = "INVALID_RANGE" => Validation,
    /// The path leaves the project or is malformed.
    InvalidPath = "INVALID_PATH" => Security,
    /// Nothing exists at the path.
    FileNotFound = "FILE_NOT_FOUND" => User,
    /// The path is not a regular file.
    NotAFile = "NOT_A_FILE" => User,
    /// The path is not a directory.
    NotADirectory = "NOT_A_DIRECTORY" => User,
    /// The file is larger than this operation takes.
    FileTooLarge = "FILE_TOO_LARGE" => User,
    /// A file must be read before it may be changed.
    NotRead = "NOT_READ" => User,
    /// The file is no longer what the change was based on.
    Conflict = "CONFLICT" => User,
    /// A person looked at the proposal and refused it.
    Rejected = "REJECTED" => Permission,
    /// The proposal needs a person's yes and nobody could be asked.
    ApprovalRequired = "APPROVAL_REQUIRED" => Permission,
    /// The role, a rule or the system does not allow it.
    PermissionDenied = "PERMISSION_DENIED" => Permission,
    /// The tool is switched off by configuration.
    ToolDisabled = "TOOL_DISABLED" => Permission,
    /// The operation took longer than it may.
    Timeout = "TIMEOUT" => System,
    /// The operation ran and failed.
    ExecutionError = "EXECUTION_ERROR" => System,
    /// Commands cannot be confined on this system.
    SandboxUnavailable = "SANDBOX_UNAVAILABLE" => System,
    /// The caller withdrew the call.
    Cancelled = "CANCELLED" => System,
    /// The process ended before the call had a result.
    Interrupted = "INTERRUPTED" => System,
    /// A fault of Toolkiln itself.
    Internal = "INTERNAL" => System,
}

/// The five classes of failure that the flat view distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorType {
    /// Wrong parameters or usage.
    Validation,
    /// Something about the user's files, such as a missing one.
    User,
    /// A failure of the machine or of Toolkiln.
    System,
    /// Access denied.
    Permission,
    /// An attempt to leave the project.
    Security,
}

impl ErrorType {
    /// The spelling in the flat view, such as `user_error`.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorType::Validation => "validation_error",
            ErrorType::User => "user_error",
            ErrorType::System => "system_error",
            ErrorType::Permission => "permission_error",
            ErrorType::Security => "security_error",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is not one of the error codes.
#[derive(Debug, thiserror::Error)]
#[error("unknown error code `{0}`")]
pub struct UnknownErrorCode(String);

impl FromStr for ErrorCode {
    type Err = UnknownErrorCode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.iter().copied().find(|code| code.as_str() == text);
        found.ok_or_else(|| UnknownErrorCode(text.to_owned()))
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ErrorCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The detail that says who has denied a call.
const DENIED_BY: &str = "denied_by";
const POLICY: &str = "policy";

/// An error that goes back to the model. It names the thing that failed and, where possible, what
/// to do next. It never ends a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// The stable word for what went wrong.
    pub code: ErrorCode,
    /// One sentence that names the thing.
    pub message: String,
    /// What the model or the user can do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// Facts for programs: candidate paths, limits, validation problems.
    ///
    /// Boxed because this type is the error of almost every function here, and small results are
    /// cheaper to hand on.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub details: Box<Map<String, Value>>,
}

fn is_empty(details: &Map<String, Value>) -> bool {
    details.is_empty()
}

impl ToolError {
    /// An error with a code and a message, no suggestion, no details.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), suggestion: None, details: Box::default() }
    }

    /// Adds what can be done about it.
    #[must_use]
    pub fn suggest(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }

    /// Adds one fact for programs.
    #[must_use]
    pub fn detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// Marks the error as a decision of the policy.
    #[must_use]
    pub fn by_policy(self) -> Self {
        self.detail(DENIED_BY, POLICY)
    }

    /// Whether the user or the policy has said no, or nobody was there to say yes. A file that cannot
    /// be opened or a role without the right is not a denial in this sense.
    pub fn is_denial(&self) -> bool {
        matches!(self.code, ErrorCode::Rejected | ErrorCode::ApprovalRequired)
            || self.details.get(DENIED_BY).is_some_and(|by| by == POLICY)
    }

    /// Message and suggestion as one text, for views that have a single field.
    pub fn full_message(&self) -> String {
        match &self.suggestion {
            Some(suggestion) => format!("{}\n{suggestion}", self.message),
            None => self.message.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_parses_back_and_has_a_type() {
        for code in ErrorCode::ALL {
            assert_eq!(code.as_str().parse::<ErrorCode>().unwrap(), *code);
            assert!(code.error_type().as_str().ends_with("_error"));
        }
        assert!("NO_SUCH_CODE".parse::<ErrorCode>().is_err());
    }

    #[test]
    fn the_codes_of_the_workspace_specification_have_their_flat_spelling() {
        let table = [
            ("INVALID_PATH", "security_error"),
            ("FILE_NOT_FOUND", "user_error"),
            ("PERMISSION_DENIED", "permission_error"),
            ("TIMEOUT", "system_error"),
            ("EXECUTION_ERROR", "system_error"),
            ("INVALID_ARGUMENTS", "validation_error"),
        ];
        for (code, kind) in table {
            assert_eq!(code.parse::<ErrorCode>().unwrap().error_type().as_str(), kind);
        }
    }

    #[test]
    fn a_denial_is_a_decision_of_the_user_or_the_policy() {
        let error = |code| ToolError::new(code, "no");
        assert!(error(ErrorCode::Rejected).is_denial());
        assert!(error(ErrorCode::ApprovalRequired).is_denial());
        assert!(error(ErrorCode::PermissionDenied).by_policy().is_denial());
        assert!(!error(ErrorCode::PermissionDenied).is_denial());
        assert!(!error(ErrorCode::FileNotFound).is_denial());
    }

    #[test]
    fn an_error_survives_a_round_trip_through_json() {
        let error = ToolError::new(ErrorCode::FileNotFound, "src/x.rs does not exist")
            .suggest("Did you mean src/y.rs?")
            .detail("candidates", vec!["src/y.rs"]);
        let json = serde_json::to_string(&error).unwrap();
        assert_eq!(serde_json::from_str::<ToolError>(&json).unwrap(), error);
    }
}
