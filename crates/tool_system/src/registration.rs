//! What a tool is, under which names and schemas it is known, and which tools there are.

pub(crate) mod absent_arguments;
pub(crate) mod argument_problems;
pub(crate) mod arguments;
pub(crate) mod category;
pub(crate) mod custom;
pub(crate) mod definition;
pub(crate) mod face;
pub(crate) mod json_schema;
pub(crate) mod registry;
pub(crate) mod schema;
pub(crate) mod tool;
pub(crate) mod validator;
