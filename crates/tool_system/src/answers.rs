//! What tools show: files, images, reports and notes, and how results are cut and rendered.

pub(crate) mod command_report;
pub(crate) mod file_view;
pub(crate) mod import_notes;
pub(crate) mod outcome_text;
pub(crate) mod picture;
pub(crate) mod plain_text;
pub(crate) mod preview;
pub(crate) mod rendering;
pub(crate) mod result_store;
pub(crate) mod search_notes;
pub(crate) mod test_reports;
pub(crate) mod timestamp;
pub(crate) mod truncation;
