//! The tools that a project defines in `.toolkiln/tools/*.toml`, of which only those are used whose
//! exact text the user has trusted.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use protocol::{ContentHash, ErrorCode, ToolError, visible};
use serde::{Deserialize, Serialize};
use tool_system::policy::{Decision, Rule, RuleSource, ToolPattern};
use tool_system::{CustomTool, CustomToolMistake, ToolRegistry, Vocabulary};
use web_service::CustomToolFile;
use workspace::{RelPath, Workspace};

use crate::commands::tools::TrustArgs;
use crate::output;
use crate::project::{Project, project_file};
use crate::user_commands::{DIRECTORY as COMMANDS, UserCommand};

/// Where a project's tools lie.
const DIRECTORY: &str = ".toolkiln/tools";
/// The file in the state directory that says which texts are trusted.
const TRUSTED_FILE: &str = "trusted_tools.toml";
/// A tool's file larger than this is a mistake.
const MAX_FILE_BYTES: u64 = 256 * 1024;

/// The texts that the user trusts, by file.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Trusted {
    #[serde(default)]
    files: BTreeMap<String, String>,
}

impl Trusted {
    /// Whether the file is trusted with exactly this text.
    pub(crate) fn covers(&self, file: &str, text: &str) -> bool {
        self.files.get(file) == Some(&ContentHash::of(text.as_bytes()).to_string())
    }
}

/// A file that defines a tool.
struct FoundToolFile {
    file: String,
    text: String,
    trusted: bool,
    tool: Result<CustomTool, Vec<CustomToolMistake>>,
}

/// Adds the tools that are trusted. A name that is taken stays what it was.
pub(crate) fn register(project: &Project, registry: &mut ToolRegistry) {
    for FoundToolFile { file, trusted, tool, .. } in found(project) {
        let Ok(tool) = tool else { continue };
        if !trusted {
            let how = format!(
                "The user has to look at {} and run: {}",
                visible(&file),
                trust_command(project, &file)
            );
            registry.mention_untrusted(tool.name(), how);
            continue;
        }
        if registry.get(Vocabulary::Standard, tool.name()).is_ok() {
            let name = tool.name();
            output::to_user(&format!("toolkiln: {file} defines `{name}`, which is a tool already"));
            continue;
        }
        registry.register(Arc::new(tool));
    }
}

/// What the user types to trust a file, wherever they are.
pub(crate) fn trust_command(project: &Project, file: &str) -> String {
    let root = project.workspace.canonical_path().display().to_string();
    format!("toolkiln tools trust {} --root {}", quoted(file), quoted(&root))
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let word = visible(word);
    if word.chars().all(plain) { word } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// Rules for trusted tools: whether their files want the user to be asked each time.
pub(crate) fn rules(project: &Project) -> Vec<Rule> {
    let trusted = found(project).into_iter().filter(|found| found.trusted);
    let rule = |tool: CustomTool| {
        let free = tool.needs_no_approval();
        let decision = if free { Decision::Allow } else { Decision::Ask };
        let tool = ToolPattern::new(tool.name()).ok()?;
        Some(Rule { tool, ..Rule::new(decision, RuleSource::Remembered) })
    };
    trusted.filter_map(|found| rule(found.tool.ok()?)).collect()
}

/// What is to be said about files whose tools are not listed.
pub(crate) fn not_listed(project: &Project) -> Vec<String> {
    let told = found(project).into_iter().filter_map(|FoundToolFile { file, trusted, tool, .. }| {
        let file = visible(&file);
        match tool {
            Err(mistakes) => Some(explained(&file, &mistakes)),
            Ok(_) if trusted => None,
            Ok(tool) => Some(format!(
                "{file} defines `{}` and is not trusted. It would run: {}\nTrust it with: toolkiln tools trust {file}",
                tool.name(),
                visible(&tool.shown_command())
            )),
        }
    });
    told.collect()
}

/// `toolkiln tools trust FILE`.
pub(crate) fn trust(args: &TrustArgs) -> anyhow::Result<ExitCode> {
    let project = Project::open(&args.root)?;
    let definition = definition(&project, &args.file)?;
    keep(&project, &definition)?;
    output::result(&definition.told)?;
    Ok(ExitCode::SUCCESS)
}

/// Trusts the text of a file, if it is the one with this hash. Answers what that means.
pub(crate) fn trust_text(project: &Project, file: &str, hash: &str) -> Result<String, ToolError> {
    let failed =
        |error: anyhow::Error| ToolError::new(ErrorCode::InvalidArguments, format!("{error:#}"));
    let definition = definition(project, file).map_err(failed)?;
    if ContentHash::of(definition.text.as_bytes()).to_string() != hash {
        let message =
            format!("{} has another text than the one that was looked at", definition.file);
        return Err(ToolError::new(ErrorCode::Conflict, message).suggest("Look at it again."));
    }
    keep(project, &definition).map_err(failed)?;
    Ok(definition.told)
}

/// All files that define tools, as a user decides about them.
pub(crate) fn listed(project: &Project) -> Vec<CustomToolFile> {
    let listed = found(project).into_iter().map(|FoundToolFile { file, text, trusted, tool }| {
        let hash = ContentHash::of(text.as_bytes()).to_string();
        let (tool, command, mistakes) = match tool {
            Ok(tool) => (Some(tool.name().to_owned()), Some(tool.shown_command()), Vec::new()),
            Err(mistakes) => (None, None, mistakes.iter().map(ToString::to_string).collect()),
        };
        CustomToolFile { file, tool, text, hash, trusted, command, mistakes }
    });
    listed.collect()
}

/// A file that can be trusted.
struct TrustCandidate {
    file: String,
    text: String,
    /// What the user trusts with it, in words.
    told: String,
}

fn keep(project: &Project, definition: &TrustCandidate) -> anyhow::Result<()> {
    let TrustCandidate { file, text, .. } = definition;
    keep_trusted(project, file, text)
}

/// Keeps that the user trusts a file with exactly this text.
pub(crate) fn keep_trusted(project: &Project, file: &str, text: &str) -> anyhow::Result<()> {
    let state = project.state()?.directory()?;
    let mut trusted = trusted(project)?;
    trusted.files.insert(file.to_owned(), ContentHash::of(text.as_bytes()).to_string());
    project_file::write(&project.workspace, &state, TRUSTED_FILE, trusted)
}

fn definition(project: &Project, named: &str) -> anyhow::Result<TrustCandidate> {
    let path = project.workspace.resolve(named)?;
    let file = path.to_text();
    let is_in = |directory: &str, ending: &str| {
        file.strip_prefix(directory).is_some_and(|rest| {
            rest.starts_with('/') && rest.ends_with(ending) && !rest[1..].contains('/')
        })
    };
    let text = match is_in(DIRECTORY, ".toml") || is_in(COMMANDS, ".md") {
        true => read(&project.workspace, &path)?,
        false => bail!(
            "{file} is not one of {DIRECTORY}/*.toml or {COMMANDS}/*.md, where a project defines its tools and commands"
        ),
    };
    let told =
        if is_in(COMMANDS, ".md") { command_text(&file, &text)? } else { tool_text(&file, &text)? };
    Ok(TrustCandidate { file, text, told })
}

/// What the user has trusted with the file of a tool.
fn tool_text(file: &str, text: &str) -> anyhow::Result<String> {
    let tool = CustomTool::read(text).map_err(|mistakes| anyhow!(explained(file, &mistakes)))?;
    let network = if tool.reaches_network() { ", with network" } else { "" };
    let asks = if tool.needs_no_approval() { ", without asking" } else { "" };
    Ok(format!(
        "`{}` is trusted as it is now. It runs{network}{asks}: {}",
        tool.name(),
        visible(&tool.shown_command())
    ))
}

/// What the user has trusted with the file of a command.
fn command_text(file: &str, text: &str) -> anyhow::Result<String> {
    let name = file.rsplit('/').next().unwrap_or(file).trim_end_matches(".md");
    let command = UserCommand::parse(name, text).map_err(|why| anyhow!("{file} {why}"))?;
    Ok(format!(
        "`/{name}` is trusted as it is now. It sends:\n{}",
        visible_lines(&command.message(""))
    ))
}

/// Each line with what a terminal would obey or hide written out.
fn visible_lines(text: &str) -> String {
    text.lines().map(visible).collect::<Vec<_>>().join("\n")
}

fn explained(file: &str, mistakes: &[CustomToolMistake]) -> String {
    let lines: Vec<String> = mistakes.iter().map(|mistake| format!("{file}, {mistake}")).collect();
    lines.join("\n")
}

/// Every file that defines a tool, in the order of their names. A project without any costs one look.
fn found(project: &Project) -> Vec<FoundToolFile> {
    let workspace = &project.workspace;
    let Ok(directory) = RelPath::parse(DIRECTORY) else { return Vec::new() };
    let Ok(listing) = workspace.list_dir(&directory, false) else { return Vec::new() };
    let trusted = trusted_files(project);
    let files = listing.entries.iter().filter(|entry| entry.name.ends_with(b".toml"));
    files.filter_map(|entry| one(workspace, &listing.path_of(entry), &trusted)).collect()
}

/// What is trusted; nothing, and the reason is told, if that cannot be read.
pub(crate) fn trusted_files(project: &Project) -> Trusted {
    trusted(project).unwrap_or_else(|error| {
        output::to_user(&format!("toolkiln: no file of the project is trusted: {error:#}"));
        Trusted::default()
    })
}

fn one(workspace: &Workspace, path: &RelPath, trusted: &Trusted) -> Option<FoundToolFile> {
    let file = path.to_text();
    let text = match read(workspace, path) {
        Ok(text) => text,
        Err(error) => {
            output::to_user(&format!("toolkiln: {error:#}"));
            return None;
        }
    };
    let trusted = trusted.covers(&file, &text);
    let tool = CustomTool::read(&text);
    Some(FoundToolFile { file, text, trusted, tool })
}

fn read(workspace: &Workspace, path: &RelPath) -> anyhow::Result<String> {
    let bytes = workspace.open_file(path)?.read_all(MAX_FILE_BYTES)?;
    String::from_utf8(bytes).with_context(|| format!("{path} is not UTF-8"))
}

/// What the user trusts in this project; looking for it makes no state where there is none.
fn trusted(project: &Project) -> anyhow::Result<Trusted> {
    let state = project.state()?;
    if !state.exists() {
        return Ok(Trusted::default());
    }
    project_file::read(&project.workspace, &state.directory()?, TRUSTED_FILE)
}
