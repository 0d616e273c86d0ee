//! `install_package`: adds packages with the project's package manager.

use tool_system::prelude::*;
use tool_system::project_kind::{Place, nearest};
use tool_system::test_reports::both_ends;

/// Bytes of output that are shown.
const SHOWN_OUTPUT: usize = 4 * 1024;
/// Characters that package names and versions are made of, besides letters and digits.
const IN_NAMES: &str = "@/._-^~=<>!*+[],";
/// Makes the environment first if there is none. What is installed comes as arguments, never as text
/// of the script.
const PIP_SCRIPT: &str = "test -e .venv/bin/python || python3 -m venv --copies .venv; \
                          exec .venv/bin/python -m pip install --disable-pip-version-check -- \"$@\"";

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
        args.packages.iter().try_for_each(|package| check(package))?;
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
}

/// A name from the manager's own registry: no option, no address, no path.
fn check(package: &str) -> Result<(), ToolError> {
    let begins = package.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '@');
    let is_name = |c: char| c.is_ascii_alphanumeric() || IN_NAMES.contains(c);
    let stays = !package.contains("://") && !package.contains("..") && !package.contains("git+");
    if begins && stays && package.chars().all(is_name) {
        return Ok(());
    }
    let message = format!("`{package}` is not the name of a package");
    Err(ToolError::new(ErrorCode::InvalidArguments, message).suggest(
        "Give names as the registry knows them, such as serde, lodash@4 or requests==2.32.",
    ))
}

fn spec(cx: &ToolContext, args: &InstallPackageArgs) -> Result<CommandSpec, ToolError> {
    let Some((place, manager)) = nearest(cx, None, |place| manager_of(place, args.manager))? else {
        let message = "the project has no Cargo.toml, package.json or pyproject.toml";
        return Err(ToolError::new(ErrorCode::FileNotFound, message)
            .suggest("Say which package manager to use: cargo, npm or pip."));
    };
    let files: &[&str] = match manager {
        Manager::Cargo => &["Cargo.toml", "Cargo.lock"],
        Manager::Npm => {
            &["package.json", "package-lock.json", "pnpm-lock.yaml", "yarn.lock", "node_modules"]
        }
        Manager::Pip => &[".venv"],
    };
    let inside = |name: &&str| Some(place.directory.join(name.as_bytes()).ok()?.to_text());
    let writable = files.iter().filter_map(inside);
    Ok(CommandSpec {
        argv: argv(&place, manager, args),
        working_dir: place.directory.to_text(),
        timeout_ms: cx.limits().max_command_s.saturating_mul(1000),
        network: true,
        writable: writable.collect(),
        ..CommandSpec::default()
    })
}

fn manager_of(place: &Place, asked: Option<Manager>) -> Option<Manager> {
    let here = &place.manifests;
    let fits = |manager: &Manager| match manager {
        Manager::Cargo => here.has("Cargo.toml"),
        Manager::Npm => here.has("package.json"),
        Manager::Pip => here.tests_python() || here.has("requirements.txt"),
    };
    asked.or_else(|| [Manager::Cargo, Manager::Npm, Manager::Pip].into_iter().find(fits))
}

fn argv(place: &Place, manager: Manager, args: &InstallPackageArgs) -> Vec<String> {
    let mut argv: Vec<&str> = match manager {
        Manager::Cargo => vec!["cargo", "add"],
        Manager::Npm => match place.manifests.node_manager() {
            "npm" => vec!["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"],
            other => vec![other, "add", "--ignore-scripts"],
        },
        Manager::Pip => vec!["sh", "-c", PIP_SCRIPT, "pip"],
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
    if manager != Manager::Pip {
        argv.push("--");
    }
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
        let cases: [(&[&str], bool, &str); 5] = [
            (&["Cargo.toml"], false, "cargo add -- serde"),
            (&["Cargo.toml"], true, "cargo add --dev -- serde"),
            (
                &["package.json"],
                true,
                "npm install --ignore-scripts --no-audit --no-fund --save-dev -- serde",
            ),
            (&["package.json", "yarn.lock"], true, "yarn add --ignore-scripts --dev -- serde"),
            (&["package.json", "pnpm-lock.yaml"], false, "pnpm add --ignore-scripts -- serde"),
        ];
        for (names, dev, expected) in cases {
            let manifests = Manifests::sketch(names, "", "", "");
            let place = Place { directory: RelPath::root(), rest: String::new(), manifests };
            let args = InstallPackageArgs {
                packages: vec!["serde".into()],
                dev: Some(dev),
                manager: None,
            };
            let manager = manager_of(&place, None).unwrap();
            assert_eq!(argv(&place, manager, &args).join(" "), expected);
        }
    }

    #[test]
    fn only_names_are_packages() {
        for good in
            ["serde", "serde@1.0", "@types/node", "requests==2.32", "a[b]>=1,<2", "left-pad"]
        {
            assert!(check(good).is_ok(), "{good}");
        }
        for bad in [
            "--index-url=x",
            "git+ssh://x",
            "https://x/y.tgz",
            "../a",
            "a b",
            "$(id)",
            "",
            "./a",
            "a;b",
        ] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }
}
