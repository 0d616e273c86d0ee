//! Which tools there are, under which names, for which role.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use protocol::{AgentRole, ErrorCode, ToolError, ToolPermission};
use serde_json::{Map, Value};

use crate::rendering::{self, TERMINATE, for_models, without_checks};
use crate::validator::closest;
use crate::{
    Category, Face, Tool, ToolArguments, ToolDefinition, ToolValidator, Vocabulary, extensions,
};

/// All tools of a session.
#[derive(Clone)]
pub struct ToolRegistry {
    tools: Vec<Arc<ListedTool>>,
    by_name: HashMap<&'static str, Vec<usize>>,
    disabled: BTreeSet<String>,
    untrusted: BTreeMap<String, String>,
}

/// A tool under one of its names.
pub struct ListedTool {
    pub(crate) tool: Arc<dyn Tool>,
    definition: Arc<ToolDefinition>,
    pub(crate) face: Face,
    schema: OnceLock<Value>,
    validator: OnceLock<Result<ToolValidator, ToolError>>,
}

impl ToolRegistry {
    /// The tools that come with Toolkiln.
    pub fn builtin() -> Self {
        let mut registry = Self::empty();
        for constructor in extensions::REGISTERED {
            registry.register(constructor());
        }
        registry
    }

    /// No tools.
    pub fn empty() -> Self {
        Self {
            tools: Vec::new(),
            by_name: HashMap::new(),
            disabled: BTreeSet::new(),
            untrusted: BTreeMap::new(),
        }
    }

    /// Adds a tool under all its names.
    pub fn register(&mut self, tool: Arc<dyn Tool>) {
        let definition = Arc::new(tool.definition());
        for face in definition.faces.clone() {
            self.by_name.entry(face.name).or_default().push(self.tools.len());
            self.tools.push(Arc::new(ListedTool {
                tool: Arc::clone(&tool),
                definition: Arc::clone(&definition),
                face,
                schema: OnceLock::new(),
                validator: OnceLock::new(),
            }));
        }
    }

    /// Whether a tool has this name in any vocabulary.
    pub fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// A tool that there would be if the user trusted it, and what they would have to do.
    pub fn mention_untrusted(&mut self, name: impl Into<String>, how_to_trust: impl Into<String>) {
        self.untrusted.insert(name.into(), how_to_trust.into());
    }

    /// Switches a tool off, by any of its names. Answers whether there is such a tool.
    pub fn disable(&mut self, name: &str) -> bool {
        let indexes = self.by_name.get(name).into_iter().flatten();
        let names: Vec<_> =
            indexes.map(|index| self.tools[*index].definition.name.to_owned()).collect();
        let known = !names.is_empty();
        self.disabled.extend(names);
        known
    }

    /// Switches all tools of a category off.
    pub fn disable_category(&mut self, category: Category) {
        let tools = self.tools.iter().filter(|tool| tool.definition.category == category);
        self.disabled.extend(tools.map(|tool| tool.definition.name.to_owned()));
    }

    /// The tools of a vocabulary, by category and name.
    pub fn list(&self, vocabulary: Vocabulary) -> Vec<Arc<ListedTool>> {
        let enabled =
            self.tools.iter().filter(|tool| !self.disabled.contains(tool.definition.name));
        let mut tools: Vec<_> =
            enabled.filter(|tool| tool.face.vocabulary == vocabulary).cloned().collect();
        tools.sort_by_key(|tool| (tool.definition.category, tool.face.name));
        tools
    }

    /// The tools of a vocabulary that `role` may use.
    pub fn list_for(&self, vocabulary: Vocabulary, role: &AgentRole) -> Vec<Arc<ListedTool>> {
        let granted = role.permissions();
        let mut tools = self.list(vocabulary);
        tools.retain(|tool| granted.covers(tool.definition.required_permissions));
        tools
    }

    /// The tool called `name`: as `vocabulary` spells it, or else as any other does, with or without
    /// the namespace that some models write before it.
    pub fn get(&self, vocabulary: Vocabulary, name: &str) -> Result<Arc<ListedTool>, ToolError> {
        let is_known = self.by_name.contains_key(name) || self.untrusted.contains_key(name);
        let known = if is_known { name } else { without_namespace(name) };
        let indexes = self.by_name.get(known).into_iter().flatten();
        let candidates = indexes.map(|index| &self.tools[*index]);
        let found = candidates
            .min_by_key(|tool| (tool.face.vocabulary != vocabulary, tool.face.vocabulary));
        match found {
            None => Err(self.unknown(vocabulary, name)),
            Some(tool) if self.disabled.contains(tool.definition.name) => Err(ToolError::new(
                ErrorCode::ToolDisabled,
                format!("the tool {name} is switched off"),
            )
            .suggest("It is disabled in the configuration; use another tool.")),
            Some(tool) => Ok(Arc::clone(tool)),
        }
    }

    fn unknown(&self, vocabulary: Vocabulary, name: &str) -> ToolError {
        if let Some(how_to_trust) = self.untrusted.get(without_namespace(name)) {
            let message = format!("the project defines the tool `{name}`, but it is not trusted");
            return ToolError::new(ErrorCode::ToolDisabled, message).suggest(how_to_trust.clone());
        }
        let listed = self.list(vocabulary);
        let names: Vec<&str> = listed.iter().map(|tool| tool.face.name).collect();
        let error = ToolError::new(ErrorCode::UnknownTool, format!("unknown tool `{name}`"))
            .detail("tools", names.clone());
        match closest(without_namespace(name), names.iter().copied()) {
            Some(near) => error.suggest(format!("Did you mean `{near}`?")),
            None => error.suggest(format!("The tools are: {}.", names.join(", "))),
        }
    }
}

/// What a model means that writes tools as members of a namespace: gpt-oss and Kimi K2 were trained on
/// `functions.read_file`, Gemini on `default_api.read_file`, and Kimi's ids add the number of the call,
/// as in `functions.read_file:0`. A tool of that name is what they were offered.
fn without_namespace(name: &str) -> &str {
    const NAMESPACES: [&str; 2] = ["functions.", "default_api."];
    let Some(bare) = NAMESPACES.iter().find_map(|prefix| name.strip_prefix(prefix)) else {
        return name;
    };
    match bare.rsplit_once(':') {
        Some((tool, number)) if number.parse::<u32>().is_ok() => tool,
        _ => bare,
    }
}

impl ListedTool {
    /// The name in this vocabulary.
    pub fn name(&self) -> &'static str {
        self.face.name
    }

    /// The title in lists for users: the words of the name unless the definition has another.
    pub fn title(&self) -> String {
        self.definition.title.map_or_else(|| in_words(self.face.name), str::to_owned)
    }

    pub fn vocabulary(&self) -> Vocabulary {
        self.face.vocabulary
    }

    /// What the tool does, in this vocabulary's words.
    pub fn description(&self) -> &str {
        self.face.description.unwrap_or_else(|| self.definition.description())
    }

    /// The tool's definition, in its own spelling.
    pub fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    /// Every field of the definition, in this vocabulary.
    pub fn to_json(&self) -> Value {
        rendering::definition(self)
    }

    /// The schema of the arguments in this vocabulary.
    pub fn input_schema(&self) -> &Value {
        self.schema.get_or_init(|| self.face.spell_schema(self.definition.parameters()))
    }

    /// The schema of the arguments as a model in a conversation is told it, with the flag by which it
    /// ends its turn.
    pub fn schema_for_models(&self) -> Value {
        for_models(self.input_schema())
    }

    /// The schema of the arguments without the bounds that a call is checked against anyway.
    pub fn brief_schema(&self) -> Value {
        without_checks(self.input_schema())
    }

    /// The schema of the result in this vocabulary.
    pub fn output_schema(&self) -> Value {
        self.face.spell_output_schema(self.definition.output_schema())
    }

    /// Arguments of a typical call in this vocabulary.
    pub fn example(&self) -> Map<String, Value> {
        let own = self.definition.example.as_object().cloned().unwrap_or_default();
        self.face.spell_arguments(&own)
    }

    /// The validator for this vocabulary's arguments.
    pub fn validator(&self) -> Result<&ToolValidator, ToolError> {
        let compiled = self.validator.get_or_init(|| {
            ToolValidator::new(self.face.name, self.input_schema(), self.example())
        });
        compiled.as_ref().map_err(Clone::clone)
    }

    /// The arguments in the tool's own spelling, if they fit the schema of the face.
    pub(crate) fn validated(
        &self,
        mut arguments: Map<String, Value>,
    ) -> Result<ToolArguments, ToolError> {
        // The flag that ends a turn is for the loop, not for the tool.
        if arguments.get(TERMINATE).is_some_and(Value::is_boolean) {
            arguments.shift_remove(TERMINATE);
        }
        let arguments = self.validator()?.validate(arguments)?;
        Ok(ToolArguments::new(self.face.own_arguments(arguments)))
    }

    /// Whether calls run programs, whose output has a limit of its own. Looking at a repository runs
    /// git, although it is no more than reading.
    pub(crate) fn runs_programs(&self) -> bool {
        self.definition.category == Category::VersionControl
            || self.definition.required_permissions.contains(ToolPermission::ExecuteCommands)
    }
}

/// `read_file` as `Read file`.
fn in_words(name: &str) -> String {
    let words = name.replace('_', " ");
    let mut letters = words.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}
