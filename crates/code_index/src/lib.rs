//! Finding things in a code base: text by regular expression, files by glob, symbols and imports by
//! syntax trees.
//!
//! Every search goes through the workspace's walk on descriptors or through the trigram index, and
//! reads what it finds, so an answer is about the files as they are. Knowledge about a language is in
//! its row (`language/`). This crate opens nothing by path, knows no tool and no limits of its own; its
//! callers say how much is enough.

mod code_base;
mod diff_colours;
mod excerpt;
mod file_filter;
mod file_search;
mod first_by_path;
mod highlight;
mod imports;
#[doc(hidden)]
pub mod index;
mod language;
mod live;
mod lookup;
mod pattern;
mod ranking;
mod scope;
mod symbols;
mod test_files;
mod text_search;

pub use code_base::CodeBase;
pub use diff_colours::{ColouredParts, LineColours, hunk_colours, line_pairs, lines_colours};
pub use file_filter::FileFilter;
pub use file_search::{FileOrder, FilePosition, FileQuery, FoundFiles, find_files};
pub use highlight::{CodeColours, SyntaxKind, highlight};
pub use imports::{
    FilesOnDisk, Impact, ImpactNode, ImpactQuery, ImportKind, Importer, Importers, PathList,
    ProjectFiles, every_import, find_importers, impact,
};
pub use language::Language;
pub use live::{Built, IndexFacts, IndexOptions, IndexStatus};
pub use lookup::{
    Coverage, Definition, DefinitionQuery, DefinitionType, Definitions, FileOutline, NameBounds,
    NearName, NotAName, OutlineEntry, OutlineFiles, Reference, ReferenceQuery, References, Renamed,
    SymbolName, TableReport, check_new_name, files_to_outline, files_with_name, find_definitions,
    find_references, outline_file, rename_in,
};
pub use pattern::PatternError;
pub use ranking::{
    Enclosing, RankedFile, RankedFiles, RankedQuery, RankingWeights, Snippet, search_ranked,
};
pub use scope::SearchScope;
pub use symbols::{FileSymbols, Role, Symbol, SymbolKind, file_symbols};
pub use text_search::{
    FileMatches, Show, TextMatch, TextMatches, TextPosition, TextQuery, search_text,
};
