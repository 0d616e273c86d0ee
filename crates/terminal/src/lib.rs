//! A conversation at a terminal: what is shown of it, what is typed, and how both share the screen.

mod cards;
mod inline_view;
mod markdown;
mod modes;
mod notices;
mod output_style;
mod screen;

pub use cards::{CardPlace, plan};
pub use inline_view::{InlineView, LivePart, ScreenSize};
pub use modes::{KeyModes, restore};
pub use output_style::{Ink, OutputStyle, columns, fit};
pub use screen::{Screen, ScreenOptions};
