//! Confines the commands of this crate's tests, which cannot start themselves anew.

fn main() {
    sandbox::hidden_entry();
}
