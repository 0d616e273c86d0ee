//! The agent from end to end: the real binary, real HTTP, a scripted model.

mod bench;
mod budgets;
mod faults;
mod interrupting;
mod killing;
mod odd_answers;
mod seeds;
mod size;
mod validity;
