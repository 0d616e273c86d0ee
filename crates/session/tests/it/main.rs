//! Conversations put together from real tools, a real store and a scripted model.

mod approvals;
mod budgets;
mod instructions;
mod plans;
mod settings;
mod stage;
mod sub_agents;
mod trees;
mod wire_model;
