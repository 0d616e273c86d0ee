//! The jobs of a session.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use protocol::{CommandSpec, ErrorCode, ToolError};

use super::backend::CommandBackend;
use super::job::{Job, JobEnd, JobView};

use crate::locked::locked;

/// How long a look at the output waits for something new.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long it takes at most until a stopped job is gone.
const STOP_PATIENCE: Duration = Duration::from_secs(5);
/// Ended jobs whose output is kept.
const ENDED_KEPT: usize = 16;

/// Commands that go on while calls come and go. They end with this.
#[derive(Default)]
pub(crate) struct Jobs {
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    jobs: BTreeMap<u64, Arc<Job>>,
    started: u64,
}

impl Held {
    fn running(&self) -> usize {
        self.jobs.values().filter(|job| job.end().is_none()).count()
    }
}

impl Jobs {
    /// How many have not ended.
    pub(crate) fn running(&self) -> usize {
        locked(&self.held).running()
    }

    /// Starts one and answers with its name.
    pub(super) fn start(
        &self,
        backend: CommandBackend,
        spec: CommandSpec,
        most: u64,
    ) -> Result<String, ToolError> {
        let mut held = locked(&self.held);
        let running = held.running() as u64;
        if running >= most {
            let message = format!("{running} jobs are running, and no more are allowed");
            return Err(ToolError::new(ErrorCode::ExecutionError, message)
                .suggest("Stop one that is no longer needed."));
        }
        let job = Job::start(backend, spec)?;
        held.started += 1;
        let id = held.started;
        held.jobs.insert(id, job);
        held.forget_oldest();
        Ok(id.to_string())
    }

    /// Hands text to the standard input of a job.
    pub(super) fn tell(&self, id: &str, text: String) -> Result<(), ToolError> {
        match self.job(id)?.tell(text) {
            true => Ok(()),
            false => Err(ToolError::new(
                ErrorCode::ExecutionError,
                format!("job {id} has ended and takes no more input"),
            )),
        }
    }

    /// Name, arguments and end of each, oldest first.
    pub(crate) fn list(&self) -> Vec<(String, Vec<String>, Option<JobEnd>)> {
        let held = locked(&self.held);
        let each = held.jobs.iter();
        each.map(|(id, job)| (id.to_string(), job.argv.clone(), job.end())).collect()
    }

    /// Program and arguments of a job.
    pub(crate) fn argv(&self, id: &str) -> Result<Vec<String>, ToolError> {
        Ok(self.job(id)?.argv.clone())
    }

    /// What a job printed after `cursor`; waits a moment if there is nothing yet.
    pub(crate) async fn output(&self, id: &str, cursor: u64) -> Result<JobView, ToolError> {
        let job = self.job(id)?;
        job.wait(cursor, PATIENCE).await;
        Ok(job.look(cursor))
    }

    /// Ends a job and answers how it ended.
    pub(super) async fn stop(&self, id: &str) -> Result<Option<JobEnd>, ToolError> {
        let job = self.job(id)?;
        job.stop();
        job.wait_for_end(STOP_PATIENCE).await;
        Ok(job.end())
    }

    fn job(&self, id: &str) -> Result<Arc<Job>, ToolError> {
        let found = id.parse().ok().and_then(|id: u64| locked(&self.held).jobs.get(&id).cloned());
        found.ok_or_else(|| {
            ToolError::new(ErrorCode::InvalidArguments, format!("there is no job {id}"))
                .suggest("List the jobs; they end with the session that started them.")
        })
    }
}

impl Held {
    fn forget_oldest(&mut self) {
        let ended = self.jobs.iter().filter(|(_, job)| job.end().is_some());
        let ended: Vec<u64> = ended.map(|(id, _)| *id).collect();
        for id in &ended[..ended.len().saturating_sub(ENDED_KEPT)] {
            self.jobs.remove(id);
        }
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        locked(&self.held).jobs.values().for_each(|job| job.stop());
    }
}
