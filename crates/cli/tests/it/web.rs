//! The service from end to end: the real binary, real HTTP on both sides, a scripted model.

mod access;
mod attach;
mod attacks;
mod conversation;
mod description;
mod killing;
mod many;
mod service;
