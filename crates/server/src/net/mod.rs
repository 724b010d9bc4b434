//! Connections, whatever protocol they speak: their options, their pace, files sent without a copy.

pub mod listen;
pub mod pace;
pub mod sendfile;
