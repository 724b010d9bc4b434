//! The part of a snapshot that has the transactions.

use super::SnapshotError;
use super::parse::Parts;
use super::raw::{
    ALIGNMENT, FLAG_COMMITTED, FLAG_ENDED, FLAG_OPEN, RawAborted, RawOpen, RawPartitionTransactions, RawPending,
    RawTransactional, RawTransactions,
};
use crate::control::Committed;
use crate::limits::{
    NAME_BYTES_MAX, OWNER_BYTES_MAX, SETTINGS_BYTES_MAX, TRANSACTION_PARTITIONS_MAX, TRANSACTIONS_NOTED_MAX,
};
use crate::names::{Ended, Named};
use crate::offsets::Pending;
use crate::partition_id::PartitionId;
use crate::shared_map::SharedMap;
use crate::state::State;
use crate::transactions::{Aborted, Open, PartitionTransactions};
use std::sync::Arc;
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32, U64};

fn has_any(named: &Named) -> bool {
    named.timeout_ms > 0 || named.ended.is_some()
}

pub(super) fn write(state: &State, bytes: &mut Vec<u8>) {
    let producers: Vec<_> = state.names.iter().filter(|(_, named)| has_any(named)).collect();
    let partitions: Vec<_> =
        state.partitions.iter().filter(|(_, partition)| !partition.transactions().is_empty()).collect();
    let pending = state.offsets.pending();
    let raw = RawTransactions {
        producers: U32::new(producers.len() as u32),
        partitions: U32::new(partitions.len() as u32),
        pending: U32::new(pending.values().map(|pending| pending.committed.len()).sum::<usize>() as u32),
        zero: U32::new(0),
    };
    bytes.extend_from_slice(raw.as_bytes());
    for (id, named) in producers {
        let open = state.transactions.open.get(&id).map(|open| state.times.at_age(open.began_us));
        write_producer(id, named, open, bytes);
    }
    for (id, partition) in partitions {
        write_partition(*id, partition.transactions(), bytes);
    }
    for (producer, pending) in pending {
        for ((group, id), committed) in &pending.committed {
            write_pending((*producer, &pending.owner), group, *id, committed, bytes);
        }
    }
}

/// `began_us` is the beginning of the open transaction, if there is one.
fn write_producer(id: u64, named: &Named, began_us: Option<u64>, bytes: &mut Vec<u8>) {
    let flag = |is_set: bool, flag: u16| if is_set { flag } else { 0 };
    let flags = flag(named.ended.is_some(), FLAG_ENDED)
        | flag(named.ended.is_some_and(|ended| ended.is_committed), FLAG_COMMITTED)
        | flag(began_us.is_some(), FLAG_OPEN);
    let raw = RawTransactional {
        id: U64::new(id),
        ended_id: U64::new(named.ended.map_or(0, |ended| ended.id)),
        began_us: U64::new(began_us.unwrap_or(0)),
        timeout_ms: U32::new(named.timeout_ms),
        ended_epoch: U16::new(named.ended.map_or(0, |ended| ended.epoch)),
        flags: U16::new(flags),
    };
    bytes.extend_from_slice(raw.as_bytes());
}

fn write_partition(id: PartitionId, transactions: &PartitionTransactions, bytes: &mut Vec<u8>) {
    let raw = RawPartitionTransactions {
        topic: U64::new(id.topic),
        number: U32::new(id.number),
        open: U32::new(transactions.open.len() as u32),
        aborted: U64::new(transactions.aborted.len() as u64),
        from: U64::new(transactions.offsets.start),
        to: U64::new(transactions.offsets.end),
    };
    bytes.extend_from_slice(raw.as_bytes());
    for (first_offset, producer) in &transactions.open {
        let raw = RawOpen { first_offset: U64::new(*first_offset), producer: U64::new(*producer) };
        bytes.extend_from_slice(raw.as_bytes());
    }
    for Aborted { producer, first_offset, last_offset, stable_offset } in transactions.aborted.values() {
        let raw = RawAborted {
            producer: U64::new(*producer),
            first_offset: U64::new(*first_offset),
            last_offset: U64::new(*last_offset),
            stable_offset: U64::new(*stable_offset),
        };
        bytes.extend_from_slice(raw.as_bytes());
    }
}

fn write_pending(
    (producer, owner): (u64, &str),
    group: &str,
    id: PartitionId,
    committed: &Committed,
    bytes: &mut Vec<u8>,
) {
    let raw = RawPending {
        producer: U64::new(producer),
        topic: U64::new(id.topic),
        offset: U64::new(committed.offset.cast_unsigned()),
        number: U16::new(id.number as u16),
        owner_bytes: U16::new(owner.len() as u16),
        group_bytes: U16::new(group.len() as u16),
        metadata_bytes: U16::new(committed.metadata.len() as u16),
    };
    bytes.extend_from_slice(raw.as_bytes());
    bytes.extend_from_slice(group.as_bytes());
    bytes.extend_from_slice(&committed.metadata);
    bytes.extend_from_slice(owner.as_bytes());
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
}

impl Parts<'_> {
    /// Reads the transactions of a state that has everything else.
    pub(super) fn transactions(&mut self, state: &mut State) -> Result<(), SnapshotError> {
        let raw: RawTransactions = self.next()?;
        let mut before = None;
        for _ in 0..raw.producers.get() {
            let id = self.transactional(state)?;
            if before.is_some_and(|before| before >= id) {
                return Err(SnapshotError::Content("the order of the producers with transactions"));
            }
            before = Some(id);
        }
        let mut before = None;
        for _ in 0..raw.partitions.get() {
            let id = self.partition_transactions(state)?;
            if before.is_some_and(|before| before >= id) {
                return Err(SnapshotError::Content("the order of the partitions with transactions"));
            }
            before = Some(id);
        }
        let mut all: SharedMap<u64, Pending> = SharedMap::new();
        let mut before = None;
        for _ in 0..raw.pending.get() {
            let (producer, owner, key, committed) = self.pending(state)?;
            let place = (producer, key.clone());
            if before.as_ref().is_some_and(|before| *before >= place) {
                return Err(SnapshotError::Content("the order of the offsets in transactions"));
            }
            before = Some(place);
            let new = || Pending { owner: owner.clone(), committed: SharedMap::new() };
            let of_producer = all.or_insert_with(producer, new);
            if of_producer.owner != owner {
                return Err(SnapshotError::Content("the owner of the offsets in a transaction"));
            }
            of_producer.committed.insert(key, committed);
        }
        let offsets = std::mem::take(&mut state.offsets).with_pending(all);
        state.offsets = offsets.ok_or(SnapshotError::Content("the number of the groups' offsets"))?;
        let is_small = state.transactions.noted <= TRANSACTIONS_NOTED_MAX
            && state.transactions.open.values().all(|open| open.partitions.len() <= TRANSACTION_PARTITIONS_MAX);
        if is_small { Ok(()) } else { Err(SnapshotError::Content("the number of transactions")) }
    }

    fn transactional(&mut self, state: &mut State) -> Result<u64, SnapshotError> {
        let raw: RawTransactional = self.next()?;
        let (id, flags, time_us) = (raw.id.get(), raw.flags.get(), state.times.newest_us());
        let wrong = SnapshotError::Content("a producer with transactions");
        let is_open = flags & FLAG_OPEN != 0;
        let ended =
            Ended { id: raw.ended_id.get(), epoch: raw.ended_epoch.get(), is_committed: flags & FLAG_COMMITTED != 0 };
        let none = Ended { id: 0, epoch: 0, is_committed: false };
        let has_ended = flags & FLAG_ENDED != 0;
        let is_sound = flags & !(FLAG_ENDED | FLAG_COMMITTED | FLAG_OPEN) == 0
            && (has_ended || ended == none)
            && (is_open || raw.began_us.get() == 0)
            && raw.began_us.get() <= time_us
            && raw.timeout_ms.get() > 0;
        let named = state.names.get_mut(id).filter(|_| is_sound).ok_or(wrong)?;
        named.timeout_ms = raw.timeout_ms.get();
        named.ended = has_ended.then_some(ended);
        if is_open {
            let open = Open { began_us: raw.began_us.get(), ..Open::default() };
            state.transactions.open.insert(id, open);
        }
        Ok(id)
    }

    fn partition_transactions(&mut self, state: &mut State) -> Result<PartitionId, SnapshotError> {
        let raw: RawPartitionTransactions = self.next()?;
        let id = PartitionId { topic: raw.topic.get(), number: raw.number.get() };
        let wrong = SnapshotError::Content("a partition's transactions");
        let partition = state.partitions.get_mut(&id).ok_or(wrong)?;
        let offsets = raw.from.get()..raw.to.get();
        let mut transactions = PartitionTransactions { offsets, ..PartitionTransactions::default() };
        let is_sound = transactions.offsets.start < transactions.offsets.end
            && transactions.offsets.end <= partition.next_offset
            || transactions.offsets == (0..0);
        if !is_sound {
            return Err(wrong);
        }
        for _ in 0..raw.open.get() {
            let raw: RawOpen = self.next()?;
            let (first_offset, producer) = (raw.first_offset.get(), raw.producer.get());
            let is_in_order = transactions.open.last_key_value().is_none_or(|(before, _)| *before < first_offset);
            let open = state.transactions.open.get_mut(&producer).ok_or(wrong)?;
            if !is_in_order || first_offset >= partition.next_offset || open.partitions.insert(id, ()).is_some() {
                return Err(wrong);
            }
            transactions.open.insert(first_offset, producer);
        }
        for _ in 0..raw.aborted.get() {
            let raw: RawAborted = self.next()?;
            let aborted = Aborted {
                producer: raw.producer.get(),
                first_offset: raw.first_offset.get(),
                last_offset: raw.last_offset.get(),
                stable_offset: raw.stable_offset.get(),
            };
            let is_in_order =
                transactions.aborted.last_key_value().is_none_or(|(before, _)| *before < aborted.last_offset);
            if !is_in_order
                || aborted.first_offset >= aborted.last_offset
                || aborted.last_offset >= partition.next_offset
            {
                return Err(wrong);
            }
            transactions.aborted.insert(aborted.last_offset, aborted);
        }
        if transactions.is_empty() {
            return Err(wrong);
        }
        state.transactions.noted += transactions.count();
        partition.change_transactions(|of_partition| *of_partition = transactions);
        Ok(id)
    }

    #[expect(clippy::type_complexity, reason = "an entry of two maps, one in the other")]
    fn pending(&mut self, state: &State) -> Result<(u64, Arc<str>, (Arc<str>, PartitionId), Committed), SnapshotError> {
        let raw: RawPending = self.next()?;
        let wrong = SnapshotError::Content("an offset in a transaction");
        let id = PartitionId { topic: raw.topic.get(), number: raw.number.get().into() };
        let (group_bytes, metadata_bytes) = (raw.group_bytes.get() as usize, raw.metadata_bytes.get() as usize);
        let owner_bytes = raw.owner_bytes.get() as usize;
        let is_sound = owner_bytes <= OWNER_BYTES_MAX
            && (1..=NAME_BYTES_MAX).contains(&group_bytes)
            && metadata_bytes <= SETTINGS_BYTES_MAX
            && state.transactions.open.contains_key(&raw.producer.get())
            && state.topics.check_partition(id.topic, id.number).is_ok();
        if !is_sound {
            return Err(wrong);
        }
        let texts = self.bytes((group_bytes + metadata_bytes + owner_bytes).next_multiple_of(ALIGNMENT))?;
        let (group, rest) = texts.split_at(group_bytes);
        let (metadata, rest) = rest.split_at_checked(metadata_bytes).ok_or(wrong)?;
        let (metadata, owner) = (metadata.into(), rest.get(..owner_bytes).ok_or(wrong)?);
        let text = |bytes| str::from_utf8(bytes).map(Arc::from).map_err(|_| wrong);
        let (group, owner) = (text(group)?, text(owner)?);
        Ok((raw.producer.get(), owner, (group, id), Committed { offset: raw.offset.get().cast_signed(), metadata }))
    }
}
