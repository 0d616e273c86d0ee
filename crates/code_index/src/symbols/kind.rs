//! What a symbol can be, and which kinds a query for a definition means first.

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SymbolKind {
    /// A function that belongs to no type.
    Function,
    /// A function of a type or an object.
    Method,
    /// A class, a record of C# or Java included.
    Class,
    Struct,
    Union,
    /// An enumeration.
    Enum,
    /// A member of an enumeration.
    Variant,
    /// An interface, a Java annotation type included.
    Interface,
    Trait,
    /// Another name for a type, a C# delegate included.
    TypeAlias,
    Constant,
    /// A static of Rust.
    Static,
    /// A variable outside of functions.
    Variable,
    Macro,
    /// A module, namespace or package.
    Module,
    /// Something that is defined elsewhere: a prototype, an `extern` variable.
    Declaration,
    /// A field, property or event of a type.
    Field,
    /// A variable or constant inside of a function.
    Local,
    /// A name that an import brings into the file.
    Import,
}

impl SymbolKind {
    /// Every kind.
    pub const ALL: [SymbolKind; 19] = [
        SymbolKind::Function,
        SymbolKind::Method,
        SymbolKind::Class,
        SymbolKind::Struct,
        SymbolKind::Union,
        SymbolKind::Enum,
        SymbolKind::Variant,
        SymbolKind::Interface,
        SymbolKind::Trait,
        SymbolKind::TypeAlias,
        SymbolKind::Constant,
        SymbolKind::Static,
        SymbolKind::Variable,
        SymbolKind::Macro,
        SymbolKind::Module,
        SymbolKind::Declaration,
        SymbolKind::Field,
        SymbolKind::Local,
        SymbolKind::Import,
    ];

    /// Its name, which is also its capture in our queries.
    pub fn name(self) -> &'static str {
        match self {
            SymbolKind::Function => "function",
            SymbolKind::Method => "method",
            SymbolKind::Class => "class",
            SymbolKind::Struct => "struct",
            SymbolKind::Union => "union",
            SymbolKind::Enum => "enum",
            SymbolKind::Variant => "variant",
            SymbolKind::Interface => "interface",
            SymbolKind::Trait => "trait",
            SymbolKind::TypeAlias => "type",
            SymbolKind::Constant => "constant",
            SymbolKind::Static => "static",
            SymbolKind::Variable => "variable",
            SymbolKind::Macro => "macro",
            SymbolKind::Module => "module",
            SymbolKind::Declaration => "declaration",
            SymbolKind::Field => "field",
            SymbolKind::Local => "local",
            SymbolKind::Import => "import",
        }
    }

    /// The kind with this name.
    pub fn named(name: &str) -> Option<SymbolKind> {
        SymbolKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Lower comes first in an answer: what is defined before what is declared, fields, locals and
    /// import aliases.
    pub fn rank(self) -> u8 {
        match self {
            SymbolKind::Function
            | SymbolKind::Method
            | SymbolKind::Class
            | SymbolKind::Struct
            | SymbolKind::Union
            | SymbolKind::Enum
            | SymbolKind::Interface
            | SymbolKind::Trait
            | SymbolKind::TypeAlias
            | SymbolKind::Macro => 0,
            SymbolKind::Variant
            | SymbolKind::Constant
            | SymbolKind::Static
            | SymbolKind::Variable
            | SymbolKind::Module => 1,
            SymbolKind::Declaration => 2,
            SymbolKind::Field => 3,
            SymbolKind::Local => 4,
            SymbolKind::Import => 5,
        }
    }

    /// Whether functions inside of it are methods and variables are fields.
    pub(super) fn is_type(self) -> bool {
        matches!(
            self,
            SymbolKind::Class
                | SymbolKind::Struct
                | SymbolKind::Union
                | SymbolKind::Enum
                | SymbolKind::Interface
                | SymbolKind::Trait
        )
    }

    /// Whether a type can stand in the middle of such a definition without belonging to it.
    pub(super) fn is_declared_by_type(self) -> bool {
        matches!(
            self,
            SymbolKind::TypeAlias
                | SymbolKind::Constant
                | SymbolKind::Variable
                | SymbolKind::Declaration
                | SymbolKind::Field
                | SymbolKind::Local
        )
    }

    /// Whether variables inside of it are out of sight elsewhere.
    pub(super) fn hides_variables(self) -> bool {
        matches!(
            self,
            SymbolKind::Function
                | SymbolKind::Method
                | SymbolKind::Constant
                | SymbolKind::Static
                | SymbolKind::Variable
                | SymbolKind::Field
                | SymbolKind::Local
        )
    }
}
