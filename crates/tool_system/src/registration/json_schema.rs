//! Whether a JSON schema is valid, and whether it accepts a value.
//!
//! Schemas are read as those of draft 2020-12, with what earlier drafts wrote differently: `definitions`, `dependencies`,
//! a list of `items` with `additionalItems`, and that nothing beside `$ref` counts where `$schema` names
//! draft 7 or an earlier one. `format` and the `content…` keywords are remarks. References lead to places in the
//! same document only.
//!
//! Most processes judge one or two values by each schema, so nothing is compiled but regular expressions: a schema
//! is checked once, and values are judged by the JSON itself. Schemas and values may come from foreign
//! servers, so both the depth and the work of a judgement are bounded.

mod check;
mod judge;
mod keywords;
mod numbers;
mod pattern;
mod references;
mod seen;
mod uri;

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;

use regex::Regex;
use serde_json::Value;

use references::Resource;

/// Steps that judging one call or answer may take. One takes well under a microsecond, and a hundred
/// thousand objects of twenty fields need a few millions; alternatives that refer to each other can ask for any number.
const MAX_STEPS: u64 = 10_000_000;

/// Schemas that may be inside each other while a value is judged: each of the 128 levels that are read of JSON may
/// be described by three. So many take less than a quarter of a thread's stack of 2 MiB, half if not optimised.
const MAX_DEPTH: usize = 384;

/// What is wrong with a schema.
#[derive(Debug, thiserror::Error)]
#[error("at `#{place}`, {problem}")]
pub(crate) struct SchemaError {
    /// The JSON pointer of the schema, without the keyword that `problem` names.
    place: String,
    problem: String,
}

/// A valid schema, with what judging by it needs to know of the whole document.
pub(crate) struct JsonSchema<'s> {
    root: Cow<'s, Value>,
    /// By their text; nothing for those that `regex` does not support, such as look-around, which refuse nothing.
    patterns: HashMap<String, Option<Regex>>,
    /// The document and the schemas in it that have an address of their own.
    resources: Vec<Resource>,
    /// In draft 7 and before, what stands beside `$ref` has no meaning.
    only_ref: bool,
    /// Whether a keyword asks which parts of a value no other keyword has judged.
    has_unevaluated: bool,
    /// How many schemas were checked.
    size: u64,
}

impl<'s> JsonSchema<'s> {
    /// Checks a schema and all inside it.
    pub(crate) fn new(root: Cow<'s, Value>) -> Result<Self, SchemaError> {
        check::check(root)
    }

    /// Checks a schema that outlives the judging.
    pub(crate) fn borrowed(root: &'s Value) -> Result<Self, SchemaError> {
        Self::new(Cow::Borrowed(root))
    }

    pub(crate) fn as_value(&self) -> &Value {
        &self.root
    }

    /// Whether `value` fits. If `steps` do not suffice to find out, it does not.
    pub(crate) fn accepts(&self, value: &Value, steps: &Steps) -> bool {
        judge::accepts(self, value, steps)
    }
}

/// Whether `schema` is valid and accepts `value`.
pub(crate) fn accepts(schema: &Value, value: &Value, steps: &Steps) -> bool {
    JsonSchema::borrowed(schema)
        .is_ok_and(|schema| steps.spend(schema.size) && schema.accepts(value, steps))
}

/// The work that may still go into judging and explaining.
pub(crate) struct Steps {
    left: Cell<u64>,
    used_up: Cell<bool>,
}

impl Steps {
    pub(crate) fn new() -> Self {
        Self { left: Cell::new(MAX_STEPS), used_up: Cell::new(false) }
    }

    /// Takes `count` steps, or says that there are not so many.
    fn spend(&self, count: u64) -> bool {
        match self.left.get().checked_sub(count) {
            Some(left) => self.left.set(left),
            None => self.give_up(),
        }
        !self.are_used_up()
    }

    /// Nothing is accepted from here on: a limit was reached, and `not` must not turn that into a yes.
    fn give_up(&self) {
        self.left.set(0);
        self.used_up.set(true);
    }

    pub(crate) fn are_used_up(&self) -> bool {
        self.used_up.get()
    }
}

#[cfg(test)]
mod tests;
