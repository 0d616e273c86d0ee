//! `/model` without a name: what the provider offers.

use std::time::Duration;

use providers::catalogue::{CATALOGUE_DATE, endpoint, known_models};
use providers::{HttpConfig, NoModelList, offered_models};

use crate::chat::safe_text::one_line;
use crate::model_choice::Chosen;

/// How long the provider may take to list its models.
const PATIENCE: Duration = Duration::from_secs(4);
/// Models that are listed; some services have hundreds.
const LISTED: usize = 60;

/// What a provider offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ModelOffers {
    /// What is listed, and where it comes from.
    pub(crate) heading: String,
    pub(crate) models: Vec<String>,
    pub(crate) present: String,
    /// How to change the model.
    advice: &'static str,
}

const ADVICE: &str =
    "/model NAME changes the model, /model PROVIDER or PROVIDER:NAME the provider.";

/// What the provider of the present model offers. If it cannot be asked, what is known of it.
pub(crate) async fn model_offers(chosen: &Chosen) -> ModelOffers {
    let present = &chosen.model.name;
    let Some(http) = &chosen.reached else {
        return ModelOffers {
            heading: "The built-in guide answers:".to_owned(),
            models: vec![present.clone()],
            present: present.clone(),
            advice: "No model is set up; `toolkiln setup` finds and tests one.",
        };
    };
    offers(http, present, offered_models(http, PATIENCE).await)
}

/// The models that are known without asking anyone, the present one first.
pub(crate) fn known_offers(chosen: &Chosen) -> Vec<String> {
    let present = &chosen.model.name;
    let mut models = match &chosen.reached {
        Some(http) => offers(http, present, Err(NoModelList::NoList(http.name.clone()))).models,
        None => vec![present.clone()],
    };
    models.sort_by_key(|model| model != present);
    models
}

fn offers(
    http: &HttpConfig,
    present: &str,
    offered: Result<Vec<String>, NoModelList>,
) -> ModelOffers {
    let provider = &http.name;
    let (heading, mut models) = match offered {
        Ok(models) => (format!("Models of {provider}:"), models),
        Err(why) => {
            // Other services have whatever they were given.
            let is_own = endpoint(provider).is_some_and(|known| {
                known.needs_key && known.base_url == http.base_url && *provider != "openrouter"
            });
            let known = known_models(http.api).filter(|_| is_own).map(str::to_owned);
            let known: Vec<String> = known.collect();
            let rest = match known.is_empty() {
                true => "only the present one is known:".to_owned(),
                false => format!("these were known on {CATALOGUE_DATE}:"),
            };
            (format!("The models of {provider} cannot be listed ({why}); {rest}"), known)
        }
    };
    if !models.iter().any(|model| model == present) {
        models.insert(0, present.to_owned());
    }
    ModelOffers { heading, models, present: present.to_owned(), advice: ADVICE }
}

impl ModelOffers {
    /// As lines, with a mark at the present one.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{}\n", self.heading);
        // The present one is shown wherever it stands.
        let is_shown =
            |(place, model): &(usize, &String)| *place < LISTED || **model == self.present;
        for (_, model) in self.models.iter().enumerate().filter(is_shown) {
            let mark = if *model == self.present { "*" } else { " " };
            text.push_str(&format!("{mark} {}\n", one_line(model)));
        }
        if let Some(more) = self.models.len().checked_sub(LISTED).filter(|more| *more > 0) {
            text.push_str(&format!("  … and {more} more\n"));
        }
        format!("{text}{}\n", self.advice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(provider: &str) -> HttpConfig {
        endpoint(provider).unwrap().config(None, None)
    }

    /// Without the advice, which is always the same.
    fn shown(
        http: &HttpConfig,
        present: &str,
        offered: Result<Vec<String>, NoModelList>,
    ) -> String {
        let text = offers(http, present, offered).text();
        text.strip_suffix(&format!("{ADVICE}\n")).unwrap().to_owned()
    }

    #[test]
    fn the_present_model_is_marked_wherever_it_stands() {
        let models = |names: &[&str]| Ok(names.iter().map(|name| (*name).to_owned()).collect());
        let told = shown(&config("ollama"), "b", models(&["a", "b"]));
        assert_eq!(told, "Models of ollama:\n  a\n* b\n");
        let told = shown(&config("ollama"), "mine", models(&["a"]));
        assert_eq!(told, "Models of ollama:\n* mine\n  a\n");
        let many: Vec<String> = (0..LISTED + 5).map(|number| format!("m{number}")).collect();
        let told = shown(&config("openrouter"), "m64", Ok(many));
        assert!(told.ends_with("  m59\n* m64\n  … and 5 more\n"), "{told}");
    }

    #[test]
    fn a_provider_that_does_not_answer_is_said_to_be_so() {
        let silent = || Err(NoModelList::NoAnswer("cannot connect".into()));
        let told = shown(&config("ollama"), "qwen", silent());
        assert_eq!(
            told,
            "The models of ollama cannot be listed (cannot connect); only the present one is known:\n* qwen\n"
        );
        let told = shown(&config("anthropic"), "claude-sonnet-5-5", silent());
        assert!(
            told.contains("these were known on") && told.contains("\n* claude-sonnet-5-5\n"),
            "{told}"
        );
        assert!(!told.contains("gpt") && !told.contains("claude-\n"), "{told}");
    }
}
