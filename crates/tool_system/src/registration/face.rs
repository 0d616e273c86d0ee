//! One tool, several names: how a tool looks in each vocabulary.
//!
//! A face only translates. It renames arguments, leaves some out, fixes others, and may spell the
//! result differently; there is never a second implementation behind it.

use protocol::{UnknownName, View};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A set of tool names and spellings that belong together. A session publishes one of them and
/// understands all.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(
    serialize_all = "snake_case",
    parse_err_ty = UnknownName,
    parse_err_fn = Vocabulary::unknown
)]
pub enum Vocabulary {
    /// Toolkiln's own names.
    Standard,
    /// `read_file`, `list_files`, `search_files`, `find_files` and so on; results as blocks.
    Explorer,
    /// `list_directory`, `read_file`, `write_file` and so on in camelCase; tagged results.
    Workspace,
    /// `bash`, `read`, `grep`, `glob` and so on; flat results.
    Ally,
}

protocol::names_of!(Vocabulary, "vocabulary");

impl Vocabulary {
    /// The view in which callers of this vocabulary expect results.
    pub fn view(self) -> View {
        match self {
            Vocabulary::Standard => View::Bare,
            Vocabulary::Explorer => View::Block,
            Vocabulary::Workspace => View::Tagged,
            Vocabulary::Ally => View::Flat,
        }
    }
}

/// A tool as one vocabulary knows it.
#[derive(Clone, Debug)]
pub struct Face {
    pub vocabulary: Vocabulary,
    /// The tool's name in it.
    pub name: &'static str,
    /// A description of its own, where the tool's would mislead.
    pub description: Option<&'static str>,
    renamed: Vec<(&'static str, &'static str)>,
    hidden: Vec<&'static str>,
    presets: Vec<(&'static str, Value)>,
    defaults: Vec<(&'static str, Value)>,
    required: Vec<&'static str>,
    described: Vec<(&'static str, &'static str)>,
    camel_case_result: bool,
}

impl Face {
    /// The same arguments and results under `name`.
    pub fn new(vocabulary: Vocabulary, name: &'static str) -> Self {
        Self {
            vocabulary,
            name,
            description: None,
            renamed: Vec::new(),
            hidden: Vec::new(),
            presets: Vec::new(),
            defaults: Vec::new(),
            required: Vec::new(),
            described: Vec::new(),
            camel_case_result: false,
        }
    }

    /// Describes the tool in other words.
    #[must_use]
    pub fn describe(mut self, description: &'static str) -> Self {
        self.description = Some(description);
        self
    }

    /// Describes the argument `own` in other words.
    #[must_use]
    pub fn describe_argument(mut self, own: &'static str, description: &'static str) -> Self {
        self.described.push((own, description));
        self
    }

    /// Calls the argument `own` by another name.
    #[must_use]
    pub fn rename(mut self, own: &'static str, spelled: &'static str) -> Self {
        self.renamed.push((own, spelled));
        self
    }

    /// Does not offer these arguments.
    #[must_use]
    pub fn hide(mut self, own: &[&'static str]) -> Self {
        self.hidden.extend(own);
        self
    }

    /// Fixes an argument and does not offer it.
    #[must_use]
    pub fn preset(mut self, own: &'static str, value: impl Into<Value>) -> Self {
        self.presets.push((own, value.into()));
        self.hidden.push(own);
        self
    }

    /// Gives an argument another value where the caller leaves it out.
    #[must_use]
    pub fn default(mut self, own: &'static str, value: impl Into<Value>) -> Self {
        self.defaults.push((own, value.into()));
        self
    }

    /// Demands an argument that the tool itself could do without.
    #[must_use]
    pub fn require(mut self, own: &'static str) -> Self {
        self.required.push(own);
        self
    }

    /// Spells the fields of results in camelCase.
    #[must_use]
    pub fn camel_case_result(mut self) -> Self {
        self.camel_case_result = true;
        self
    }

    /// The schema of the arguments in this spelling, from the one in the tool's own.
    pub(crate) fn spell_schema(&self, own: &Value) -> Value {
        let mut schema = own.clone();
        let Value::Object(object) = &mut schema else { return schema };
        if let Some(Value::Object(properties)) = object.get_mut("properties") {
            let spelled = std::mem::take(properties);
            let offered =
                spelled.into_iter().filter(|(name, _)| !self.hidden.contains(&name.as_str()));
            let described = offered.map(|(name, mut schema)| {
                if let Some((_, text)) = self.described.iter().find(|(own, _)| *own == name) {
                    schema["description"] = (*text).into();
                }
                // That text is not empty marks it as absent otherwise, which it cannot be here.
                if self.required.contains(&name.as_str())
                    && let Some(schema) = schema.as_object_mut()
                {
                    schema.remove("minLength");
                }
                if let Some((_, value)) = self.defaults.iter().find(|(own, _)| *own == name) {
                    schema["default"] = value.clone();
                }
                (self.spell(&name), schema)
            });
            *properties = described.collect();
        }
        let mut required: Vec<String> = match object.get("required") {
            Some(Value::Array(names)) => {
                names.iter().filter_map(Value::as_str).map(|name| self.spell(name)).collect()
            }
            _ => Vec::new(),
        };
        required.extend(self.required.iter().map(|name| self.spell(name)));
        if !required.is_empty() {
            object.insert("required".into(), required.into());
        }
        schema
    }

    /// The schema of the result in this spelling.
    pub(crate) fn spell_output_schema(&self, own: &Value) -> Value {
        let mut schema = own.clone();
        if self.camel_case_result {
            camel_case_schema(&mut schema);
        }
        schema
    }

    /// Arguments in this spelling, from the tool's own; what is not offered falls away.
    pub(crate) fn spell_arguments(&self, own: &Map<String, Value>) -> Map<String, Value> {
        let offered = own.iter().filter(|(name, _)| !self.hidden.contains(&name.as_str()));
        offered.map(|(name, value)| (self.spell(name), value.clone())).collect()
    }

    /// Arguments in the tool's own spelling, from this one.
    pub(crate) fn own_arguments(&self, spelled: Map<String, Value>) -> Map<String, Value> {
        let unspell = |name: String| {
            let renamed = self.renamed.iter().find(|(_, spelled)| *spelled == name);
            renamed.map_or(name, |(own, _)| (*own).to_owned())
        };
        let mut own: Map<String, Value> =
            spelled.into_iter().map(|(name, value)| (unspell(name), value)).collect();
        for (name, value) in &self.presets {
            own.insert((*name).to_owned(), value.clone());
        }
        for (name, value) in &self.defaults {
            own.entry(*name).or_insert_with(|| value.clone());
        }
        own
    }

    /// A result in this spelling, from the tool's own.
    pub(crate) fn spell_result(&self, own: Value) -> Value {
        if self.camel_case_result { camel_case_keys(own) } else { own }
    }

    fn spell(&self, own: &str) -> String {
        let renamed = self.renamed.iter().find(|(name, _)| *name == own);
        renamed.map_or(own, |(_, spelled)| spelled).to_owned()
    }
}

fn camel_case_keys(value: Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .map(|(key, value)| (camel_case(&key), camel_case_keys(value)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.into_iter().map(camel_case_keys).collect()),
        other => other,
    }
}

/// Renames what a schema says about property names; its own keywords stay as they are.
fn camel_case_schema(schema: &mut Value) {
    let Value::Object(object) = schema else { return };
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        let own = std::mem::take(properties);
        *properties = own.into_iter().map(|(name, schema)| (camel_case(&name), schema)).collect();
        properties.values_mut().for_each(camel_case_schema);
    }
    if let Some(Value::Array(required)) = object.get_mut("required") {
        for name in required {
            *name = name.as_str().map(camel_case).into();
        }
    }
    if let Some(items) = object.get_mut("items") {
        camel_case_schema(items);
    }
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |mut text, word| {
        let mut letters = word.chars();
        text.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        text.push_str(letters.as_str());
        text
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn face() -> Face {
        Face::new(Vocabulary::Explorer, "search_files")
            .rename("include", "filePattern")
            .preset("case_sensitive", true)
            .require("path")
            .camel_case_result()
    }

    #[test]
    fn a_face_translates_schema_and_arguments_both_ways() {
        let own = json!({
            "type": "object",
            "properties": {"pattern": {}, "path": {}, "include": {"type": "string"}, "case_sensitive": {}},
            "required": ["pattern"],
        });
        assert_eq!(
            face().spell_schema(&own),
            json!({
                "type": "object",
                "properties": {"pattern": {}, "path": {}, "filePattern": {"type": "string"}},
                "required": ["pattern", "path"],
            })
        );
        let spelled = json!({"pattern": "x", "filePattern": "*.rs"}).as_object().unwrap().clone();
        let own = face().own_arguments(spelled.clone());
        assert_eq!(
            Value::Object(own.clone()),
            json!({"pattern": "x", "include": "*.rs", "case_sensitive": true})
        );
        assert_eq!(face().spell_arguments(&own), spelled);
    }

    #[test]
    fn results_and_their_schema_change_case_together() {
        let own = json!({"next_page": 2, "entries": [{"link_target": "x"}]});
        assert_eq!(
            face().spell_result(own),
            json!({"nextPage": 2, "entries": [{"linkTarget": "x"}]})
        );
        let schema = json!({
            "properties": {"next_page": {}, "entries": {"items": {"properties": {"link_target": {}}}}},
            "required": ["next_page"],
        });
        assert_eq!(
            face().spell_output_schema(&schema),
            json!({
                "properties": {"nextPage": {}, "entries": {"items": {"properties": {"linkTarget": {}}}}},
                "required": ["nextPage"],
            })
        );
    }
}
