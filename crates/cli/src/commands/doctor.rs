//! `toolkiln doctor`: what works here, and what does not.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use protocol::AgentRole;
use providers::catalogue::{COMPATIBLE, ENDPOINTS, ModelSelection};
use sandbox::{Launcher, Probe, ProbeFinding, Problem};
use serde::Serialize;
use serde_json::{Value, json};
use tool_system::{IndexStatus, ToolRegistry, Vocabulary};
use workspace::{EntrySummary, RelPath, Workspace, available_threads};

use super::layer;
use crate::config::{Config, FlagLayer, Keys};
use crate::environment::Environment;
use crate::model_choice::{Chosen, chosen};
use crate::project::{Lifetime, Project};
use crate::{environment, output};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum CheckState {
    Ok,
    Degraded,
    Failed,
}

#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    state: CheckState,
    detail: String,
}

const EXAMPLES: &str = "\
Examples:
  toolkiln doctor
  toolkiln doctor --json";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DoctorArgs {
    /// The project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// Print the checks as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let mut checks = vec![machine()];
    match Workspace::open(&args.root) {
        Ok(workspace) => {
            checks.extend(of_project(&workspace));
            checks.extend(of_configuration(&workspace));
            checks.push(journal(args));
            checks.push(index(args));
            checks.push(private_layer(args));
        }
        Err(error) => checks.push(Check {
            name: "project",
            state: CheckState::Failed,
            detail: error.to_string(),
        }),
    }
    checks.push(tools());
    if args.json {
        output::json(&json!(checks))?;
    } else {
        for Check { name, state, detail } in &checks {
            let mark = match state {
                CheckState::Ok => "ok      ",
                CheckState::Degraded => "degraded",
                CheckState::Failed => "FAILED  ",
            };
            output::result(&format!("{mark}  {name:14} {detail}"))?;
        }
    }
    let failed = checks.iter().any(|check| check.state == CheckState::Failed);
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn machine() -> Check {
    let cores = available_threads();
    let detail = format!(
        "toolkiln {} on {} {}, {cores} cores",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH
    );
    Check { name: "machine", state: CheckState::Ok, detail }
}

fn of_project(workspace: &Workspace) -> Vec<Check> {
    vec![
        Check {
            name: "project",
            state: CheckState::Ok,
            detail: workspace.canonical_path().display().to_string(),
        },
        readable(workspace),
        confinement(workspace),
        sandbox(workspace),
    ]
}

fn of_configuration(workspace: &Workspace) -> Vec<Check> {
    let environment = Environment::gather();
    let loaded = Config::load(&environment, workspace, &FlagLayer::default());
    let mut checks = vec![configuration(&loaded)];
    if let Ok(config) = &loaded {
        checks.push(keys(&environment, config));
        checks.push(model(&environment, config));
    }
    checks
}

fn readable(workspace: &Workspace) -> Check {
    let (state, detail) = match workspace.list_dir(&RelPath::root(), true) {
        Ok(listing) => match listing.entries.len() {
            1 => (CheckState::Ok, "1 entry at the top".into()),
            many => (CheckState::Ok, format!("{many} entries at the top")),
        },
        Err(error) => (CheckState::Failed, error.to_string()),
    };
    Check { name: "reading", state, detail }
}

fn confinement(workspace: &Workspace) -> Check {
    let resolver = workspace.resolver_name();
    let state = if resolver == "openat2" { CheckState::Ok } else { CheckState::Degraded };
    let detail = match state {
        CheckState::Ok => format!("paths are resolved by the kernel beneath the root ({resolver})"),
        _ => format!(
            "this kernel lacks openat2; paths are resolved by a {resolver}, which is slower"
        ),
    };
    Check { name: "confinement", state, detail }
}

/// What commands can be confined with.
fn sandbox(workspace: &Workspace) -> Check {
    let root = workspace.canonical_path();
    let home = environment::confinement(root).home;
    let Probe { level, findings, .. } = sandbox::probe(root, &home, &Launcher::this_program());
    let told = findings.iter().filter_map(|ProbeFinding { part, problem, .. }| {
        let Problem { why, fix } = problem.as_ref()?;
        Some(format!("without {part}: {why}. {fix}"))
    });
    let told: Vec<String> = told.collect();
    let (state, first) = match level {
        Some(level) if told.is_empty() => (CheckState::Ok, level.summary()),
        Some(level) => (CheckState::Degraded, level.summary()),
        None => (CheckState::Degraded, "commands cannot be confined, so none is run".to_owned()),
    };
    let detail = std::iter::once(first).chain(told).collect::<Vec<_>>().join("; ");
    Check { name: "sandbox", state, detail }
}

/// Which files were read, and what was said in vain.
fn configuration(loaded: &anyhow::Result<Config>) -> Check {
    let (state, detail) = match loaded {
        Ok(config) => {
            let mut detail = match config.sources.as_slice() {
                [] => "defaults; no file found".to_owned(),
                files => files.join(", "),
            };
            for setting in config.layers.settings() {
                let by: Vec<_> = setting.sources().map(ToString::to_string).collect();
                let by = if by.is_empty() { "nothing".to_owned() } else { by.join(", ") };
                for said in setting.overridden() {
                    detail.push_str(&format!("; {}: {by} instead of {}", setting.key, said.source));
                }
            }
            (CheckState::Ok, detail)
        }
        Err(error) => (CheckState::Failed, format!("{error:#}").replace('\n', "; ")),
    };
    Check { name: "configuration", state, detail }
}

/// The model that would answer, and why it was chosen.
fn model(environment: &Environment, config: &Config) -> Check {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let chosen = runtime.map_err(anyhow::Error::from).and_then(|runtime| {
        runtime.block_on(chosen(config, environment, &ModelSelection::default()))
    });
    let (state, detail) = match chosen {
        Ok(Chosen { model, why, .. }) => {
            (CheckState::Ok, format!("{} by {}, because {why}", model.name, model.provider.name()))
        }
        Err(error) => (CheckState::Degraded, format!("{error:#}")),
    };
    Check { name: "model", state, detail }
}

/// For which providers there are keys. One that is refused fails only those who need it.
fn keys(environment: &Environment, config: &Config) -> Check {
    let (state, detail) = match Keys::load(environment, config) {
        Ok(keys) => {
            let found = ENDPOINTS.iter().chain([&COMPATIBLE]).filter_map(|endpoint| {
                Some(format!("{} ({})", endpoint.name, keys.of(endpoint)?.source))
            });
            let found: Vec<_> = found.collect();
            (CheckState::Ok, if found.is_empty() { "none".into() } else { found.join(", ") })
        }
        Err(error) => (CheckState::Degraded, format!("{error:#}")),
    };
    Check { name: "keys", state, detail }
}

/// What was changed before, and whether a crash left something that is not repaired by itself.
fn journal(args: &DoctorArgs) -> Check {
    let opened = Project::open(&args.root).and_then(|project| {
        let state = project.state()?;
        Ok(if state.exists() { Some(state.open_journal()?) } else { None })
    });
    let (state, detail) = match opened {
        Ok(None) => (CheckState::Ok, "nothing has been changed yet".into()),
        Ok(Some(journal)) => match (journal.recovery().conflicts.as_slice(), journal.entries(1)) {
            ([], Ok(entries)) => (CheckState::Ok, described(entries.first())),
            ([], Err(error)) => (CheckState::Failed, error.to_string()),
            ([first, ..], _) => {
                let detail = format!("an interrupted change to {first} could not be taken back");
                (CheckState::Failed, detail)
            }
        },
        Err(error) => (CheckState::Failed, format!("{error:#}")),
    };
    Check { name: "journal", state, detail }
}

/// The index, if the project is large enough to have one.
fn private_layer(args: &DoctorArgs) -> Check {
    let usage = Project::open(&args.root).and_then(|project| layer::usage(&project));
    let (state, detail) = match usage {
        Ok(usage) => (CheckState::Ok, layer::described(usage)),
        Err(error) => (CheckState::Failed, format!("{error:#}")),
    };
    Check { name: "private layer", state, detail }
}

fn index(args: &DoctorArgs) -> Check {
    let status = Project::open(&args.root)
        .map(|project| project.code_base(Lifetime::OneCall).check_index().unwrap_or_default());
    let (state, detail) = match status {
        Ok(IndexStatus { trouble: Some(trouble), .. }) => (CheckState::Degraded, trouble),
        Ok(IndexStatus { index: Some(facts), changed, .. }) => (
            CheckState::Ok,
            format!("{} files, of which {changed} have changed since", facts.files),
        ),
        Ok(_) => (CheckState::Ok, "none; searches walk, and a server builds one if it pays".into()),
        Err(error) => (CheckState::Failed, format!("{error:#}")),
    };
    Check { name: "index", state, detail }
}

fn described(newest: Option<&EntrySummary>) -> String {
    match newest {
        Some(entry) => format!("the last of the changes kept is {}: {}", entry.id, entry.summary),
        None => "no change is kept".into(),
    }
}

fn tools() -> Check {
    let registry = ToolRegistry::builtin();
    let counts = Vocabulary::ALL.iter().map(|vocabulary| {
        format!("{} {vocabulary}", registry.list_for(*vocabulary, &AgentRole::Actor).len())
    });
    let counts: Vec<String> = counts.collect();
    let listed = registry.list(Vocabulary::Standard);
    let rendered: Vec<Value> = listed.iter().map(|tool| mcp::listed_tool(tool)).collect();
    let bytes = json!(rendered).to_string().len();
    let detail = format!("{}; standard list {bytes} bytes", counts.join(", "));
    Check { name: "tools", state: CheckState::Ok, detail }
}
