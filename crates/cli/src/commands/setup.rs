//! `toolkiln setup`: finds models, lets the user choose one, tests it with a request and writes the
//! choice into the user's configuration. A key is never written, only the name of its variable.

mod connection;
mod offers;
mod selection;

use std::process::ExitCode;

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use providers::catalogue::{ChoiceError, ModelSelection, OFFLINE};

use crate::config::{Config, ConfigSource, Keys, UserFileDraft};
use crate::environment::{Environment, key_in};
use crate::line_questions::{is_attended, question};
use crate::model_choice::chosen;
use crate::{chat::safe_text::one_line, output};
use offers::{ModelOffer, SetupFindings};
use selection::Selection;

/// Models that are listed for a choice; others can be typed.
const LISTED_MODELS: usize = 20;

const EXAMPLES: &str = "\
Examples:
  toolkiln setup
  toolkiln setup --yes                            # take the first model that is found
  toolkiln setup --provider ollama --model qwen3:8b
  toolkiln setup --base-url https://llm.example.com/v1 --model qwen3 --key-env EXAMPLE_KEY";

#[derive(Debug, Default, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SetupArgs {
    /// The provider of the model, such as anthropic, openai, ollama or offline
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// The model, as its provider calls it
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Where requests go, in place of the provider's own address
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// The variable that holds the key, in place of the provider's usual one
    #[arg(long, value_name = "VARIABLE")]
    key_env: Option<String>,
    /// Ask nothing: take the first that is found, and write it even if the test fails
    #[arg(long)]
    yes: bool,
}

pub(crate) fn run(args: &SetupArgs) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let code = runtime.block_on(set_up(args));
    // A connection that is still being closed does not keep the process alive.
    runtime.shutdown_background();
    code
}

async fn set_up(args: &SetupArgs) -> anyhow::Result<ExitCode> {
    let mut environment = Environment::gather();
    // Variables that name a model come before the file, but it is the file that is being made.
    let variables = std::mem::take(&mut environment.layer);
    let asks = if args.yes || !is_attended() { Asks::Nothing } else { Asks::TheUser };
    let given = Selection::given(args);
    let selection = match given.is_complete() {
        true => given,
        false if given.is_empty() => {
            let offered = offered(&environment, args.yes, asks).await?;
            Selection { key_env: given.key_env.or(offered.key_env), ..offered }
        }
        false => with_model(given, &environment, args.yes, asks).await?,
    };
    // A value that is refused is named by its option rather than by a line of a file.
    Config::of_user(&environment, &selection.layer())?;
    let draft = UserFileDraft::with_model(&environment, &selection.entries())?;
    let config = draft.config(&environment)?;
    let tested = tested(&environment, &config, &selection).await;
    match &tested {
        Ok(told) => output::to_user(told),
        Err(error) => {
            output::to_user(&format!("The test failed: {error:#}"));
            let keeps = args.yes || asks == Asks::TheUser && confirmed("Write it all the same?")?;
            if !keeps {
                output::to_user("Nothing was written. `--yes` writes the choice all the same.");
                return Ok(ExitCode::FAILURE);
            }
        }
    }
    draft.write()?;
    output::to_user(&format!("Written to {}:\n{}", draft.path.display(), selection.shown()));
    for variable in variables {
        output::to_user(&format!("{} is set and comes before this file.", variable.source));
    }
    warn_of_other_settings(&config);
    if tested.is_err() {
        return Ok(ExitCode::FAILURE);
    }
    output::to_user("`toolkiln` begins a conversation in the project of this directory.");
    Ok(ExitCode::SUCCESS)
}

/// Whether the user can be asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asks {
    TheUser,
    Nothing,
}

/// Sends a request to the model. Answers a line for the user.
async fn tested(
    environment: &Environment,
    config: &Config,
    selection: &Selection,
) -> anyhow::Result<String> {
    if let Some(variable) = &selection.key_env
        && key_in(variable).is_none()
    {
        bail!("{variable} is not set. {}", selection.key_advice());
    }
    let chosen = chosen(config, environment, &ModelSelection::default()).await;
    let chosen = chosen.map_err(|error| match error.downcast_ref() {
        Some(ChoiceError::NoKey { .. }) => anyhow!("{error}. {}", selection.key_advice()),
        _ => error,
    })?;
    if chosen.model.name == OFFLINE {
        return Ok("The built-in guide needs no connection.".to_owned());
    }
    let (provider, name) = (chosen.model.provider.name().to_owned(), chosen.model.name.clone());
    output::to_user(&format!("Testing {name} by {provider} …"));
    let took = connection::test(&chosen.model).await?;
    Ok(format!("{name} answers, after {:.1} s.", took.as_secs_f32()))
}

/// Lets the user choose among what is found.
async fn offered(
    environment: &Environment,
    takes_first: bool,
    asks: Asks,
) -> anyhow::Result<Selection> {
    let config = Config::of_user(environment, &Default::default())?;
    let keys = Keys::load(environment, &config)?;
    let findings = SetupFindings::gather(environment, &config, &keys).await;
    output::to_user(&findings.shown());
    let offers = findings.offers();
    if takes_first {
        let first = offers.into_iter().next().context(offers::HOW_TO_GET_ONE)?;
        return Ok(Selection { model: first.models.into_iter().next(), ..first.selection });
    }
    if asks == Asks::Nothing {
        bail!(
            "the user cannot be asked here. Choose with --provider and --model, or take the first with --yes"
        );
    }
    let count = offers.len() + 2;
    let default = if offers.is_empty() { "" } else { " [1]" };
    let number = loop {
        let answer = asked(&format!("Which one?{default} "))?;
        match answer.parse::<usize>() {
            Ok(number) if (1..=count).contains(&number) => break number,
            _ if answer.is_empty() && !offers.is_empty() => break 1,
            _ => output::to_user(&format!("A number from 1 to {count}, please.")),
        }
    };
    match offers.into_iter().nth(number - 1) {
        Some(ModelOffer { selection, models }) if models.is_empty() => {
            let default = selection.default_model().unwrap_or_default();
            let name = asked(&format!("Which model? [{default}] "))?;
            Ok(Selection { model: Some(name).filter(|name| !name.is_empty()), ..selection })
        }
        Some(ModelOffer { selection, models }) => {
            Ok(Selection { model: Some(model_of(&models)?), ..selection })
        }
        None if number < count => another_server().await,
        None => Ok(Selection { provider: Some(OFFLINE.to_owned()), ..Selection::default() }),
    }
}

/// Completes a choice whose model is not named and cannot be known.
async fn with_model(
    given: Selection,
    environment: &Environment,
    takes_first: bool,
    asks: Asks,
) -> anyhow::Result<Selection> {
    let url = given.address(environment).context("which provider? Name it with --provider")?;
    let models = offers::models_at(&url).await;
    let models = models.with_context(|| {
        format!(
            "no server lists its models at {}. Is it running? Name a model with --model",
            one_line(&url)
        )
    })?;
    let model = match (models.as_slice(), asks) {
        ([], _) => bail!("the server at {} has no model yet", one_line(&url)),
        ([only], _) => only.clone(),
        ([first, ..], _) if takes_first => first.clone(),
        (models, Asks::TheUser) => model_of(models)?,
        (models, Asks::Nothing) => {
            bail!("which model? Name one with --model: {}", offers::some_of(models))
        }
    };
    Ok(Selection { model: Some(model), ..given })
}

/// Asks for one of these models.
fn model_of(models: &[String]) -> anyhow::Result<String> {
    if let [only] = models {
        return Ok(only.clone());
    }
    for (number, model) in (1..).zip(models.iter().take(LISTED_MODELS)) {
        output::to_user(&format!("  {number}) {}", one_line(model)));
    }
    loop {
        let answer = asked("Which model? A number or a name [1] ")?;
        let number = if answer.is_empty() { Ok(1) } else { answer.parse::<usize>() };
        match number.map(|number| models.get(number.wrapping_sub(1))) {
            Ok(Some(model)) => return Ok(model.clone()),
            Ok(None) => output::to_user("There is no model with this number."),
            Err(_) => return Ok(answer),
        }
    }
}

/// Asks for a server that is known by its address alone.
async fn another_server() -> anyhow::Result<Selection> {
    let url = loop {
        let url = asked("Its address, such as http://localhost:8080/v1: ")?;
        if url.starts_with("http://") || url.starts_with("https://") {
            break url;
        }
        output::to_user("An address begins with http:// or https://.");
    };
    let model = match offers::models_at(&url).await {
        Some(models) if !models.is_empty() => model_of(&models)?,
        _ => asked("The model, as the server calls it: ")?,
    };
    let key_env = asked("The variable that holds its key, or nothing if it wants none: ")?;
    Ok(Selection {
        provider: None,
        model: Some(model),
        base_url: Some(url),
        key_env: Some(key_env).filter(|name| !name.is_empty()),
    })
}

/// What the user answers to a question.
fn asked(text: &str) -> anyhow::Result<String> {
    let (withdrawn, _open) = question::withdrawable()?;
    question::prompt(text, &withdrawn).context("nothing was chosen, and nothing was written")
}

fn confirmed(text: &str) -> anyhow::Result<bool> {
    let answer = asked(&format!("{text} [y/N] "))?;
    Ok(["y", "yes"].contains(&answer.to_lowercase().as_str()))
}

/// Names what in the file may have been meant for another model.
fn warn_of_other_settings(config: &Config) {
    let about_model = config.layers.settings().iter().filter(|setting| {
        selection::ABOUT_ONE_MODEL.iter().any(|prefix| setting.key.starts_with(prefix))
            && setting.sources().any(|source| matches!(source, ConfigSource::UserFile { .. }))
    });
    let names: Vec<&str> = about_model.map(|setting| setting.key.as_str()).collect();
    if !names.is_empty() {
        let names = names.join(", ");
        output::to_user(&format!("The file also sets {names}. Check that this fits the model."));
    }
}
