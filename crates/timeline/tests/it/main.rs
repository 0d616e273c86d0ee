//! Whole timelines, what holds for every timeline, and timelines as documents.

mod exports;
mod properties;
mod story;
mod timelines;
