//! Turns the laboratory's result lines into a page, charts and tables.
//!
//! - [`Line`] and [`Check`] are the drivers' output; [`read`] reads the files they append to.
//! - [`Report`] is what may be shown of them: one run, each figure once, and only with passed conformance checks.
//! - [`svg`] draws every chart, for the page and for the documentation.
//! - [`page`] is the self-contained HTML page; [`docs`] fills the tables of the documentation.
//! - [`sizes`] measures the bytes that the drivers wrote.
//! - [`trend`] draws the broker's benchmarks over time.

#![forbid(unsafe_code)]

pub mod article;
pub mod check;
pub mod docs;
pub mod evolution;
pub mod figure;
pub mod formats;
pub mod line;
pub mod page;
pub mod read;
pub mod report;
pub mod sizes;
pub mod stage;
pub mod svg;
pub mod tables;
pub mod text;
pub mod trend;

pub use check::Check;
pub use figure::{Figure, Operation, Row, Setting};
pub use line::{Line, Machine};
pub use report::{Refused, Report};
