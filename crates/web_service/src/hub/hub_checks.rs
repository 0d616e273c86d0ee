//! Whether what the projects need is there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use store::ListFilter;

use super::ServedProject;
use super::replicas::ReplicaLink;
use crate::operation::HealthCheck;

/// The stores of all projects answer.
pub(super) struct StoreCheck(pub(super) Vec<Arc<ServedProject>>);

#[async_trait]
impl HealthCheck for StoreCheck {
    fn name(&self) -> &'static str {
        "store"
    }

    async fn problem(&self) -> Option<String> {
        let one = ListFilter { limit: Some(1), ..ListFilter::default() };
        for project in &self.0 {
            if let Err(error) = project.parts.store.list(&one).await {
                return Some(format!("project {}: {error}", project.name));
            }
        }
        None
    }
}

/// The directories of all projects can be reached.
pub(super) struct DirectoryCheck {
    projects: Vec<Arc<ServedProject>>,
    /// Set while a thread looks: one that hangs is not joined by others, which would be lost for all other work.
    looking: Arc<AtomicBool>,
}

impl DirectoryCheck {
    pub(super) fn new(projects: Vec<Arc<ServedProject>>) -> Self {
        Self { projects, looking: Arc::default() }
    }
}

#[async_trait]
impl HealthCheck for DirectoryCheck {
    fn name(&self) -> &'static str {
        "projects"
    }

    async fn problem(&self) -> Option<String> {
        if self.looking.swap(true, Ordering::AcqRel) {
            return Some("the file system does not answer".to_owned());
        }
        let (projects, looking) = (self.projects.clone(), Arc::clone(&self.looking));
        let looking = tokio::task::spawn_blocking(move || {
            let lost = projects.iter().find(|project| !project.port.is_reachable());
            looking.store(false, Ordering::Release);
            lost.map(|project| format!("the directory of project {} is gone", project.name))
        });
        looking.await.unwrap_or_else(|error| Some(error.to_string()))
    }
}

/// This replica takes new work.
pub(super) struct DrainCheck(pub(super) Arc<ReplicaLink>);

#[async_trait]
impl HealthCheck for DrainCheck {
    fn name(&self) -> &'static str {
        "draining"
    }

    async fn problem(&self) -> Option<String> {
        self.0.is_draining().then(|| "the replica is about to end".to_owned())
    }
}
