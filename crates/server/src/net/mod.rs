//! Connections, whatever protocol they speak.

pub mod listen;
pub mod pace;
pub(crate) mod peer;
pub(crate) mod sendfile;
