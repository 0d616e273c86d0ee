//! A foreign MCP server that does as it is told, and misbehaves on demand.

/// The text of the server, for Python; it says which words make it misbehave.
pub const MCP_SERVER: &str = include_str!("mcp_server/server.py");
