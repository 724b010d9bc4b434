//! `crates/kafka` against another implementation of the protocol, `kafka-protocol`.

pub mod compare;
pub mod values;
pub mod vectors;

#[path = "../../../crates/kafka/tests/support/mod.rs"]
pub mod support;
