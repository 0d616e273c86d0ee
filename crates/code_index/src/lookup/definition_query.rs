//! Questions for definitions, and their answers.

use workspace::RelPath;

use super::by_text::TextLook;
use super::near_names::NearName;
use super::symbol_name::SymbolName;
use super::word_files::Coverage;
use crate::symbols::SymbolKind;

/// What to look for.
#[derive(Debug, Clone)]
pub struct DefinitionQuery {
    pub name: SymbolName,
    /// Only definitions of this type.
    pub only: Option<DefinitionType>,
    /// Lines to show before and after the name.
    pub context: u32,
    /// Characters of a line to show.
    pub max_line_chars: usize,
}

/// The coarse types that people ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefinitionType {
    /// Functions, methods and macros.
    Function,
    /// Classes and all other types.
    Class,
    /// Constants, variables, fields and locals.
    Variable,
    /// Names that an import brings into a file.
    Import,
}

/// A place that defines a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// The file.
    pub path: RelPath,
    /// The line of the name, from 1.
    pub line: u32,
    /// What it is.
    pub kind: &'static str,
    /// What it stands in, joined by dots.
    pub container: Option<String>,
    /// The head of the definition on one line.
    pub signature: String,
    /// The lines before that of the name.
    pub before: Vec<String>,
    /// The lines after it.
    pub after: Vec<String>,
    /// Whether it was told by the look of the line alone.
    pub by_text: bool,
}

/// The best definitions, and what is known of the rest.
#[derive(Debug, Clone, Default)]
pub struct Definitions {
    /// Best first.
    pub found: Vec<Definition>,
    /// Definitions in all.
    pub total: u64,
    /// False if what was found has the name but does not stand in what was said.
    pub as_qualified: bool,
    /// Files that may define it as a field, local variable or import and were not parsed.
    pub not_parsed: u64,
    /// Names that resemble it, if it was not found.
    pub near: Vec<NearName>,
    /// What was covered.
    pub coverage: Coverage,
}

impl DefinitionType {
    /// Whether something of this kind, followed by this sign, counts.
    pub(crate) fn accepts(self, kind: SymbolKind, next: Option<&u8>) -> bool {
        use SymbolKind as Kind;
        let is_function = next == Some(&b'(');
        match self {
            DefinitionType::Function => match kind {
                Kind::Declaration => is_function,
                _ => matches!(kind, Kind::Function | Kind::Method | Kind::Macro),
            },
            DefinitionType::Class => matches!(
                kind,
                Kind::Class
                    | Kind::Struct
                    | Kind::Union
                    | Kind::Enum
                    | Kind::Interface
                    | Kind::Trait
                    | Kind::TypeAlias
            ),
            DefinitionType::Variable => match kind {
                Kind::Declaration => !is_function,
                _ => matches!(
                    kind,
                    Kind::Constant
                        | Kind::Static
                        | Kind::Variable
                        | Kind::Variant
                        | Kind::Field
                        | Kind::Local
                ),
            },
            DefinitionType::Import => kind == Kind::Import,
        }
    }

    /// Whether a line that looks like this counts.
    pub(super) fn accepts_look(self, look: TextLook) -> bool {
        matches!(
            (self, look),
            (DefinitionType::Function, TextLook::Function)
                | (DefinitionType::Class, TextLook::Type)
                | (DefinitionType::Variable, TextLook::Variable)
        )
    }
}
