//! Reads the report on a command, for the tools that run one.

use protocol::{ErrorCode, ToolError};
use serde::Deserialize;
use serde_json::Value;

use crate::ToolContext;

/// As `timeout(1)` answers.
const TIMED_OUT: i64 = 124;
/// As shells answer for a signal, which is added.
const KILLED: i64 = 128;
/// The signal of what cannot be caught.
pub(crate) const SIGKILL: i64 = 9;

/// The report on a command that ran.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct CommandReport {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) exit_code: Option<i64>,
    pub(crate) signal: Option<i64>,
    pub(crate) timed_out: bool,
    pub(crate) duration_ms: u64,
    /// Which limit ended it.
    pub(crate) limit: Option<String>,
    pub(crate) note: Option<String>,
    pub(crate) sandbox: String,
    /// How it met the project.
    #[serde(default)]
    pub(crate) ran: String,
    pub(crate) changes: Option<Value>,
}

impl CommandReport {
    pub(crate) fn read(report: Value) -> Result<CommandReport, ToolError> {
        serde_json::from_value(report).map_err(|error| {
            ToolError::new(ErrorCode::Internal, format!("a report cannot be read: {error}"))
        })
    }

    /// One number for how it ended, as shells give it.
    pub(crate) fn return_code(&self) -> i64 {
        match (self.exit_code, self.signal, self.timed_out) {
            (Some(code), _, _) => code,
            (None, Some(signal), _) => KILLED + signal,
            (None, None, true) => TIMED_OUT,
            (None, None, false) => KILLED + SIGKILL,
        }
    }

    /// What the number does not say.
    pub(crate) fn message(&self) -> Option<String> {
        let seconds = self.duration_ms as f64 / 1000.0;
        let how = match (&self.limit, self.timed_out, self.signal) {
            (Some(limit), _, _) => Some(format!("It was ended: it used too much {limit}.")),
            (None, true, _) => Some(format!(
                "It was ended after {seconds:.1} s. A longer timeout may help, or a job."
            )),
            (None, false, Some(signal)) => Some(format!("It was ended by signal {signal}.")),
            (None, false, None) => None,
        };
        let direct = (self.ran == "direct").then(|| {
            "It changed the files themselves: there are no copies on write here.".to_owned()
        });
        let open = self.sandbox.contains("NOT CONFINED").then(|| "It was NOT CONFINED.".to_owned());
        let parts: Vec<String> =
            [how, self.note.clone(), direct, open].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(" "))
    }
}

/// A directory of the project by the path that a model wrote.
pub(crate) fn working_dir(cx: &ToolContext, given: Option<&str>) -> Result<String, ToolError> {
    let path = cx.workspace().resolve(given.unwrap_or("."))?;
    if path.is_root() {
        return Ok(".".to_owned());
    }
    cx.workspace().open_dir(&path)?;
    Ok(path.to_text())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ended(changed: Value) -> CommandReport {
        let mut report = json!({
            "stdout": "", "stderr": "", "exit_code": null, "timed_out": false, "duration_ms": 1500,
            "stdout_bytes": 0, "stderr_bytes": 0, "sandbox": "namespaces, project copied on write",
        });
        if let (Value::Object(report), Value::Object(changed)) = (&mut report, changed) {
            report.extend(changed);
        }
        CommandReport::read(report).unwrap()
    }

    #[test]
    fn every_end_has_a_number_and_what_is_unusual_a_sentence() {
        let cases = [
            (json!({"exit_code": 3}), 3, None),
            (json!({"signal": 11}), 139, Some("It was ended by signal 11.")),
            (
                json!({"timed_out": true}),
                124,
                Some("It was ended after 1.5 s. A longer timeout may help, or a job."),
            ),
            (json!({"limit": "memory"}), 137, Some("It was ended: it used too much memory.")),
            (
                json!({"exit_code": 0, "note": "Left.", "ran": "direct"}),
                0,
                Some("Left. It changed the files themselves: there are no copies on write here."),
            ),
        ];
        for (changed, code, message) in cases {
            let ended = ended(changed);
            assert_eq!((ended.return_code(), ended.message().as_deref()), (code, message));
        }
    }
}
