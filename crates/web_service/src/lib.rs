//! Sessions of the projects on this machine over HTTP.
//!
//! [`guard`] decides which requests are listened to, [`cursor`] and [`feed`] what a client has not
//! seen yet. They are pure, as is the table of routes, from which both router and API description
//! are made. This crate never prints, never reads the environment, and touches no file: what it does
//! to a project it does through `session`.

pub mod credentials;
pub mod cursor;
pub mod feed;
pub mod guard;
