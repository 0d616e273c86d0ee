//! Everything that is known about a tool without running it.

use std::sync::{Arc, LazyLock};

use protocol::{PermissionSet, ToolPermission};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::{Category, Face, Vocabulary, schema};

/// How a tool gets its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub enum ToolType {
    /// The model writes them, by the tool's schema.
    #[serde(rename = "AIParameterParsing")]
    AiParameterParsing,
}

/// Whether the user has to approve a proposal of the tool before it is performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// The user is not asked.
    Never,
    /// The user is asked every time.
    Always,
    /// The tool decides for each call, from its arguments and what it finds.
    PerCall,
}

/// A tool's name, texts, schemas, needs and faces.
///
/// Texts and schemas are made when first looked at: a process that runs one tool does not pay for
/// describing all of them.
#[derive(Clone)]
pub struct ToolDefinition {
    /// The name in the standard vocabulary.
    pub name: &'static str,
    /// The title in lists for users, where the words of the name do not make a good one.
    pub title: Option<&'static str>,
    /// The group it is shown under.
    pub category: Category,
    /// What the role must grant.
    pub required_permissions: PermissionSet,
    /// Whether the user is asked.
    pub approval: Approval,
    /// How it gets its arguments.
    pub tool_type: ToolType,
    /// When the model should end its turn with this call and when not.
    pub termination_behavior_doc: &'static str,
    /// More guidance for the model, with example arguments.
    pub custom_prompt: Option<&'static str>,
    /// The names and spellings under which it is known, the standard one first.
    pub faces: Vec<Face>,
    /// Whether a path can also be a handle to something that was left out.
    pub reads_handles: bool,
    /// Whether conversations may leave it out of their requests until the model asks for it.
    pub on_demand: bool,
    /// Whether it is the tool by which a model asks for others.
    pub finds_tools: bool,
    pub(crate) example: Value,
    documents: Arc<LazyLock<Documents, MakesDocuments>>,
}

/// Describes a tool at the first use of a text or schema.
type MakesDocuments = Box<dyn FnOnce() -> Documents + Send>;

struct Documents {
    description: String,
    parameters: Value,
    output_schema: Value,
}

impl ToolDefinition {
    /// A read-only tool in the standard vocabulary; the builder methods say what differs.
    pub fn new<Args: JsonSchema, Output: JsonSchema>(
        name: &'static str,
        category: Category,
    ) -> Self {
        Self::with_documents(name, category, || Documents {
            description: schema::description_of::<Args>(),
            parameters: schema::input_schema::<Args>(),
            output_schema: schema::output_schema::<Output>(),
        })
    }

    /// A tool whose texts and schemas come from elsewhere than its types.
    pub fn described(
        name: &'static str,
        category: Category,
        description: String,
        parameters: Value,
        output_schema: Value,
    ) -> Self {
        let parameters = schema::with_properties(parameters);
        let documents = Documents { description, parameters, output_schema };
        Self::with_documents(name, category, || documents)
    }

    fn with_documents(
        name: &'static str,
        category: Category,
        documents: impl FnOnce() -> Documents + Send + 'static,
    ) -> Self {
        Self {
            name,
            title: None,
            category,
            required_permissions: [ToolPermission::ReadFiles].into_iter().collect(),
            approval: Approval::Never,
            tool_type: ToolType::AiParameterParsing,
            termination_behavior_doc: "",
            custom_prompt: None,
            faces: vec![Face::new(Vocabulary::Standard, name)],
            reads_handles: false,
            on_demand: false,
            finds_tools: false,
            example: json!({}),
            documents: Arc::new(LazyLock::new(Box::new(documents))),
        }
    }

    /// The title in lists for users.
    #[must_use]
    pub fn title(mut self, title: &'static str) -> Self {
        self.title = Some(title);
        self
    }

    /// What the role must grant, instead of reading only.
    #[must_use]
    pub fn permissions(mut self, permissions: impl IntoIterator<Item = ToolPermission>) -> Self {
        self.required_permissions = permissions.into_iter().collect();
        self
    }

    /// Whether the user is asked.
    #[must_use]
    pub fn approval(mut self, approval: Approval) -> Self {
        self.approval = approval;
        self
    }

    /// When the model should end its turn with this call and when not.
    #[must_use]
    pub fn termination(mut self, text: &'static str) -> Self {
        self.termination_behavior_doc = text;
        self
    }

    /// More guidance for the model: use cases, options that matter, examples.
    #[must_use]
    pub fn prompt(mut self, text: &'static str) -> Self {
        self.custom_prompt = Some(text);
        self
    }

    /// Arguments of a typical call; errors quote them.
    #[must_use]
    pub fn example(mut self, arguments: Value) -> Self {
        self.example = arguments;
        self
    }

    /// Rarely needed: requests may leave it out until the model asks for it.
    #[must_use]
    pub fn on_demand(mut self) -> Self {
        self.on_demand = true;
        self
    }

    /// Models ask for other tools by this one.
    #[must_use]
    pub(crate) fn finds_tools(mut self) -> Self {
        self.finds_tools = true;
        self
    }

    /// A path can also be a handle to something that was left out.
    #[must_use]
    pub(crate) fn reads_handles(mut self) -> Self {
        self.reads_handles = true;
        self
    }

    /// Adds a name and spelling in another vocabulary.
    #[must_use]
    pub fn face(mut self, face: Face) -> Self {
        self.faces.push(face);
        self
    }

    /// What the tool does: the documentation of its argument struct.
    pub fn description(&self) -> &str {
        &self.documents.description
    }

    /// The schema of the arguments, in the standard spelling.
    pub fn parameters(&self) -> &Value {
        &self.documents.parameters
    }

    /// The schema of the result, in the standard spelling.
    pub fn output_schema(&self) -> &Value {
        &self.documents.output_schema
    }

    /// Whether the tool only looks: it needs no right beyond reading.
    pub fn is_read_only(&self) -> bool {
        self.required_permissions.iter().all(|permission| permission == ToolPermission::ReadFiles)
    }
}
