//! The live brokers, and the owners of journals, in one broker's view. No I/O, no clock: time is passed in.
//!
//! A broker is live if its card was stored less than a lease ago, by the store's clock, and if it responds. The owners
//! are live brokers that can own. Which of them owns which journal, `assign.rs` decides: all who see the same brokers
//! agree.

use crate::cluster::addresses::{is_elsewhere, is_local, is_shared, is_within_reach};
use crate::cluster::assign::{Candidate, assign};
use crate::cluster::twins::Twins;
use crate::cluster::{BrokerId, Card};
use std::collections::BTreeMap;
use std::time::Duration;

/// Another broker, or this one, as this one sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its card.
    pub card: Card,
    /// Whether it is live.
    pub state: MemberState,
    /// How long ago it was last known to live.
    pub silent_for: Duration,
}

/// Whether a broker counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberState {
    /// Its card is recent, and it responds as far as this broker has tried.
    Live,
    /// Its card is recent, and it doesn't respond to this broker.
    Unreachable,
    /// Its card is old.
    Silent,
}

/// All brokers, as one of them sees them at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brokers {
    /// Itself.
    pub me: BrokerId,
    /// All, itself included, in the order of their ids.
    pub members: Vec<Member>,
    /// The owner of each journal, by its number. None if no live broker can own: then each appends for itself.
    pub owners: Vec<Option<BrokerId>>,
}

impl Brokers {
    /// A broker's card.
    pub fn card(&self, id: BrokerId) -> Option<&Card> {
        self.members.iter().map(|member| &member.card).find(|card| card.id == id)
    }

    /// Whether nothing has changed but the time since each broker was last known to live.
    pub(super) fn differs_in_time_only(&self, other: &Brokers) -> bool {
        let parts = |brokers: &Brokers| -> Vec<_> {
            brokers.members.iter().map(|member| (member.card.clone(), member.state)).collect()
        };
        self.owners == other.owners && parts(self) == parts(other)
    }

    /// Whether this broker is about to stop.
    pub fn is_leaving(&self) -> bool {
        self.card(self.me).is_some_and(|card| card.is_leaving)
    }

    /// The owner of a journal.
    pub fn owner(&self, journal: u32) -> Option<BrokerId> {
        self.owners.get(journal as usize).copied().flatten()
    }

    /// The card of a journal's owner, if that is another broker.
    pub fn other_owner(&self, journal: u32) -> Option<&Card> {
        self.owner(journal).filter(|owner| *owner != self.me).and_then(|owner| self.card(owner))
    }

    /// The journals that a broker owns.
    pub fn owned_by(&self, id: BrokerId) -> Vec<u32> {
        (0..).zip(&self.owners).filter(|(_, owner)| **owner == Some(id)).map(|(journal, _)| journal).collect()
    }

    /// The live brokers.
    pub fn live(&self) -> impl Iterator<Item = &Card> {
        self.members.iter().filter(|member| member.state == MemberState::Live).map(|member| &member.card)
    }
}

/// What is added to this broker's time, so that there is a time at which a card was stored before this broker began.
const BEFORE: Duration = Duration::from_secs(100 * 365 * 86400);

struct Other {
    card: Card,
    /// When it is certain to have lived, with [`BEFORE`].
    lived: Duration,
    /// Since when it doesn't respond.
    unreachable_since: Option<Duration>,
}

impl Other {
    fn silent_for(&self, now: Duration) -> Duration {
        (BEFORE + now).saturating_sub(self.lived)
    }
}

/// One broker's view of all brokers.
pub(super) struct Members {
    me: Card,
    lease: Duration,
    journals: u32,
    others: BTreeMap<BrokerId, Other>,
    /// Those with this broker's address.
    twins: Twins,
}

impl Members {
    /// A broker that knows no other, on a storage with so many journals. Others are live for `lease` after they stored
    /// their card.
    pub fn new(me: Card, lease: Duration, journals: u32) -> Members {
        assert!(!lease.is_zero(), "a lease of no time");
        Members { me, lease, journals, others: BTreeMap::new(), twins: Twins::new(BEFORE) }
    }

    /// This broker's card.
    pub fn me(&self) -> &Card {
        &self.me
    }

    /// Changes this broker's card.
    pub fn change_me(&mut self, change: impl FnOnce(&mut Card)) {
        change(&mut self.me);
    }

    /// The others, live or not.
    pub fn others(&self) -> impl Iterator<Item = BrokerId> {
        let only_twins = self.twins.ids().filter(|id| !self.others.contains_key(id));
        self.others.keys().copied().chain(only_twins)
    }

    /// Another broker that has this one's address, and may run.
    pub fn suspect(&self, now: Duration) -> Option<BrokerId> {
        self.twins.suspect(&self.me, BEFORE + now)
    }

    /// The card of another broker that has this one's address, and runs.
    pub fn twin(&self, now: Duration) -> Option<&Card> {
        self.twins.running(BEFORE + now)
    }

    /// Whether only this broker's machine reaches it, and there are brokers on others.
    pub fn is_out_of_reach(&self, now: Duration) -> bool {
        let mut others = self.others.values().filter(|other| other.silent_for(now) < self.lease);
        is_local(&self.me) && others.any(|other| is_elsewhere(&self.me, &other.card))
    }

    /// Whether it is the card of a broker that was at this one's address before.
    pub fn is_former(&self, card: &Card) -> bool {
        card.id != self.me.id && card.url.is_some() && card.url == self.me.url && is_shared(card, &self.me)
    }

    /// A card was read that was stored `age` ago. Returns whether it is certain from now on that its broker runs with
    /// this one's address.
    pub fn heard(&mut self, card: Card, age: Duration, now: Duration) -> bool {
        if card.id == self.me.id {
            return false;
        }
        let lived = (BEFORE + now).saturating_sub(age);
        let is_twin = is_shared(&card, &self.me) && self.twins.heard(&card, lived);
        if self.is_former(&card) {
            return is_twin;
        }
        match self.others.get_mut(&card.id) {
            // A broker that said that it leaves, and one whose card was read late, stay as they were.
            Some(other) => {
                other.lived = other.lived.max(lived);
                other.card = card.after(&other.card);
            }
            None => drop(self.others.insert(card.id, Other { card, lived, unreachable_since: None })),
        }
        is_twin
    }

    /// A broker has no card any more.
    pub fn gone(&mut self, id: BrokerId) {
        self.others.remove(&id);
        self.twins.gone(id);
    }

    /// A broker didn't respond to this one.
    pub fn unreachable(&mut self, id: BrokerId, now: Duration) {
        if let Some(other) = self.others.get_mut(&id) {
            other.unreachable_since = Some(now);
        }
    }

    /// A broker responded to this one, with its card.
    pub fn responded(&mut self, card: Card, now: Duration) {
        let id = card.id;
        self.heard(card, Duration::ZERO, now);
        if let Some(other) = self.others.get_mut(&id) {
            other.unreachable_since = None;
        }
    }

    /// The others whose card is so old that it can be deleted.
    pub fn forgotten(&self, now: Duration, after: Duration) -> Vec<BrokerId> {
        let is_old = |other: &Other| other.silent_for(now) > after;
        self.others.iter().filter(|(_, other)| is_old(other)).map(|(id, _)| *id).collect()
    }

    fn state(&self, other: &Other, now: Duration) -> MemberState {
        if other.silent_for(now) >= self.lease {
            return MemberState::Silent;
        }
        // It may be the network between the two: after a lease, this broker tries again.
        match other.unreachable_since {
            Some(since) if now.saturating_sub(since) < self.lease => MemberState::Unreachable,
            _ => MemberState::Live,
        }
    }

    /// All brokers at this time.
    pub fn brokers(&self, now: Duration) -> Brokers {
        let other = |other: &Other| Member {
            card: other.card.clone(),
            state: self.state(other, now),
            silent_for: other.silent_for(now),
        };
        let me = Member { card: self.me.clone(), state: MemberState::Live, silent_for: Duration::ZERO };
        let mut members: Vec<Member> = self.others.values().map(other).chain([me]).collect();
        members.sort_by_key(|member| member.card.id);
        let recent = || members.iter().filter(|one| one.state != MemberState::Silent).map(|one| &one.card);
        let live =
            || members.iter().filter(|one| one.state == MemberState::Live && one.card.can_own()).map(|one| &one.card);
        let is_alone = |card: &Card| live().all(|other| other.id == card.id || !is_shared(card, other));
        let has_twin = self.twin(now).is_some();
        let can_own =
            |card: &&Card| is_alone(card) && is_within_reach(card, recent()) && !(has_twin && card.id == self.me.id);
        let candidates: Vec<Candidate<'_>> =
            live().filter(can_own).map(|card| Candidate { id: card.id, owns: &card.owns }).collect();
        let owners = assign(self.journals, &candidates);
        Brokers { me: self.me.id, members, owners }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::assign::score;

    const LEASE: Duration = Duration::from_secs(10);

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn card(id: u64) -> Card {
        Card { url: Some(format!("http://b{id}")), version: String::new(), ..Card::new(BrokerId(id)) }
    }

    /// The ids in the order in which they would own the journal.
    fn ranked(mut ids: Vec<u64>) -> Vec<u64> {
        ids.sort_by_key(|id| std::cmp::Reverse(score(0, BrokerId(*id))));
        ids
    }

    fn members(ids: &[u64], now: Duration) -> Members {
        let mut members = Members::new(card(ids[0]), LEASE, 1);
        for id in &ids[1..] {
            members.heard(card(*id), Duration::ZERO, now);
        }
        members
    }

    #[test]
    fn all_brokers_agree_on_the_owner_and_the_next_one_follows_when_its_card_is_old() {
        let ids = ranked((1..=5).collect());
        for me in &ids {
            let others: Vec<u64> = [*me].into_iter().chain(ids.iter().copied().filter(|id| id != me)).collect();
            assert_eq!(members(&others, s(0)).brokers(s(9)).owner(0), Some(BrokerId(ids[0])), "seen by {me}");
        }
        let mut seen = members(&[ids[2], ids[0], ids[1]], s(0));
        seen.heard(card(ids[1]), s(1), s(8));
        let brokers = seen.brokers(s(10));
        assert_eq!(brokers.owner(0), Some(BrokerId(ids[1])));
        assert_eq!(brokers.members.iter().filter(|member| member.state == MemberState::Silent).count(), 1);
        assert_eq!(seen.brokers(s(17)).owner(0), Some(BrokerId(ids[2])), "only this broker is left");
        // It was paused, and is running again.
        seen.heard(card(ids[0]), s(0), s(18));
        assert_eq!(seen.brokers(s(18)).owner(0), Some(BrokerId(ids[0])));
    }

    #[test]
    fn a_card_that_was_old_when_it_was_read_makes_no_broker_live() {
        let ids = ranked(vec![1, 2]);
        let mut seen = Members::new(card(ids[1]), LEASE, 1);
        seen.heard(card(ids[0]), s(3600), s(3700));
        assert_eq!(seen.brokers(s(3700)).owner(0), Some(BrokerId(ids[1])));
        // Also if the storage's clock is ahead of the time that this broker runs.
        let mut seen = Members::new(card(ids[1]), LEASE, 1);
        seen.heard(card(ids[0]), s(3600), s(20));
        assert_eq!(seen.brokers(s(20)).owner(0), Some(BrokerId(ids[1])));
    }

    #[test]
    fn a_broker_that_does_not_respond_is_no_owner_until_it_does_or_a_lease_has_passed() {
        let ids = ranked(vec![1, 2]);
        let mut seen = members(&[ids[1], ids[0]], s(0));
        seen.unreachable(BrokerId(ids[0]), s(1));
        assert_eq!(seen.brokers(s(1)).owner(0), Some(BrokerId(ids[1])));
        seen.responded(card(ids[0]), s(2));
        assert_eq!(seen.brokers(s(2)).owner(0), Some(BrokerId(ids[0])));
        seen.unreachable(BrokerId(ids[0]), s(3));
        for now in 4..=13 {
            seen.heard(card(ids[0]), Duration::ZERO, s(now));
            let owner = if now < 13 { ids[1] } else { ids[0] };
            assert_eq!(seen.brokers(s(now)).owner(0), Some(BrokerId(owner)), "after {now} s");
        }
    }

    #[test]
    fn brokers_that_leave_that_only_read_and_that_have_no_address_own_nothing() {
        let ids = ranked(vec![1, 2]);
        for change in
            [(|card| card.is_leaving = true) as fn(&mut Card), |card| card.is_read_only = true, |card| card.url = None]
        {
            let mut other = card(ids[0]);
            change(&mut other);
            let mut seen = Members::new(card(ids[1]), LEASE, 1);
            seen.heard(other, Duration::ZERO, s(0));
            assert_eq!(seen.brokers(s(0)).owner(0), Some(BrokerId(ids[1])));
            seen.change_me(change);
            assert_eq!(seen.brokers(s(0)).owner(0), None);
            assert!(seen.brokers(s(0)).other_owner(0).is_none());
        }
    }

    #[test]
    fn a_broker_that_was_at_this_ones_address_before_is_gone() {
        let ids = ranked(vec![1, 2]);
        let mut seen = Members::new(card(ids[1]), LEASE, 1);
        seen.heard(Card { url: card(ids[1]).url, ..card(ids[0]) }, Duration::ZERO, s(0));
        assert_eq!(seen.brokers(s(0)).owner(0), Some(BrokerId(ids[1])));
        assert_eq!(seen.brokers(s(0)).members.len(), 1);
    }

    #[test]
    fn two_brokers_that_run_with_one_address_own_nothing_until_one_of_them_is_silent() {
        let balancer = |id| Card { url: Some("http://balancer".into()), ..card(id) };
        let mut seen = Members::new(balancer(1), LEASE, 1);
        let heard = [3, 6].map(|now| seen.heard(balancer(2), s(0), s(now)));
        assert_eq!(heard, [false, true], "its card is stored again after this broker began");
        assert_eq!(seen.twin(s(7)).map(|card| card.id), Some(BrokerId(2)));
        assert_eq!(seen.brokers(s(7)).owner(0), None);
        assert_eq!(seen.others().collect::<Vec<_>>(), [BrokerId(2)], "its card is read on");
        assert_eq!(seen.brokers(s(16)).owner(0), Some(BrokerId(1)));
        // As others see the two.
        let mut third = Members::new(card(3), LEASE, 1);
        for id in [1, 2] {
            third.heard(balancer(id), s(0), s(0));
        }
        assert_eq!(third.brokers(s(0)).owner(0), Some(BrokerId(3)));
        // Only one of them is left.
        third.change_me(|card| card.is_leaving = true);
        assert_eq!(third.brokers(s(0)).owner(0), None);
        third.unreachable(BrokerId(1), s(1));
        assert_eq!(third.brokers(s(1)).owner(0), Some(BrokerId(2)));
    }

    #[test]
    fn brokers_on_loopback_of_two_machines_agree_who_owns_also_if_they_do_not_reach_each_other() {
        let local = |id, machine: &str| {
            let (url, machine) = (Some("http://127.0.0.1:51313".into()), Some(machine.to_owned()));
            Card { url, machine, ..card(id) }
        };
        for (me, other, owner) in [(1, 2, None), (2, 1, Some(BrokerId(2)))] {
            let machine = |id| if id == 1 { "a" } else { "b" };
            let mut seen = Members::new(local(me, machine(me)), LEASE, 1);
            seen.heard(local(other, machine(other)), s(0), s(0));
            assert!(seen.is_out_of_reach(s(0)));
            seen.unreachable(BrokerId(other), s(1));
            assert_eq!(seen.brokers(s(1)).owner(0), owner, "seen by {me}");
        }
    }

    #[test]
    fn a_broker_that_leaves_does_not_come_back_with_a_card_that_was_read_late() {
        let ids = ranked(vec![1, 2]);
        let mut seen = members(&[ids[1], ids[0]], s(0));
        seen.responded(Card { is_leaving: true, ..card(ids[0]) }, s(1));
        seen.heard(card(ids[0]), s(1), s(2));
        assert_eq!(seen.brokers(s(2)).owner(0), Some(BrokerId(ids[1])));
        assert_eq!(seen.forgotten(s(100), s(60)), [BrokerId(ids[0])]);
        seen.gone(BrokerId(ids[0]));
        assert_eq!(seen.others().count(), 0);
    }

    #[test]
    fn the_journals_of_a_broker_that_is_gone_move_and_no_others() {
        let mut seen = Members::new(card(1), LEASE, 6);
        for id in [2, 3] {
            seen.heard(card(id), Duration::ZERO, s(0));
        }
        let first = seen.brokers(s(0));
        let owned = [1, 2, 3].map(|id| first.owned_by(BrokerId(id)));
        assert_eq!(owned.each_ref().map(Vec::len), [2; 3], "{owned:?}");
        // All say what they own, and one is gone.
        seen.change_me(|card| card.owns.clone_from(&owned[0]));
        seen.heard(Card { owns: owned[1].clone(), owns_changes: 1, ..card(2) }, Duration::ZERO, s(1));
        seen.heard(Card { owns: owned[2].clone(), owns_changes: 1, ..card(3) }, Duration::ZERO, s(1));
        assert_eq!(seen.brokers(s(1)).owners, first.owners);
        seen.unreachable(BrokerId(3), s(2));
        let left = seen.brokers(s(2));
        for (id, before) in [(1, &owned[0]), (2, &owned[1])] {
            let now = left.owned_by(BrokerId(id));
            assert!(now.len() == 3 && before.iter().all(|journal| now.contains(journal)), "{before:?}, now {now:?}");
        }
        assert_eq!(left.other_owner(owned[1][0]).map(|card| card.id), Some(BrokerId(2)));
        assert!(left.other_owner(owned[0][0]).is_none());
    }

    #[test]
    fn owners_are_spread_evenly_over_the_brokers() {
        let mut owned = [0; 3];
        for group in 0..3000_u64 {
            let ids: Vec<u64> = (0..3).map(|member| (group * 3 + member).wrapping_mul(0x2545_F491_4F6C_DD1D)).collect();
            let first = ranked(ids.clone())[0];
            owned[ids.iter().position(|id| *id == first).unwrap()] += 1;
        }
        assert!(owned.iter().all(|count| (900..=1100).contains(count)), "{owned:?}");
    }
}
