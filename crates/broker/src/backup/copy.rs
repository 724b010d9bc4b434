//! Copies a journal: batches into objects of the copy, each verified on the way, and then the snapshot.

use super::Copied;
use super::plan::{Part, Pieces, plan};
use crate::journal::copy::{CopyError, Made, Read, dated, lay_out, read_source};
use crate::journal::stored::StoredJournal;
use crate::limits::{
    BACKUP_OBJECT_BYTES, BACKUP_PUTS_MAX, BACKUP_TRIES_MAX, OBJECT_BATCHES_MAX, SNAPSHOT_PART_BYTES, VIEW_READS_MAX,
};
use crate::meter::Meter;
use crate::store::Store;
use crate::store_error::StoreError;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, FuturesUnordered, StreamExt};
use rawline_batch::Kind;
use rawline_journal::{Id, MergedPiece, PutResult, SnapshotName, Source, build_snapshot_in_parts};
use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;

/// See the file's first lines.
pub(super) struct Copy {
    to: Arc<dyn Store>,
    /// What the copy has of the source.
    have: Pieces,
    /// The writer's random number.
    run: u64,
    /// Number of the next object.
    next: u64,
    bytes: u64,
    objects: u64,
}

/// What a round has copied.
pub(super) struct Round {
    pub bytes: u64,
    /// Why it isn't all: objects are gone that were to be copied.
    pub gone: Option<StoreError>,
}

type Storing = BoxFuture<'static, Result<Arc<[MergedPiece]>, StoreError>>;

impl Copy {
    /// Continues a copy that has this. Objects that an earlier run has left keep their numbers.
    #[expect(clippy::disallowed_methods, reason = "a number that no other writer draws")]
    pub async fn begin(to: Arc<dyn Store>, base: Option<&StoredJournal>) -> Result<Copy, StoreError> {
        let listed = to.list().await?.found;
        let newest = listed.merged.iter().map(|key| key.number).max().unwrap_or_default();
        let begun = base.map_or(0, |base| base.state.merges().begun());
        let mut have = Pieces::new();
        for (partition, piece, end) in base.map(StoredJournal::pieces).unwrap_or_default() {
            have.entry(partition).or_default().insert(piece.first_offset, (piece, end));
        }
        Ok(Copy { to, have, run: rand::random(), next: newest.max(begun) + 1, bytes: 0, objects: 0 })
    }

    /// Copies what is missing, as far as it is still there.
    pub async fn round(&mut self, from: &dyn Store, view: &StoredJournal, meter: &Meter) -> Result<Round, StoreError> {
        let mut parts = match plan(from, view, &mut self.have).await {
            Err(error) if error.is_gone => return Ok(Round { bytes: 0, gone: Some(error) }),
            parts => parts?,
        };
        parts.sort_unstable_by_key(|part| (part.wanted.1.place.source, part.wanted.0, part.wanted.1.first_offset));
        meter.expect(parts.iter().map(|part| u64::from(part.wanted.1.place.bytes)).sum());
        let by_source = parts.chunk_by(|one, next| one.wanted.1.place.source == next.wanted.1.place.source);
        let mut reads = pin!(stream::iter(by_source).map(|parts| read(from, parts)).buffered(VIEW_READS_MAX));
        let (mut gathered, mut storing) = (Gathered::default(), FuturesUnordered::<Storing>::new());
        let (before, mut gone) = (self.bytes, None);
        while let Some(read) = reads.next().await {
            let made = match read {
                Ok(made) => made,
                Err(error) if error.is_gone => {
                    gone = Some(error);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let more = Gathered::of(made);
            meter.done(more.bytes);
            self.bytes += more.bytes;
            if !gathered.has_room_for(&more) {
                storing.push(self.store(std::mem::take(&mut gathered)));
            }
            gathered.add(more);
            while storing.len() >= BACKUP_PUTS_MAX {
                self.stored(storing.next().await)?;
            }
        }
        if !gathered.made.is_empty() {
            storing.push(self.store(gathered));
        }
        while !storing.is_empty() {
            self.stored(storing.next().await)?;
        }
        Ok(Round { bytes: self.bytes - before, gone })
    }

    /// Begins to store an object.
    fn store(&mut self, gathered: Gathered) -> Storing {
        let (to, run, number) = (self.to.clone(), self.run, self.next);
        self.next += 1;
        self.objects += 1;
        let made = gathered.joined();
        Box::pin(async move {
            let (source, id) = (Source::Merged(number), Id { run, commit: number });
            let copied = lay_out(number, id, made);
            for _ in 0..BACKUP_TRIES_MAX {
                match to.create(source, copied.parts.clone()).await {
                    PutResult::Created { .. } | PutResult::Found { .. } => return Ok(copied.pieces),
                    PutResult::Exists => {
                        // An earlier try may have stored it.
                        let found = to.index(source).await?.found;
                        if found.is_some_and(|stored| stored.index.header.link.id == id) {
                            return Ok(copied.pieces);
                        }
                        return Err(StoreError::human(format!(
                            "{} exists already: another copy into this storage runs; start one after the other",
                            to.name_of(source)
                        )));
                    }
                    PutResult::NotStored | PutResult::Unknown => {}
                }
            }
            let failed = || StoreError::wait(format!("{} can't be stored; the log says why", to.name_of(source)));
            Err(to.refusal().or_else(|| to.failure()).unwrap_or_else(failed))
        })
    }

    fn stored(&mut self, stored: Option<Result<Arc<[MergedPiece]>, StoreError>>) -> Result<(), StoreError> {
        let Some(pieces) = stored else { unreachable!("no object is being stored") };
        for MergedPiece { partition, piece, next_offset } in &*pieces? {
            let of_partition = self.have.entry(*partition).or_default();
            let before = of_partition.insert(piece.first_offset, (*piece, *next_offset));
            assert!(before.is_none(), "{before:?} and {piece:?} of {partition:?}");
        }
        Ok(())
    }

    /// Stores the snapshot of what was copied.
    pub async fn finish(self, view: &StoredJournal, is_new: bool) -> Result<Copied, StoreError> {
        let next = view.state.chain().next();
        let newest_us = view.state.times().newest_us();
        let copied = Copied { next, newest_us, bytes: self.bytes, objects: self.objects, is_new };
        if !is_new {
            return Ok(copied);
        }
        self.check(view);
        let pieces: BTreeMap<_, Vec<_>> = (self.have.into_iter())
            .map(|(id, pieces)| (id, pieces.into_values().map(|(piece, _)| piece).collect()))
            .collect();
        let state = view.state.clone().with_merges(self.next - 1);
        let mut parts = Vec::new();
        let put = |name, bytes: Vec<u8>| parts.push((name, bytes));
        let root = build_snapshot_in_parts(&state, SNAPSHOT_PART_BYTES, &pieces, put);
        for (name, bytes) in parts.into_iter().chain([(SnapshotName::root(next), root)]) {
            let bytes = bytes::Bytes::from(bytes);
            let mut tries = 1;
            while let Err(error) = self.to.create_snapshot(name, bytes.clone()).await {
                if error.kind == Kind::TellHuman || tries == BACKUP_TRIES_MAX {
                    return Err(error);
                }
                tries += 1;
            }
        }
        Ok(copied)
    }

    /// The copy has every record of the source, once.
    fn check(&self, view: &StoredJournal) {
        for (id, offsets, _) in view.state.partitions() {
            let Some(pieces) = self.have.get(&id).filter(|_| !offsets.is_empty()) else {
                assert!(offsets.is_empty(), "nothing of {id:?} was copied, which has {offsets:?}");
                continue;
            };
            let begin = pieces.keys().next().copied();
            let end = pieces
                .values()
                .try_fold(begin, |end, (piece, next)| (end == Some(piece.first_offset)).then_some(Some(*next)));
            assert!(begin.is_some_and(|begin| begin <= offsets.start), "{id:?} from {begin:?} on, {offsets:?} wanted");
            assert_eq!(end.flatten(), Some(offsets.end), "{id:?}, whose copy begins at {begin:?}");
        }
    }
}

/// Reads parts of one object.
async fn read(from: &dyn Store, parts: &[Part]) -> Result<Vec<Made>, StoreError> {
    let wanted: Vec<_> = parts.iter().map(|part| part.wanted).collect();
    let read = read_source(from, &wanted).await.map_err(CopyError::into_error)?;
    assert_eq!(read.len(), parts.len(), "parts of an object, read and wanted");
    Ok(parts.iter().zip(read).flat_map(|(part, read)| cut(part, read)).collect())
}

/// The wanted ranges of a piece.
fn cut(part: &Part, (batches, bytes): Read) -> impl Iterator<Item = Made> {
    let (partition, piece, _) = part.wanted;
    part.ranges.iter().map(move |range| {
        let (mut offset, mut position, mut begin) = (piece.first_offset, 0, 0);
        let mut own = Vec::new();
        for batch in &batches {
            if offset == range.start {
                begin = position;
            }
            if range.contains(&offset) {
                own.push(dated(batch, piece.appended_us));
            }
            offset += u64::from(batch.records);
            position += batch.bytes as usize;
            if offset == range.end {
                break;
            }
        }
        assert_eq!(offset, range.end, "{range:?} of {piece:?}");
        Made {
            partition,
            first_offset: range.start,
            next_offset: range.end,
            appended_us: piece.appended_us,
            batches: own,
            parts: vec![bytes.slice(begin..position)],
        }
    })
}

/// Pieces that become one object.
#[derive(Default)]
struct Gathered {
    made: Vec<Made>,
    bytes: u64,
    batches: usize,
}

impl Gathered {
    fn of(made: Vec<Made>) -> Gathered {
        let bytes = made.iter().flat_map(|made| &made.parts).map(|part| part.len() as u64).sum();
        let batches = made.iter().map(|made| made.batches.len()).sum();
        Gathered { made, bytes, batches }
    }

    fn has_room_for(&self, more: &Gathered) -> bool {
        self.made.is_empty()
            || self.bytes + more.bytes <= BACKUP_OBJECT_BYTES && self.batches + more.batches <= OBJECT_BATCHES_MAX
    }

    fn add(&mut self, more: Gathered) {
        self.made.extend(more.made);
        self.bytes += more.bytes;
        self.batches += more.batches;
    }

    /// In order, with adjacent pieces of a partition as one.
    fn joined(mut self) -> Vec<Made> {
        self.made.sort_unstable_by_key(|made| (made.partition, made.first_offset));
        let mut joined: Vec<Made> = Vec::with_capacity(self.made.len());
        for made in self.made {
            let follows = |last: &&mut Made| last.partition == made.partition && last.next_offset == made.first_offset;
            match joined.last_mut().filter(follows) {
                Some(last) => {
                    last.next_offset = made.next_offset;
                    last.appended_us = last.appended_us.max(made.appended_us);
                    last.batches.extend(made.batches);
                    last.parts.extend(made.parts);
                }
                None => joined.push(made),
            }
        }
        joined
    }
}
