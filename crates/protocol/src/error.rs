//! The one error a tool can answer with, and the table that gives each code its two spellings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::UnknownName;

/// Declares the codes once; everything that needs the list is derived from this table.
macro_rules! error_codes {
    ($($(#[doc = $doc:literal])+ $variant:ident => $kind:ident,)+) => {
        /// What went wrong, as a stable word that programs and models can rely on.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
            JsonSchema, strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray,
        )]
        #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
        #[strum(
            serialize_all = "SCREAMING_SNAKE_CASE",
            parse_err_ty = UnknownName,
            parse_err_fn = ErrorCode::unknown
        )]
        pub enum ErrorCode {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl ErrorCode {
            /// The coarse class that the flat view reports as `error_type`.
            pub fn error_type(self) -> ErrorType {
                match self { $(ErrorCode::$variant => ErrorType::$kind),+ }
            }
        }

        crate::names_of!(ErrorCode, "error code");
    };
}

error_codes! {
    /// The arguments do not fit the tool's schema.
    InvalidArguments => Validation,
    /// No tool has this name.
    UnknownTool => Validation,
    /// A regular expression or glob does not parse.
    InvalidPattern => Validation,
    /// A line or byte range lies outside the file.
    InvalidRange => Validation,
    /// The path leaves the project or is malformed.
    InvalidPath => Security,
    /// Nothing exists at the path.
    FileNotFound => User,
    /// The path is not a regular file.
    NotAFile => User,
    /// The path is not a directory.
    NotADirectory => User,
    /// The file is larger than this operation takes.
    FileTooLarge => User,
    /// A file must be read before it may be changed.
    NotRead => User,
    /// The file is no longer what the change was based on.
    Conflict => User,
    /// The approver looked at the proposal and refused it.
    Rejected => Permission,
    /// The proposal needs approval and there is no approver to ask.
    ApprovalRequired => Permission,
    /// The role, a rule or the system does not allow it.
    PermissionDenied => Permission,
    /// The tool is switched off by configuration.
    ToolDisabled => Permission,
    /// The operation took longer than it may.
    Timeout => System,
    /// The operation ran and failed.
    ExecutionError => System,
    /// Commands cannot be confined on this system.
    SandboxUnavailable => System,
    /// The caller withdrew the call.
    Cancelled => System,
    /// The process ended before the call had a result.
    Interrupted => System,
    /// A fault of Toolkiln itself.
    Internal => System,
}

/// The five classes of failure that the flat view distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", suffix = "_error")]
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
        self.into()
    }
}

/// The detail that is set if the policy has denied a call.
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

    /// Whether the user or the policy has said no, or there was no approver to ask. A file that cannot
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
