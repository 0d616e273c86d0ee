//! Threads that nobody waits for.

/// How much a thread in the background yields, on the system's scale up to 19.
const NICENESS: i32 = 10;

/// Lets the threads that somebody waits for go first, for the rest of this thread's life.
pub fn stand_back() {
    // Where the system refuses, nothing but time is lost.
    let _ = rustix::process::nice(NICENESS);
}
