//! What somebody wants, in no particular words.

/// A request that was understood.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Intent {
    /// Tell a fact about the project, from this manifest or whichever there is.
    ProjectFact { file: Option<String>, fact: Fact },
    /// Show where a symbol is defined.
    Define(String),
    /// Put a comment at the top of a file: this one, or one that says what the file defines.
    CommentAtTop { file: String, text: Option<String> },
    /// Put a line into a file.
    AddLine { file: String, line: String, place: Place },
    /// Replace a text in a file.
    Replace { find: String, replace: String, file: String },
    /// Rename a symbol everywhere.
    Rename { symbol: String, to: String },
    /// Create a file.
    Create { file: String, content: String },
    /// Delete a file.
    Delete(String),
    /// Move a file.
    Move { from: String, to: String },
    /// Take the last change back.
    Undo,
    /// Make the change that was taken back again.
    Redo,
    /// Find a text.
    Search { text: String, within: Option<String> },
    /// Find files by their name.
    FindFiles(String),
    /// List a directory.
    List(String),
    /// Show a file.
    Read(String),
    /// Find the uses of a symbol by its name.
    References(String),
    /// Find the files that import a module or symbol.
    Users(String),
    /// Find what a change of a module or symbol affects.
    Impact(String),
    /// Say what a file holds.
    Outline(String),
    /// Say what the project is.
    Overview,
    /// Run the project's tests.
    RunTests,
    /// Be greeted.
    Hello,
    /// Be thanked.
    Thanks,
    /// Say what is understood.
    Help,
}

/// A fact that manifests state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fact {
    Name,
    Version,
    Description,
}

impl Fact {
    /// The word for it, in prose and in manifests alike.
    pub(super) fn word(self) -> &'static str {
        match self {
            Fact::Name => "name",
            Fact::Version => "version",
            Fact::Description => "description",
        }
    }
}

/// Where a line goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Top,
    Bottom,
}
