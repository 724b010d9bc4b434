//! Members that join, leave, restart and stop responding, in random order: no partition ever has two owners, epochs
//! only grow, and finally all partitions have an owner.

use super::*;
use crate::limits::GroupLimits;
use crate::request::{Identity, Join, Membership, Outcome};
use rawline_journal::TopicId;
use std::collections::{BTreeMap, BTreeSet};

const GROUP: &str = "g";
const SESSION: Duration = Duration::from_secs(45);
const REBALANCE: Duration = Duration::from_secs(20);
/// No member is so slow that it reads on after its session.
const PATIENT: Duration = Duration::from_secs(600);
const SECOND: Duration = Duration::from_secs(1);

fn topic(number: u8) -> TopicId {
    TopicId::from_bytes([number; 16])
}

/// The first heartbeat of a client.
fn joining(member: &str, topics: &[&str]) -> ConsumerHeartbeat {
    ConsumerHeartbeat {
        member: member.into(),
        instance: None,
        rack: None,
        identity: Identity { client: "client".into(), host: "host".into() },
        epoch: 0,
        rebalance: Some(REBALANCE),
        names: Some(topics.iter().map(|name| Arc::from(*name)).collect()),
        regex: None,
        visible: Visible::all().into(),
        assignor: None,
        owned: Some(Partitions::default()),
    }
}

/// A sign of a member that knows this epoch, and nothing new.
fn sign(member: &str, epoch: u32) -> ConsumerHeartbeat {
    ConsumerHeartbeat { epoch, rebalance: None, names: None, owned: None, ..joining(member, &[]) }
}

/// The same with the partitions that the member reads.
fn owning(member: &str, epoch: u32, partitions: &[(u8, u32)]) -> ConsumerHeartbeat {
    ConsumerHeartbeat { owned: Some(set(partitions)), ..sign(member, epoch) }
}

fn set(partitions: &[(u8, u32)]) -> Partitions {
    partitions.iter().map(|(of, number)| (topic(*of), *number)).collect()
}

/// Topics that were given.
struct Given(Vec<KnownTopic>);

impl KnownTopics for Given {
    fn named(&self, name: &str) -> Option<KnownTopic> {
        self.0.iter().find(|topic| *topic.name == *name).cloned()
    }

    fn each(&self, prefix: &str, visit: &mut dyn FnMut(KnownTopic)) {
        self.0.iter().filter(|topic| topic.name.starts_with(prefix)).for_each(|topic| visit(topic.clone()));
    }
}

fn list(version: u64, topics: impl IntoIterator<Item = (Arc<str>, TopicId, u32)>) -> TopicList {
    let topics = topics.into_iter().map(|(name, id, partitions)| KnownTopic { name, id, partitions });
    TopicList::new(version, Arc::new(Given(topics.collect())))
}

struct World {
    groups: Groups<u64>,
    now: Duration,
}

impl World {
    /// With the topics `a` of four partitions and `b` of two.
    fn new() -> World {
        let mut groups = Groups::new(GroupLimits::with_session(SESSION));
        groups.set_topics(list(1, [("a".into(), topic(1), 4), ("b".into(), topic(2), 2)]));
        World { groups, now: Duration::ZERO }
    }

    fn beat(&mut self, beat: &ConsumerHeartbeat) -> Result<Kept, GroupError> {
        self.groups.beat(&GROUP.into(), beat, self.now)
    }

    /// The epoch and the member's partitions, if the response has them.
    fn kept(&mut self, beat: &ConsumerHeartbeat) -> (u32, Option<Partitions>) {
        let kept = self.beat(beat).unwrap();
        assert_eq!(kept.interval, SESSION / 15);
        (kept.epoch, kept.assignment)
    }

    fn leave(&mut self, member: &str, instance: Option<&str>, leaving: Leaving) -> Result<(), GroupError> {
        self.groups.leave_consumers(GROUP, member, instance, leaving)
    }

    /// The group continues at a broker that knows only what the journal keeps.
    fn restart(&mut self) {
        if !self.groups.contains(GROUP) {
            return;
        }
        let stored = self.groups.stored(GROUP);
        self.groups.forget(GROUP);
        self.groups.restore(&GROUP.into(), Some(&stored.1), 0, self.now).unwrap();
    }

    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(due_at) = self.groups.due_at().filter(|due_at| *due_at <= end) {
            self.now = self.now.max(due_at);
            assert_eq!(self.groups.tick(self.now).len(), 0);
        }
        self.now = end;
    }

    fn phase(&self) -> ConsumerPhase {
        self.group().phase()
    }

    fn group(&self) -> &ConsumerGroup {
        self.groups.consumer_group(GROUP).unwrap()
    }

    fn may_commit(&mut self, member: &str, generation: u32) -> Result<(), GroupError> {
        let member = Membership { member: member.into(), instance: None, generation };
        self.groups.may_commit(GROUP, Some(&member), self.now)
    }
}

const ALL: [(u8, u32); 4] = [(1, 0), (1, 1), (1, 2), (1, 3)];

#[test]
fn a_partition_is_given_only_after_its_owner_has_given_it_up() {
    let mut world = World::new();
    assert_eq!(world.kept(&joining("x", &["a"])), (1, Some(set(&ALL))));
    assert_eq!(world.kept(&owning("x", 1, &ALL)), (1, None));
    assert_eq!(world.phase(), ConsumerPhase::Stable);
    // The second gets no partition yet, and the first gets those that it keeps.
    assert_eq!(world.kept(&joining("y", &["a"])), (2, Some(set(&[]))));
    assert_eq!(world.phase(), ConsumerPhase::Reconciling);
    assert_eq!(world.kept(&sign("x", 1)), (1, Some(set(&ALL[..2]))));
    assert_eq!(world.kept(&sign("y", 2)), (2, None));
    // It stays in its epoch until it confirms that it has stopped reading.
    assert_eq!(world.kept(&sign("x", 1)), (1, None));
    assert_eq!(world.kept(&owning("x", 1, &ALL)), (1, None));
    assert_eq!((world.may_commit("x", 1), world.kept(&sign("y", 2))), (Ok(()), (2, None)));
    assert_eq!(world.kept(&owning("x", 1, &ALL[..2])), (2, None));
    assert_eq!(world.may_commit("x", 1), Err(GroupError::StaleEpoch { current: 2 }));
    // Its kept partitions stay its own, even for a commit that was sent before it knew the epoch.
    let still_has = |world: &World, member, epoch, numbers| world.group().still_has(member, epoch, &set(numbers));
    assert!(still_has(&world, "x", 1, &ALL[..2]) && still_has(&world, "x", 1, &ALL[1..2]));
    assert!(!still_has(&world, "x", 1, &ALL[1..3]), "one that it has given up");
    assert!(!still_has(&world, "x", 0, &ALL[..1]) && !still_has(&world, "y", 1, &ALL[..1]));
    assert_eq!(world.kept(&sign("y", 2)), (2, Some(set(&ALL[2..]))));
    assert_eq!((world.phase(), world.group().epochs()), (ConsumerPhase::Stable, (2, 2)));
}

#[test]
fn members_that_leave_or_fall_silent_lose_their_share_to_others() {
    let mut world = World::new();
    world.kept(&joining("x", &["a"]));
    assert_eq!(world.leave("unknown", None, Leaving::ForGood), Err(GroupError::UnknownMember));
    assert_eq!(world.kept(&joining("y", &["a"])).0, 2);
    assert_eq!(world.leave("x", None, Leaving::ForAWhile), Ok(()));
    assert_eq!(world.phase(), ConsumerPhase::Assigning);
    assert_eq!(world.kept(&sign("y", 2)), (3, Some(set(&ALL))));
    world.kept(&joining("z", &["a"]));
    world.pass(SESSION - SECOND);
    assert_eq!(world.kept(&sign("z", 4)), (4, None));
    world.pass(SECOND);
    assert_eq!(world.beat(&sign("y", 3)), Err(GroupError::UnknownMember));
    assert_eq!(world.kept(&sign("z", 4)), (5, Some(set(&ALL))));
    world.pass(SESSION);
    assert_eq!((world.phase(), world.groups.due_at()), (ConsumerPhase::Empty, None));
    assert_eq!(world.beat(&sign("z", 5)), Err(GroupError::UnknownMember));
}

#[test]
fn a_member_that_gives_up_nothing_in_time_is_removed() {
    let mut world = World::new();
    world.kept(&joining("x", &["a"]));
    world.kept(&joining("y", &["a"]));
    assert_eq!(world.kept(&sign("x", 1)), (1, Some(set(&ALL[..2]))));
    world.pass(REBALANCE - SECOND);
    assert_eq!((world.kept(&sign("x", 1)), world.kept(&sign("y", 2))), ((1, None), (2, None)));
    world.pass(SECOND);
    assert_eq!(world.beat(&owning("x", 1, &[])), Err(GroupError::UnknownMember));
    assert_eq!(world.kept(&sign("y", 2)), (3, Some(set(&ALL))));
}

#[test]
fn members_with_another_epoch_are_fenced_and_join_again_with_their_id() {
    let mut world = World::new();
    assert_eq!(world.beat(&sign("x", 1)), Err(GroupError::UnknownMember));
    world.kept(&joining("x", &["a"]));
    assert_eq!(world.beat(&sign("x", 2)), Err(GroupError::FencedEpoch { current: 1 }));
    world.kept(&ConsumerHeartbeat { names: Some(vec!["b".into()]), ..owning("x", 1, &[]) });
    assert_eq!(world.group().epochs(), (2, 2));
    // The response was lost: the epoch before is good, if the member has nothing that it may not have.
    assert_eq!(world.kept(&owning("x", 1, &[(2, 0)])), (2, None));
    assert_eq!(world.beat(&owning("x", 1, &[(1, 0)])), Err(GroupError::FencedEpoch { current: 2 }));
    assert_eq!(world.beat(&sign("x", 1)), Err(GroupError::FencedEpoch { current: 2 }));
    let full = ConsumerHeartbeat { epoch: 2, ..joining("x", &["b"]) };
    assert_eq!(world.kept(&full), (2, Some(set(&[(2, 0), (2, 1)]))));
    assert_eq!(world.kept(&joining("x", &["b"])), (2, Some(set(&[(2, 0), (2, 1)]))));
    assert_eq!(world.group().epochs(), (2, 2));
}

#[test]
fn an_instance_that_has_left_for_a_while_comes_back_to_its_share() {
    let mut world = World::new();
    let instance = |beat| ConsumerHeartbeat { instance: Some("i".into()), ..beat };
    world.kept(&joining("x", &["a"]));
    world.kept(&instance(joining("y", &["a"])));
    world.kept(&owning("x", 1, &ALL[..2]));
    assert_eq!(world.kept(&instance(sign("y", 2))).1, Some(set(&ALL[2..])));
    assert_eq!(world.beat(&instance(joining("z", &["a"]))), Err(GroupError::UnreleasedInstance));
    assert_eq!(world.leave("z", Some("i"), Leaving::ForAWhile), Err(GroupError::FencedInstance));
    assert_eq!(world.leave("y", Some("i"), Leaving::ForAWhile), Ok(()));
    assert_eq!(world.kept(&sign("x", 2)), (2, None));
    assert_eq!(world.may_commit("y", 2), Err(GroupError::StaleEpoch { current: 2 }));
    assert_eq!(world.kept(&instance(joining("z", &["a"]))), (2, Some(set(&ALL[2..]))));
    assert_eq!(world.group().epochs(), (2, 2));
    assert_eq!(world.beat(&instance(sign("y", 2))), Err(GroupError::FencedInstance));
    assert_eq!(world.leave("", Some("i"), Leaving::ForGood), Ok(()));
    assert_eq!(world.kept(&sign("x", 2)), (3, Some(set(&ALL))));
    // A member that doesn't return loses its share when its session ends.
    world.kept(&instance(joining("y", &["b"])));
    assert_eq!(world.leave("y", Some("i"), Leaving::ForAWhile), Ok(()));
    world.pass(SESSION - SECOND);
    world.kept(&sign("x", 3));
    world.pass(SECOND);
    assert_eq!(world.group().members().count(), 1);
}

#[test]
fn topics_that_are_created_extended_and_deleted_are_noticed() {
    let mut world = World::new();
    let regex = |regex: &str| ConsumerHeartbeat { regex: Some(regex.into()), ..joining("x", &["c"]) };
    assert_eq!(world.kept(&regex("[ab]")).1.unwrap().len(), 6);
    assert_eq!((world.group().wants("a"), world.group().wants("c"), world.group().wants("d")), (true, true, false));
    let topics = |version, topics: &[(&str, u8, u32)]| {
        list(version, topics.iter().map(|(name, id, count)| (Arc::from(*name), topic(*id), *count)))
    };
    world.groups.set_topics(topics(2, &[("a", 1, 4), ("aa", 9, 1), ("b", 2, 3), ("c", 3, 1)]));
    let (epoch, share) = world.kept(&sign("x", 1));
    assert_eq!((epoch, share.unwrap().len()), (2, 8));
    // Another topic with the name of a deleted one is another topic.
    world.groups.set_topics(topics(3, &[("a", 4, 1)]));
    assert_eq!(world.kept(&owning("x", 2, &[])), (3, Some(set(&[(4, 0)]))));
    world.groups.set_topics(topics(4, &[("a", 4, 1), ("other", 7, 1)]));
    assert_eq!(world.kept(&sign("x", 3)), (3, None));
    let wrong = ConsumerHeartbeat { epoch: 3, ..regex("(") };
    assert!(matches!(world.beat(&wrong), Err(GroupError::Regex { .. })));
    let large = ConsumerHeartbeat { epoch: 3, ..regex("((a{100}){100}){100}") };
    assert!(matches!(world.beat(&large), Err(GroupError::Regex { .. })));
    assert_eq!(world.kept(&sign("x", 3)), (3, None));
}

/// Each member gets only topics that its client may see, also when grants change.
#[test]
fn a_regular_expression_matches_only_what_its_member_may_know_of() {
    let mut world = World::new();
    let like = |member, visible: &[&str]| ConsumerHeartbeat {
        regex: Some(".*".into()),
        visible: Visible::of(visible).into(),
        ..joining(member, &[])
    };
    assert_eq!(world.kept(&like("x", &["b*"])), (1, Some(set(&[(2, 0), (2, 1)]))));
    assert!(!world.group().wants("a"));
    world.kept(&like("y", &["*"]));
    let all = set(&[(1, 0), (1, 1), (1, 2), (1, 3), (2, 0), (2, 1)]);
    let of_y = |world: &World| world.group().members().find(|(id, _)| ***id == *"y").unwrap().1.target.clone();
    assert!(set(&[(1, 0), (1, 1), (1, 2), (1, 3)]).is_within(&of_y(&world)));
    // When a key has lost a topic, the member's next heartbeat removes it, even without other changes.
    world.leave("x", None, Leaving::ForGood).unwrap();
    let (epoch, _) = world.kept(&sign("y", 2));
    assert_eq!(of_y(&world), all);
    world.kept(&ConsumerHeartbeat { visible: Visible::of(["a"]).into(), ..sign("y", epoch) });
    assert_eq!(of_y(&world), set(&[(1, 0), (1, 1), (1, 2), (1, 3)]));
    assert!(!world.group().wants("b"));
}

#[test]
fn the_strategy_that_most_prefer_is_used() {
    let mut world = World::new();
    let preferring = |member, assignor| ConsumerHeartbeat { assignor: Some(assignor), ..joining(member, &["a", "b"]) };
    world.kept(&preferring("x", Assignor::Range));
    world.kept(&preferring("y", Assignor::Uniform));
    assert_eq!(world.group().assignor(), Assignor::Uniform);
    world.kept(&preferring("z", Assignor::Range));
    assert_eq!(world.group().assignor(), Assignor::Range);
}

#[test]
fn what_groups_take_in_memory_is_limited() {
    let limits = GroupLimits { members_max: 2, regexes_max: 1, pairs_max: 4, groups_max: 2, ..GroupLimits::default() };
    let mut groups: Groups<u64> = Groups::new(GroupLimits { bytes_max: 8 << 10, ..limits });
    groups.set_topics(list(1, ["a", "b", "c"].map(|name| (name.into(), topic(name.as_bytes()[0]), 1))));
    let mut beat = |group: &str, beat: &ConsumerHeartbeat| groups.beat(&group.into(), beat, Duration::ZERO).map(drop);
    assert_eq!(beat("g", &joining("x", &["a"])), Ok(()));
    assert_eq!(beat("g", &joining("y", &["a", "b", "c"])), Err(GroupError::Pairs { limit: 4 }));
    let regex = |member, regex: &str| ConsumerHeartbeat { regex: Some(regex.into()), ..joining(member, &[]) };
    assert_eq!(beat("g", &regex("x", "a")), Ok(()));
    assert_eq!(beat("g", &regex("y", "b")), Err(GroupError::Regexes { limit: 1 }));
    assert_eq!(beat("g", &joining("y", &["a"])), Ok(()));
    assert_eq!(beat("g", &joining("z", &["a"])), Err(GroupError::Full { limit: 2 }));
    let large = "-".repeat(8 << 10);
    assert_eq!(beat("g", &joining("y", &[&large])), Err(GroupError::Memory { limit: 8 << 10 }));
    assert_eq!(beat("h", &joining("y", &[&large])), Err(GroupError::Memory { limit: 8 << 10 }));
    assert_eq!(beat("h", &joining("y", &["a"])), Ok(()));
    assert_eq!(beat("i", &joining("y", &["a"])), Err(GroupError::Groups { limit: 2 }));
    assert!(matches!(beat("", &joining("y", &["a"])), Err(GroupError::Name { .. })));
}

#[test]
fn a_group_is_of_one_protocol_while_it_has_members() {
    let mut world = World::new();
    let join = |member: &str| Join {
        member: member.into(),
        instance: None,
        identity: Identity { client: "client".into(), host: "host".into() },
        session: Duration::from_secs(10),
        rebalance: REBALANCE,
        protocol_type: "consumer".into(),
        protocols: vec![("range".into(), bytes::Bytes::new())],
        needs_id: false,
    };
    world.kept(&joining("x", &["a"]));
    let classic = |world: &mut World, ticket| {
        let answers = world.groups.join(&GROUP.into(), ticket, join(""), || "classic".into(), world.now);
        answers.into_iter().find(|answer| answer.ticket == ticket).map(|answer| answer.outcome)
    };
    assert_eq!(classic(&mut world, 1), Some(Outcome::Refused(GroupError::OtherProtocol)));
    assert_eq!(world.groups.check_empty(GROUP), Err(GroupError::NotEmpty));
    // Kafka's administrators remove members with the request of the other protocol.
    let (left, _) = world.groups.leave(GROUP, "x", None, world.now);
    assert_eq!((left, world.groups.check_empty(GROUP)), (Ok(()), Ok(())));
    assert_eq!(classic(&mut world, 2), None);
    assert_eq!(world.beat(&joining("x", &["a"])), Err(GroupError::OtherProtocol));
    let (left, _) = world.groups.leave(GROUP, "classic", None, world.now);
    assert_eq!(left, Ok(()));
    // Generations and epochs are one sequence: none is used again.
    assert_eq!(world.kept(&joining("x", &["a"])), (4, Some(set(&ALL))));
}

#[test]
fn members_continue_with_what_the_journal_keeps() {
    let mut world = World::new();
    assert_eq!(world.kept(&joining("x", &["a"])), (1, Some(set(&ALL))));
    let revision = world.groups.revision(GROUP);
    world.restart();
    assert_eq!(world.kept(&owning("x", 1, &ALL)), (1, None), "as if nothing had happened");
    assert_eq!((world.phase(), revision > 0), (ConsumerPhase::Stable, true));
    assert_eq!(world.groups.revision(GROUP), 0, "there is nothing new to keep");
    // A second member: the first has to give up partitions, at whatever broker.
    assert_eq!(world.kept(&joining("y", &["a"])).0, 2);
    world.restart();
    let (_, left) = world.kept(&owning("x", 1, &ALL));
    let left = left.unwrap();
    assert_eq!(left.len(), 2);
    world.restart();
    assert_eq!(world.beat(&sign("y", 2)).unwrap().assignment, None, "they aren't free");
    let owned = ConsumerHeartbeat { owned: Some(left), ..sign("x", 1) };
    assert_eq!(world.kept(&owned).0, 2);
    world.restart();
    assert_eq!(world.kept(&sign("y", 2)).1.map(|share| share.len()), Some(2));
    // Topics that have changed are divided, and an empty group keeps its epoch.
    world.groups.set_topics(list(2, [("a".into(), topic(1), 5)]));
    world.restart();
    assert!(world.beat(&sign("x", 2)).unwrap().epoch == 3);
    for member in ["x", "y"] {
        world.leave(member, None, Leaving::ForGood).unwrap();
    }
    world.restart();
    assert!(world.kept(&joining("z", &["a"])).0 > 3);
}

#[test]
fn what_the_journal_cannot_keep_is_refused() {
    let mut world = World::new();
    let topics = world.groups.topics().clone();
    world.groups = Groups::new(GroupLimits { stored_bytes_max: 400, ..GroupLimits::with_session(SESSION) });
    world.groups.set_topics(topics);
    world.kept(&joining("x", &["a"]));
    let (name, before) = ("n".repeat(200), world.groups.stored(GROUP));
    assert_eq!(world.beat(&joining("y", &[&name])), Err(GroupError::Large { limit: 400 }));
    assert_eq!(world.groups.stored(GROUP), before);
    assert_eq!(world.kept(&owning("x", 1, &ALL)), (1, None));
}

/// A client of a random test.
#[derive(Default)]
struct Actor {
    id: String,
    instance: Option<String>,
    epoch: u32,
    /// The partitions that it reads.
    owned: Partitions,
    /// The partitions of its newest response, until it reads them.
    assigned: Option<Partitions>,
    /// Whether its next heartbeat has all fields.
    says_all: bool,
    is_silent: bool,
}

impl Actor {
    /// A client's next step. It may lose the response.
    fn go_on(&mut self, world: &mut World, random: &mut fastrand::Rng) {
        if let Some(assigned) = self.assigned.take_if(|_| random.u8(..4) > 0) {
            self.owned = assigned;
            self.says_all |= random.bool();
        }
        let names = ["a", "b"].map(Arc::from).to_vec();
        let beat = ConsumerHeartbeat {
            instance: self.instance.as_deref().map(Arc::from),
            names: (self.epoch == 0 || self.says_all).then_some(names),
            rebalance: (self.epoch == 0 || self.says_all).then_some(PATIENT),
            owned: Some(self.owned.clone()),
            ..sign(&self.id, self.epoch)
        };
        let kept = world.beat(&beat);
        self.says_all = random.u8(..10) == 0;
        match kept {
            // The response is lost, and so is the previous one.
            Ok(_) if self.says_all => self.assigned = None,
            Ok(kept) => {
                assert!(kept.epoch >= self.epoch, "epoch {} after {}", kept.epoch, self.epoch);
                self.epoch = kept.epoch;
                if let Some(assigned) = kept.assignment {
                    self.assigned = Some(assigned);
                }
            }
            Err(GroupError::UnknownMember | GroupError::FencedEpoch { .. }) => self.forget(),
            Err(GroupError::UnreleasedInstance | GroupError::FencedInstance) => self.forget(),
            Err(error) => panic!("{error}"),
        }
    }

    fn forget(&mut self) {
        (self.epoch, self.owned, self.assigned) = (0, Partitions::default(), None);
    }

    /// Leaves, and joins as another member.
    fn leave(&mut self, world: &mut World, leaving: Leaving, random: &mut fastrand::Rng) {
        let _ = world.leave(&self.id, self.instance.as_deref(), leaving);
        self.forget();
        self.id = format!("m{}", random.u64(..));
    }
}

/// Six members, of which some have instances, at random for a while. Then it is quiet for longer than a session.
#[test]
fn no_partition_has_two_owners_and_in_the_end_each_has_one() {
    for seed in 0..100 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut world = World::new();
        let actor = |n: usize| Actor {
            id: format!("n{n}"),
            instance: n.is_multiple_of(3).then(|| format!("i{n}")),
            ..Actor::default()
        };
        let mut actors: Vec<Actor> = (0..6).map(actor).collect();
        let (mut partitions, mut epochs) = (6, (0, 0));
        for step in 0..600 {
            let is_calm = step >= 300;
            let at = random.usize(..actors.len());
            let actor = &mut actors[at];
            match random.u8(..40) {
                // A silent member may still read, until it finds out. It counts as gone here.
                0 if !is_calm => (actor.is_silent, actor.owned) = (true, Partitions::default()),
                1 if !is_calm => actor.leave(&mut world, Leaving::ForGood, &mut random),
                2 if !is_calm => actor.leave(&mut world, Leaving::ForAWhile, &mut random),
                3 if !is_calm && partitions < 12 => {
                    partitions += 1;
                    let topics = [("a".into(), topic(1), 4), ("b".into(), topic(2), partitions - 4)];
                    world.groups.set_topics(list(u64::from(partitions), topics));
                }
                5 if !is_calm => world.restart(),
                4 if actor.is_silent => {
                    actor.is_silent = false;
                    actor.forget();
                }
                _ if !actor.is_silent => actor.go_on(&mut world, &mut random),
                _ => {}
            }
            let all: Vec<_> = actors.iter().flat_map(|actor| actor.owned.iter()).collect();
            assert_eq!(all.len(), all.iter().collect::<BTreeSet<_>>().len(), "seed {seed}, step {step}: two owners");
            if let Some(group) = world.groups.consumer_group(GROUP) {
                let (epoch, target) = group.epochs();
                assert!(epoch >= epochs.0 && target >= epochs.1 && target <= epoch, "seed {seed}: {epochs:?}");
                epochs = (epoch, target);
                let held = group.members().map(|(_, member)| member.assigned.len() + member.revoking.len());
                assert!(held.sum::<usize>() <= partitions as usize, "seed {seed}, step {step}");
            }
            world.pass(Duration::from_millis(random.u64(..1000)));
        }
        actors.iter_mut().for_each(|actor| actor.is_silent = false);
        for _ in 0..60 {
            actors.iter_mut().for_each(|actor| actor.go_on(&mut world, &mut random));
            world.pass(SECOND);
        }
        let shares: BTreeMap<&String, &Partitions> = actors.iter().map(|actor| (&actor.id, &actor.owned)).collect();
        let owned: usize = shares.values().map(|share| share.len()).sum();
        assert_eq!(owned, partitions as usize, "seed {seed}: {shares:?}");
        assert_eq!(world.phase(), ConsumerPhase::Stable, "seed {seed}");
        assert!(shares.values().all(|share| share.len().abs_diff(owned / 6) <= 1), "seed {seed}: {shares:?}");
    }
}
