//! What commands tell about a conversation, as text for whatever front end shows it. Nothing here prints.

pub(crate) mod bars;
pub(crate) mod context_use;
pub(crate) mod costs;
pub(crate) mod job_list;
pub(crate) mod model_offers;
pub(crate) mod shell_line;
pub(crate) mod text_table;
