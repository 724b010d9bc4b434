//! Connections, whatever protocol they speak.

pub(crate) mod activity;
pub(crate) mod commit_thread;
pub(crate) mod join;
pub(crate) mod listen;
pub(crate) mod lobby;
pub mod pace;
pub(crate) mod peer;
pub(crate) mod pieces;
pub(crate) mod read_size;
pub(crate) mod sendfile;
pub(crate) mod stream;
pub(crate) mod tls;
