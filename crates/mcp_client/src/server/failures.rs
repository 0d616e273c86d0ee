//! What is said about a server that does not do what it should.

use protocol::{ErrorCode, ToolError, visible};

use super::ForeignServer;
use crate::http::NEEDS_LOGIN;
use crate::peer::PeerReply;

/// The arguments are wrong.
const INVALID_PARAMS: i64 = -32602;

impl ForeignServer {
    pub(super) fn unusable(&self, what: &str, why: &str, words: &str) -> ToolError {
        let name = &self.name;
        let message = format!("the MCP server {name} {what}: {}", visible(why));
        let error = ToolError::new(ErrorCode::ExecutionError, message)
            .suggest(format!("The user can look into it with `toolkiln mcp test {name}`."));
        match words {
            "" => error,
            words => error.detail("stderr", words.lines().map(visible).collect::<Vec<_>>()),
        }
    }

    pub(super) fn needs_login(&self, why: &str) -> ToolError {
        let (name, why) = (&self.name, visible(why));
        let message = format!("the MCP server {name} needs a login: {why}");
        ToolError::new(ErrorCode::PermissionDenied, message).suggest(format!(
            "Ask the user to run `toolkiln mcp login {name}` in a terminal, and then repeat the call."
        ))
    }

    pub(super) fn busy(&self) -> ToolError {
        let name = &self.name;
        let message = format!(
            "the MCP server {name} has too many requests to answer already; nothing was called"
        );
        ToolError::new(ErrorCode::ExecutionError, message)
            .suggest("Repeat the call when others have been answered.")
    }

    pub(super) fn late(&self) -> ToolError {
        let (name, seconds) = (&self.name, self.config.timeout);
        let message = format!(
            "the MCP server {name} did not answer within {seconds} s; the call was withdrawn"
        );
        ToolError::new(ErrorCode::Timeout, message)
            .suggest("It may have had its effect all the same. Find out before you repeat it.")
    }

    pub(super) fn changed(&self, tool: &str) -> ToolError {
        let (name, tool) = (&self.name, visible(tool));
        let message = format!(
            "the MCP server {name} describes its tool {tool} otherwise than when the call was made, or \
             has it no longer; nothing was called"
        );
        ToolError::new(ErrorCode::Conflict, message)
            .suggest("Repeat the call: the user is shown what has changed.")
    }

    pub(super) fn refused(&self, reply: PeerReply) -> ToolError {
        let name = &self.name;
        match reply {
            PeerReply::Error { code: NEEDS_LOGIN, message, .. } => self.needs_login(&message),
            PeerReply::Error { code, message, .. } => {
                let kind = match code {
                    INVALID_PARAMS => ErrorCode::InvalidArguments,
                    _ => ErrorCode::ExecutionError,
                };
                let message = visible(&message);
                ToolError::new(kind, format!("the MCP server {name} refused the call: {message}"))
            }
            _ => {
                let message =
                    format!("the answer of the MCP server {name} is too large to be read");
                ToolError::new(ErrorCode::ExecutionError, message)
                    .suggest("Ask it for less at once.")
            }
        }
    }

    pub(super) fn odd(&self, what: &str) -> ToolError {
        let message = format!("the MCP server {} answers with {}", self.name, visible(what));
        ToolError::new(ErrorCode::ExecutionError, message)
    }
}
