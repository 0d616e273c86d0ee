//! The groups under which tools are shown to models and people.

use std::fmt;

use serde::Serialize;

/// A group of tools. The order of the variants is the order of every listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum Category {
    /// Finding files and text.
    #[serde(rename = "Search & Discovery")]
    Search,
    /// Finding out what code means: definitions, uses, imports.
    #[serde(rename = "Code Intelligence")]
    Intelligence,
    /// Reading files.
    #[serde(rename = "File Reading")]
    Reading,
    /// Changing the contents of files.
    #[serde(rename = "File Writing")]
    Writing,
    /// Moving and removing files, and taking changes back.
    #[serde(rename = "File Management")]
    Management,
    /// Running programs.
    #[serde(rename = "Code Execution")]
    Execution,
    /// Looking at and recording the history of the project.
    #[serde(rename = "Version Control")]
    VersionControl,
    /// Planning and handing on work.
    Agent,
}

impl Category {
    /// Every category, in listing order.
    pub const ALL: [Category; 8] = [
        Category::Search,
        Category::Intelligence,
        Category::Reading,
        Category::Writing,
        Category::Management,
        Category::Execution,
        Category::VersionControl,
        Category::Agent,
    ];

    /// The heading.
    pub fn title(self) -> &'static str {
        match self {
            Category::Search => "Search & Discovery",
            Category::Intelligence => "Code Intelligence",
            Category::Reading => "File Reading",
            Category::Writing => "File Writing",
            Category::Management => "File Management",
            Category::Execution => "Code Execution",
            Category::VersionControl => "Version Control",
            Category::Agent => "Agent",
        }
    }

    /// One sentence on what the group is for, shown to the model under the heading.
    pub fn description(self) -> &'static str {
        match self {
            Category::Search => {
                "Find files by name and text by pattern, and look around in directories. \
                 These search only; they change nothing and need no approval."
            }
            Category::Intelligence => {
                "Find where things are defined, used and imported, by syntax and resolution instead \
                 of text. These look only; they change nothing and need no approval."
            }
            Category::Reading => {
                "Read file contents with line numbers. Read-only access, no approval needed."
            }
            Category::Writing => {
                "Create files and change their contents. Every change is shown as an exact diff \
                 and requires approval before it is applied; it can be undone."
            }
            Category::Management => {
                "Delete and move files, and take changes back. These are destructive operations: \
                 they require approval, and what they remove can be restored with undo."
            }
            Category::Execution => {
                "Run programs, confined: without network, seeing only the project and the system. What \
                 they change in the project can be undone."
            }
            Category::VersionControl => {
                "Look at the history and the state of the git repository, commit and push. Looking needs \
                 no approval; committing and pushing do."
            }
            Category::Agent => {
                "Show the user a plan, and hand tasks to sub-agents that report back. These change no \
                 files themselves; what a sub-agent changes is approved like your own changes."
            }
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}
