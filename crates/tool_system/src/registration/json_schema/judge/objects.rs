//! The keywords about objects.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::{At, Judge, Keyword, Seen, is_within};

impl Judge<'_> {
    pub(super) fn of_object<'v>(
        &self,
        keyword: Keyword<'_>,
        value: &'v Value,
        fields: &'v Map<String, Value>,
        at: At<'_>,
        seen: &mut Seen<'v>,
    ) -> bool {
        let wanted = keyword.wanted;
        match keyword.name {
            "properties" => self.properties(wanted, fields, at, seen),
            "patternProperties" => self.pattern_properties(wanted, fields, at, seen),
            "additionalProperties" => self.additional_properties(keyword, fields, at, seen),
            "propertyNames" => {
                // The step is for the copy.
                fields.keys().all(|name| {
                    self.steps.spend(1) && self.judge(wanted, &name.as_str().into(), at, None)
                })
            }
            "required" => self.has_all(wanted, fields),
            "minProperties" => is_within(fields.len(), wanted, Ordering::Greater),
            "maxProperties" => is_within(fields.len(), wanted, Ordering::Less),
            "dependentRequired" | "dependentSchemas" | "dependencies" => {
                self.named_in(wanted, fields).all(|(_, needed, _)| match needed {
                    Value::Array(_) => self.has_all(needed, fields),
                    _ => self.judge(needed, value, at, Some(seen)),
                })
            }
            _ => true,
        }
    }

    /// The entries of a keyword whose name a value has, with its field; whichever has fewer is gone through.
    fn named_in<'a, 'v>(
        &self,
        wanted: &'a Value,
        fields: &'v Map<String, Value>,
    ) -> impl Iterator<Item = (&'v str, &'a Value, &'v Value)> {
        let wanted = wanted.as_object();
        let by_fields = wanted.filter(|wanted| wanted.len() > fields.len());
        let by_wanted = wanted.filter(|wanted| wanted.len() <= fields.len());
        let by_fields = by_fields.into_iter().flat_map(move |wanted| {
            fields
                .iter()
                .filter_map(|(name, value)| Some((name.as_str(), wanted.get(name)?, value)))
        });
        let by_wanted = by_wanted.into_iter().flatten().filter_map(|(name, wanted)| {
            let (name, value) = fields.get_key_value(name)?;
            Some((name.as_str(), wanted, value))
        });
        self.steps.spend(wanted.map_or(0, |wanted| wanted.len().min(fields.len())) as u64);
        by_fields.chain(by_wanted)
    }

    fn has_all(&self, names: &Value, fields: &Map<String, Value>) -> bool {
        let Some(names) = names.as_array() else { return true };
        self.steps.spend(names.len() as u64)
            && names.iter().filter_map(Value::as_str).all(|name| fields.contains_key(name))
    }

    fn properties<'v>(
        &self,
        wanted: &Value,
        fields: &'v Map<String, Value>,
        at: At<'_>,
        seen: &mut Seen<'v>,
    ) -> bool {
        self.named_in(wanted, fields).all(|(name, schema, value)| {
            self.note_name(seen, name);
            self.judge(schema, value, at, None)
        })
    }

    fn note_name<'v>(&self, seen: &mut Seen<'v>, name: &'v str) {
        if self.schema.has_unevaluated {
            seen.name(name);
        }
    }

    fn pattern_properties<'v>(
        &self,
        wanted: &Value,
        fields: &'v Map<String, Value>,
        at: At<'_>,
        seen: &mut Seen<'v>,
    ) -> bool {
        wanted.as_object().into_iter().flatten().all(|(pattern, schema)| {
            fields.iter().all(|(name, value)| {
                // One that is not supported says nothing about any name.
                if !self.is_supported(pattern) || !self.matches(pattern, name) {
                    return !self.steps.are_used_up();
                }
                self.note_name(seen, name);
                self.judge(schema, value, at, None)
            })
        })
    }

    fn is_supported(&self, pattern: &str) -> bool {
        self.schema.patterns.get(pattern).is_some_and(Option::is_some)
    }

    fn additional_properties<'v>(
        &self,
        keyword: Keyword<'_>,
        fields: &'v Map<String, Value>,
        at: At<'_>,
        seen: &mut Seen<'v>,
    ) -> bool {
        let properties = keyword.beside.get("properties").and_then(Value::as_object);
        let patterns = keyword.beside.get("patternProperties").and_then(Value::as_object);
        // A name that an expression might describe which is not supported is not refused either.
        let is_described = |name: &str| {
            properties.is_some_and(|properties| properties.contains_key(name))
                || patterns.is_some_and(|all| all.keys().any(|pattern| self.matches(pattern, name)))
        };
        fields.iter().filter(|(name, _)| !is_described(name)).all(|(name, value)| {
            self.note_name(seen, name);
            self.judge(keyword.wanted, value, at, None)
        })
    }

    /// Judges what no other keyword has.
    pub(super) fn unevaluated<'v>(
        &self,
        keywords: &Map<String, Value>,
        value: &'v Value,
        at: At<'_>,
        seen: &mut Seen<'v>,
    ) -> bool {
        match value {
            Value::Object(fields) => {
                let Some(wanted) = keywords.get("unevaluatedProperties") else { return true };
                let mut rest = fields.iter().filter(|(name, _)| !seen.has_name(name));
                let fits = rest.all(|(_, value)| self.judge(wanted, value, at, None));
                seen.all_names = true;
                fits
            }
            Value::Array(items) => {
                let Some(wanted) = keywords.get("unevaluatedItems") else { return true };
                let mut rest = items.iter().enumerate().filter(|(index, _)| !seen.has_item(*index));
                let fits = rest.all(|(_, item)| self.judge(wanted, item, at, None));
                seen.items_below(items.len());
                fits
            }
            _ => true,
        }
    }
}
