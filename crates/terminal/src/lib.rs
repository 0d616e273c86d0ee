//! A conversation at a terminal: what is shown of it, what is typed, and how both share the screen.

mod cards;
mod markdown;
mod notices;
mod output_style;
mod screen;

pub use cards::{CardPlace, plan};
pub use output_style::{Ink, OutputStyle, columns, fit};
pub use screen::{Screen, ScreenOptions};
