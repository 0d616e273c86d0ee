//! The agent from end to end: the real binary, real HTTP, a scripted model.

pub(crate) mod bench;
mod budgets;
mod faults;
mod found_tools;
pub(crate) mod images;
mod instructions;
mod interrupting;
mod killing;
mod odd_answers;
mod on_demand;
mod results;
mod seeds;
mod size;
mod words;

use testkit::model_server::validity;
