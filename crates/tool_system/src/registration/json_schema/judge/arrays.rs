//! The keywords about arrays.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::RandomState;

use serde_json::Value;

use super::{At, Judge, Keyword, Seen, is_within};

impl Judge<'_> {
    pub(super) fn of_array<'v>(
        &self,
        keyword: Keyword<'_>,
        items: &'v [Value],
        at: At<'_>,
        seen: &mut Seen<'v>,
    ) -> bool {
        let wanted = keyword.wanted;
        let beside = |name: &str| keyword.beside.get(name).and_then(Value::as_array);
        match (keyword.name, wanted) {
            ("prefixItems", _) | ("items", Value::Array(_)) => {
                seen.items_below(keyword.schemas().count().min(items.len()));
                let mut pairs = keyword.schemas().zip(items);
                pairs.all(|(schema, item)| self.judge(schema, item, at, None))
            }
            ("items", _) => {
                self.items_from(beside("prefixItems").map_or(0, Vec::len), wanted, items, at, seen)
            }
            // Without a list of `items` there are no additional ones.
            ("additionalItems", _) => match beside("items") {
                Some(first) => self.items_from(first.len(), wanted, items, at, seen),
                None => true,
            },
            ("contains", _) => self.contains(keyword, items, at, seen),
            ("minItems", _) => is_within(items.len(), wanted, Ordering::Greater),
            ("maxItems", _) => is_within(items.len(), wanted, Ordering::Less),
            ("uniqueItems", Value::Bool(true)) => self.are_different(items),
            _ => true,
        }
    }

    fn items_from<'v>(
        &self,
        first: usize,
        schema: &Value,
        items: &'v [Value],
        at: At<'_>,
        seen: &mut Seen<'v>,
    ) -> bool {
        seen.items_below(items.len());
        items.iter().skip(first).all(|item| self.judge(schema, item, at, None))
    }

    fn contains<'v>(
        &self,
        keyword: Keyword<'_>,
        items: &'v [Value],
        at: At<'_>,
        seen: &mut Seen<'v>,
    ) -> bool {
        let mut count = 0;
        for (index, item) in items.iter().enumerate() {
            if self.judge(keyword.wanted, item, at, None) {
                count += 1;
                if self.schema.has_unevaluated {
                    seen.item(index);
                }
            }
        }
        let least = keyword.beside.get("minContains");
        let most = keyword.beside.get("maxContains");
        least.map_or(count > 0, |least| is_within(count, least, Ordering::Greater))
            && most.is_none_or(|most| is_within(count, most, Ordering::Less))
    }

    /// Whether no two items are the same: only those of one hash are compared.
    fn are_different(&self, items: &[Value]) -> bool {
        let hasher = RandomState::new();
        let mut by_hash: HashMap<u64, Vec<&Value>> = HashMap::with_capacity(items.len());
        items.iter().all(|item| {
            let alike = by_hash.entry(self.hash(item, &hasher, 0)).or_default();
            if alike.iter().any(|other| self.same(other, item)) {
                return false;
            }
            alike.push(item);
            !self.steps.are_used_up()
        })
    }
}
