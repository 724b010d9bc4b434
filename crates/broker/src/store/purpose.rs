//! What a storage is opened for. Brokers don't run on a backup, and a backup isn't made into a storage of brokers: the
//! next backup would mix the records of two storages.

use crate::storage_id::StorageId;
use crate::store_error::StoreError;

/// See the file's first lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Purpose {
    /// For a broker.
    #[default]
    Broker,
    /// To be a backup of the storage with this id. It is created if it doesn't exist.
    Backup {
        /// The storage's id.
        of: StorageId,
    },
    /// To be looked at, whatever it is.
    View,
}

impl Purpose {
    /// What a storage that is created for this purpose says: of which storage it is a backup.
    pub(super) fn backup_of(self) -> Option<StorageId> {
        match self {
            Purpose::Backup { of } => Some(of),
            Purpose::Broker | Purpose::View => None,
        }
    }

    /// Checks what a storage says of itself. `place` is its directory or URL.
    pub(super) fn check(self, place: &dyn std::fmt::Display, backup_of: Option<StorageId>) -> Result<(), StoreError> {
        let why = match (self, backup_of) {
            (Purpose::Broker, Some(of)) => format!(
                "{place} is a backup of the storage {of}, and brokers don't run on backups; copy it into an empty \
                 directory or bucket with `rawline restore`, and use that"
            ),
            (Purpose::Backup { .. }, None) => format!(
                "{place} is a storage of brokers and no backup; name another directory or bucket, one that doesn't \
                 exist yet"
            ),
            (Purpose::Backup { of }, Some(other)) if of != other => format!(
                "{place} is a backup of another storage: of {other}, not of {of}; name another directory or bucket for \
                 this one"
            ),
            _ => return Ok(()),
        };
        Err(StoreError::human(why))
    }
}
