//! The one shape of all errors: `{"error": {"code", "message", "suggestion"?, "details"?}}`.

use axum::http::StatusCode;
use protocol::{ErrorCode, ToolError};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use session::SessionError;
use store::StoreError;
use team::PeopleError;

use crate::guard::Refusal;
use crate::hub::HubError;

/// An answer that says what went wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiError {
    /// The status of the answer.
    pub status: StatusCode,
    /// What its body says. Boxed because this is the error of every route, and small results are cheaper
    /// to hand on.
    pub told: Box<ToldError>,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ToldError {
    /// A stable word. Those of tools are the same as everywhere.
    pub code: String,
    /// One sentence.
    pub message: String,
    /// What can be done about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// Facts for programs.
    pub details: Map<String, Value>,
}

/// The body of every answer that is not a success.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct ErrorBody {
    /// What went wrong.
    pub error: ToldError,
}

impl ApiError {
    /// An error with a code of the service's own.
    pub fn new(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
        let (code, message) = (code.to_owned(), message.into());
        let told = ToldError { code, message, suggestion: None, details: Map::new() };
        Self { status, told: Box::new(told) }
    }

    /// The request cannot be understood.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, ErrorCode::InvalidArguments.as_str(), message)
    }

    /// There is no such thing.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", message)
    }

    /// Something else has happened before.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, ErrorCode::Conflict.as_str(), message)
    }

    /// The client may not do this.
    pub fn forbidden(message: impl Into<String>) -> Self {
        let code = ErrorCode::PermissionDenied.as_str();
        Self::new(StatusCode::FORBIDDEN, code, message)
    }

    /// A fault of the service.
    pub fn internal(message: impl Into<String>) -> Self {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        Self::new(status, ErrorCode::Internal.as_str(), message)
    }

    /// The body is larger than this route takes.
    pub fn too_large(limit: usize) -> Self {
        let message = format!("the body is larger than {limit} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "TOO_LARGE", message)
    }

    /// The client asks too often.
    pub fn too_often() -> Self {
        let message = "too many requests; try again in a moment";
        Self::new(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMITED", message)
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let code = match refusal {
            Refusal::Host => "WRONG_HOST",
            Refusal::Origin => "FOREIGN_ORIGIN",
            Refusal::Unknown => "UNAUTHORIZED",
            Refusal::Scope => ErrorCode::PermissionDenied.as_str(),
        };
        Self::new(refusal.status(), code, refusal.to_string())
    }
}

impl From<ToolError> for ApiError {
    fn from(error: ToolError) -> Self {
        let ToolError { code, message, suggestion, details } = error;
        let told = ToldError { code: code.to_string(), message, suggestion, details: *details };
        Self { status: status_of(code), told: Box::new(told) }
    }
}

/// The status for a code. A tool that has failed is not a failure of the service.
fn status_of(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::InvalidArguments
        | ErrorCode::InvalidPattern
        | ErrorCode::InvalidRange
        | ErrorCode::InvalidPath
        | ErrorCode::NotAFile
        | ErrorCode::NotADirectory => StatusCode::BAD_REQUEST,
        ErrorCode::UnknownTool | ErrorCode::FileNotFound => StatusCode::NOT_FOUND,
        ErrorCode::FileTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorCode::NotRead | ErrorCode::Conflict => StatusCode::CONFLICT,
        ErrorCode::Rejected
        | ErrorCode::ApprovalRequired
        | ErrorCode::PermissionDenied
        | ErrorCode::ToolDisabled => StatusCode::FORBIDDEN,
        ErrorCode::Timeout => StatusCode::GATEWAY_TIMEOUT,
        ErrorCode::ExecutionError
        | ErrorCode::SandboxUnavailable
        | ErrorCode::Cancelled
        | ErrorCode::Interrupted => StatusCode::UNPROCESSABLE_ENTITY,
        ErrorCode::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::NotFound { .. } => Self::not_found(message),
            StoreError::InUse { .. } => Self::new(StatusCode::CONFLICT, "IN_USE", message),
            StoreError::Ambiguous { .. } | StoreError::NotAnExport { .. } => Self::invalid(message),
            _ => Self::internal(message),
        }
    }
}

impl From<PeopleError> for ApiError {
    fn from(error: PeopleError) -> Self {
        let message = error.to_string();
        match error {
            PeopleError::NotFound { .. } => Self::not_found(message),
            PeopleError::LastAdmin | PeopleError::Exists(_) => Self::conflict(message),
            PeopleError::Invalid(_) => Self::invalid(message),
            PeopleError::Failed(_) => {
                let status = StatusCode::SERVICE_UNAVAILABLE;
                Self::new(status, "DATABASE", "the team's database cannot be asked; try again")
            }
        }
    }
}

impl From<SessionError> for ApiError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Store(error) => error.into(),
            SessionError::Files(error) => error.into(),
            SessionError::NotAMessage { .. } => Self::invalid(error.to_string()),
            SessionError::NoPrice { .. } => Self::conflict(error.to_string()),
            SessionError::Log(error) => Self::internal(error.message),
        }
    }
}

impl From<HubError> for ApiError {
    fn from(error: HubError) -> Self {
        let message = error.to_string();
        match error {
            HubError::Session(error) => error.into(),
            HubError::Store(error) => error.into(),
            HubError::UnknownProject { .. } | HubError::UnknownSession { .. } => {
                Self::not_found(message)
            }
            HubError::NoProjectNamed => Self::invalid(message),
            HubError::Working => Self::new(StatusCode::CONFLICT, "WORKING", message),
            HubError::TooManyOpen => Self::new(StatusCode::TOO_MANY_REQUESTS, "TOO_MANY", message),
            HubError::QueueFull => Self::new(StatusCode::TOO_MANY_REQUESTS, "QUEUE_FULL", message),
            HubError::NotPaused
            | HubError::Withdrawn
            | HubError::NotWaiting
            | HubError::AnsweredAlready => Self::conflict(message),
            HubError::NotWorking => Self::new(StatusCode::CONFLICT, HubError::NOT_WORKING, message),
            HubError::NoAnswer => Self::new(StatusCode::SERVICE_UNAVAILABLE, "NO_ANSWER", message),
            HubError::NotUnderstood { .. } => {
                Self::new(StatusCode::NOT_IMPLEMENTED, "NOT_UNDERSTOOD", message)
            }
            HubError::Refused { status, code, .. } => {
                let status = StatusCode::from_u16(status).unwrap_or(StatusCode::CONFLICT);
                Self::new(status, &code, message)
            }
            HubError::Named(error) => error.into(),
            HubError::NoReplicas | HubError::NoRandomness => Self::internal(message),
            HubError::Closing => Self::new(StatusCode::SERVICE_UNAVAILABLE, "CLOSING", message),
            HubError::NotWritten { .. } => Self::internal(message),
            HubError::NotAllowed => Self::forbidden(message),
            HubError::NoTeam => Self::not_found(message),
            HubError::OverBudget { .. } => {
                let mut error = Self::new(StatusCode::PAYMENT_REQUIRED, "OVER_BUDGET", message);
                let suggestion = "Wait until midnight UTC, or ask an admin for a larger budget.";
                error.told.suggestion = Some(suggestion.to_owned());
                error
            }
            HubError::People(error) => error.into(),
        }
    }
}
