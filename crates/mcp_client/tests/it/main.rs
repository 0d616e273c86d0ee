//! Foreign servers as the executor's tools, over real connections.

mod http_bounds;
mod http_failures;
mod http_server;
mod http_talk;
mod once;
mod tools;
mod tracing;
