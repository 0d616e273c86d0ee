//! `cargo xtask interop`: the MCP server under SDKs and hosts of other people, MCP servers of other people under us, and the page in Firefox. They are many
//! packages and some minutes, so that `cargo xtask test` has only the official clients of MCP among them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result};

use crate::fetch::output;
use crate::house::House;
use crate::logins;
use crate::page::{browser, program};
use crate::python::Script;
use crate::step::{Outcome, Steps, one_line, run as run_command};
use crate::test::{is_ci, python_client};

const TYPESCRIPT_SDK: &str = "crates/mcp/tests/hosts/typescript_sdk.mjs";

/// Pinned like the packages of Python. The inspector's command line is a client of its own.
const NPM_PACKAGES: [&str; 2] =
    ["@modelcontextprotocol/sdk@1.32.2", "@modelcontextprotocol/inspector@2.12.0"];

const REAL_HOSTS: &str = "crates/mcp/tests/hosts/real_hosts.py";

/// The same with hosts whose users answer our questions.
const ASKING_HOSTS: &str = "crates/mcp/tests/hosts/asking_hosts.py";

/// Agents that people use. Those that are programs of their own come in the packages for this system, which need no
/// script to be installed.
const HOST_PACKAGES: [&str; 4] = [
    "@anthropic-ai/claude-code-linux-x64@2.1.325",
    "@google/gemini-cli@0.61.0",
    "@openai/codex@0.166.0",
    "opencode-linux-x64@1.18.33",
];

const ACPX_TASK: &str = "crates/acp/tests/clients/acpx.mjs";

/// It wants a newer Node than systems have, which npm brings as well.
const ACPX: [&str; 2] = ["acpx@0.19.1", "node@22.13.0"];

/// A client in Rust that sends one prompt and says yes to everything.
const YOPO: &str = "yopo@11.0.0";

const FIREFOX_TASK: &str = "crates/cli/tests/page/firefox.mjs";

/// Drives Firefox by WebDriver BiDi. Newer ones ask for what the Firefox of Debian does not know.
const PUPPETEER: [&str; 1] = ["puppeteer-core@24.10.0"];

const OPENAI_AGENTS: Script = Script {
    path: "crates/mcp/tests/hosts/openai_agents.py",
    cache: "openai-agents",
    requirements: &["openai-agents==0.24.0", "mcp==2.3.0"],
};

const GOOGLE_GENAI: Script = Script {
    path: "crates/mcp/tests/hosts/google_genai.py",
    cache: "google-genai",
    requirements: &["google-genai==3.1.0", "mcp==2.3.0"],
};

const REAL_SERVERS: Script = Script {
    path: "crates/mcp_client/tests/partners/servers.py",
    cache: "mcp-servers",
    requirements: &[
        "mcp-server-fetch==2026.10.24",
        "mcp-server-git==2026.10.19",
        "mcp-server-time==2026.10.19",
    ],
};

/// Servers for Node whose tools we use.
const NPM_SERVERS: [&str; 4] = [
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
    "@playwright/mcp@0.0.83",
];

/// The text that `web_fetch` finds, beside that of another program; on pages of Debian's packages.
const PAGE_TEXT: Script = Script {
    path: "crates/cli/tests/web_partners/page_text.py",
    cache: "page-text",
    requirements: &["trafilatura==2.3.1", "lxml_html_clean==0.4.5"],
};

/// `web_search` with a real server.
const SEARX: Script =
    Script { path: "crates/cli/tests/web_partners/searx.py", cache: "searx", requirements: &[] };

/// Runs all hosts against the debug binary and stops at the first that fails.
pub(crate) fn run() -> Result<ExitCode> {
    let house = House::find()?;
    let binary = house.binary("debug");
    let mut steps = Steps::new(is_ci());
    steps.command("build", &mut house.build_command("debug"))?;
    steps.step("Python MCP client", || python_client(&house, &binary))?;
    steps.step("MCP servers of others", || real_servers(&house, &binary))?;
    steps.step("Logins at oidc-provider", || logins::oidc(&house, &binary))?;
    steps.step("Logins of a team at oidc-provider", || logins::team(&house))?;
    steps.step("Logins by the MCP conformance suite", || logins::scenarios(&house, &binary))?;
    steps.step("acpx, an ACP client", || acpx(&house, &binary))?;
    steps.step("yopo, an ACP client", || yopo(&house, &binary))?;
    steps.step("OpenAI Agents SDK", || OPENAI_AGENTS.run(&house, &binary))?;
    steps.step("Google Gen AI SDK", || GOOGLE_GENAI.run(&house, &binary))?;
    steps.step("Text of pages beside trafilatura", || {
        debian_partner(&house, &binary, &PAGE_TEXT, "TOOLKILN_PAGES")
    })?;
    steps
        .step("Searches by searx", || debian_partner(&house, &binary, &SEARX, "TOOLKILN_SEARX"))?;
    print!("{}", steps.summary());
    Ok(ExitCode::SUCCESS)
}

/// Lets other agents do a task with the server, with a scripted model.
pub(crate) fn hosts() -> Result<ExitCode> {
    let house = House::find()?;
    let binary = house.binary("debug");
    let mut steps = Steps::new(is_ci());
    steps.command("build", &mut house.build_command("debug"))?;
    steps.step("Claude Code, Codex, gemini-cli, opencode", || {
        real_hosts(&house, &binary, REAL_HOSTS)
    })?;
    steps
        .step("Questions in Claude Code and Codex", || real_hosts(&house, &binary, ASKING_HOSTS))?;
    print!("{}", steps.summary());
    Ok(ExitCode::SUCCESS)
}

fn real_hosts(house: &House, binary: &Path, script: &str) -> Result<Outcome> {
    match installed_modules(&house.cache("hosts"), &HOST_PACKAGES) {
        Ok(modules) => {
            let mut python = Command::new("python3");
            // Modules beside a script are imported from the source tree, which stays as it is.
            python.current_dir(&house.root).env("PYTHONDONTWRITEBYTECODE", "1");
            run_command(python.arg(script).arg(binary).arg(modules))?;
            Ok(Outcome::Passed)
        }
        Err(why) => Ok(Outcome::Skipped {
            what: format!("{script} with {}", HOST_PACKAGES.join(", ")),
            why: one_line(&format!("{why:#}")),
        }),
    }
}

/// Runs a script that downloads packages of Debian to the directory that a variable names.
fn debian_partner(
    house: &House,
    binary: &Path,
    script: &Script,
    variable: &str,
) -> Result<Outcome> {
    if let Err(why) = output(Command::new("apt-get").arg("--version")) {
        return Ok(Outcome::Skipped {
            what: format!("{} with packages of Debian", script.path),
            why: one_line(&format!("{why:#}")),
        });
    }
    let packages = house.cache(&format!("{}-packages", script.cache));
    script.run_with(house, binary, &[(variable, packages.as_os_str())])
}

/// Does a task on the page in Firefox. Its pictures are in `target/page`.
pub(crate) fn firefox() -> Result<ExitCode> {
    let house = House::find()?;
    let binary = house.binary("debug");
    let mut steps = Steps::new(is_ci());
    steps.command("build", house.cargo().args(["build", "--locked", "-p", "cli"]))?;
    steps.step("The page in Firefox", || firefox_task(&house, &binary))?;
    print!("{}", steps.summary());
    Ok(ExitCode::SUCCESS)
}

fn firefox_task(house: &House, binary: &Path) -> Result<Outcome> {
    let modules = || installed_modules(&house.cache("puppeteer"), &PUPPETEER);
    let prepared = program(&["firefox", "firefox-esr"], "firefox-esr")
        .and_then(|browser| Ok((browser, modules()?)));
    match prepared {
        Ok((browser, modules)) => {
            let mut node = Command::new("node");
            node.current_dir(&house.root).arg(FIREFOX_TASK).arg(binary).arg(modules);
            run_command(node.arg(browser).arg("target/page"))?;
            Ok(Outcome::Passed)
        }
        Err(why) => Ok(Outcome::Skipped {
            what: format!("{FIREFOX_TASK} with {}", PUPPETEER.join(", ")),
            why: one_line(&format!("{why:#}")),
        }),
    }
}

fn acpx(house: &House, binary: &Path) -> Result<Outcome> {
    match modules_with_scripts(&house.cache("acpx"), &ACPX) {
        Ok(modules) => {
            let mut node = Command::new("node");
            node.current_dir(&house.root).arg(ACPX_TASK).arg(binary).arg(modules);
            run_command(&mut node)?;
            Ok(Outcome::Passed)
        }
        Err(why) => Ok(Outcome::Skipped {
            what: format!("{ACPX_TASK} with {}", ACPX.join(", ")),
            why: one_line(&format!("{why:#}")),
        }),
    }
}

/// Has a file changed by a prompt.
fn yopo(house: &House, binary: &Path) -> Result<Outcome> {
    let place = house.cache("yopo");
    let mut install = Command::new("cargo");
    install.args(["install", "--quiet", "--locked", "--debug", YOPO, "--root"]).arg(&place);
    if let Err(why) = output(install.arg("--target-dir").arg(place.join("target"))) {
        let (what, why) = (YOPO.to_owned(), one_line(&format!("{why:#}")));
        return Ok(Outcome::Skipped { what, why });
    }
    let (project, state) = (place.join("project"), place.join("state"));
    fs::create_dir_all(&project).context("cannot make a project")?;
    let file = project.join("main.rs");
    fs::write(&file, "let oven = 1;\n").context("cannot write a file")?;
    let mut prompt = Command::new(place.join("bin/yopo"));
    prompt.current_dir(&project).env("XDG_STATE_HOME", state);
    prompt.arg("/replace_in_file path=main.rs find=oven replace=kiln");
    prompt.arg("--").arg(binary).args(["acp", "--provider", "offline"]);
    run_command(&mut prompt)?;
    let made = fs::read_to_string(&file).context("cannot read the file")?;
    anyhow::ensure!(made == "let kiln = 1;\n", "yopo left {made:?}");
    Ok(Outcome::Passed)
}

/// Drives the binary with one of the official clients for Node: the SDK, or the command line of the Inspector.
pub(crate) fn typescript_sdk(house: &House, binary: &Path, which: &str) -> Result<Outcome> {
    let packages = NPM_PACKAGES.iter().filter(|name| name.contains(which));
    let packages: Vec<&str> = packages.copied().collect();
    match installed_modules(&house.cache(&format!("typescript-{which}")), &packages) {
        Ok(modules) => {
            let mut node = Command::new("node");
            node.current_dir(&house.root).arg(TYPESCRIPT_SDK).arg(binary).arg(modules);
            run_command(node.arg(which))?;
            Ok(Outcome::Passed)
        }
        Err(why) => Ok(Outcome::Skipped {
            what: format!("{TYPESCRIPT_SDK} with {}", packages.join(", ")),
            why: one_line(&format!("{why:#}")),
        }),
    }
}

/// Adds servers of others and calls their tools, one of which drives a browser.
fn real_servers(house: &House, binary: &Path) -> Result<Outcome> {
    let modules = || installed_modules(&house.cache("mcp-server-modules"), &NPM_SERVERS);
    match browser().and_then(|browser| Ok((browser, modules()?))) {
        Ok((browser, modules)) => REAL_SERVERS.run_with(
            house,
            binary,
            &[("MCP_SERVER_MODULES", modules.as_os_str()), ("MCP_BROWSER", browser.as_os_str())],
        ),
        Err(why) => Ok(Outcome::Skipped {
            what: format!("{} with {}", REAL_SERVERS.path, NPM_SERVERS.join(", ")),
            why: one_line(&format!("{why:#}")),
        }),
    }
}

/// The `node_modules` that holds the packages, filled once.
pub(crate) fn installed_modules(directory: &Path, packages: &[&str]) -> Result<PathBuf> {
    modules(directory, packages, &["--ignore-scripts"])
}

/// The same for packages that finish their installation by a script of their own, such as Node's.
fn modules_with_scripts(directory: &Path, packages: &[&str]) -> Result<PathBuf> {
    modules(directory, packages, &[])
}

fn modules(directory: &Path, packages: &[&str], options: &[&str]) -> Result<PathBuf> {
    let modules = directory.join("node_modules");
    let stamp = directory.join("packages.stamp");
    let wanted = packages.join("\n");
    output(Command::new("node").arg("--version"))?;
    if !fs::read_to_string(&stamp).is_ok_and(|kept| kept == wanted) {
        fs::create_dir_all(directory).context("cannot make the directory for packages")?;
        // Without one, npm looks for a project in the directories above.
        fs::write(directory.join("package.json"), "{\"private\": true}\n")
            .context("cannot write package.json")?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--silent", "--no-audit", "--no-fund"]).args(options);
        output(npm.args(packages).current_dir(directory))?;
        fs::write(&stamp, wanted).context("cannot write the stamp")?;
    }
    Ok(modules)
}
