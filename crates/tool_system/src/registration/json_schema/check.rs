//! Checks that a schema is one, and notes what judging by it needs to know.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::keywords::{Takes, is_schema, takes};
use super::references::{Resource, owner, target};
use super::{JsonSchema, SchemaError, pattern, uri};

/// Schemas that may be written inside each other: as deep as JSON is read.
const MAX_NESTED: usize = 128;

/// Drafts in which nothing beside `$ref` counts, as `$schema` names them.
const ONLY_REF: [&str; 4] = ["draft-03", "draft-04", "draft-06", "draft-07"];

pub(super) fn check(root: Cow<'_, Value>) -> Result<JsonSchema<'_>, SchemaError> {
    let draft = root.get("$schema").and_then(Value::as_str).unwrap_or_default();
    let mut check = SchemaCheck {
        root: &root,
        only_ref: ONLY_REF.iter().any(|name| draft.contains(name)),
        resources: vec![Resource::default()],
        patterns: HashMap::new(),
        references: Vec::new(),
        visited: HashSet::new(),
        place: String::new(),
        has_unevaluated: false,
    };
    check.schema(&root, 0, 0)?;
    check.follow_references()?;
    let SchemaCheck { only_ref, resources, patterns, visited, has_unevaluated, .. } = check;
    let size = visited.len() as u64;
    Ok(JsonSchema { root, patterns, resources, only_ref, has_unevaluated, size })
}

struct SchemaReference<'r> {
    keyword: &'static str,
    text: &'r str,
    place: String,
    resource: usize,
}

struct SchemaCheck<'r> {
    root: &'r Value,
    only_ref: bool,
    resources: Vec<Resource>,
    patterns: HashMap<String, Option<regex::Regex>>,
    references: Vec<SchemaReference<'r>>,
    /// By address: the document stays where it is while it is checked.
    visited: HashSet<*const Value>,
    /// The JSON pointer of the schema that is looked at.
    place: String,
    has_unevaluated: bool,
}

impl<'r> SchemaCheck<'r> {
    fn wrong(&self, keyword: &str, problem: &str) -> SchemaError {
        self.error(format!("`{keyword}` {problem}"))
    }

    fn error(&self, problem: impl Into<String>) -> SchemaError {
        SchemaError { place: self.place.clone(), problem: problem.into() }
    }

    /// Checks a schema that belongs to the resource of index `resource`, or begins one inside it.
    fn schema(
        &mut self,
        schema: &'r Value,
        resource: usize,
        depth: usize,
    ) -> Result<(), SchemaError> {
        if depth > MAX_NESTED {
            return Err(self.error("schemas are nested too deeply"));
        }
        if !self.visited.insert(std::ptr::from_ref(schema)) || schema.is_boolean() {
            return Ok(());
        }
        let Value::Object(fields) = schema else {
            return Err(self.error("there is neither an object nor true or false"));
        };
        for (keyword, value) in fields {
            if let Some(problem) = takes(keyword).refuses(value) {
                return Err(self.wrong(keyword, problem));
            }
        }
        let resource = self.named(fields, resource)?;
        for (keyword, value) in fields {
            self.has_unevaluated |= keyword.starts_with("unevaluated");
            self.keyword(keyword, value, resource, depth + 1)?;
        }
        Ok(())
    }

    /// Notes the names of a schema, and gives the resource that it belongs to.
    fn named(
        &mut self,
        fields: &'r Map<String, Value>,
        mut resource: usize,
    ) -> Result<usize, SchemaError> {
        let text = |keyword: &str| fields.get(keyword).and_then(Value::as_str);
        let refers = text("$ref").is_some();
        if let Some(id) = text("$id").filter(|_| !(self.only_ref && refers)) {
            match id.split_once('#') {
                // So earlier drafts wrote an anchor.
                Some(("", name)) => {
                    self.resources[resource].anchors.insert(name.to_owned(), self.place.clone());
                }
                Some((_, fragment)) if !fragment.is_empty() => {
                    return Err(self.wrong("$id", "has a fragment"));
                }
                address => resource = self.resource(id, address.map_or(id, |it| it.0), resource),
            }
        }
        for keyword in ["$anchor", "$dynamicAnchor"] {
            let Some(name) = text(keyword) else { continue };
            if name.is_empty() || name.contains('#') || name.starts_with('/') {
                return Err(self.wrong(keyword, "is not a name"));
            }
            self.resources[resource].anchors.insert(name.to_owned(), self.place.clone());
            if keyword == "$dynamicAnchor" {
                self.resources[resource].dynamic.insert(name.to_owned(), self.place.clone());
            }
        }
        for keyword in ["$ref", "$dynamicRef"] {
            if let Some(reference) = text(keyword) {
                let place = self.place.clone();
                self.references.push(SchemaReference { keyword, text: reference, place, resource });
            }
        }
        Ok(resource)
    }

    /// The resource that begins with an `$id`, as an index. Of several with one address the first counts.
    fn resource(&mut self, id: &str, address: &str, outer: usize) -> usize {
        let uri = uri::resolved(&self.resources[outer].uri, address);
        if self.place.is_empty() {
            self.resources[0].uri = uri;
            return 0;
        }
        let known = self.resources.iter().position(|resource| resource.uri == uri);
        let index = known.unwrap_or_else(|| {
            let place = self.place.clone();
            self.resources.push(Resource { uri, place, ..Resource::default() });
            self.resources.len() - 1
        });
        self.resources[outer].inner.insert(id.to_owned(), index);
        index
    }

    fn keyword(
        &mut self,
        keyword: &str,
        value: &'r Value,
        resource: usize,
        depth: usize,
    ) -> Result<(), SchemaError> {
        let takes = takes(keyword);
        if takes == Takes::Pattern {
            let text = value.as_str().unwrap_or_default();
            return self.pattern(keyword, text);
        }
        if let (Takes::SchemasByPattern, Some(fields)) = (takes, value.as_object()) {
            for pattern in fields.keys() {
                self.pattern(keyword, pattern)?;
            }
        }
        let holds_schemas = matches!(
            takes,
            Takes::Schema
                | Takes::Schemas
                | Takes::SchemaOrSchemas
                | Takes::SchemasByName
                | Takes::SchemasByPattern
                | Takes::Dependencies
        );
        if !holds_schemas {
            return Ok(());
        }
        let length = self.place.len();
        self.step_into(keyword);
        match (takes, value) {
            (Takes::Schema, _) | (Takes::SchemaOrSchemas, Value::Object(_) | Value::Bool(_)) => {
                self.schema(value, resource, depth)?;
            }
            (_, Value::Object(fields)) => {
                for (name, schema) in fields.iter().filter(|(_, schema)| is_schema(schema)) {
                    self.inside(name, schema, resource, depth)?;
                }
            }
            (_, Value::Array(schemas)) => {
                for (index, schema) in schemas.iter().enumerate() {
                    self.inside(&index.to_string(), schema, resource, depth)?;
                }
            }
            _ => {}
        }
        self.place.truncate(length);
        Ok(())
    }

    fn inside(
        &mut self,
        name: &str,
        schema: &'r Value,
        resource: usize,
        depth: usize,
    ) -> Result<(), SchemaError> {
        let length = self.place.len();
        self.step_into(name);
        self.schema(schema, resource, depth)?;
        self.place.truncate(length);
        Ok(())
    }

    fn step_into(&mut self, name: &str) {
        self.place.push('/');
        for letter in name.chars() {
            match letter {
                '~' => self.place.push_str("~0"),
                '/' => self.place.push_str("~1"),
                other => self.place.push(other),
            }
        }
    }

    fn pattern(&mut self, keyword: &str, text: &str) -> Result<(), SchemaError> {
        if !self.patterns.contains_key(text) {
            let compiled = pattern::compiled(text).map_err(|error| {
                self.wrong(keyword, &format!("{text:?} is not a regular expression: {error}"))
            })?;
            self.patterns.insert(text.to_owned(), compiled);
        }
        Ok(())
    }

    /// Looks up all references, and checks what they lead to where no keyword did.
    fn follow_references(&mut self) -> Result<(), SchemaError> {
        while let Some(SchemaReference { keyword, text, place, resource }) = self.references.pop() {
            if self.resources[resource].targets.contains_key(text) {
                continue;
            }
            self.place = place;
            let root = self.root;
            let found = target(root, &self.resources, resource, text);
            let schema = found.as_ref().and_then(|found| root.pointer(&found.place));
            let (Some(mut found), Some(schema)) = (found, schema) else {
                let problem = format!("leads to {text:?}, which is not in this document");
                return Err(self.wrong(keyword, &problem));
            };
            if !is_schema(schema) {
                return Err(
                    self.wrong(keyword, &format!("leads to {text:?}, which is not a schema"))
                );
            }
            if !self.visited.contains(&std::ptr::from_ref(schema)) {
                self.place.clone_from(&found.place);
                self.schema(schema, found.resource, 0)?;
                found.resource = owner(&self.resources, &found.place);
            }
            self.resources[resource].targets.insert(text.to_owned(), found);
        }
        Ok(())
    }
}
