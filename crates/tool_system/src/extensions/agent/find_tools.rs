//! `find_tools`: tools that are not listed in every request.

use tool_system::prelude::*;

/// Other modules name the tool by this.
pub const NAME: &str = "find_tools";

/// Matches beyond these are rather a question that is too wide. Tools that are named are all wanted.
const MAX_FOUND: usize = 6;
/// A word in a name tells more than one in a description.
const IN_NAME: usize = 3;

/// Get tools that are not listed, by name or by what they do.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FindToolsArgs {
    /// Names, or words such as "commit" or "delete a file"
    query: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FindToolsOutput {
    tools: Vec<FoundTool>,
    /// All that can be found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    others: Vec<&'static str>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FoundTool {
    name: &'static str,
    description: String,
    parameters: Value,
}

#[derive(Debug)]
struct FindToolsTool;

#[async_trait]
impl Tool for FindToolsTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<FindToolsArgs, FindToolsOutput>(NAME, Category::Agent)
            .finds_tools()
            .termination("Use terminate=false: the tools are there to be called.")
            .prompt("By name: {\"query\": \"git_commit\"}. By what it does: {\"query\": \"delete a file\"}.")
            .example(json!({"query": "git_commit"}))
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let FindToolsArgs { query } = args.parse()?;
        let mut all = cx.agent_host()?.tools_on_demand();
        all.retain(|tool| tool.tool.is_useful(cx.workspace()));
        let described = |tool: &ListedTool| (tool.name(), tool.description().to_owned());
        let texts: Vec<_> = all.iter().map(|tool| described(tool)).collect();
        let found = ranked(&query, texts.iter().map(|(name, text)| (*name, text.as_str())));
        let tools: Vec<FoundTool> = found
            .iter()
            .map(|&at| FoundTool {
                name: all[at].name(),
                description: all[at].description().to_owned(),
                parameters: all[at].schema_for_models(),
            })
            .collect();
        let others = match tools.is_empty() {
            // Servers have many tools with long names.
            true => {
                let own =
                    all.iter().filter(|tool| tool.definition().category != Category::External);
                own.map(|tool| tool.name()).collect()
            }
            false => Vec::new(),
        };
        cx.reveal(tools.iter().map(|tool| tool.name.to_owned()));
        Outcome::answer(FindToolsOutput { tools, others })
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        Some(format!("Look for tools: {}", args.as_map().get("query")?.as_str()?))
    }

    fn summary(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        let names = names(result, "tools")?;
        Some(match names.as_slice() {
            [] => "Found no tools".to_owned(),
            names => format!("Found {}", names.join(", ")),
        })
    }

    /// What the model can do with them comes with the next request, by the provider's own means.
    fn text(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        let found = names(result, "tools")?;
        if found.is_empty() {
            let others = result["others"].as_array()?.iter().filter_map(Value::as_str);
            let others: Vec<&str> = others.collect();
            return Some(format!("Nothing found. There are: {}", others.join(", ")));
        }
        Some(format!("You can call: {}", found.join(", ")))
    }
}

fn names<'a>(result: &'a Value, key: &str) -> Option<Vec<&'a str>> {
    let tools = result[key].as_array()?.iter();
    Some(tools.filter_map(|tool| tool["name"].as_str()).collect())
}

/// The places of the tools that fit best: all that are named, or else those with most of the words.
fn ranked<'a>(query: &str, tools: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<usize> {
    let query = query.to_lowercase();
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let words: Vec<&str> = query.split(|c| !is_letter(c)).filter(|word| word.len() > 1).collect();
    let mut scored: Vec<(usize, usize)> = tools
        .enumerate()
        .map(|(at, (name, description))| {
            let (name, description) = (name.to_lowercase(), description.to_lowercase());
            let score = |word: &&str| match () {
                () if name == *word => IN_NAME * words.len().max(1) + IN_NAME,
                () if name.split('_').any(|part| part == *word) => IN_NAME,
                () => usize::from(description.split(|c| !is_letter(c)).any(|it| it == *word)),
            };
            (words.iter().map(score).sum(), at)
        })
        .filter(|(score, _)| *score > 0)
        .collect();
    let is_named = IN_NAME * words.len().max(1) + IN_NAME;
    let named = scored.iter().filter(|(score, _)| *score >= is_named).count();
    if named > 0 {
        scored.retain(|(score, _)| *score >= is_named);
    }
    scored.sort_by_key(|&(score, at)| (usize::MAX - score, at));
    scored.into_iter().take(named.max(MAX_FOUND)).map(|(_, at)| at).collect()
}

auto_register_tool!(FindToolsTool);

#[cfg(test)]
mod tests {
    use super::ranked;

    #[test]
    fn names_come_before_words_in_names_and_those_before_descriptions() {
        let tools = [
            ("git_commit", "Commit changes."),
            ("git_push", "Push commits to a remote."),
            ("undo", "Take changes back."),
            ("delete_file", "Delete a file or directory."),
            ("move_file", "Move or rename a file."),
        ];
        let found = |query: &str| -> Vec<&str> {
            ranked(query, tools.into_iter()).into_iter().map(|at| tools[at].0).collect()
        };
        assert_eq!(found("undo"), ["undo"]);
        assert_eq!(found("git_push, undo"), ["git_push", "undo"]);
        assert_eq!(found("commit changes"), ["git_commit", "undo"]);
        assert_eq!(found("delete a file"), ["delete_file", "move_file"]);
        assert_eq!(found("rename"), ["move_file"]);
        assert_eq!(found("git"), ["git_commit", "git_push"]);
        assert!(found("weather?").is_empty() && found("").is_empty());
    }

    #[test]
    fn all_that_are_named_are_found_and_of_others_the_best() {
        let names: Vec<String> = (0..10).map(|at| format!("checkLinks{at}")).collect();
        let tools = || names.iter().map(|name| (name.as_str(), "Check something."));
        assert_eq!(ranked(&names.join(" "), tools()).len(), names.len());
        assert_eq!(ranked("CHECKLINKS3", tools()), [3]);
        assert_eq!(ranked("check", tools()).len(), super::MAX_FOUND);
    }
}
