//! Looking up names: where they are defined, where they are used, and what a file is made of.
//!
//! Nothing is parsed ahead of the first question. It narrows the files by text, looks at the places of
//! the name in them, and parses only where a definition is possible; parsed files are kept. A symbol
//! table, once there is one, names the files and places instead.

mod all_names;
mod by_text;
mod could_define;
mod definition_query;
mod definitions;
mod headings;
mod hits;
mod identifier;
mod near_names;
mod outline;
mod references;
mod signature;
mod standing;
mod symbol_cache;
mod symbol_name;
mod symbol_table;
mod word;
mod word_files;

pub use all_names::NameBounds;
#[cfg(test)]
pub(crate) use could_define::hidden;
pub(crate) use could_define::{
    Chance, NameContext, TokenBefore, begins_condition, begins_expression,
};
pub use definition_query::{Definition, DefinitionQuery, DefinitionType, Definitions};
pub use definitions::find_definitions;
pub use identifier::{Renamed, check_new_name, files_with_name, rename_in};
pub use near_names::NearName;
pub use outline::{FileOutline, OutlineEntry, OutlineFiles, files_to_outline, outline_file};
#[cfg(test)]
pub(crate) use references::occurrences_in;
pub use references::{Reference, ReferenceQuery, References, find_references};
pub use symbol_name::{NotAName, SymbolName};
pub use symbol_table::TableReport;
pub(crate) use symbol_table::{FileStamp, SymbolTable, TableOptions, write_symbol_table};
pub(crate) use word::is_name_byte;
pub use word_files::Coverage;
