//! `install_package`: adds packages with the project's package manager.

use tool_system::outcome_text::{Printed, changed_words};
use tool_system::package_name::{Registry, check};
use tool_system::prelude::*;
use tool_system::project_kind::{ManifestDirectory, nearest};
use tool_system::test_reports::both_ends;

/// Bytes of output that are shown.
const SHOWN_OUTPUT: usize = 4 * 1024;
/// The interpreter of the environment that Python packages go into.
const VENV_PYTHON: &str = ".venv/bin/python";

/// Add packages from the network. Always asks.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct InstallPackageArgs {
    /// e.g. lodash@4
    #[schemars(length(min = 1))]
    packages: Vec<String>,
    dev: Option<bool>,
    manager: Option<Manager>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Manager {
    Cargo,
    Npm,
    Pip,
}

#[derive(Debug, Serialize, JsonSchema)]
struct InstallPackageOutput {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Value>,
    /// What the package manager said.
    output: String,
    /// Left out if a signal ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i64>,
}

#[derive(Debug)]
struct InstallPackageTool;

#[async_trait]
impl Tool for InstallPackageTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<InstallPackageArgs, InstallPackageOutput>(
            "install_package",
            Category::Execution,
        )
        .on_demand()
        .permissions([
            ToolPermission::ReadFiles,
            ToolPermission::WriteFiles,
            ToolPermission::ExecuteCommands,
            ToolPermission::NetworkAccess,
        ])
        .approval(Approval::Always)
        .termination("Use terminate=false: what was installed is there to be used.")
        .prompt(
            "{\"packages\": [\"serde@1\"]}, {\"packages\": [\"jest\"], \"dev\": true}. Python packages go \
             into .venv. Install scripts of Node packages are not run.",
        )
        .example(json!({"packages": ["serde"]}))
    }

    fn is_useful(&self, project: &workspace::Workspace) -> bool {
        tool_system::project_kind::is_built(project)
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: InstallPackageArgs = args.parse()?;
        cx.blocking(move |cx| Ok(Outcome::Proposal(Proposed::command(spec(cx, &args)?)))).await
    }

    fn report(&self, _: &ToolArguments, ran: Value) -> ToolResult {
        let text = |key: &str| ran[key].as_str().unwrap_or_default().trim();
        let said = [text("stdout"), text("stderr"), text("note")].join("\n");
        let exit_code = ran["exit_code"].as_i64();
        tool_system::json_of(InstallPackageOutput {
            ok: exit_code == Some(0),
            changes: ran.get("changes").cloned(),
            output: both_ends(said.trim(), SHOWN_OUTPUT),
            exit_code,
        })
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        Some(format!("Install {}", packages(args)?))
    }

    fn summary(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        let (packages, changed) = (packages(args)?, changed_words(result));
        Some(match (result["ok"].as_bool()?, result["exit_code"].as_i64()) {
            (true, _) => format!("Installed {packages}{changed}"),
            (false, Some(code)) => format!("Installing {packages} failed, exit {code}{changed}"),
            (false, None) => format!("Installing {packages} failed{changed}"),
        })
    }

    fn text(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        let printed = Printed {
            outputs: [result["output"].as_str()?, ""],
            exit_code: result["exit_code"].as_i64(),
            message: None,
        };
        Some(printed.text(result).finish())
    }
}

/// What was asked for, in one line.
fn packages(args: &ToolArguments) -> Option<String> {
    let packages = args.as_map().get("packages")?.as_array()?;
    let packages: Vec<&str> = packages.iter().filter_map(Value::as_str).collect();
    Some(packages.join(", "))
}

fn spec(cx: &ToolContext, args: &InstallPackageArgs) -> Result<CommandSpec, ToolError> {
    let Some((place, manager)) = nearest(cx, None, |place| manager_of(place, args.manager))? else {
        let message = "the project has no Cargo.toml, package.json or pyproject.toml";
        return Err(ToolError::new(ErrorCode::FileNotFound, message)
            .suggest("Say which package manager to use: cargo, npm or pip."));
    };
    args.packages.iter().try_for_each(|package| check(manager.registry(), package))?;
    let files: &[&str] = match manager {
        Manager::Cargo => &["Cargo.toml", "Cargo.lock"],
        Manager::Npm => {
            &["package.json", "package-lock.json", "pnpm-lock.yaml", "yarn.lock", "node_modules"]
        }
        Manager::Pip => &[".venv"],
    };
    let inside = |name: &&str| Some(place.directory.join(name.as_bytes()).ok()?.to_text());
    let writable = files.iter().filter_map(inside);
    let shown = format!("Install {} with {}", args.packages.join(", "), manager.program(&place));
    Ok(CommandSpec {
        argv: argv(&place, manager, args),
        first: first(cx, &place, manager)?,
        shown: Some(shown),
        working_dir: place.directory.to_text(),
        timeout_ms: cx.limits().max_command_s.saturating_mul(1000),
        network: true,
        writable: writable.collect(),
        ..CommandSpec::default()
    })
}

impl Manager {
    fn registry(self) -> Registry {
        match self {
            Manager::Cargo => Registry::Cargo,
            Manager::Npm => Registry::Npm,
            Manager::Pip => Registry::Python,
        }
    }

    fn program(self, place: &ManifestDirectory) -> &'static str {
        match self {
            Manager::Cargo => "cargo",
            Manager::Npm => place.manifests.node_manager(),
            Manager::Pip => "pip",
        }
    }
}

/// Makes the environment of Python if there is none. It holds a copy of the interpreter: a link to it
/// would lead out of the project, and such links are not copied back.
fn first(
    cx: &ToolContext,
    place: &ManifestDirectory,
    manager: Manager,
) -> Result<Vec<Vec<String>>, ToolError> {
    let interpreter = cx.workspace().resolve(&format!("{}/{VENV_PYTHON}", place.directory))?;
    let is_there = cx.workspace().metadata(&interpreter).is_ok();
    // Links to the interpreter would lead out of the project, and such links are not copied back.
    let words = ["python3", "-m", "venv", "--copies", ".venv"].map(str::to_owned).to_vec();
    Ok(if manager == Manager::Pip && !is_there { vec![words] } else { Vec::new() })
}

fn manager_of(place: &ManifestDirectory, asked: Option<Manager>) -> Option<Manager> {
    let here = &place.manifests;
    let fits = |manager: &Manager| match manager {
        Manager::Cargo => here.has("Cargo.toml"),
        Manager::Npm => here.has("package.json"),
        Manager::Pip => here.tests_python() || here.has("requirements.txt"),
    };
    asked.or_else(|| [Manager::Cargo, Manager::Npm, Manager::Pip].into_iter().find(fits))
}

fn argv(place: &ManifestDirectory, manager: Manager, args: &InstallPackageArgs) -> Vec<String> {
    let mut argv: Vec<&str> = match manager {
        Manager::Cargo => vec!["cargo", "add"],
        Manager::Npm => match place.manifests.node_manager() {
            "npm" => vec!["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"],
            other => vec![other, "add", "--ignore-scripts"],
        },
        Manager::Pip => {
            let quiet = ["--disable-pip-version-check", "--progress-bar", "off"];
            [&[VENV_PYTHON, "-m", "pip", "install"], &quiet[..]].concat()
        }
    };
    match manager {
        Manager::Cargo | Manager::Npm if args.dev == Some(true) => {
            argv.push(match place.manifests.node_manager() {
                _ if manager == Manager::Cargo => "--dev",
                "npm" | "pnpm" => "--save-dev",
                _ => "--dev",
            })
        }
        _ => {}
    }
    argv.push("--");
    argv.into_iter().map(str::to_owned).chain(args.packages.iter().cloned()).collect()
}

auto_register_tool!(InstallPackageTool);

#[cfg(test)]
mod tests {
    use tool_system::project_kind::Manifests;
    use workspace::RelPath;

    use super::*;

    #[test]
    fn each_manager_gets_the_names_as_arguments_and_nothing_else() {
        let cases: [(&[&str], bool, &str); 6] = [
            (&["Cargo.toml"], false, "cargo add -- serde"),
            (&["Cargo.toml"], true, "cargo add --dev -- serde"),
            (
                &["package.json"],
                true,
                "npm install --ignore-scripts --no-audit --no-fund --save-dev -- serde",
            ),
            (&["package.json", "yarn.lock"], true, "yarn add --ignore-scripts --dev -- serde"),
            (&["package.json", "pnpm-lock.yaml"], false, "pnpm add --ignore-scripts -- serde"),
            (
                &["pyproject.toml"],
                true,
                ".venv/bin/python -m pip install --disable-pip-version-check --progress-bar off -- serde",
            ),
        ];
        for (names, dev, expected) in cases {
            let manifests = Manifests::sketch(names, "", "", "");
            let place =
                ManifestDirectory { directory: RelPath::root(), rest: String::new(), manifests };
            let args = InstallPackageArgs {
                packages: vec!["serde".into()],
                dev: Some(dev),
                manager: None,
            };
            let manager = manager_of(&place, None).unwrap();
            assert_eq!(argv(&place, manager, &args).join(" "), expected);
        }
    }
}
