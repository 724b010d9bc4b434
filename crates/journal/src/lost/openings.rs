//! Which instances of named producers lost objects have opened, as far as later objects show it.
//!
//! Instances have dense epochs: an object that opens one after a lost one would contradict the objects before it. So
//! the object in the place of the lost one opens what is missing. A transaction that had begun or ended in a lost
//! object isn't made up: whether it was committed is lost with it.

use crate::control::Control;
use crate::object::Index;
use crate::state::State;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum number of instances in one object's place. An object holds fewer.
const OPENINGS_MAX: usize = 10_000;

/// Timeout of an instance's transactions if no object has one, in milliseconds: Kafka's default.
const TIMEOUT_MS: u32 = 60_000;

/// The name, id and epoch that a control record needs to be the newest, and how long its transactions may take.
struct Needed<'a> {
    name: &'a Arc<str>,
    id: u64,
    /// `None` for the name's first instance.
    epoch: Option<u16>,
    timeout_ms: u32,
    /// The name's owner; empty for a transaction's end, which doesn't name it.
    owner: Arc<str>,
}

impl Needed<'_> {
    fn by(control: &Control) -> Option<Needed<'_>> {
        match control {
            Control::OpenProducer { name, id, epoch, timeout_ms, owner, .. } => {
                let (timeout_ms, owner) = (*timeout_ms, owner.clone());
                Some(Needed { name, id: *id, epoch: epoch.checked_sub(1), timeout_ms, owner })
            }
            Control::EndTransaction { name, id, epoch, .. } => {
                let (epoch, owner) = (Some(*epoch), "".into());
                Some(Needed { name, id: *id, epoch, timeout_ms: TIMEOUT_MS, owner })
            }
            _ => None,
        }
    }
}

/// The newest instances, as far as they are known.
struct Known(BTreeMap<Arc<str>, (u64, u16)>);

impl Known {
    /// The records that must precede a control record; `None` if they can't be reconstructed.
    fn missing(&mut self, needed: &Needed<'_>) -> Option<Vec<Control>> {
        let Needed { name, id, epoch, timeout_ms, ref owner } = *needed;
        // A name's first instance needs none before it.
        let Some(epoch) = epoch else { return Some(Vec::new()) };
        let first = match self.0.get(name) {
            Some((known, newest)) if *known == id => newest.checked_add(1)?,
            _ => 0,
        };
        let count = usize::from(epoch.saturating_sub(first)) + 1;
        if count > OPENINGS_MAX {
            return None;
        }
        let open = |epoch| {
            let (name, owner) = (name.clone(), owner.clone());
            Control::OpenProducer { name, id, epoch, timeout_ms, owner, from: None, ends: 0 }
        };
        let opened: Vec<_> = (first..=epoch).map(open).collect();
        if !opened.is_empty() {
            self.0.insert(name.clone(), (id, epoch));
        }
        Some(opened)
    }
}

/// Instances and transactions that lost objects opened, by the newest lost object before the one that shows it.
pub(super) fn openings<'a>(
    state: &State,
    lost: &[u64],
    later: impl Iterator<Item = (u64, &'a Index)>,
) -> BTreeMap<u64, Vec<Control>> {
    let later = later.filter(|(number, _)| *number >= state.chain().next());
    let mut known = Known(state.instances().map(|(name, id, epoch)| (name.clone(), (id, epoch))).collect());
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
                    known.0.insert(name.clone(), (*id, *epoch));
                }
                _ => {}
            }
        }
    }
    openings.retain(|_, openings| openings.len() <= OPENINGS_MAX);
    openings
}
