//! Judges a value by a schema that was checked.

mod arrays;
mod equal;
mod objects;

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use super::references::ReferenceTarget;
use super::seen::Seen;
use super::{JsonSchema, MAX_DEPTH, Steps, numbers};

/// Bytes of text that a regular expression reads, or characters that are counted, in the time of a step.
const BYTES_PER_STEP: usize = 64;

pub(super) fn accepts(schema: &JsonSchema<'_>, value: &Value, steps: &Steps) -> bool {
    let judge = Judge { schema, steps };
    let at = At { scope: &Scope { resource: 0, outer: None }, depth: 0 };
    judge.inside(&schema.root, value, at, None) && !steps.are_used_up()
}

struct Judge<'j> {
    schema: &'j JsonSchema<'j>,
    steps: &'j Steps,
}

/// The resources that led here, innermost first.
struct Scope<'a> {
    resource: usize,
    outer: Option<&'a Scope<'a>>,
}

/// Where in the schemas the judge is.
#[derive(Clone, Copy)]
struct At<'a> {
    scope: &'a Scope<'a>,
    depth: usize,
}

impl<'a> At<'a> {
    fn deeper(self) -> Self {
        At { depth: self.depth + 1, ..self }
    }
}

/// One keyword of a schema.
#[derive(Clone, Copy)]
struct Keyword<'k> {
    name: &'k str,
    wanted: &'k Value,
    /// All keywords of the schema, because some mean something only together.
    beside: &'k Map<String, Value>,
}

impl Keyword<'_> {
    fn schemas(&self) -> impl Iterator<Item = &Value> {
        self.wanted.as_array().into_iter().flatten()
    }
}

impl Judge<'_> {
    /// Judges by a schema that may have an address of its own. What it has seen of the value is added to `seen`.
    fn judge<'v>(
        &self,
        schema: &Value,
        value: &'v Value,
        at: At<'_>,
        seen: Option<&mut Seen<'v>>,
    ) -> bool {
        let scope = at.scope;
        let inner =
            || schema.get("$id").and_then(Value::as_str).and_then(|id| self.inner(scope, id));
        match self.schema.resources.len() {
            1 => self.inside(schema, value, at, seen),
            _ => match inner() {
                Some(resource) => {
                    let scope = Scope { resource, outer: Some(scope) };
                    self.inside(schema, value, At { scope: &scope, ..at }, seen)
                }
                None => self.inside(schema, value, at, seen),
            },
        }
    }

    fn inner(&self, scope: &Scope<'_>, id: &str) -> Option<usize> {
        self.schema.resources[scope.resource].inner.get(id).copied()
    }

    /// Judges by a schema of the current resource.
    fn inside<'v>(
        &self,
        schema: &Value,
        value: &'v Value,
        at: At<'_>,
        seen: Option<&mut Seen<'v>>,
    ) -> bool {
        if at.depth > MAX_DEPTH {
            self.steps.give_up();
        }
        if !self.steps.spend(1) {
            return false;
        }
        let Value::Object(fields) = schema else { return schema == &Value::Bool(true) };
        let at = at.deeper();
        if self.schema.only_ref
            && let Some(Value::String(reference)) = fields.get("$ref")
        {
            return self.follow(reference, value, at, seen);
        }
        let mut own = Seen::default();
        let fits = fields.iter().all(|(name, wanted)| {
            self.keyword(Keyword { name, wanted, beside: fields }, value, at, &mut own)
        });
        if !fits {
            return false;
        }
        if self.schema.has_unevaluated {
            if !self.unevaluated(fields, value, at, &mut own) {
                return false;
            }
            if let Some(seen) = seen {
                self.steps.spend(own.len());
                seen.add(own);
            }
        }
        true
    }

    fn keyword<'v>(
        &self,
        keyword: Keyword<'_>,
        value: &'v Value,
        at: At<'_>,
        seen: &mut Seen<'v>,
    ) -> bool {
        let wanted = keyword.wanted;
        match keyword.name {
            "type" => is_of_type(wanted, value),
            "enum" => keyword.schemas().any(|one| self.same(one, value)),
            "const" => self.same(wanted, value),
            "$ref" | "$dynamicRef" => match wanted {
                Value::String(to) if keyword.name == "$ref" => {
                    self.follow(to, value, at, Some(seen))
                }
                Value::String(to) => self.follow_dynamic(to, value, at, seen),
                _ => true,
            },
            "allOf" => keyword.schemas().all(|one| self.judge(one, value, at, Some(seen))),
            "anyOf" => self.any_of(keyword, value, at, seen),
            "oneOf" => self.one_of(keyword, value, at, seen),
            "not" => !self.judge(wanted, value, at, None),
            "if" => self.if_then_else(keyword, value, at, seen),
            _ => match value {
                Value::Object(fields) => self.of_object(keyword, value, fields, at, seen),
                Value::Array(items) => self.of_array(keyword, items, at, seen),
                Value::String(text) => self.of_string(keyword, text),
                Value::Number(number) => of_number(keyword, number),
                Value::Null | Value::Bool(_) => true,
            },
        }
    }

    fn follow<'v>(
        &self,
        reference: &str,
        value: &'v Value,
        at: At<'_>,
        seen: Option<&mut Seen<'v>>,
    ) -> bool {
        match self.schema.resources[at.scope.resource].targets.get(reference) {
            Some(target) => self.follow_to(&target.place, target.resource, value, at, seen),
            None => false,
        }
    }

    /// The outermost of the resources that led here which has a schema of that name is meant.
    fn follow_dynamic<'v>(
        &self,
        reference: &str,
        value: &'v Value,
        at: At<'_>,
        seen: &mut Seen<'v>,
    ) -> bool {
        let resources = &self.schema.resources;
        let target = resources[at.scope.resource].targets.get(reference);
        let Some(ReferenceTarget { dynamic: Some(name), .. }) = target else {
            return self.follow(reference, value, at, Some(seen));
        };
        let scopes = std::iter::successors(Some(at.scope), |scope| scope.outer);
        let named = scopes.filter_map(|scope| {
            resources[scope.resource].dynamic.get(name).map(|place| (place, scope.resource))
        });
        match named.last() {
            Some((place, resource)) => self.follow_to(place, resource, value, at, Some(seen)),
            None => self.follow(reference, value, at, Some(seen)),
        }
    }

    fn follow_to<'v>(
        &self,
        place: &str,
        resource: usize,
        value: &'v Value,
        at: At<'_>,
        seen: Option<&mut Seen<'v>>,
    ) -> bool {
        let Some(schema) = self.schema.root.pointer(place) else { return false };
        if resource == at.scope.resource {
            return self.inside(schema, value, at, seen);
        }
        let scope = Scope { resource, outer: Some(at.scope) };
        self.inside(schema, value, At { scope: &scope, ..at }, seen)
    }

    fn any_of<'v>(
        &self,
        keyword: Keyword<'_>,
        value: &'v Value,
        at: At<'_>,
        seen: &mut Seen<'v>,
    ) -> bool {
        let mut fits = |one| self.judge(one, value, at, Some(seen));
        if !self.schema.has_unevaluated {
            return keyword.schemas().any(fits);
        }
        // All that fit have seen something.
        keyword.schemas().filter(|one| fits(one)).count() > 0
    }

    fn one_of<'v>(
        &self,
        keyword: Keyword<'_>,
        value: &'v Value,
        at: At<'_>,
        seen: &mut Seen<'v>,
    ) -> bool {
        let mut fitting = keyword.schemas().filter(|one| self.judge(one, value, at, Some(seen)));
        fitting.next().is_some() && fitting.next().is_none()
    }

    fn if_then_else<'v>(
        &self,
        keyword: Keyword<'_>,
        value: &'v Value,
        at: At<'_>,
        seen: &mut Seen<'v>,
    ) -> bool {
        let branch = match self.judge(keyword.wanted, value, at, Some(seen)) {
            true => "then",
            false => "else",
        };
        keyword.beside.get(branch).is_none_or(|one| self.judge(one, value, at, Some(seen)))
    }

    fn of_string(&self, keyword: Keyword<'_>, text: &str) -> bool {
        let bound = |allowed: Ordering| {
            self.steps.spend((text.len() / BYTES_PER_STEP) as u64)
                && is_within(text.chars().count(), keyword.wanted, allowed)
        };
        match keyword.name {
            "minLength" => bound(Ordering::Greater),
            "maxLength" => bound(Ordering::Less),
            "pattern" => self.matches(keyword.wanted.as_str().unwrap_or_default(), text),
            _ => true,
        }
    }

    /// Whether the expression occurs in the text. One that is not supported refuses nothing.
    fn matches(&self, pattern: &str, text: &str) -> bool {
        self.steps.spend(1 + (text.len() / BYTES_PER_STEP) as u64)
            && match self.schema.patterns.get(pattern) {
                Some(Some(regex)) => regex.is_match(text),
                _ => true,
            }
    }
}

/// Whether a count is on the allowed side of a limit, or exactly at it.
fn is_within(count: usize, limit: &Value, allowed: Ordering) -> bool {
    let Some(limit) = limit.as_number() else { return true };
    let order = numbers::compare(&Number::from(count), limit);
    order == allowed || order == Ordering::Equal
}

fn of_number(keyword: Keyword<'_>, number: &Number) -> bool {
    let Some(wanted) = keyword.wanted.as_number() else { return true };
    match keyword.name {
        "minimum" => numbers::compare(number, wanted).is_ge(),
        "maximum" => numbers::compare(number, wanted).is_le(),
        "exclusiveMinimum" => numbers::compare(number, wanted).is_gt(),
        "exclusiveMaximum" => numbers::compare(number, wanted).is_lt(),
        "multipleOf" => numbers::is_multiple(number, wanted),
        _ => true,
    }
}

fn is_of_type(wanted: &Value, value: &Value) -> bool {
    match wanted {
        Value::String(kind) => is_of_kind(kind, value),
        Value::Array(kinds) => {
            kinds.iter().filter_map(Value::as_str).any(|kind| is_of_kind(kind, value))
        }
        _ => true,
    }
}

fn is_of_kind(kind: &str, value: &Value) -> bool {
    match value {
        Value::Null => kind == "null",
        Value::Bool(_) => kind == "boolean",
        Value::Number(number) => {
            kind == "number" || (kind == "integer" && numbers::is_whole(number))
        }
        Value::String(_) => kind == "string",
        Value::Array(_) => kind == "array",
        Value::Object(_) => kind == "object",
    }
}
