//! Named producers: the id and the newest epoch of each name, so that older instances can't append any more.

use crate::limits::{NAMED_IDS, PRODUCER_EPOCH_MAX, PRODUCER_NAMES_MAX};
use crate::producers::{Producer, Rejected};
use crate::refused::Refused;
use crate::shared_map::SharedMap;
use crate::shares::{Taken, gives_way};
use std::sync::Arc;

/// A name, with its newest instance.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Named {
    pub name: Arc<str>,
    /// The name of the key that opened its first instance.
    pub owner: Arc<str>,
    /// Epoch of the newest instance.
    pub epoch: u16,
    /// The journal's age when an instance was opened or appended.
    pub used_us: u64,
    /// Timeout of its transactions, in milliseconds; 0 without transactions.
    pub timeout_ms: u32,
    /// How its newest transaction ended, if this instance is the one that the end has opened.
    pub ended: Option<Ended>,
}

/// A transaction that has ended. A repeated request to end it gets the same response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Ended {
    /// The producer's id and epoch until then.
    pub id: u64,
    pub epoch: u16,
    pub is_committed: bool,
}

/// All names, at most [`PRODUCER_NAMES_MAX`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Names {
    by_id: SharedMap<u64, Named>,
    ids: SharedMap<Arc<str>, u64>,
}

/// The names before an instance was opened, to take that back.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct NamesBefore {
    id: u64,
    named: Option<(u64, Named)>,
    /// The name that made room for it.
    forgotten: Option<(u64, Named)>,
}

impl NamesBefore {
    /// Whether a name had this id, and has another now, or none.
    pub fn had(&self, id: u64) -> bool {
        self.named.iter().chain(&self.forgotten).any(|(had, _)| *had == id)
    }
}

impl Names {
    /// The names with these ids; `None` if two are the same, or if one can't be.
    pub fn new(by_id: SharedMap<u64, Named>) -> Option<Names> {
        let ids: SharedMap<_, _> = by_id.iter().map(|(id, named)| (named.name.clone(), *id)).collect();
        let names = Names { by_id, ids };
        let is_sound = names.ids.len() == names.by_id.len()
            && names.by_id.len() <= PRODUCER_NAMES_MAX
            && names.by_id.keys().all(|id| NAMED_IDS.contains(id));
        is_sound.then_some(names)
    }

    /// All names with their ids, in order of id.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &Named)> {
        self.by_id.iter().map(|(id, named)| (*id, named))
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// The name with this id.
    pub fn get_mut(&mut self, id: u64) -> Option<&mut Named> {
        self.by_id.get_mut(&id)
    }

    /// The id and the epoch that the name's next instance gets. A name keeps its id until it has no epoch left; a new
    /// id is the one that was drawn, or the next that no name has.
    pub fn next(&self, name: &str, drawn: u64) -> (u64, u16) {
        self.successor(name).unwrap_or_else(|| (self.free_from(drawn), 0))
    }

    /// The id and the epoch of the name's next instance, if its id stays.
    fn successor(&self, name: &str) -> Option<(u64, u16)> {
        let (id, named) = self.named(name)?;
        (named.epoch < PRODUCER_EPOCH_MAX).then_some((id, named.epoch + 1))
    }

    fn free_from(&self, drawn: u64) -> u64 {
        let drawn = if NAMED_IDS.contains(&drawn) { drawn } else { NAMED_IDS.start };
        let free = (drawn..NAMED_IDS.end).chain(NAMED_IDS).find(|id| !self.by_id.contains_key(id));
        let Some(free) = free else { unreachable!("{} names have all ids", self.by_id.len()) };
        free
    }

    /// Forgets the newest instance of each name that has others.
    pub fn forget_newest(&mut self) {
        let forget =
            |(id, named): (&u64, &Named)| (*id, Named { epoch: named.epoch.saturating_sub(1), ..named.clone() });
        self.by_id = self.by_id.iter().map(forget).collect();
    }

    /// A name's id, and its newest instance.
    pub fn named(&self, name: &str) -> Option<(u64, &Named)> {
        let id = self.ids.get(name)?;
        Some((*id, self.by_id.get(id)?))
    }

    /// The name with this id.
    pub fn get(&self, id: u64) -> Option<&Named> {
        self.by_id.get(&id)
    }

    /// Whether this is the name's newest instance.
    pub fn check(&self, name: &str, id: u64, epoch: u16) -> Result<(), Refused> {
        match self.named(name) {
            Some((current_id, named)) if (current_id, named.epoch) == (id, epoch) => Ok(()),
            Some((current_id, named)) if current_id == id && epoch < named.epoch => {
                Err(Refused::Fenced { current: named.epoch, found: epoch })
            }
            _ => Err(Refused::NotOpen { id, found: epoch }),
        }
    }

    /// Whether this instance may end a transaction. An instance that has ended one may repeat the request.
    pub fn check_end(&self, name: &str, id: u64, epoch: u16, is_committed: bool) -> Result<(), Refused> {
        let known = self.named(name).and_then(|(current_id, named)| Some((current_id, named.epoch, named.ended?)));
        match known.filter(|(.., ended)| (ended.id, ended.epoch) == (id, epoch)) {
            Some((id, epoch, ended)) if ended.is_committed == is_committed => Err(Refused::AlreadyEnded { id, epoch }),
            Some(_) => Err(Refused::OtherEnd),
            None => self.check(name, id, epoch),
        }
    }

    /// Opens a name's next instance, without transactions.
    #[cfg(test)]
    pub fn open(&mut self, name: &Arc<str>, id: u64, epoch: u16, now_us: u64) -> Result<NamesBefore, Refused> {
        let (name, owner) = (name.clone(), "".into());
        self.open_next(id, Named { name, owner, epoch, used_us: now_us, timeout_ms: 0, ended: None }, |_| false)
    }

    /// Opens a name's next instance. The name stays its owner's. Where there are too many names, another one that isn't
    /// held gives way: see [`gives_way`].
    pub fn open_next(
        &mut self,
        id: u64,
        mut opened: Named,
        is_held: impl Fn(u64) -> bool,
    ) -> Result<NamesBefore, Refused> {
        if let Some((_, known)) = self.named(&opened.name) {
            opened.owner = known.owner.clone();
        }
        let Named { name, epoch, used_us: now_us, .. } = &opened;
        let (epoch, now_us) = (*epoch, *now_us);
        let (expected_id, expected) = self.successor(name).unwrap_or((id, 0));
        if (id, epoch) != (expected_id, expected) {
            return Err(Refused::Instance { expected_id, expected, id, epoch });
        }
        let is_taken = epoch == 0 && self.by_id.contains_key(&id);
        if is_taken || !NAMED_IDS.contains(&id) {
            return Err(Refused::ProducerId { id });
        }
        let is_full = !self.ids.contains_key(name) && self.by_id.len() >= PRODUCER_NAMES_MAX;
        let forgotten = if is_full { Some(self.forget(&opened.owner, now_us, is_held)?) } else { None };
        let named = self.ids.remove(name).and_then(|id| self.by_id.remove_entry(&id));
        let before = NamesBefore { id, named, forgotten };
        self.put(id, opened);
        assert!(self.by_id.len() <= PRODUCER_NAMES_MAX, "{} names", self.by_id.len());
        Ok(before)
    }

    fn forget(&mut self, owner: &str, now_us: u64, is_held: impl Fn(u64) -> bool) -> Result<(u64, Named), Refused> {
        let full = Refused::Names { limit: PRODUCER_NAMES_MAX };
        let taken = self.by_id.iter().map(|(id, named)| Taken {
            owner: &named.owner,
            amount: 1,
            can_go: (!is_held(*id)).then_some((named.used_us, *id)),
        });
        let id = gives_way(taken, owner, 1, now_us).ok_or(full)?;
        let forgotten = self.by_id.remove_entry(&id).ok_or(full)?;
        self.ids.remove(&forgotten.1.name);
        Ok(forgotten)
    }

    fn put(&mut self, id: u64, named: Named) {
        let before = self.ids.insert(named.name.clone(), id);
        assert!(before.is_none(), "the name {:?} has the ids {before:?} and {id}", named.name);
        self.by_id.insert(id, named);
    }

    /// Takes the opening of an instance back.
    pub fn restore(&mut self, before: NamesBefore) {
        let opened = self.by_id.remove(&before.id);
        let Some(opened) = opened else { unreachable!("producer {} was opened and is not there", before.id) };
        self.ids.remove(&opened.name);
        for (id, named) in before.named.into_iter().chain(before.forgotten) {
            self.put(id, named);
        }
    }

    /// Why a producer may not append, if its id is one of those of names.
    pub fn judge(&self, producer: Producer) -> Option<Rejected> {
        let Producer { id, epoch: found, .. } = producer;
        if !NAMED_IDS.contains(&id) {
            return None;
        }
        match self.by_id.get(&id).map(|named| named.epoch) {
            Some(current) if current == found => None,
            Some(current) if current > found => Some(Rejected::Fenced { current, found }),
            _ => Some(Rejected::NotOpen { id, found }),
        }
    }

    /// Notes that a producer appends. Returns when it was used before, if it has a name.
    pub fn used(&mut self, id: u64, now_us: u64) -> Option<u64> {
        // Most producers have no name: a comparison tells.
        let named = if NAMED_IDS.contains(&id) { self.by_id.get_mut(&id)? } else { return None };
        Some(std::mem::replace(&mut named.used_us, now_us))
    }

    /// Takes [`Names::used`] back.
    pub fn unuse(&mut self, id: u64, used_us: u64) {
        let Some(named) = self.by_id.get_mut(&id) else { unreachable!("producer {id} was used and has no name") };
        named.used_us = used_us;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::PRODUCER_AGE_US;

    const ID: u64 = NAMED_IDS.start;

    fn open(names: &mut Names, name: &str, now_us: u64) -> Result<(u64, u16), Refused> {
        let (id, epoch) = names.next(name, ID);
        names.open(&name.into(), id, epoch, now_us).map(|_| (id, epoch))
    }

    fn named(name: &str, owner: &str) -> Named {
        Named { name: name.into(), owner: owner.into(), epoch: 0, used_us: 0, timeout_ms: 0, ended: None }
    }

    fn judge(names: &Names, id: u64, epoch: u16) -> Option<Rejected> {
        names.judge(Producer { id, epoch, sequence: 0, wraps: false })
    }

    #[test]
    fn a_name_keeps_its_id_and_gets_the_next_epoch() {
        let mut names = Names::default();
        assert_eq!(open(&mut names, "a", 0), Ok((ID, 0)));
        assert_eq!(open(&mut names, "b", 0), Ok((ID + 1, 0)));
        assert_eq!(open(&mut names, "a", 0), Ok((ID, 1)));
        assert_eq!(judge(&names, ID, 0), Some(Rejected::Fenced { current: 1, found: 0 }));
        assert_eq!(judge(&names, ID, 1), None);
        assert_eq!(judge(&names, ID, 2), Some(Rejected::NotOpen { id: ID, found: 2 }));
        assert_eq!((judge(&names, ID - 1, 9), judge(&names, 7, 0)), (None, None), "these have no name");
        assert_eq!(judge(&names, ID + 2, 0), Some(Rejected::NotOpen { id: ID + 2, found: 0 }), "not yet");
        let wrong = names.open(&"a".into(), ID, 1, 0);
        assert_eq!(wrong, Err(Refused::Instance { expected_id: ID, expected: 2, id: ID, epoch: 1 }));
    }

    #[test]
    fn a_new_name_gets_the_id_that_was_drawn_unless_another_has_it() {
        let (mut names, drawn, last) = (Names::default(), ID + 12_345, NAMED_IDS.end - 1);
        assert_eq!(names.next("a", drawn), (drawn, 0));
        names.open(&"a".into(), drawn, 0, 0).unwrap();
        assert_eq!((names.next("a", last), names.next("b", drawn)), ((drawn, 1), (drawn + 1, 0)));
        names.open(&"z".into(), last, 0, 0).unwrap();
        assert_eq!((names.next("b", last), names.next("b", 7)), ((ID, 0), (ID, 0)), "the first after the last");
        for id in [drawn, ID - 1, NAMED_IDS.end] {
            assert_eq!(names.open(&"b".into(), id, 0, 0), Err(Refused::ProducerId { id }));
        }
    }

    #[test]
    fn a_name_without_an_epoch_left_gets_another_id() {
        let newest = Named { epoch: PRODUCER_EPOCH_MAX, ..named("a", "") };
        let mut names = Names::new(SharedMap::from([(ID, newest)])).unwrap();
        assert_eq!(names.next("a", ID), (ID + 1, 0));
        let full = names.clone();
        let before = names.open(&"a".into(), ID + 1, 0, 5).unwrap();
        let closed = Rejected::NotOpen { id: ID, found: PRODUCER_EPOCH_MAX };
        assert_eq!((judge(&names, ID, PRODUCER_EPOCH_MAX), judge(&names, ID + 1, 0)), (Some(closed), None));
        names.restore(before);
        assert_eq!(names, full);
    }

    #[test]
    fn too_many_names_are_refused_until_one_is_old() {
        let mut names = Names::default();
        for n in 0..PRODUCER_NAMES_MAX as u64 {
            open(&mut names, &n.to_string(), n).unwrap();
        }
        assert_eq!(names.used(ID, 90), Some(0), "an append counts");
        let full = names.clone();
        let refused = Err(Refused::Names { limit: PRODUCER_NAMES_MAX });
        assert_eq!(open(&mut names, "new", PRODUCER_AGE_US + 1), refused);
        assert_eq!(open(&mut names, "0", PRODUCER_AGE_US + 1), Ok((ID, 1)));
        names = full.clone();
        let (id, epoch) = names.next("new", ID);
        let before = names.open(&"new".into(), id, epoch, PRODUCER_AGE_US + 2).unwrap();
        let forgotten = Rejected::NotOpen { id: ID + 1, found: 0 };
        assert_eq!((judge(&names, ID + 1, 0), judge(&names, ID, 0)), (Some(forgotten), None));
        names.restore(before);
        assert_eq!(names, full);
    }

    #[test]
    fn one_key_does_not_take_all_names_from_the_others() {
        let mut names = Names::default();
        let mut open = |name: &str, owner: &str, is_held: bool| {
            let (id, _) = names.next(name, ID);
            names.open_next(id, Named { used_us: 5, ..named(name, owner) }, |_| is_held)
        };
        open("first", "b", false).unwrap();
        for n in 1..PRODUCER_NAMES_MAX {
            open(&n.to_string(), "a", false).unwrap();
        }
        let refused = Err(Refused::Names { limit: PRODUCER_NAMES_MAX });
        assert_eq!(open("one more", "a", false), refused);
        assert_eq!(open("held", "b", true), refused, "all have open transactions");
        for n in 0..100 {
            let before = open(&format!("b {n}"), "b", false).unwrap();
            let (_, forgotten) = before.forgotten.unwrap();
            assert_eq!((&*forgotten.owner, &*forgotten.name), ("a", (n + 1).to_string().as_str()));
        }
        assert_eq!(open("another", "a", false), refused, "what b has is b's");
    }

    #[test]
    fn names_that_cannot_be_are_refused() {
        let named = |name: &str| named(name, "");
        assert_eq!(Names::new(SharedMap::from([(ID - 1, named("a"))])), None);
        assert_eq!(Names::new(SharedMap::from([(ID, named("a")), (ID + 1, named("a"))])), None);
        assert_eq!(Names::new(SharedMap::from([(NAMED_IDS.end, named("a"))])), None);
    }
}
