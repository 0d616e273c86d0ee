//! From the hunks that the approver accepts back to bytes.

use super::comparison::Comparison;

/// The bytes that result when only some hunks of the difference between `before` and `after` are
/// accepted. Hunks are numbered from zero in the order of [`FileDiff::hunks`](super::FileDiff).
///
/// Every hunk gives `after`, none gives `before`, to the byte. Content that has no hunks because it
/// is not shown as text is accepted as a whole, as number zero. Numbers that do not exist mean
/// nothing.
pub fn apply_selected(before: &[u8], after: &[u8], accepted: &[usize]) -> Vec<u8> {
    let (old, new, hunks) = match Comparison::of(before, after) {
        Comparison::Opaque(_) if accepted.contains(&0) => return after.to_vec(),
        Comparison::Opaque(_) => return before.to_vec(),
        Comparison::Text { old, new, hunks } => (old, new, hunks),
    };
    let mut result = Vec::with_capacity(before.len().max(after.len()));
    let mut next = 0;
    for (number, hunk) in hunks.iter().enumerate() {
        result.extend_from_slice(old.run(&(next..hunk.old.start)));
        result.extend_from_slice(match accepted.contains(&number) {
            true => new.run(&hunk.new),
            false => old.run(&hunk.old),
        });
        next = hunk.old.end;
    }
    result.extend_from_slice(old.run(&(next..old.len())));
    result
}
