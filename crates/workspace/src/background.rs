//! Threads with a low priority.

/// The niceness of background threads; the system's scale ends at 19.
const NICENESS: i32 = 10;

/// Gives the calling thread a low priority for the rest of its life, so that work in the background
/// does not delay calls.
pub fn lower_priority() {
    // Where the system refuses, nothing but time is lost.
    let _ = rustix::process::nice(NICENESS);
}
