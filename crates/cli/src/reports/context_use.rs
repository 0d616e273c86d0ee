//! `/context`: what fills the window of the model.

use context_manager::ToolSpec;
use protocol::{Content, Message, estimate_tokens};
use session::{Session, tool_spec};
use timeline::count;

use super::bars::bar;
use super::text_table::table;

/// Columns of the longest bar.
const BAR_WIDTH: usize = 24;

/// Estimated tokens of the next request by what they are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ContextUse {
    pub(crate) system_prompt: u64,
    pub(crate) tools: u64,
    pub(crate) instructions: u64,
    pub(crate) messages: u64,
    pub(crate) tool_results: u64,
    pub(crate) images: u64,
}

impl ContextUse {
    pub(crate) fn of(session: &Session) -> Self {
        let parts = session.parts();
        let options = session.options();
        let files = parts.prompts.instruction_files();
        let texts = files.filter_map(|file| file.content.as_ref().ok());
        let mut used = Self {
            instructions: texts.map(|content| tokens(&content.text)).sum::<u64>()
                + parts.prompts.instructions.as_deref().map_or(0, tokens),
            ..Self::default()
        };
        used.system_prompt = tokens(&options.system).saturating_sub(used.instructions);
        if options.offers_tools {
            let deferral = parts.model.provider.deferral(&options.model);
            let specs = session.executor().useful().into_iter().map(|tool| tool_spec(&tool));
            let listed = session.context().listed_of(&specs.collect(), deferral);
            used.tools = listed.iter().map(tokens_of_tool).sum();
        }
        let image_tokens =
            |width, height| options.images.map_or(0, |images| images.count(width, height));
        for message in session.context().messages() {
            used.add(&message, &image_tokens);
        }
        used
    }

    fn add(&mut self, message: &Message, image_tokens: &dyn Fn(u32, u32) -> u64) {
        for content in &message.content {
            match content {
                Content::Text { text } | Content::Attached { text, .. } => {
                    self.messages += tokens(&text.to_string());
                }
                Content::Image(image) => self.images += image_tokens(image.width, image.height),
                Content::ToolUse(call) => {
                    let arguments = serde_json::to_string(&call.arguments).unwrap_or_default();
                    self.messages += tokens(&call.name) + tokens(&arguments);
                }
                Content::ToolResult { result, images, .. } => {
                    self.tool_results += match result {
                        Ok(value) => {
                            value.as_str().map_or_else(|| tokens(&value.to_string()), tokens)
                        }
                        Err(error) => tokens(&error.full_message()),
                    };
                    let seen = images.iter().map(|image| image_tokens(image.width, image.height));
                    self.images += seen.sum::<u64>();
                }
                Content::Opaque { block, .. } => self.messages += tokens(&block.to_string()),
            }
        }
    }

    fn sum(&self) -> u64 {
        let Self { system_prompt, tools, instructions, messages, tool_results, images } = self;
        system_prompt + tools + instructions + messages + tool_results + images
    }

    /// A row with a bar for each part. Shares are those of the `window`, or of the sum if that is not
    /// known.
    pub(crate) fn text(&self, window: Option<u64>, width: Option<usize>) -> String {
        let (sum, whole) = (self.sum(), window.unwrap_or(self.sum()));
        let parts = [
            ("system prompt", self.system_prompt),
            ("tools", self.tools),
            ("instructions", self.instructions),
            ("messages", self.messages),
            ("tool results", self.tool_results),
            ("images", self.images),
        ];
        let longest = parts.iter().map(|(_, tokens)| *tokens).max().unwrap_or(0);
        let row = |name: &str, tokens: u64, bar: String| {
            [name.to_owned(), count(tokens), percent(tokens, whole), bar]
        };
        let mut rows: Vec<[String; 4]> = parts
            .iter()
            .map(|(name, tokens)| row(name, *tokens, bar(*tokens, longest, BAR_WIDTH)))
            .collect();
        rows.push(row("in all", sum, bar(0, 0, 0)));
        if let Some(window) = window {
            rows.push(row("free", window.saturating_sub(sum), String::new()));
        }
        let head = ["", "tokens", "share", ""];
        let table = table(head, rows, &[3], width);
        match window {
            Some(window) => format!("{table}Estimated; the model sees {} tokens.\n", count(window)),
            None => format!("{table}Estimated; there is no window to fill.\n"),
        }
    }
}

fn tokens(text: &str) -> u64 {
    estimate_tokens(text) as u64
}

fn tokens_of_tool(tool: &ToolSpec) -> u64 {
    tokens(&tool.name) + tokens(&tool.description) + tokens(&tool.parameters.to_string())
}

fn percent(part: u64, whole: u64) -> String {
    match whole {
        0 => String::new(),
        _ => format!("{:.1} %", part as f64 * 100.0 / whole as f64),
    }
}

#[cfg(test)]
mod tests {
    use protocol::{Image, ImageFormat, Speaker, ToolCall};
    use serde_json::{Map, Value};

    use super::*;

    #[test]
    fn each_part_of_a_message_is_counted_once() {
        let image = || Image::new("a.png", ImageFormat::Png, (2, 3), b"png");
        let call = ToolCall::new("1", "grep", Map::new());
        let result = Content::ToolResult {
            tool_use_id: "1".into(),
            result: Ok(Value::from("eight by")),
            images: vec![image()],
            found_tools: Vec::new(),
        };
        let content = vec![
            Content::Text { text: "abcd".into() },
            Content::Image(image()),
            Content::ToolUse(call),
            result,
        ];
        let mut used = ContextUse::default();
        used.add(&Message { role: Speaker::User, content }, &|width, height| {
            u64::from(width * height)
        });
        let expected =
            ContextUse { messages: 3, tool_results: 2, images: 12, ..ContextUse::default() };
        assert_eq!(used, expected);
    }

    #[test]
    fn the_table_has_numbers_shares_and_bars() {
        let used = ContextUse {
            system_prompt: 1_000,
            tools: 4_000,
            instructions: 0,
            messages: 500,
            tool_results: 8_000,
            images: 1_500,
        };
        insta::assert_snapshot!(used.text(Some(200_000), Some(60)), @"
                       tokens   share
        system prompt    1.0k   0.5 %  ███
        tools            4.0k   2.0 %  ████████████
        instructions        0   0.0 %
        messages          500   0.2 %  █▌
        tool results     8.0k   4.0 %  ████████████████████████
        images           1.5k   0.8 %  ████▌
        in all          15.0k   7.5 %
        free           185.0k  92.5 %
        Estimated; the model sees 200.0k tokens.
        ");
        assert!(used.text(None, None).ends_with("there is no window to fill.\n"));
    }
}
