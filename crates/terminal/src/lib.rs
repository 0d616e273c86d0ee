//! A conversation at a terminal: what is shown of it, what is typed, and how both share the screen.

mod cards;
mod columns;
mod diff;
mod ink;
mod markdown;
mod notices;
mod output_style;
mod screen;
mod syntax;

pub use cards::{CardPlace, last_lines, plan, running};
pub use columns::{columns, fit};
pub use diff::{DiffView, SourceLine};
pub use ink::Ink;
pub use output_style::OutputStyle;
pub use screen::{Screen, ScreenOptions};
