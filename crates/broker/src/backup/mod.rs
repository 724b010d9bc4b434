//! Copies of a storage: a backup of it, also while brokers run on it, and a storage made of a backup.
//!
//! A backup has the layout of a storage, on a directory or in a bucket, and says that it is one. Each run adds what is
//! new: merged objects with the batches as they are, and then a snapshot that refers to them and has everything else,
//! such as topics, groups' offsets and producers. So each snapshot is a point in time that can be restored, and a run
//! that breaks off adds none. `plan.rs` decides what is new, `copy.rs` copies it, `points.rs` knows and deletes points.
//! No object of the source is needed at an old place: the copy of a busy directory's journal may take longer than the
//! broker keeps an object, and then what is gone is copied from where it is now.

mod copy;
mod plan;
mod points;

use crate::doctor::{Reopen, Unreadable, unreadable};
use crate::journal::stored::StoredJournal;
use crate::limits::{VIEW_RETRY, VIEW_TRIES_MAX};
use crate::meter::Meter;
use crate::store::{Storage, Store};
use crate::store_error::StoreError;
use copy::Copy;
pub use points::{points, tidy};
use std::sync::Arc;
use tokio::time::sleep;

/// What was copied of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    /// Number of the object after those whose records the copy has.
    pub next: u64,
    /// Time of the newest of these objects, in microseconds since the Unix epoch.
    pub newest_us: u64,
    /// Size of the copied batches in bytes, those of earlier runs not included.
    pub bytes: u64,
    /// Number of objects that were stored.
    pub objects: u64,
    /// Whether a point was added: not if nothing has happened since the last.
    pub is_new: bool,
}

/// Brings a backup up to date. `reopen` opens the source as it is now; `to` is opened as a backup of it.
pub async fn back_up(reopen: &Reopen<'_>, to: &Storage, meter: &Meter) -> Result<Vec<Copied>, StoreError> {
    let from = reopen().await?;
    same_journals(&from, to)?;
    let mut copied = Vec::with_capacity(to.journals.len());
    for (number, store) in (0..).zip(&to.journals) {
        let base = StoredJournal::load(store, number).await?;
        if let Some(error) = base.lost {
            return Err(error);
        }
        let base_next = base.state.chain().next();
        let mut copy = Copy::begin(store.clone(), Some(&base)).await?;
        drop(base);
        let mut in_vain = 0;
        let view = loop {
            let from = reopen().await?;
            let (source, view) = load(&from, number).await?;
            let next = view.state.chain().next();
            if next < base_next {
                return Err(StoreError::human(format!(
                    "the backup has objects up to {} of journal {number}, and the storage only up to {}: it was \
                     replaced by an older copy; use a new place for its backups",
                    base_next - 1,
                    next - 1
                )));
            }
            let round = copy.round(&*source, &view, meter).await?;
            match round.gone {
                None => break view,
                // It is elsewhere now, unless nothing gets anywhere.
                Some(_) if round.bytes > 0 => in_vain = 0,
                Some(_) if in_vain < VIEW_TRIES_MAX => {
                    in_vain += 1;
                    sleep(VIEW_RETRY).await;
                }
                Some(error) => return Err(error),
            }
        };
        let is_new = view.state.chain().next() > base_next;
        copied.push(copy.finish(&view, is_new).await?);
    }
    Ok(copied)
}

/// Makes the empty storage `to` a copy of `from`: of a backup as it was at its newest point up to `at_us`
/// (microseconds since the Unix epoch), of another storage as it is now. It has to be opened again before a broker uses
/// it.
pub async fn restore(
    from: &Storage,
    at_us: Option<u64>,
    to: &Storage,
    meter: &Meter,
) -> Result<Vec<Copied>, StoreError> {
    same_journals(from, to)?;
    for store in &to.journals {
        let found = store.list().await?.found;
        if !(found.objects.is_empty() && found.merged.is_empty() && found.snapshots.is_empty()) {
            return Err(StoreError::human(
                "the storage to copy into isn't empty; name a directory or a prefix in a bucket that doesn't exist yet",
            ));
        }
    }
    let mut copied = Vec::with_capacity(to.journals.len());
    for (number, store) in (0..).zip(&to.journals) {
        let (source, view) = match from.backup_of {
            Some(_) => points::at(from, number, at_us).await?,
            None => load(from, number).await?,
        };
        let mut copy = Copy::begin(store.clone(), None).await?;
        if let Some(error) = copy.round(&*source, &view, meter).await?.gone {
            return Err(error);
        }
        let is_new = view.state.chain().next() > 1;
        copied.push(copy.finish(&view, is_new).await?);
    }
    Ok(copied)
}

/// Reads the objects that a copy has stored, and compares every checksum.
pub async fn verify(to: &Storage, copied: &[Copied], meter: &Meter) -> Result<(), StoreError> {
    for ((number, store), copied) in (0..).zip(&to.journals).zip(copied).filter(|(_, copied)| copied.objects > 0) {
        let Some(view) = StoredJournal::at(store, number, copied.next).await? else {
            return Err(StoreError::human("the snapshot that was stored is gone; copy again"));
        };
        let newest = view.state.merges().begun();
        let is_new = |source: rawline_journal::Source| source.number() + copied.objects > newest;
        let pieces: Vec<_> = view.pieces().into_iter().filter(|(_, piece, _)| is_new(piece.place.source)).collect();
        if let Some(Unreadable { error, .. }) = unreadable(&**store, pieces, meter).await.into_iter().next() {
            return Err(StoreError::human(format!("the copy is damaged: {error}; check the disk, and copy again")));
        }
    }
    Ok(())
}

async fn load(from: &Storage, number: u32) -> Result<(Arc<dyn Store>, StoredJournal), StoreError> {
    let Some(source) = from.journals.get(number as usize) else { unreachable!("journal {number} of a storage") };
    let view = StoredJournal::load(source, number).await?;
    match view.lost {
        Some(error) => Err(error),
        None => Ok((source.clone(), view)),
    }
}

fn same_journals(from: &Storage, to: &Storage) -> Result<(), StoreError> {
    let (source, copy) = (from.journals.len(), to.journals.len());
    if source == copy {
        return Ok(());
    }
    Err(StoreError::human(format!(
        "the storage has {source} journals, the copy has {copy}: copy a storage of several journals into a bucket, one \
         that has no storage with this prefix yet; a directory has one journal"
    )))
}
