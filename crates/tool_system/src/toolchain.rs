//! Which programs a project uses: what builds, tests and formats it, and names of its packages.

pub(crate) mod formatters;
pub(crate) mod package_name;
pub(crate) mod project_kind;
pub(crate) mod test_commands;
