//! PHP's autoloading as `composer.json` files declare it.

use serde_json::Value;
use workspace::RelPath;

use crate::imports::project_files::{ProjectFiles, dir_of, join};

/// Namespace prefixes and the directories behind them, longest prefix first.
#[derive(Debug, Default)]
pub(super) struct Prefixes {
    prefixes: Vec<NamespacePrefix>,
}

#[derive(Debug, PartialEq, Eq)]
struct NamespacePrefix {
    namespace: String,
    dir: RelPath,
    /// Whether the directories repeat the whole namespace, as the older rule has it.
    whole: bool,
}

impl Prefixes {
    pub(super) fn find(files: &dyn ProjectFiles) -> Prefixes {
        let mut found = Prefixes::default();
        for manifest in files.paths().named(b"composer.json") {
            let bytes = files.read(manifest).unwrap_or_default();
            let Ok(json) = serde_json::from_slice::<Value>(&bytes) else { continue };
            let dir = dir_of(manifest);
            for section in ["autoload", "autoload-dev"] {
                for (rule, whole) in [("psr-4", false), ("psr-0", true)] {
                    let Some(rules) = json[section][rule].as_object() else { continue };
                    for (namespace, places) in rules {
                        let places = match places {
                            Value::String(place) => vec![place.as_str()],
                            Value::Array(places) => {
                                places.iter().filter_map(Value::as_str).collect()
                            }
                            _ => continue,
                        };
                        found.prefixes.extend(places.into_iter().filter_map(|place| {
                            let namespace = namespace.trim_matches('\\').to_owned();
                            Some(NamespacePrefix { namespace, dir: join(&dir, place)?, whole })
                        }));
                    }
                }
            }
        }
        found.prefixes.sort_by_key(|prefix| std::cmp::Reverse(prefix.namespace.len()));
        found
    }

    /// The files in which a class of this name would be, the likeliest first.
    pub(super) fn candidates<'a>(&'a self, class: &'a str) -> impl Iterator<Item = RelPath> + 'a {
        self.prefixes.iter().filter_map(move |prefix| {
            let rest = class.strip_prefix(prefix.namespace.as_str())?;
            let rest = match prefix.namespace.is_empty() {
                true => rest,
                false => rest.strip_prefix('\\')?,
            };
            let inside = if prefix.whole { class } else { rest };
            join(&prefix.dir, &format!("{}.php", inside.replace('\\', "/")))
        })
    }
}
