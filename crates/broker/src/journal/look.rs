//! Checks whether a journal's store has lost confirmed objects. Existing objects are never shadowed: before a
//! number counts as the journal's end, it is certain that nothing after it was acknowledged.
//!
//! A look costs one listing. It is confirmed before it counts: missing objects are read again, and a newer snapshot
//! may say that it was deleted because no snapshot needs it.

use crate::journal::load;
use crate::limits::{JOURNAL_READS_FIRST, LOST_OBJECTS_MAX};
use crate::store::{Dated, Store, StoredIndex};
use crate::store_error::StoreError;
use bytes::Bytes;
use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use rawline_journal::{Id, Index, Limits, Link, Lost, Missing, PutResult, Source, State};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// The objects after a missing number.
pub(super) enum AtEnd {
    /// Nothing that was acknowledged: it is the end.
    End,
    /// Nothing is lost, and it exists now.
    Sound,
    /// It exists now. Whether an object after it is lost has to be checked again.
    Appeared,
    /// A newer snapshot covers it.
    Covered,
    /// It was lost, and a person has given it up.
    GivenUp(GivenUp),
    /// Acknowledged objects are lost.
    Lost(StoreError),
}

/// Lost objects that a person has given up.
pub(super) struct GivenUp {
    pub lost: Range<u64>,
    /// The objects after them, up to the next that is missing.
    pub later: Range<u64>,
}

/// Looks after `end`, the first number that is missing.
pub(super) async fn at_end(store: Arc<dyn Store>, end: u64) -> Result<AtEnd, StoreError> {
    if !store.can_lose_objects() {
        return Ok(AtEnd::End);
    }
    let listing = store.list_from(end).await?;
    // The numbers show some holes, the links of the newest objects the others.
    let newest = join_all(listing.newest_after(end).into_iter().map(|number| store.index(Source::Journal(number))));
    let found: Vec<_> = newest.await.into_iter().collect::<Result<_, StoreError>>()?;
    let links = found.iter().filter_map(|dated| dated.found.as_ref()).map(|stored| stored.index.header.link);
    let certain = links.map(|link| link.certain_before()).max().unwrap_or(end);
    let holes = listing.holes(end, end.max(certain));
    let Some(first) = holes.first().cloned() else {
        let is_there = listing.objects.iter().any(|key| key.number == end);
        return Ok(if is_there { AtEnd::Sound } else { AtEnd::End });
    };
    if first.start != end || store.index(Source::Journal(end)).await?.found.is_some() {
        return Ok(AtEnd::Appeared);
    }
    let all = store.list().await?.found;
    if all.snapshots.iter().any(|snapshot| snapshot.number > end) {
        return Ok(AtEnd::Covered);
    }
    let missing = Missing { objects: holes, merged: Vec::new() };
    if !all.given_up.contains(&Source::Journal(end)) {
        return Ok(AtEnd::Lost(store.explain_lost(&missing, None)));
    }
    let next_hole = missing.objects.get(1).map_or(u64::MAX, |hole| hole.start);
    let present: BTreeSet<u64> = listing.objects.iter().map(|key| key.number).collect();
    let later = present.range(first.end..next_hole).zip(first.end..).take_while(|(found, number)| *found == number);
    let later = first.end..first.end + later.count() as u64;
    Ok(AtEnd::GivenUp(GivenUp { lost: first, later }))
}

/// Stores objects in the place of those that a person has given up, with the offsets of their records. `state` is that
/// before them.
pub(super) async fn replace(store: Arc<dyn Store>, state: State, given_up: GivenUp) -> Result<AtEnd, StoreError> {
    let GivenUp { lost, later } = given_up;
    if lost.end - lost.start > LOST_OBJECTS_MAX {
        let missing = Missing { objects: vec![lost], merged: Vec::new() };
        return Ok(AtEnd::Lost(
            store.explain_lost(&missing, Some("too many are missing to give them up: restore the snapshots")),
        ));
    }
    let read = |number: u64| {
        let read = store.index(Source::Journal(number));
        async move {
            let gone = || StoreError::wait(format!("object {number} of the journal is gone; retry"));
            Ok::<_, StoreError>((number, read.await?.found.ok_or_else(gone)?.index))
        }
    };
    let later: BTreeMap<u64, Index> =
        stream::iter(later).map(read).buffered(JOURNAL_READS_FIRST as usize).try_collect().await?;
    let indexes = later.iter().map(|(number, index)| (*number, index)).collect();
    let numbers: Vec<u64> = lost.clone().collect();
    let replaced = Lost::between(state.chain().last(), state.times().newest_us(), &state, &numbers, &indexes);
    let (mut state, mut objects) = (state, Vec::with_capacity(numbers.len()));
    for number in lost.start..later.keys().next_back().map_or(lost.end, |newest| newest + 1) {
        let own = replaced.object(number, &state);
        let Some(index) = own.as_ref().map(|(index, _)| index).or(later.get(&number)) else {
            unreachable!("object {number} is neither lost nor there")
        };
        if let Err(contradiction) = state.observe(index.header.link, &index.changes()) {
            let why = format!(
                "they can't be given up alone: object {number} depends on them ({contradiction}); to give up all that \
                 was stored from there on, move it and all objects with higher numbers out of the folder too"
            );
            let missing = Missing { objects: vec![lost], merged: Vec::new() };
            return Ok(AtEnd::Lost(store.explain_lost(&missing, Some(&why))));
        }
        objects.extend(own.map(|(_, bytes)| (number, Bytes::from(bytes))));
    }
    for (number, bytes) in objects {
        let put = store.create(Source::Journal(number), vec![bytes]).await;
        if let PutResult::NotStored | PutResult::Unknown = put {
            return Err(StoreError::wait(format!("object {number} could not be replaced; retry")));
        }
    }
    for (partition, offsets) in replaced.offsets() {
        tracing::error!(objects = ?lost, ?partition, ?offsets, "these records were given up");
    }
    Ok(AtEnd::Appeared)
}

/// Checks whether all objects exist to which the newest snapshot refers, beginning with the loaded snapshot.
pub(super) async fn referred(
    store: Arc<dyn Store>,
    mut next: u64,
    mut sources: BTreeSet<Source>,
) -> Result<Option<StoreError>, StoreError> {
    loop {
        let listing = store.list().await?.found;
        let mut missing = listing.lacks(&sources);
        if missing.is_empty() {
            return Ok(None);
        }
        if listing.snapshots.iter().any(|snapshot| snapshot.number > next)
            && let Some(bytes) = store.newest_snapshot().await?.found
            && let Ok(Some(newer)) = load::needed(&*store, bytes, Vec::new(), None).await
            && newer.next() > next
        {
            (next, sources) = (newer.next(), newer.sources().clone());
            continue;
        }
        let given_up = missing.without_given_up(&listing);
        if !given_up.is_empty() {
            tracing::error!(objects = ?given_up.objects, merged = ?given_up.merged, "these objects were given up");
        }
        return Ok((!missing.is_empty()).then(|| store.explain_lost(&missing, None)));
    }
}

/// The objects that a running broker knows to be stored.
pub(super) struct Known {
    /// The number in its newest snapshot.
    pub from: u64,
    /// Number of separate parts that it has.
    pub parts: u64,
    /// The objects before this one are certain.
    pub next: u64,
    /// The newest valid one.
    pub newest: Option<Link>,
}

/// The listings of a check, in addition to a read of the newest object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lists {
    /// Nothing: no object was added since the last check, so the newest one is still the one that was seen then.
    Nothing,
    /// The objects that no snapshot covers. The newest one may have been stored after others were deleted.
    New,
    /// All objects.
    All,
}

/// How the storage of a running broker is.
pub(super) enum Checked {
    /// As far as was looked, as it should be.
    Whole,
    /// The newest object was deleted because no snapshot needs it.
    NewestDeleted,
    /// The snapshots are gone.
    NoSnapshot,
    /// Objects are missing.
    Missing(StoreError),
    /// It was replaced under the broker.
    Changed(StoreError),
}

/// Looks whether a running broker's storage was changed by others.
pub(super) async fn check(
    store: Arc<dyn Store>,
    limits: Limits,
    known: Known,
    lists: Lists,
) -> Result<Checked, StoreError> {
    if let Some(changed) = store.changed().await? {
        return Ok(Checked::Changed(changed));
    }
    if !store.can_lose_objects() {
        return Ok(Checked::Whole);
    }
    let replaced = match known.newest {
        Some(newest) => match store.index(Source::Journal(newest.number)).await?.found {
            Some(StoredIndex { index, .. }) if index.header.link.id == newest.id => None,
            found => Some((newest, found.map(|found| found.index.header.link.id))),
        },
        None => None,
    };
    if replaced.is_none() {
        match lists {
            Lists::Nothing => return Ok(Checked::Whole),
            Lists::New => {
                let holes = store.list_from(known.from).await?.holes(known.from, known.next);
                return if holes.is_empty() { Ok(Checked::Whole) } else { confirm(&*store, &limits, &holes).await };
            }
            Lists::All => {}
        }
    }
    if let Some((newest, Some(other))) = replaced {
        return Ok(Checked::Changed(another(&*store, newest, other)));
    }
    let Dated { found: listing, date } = store.list().await?;
    // What a snapshot that is old enough doesn't cover, nothing deletes. The snapshots may be gone too.
    let oldest = listing.objects.iter().map(|key| key.number).min().unwrap_or(known.from);
    let from = listing.decisive(date, &limits).unwrap_or(oldest).min(known.from);
    let from = replaced.map_or(from, |(newest, _)| from.min(newest.number));
    let holes = listing.holes(from, known.next);
    if !holes.is_empty() {
        return confirm(&*store, &limits, &holes).await;
    }
    if replaced.is_some() {
        return Ok(Checked::NewestDeleted);
    }
    let parts = listing.parts.iter().filter(|part| part.next_number == known.from).count() as u64;
    let is_whole = |number| number > known.from || number == known.from && parts >= known.parts;
    let is_there = listing.snapshots.iter().any(|snapshot| is_whole(snapshot.number));
    Ok(if is_there || known.from == 1 { Checked::Whole } else { Checked::NoSnapshot })
}

/// Objects that were missing in a listing may have been put since, or deleted because no snapshot needs them.
async fn confirm(store: &dyn Store, limits: &Limits, holes: &[Range<u64>]) -> Result<Checked, StoreError> {
    let mut objects = Vec::new();
    let Dated { found: listing, date } = store.list().await?;
    let needed_from = listing.decisive(date, limits).unwrap_or(1);
    for hole in holes.iter().filter(|hole| hole.end > needed_from) {
        let hole = hole.start.max(needed_from)..hole.end;
        if store.index(Source::Journal(hole.start)).await?.found.is_none() {
            objects.push(hole);
        }
    }
    let mut missing = Missing { objects, merged: Vec::new() };
    missing.without_given_up(&listing);
    if missing.is_empty() {
        return Ok(Checked::NewestDeleted);
    }
    let why = "the storage was changed while the broker was running, or has lost what it had confirmed";
    Ok(Checked::Missing(store.explain_lost(&missing, Some(why))))
}

fn another(store: &dyn Store, newest: Link, other: Id) -> StoreError {
    let name = store.name_of(Source::Journal(newest.number));
    StoreError::human(format!(
        "{name} is another object than it was (it has the id {other:?} instead of {:?}): the storage was replaced \
         while the broker was running, for example by an older copy. Nothing more is stored; put the storage back, or \
         restart the broker to use it as it is now",
        newest.id
    ))
}
