//! A budget that others spend too, such as that of a user with several sessions in several processes.

use std::fmt;

use async_trait::async_trait;

use crate::LogError;

/// What was spent of a budget by all, and what may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedBalance {
    /// US dollars, without requests that are under way.
    pub spent_usd: f64,
    /// US dollars.
    pub limit_usd: f64,
}

/// Read before each request, so that all who spend at once exceed it by no more than the requests that are under way.
#[async_trait]
pub trait SharedBudget: fmt::Debug + Send + Sync {
    /// What was spent by now; none without a limit. On an error the request is not sent.
    async fn balance(&self) -> Result<Option<SharedBalance>, LogError>;
}
