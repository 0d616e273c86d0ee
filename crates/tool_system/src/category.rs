//! The groups under which tools are shown to models and people.

use std::fmt;

use serde::Serialize;

/// A group of tools. The order of the variants is the order of every listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum Category {
    /// Finding files and text.
    #[serde(rename = "Search & Discovery")]
    Search,
    /// Reading files.
    #[serde(rename = "File Reading")]
    Reading,
}

impl Category {
    /// Every category, in listing order.
    pub const ALL: [Category; 2] = [Category::Search, Category::Reading];

    /// The heading.
    pub fn title(self) -> &'static str {
        match self {
            Category::Search => "Search & Discovery",
            Category::Reading => "File Reading",
        }
    }

    /// One sentence on what the group is for, shown to the model under the heading.
    pub fn description(self) -> &'static str {
        match self {
            Category::Search => {
                "Find files by name and text by pattern, and look around in directories. \
                 These search only; they change nothing and need no approval."
            }
            Category::Reading => {
                "Read file contents with line numbers. Read-only access, no approval needed."
            }
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}
