//! Whether two values are the same: numbers by value, and objects whatever the order of their fields.

use std::hash::{BuildHasher, RandomState};

use serde_json::Value;

use super::super::MAX_DEPTH;
use super::Judge;
use crate::json_schema::numbers;

impl Judge<'_> {
    pub(super) fn same(&self, left: &Value, right: &Value) -> bool {
        self.same_at(left, right, 0)
    }

    fn same_at(&self, left: &Value, right: &Value, depth: usize) -> bool {
        if depth > MAX_DEPTH {
            self.steps.give_up();
        }
        if !self.steps.spend(1) {
            return false;
        }
        match (left, right) {
            (Value::Number(left), Value::Number(right)) => numbers::compare(left, right).is_eq(),
            (Value::Array(left), Value::Array(right)) => {
                left.len() == right.len()
                    && left
                        .iter()
                        .zip(right)
                        .all(|(left, right)| self.same_at(left, right, depth + 1))
            }
            (Value::Object(left), Value::Object(right)) => {
                left.len() == right.len()
                    && left.iter().all(|(name, left)| {
                        right.get(name).is_some_and(|right| self.same_at(left, right, depth + 1))
                    })
            }
            _ => left == right,
        }
    }

    /// The same for values that are the same.
    pub(super) fn hash(&self, value: &Value, hasher: &RandomState, depth: usize) -> u64 {
        if depth > MAX_DEPTH {
            self.steps.give_up();
        }
        if !self.steps.spend(1) {
            return 0;
        }
        match value {
            Value::Null => 0,
            Value::Bool(flag) => hasher.hash_one(flag),
            Value::Number(number) => hasher.hash_one(numbers::key(number)),
            Value::String(text) => hasher.hash_one(text),
            Value::Array(items) => {
                let add = |sum, item| hasher.hash_one((sum, self.hash(item, hasher, depth + 1)));
                items.iter().fold(1, add)
            }
            // A sum, because the order of fields means nothing.
            Value::Object(fields) => fields.iter().fold(2u64, |sum, (name, value)| {
                sum.wrapping_add(hasher.hash_one((name, self.hash(value, hasher, depth + 1))))
            }),
        }
    }
}
