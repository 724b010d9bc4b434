//! Access control: keys, their grants and quotas, and the audit log. No HTTP and no Kafka.
//!
//! `keys.rs` finds the [`Caller`] of a request by its key. The protocols compare the grants that a request needs with
//! the caller's [`Grants`]: each has a table of that (`crate::http::routes`, `crate::kafka::needs`).

pub(crate) mod audit;
mod caller;
mod file;
mod grants;
mod hashes;
mod key_file;
mod keys;
pub mod limits;
mod quota;
mod reload;
pub(crate) mod scram;

pub use audit::Audit;
pub use caller::Caller;
pub(crate) use caller::{ConnectionsTooMany, Identity, Place};
pub use file::{FileError, change_keys, read_keys};
pub(crate) use grants::{Denied, Operation, shown};
pub use grants::{Grants, PatternInvalid, Patterns};
pub use key_file::{Change, KeyEntry, KeyFile, KeyFileError};
pub(crate) use keys::Candidates;
pub use keys::{Access, ListenRefused, check_listen};
pub use quota::QuotaLimits;
