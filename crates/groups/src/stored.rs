//! The bytes of a group's state in the journal. No other file depends on them.
//!
//! Numbers are LEB128 (seven bits a byte, the lowest first, the highest bit set in all but the last byte), texts have
//! their length before them, and what may be missing has 1 or 0 before it. Times aren't kept: a member's session begins
//! anew where the group is read.
//!
//! ```text
//! group:    version u8 = 1 │ kind u8 (1: classic, 2: consumer) │ classic or consumer
//! classic:  phase u8 (0: empty, 1: joining, 2: syncing, 3: stable) │ generation │ protocol type │ protocol │
//!           leader? │ members │ per member: id │ instance? │ client │ host │ session in ms │ rebalance in ms │
//!           protocols │ per protocol: name, what the member says │ assignment
//! consumer: epoch │ target epoch │ checksum of the topics u32 │ topics │ per topic: id (16 bytes) │ members │
//!           per member: id │ instance? │ client │ host │ rack? │ rebalance in ms │ names │ per name: text │ regex? │
//!           patterns of visible topics │ per pattern: text │ strategy u8 (0: none, 1: uniform, 2: range) │ epoch │
//!           previous epoch │
//!           step u8 (0: stable, 1: revoking, 2: waiting) │ is away u8 │ target │ assigned? (missing: the target) │
//!           revoking
//! share:    topics │ per topic: its place in the list of topics │ runs │
//!           per run: partitions since the end of the run before │ partitions
//! ```
//!
//! Members that join for the first time are not in it: they aren't members before all have joined.

use super::consumer::{Assignor, Partitions};
use super::request::Identity;
use bytes::Bytes;
use rawline_journal::TopicId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

const VERSION: u8 = 1;
const CLASSIC: u8 = 1;
const CONSUMER: u8 = 2;

/// Bytes that aren't a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("what is stored of a group can't be read: {0}")]
pub struct StoredError(pub &'static str);

/// The stored state of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredGroup {
    /// A classic one.
    Classic(StoredClassic),
    /// One in which the broker divides the partitions.
    Consumer(StoredConsumers),
}

/// How far the division of a classic group is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredPhase {
    Empty,
    Joining,
    Syncing,
    Stable,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredClassic {
    pub phase: StoredPhase,
    pub generation: u32,
    pub protocol_type: Arc<str>,
    pub protocol: Arc<str>,
    pub leader: Option<Arc<str>>,
    pub members: Vec<StoredMember>,
}

/// The identity of a member, in a group of either kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredName {
    pub id: Arc<str>,
    pub instance: Option<Arc<str>>,
    pub identity: Identity,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredMember {
    pub name: StoredName,
    pub session: Duration,
    pub rebalance: Duration,
    pub protocols: Vec<(Arc<str>, Bytes)>,
    pub assignment: Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredConsumers {
    pub epoch: u32,
    pub target_epoch: u32,
    /// Of the topics that the members want, to know whether there are others since.
    pub wanted_crc32c: u32,
    pub members: Vec<StoredConsumer>,
}

/// How far a member of a consumer group is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredStep {
    Stable,
    Revoking,
    Waiting,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredConsumer {
    pub name: StoredName,
    pub rack: Option<Arc<str>>,
    pub rebalance: Duration,
    pub names: BTreeSet<Arc<str>>,
    pub regex: Option<Arc<str>>,
    /// The topics that its client may know of.
    pub visible: Vec<String>,
    pub assignor: Option<Assignor>,
    pub epoch: u32,
    pub previous_epoch: u32,
    pub step: StoredStep,
    pub is_away: bool,
    pub target: Partitions,
    pub assigned: Partitions,
    pub revoking: Partitions,
}

impl StoredGroup {
    /// Number of members.
    pub fn members(&self) -> usize {
        match self {
            StoredGroup::Classic(group) => group.members.len(),
            StoredGroup::Consumer(group) => group.members.len(),
        }
    }

    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Writer(vec![VERSION]);
        match self {
            StoredGroup::Classic(group) => write_classic(group, &mut to),
            StoredGroup::Consumer(group) => write_consumers(group, &mut to),
        }
        to.0
    }

    /// The group with these bytes.
    pub fn decode(bytes: &[u8]) -> Result<StoredGroup, StoredError> {
        let mut from = Reader(bytes);
        if from.byte()? != VERSION {
            return Err(StoredError("another version"));
        }
        let group = match from.byte()? {
            CLASSIC => StoredGroup::Classic(read_classic(&mut from)?),
            CONSUMER => StoredGroup::Consumer(read_consumers(&mut from)?),
            _ => return Err(StoredError("another kind of group")),
        };
        if from.0.is_empty() { Ok(group) } else { Err(StoredError("bytes after the end")) }
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.byte(number as u8 | 0x80);
            number >>= 7;
        }
        self.byte(number as u8);
    }

    fn count(&mut self, count: usize) {
        self.number(count as u64);
    }

    fn ms(&mut self, time: Duration) {
        self.number(time.as_millis() as u64);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn maybe_text(&mut self, text: Option<&Arc<str>>) {
        self.byte(u8::from(text.is_some()));
        text.into_iter().for_each(|text| self.text(text));
    }

    fn name(&mut self, name: &StoredName) {
        self.text(&name.id);
        self.maybe_text(name.instance.as_ref());
        self.text(&name.identity.client);
        self.text(&name.identity.host);
    }

    fn share(&mut self, share: &Partitions, topics: &BTreeMap<TopicId, u64>) {
        self.count(share.topics().count());
        for (topic, numbers) in share.topics() {
            let Some(place) = topics.get(&topic) else { unreachable!("{topic:?} is not among the topics") };
            self.number(*place);
            let runs = runs(numbers);
            self.count(runs.len());
            let mut end = 0;
            for (first, count) in runs {
                self.number(u64::from(first - end));
                self.number(u64::from(count));
                end = first + count;
            }
        }
    }
}

/// Numbers that follow each other: the first, and how many.
fn runs(numbers: &BTreeSet<u32>) -> Vec<(u32, u32)> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((first, count)) if *first + *count == number => *count += 1,
            _ => runs.push((number, 1)),
        }
    }
    runs
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn byte(&mut self) -> Result<u8, StoredError> {
        let (byte, rest) = self.0.split_first().ok_or(StoredError("its length"))?;
        self.0 = rest;
        Ok(*byte)
    }

    fn is_set(&mut self) -> Result<bool, StoredError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(StoredError("whether something is there")),
        }
    }

    fn number(&mut self) -> Result<u64, StoredError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(StoredError("a number"))
    }

    fn small(&mut self) -> Result<u32, StoredError> {
        u32::try_from(self.number()?).map_err(|_| StoredError("a number"))
    }

    /// Reads a count, and calls `read` that often.
    fn several<T>(&mut self, read: impl Fn(&mut Self) -> Result<T, StoredError>) -> Result<Vec<T>, StoredError> {
        // Each takes a byte at least, so that a wrong number is noticed before much memory is taken.
        let count = self.number()?;
        (0..count).map(|_| read(self)).collect()
    }

    fn ms(&mut self) -> Result<Duration, StoredError> {
        Ok(Duration::from_millis(self.number()?))
    }

    fn take(&mut self, count: u64) -> Result<&[u8], StoredError> {
        let count = usize::try_from(count).map_err(|_| StoredError("its length"))?;
        let (bytes, rest) = self.0.split_at_checked(count).ok_or(StoredError("its length"))?;
        self.0 = rest;
        Ok(bytes)
    }

    fn bytes(&mut self) -> Result<Bytes, StoredError> {
        let count = self.number()?;
        Ok(Bytes::copy_from_slice(self.take(count)?))
    }

    fn text(&mut self) -> Result<Arc<str>, StoredError> {
        let count = self.number()?;
        Ok(str::from_utf8(self.take(count)?).map_err(|_| StoredError("a text"))?.into())
    }

    fn maybe_text(&mut self) -> Result<Option<Arc<str>>, StoredError> {
        if self.is_set()? { Ok(Some(self.text()?)) } else { Ok(None) }
    }

    fn name(&mut self) -> Result<StoredName, StoredError> {
        let (id, instance) = (self.text()?, self.maybe_text()?);
        Ok(StoredName { id, instance, identity: Identity { client: self.text()?, host: self.text()? } })
    }

    fn topic(&mut self) -> Result<TopicId, StoredError> {
        let id = self.take(16)?.first_chunk().ok_or(StoredError("its length"))?;
        Ok(TopicId::from_bytes(*id))
    }

    fn share(&mut self, topics: &[TopicId]) -> Result<Partitions, StoredError> {
        let mut share = Partitions::default();
        for _ in 0..self.number()? {
            let place = usize::try_from(self.number()?).ok();
            let topic = place.and_then(|place| topics.get(place)).ok_or(StoredError("a topic"))?;
            let mut end = 0_u32;
            for _ in 0..self.number()? {
                let wrong = StoredError("the partitions of a topic");
                let first = end.checked_add(self.small()?).ok_or(wrong)?;
                end = first.checked_add(self.small()?).filter(|end| *end <= PARTITIONS_END).ok_or(wrong)?;
                share.extend((first..end).map(|number| (*topic, number)));
            }
        }
        Ok(share)
    }
}

/// No partition has a greater number.
const PARTITIONS_END: u32 = rawline_journal::PARTITIONS_MAX;

fn write_classic(group: &StoredClassic, to: &mut Writer) {
    to.byte(CLASSIC);
    to.byte(group.phase as u8);
    to.number(group.generation.into());
    to.text(&group.protocol_type);
    to.text(&group.protocol);
    to.maybe_text(group.leader.as_ref());
    to.count(group.members.len());
    for member in &group.members {
        to.name(&member.name);
        to.ms(member.session);
        to.ms(member.rebalance);
        to.count(member.protocols.len());
        for (name, says) in &member.protocols {
            to.text(name);
            to.bytes(says);
        }
        to.bytes(&member.assignment);
    }
}

fn read_classic(from: &mut Reader<'_>) -> Result<StoredClassic, StoredError> {
    let phase = match from.byte()? {
        0 => StoredPhase::Empty,
        1 => StoredPhase::Joining,
        2 => StoredPhase::Syncing,
        3 => StoredPhase::Stable,
        _ => return Err(StoredError("the phase")),
    };
    let generation = from.small()?;
    let (protocol_type, protocol, leader) = (from.text()?, from.text()?, from.maybe_text()?);
    let members = from.several(|from| {
        Ok(StoredMember {
            name: from.name()?,
            session: from.ms()?,
            rebalance: from.ms()?,
            protocols: from.several(|from| Ok((from.text()?, from.bytes()?)))?,
            assignment: from.bytes()?,
        })
    })?;
    let is_led = leader.as_ref().is_none_or(|leader| members.iter().any(|member| member.name.id == *leader));
    let needs_leader = matches!(phase, StoredPhase::Syncing | StoredPhase::Stable);
    if !is_led || needs_leader && leader.is_none() || members.is_empty() != (phase == StoredPhase::Empty) {
        return Err(StoredError("the members"));
    }
    Ok(StoredClassic { phase, generation, protocol_type, protocol, leader, members })
}

fn write_consumers(group: &StoredConsumers, to: &mut Writer) {
    let shares = group.members.iter().flat_map(|member| [&member.target, &member.assigned, &member.revoking]);
    let topics: BTreeSet<TopicId> = shares.flat_map(|share| share.topics().map(|(topic, _)| topic)).collect();
    to.byte(CONSUMER);
    to.number(group.epoch.into());
    to.number(group.target_epoch.into());
    to.0.extend_from_slice(&group.wanted_crc32c.to_le_bytes());
    to.count(topics.len());
    topics.iter().for_each(|topic| to.0.extend_from_slice(&topic.to_bytes()));
    let places: BTreeMap<TopicId, u64> = topics.into_iter().zip(0..).collect();
    to.count(group.members.len());
    for member in &group.members {
        to.name(&member.name);
        to.maybe_text(member.rack.as_ref());
        to.ms(member.rebalance);
        to.count(member.names.len());
        member.names.iter().for_each(|name| to.text(name));
        to.maybe_text(member.regex.as_ref());
        to.count(member.visible.len());
        member.visible.iter().for_each(|pattern| to.text(pattern));
        to.byte(match member.assignor {
            None => 0,
            Some(Assignor::Uniform) => 1,
            Some(Assignor::Range) => 2,
        });
        to.number(member.epoch.into());
        to.number(member.previous_epoch.into());
        to.byte(member.step as u8);
        to.byte(u8::from(member.is_away));
        to.share(&member.target, &places);
        let differs = member.assigned != member.target;
        to.byte(u8::from(differs));
        if differs {
            to.share(&member.assigned, &places);
        }
        to.share(&member.revoking, &places);
    }
}

fn read_consumers(from: &mut Reader<'_>) -> Result<StoredConsumers, StoredError> {
    let (epoch, target_epoch) = (from.small()?, from.small()?);
    let crc32c = from.take(4)?.first_chunk().ok_or(StoredError("its length"))?;
    let wanted_crc32c = u32::from_le_bytes(*crc32c);
    let topics = from.several(Reader::topic)?;
    let members = from.several(|from| read_consumer(from, &topics))?;
    Ok(StoredConsumers { epoch, target_epoch, wanted_crc32c, members })
}

fn read_consumer(from: &mut Reader<'_>, topics: &[TopicId]) -> Result<StoredConsumer, StoredError> {
    let (name, rack, rebalance) = (from.name()?, from.maybe_text()?, from.ms()?);
    let names = from.several(Reader::text)?.into_iter().collect();
    let regex = from.maybe_text()?;
    let visible = from.several(|from| Ok(from.text()?.to_string()))?;
    let assignor = match from.byte()? {
        0 => None,
        1 => Some(Assignor::Uniform),
        2 => Some(Assignor::Range),
        _ => return Err(StoredError("a strategy")),
    };
    let (epoch, previous_epoch) = (from.small()?, from.small()?);
    let step = match from.byte()? {
        0 => StoredStep::Stable,
        1 => StoredStep::Revoking,
        2 => StoredStep::Waiting,
        _ => return Err(StoredError("how far a member is")),
    };
    let is_away = from.is_set()?;
    let target = from.share(topics)?;
    let assigned = if from.is_set()? { from.share(topics)? } else { target.clone() };
    let revoking = from.share(topics)?;
    Ok(StoredConsumer {
        name,
        rack,
        rebalance,
        names,
        regex,
        visible,
        assignor,
        epoch,
        previous_epoch,
        step,
        is_away,
        target,
        assigned,
        revoking,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(id: &str, instance: Option<Arc<str>>) -> StoredName {
        StoredName { id: id.into(), instance, identity: Identity { client: "c".into(), host: "/h".into() } }
    }

    fn classic() -> StoredGroup {
        let member = StoredMember {
            name: name("m1", Some("i".into())),
            session: Duration::from_millis(6000),
            rebalance: Duration::from_millis(300),
            protocols: vec![("range".into(), Bytes::from_static(b"t"))],
            assignment: Bytes::from_static(b"0"),
        };
        StoredGroup::Classic(StoredClassic {
            phase: StoredPhase::Stable,
            generation: 300,
            protocol_type: "consumer".into(),
            protocol: "range".into(),
            leader: Some("m1".into()),
            members: vec![member],
        })
    }

    fn consumers() -> StoredGroup {
        let topic = TopicId::from_bytes([7; 16]);
        let share = |numbers: &[u32]| numbers.iter().map(|number| (topic, *number)).collect::<Partitions>();
        let member = |id: &str, assigned: &[u32]| StoredConsumer {
            name: name(id, None),
            rack: None,
            rebalance: Duration::from_millis(300),
            names: ["t".into()].into(),
            regex: Some("a.*".into()),
            visible: vec!["*".into()],
            assignor: Some(Assignor::Range),
            epoch: 4,
            previous_epoch: 3,
            step: StoredStep::Revoking,
            is_away: false,
            target: share(&[0, 1, 2, 5]),
            assigned: share(assigned),
            revoking: share(&[9]),
        };
        let members = vec![member("m1", &[0, 1, 2, 5]), member("m2", &[3])];
        StoredGroup::Consumer(StoredConsumers { epoch: 5, target_epoch: 4, wanted_crc32c: 0x0403_0201, members })
    }

    fn hex(group: &StoredGroup) -> String {
        group.encode().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn the_bytes_are_golden() {
        let golden = "01 01 03 ac02 08636f6e73756d6572 0572616e6765 01026d31 01 \
                      026d31 010169 0163 022f68 f02e ac02 01 0572616e6765 0174 0130";
        assert_eq!(hex(&classic()), golden.replace(' ', ""));
        let golden = "01 02 05 04 01020304 01 07070707070707070707070707070707 02 \
                      026d31 00 0163 022f68 00 ac02 01 0174 01 03612e2a 01 012a 02 04 03 01 00 \
                      01 00 02 00 03 02 01 00 01 00 01 09 01 \
                      026d32 00 0163 022f68 00 ac02 01 0174 01 03612e2a 01 012a 02 04 03 01 00 \
                      01 00 02 00 03 02 01 01 01 00 01 03 01 01 00 01 09 01";
        assert_eq!(hex(&consumers()), golden.replace(' ', ""));
        for group in [classic(), consumers()] {
            assert_eq!(StoredGroup::decode(&group.encode()), Ok(group));
        }
    }

    /// Bytes that were cut or changed are a group or an error.
    #[test]
    fn no_bytes_make_a_reader_panic() {
        let mut random = fastrand::Rng::with_seed(1);
        for group in [classic(), consumers()] {
            let bytes = group.encode();
            for end in 0..bytes.len() {
                assert!(StoredGroup::decode(&bytes[..end]).is_err(), "{end} bytes");
            }
            for _ in 0..20_000 {
                let mut changed = bytes.clone();
                let at = random.usize(..bytes.len());
                changed[at] = random.u8(..);
                if let Ok(group) = StoredGroup::decode(&changed) {
                    assert_eq!(StoredGroup::decode(&group.encode()), Ok(group));
                }
            }
        }
    }
}
