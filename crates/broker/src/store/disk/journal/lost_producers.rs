//! Which instances of named producers lost objects have opened, as far as later objects show it.
//!
//! Instances have dense epochs, and names dense ids: an object that opens one after a lost one would contradict the
//! objects before it. So the object in the place of the lost one opens what is missing. A transaction that had begun or
//! ended in a lost object isn't made up: whether it was committed is lost with it.

use rawline_journal::{Control, Index, State};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum number of instances in one object's place. An object holds fewer.
const OPENINGS_MAX: usize = 10_000;

/// How long transactions of an instance may take if no object says so, in milliseconds: Kafka's default.
const TIMEOUT_MS: u32 = 60_000;

/// The name, id and epoch that a control record needs to be the newest, and how long its transactions may take.
struct Needed<'a> {
    name: &'a Arc<str>,
    id: u64,
    /// `None`: the name doesn't have the id yet.
    epoch: Option<u16>,
    timeout_ms: u32,
}

impl Needed<'_> {
    fn by(control: &Control) -> Option<Needed<'_>> {
        match control {
            Control::OpenProducer { name, id, epoch, timeout_ms, .. } => {
                Some(Needed { name, id: *id, epoch: epoch.checked_sub(1), timeout_ms: *timeout_ms })
            }
            Control::EndTransaction { name, id, epoch, .. } => {
                Some(Needed { name, id: *id, epoch: Some(*epoch), timeout_ms: TIMEOUT_MS })
            }
            _ => None,
        }
    }
}

/// The newest instances, as far as they are known.
struct Known<'a> {
    newest: BTreeMap<Arc<str>, (u64, u16)>,
    next_id: u64,
    /// The names of ids that aren't given yet, as later objects have them.
    names: BTreeMap<u64, (&'a Arc<str>, u32)>,
}

impl Known<'_> {
    /// Opens an instance.
    fn open(&mut self, name: &Arc<str>, (id, epoch): (u64, u16), timeout_ms: u32) -> Control {
        self.newest.insert(name.clone(), (id, epoch));
        self.next_id = self.next_id.max(id + 1);
        Control::OpenProducer { name: name.clone(), id, epoch, timeout_ms, from: None, ends: 0 }
    }

    /// What is missing before a control record that needs this; `None` if it can't be made up.
    fn missing(&mut self, needed: &Needed<'_>) -> Option<Vec<Control>> {
        let Needed { name, id, epoch, timeout_ms } = *needed;
        // All ids before are given, and this one too if the name is to have it.
        let ids = self.next_id..id + u64::from(epoch.is_some());
        let epochs = match (self.newest.get(name), epoch) {
            (Some((known, newest)), Some(epoch)) if *known == id => *newest + 1..epoch.checked_add(1)?,
            (_, epoch) => 1..epoch.unwrap_or(0) + 1,
        };
        let count = ids.end.saturating_sub(ids.start) as usize + usize::from(epochs.end.saturating_sub(epochs.start));
        if count > OPENINGS_MAX {
            return None;
        }
        let mut opened = Vec::with_capacity(count);
        for id in ids {
            // Nobody knows whose it was, if it isn't in a later object.
            let lost: Arc<str> = format!("lost-{id}").into();
            let (name, timeout_ms) = self.names.get(&id).copied().unwrap_or((&lost, 0));
            let name = name.clone();
            opened.push(self.open(&name, (id, 0), timeout_ms));
        }
        opened.extend(epochs.map(|epoch| self.open(name, (id, epoch), timeout_ms)));
        Some(opened)
    }
}

/// What lost objects have opened, by the newest lost object before that which shows it.
pub(super) fn openings<'a>(
    state: &State,
    lost: &[u64],
    later: impl Iterator<Item = (u64, &'a Index)> + Clone,
) -> BTreeMap<u64, Vec<Control>> {
    let later = later.filter(|(number, _)| *number >= state.chain().next());
    let needed = |index: &'a Index| index.controls().iter().filter_map(Needed::by);
    let newest = state.instances().map(|(name, id, epoch)| (name.clone(), (id, epoch))).collect();
    let mut known = Known { newest, next_id: state.next_producer_id(), names: BTreeMap::new() };
    for needed in later.clone().flat_map(|(_, index)| needed(index)) {
        known.names.entry(needed.id).or_insert((needed.name, needed.timeout_ms));
    }
    let mut openings: BTreeMap<u64, Vec<Control>> = BTreeMap::new();
    for (number, index) in later {
        let newest_lost = lost.iter().rev().find(|lost| **lost < number);
        for control in index.controls() {
            if let (Some(needed), Some(newest_lost)) = (Needed::by(control), newest_lost)
                && let Some(missing) = known.missing(&needed).filter(|missing| !missing.is_empty())
            {
                openings.entry(*newest_lost).or_default().extend(missing);
            }
            match control {
                Control::OpenProducer { name, id, epoch, .. }
                | Control::EndTransaction { name, next: (id, epoch), .. } => {
                    known.open(name, (*id, *epoch), 0);
                }
                _ => {}
            }
        }
    }
    openings.retain(|_, openings| openings.len() <= OPENINGS_MAX);
    openings
}
