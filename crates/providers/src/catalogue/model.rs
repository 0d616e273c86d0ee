//! What is known about models.

use context_manager::Prices;
use protocol::ImageTokens;

use crate::Api;

/// The day on which this table was made. Prices and limits change; configuration overrides them.
pub const CATALOGUE_DATE: &str = "2026-11-15";

/// What is known about a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelInfo {
    /// The most tokens it can see, its answer included.
    pub context_tokens: u64,
    /// The most tokens of one answer.
    pub max_output: u32,
    /// What a million tokens cost, where it is known.
    pub prices: Option<Prices>,
    /// Its wire format, where only one is known.
    pub api: Option<Api>,
    /// Whether it can be told how hard to think.
    pub effort: bool,
    /// What an image takes, if it can see images.
    pub images: Option<ImageTokens>,
    /// Whether it knows its provider's own way to find tools that are not listed.
    pub finds_tools: bool,
    /// Whether it was found in the table; if not, all of this is a careful guess.
    pub known: bool,
}

impl ModelInfo {
    /// What an image takes, if the model sees images: as the user says, or as is known.
    pub fn images_if(&self, wanted: Option<bool>) -> Option<ImageTokens> {
        match wanted {
            None => self.images,
            Some(sees) => sees.then(|| self.images.unwrap_or(SOME_IMAGES)),
        }
    }
}

/// For an unknown model: small enough for most that run on one's own machine.
const UNKNOWN: ModelInfo = ModelInfo {
    context_tokens: 32_768,
    max_output: 4_096,
    prices: None,
    api: None,
    effort: false,
    images: None,
    finds_tools: false,
    known: false,
};

/// Parts of the names of models that see images, among those that are not in the table.
const SEEING: [&str; 13] = [
    "gemini",
    "gemma3",
    "gemma-3",
    "gemma4",
    "gemma-4",
    "llava",
    "llama4",
    "llama-4",
    "minicpm-v",
    "moondream",
    "pixtral",
    "vision",
    "-vl",
];

/// Images in Claude until Opus 4.6.
const CLAUDE_IMAGES: ImageTokens =
    ImageTokens::Patches { side: 28, longest: 1568, most: 1568, per_hundred: 100 };
/// Images in Claude from Opus 4.7 on.
const CLAUDE_SHARP_IMAGES: ImageTokens =
    ImageTokens::Patches { side: 28, longest: 2576, most: 4784, per_hundred: 100 };
/// Images in OpenAI's large models.
const GPT_IMAGES: ImageTokens = ImageTokens::Tiles { base: 85, tile: 170 };
/// Images in OpenAI's small models, the dearest of them.
const GPT_SMALL_IMAGES: ImageTokens =
    ImageTokens::Patches { side: 32, longest: 2048, most: 1536, per_hundred: 246 };
/// Images of a model about which no more is known than that it sees them.
const SOME_IMAGES: ImageTokens = CLAUDE_IMAGES;

/// How a family of models begins, and what they have in common. The longest beginning counts.
struct Family {
    prefix: &'static str,
    api: Api,
    /// In thousands of tokens.
    context: u64,
    /// In thousands of tokens.
    output: u32,
    /// Input and output, if it is sure.
    price: Option<(f64, f64)>,
    /// What reading from the cache costs, as a part of the price of input.
    cache_read: f64,
    effort: bool,
    images: Option<ImageTokens>,
    finds_tools: bool,
}

const fn claude(
    prefix: &'static str,
    (context, output): (u64, u32),
    price: Option<(f64, f64)>,
    effort: bool,
) -> Family {
    Family {
        prefix,
        api: Api::Anthropic,
        context,
        output,
        price,
        cache_read: 0.1,
        effort,
        images: Some(CLAUDE_IMAGES),
        finds_tools: true,
    }
}

const fn gpt(
    prefix: &'static str,
    (context, output): (u64, u32),
    price: Option<(f64, f64)>,
    effort: bool,
) -> Family {
    Family {
        prefix,
        api: Api::OpenAiResponses,
        context,
        output,
        price,
        cache_read: 0.1,
        effort,
        images: Some(GPT_IMAGES),
        finds_tools: false,
    }
}

/// The first models that cached paid a quarter for what was cached.
const fn early(family: Family) -> Family {
    Family { cache_read: 0.25, ..family }
}

/// Newer models see images with more pixels.
const fn sharp(family: Family) -> Family {
    Family { images: Some(CLAUDE_SHARP_IMAGES), ..family }
}

/// Small models count images in another way.
const fn small(family: Family) -> Family {
    Family { images: Some(GPT_SMALL_IMAGES), ..family }
}

/// Models that know their provider's search for tools.
const fn finding(family: Family) -> Family {
    Family { finds_tools: true, ..family }
}

/// Models before that search.
const fn listed(family: Family) -> Family {
    Family { finds_tools: false, ..family }
}

const fn blind(family: Family) -> Family {
    Family { images: None, ..family }
}

/// A size that is not sure is the smallest of its line.
const FAMILIES: [Family; 30] = [
    listed(claude("claude-", (200, 64), None, false)),
    sharp(claude("claude-fable-5", (1000, 128), None, true)),
    sharp(claude("claude-fable-5-1", (1000, 128), Some((10.0, 50.0)), true)),
    sharp(claude("claude-mythos-5", (1000, 128), None, true)),
    sharp(claude("claude-opus-5", (1000, 128), None, true)),
    sharp(claude("claude-opus-5-5", (1000, 128), Some((4.0, 20.0)), true)),
    sharp(claude("claude-sonnet-5", (1000, 128), None, true)),
    sharp(claude("claude-sonnet-5-5", (1000, 128), Some((2.0, 10.0)), true)),
    sharp(claude("claude-haiku-5-5", (1000, 128), Some((0.1, 0.5)), true)),
    claude("claude-opus-4-6", (200, 64), Some((5.0, 25.0)), true),
    sharp(claude("claude-opus-4-7", (200, 64), None, true)),
    sharp(claude("claude-opus-4-8", (200, 64), None, true)),
    claude("claude-sonnet-4-6", (200, 64), Some((3.0, 15.0)), true),
    claude("claude-sonnet-4-5", (200, 64), Some((3.0, 15.0)), false),
    claude("claude-opus-4-5", (200, 64), Some((5.0, 25.0)), false),
    claude("claude-haiku-4-5", (200, 64), Some((1.0, 5.0)), false),
    gpt("gpt-", (128, 16), None, false),
    blind(gpt("gpt-3.5", (16, 4), None, false)),
    blind(gpt("gpt-oss", (128, 16), None, false)),
    early(gpt("gpt-4.1", (1000, 32), Some((2.0, 8.0)), false)),
    small(early(gpt("gpt-4.1-mini", (1000, 32), Some((0.4, 1.6)), false))),
    gpt("gpt-5", (400, 128), None, true),
    small(gpt("gpt-5-mini", (400, 128), Some((0.25, 2.0)), true)),
    small(gpt("gpt-5-nano", (400, 128), Some((0.05, 0.4)), true)),
    finding(gpt("gpt-5.4", (400, 128), None, true)),
    finding(gpt("gpt-5.5", (400, 128), None, true)),
    finding(gpt("gpt-6", (400, 128), None, true)),
    early(gpt("o3", (200, 100), Some((2.0, 8.0)), true)),
    blind(gpt("o3-mini", (200, 100), None, true)),
    small(early(gpt("o4-mini", (200, 100), Some((1.1, 4.4)), true))),
];

/// The models of a wire format that are known by name, in the order of the table.
pub fn known_models(api: Api) -> impl Iterator<Item = &'static str> {
    // OpenAI's models are the same behind both of its formats.
    let is_same = move |own: Api| (own == Api::Anthropic) == (api == Api::Anthropic);
    let names = FAMILIES.iter().filter(move |family| is_same(family.api));
    // What ends in a dash is only the beginning of names.
    names.map(|family| family.prefix).filter(|name| !name.ends_with('-'))
}

/// What is known about a model, by its name. A maker's name before it, as OpenRouter has it, does
/// not matter.
pub fn model_info(name: &str) -> ModelInfo {
    let bare = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    let routed = bare.len() < name.len();
    let candidates = FAMILIES.iter().filter(|family| bare.starts_with(family.prefix));
    let Some(family) = candidates.max_by_key(|family| family.prefix.len()) else {
        let sees = SEEING.iter().any(|part| bare.contains(part));
        return ModelInfo { images: sees.then_some(SOME_IMAGES), ..UNKNOWN };
    };
    ModelInfo {
        context_tokens: family.context * 1000,
        max_output: family.output * 1000,
        prices: prices(family),
        api: (!routed).then_some(family.api),
        effort: family.effort,
        images: family.images,
        finds_tools: family.finds_tools,
        known: true,
    }
}

/// Anthropic asks a quarter more for what goes into its cache, OpenAI nothing.
fn prices(family: &Family) -> Option<Prices> {
    let (input, output) = family.price?;
    let cache_write = if family.api == Api::Anthropic { input * 1.25 } else { input };
    Some(Prices { input, output, cache_read: input * family.cache_read, cache_write })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_beginning_counts() {
        let shown = |name: &str| {
            let info = model_info(name);
            let price = info.prices.map(|prices| (prices.input, prices.output));
            (info.context_tokens, info.max_output, price, info.effort)
        };
        assert_eq!(shown("claude-opus-5-5"), (1_000_000, 128_000, Some((4.0, 20.0)), true));
        assert_eq!(shown("claude-opus-5-20260101"), (1_000_000, 128_000, None, true));
        assert_eq!(shown("claude-haiku-4-5-20251001"), (200_000, 64_000, Some((1.0, 5.0)), false));
        assert_eq!(shown("Claude-3-old"), (200_000, 64_000, None, false));
        assert_eq!(shown("gpt-5.5"), (400_000, 128_000, None, true));
        assert_eq!(shown("qwen3:8b"), (32_768, 4_096, None, false));
    }

    #[test]
    fn a_routed_model_is_known_but_not_its_way_to_talk() {
        let direct = model_info("claude-sonnet-4-6");
        let routed = model_info("anthropic/claude-sonnet-4-6");
        assert_eq!(direct.api, Some(Api::Anthropic));
        assert_eq!(routed, ModelInfo { api: None, ..direct });
    }

    /// Examples from the providers' own pages.
    #[test]
    fn tokens_of_images_by_the_rules_of_the_providers() {
        let table = [
            (CLAUDE_IMAGES, (200, 200), 64),
            (CLAUDE_IMAGES, (1000, 1000), 1296),
            (CLAUDE_IMAGES, (4000, 3000), 1568),
            (CLAUDE_SHARP_IMAGES, (1000, 1000), 1296),
            (CLAUDE_SHARP_IMAGES, (4000, 3000), 4784),
            (GPT_IMAGES, (512, 512), 255),
            (GPT_IMAGES, (1024, 1024), 765),
            (GPT_IMAGES, (2048, 4096), 1105),
            (GPT_SMALL_IMAGES, (1024, 1024), 2520),
            (GPT_SMALL_IMAGES, (5000, 5000), 3779),
        ];
        for (rule, (width, height), tokens) in table {
            assert_eq!(rule.count(width, height), tokens, "{rule:?} {width}x{height}");
        }
    }

    #[test]
    fn which_models_see_images() {
        let table = [
            ("claude-sonnet-4-6", Some(CLAUDE_IMAGES)),
            ("anthropic/claude-opus-5-5", Some(CLAUDE_SHARP_IMAGES)),
            ("gpt-4.1", Some(GPT_IMAGES)),
            ("gpt-5-mini", Some(GPT_SMALL_IMAGES)),
            ("o3", Some(GPT_IMAGES)),
            ("o3-mini", None),
            ("openai/gpt-oss-20b", None),
            ("qwen3:8b", None),
            ("qwen3-vl:8b", Some(SOME_IMAGES)),
            ("google/gemini-3-pro", Some(SOME_IMAGES)),
            ("llama3.2-vision", Some(SOME_IMAGES)),
        ];
        for (name, images) in table {
            assert_eq!(model_info(name).images, images, "{name}");
            assert_eq!(model_info(name).images_if(None), images, "{name}");
            assert_eq!(model_info(name).images_if(Some(false)), None, "{name}");
            let forced = model_info(name).images_if(Some(true));
            assert_eq!(forced, images.or(Some(SOME_IMAGES)), "{name}");
        }
    }

    #[test]
    fn the_cache_has_prices_of_its_own() {
        let prices = model_info("claude-sonnet-5-5").prices.expect("a known price");
        assert_eq!((prices.cache_read, prices.cache_write), (0.2, 2.5));
        let prices = model_info("o3").prices.expect("a known price");
        assert_eq!((prices.cache_read, prices.cache_write), (0.5, 2.0));
    }
}
