//! The tools. Every file in a folder of `extensions/` is one; the build script finds them.

include!(concat!(env!("OUT_DIR"), "/extensions.rs"));
