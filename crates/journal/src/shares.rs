//! Which key loses an entry when a limit is reached that keys share: offsets of groups, names of producers.
//!
//! Everything has an owner, the name of the key that created it; it is empty if the broker has no keys, or for keys
//! that it was started with. A key that adds an entry loses those that it hasn't used for long. If it has none of these
//! kind, the key that has the most gives way to all that would have less, and it alone is refused. So a key can't take
//! from those that have less than it, and each gets as much as the others.

use crate::limits::is_old;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// One thing that takes room.
pub(crate) struct Taken<'a, K> {
    pub owner: &'a str,
    pub amount: usize,
    /// The time of its last use, and its name, if it can be forgotten.
    pub can_go: Option<(u64, K)>,
}

/// The entries of one owner.
struct Share<K> {
    amount: usize,
    /// Its least recently used entry; of several, the first by name.
    idlest: Option<(u64, K)>,
}

/// The entry to forget so that `owner` can add `more`; `None` if that is refused.
pub(crate) fn gives_way<'a, K: Ord + Clone>(
    all: impl Iterator<Item = Taken<'a, K>>,
    owner: &str,
    more: usize,
    now_us: u64,
) -> Option<K> {
    let mut shares: BTreeMap<&str, Share<K>> = BTreeMap::new();
    for Taken { owner, amount, can_go } in all {
        let share = shares.entry(owner).or_insert(Share { amount: 0, idlest: None });
        share.amount += amount;
        if can_go.is_some() && share.idlest.as_ref().is_none_or(|idlest| can_go.as_ref() < Some(idlest)) {
            share.idlest = can_go;
        }
    }
    let own = shares.remove(owner);
    let own_amount = own.as_ref().map_or(0, |own| own.amount) + more;
    if let Some((used_us, idlest)) = own.and_then(|own| own.idlest)
        && is_old(used_us, now_us)
    {
        return Some(idlest);
    }
    let others = shares.iter().filter(|(_, share)| share.idlest.is_some());
    let (_, most) = others.max_by_key(|(name, share)| (share.amount, Reverse(**name)))?;
    let (_, idlest) = most.idlest.as_ref()?;
    (most.amount > own_amount).then(|| idlest.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::PRODUCER_AGE_US;

    const NOW: u64 = 10 + PRODUCER_AGE_US;

    fn forgotten(all: &[(&'static str, usize, Option<u64>)], owner: &str, more: usize) -> Option<usize> {
        let taken = |(at, (owner, amount, used_us)): (usize, &(&'static str, usize, Option<u64>))| Taken {
            owner,
            amount: *amount,
            can_go: used_us.map(|used_us| (used_us, at)),
        };
        gives_way(all.iter().enumerate().map(taken), owner, more, NOW)
    }

    #[test]
    fn a_key_gives_up_its_own_first_if_that_is_old() {
        let all = [("a", 5, Some(9)), ("a", 1, Some(1)), ("b", 50, Some(0)), ("b", 50, Some(NOW))];
        assert_eq!(forgotten(&all, "a", 1), Some(1));
        assert_eq!(forgotten(&all, "b", 1), Some(2));
    }

    #[test]
    fn the_key_that_has_the_most_gives_way_to_others_and_is_refused() {
        let all = [("a", 5, Some(NOW)), ("b", 3, Some(NOW)), ("b", 7, Some(NOW - 1)), ("c", 9, Some(0))];
        assert_eq!([forgotten(&all, "a", 1), forgotten(&all, "new", 1)], [Some(2), Some(2)], "b's idlest");
        assert_eq!([forgotten(&all, "a", 4), forgotten(&all, "a", 5)], [Some(2), None], "a would have as much");
        assert_eq!(forgotten(&all, "b", 1), None, "no owner has more, and c's old names are its own");
        assert_eq!(forgotten(&[("", 5, Some(NOW)), ("", 6, Some(NOW))], "", 1), None, "one owner");
    }

    #[test]
    fn what_cannot_go_counts_and_stays() {
        let all = [("a", 9, None), ("b", 3, Some(NOW)), ("b", 4, None), ("c", 1, Some(NOW))];
        assert_eq!([forgotten(&all, "c", 1), forgotten(&all, "a", 1), forgotten(&all, "b", 1)], [Some(1), None, None]);
    }
}
