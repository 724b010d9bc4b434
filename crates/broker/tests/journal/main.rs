//! A journal on a store, by its driver: what is appended is stored in few objects, survives, and races with others.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)] // Helpers may fail a test.

mod bucket;
mod busy;
mod clocks;
mod clouds;
mod compacting;
mod copies;
mod endings;
mod memory;
mod merging;
mod parts;
mod support;
