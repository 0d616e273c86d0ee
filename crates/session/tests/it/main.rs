//! Conversations put together from real tools, a real store and a scripted model.

mod approvals;
mod beginning;
mod budgets;
mod following;
mod front_end;
mod instructions;
mod long_answers;
mod observing;
mod plans;
mod recall;
mod rewinding;
mod settings;
mod stage;
mod sub_agents;
mod trees;
mod wire_model;
