//! The known keys, read off the defaults, and what an unknown one may have meant.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};
use toml::{Table, Value};

use super::settings::ConfigSettings;

/// Names that are less alike than this are not suggested.
const SIMILAR: f64 = 0.8;

/// All keys by their full path, in the order in which they are declared.
pub(super) struct Schema {
    keys: Vec<(String, Option<Value>)>,
    sections: Vec<String>,
}

/// What a path names.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Named {
    Key,
    Section,
    Unknown,
}

impl Schema {
    pub(super) fn new() -> Self {
        let mut schema = Self { keys: Vec::new(), sections: Vec::new() };
        if let Ok(Json::Object(defaults)) = serde_json::to_value(ConfigSettings::default()) {
            schema.add("", &defaults);
        }
        schema
    }

    fn add(&mut self, section: &str, table: &Map<String, Json>) {
        for (name, value) in table {
            let key = join(section, name);
            match value {
                Json::Object(inner) if !inner.is_empty() => {
                    self.sections.push(key.clone());
                    self.add(&key, inner);
                }
                Json::Null => self.keys.push((key, None)),
                value => self.keys.push((key, Value::try_from(value).ok())),
            }
        }
    }

    /// The keys with their defaults.
    pub(super) fn into_keys(self) -> Vec<(String, Option<Value>)> {
        self.keys
    }

    pub(super) fn named(&self, path: &str) -> Named {
        if self.keys.iter().any(|(key, _)| key == path) {
            Named::Key
        } else if self.sections.iter().any(|section| section == path) {
            Named::Section
        } else {
            Named::Unknown
        }
    }

    /// The key or section that was probably meant: one of the same section that is spelled alike,
    /// else the same name elsewhere, else whatever is alike as a whole.
    pub(super) fn suggestion(&self, path: &str) -> Option<&str> {
        let all = || self.keys.iter().map(|(key, _)| key).chain(&self.sections).map(String::as_str);
        let (section, name) = split(path);
        let siblings = all().filter(|known| split(known).0 == section);
        closest(path, siblings)
            .or_else(|| all().find(|known| split(known).1 == name))
            .or_else(|| closest(path, all()))
    }
}

/// The candidate that looks most like `name`, if any looks like it at all. Only the last part of
/// a path is compared where both lie in the same section.
pub(super) fn closest<'a>(
    name: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let likeness = |candidate: &str| match (split(name), split(candidate)) {
        ((ours, name), (theirs, candidate)) if ours == theirs => {
            strsim::jaro_winkler(&name.to_lowercase(), candidate)
        }
        _ => strsim::jaro_winkler(&name.to_lowercase(), candidate),
    };
    let scored = candidates.map(|candidate| (likeness(candidate), candidate));
    let best = scored.max_by(|(left, _), (right, _)| left.total_cmp(right))?;
    (best.0 >= SIMILAR).then_some(best.1)
}

pub(super) fn join(section: &str, name: &str) -> String {
    if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") }
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('.').unwrap_or(("", path))
}

/// Values by full path as the tables that they came from.
pub(super) fn nested<'a>(values: impl IntoIterator<Item = (&'a str, Value)>) -> Table {
    let mut root = Table::new();
    for (path, value) in values {
        let (section, name) = split(path);
        let mut table = &mut root;
        for part in section.split('.').filter(|part| !part.is_empty()) {
            let inner = table.entry(part).or_insert_with(|| Value::Table(Table::new()));
            match inner {
                Value::Table(inner) => table = inner,
                // A key is never a section as well: both come from the fields of one struct.
                _ => unreachable!("{path} lies in a value"),
            }
        }
        table.insert(name.to_owned(), value);
    }
    root
}

/// The settings in a table, which is read as a file is: to compile their types for a second reader takes
/// 3 s of a first build.
pub(super) fn read_back<T: DeserializeOwned>(table: &Table) -> Result<T, toml::de::Error> {
    toml::from_str(&table.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_is_found_in_the_section_elsewhere_or_as_a_whole() {
        let cases = [
            ("limits.grep_result", Some("limits.grep_results")),
            ("model.Provider", Some("model.provider")),
            ("model.prices.cached", Some("model.prices.cache_read")),
            ("turn_limit", Some("agent.turn_limit")),
            ("model.turn_limit", Some("agent.turn_limit")),
            ("modle", Some("model")),
            ("agents.turnlimit", Some("agent.turn_limit")),
            ("zzz", None),
        ];
        let schema = Schema::new();
        for (path, expected) in cases {
            assert_eq!(schema.suggestion(path), expected, "{path}");
        }
    }

    #[test]
    fn every_key_is_documented() {
        let document = include_str!("../../../../docs/configuration.md");
        let missing: Vec<_> = Schema::new()
            .into_keys()
            .into_iter()
            .map(|(key, _)| key)
            .filter(|key| !key.starts_with("limits.") && !document.contains(&format!("`{key}`")))
            .collect();
        assert!(missing.is_empty(), "add to the table in docs/configuration.md: {missing:?}");
    }

    #[test]
    fn the_defaults_are_read_back_as_they_were() {
        let given = Schema::new().into_keys();
        let values = given.iter().filter_map(|(key, value)| Some((key.as_str(), value.clone()?)));
        let settings: ConfigSettings = read_back(&nested(values)).unwrap();
        assert_eq!(
            serde_json::to_value(settings).unwrap(),
            serde_json::to_value(ConfigSettings::default()).unwrap()
        );
    }
}
