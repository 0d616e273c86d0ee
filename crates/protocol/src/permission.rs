//! What a tool may do, as a role grants it and a definition declares it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::UnknownName;

/// One right that a tool can need and a role can grant.
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
    JsonSchema,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[strum(parse_err_ty = UnknownName, parse_err_fn = ToolPermission::unknown)]
pub enum ToolPermission {
    /// Read files, list directories, search.
    ReadFiles,
    /// Change files that exist.
    WriteFiles,
    /// Make files that do not exist yet.
    CreateFiles,
    /// Remove or move away files.
    DeleteFiles,
    /// Run programs.
    ExecuteCommands,
    /// Reach the network.
    NetworkAccess,
}

crate::names_of!(ToolPermission, "permission");

/// A set of permissions. Sets only ever shrink on the way from a role to a sub-agent.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Vec<ToolPermission>", into = "Vec<ToolPermission>")]
pub struct PermissionSet(u8);

impl PermissionSet {
    /// The set without any permission.
    pub const NONE: PermissionSet = PermissionSet(0);

    /// The set of all permissions.
    pub fn all() -> Self {
        ToolPermission::ALL.iter().copied().collect()
    }

    /// Whether `permission` is in the set.
    pub fn contains(self, permission: ToolPermission) -> bool {
        self.0 & bit(permission) != 0
    }

    /// Whether every permission of `needed` is in the set.
    pub fn covers(self, needed: PermissionSet) -> bool {
        needed.0 & !self.0 == 0
    }

    /// The permissions that are in both sets.
    #[must_use]
    pub fn intersection(self, other: PermissionSet) -> Self {
        Self(self.0 & other.0)
    }

    /// The permissions of this set that `granted` lacks.
    #[must_use]
    pub fn missing_from(self, granted: PermissionSet) -> Self {
        Self(self.0 & !granted.0)
    }

    /// The permissions, in their declared order.
    pub fn iter(self) -> impl Iterator<Item = ToolPermission> {
        ToolPermission::ALL.iter().copied().filter(move |permission| self.contains(*permission))
    }
}

fn bit(permission: ToolPermission) -> u8 {
    1 << permission as u8
}

impl FromIterator<ToolPermission> for PermissionSet {
    fn from_iter<I: IntoIterator<Item = ToolPermission>>(permissions: I) -> Self {
        Self(permissions.into_iter().fold(0, |bits, permission| bits | bit(permission)))
    }
}

impl From<Vec<ToolPermission>> for PermissionSet {
    fn from(permissions: Vec<ToolPermission>) -> Self {
        permissions.into_iter().collect()
    }
}

impl From<PermissionSet> for Vec<ToolPermission> {
    fn from(set: PermissionSet) -> Self {
        set.iter().collect()
    }
}

impl fmt::Display for PermissionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, permission) in self.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{permission}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for PermissionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_cover_intersect_and_name_what_is_missing() {
        let reader: PermissionSet = [ToolPermission::ReadFiles].into_iter().collect();
        let editor: PermissionSet =
            [ToolPermission::ReadFiles, ToolPermission::WriteFiles].into_iter().collect();
        assert!(editor.covers(reader) && !reader.covers(editor));
        assert_eq!(editor.intersection(reader), reader);
        assert_eq!(editor.missing_from(reader).to_string(), "WriteFiles");
        assert!(PermissionSet::all().covers(editor) && reader.covers(PermissionSet::NONE));
    }

    #[test]
    fn a_set_is_a_list_of_names_in_json() {
        let set: PermissionSet =
            [ToolPermission::NetworkAccess, ToolPermission::ReadFiles].into_iter().collect();
        let json = serde_json::to_string(&set).unwrap();
        assert_eq!(json, r#"["ReadFiles","NetworkAccess"]"#);
        assert_eq!(serde_json::from_str::<PermissionSet>(&json).unwrap(), set);
        assert!("Fly".parse::<ToolPermission>().is_err());
    }
}
