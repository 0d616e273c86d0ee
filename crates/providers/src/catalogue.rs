//! What is known about models and their providers, and how one of them is chosen.
//!
//! All of it is data and pure functions; only [`offered_models`](crate::offered_models),
//! [`probe_models`](crate::probe_models) and [`probe_ollama`](crate::probe_ollama) ask a server.

mod choice;
mod endpoint;
mod model;

pub use choice::{Choice, ChoiceError, MachineFacts, ModelSelection, choose, endpoint_at};
pub use endpoint::{COMPATIBLE, ENDPOINTS, Endpoint, OFFLINE, endpoint, unencrypted_host};
pub use model::{CATALOGUE_DATE, ModelInfo, known_models, model_info};
