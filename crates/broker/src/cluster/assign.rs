//! Which of the live brokers owns which journal. No I/O, no clock: brokers with the same view compute the same owners.
//!
//! Each broker has a score for each journal, a hash of both (rendezvous hashing). Alone, the highest score would often
//! give two of three journals to one of three brokers. So each broker gets its share, `N / M` rounded down, and as many
//! brokers as are needed one more. And since shares change with the number of brokers, a journal stays with the broker
//! that says it owns it, as long as that has no more than its share: when a broker goes, its journals move and no
//! others, and one that comes gets its share and no journal moves between others.
//!
//! A storage with one journal has no shares: its owner is the broker with the highest score.

use crate::cluster::BrokerId;
use rawline_journal::mix;

/// A live broker that can own.
pub(super) struct Candidate<'a> {
    pub id: BrokerId,
    /// The journals that its card names.
    pub owns: &'a [u32],
}

/// The owner of each journal; none without candidates.
pub(super) fn assign(journals: u32, candidates: &[Candidate<'_>]) -> Vec<Option<BrokerId>> {
    if journals == 1 || candidates.is_empty() {
        return (0..journals).map(|journal| best(journal, candidates)).collect();
    }
    let share = journals as usize / candidates.len();
    let mut shares = Shares {
        owners: vec![None; journals as usize],
        owned: vec![0; candidates.len()],
        share,
        extra: journals as usize % candidates.len(),
    };
    let is_owned =
        |pair: &Pair| candidates.get(pair.candidate).is_some_and(|candidate| candidate.owns.contains(&pair.journal));
    let (owned, others): (Vec<Pair>, Vec<Pair>) = pairs(journals, candidates).into_iter().partition(is_owned);
    // What brokers have comes first, and shares are filled before any broker gets one more.
    for (pairs, has_more) in [(&owned, false), (&owned, true), (&others, false), (&others, true)] {
        pairs.iter().for_each(|pair| shares.give(pair, has_more));
    }
    let owner = |candidate: Option<usize>| candidate.and_then(|candidate| Some(candidates.get(candidate)?.id));
    shares.owners.into_iter().map(owner).collect()
}

/// A journal and a broker that could own it.
struct Pair {
    score: (u64, BrokerId),
    journal: u32,
    candidate: usize,
}

/// All pairs, the highest score first.
fn pairs(journals: u32, candidates: &[Candidate<'_>]) -> Vec<Pair> {
    let of = |journal| {
        let pair = move |(candidate, found): (usize, &Candidate<'_>)| Pair {
            score: score(journal, found.id),
            journal,
            candidate,
        };
        candidates.iter().enumerate().map(pair)
    };
    let mut pairs: Vec<Pair> = (0..journals).flat_map(of).collect();
    pairs.sort_by_key(|pair| std::cmp::Reverse((pair.score, pair.journal)));
    pairs
}

/// The assignment so far.
struct Shares {
    owners: Vec<Option<usize>>,
    /// Number of journals by candidate.
    owned: Vec<usize>,
    share: usize,
    /// How many brokers can still get one more than their share.
    extra: usize,
}

impl Shares {
    /// Gives a journal to a broker if no broker has it and the broker's share has room; with `has_more` for one more
    /// than that.
    fn give(&mut self, pair: &Pair, has_more: bool) {
        let (Some(owner), Some(owned)) =
            (self.owners.get_mut(pair.journal as usize), self.owned.get_mut(pair.candidate))
        else {
            unreachable!("journal {} and candidate {}", pair.journal, pair.candidate)
        };
        let is_extra = has_more && *owned == self.share && self.extra > 0;
        if owner.is_none() && (*owned < self.share || is_extra) {
            (*owner, *owned) = (Some(pair.candidate), *owned + 1);
            self.extra -= usize::from(is_extra);
        }
    }
}

/// The broker with the highest score.
fn best(journal: u32, candidates: &[Candidate<'_>]) -> Option<BrokerId> {
    candidates.iter().map(|candidate| candidate.id).max_by_key(|id| score(journal, *id))
}

/// A broker's claim to a journal: the same for every observer, and for each journal another order of the brokers.
pub(super) fn score(journal: u32, id: BrokerId) -> (u64, BrokerId) {
    (mix(id.0 ^ u64::from(journal).wrapping_mul(0x9E37_79B9_7F4A_7C15)), id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    type Owned = BTreeMap<BrokerId, Vec<u32>>;

    /// The owners, for brokers that already own these journals.
    fn assigned(journals: u32, before: &Owned) -> Owned {
        let candidates: Vec<Candidate<'_>> = before.iter().map(|(id, owns)| Candidate { id: *id, owns }).collect();
        let mut after: Owned = before.keys().map(|id| (*id, Vec::new())).collect();
        for (journal, owner) in (0..).zip(assign(journals, &candidates)) {
            after.get_mut(&owner.unwrap()).unwrap().push(journal);
        }
        after
    }

    fn check_even(journals: u32, owned: &Owned) {
        let counts: BTreeSet<usize> = owned.values().map(Vec::len).collect();
        let all: BTreeSet<u32> = owned.values().flatten().copied().collect();
        assert!(counts.last().unwrap() - counts.first().unwrap() <= 1, "{owned:?}");
        assert_eq!(all.len() as u32, journals, "{owned:?}");
    }

    /// Worlds with up to seven brokers that have come at the same time.
    fn worlds() -> impl Iterator<Item = (fastrand::Rng, u32, Owned)> {
        (0..500).map(|seed| {
            let mut random = fastrand::Rng::with_seed(seed);
            let journals = random.u32(2..65);
            let ids: Vec<u64> = (0..random.usize(1..8)).map(|_| random.u64(..)).collect();
            (random, journals, ids.into_iter().map(|id| (BrokerId(id), Vec::new())).collect())
        })
    }

    #[test]
    fn every_broker_gets_its_share_whatever_order_they_are_seen_in() {
        for (_, journals, newcomers) in worlds() {
            let owned = assigned(journals, &newcomers);
            check_even(journals, &owned);
            // Nothing moves while no broker comes or goes.
            assert_eq!(assigned(journals, &owned), owned);
            let candidates = || owned.iter().map(|(id, owns)| Candidate { id: *id, owns });
            let (seen, reversed): (Vec<_>, Vec<_>) = (candidates().collect(), candidates().rev().collect());
            assert_eq!(assign(journals, &reversed), assign(journals, &seen));
        }
    }

    #[test]
    fn when_a_broker_goes_only_its_journals_move() {
        for (mut random, journals, newcomers) in worlds().filter(|(.., newcomers)| newcomers.len() > 1) {
            let before = assigned(journals, &newcomers);
            let gone = *before.keys().nth(random.usize(0..before.len())).unwrap();
            let mut left = before.clone();
            left.remove(&gone);
            let after = assigned(journals, &left);
            check_even(journals, &after);
            assert!(left.iter().all(|(id, owns)| owns.iter().all(|journal| after[id].contains(journal))), "{after:?}");
        }
    }

    #[test]
    fn one_that_comes_gets_its_share_and_nothing_moves_between_others() {
        for (mut random, journals, newcomers) in worlds() {
            let before = assigned(journals, &newcomers);
            let mut with = before.clone();
            with.insert(BrokerId(random.u64(..)), Vec::new());
            let after = assigned(journals, &with);
            check_even(journals, &after);
            let moved = |(id, owns): (&BrokerId, &Vec<u32>)| after[id].iter().any(|journal| !owns.contains(journal));
            assert!(!before.iter().any(moved), "{before:?}, then {after:?}");
        }
    }

    /// While brokers hand over, several may say that they own a journal, or none.
    #[test]
    fn whatever_brokers_say_each_journal_has_one_owner() {
        for (mut random, journals, mut said) in worlds() {
            for owns in said.values_mut() {
                *owns = (0..random.usize(0..20)).map(|_| random.u32(0..70)).collect();
            }
            let settled = assigned(journals, &said);
            check_even(journals, &settled);
            assert_eq!(assigned(journals, &settled), settled);
        }
    }

    #[test]
    fn a_storage_with_one_journal_is_the_highest_scores_whoever_says_that_it_owns_it() {
        let ids: Vec<BrokerId> = (1..=5).map(BrokerId).collect();
        let highest = *ids.iter().max_by_key(|id| score(0, **id)).unwrap();
        for owner in &ids {
            let candidates: Vec<Candidate<'_>> =
                ids.iter().map(|id| Candidate { id: *id, owns: if id == owner { &[0] } else { &[] } }).collect();
            assert_eq!(assign(1, &candidates), [Some(highest)]);
        }
        assert_eq!(assign(3, &[]), [None; 3]);
    }
}
