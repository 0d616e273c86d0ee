//! Sessions of the projects on this machine over HTTP, and a page that shows them.
//!
//! [`guard`] decides which requests are listened to, [`cursor`] and [`feed`] what a client has not
//! seen yet. They are pure, as is the table of routes ([`routes`]), from which both the router and the
//! description of the API ([`document`]) are made. [`SessionHub`] runs the sessions.
//!
//! This crate never prints, never reads the environment, and touches no file: what it does to a
//! project it does through `session`.

mod agents;
mod api;
mod api_error;
mod app;
mod assets;
mod colours;
mod credentials;
pub mod cursor;
mod event_stream;
pub mod feed;
pub mod guard;
mod hub;
mod log_stream;
mod openapi;
mod operation;
mod rate_limit;
mod response_headers;
mod route;
mod router;
mod server;
mod strangers;
mod view;

pub use api::{routes, team_routes};
pub use app::{WebApp, WebLog};
pub use axum::body::{Body, Bytes};
pub use axum::http::request::Parts;
pub use axum::response::Response;
pub use credentials::{
    AccessScope, Credentials, KnownClient, NoRandomness, Proof, Secrets, random_secret,
};
pub use hub::{
    AgentEndpoint, CompletedCommand, ConfiguredFacts, CustomToolFile, DirectCalls, HubError,
    KeptWorktree, KeyStatus, Mentionable, MentionableKind, ProjectPort, ReplicaOptions,
    ServedProject, SessionHub,
};
pub use openapi::document;
pub use operation::{
    Bounds, HealthCheck, OperationSettings, RequestLog, RequestRecord, TelemetryCounter,
    TelemetryCounts,
};
pub use server::{ListenError, Listeners, listen, serve};
pub use view::TeamAccess;
