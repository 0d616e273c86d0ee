//! A running conversation: tools, approvals, instructions and log put together.
