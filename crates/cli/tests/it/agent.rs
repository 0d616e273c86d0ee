//! The agent from end to end: the real binary, real HTTP, a scripted model.

mod bench;
mod faults;
mod images;
mod interrupting;
mod killing;
mod odd_answers;
mod seeds;
mod size;

use testkit::model_server::validity;
