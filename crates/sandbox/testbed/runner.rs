//! One run, described by JSON.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::net::IpAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use protocol::{CommandSpec, ToolError};
use sandbox::{
    Changed, Fate, Launcher, Profile, Ran, RunOptions, Sandbox, SandboxError, WriteSpace,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::network::Names;

/// More changes than any test makes.
const MOST_CHANGES: usize = 10_000;

#[derive(Deserialize)]
struct Request {
    profile: Profile,
    spec: CommandSpec,
    /// Names of directories and files that belong to the private layer.
    #[serde(default)]
    private: Vec<String>,
    /// Whether the command writes to the disk.
    #[serde(default)]
    disk: bool,
    /// What names resolve to, one answer after the other, instead of what the system says.
    #[serde(default)]
    names: BTreeMap<String, Vec<Vec<IpAddr>>>,
}

pub(crate) fn run() -> ExitCode {
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    let request: Result<Request, _> = serde_json::from_str(&text);
    let (Ok(_), Ok(request)) = (read, request) else {
        println!("the request is not understood");
        return ExitCode::from(2);
    };
    let answer = answer(request).unwrap_or_else(|error| {
        let error = ToolError::from(error);
        json!({"error": error.code, "message": error.full_message()})
    });
    println!("{answer}");
    ExitCode::SUCCESS
}

pub(crate) fn probe(root: &Path, home: &Path) -> ExitCode {
    println!("{}", json!(sandbox::probe(root, home, &Launcher::this_program())));
    ExitCode::SUCCESS
}

fn answer(request: Request) -> Result<Value, SandboxError> {
    let names = Names(Mutex::new(request.names));
    let sandbox = Sandbox::new(request.profile, Launcher::this_program())?;
    let sandbox = sandbox.with_resolver(Arc::new(names));
    let mut streamed = 0;
    let room = if request.disk { WriteSpace::Disk } else { WriteSpace::Memory };
    let options = RunOptions { room, ..RunOptions::default() };
    let ran = sandbox.run(&request.spec, options, |chunk| streamed += chunk.bytes.len())?;
    Ok(json!({
        "exit": ran.exit,
        "stdout": ran.stdout.text(),
        "stderr": ran.stderr.text(),
        "total_bytes": ran.stdout.total_bytes + ran.stderr.total_bytes,
        "streamed_bytes": streamed,
        "left_behind": ran.left_behind,
        "memory_kills": ran.memory_kills,
        "level": ran.level,
        "refused_connections": ran.refused_connections,
        "changes": changes(&ran, &request.private),
    }))
}

/// What changed in the project. What is private is kept.
fn changes(ran: &Ran, private: &[String]) -> Option<Vec<String>> {
    let changes = ran.changed.as_ref()?;
    let mut fate = |path: &Path, _: bool| {
        let is_private = path.iter().any(|part| private.iter().any(|name| part == name.as_str()));
        if is_private { Fate::Private } else { Fate::Change }
    };
    let kept = changes.list(MOST_CHANGES, &mut fate).map_err(|error| error.to_string());
    let kept = kept.and_then(|listed| {
        changes.keep_private(&listed.private).map_err(|error| error.to_string())?;
        Ok(listed.changed.iter().map(line).collect())
    });
    Some(kept.unwrap_or_else(|error| vec![error]))
}

fn line(changed: &Changed) -> String {
    let (path, before, now) = (changed.path.display(), &changed.before, &changed.now);
    match (before, now) {
        (None, Some(now)) => format!("+ {path} {now:?}"),
        (Some(before), None) => format!("- {path} {before:?}"),
        (before, now) => format!("~ {path} {before:?} -> {now:?}"),
    }
}
