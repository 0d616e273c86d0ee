//! Schemas with addresses of their own, and where references lead.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::uri;

/// The whole document, or a schema in it that has an `$id`.
#[derive(Default)]
pub(super) struct Resource {
    /// Without a fragment; empty for a document that does not say its address.
    pub(super) uri: String,
    /// Where it is, as a JSON pointer into the document.
    pub(super) place: String,
    /// The resources in it by their `$id`, as indexes.
    pub(super) inner: BTreeMap<String, usize>,
    /// Pointers to the schemas that have a name.
    pub(super) anchors: BTreeMap<String, String>,
    /// The names among them that `$dynamicRef` finds from outside.
    pub(super) dynamic: BTreeMap<String, String>,
    /// Where its references lead, as they are written.
    pub(super) targets: HashMap<String, ReferenceTarget>,
}

/// Where a reference leads.
#[derive(Clone)]
pub(super) struct ReferenceTarget {
    /// The JSON pointer.
    pub(super) place: String,
    /// The index of the resource that the schema there belongs to.
    pub(super) resource: usize,
    /// The name by which a `$dynamicRef` looks for another schema, further out.
    pub(super) dynamic: Option<String>,
}

/// Where `reference` leads that stands in the resource of index `from`; nowhere if that is outside of the document.
pub(super) fn target(
    root: &Value,
    resources: &[Resource],
    from: usize,
    reference: &str,
) -> Option<ReferenceTarget> {
    let (address, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    let address = uri::resolved(&resources[from].uri, address);
    let index = match resources[from].uri == address {
        true => from,
        false => resources.iter().position(|resource| resource.uri == address)?,
    };
    let resource = &resources[index];
    let fragment = uri::decoded(fragment);
    if !fragment.is_empty() && !fragment.starts_with('/') {
        let place = resource.anchors.get(&fragment)?.clone();
        let dynamic = resource.dynamic.contains_key(&fragment).then_some(fragment);
        return Some(ReferenceTarget { resource: owner(resources, &place), place, dynamic });
    }
    let place = format!("{}{fragment}", resource.place);
    root.pointer(&place)?;
    Some(ReferenceTarget { resource: owner(resources, &place), place, dynamic: None })
}

/// The innermost resource around a place.
pub(super) fn owner(resources: &[Resource], place: &str) -> usize {
    let holds = |resource: &Resource| {
        place
            .strip_prefix(&resource.place)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let around = resources.iter().enumerate().filter(|(_, resource)| holds(resource));
    around.max_by_key(|(_, resource)| resource.place.len()).map_or(0, |(index, _)| index)
}
