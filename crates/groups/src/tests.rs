//! Members that join, leave, restart and stop responding, in random order: every request gets a response, and the
//! remaining members end with one assignment of all partitions.

use super::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const GROUP: &str = "g";
const SESSION: Duration = Duration::from_secs(10);
const REBALANCE: Duration = Duration::from_secs(30);

fn identity() -> Identity {
    Identity { client: "client".into(), host: "host".into() }
}

fn join(member: &str, instance: Option<&str>, protocols: &[&str]) -> Join {
    let protocols = protocols.iter().map(|name| (Arc::from(*name), Bytes::from(name.as_bytes().to_vec())));
    Join {
        member: member.into(),
        instance: instance.map(Arc::from),
        identity: identity(),
        session: SESSION,
        rebalance: REBALANCE,
        protocol_type: "consumer".into(),
        protocols: protocols.collect(),
        needs_id: true,
    }
}

/// A group with members that the test drives by hand.
struct World {
    groups: Groups<u64>,
    now: Duration,
    tickets: u64,
    answers: BTreeMap<u64, Outcome>,
    /// The greatest that a member has got.
    generation: u32,
}

impl World {
    fn new() -> World {
        let groups = Groups::new(GroupLimits::default());
        World { groups, now: Duration::ZERO, tickets: 0, answers: BTreeMap::new(), generation: 0 }
    }

    fn note(&mut self, answers: Vec<Answer<u64>>) {
        for Answer { ticket, outcome } in answers {
            if let Outcome::Joined(joined) = &outcome {
                assert!(joined.generation >= self.generation, "{joined:?} after generation {}", self.generation);
                self.generation = joined.generation;
            }
            let before = self.answers.insert(ticket, outcome);
            assert!(before.is_none(), "request {ticket} is answered twice: {before:?}");
        }
    }

    fn join(&mut self, join: Join) -> u64 {
        self.tickets += 1;
        let id = format!("m{}", self.tickets);
        let answers = self.groups.join(&GROUP.into(), self.tickets, join, || id.as_str().into(), self.now);
        self.note(answers);
        self.tickets
    }

    fn sync(&mut self, joined: &Joined, assignments: &[(&str, &str)]) -> u64 {
        self.tickets += 1;
        let assignments =
            assignments.iter().map(|(id, share)| (Arc::from(*id), Bytes::from(share.as_bytes().to_vec())));
        let answers = self.groups.sync(GROUP, self.tickets, &of(joined), assignments.collect(), self.now);
        self.note(answers);
        self.tickets
    }

    /// The group continues at a broker that knows only what the journal keeps. Pending requests are sent again.
    fn restart(&mut self) {
        if !self.groups.contains(GROUP) {
            return;
        }
        let (members, stored) = self.groups.stored(GROUP);
        let unanswered = self.groups.forget(GROUP);
        let moved = |ticket| Answer { ticket, outcome: Outcome::Refused(GroupError::Moved) };
        self.note(unanswered.into_iter().map(moved).collect());
        self.groups.restore(&GROUP.into(), Some(&stored), 0, self.now).unwrap();
        assert_eq!(self.groups.stored(GROUP), (members, stored));
    }

    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(due_at) = self.groups.due_at().filter(|due_at| *due_at <= end) {
            self.now = self.now.max(due_at);
            let answers = self.groups.tick(self.now);
            self.note(answers);
        }
        self.now = end;
    }

    fn joined(&self, ticket: u64) -> Joined {
        match self.answers.get(&ticket) {
            Some(Outcome::Joined(joined)) => joined.clone(),
            other => panic!("request {ticket}: {other:?}"),
        }
    }

    fn refused(&self, ticket: u64) -> GroupError {
        match self.answers.get(&ticket) {
            Some(Outcome::Refused(error)) => error.clone(),
            other => panic!("request {ticket}: {other:?}"),
        }
    }

    fn share(&self, ticket: u64) -> Bytes {
        match self.answers.get(&ticket) {
            Some(Outcome::Synced { assignment, .. }) => assignment.clone(),
            other => panic!("request {ticket}: {other:?}"),
        }
    }

    /// A member that has got its id and asks again.
    fn enter(&mut self, protocols: &[&str]) -> (String, u64) {
        let first = self.join(join("", None, protocols));
        let GroupError::NeedsId { member } = self.refused(first) else { panic!("no id") };
        (member.to_string(), self.join(join(&member, None, protocols)))
    }

    /// Two members that have their shares: the leader first.
    fn two(&mut self) -> [Joined; 2] {
        let (_, one) = self.enter(&["range"]);
        let (_, two) = self.enter(&["range"]);
        self.pass(Duration::from_secs(1));
        let (one, two) = (self.joined(one), self.joined(two));
        let waits = self.sync(&two, &[]);
        let leads = self.sync(&one, &[(&one.member, "a"), (&two.member, "b")]);
        assert_eq!((self.share(leads), self.share(waits)), (Bytes::from("a"), Bytes::from("b")));
        [one, two]
    }
}

fn of(joined: &Joined) -> Membership {
    Membership { member: joined.member.clone(), instance: None, generation: joined.generation }
}

#[test]
fn members_share_what_the_leader_has_divided() {
    let mut world = World::new();
    let [one, two] = world.two();
    assert_eq!((one.generation, &one.leader, &*one.protocol), (1, &one.member, "range"));
    assert_eq!((two.generation, &two.leader, two.members.len()), (1, &one.member, 0));
    assert_eq!(one.members.len(), 2);
    for joined in [&one, &two] {
        assert_eq!(world.groups.heartbeat(GROUP, &of(joined), world.now), Ok(()));
        assert_eq!(world.groups.may_commit(GROUP, Some(&of(joined)), world.now), Ok(()));
    }
    assert_eq!(world.groups.may_commit(GROUP, None, world.now), Err(GroupError::UnknownMember));
    assert_eq!(world.groups.check_empty(GROUP), Err(GroupError::NotEmpty));
}

#[test]
fn a_new_member_makes_all_join_again() {
    let mut world = World::new();
    let [one, two] = world.two();
    let (_, third) = world.enter(&["range"]);
    for joined in [&one, &two] {
        assert_eq!(world.groups.heartbeat(GROUP, &of(joined), world.now), Err(GroupError::Rebalancing));
    }
    let again = [&one, &two].map(|joined| world.join(join(&joined.member, None, &["range"])));
    let joined = [again[0], again[1], third].map(|ticket| world.joined(ticket));
    assert!(joined.iter().all(|joined| joined.generation == 2 && joined.leader == one.member));
    assert_eq!(world.groups.heartbeat(GROUP, &of(&one), world.now), Err(GroupError::Generation { current: 2 }));
}

#[test]
fn a_member_that_falls_silent_is_gone_after_its_session() {
    let mut world = World::new();
    let [one, two] = world.two();
    world.pass(SESSION / 2);
    assert_eq!(world.groups.heartbeat(GROUP, &of(&one), world.now), Ok(()));
    world.pass(SESSION / 2 + Duration::from_secs(1));
    assert_eq!(world.groups.heartbeat(GROUP, &of(&two), world.now), Err(GroupError::UnknownMember));
    assert_eq!(world.groups.heartbeat(GROUP, &of(&one), world.now), Err(GroupError::Rebalancing));
    let again = world.join(join(&one.member, None, &["range"]));
    assert_eq!((world.joined(again).generation, world.joined(again).members.len()), (2, 1));
}

#[test]
fn a_member_that_leaves_is_gone_at_once() {
    let mut world = World::new();
    let [one, two] = world.two();
    let (left, answers) = world.groups.leave(GROUP, &one.member, None, world.now);
    assert_eq!((left, answers.len()), (Ok(()), 0));
    let again = world.join(join(&two.member, None, &["range"]));
    assert_eq!(world.joined(again).leader, two.member);
    let (left, _) = world.groups.leave(GROUP, &two.member, None, world.now);
    assert_eq!((left, world.groups.check_empty(GROUP)), (Ok(()), Ok(())));
    assert_eq!(world.groups.may_commit(GROUP, None, world.now), Ok(()));
}

#[test]
fn an_instance_that_restarts_keeps_its_share() {
    let mut world = World::new();
    let one = world.join(join("", Some("i"), &["range"]));
    world.pass(Duration::from_secs(1));
    let one = world.joined(one);
    let synced = world.sync(&one, &[(&one.member, "a")]);
    assert_eq!(world.share(synced), Bytes::from("a"));
    let again = world.join(join("", Some("i"), &["range"]));
    let again = world.joined(again);
    assert!(again.generation == 1 && again.is_divided && again.member != one.member);
    let fenced = Membership { instance: Some("i".into()), ..of(&one) };
    assert_eq!(world.groups.heartbeat(GROUP, &fenced, world.now), Err(GroupError::FencedInstance));
    let synced = world.sync(&again, &[]);
    assert_eq!(world.share(synced), Bytes::from("a"));
    // With something new to say, it makes all join again.
    let other = world.join(join("", Some("i"), &["sticky", "range"]));
    assert!(matches!(world.answers.get(&other), Some(Outcome::Joined(joined)) if joined.generation == 1));
}

#[test]
fn members_agree_on_a_protocol_or_stay_out() {
    let mut world = World::new();
    let (_, one) = world.enter(&["sticky", "range"]);
    let (_, two) = world.enter(&["range", "sticky"]);
    let (_, third) = world.enter(&["range"]);
    let other = world.join(join("", None, &["robin"]));
    assert_eq!(world.refused(other), GroupError::Protocol);
    world.pass(Duration::from_secs(1));
    assert!([one, two, third].iter().all(|ticket| &*world.joined(*ticket).protocol == "range"));
}

#[test]
fn a_session_outside_the_limits_is_refused() {
    let mut world = World::new();
    let wrong = world.join(Join { session: Duration::from_secs(1), ..join("", None, &["range"]) });
    assert!(matches!(world.refused(wrong), GroupError::Session { .. }));
    let unknown = world.join(join("unknown", None, &["range"]));
    assert_eq!(world.refused(unknown), GroupError::UnknownMember);
}

#[test]
fn members_continue_with_what_the_journal_keeps() {
    let mut world = World::new();
    let [one, two] = world.two();
    world.restart();
    assert_eq!(world.groups.heartbeat(GROUP, &of(&one), world.now), Ok(()));
    assert_eq!(world.groups.may_commit(GROUP, Some(&of(&two)), world.now), Ok(()));
    let synced = world.sync(&two, &[]);
    assert_eq!((world.share(synced), world.generation), (Bytes::from("b"), 1));
    // The leader's join makes all join again. The division is known to the next broker before it is made.
    let joins = [&one, &two].map(|joined| world.join(join(&joined.member, None, &["range"])));
    let [leads, _] = joins.map(|ticket| world.joined(ticket));
    world.restart();
    let synced = world.sync(&leads, &[(&one.member, "b"), (&two.member, "a")]);
    assert_eq!((world.share(synced), world.generation), (Bytes::from("b"), 2));
    // One has left, and the other doesn't return.
    let (left, answers) = world.groups.leave(GROUP, &one.member, None, world.now);
    world.note(answers);
    world.restart();
    assert_eq!(left, Ok(()));
    assert_eq!(world.groups.heartbeat(GROUP, &of(&leads), world.now), Err(GroupError::UnknownMember));
    world.pass(SESSION - Duration::from_secs(1));
    assert_eq!(world.groups.check_empty(GROUP), Err(GroupError::NotEmpty), "its session began with the restart");
    world.pass(Duration::from_secs(2));
    assert_eq!(world.groups.check_empty(GROUP), Ok(()));
    world.restart();
    let (_, third) = world.enter(&["range"]);
    world.pass(Duration::from_secs(1));
    assert!(world.joined(third).generation > 2, "an empty group keeps its generation");
}

#[test]
fn time_stands_still_for_a_group_that_is_held() {
    let mut world = World::new();
    let [one, two] = world.two();
    world.groups.hold(&GROUP.into(), world.now);
    world.pass(3 * SESSION);
    assert_eq!(world.groups.heartbeat(GROUP, &of(&one), world.now), Ok(()));
    world.groups.go_on(GROUP, world.now);
    world.pass(SESSION + Duration::from_secs(1));
    // The one that has given a sign meanwhile is there: time stood still as long as it had before.
    assert_eq!(world.groups.heartbeat(GROUP, &of(&one), world.now), Err(GroupError::Rebalancing));
    assert_eq!(world.groups.heartbeat(GROUP, &of(&two), world.now), Err(GroupError::UnknownMember));
}

/// A group that the journal couldn't store refuses changes beyond the limit, and keeps its state.
#[test]
fn what_the_journal_cannot_keep_is_refused() {
    let mut world = World::new();
    world.groups = Groups::new(GroupLimits { stored_bytes_max: 2_000, ..GroupLimits::default() });
    let [one, two] = world.two();
    let large = Join { protocols: vec![("range".into(), vec![0; 1_500].into())], ..join("", None, &[]) };
    let large = world.join(large);
    assert_eq!(world.refused(large), GroupError::Large { limit: 2_000 });
    assert_eq!(world.groups.heartbeat(GROUP, &of(&two), world.now), Ok(()));
    let joins = [&one, &two].map(|joined| world.join(join(&joined.member, None, &["range"])));
    let [leads, _] = joins.map(|ticket| world.joined(ticket));
    let share = "s".repeat(1_500);
    let synced = world.sync(&leads, &[(&one.member, &share)]);
    assert_eq!(world.refused(synced), GroupError::Large { limit: 2_000 });
    assert!(world.groups.stored(GROUP).1.len() < 2_000);
}

/// A client of a random test: its state, and its pending request.
#[derive(Default)]
struct Actor {
    id: String,
    instance: Option<String>,
    waits: Option<u64>,
    joined: Option<Joined>,
    share: Option<Bytes>,
    is_silent: bool,
}

/// Six members, of which some have instances, at random for a while. Then those that are left send heartbeats for long
/// enough that all others are gone: they must be in one generation, each with its own share.
#[test]
fn members_that_stay_end_in_one_division() {
    for seed in 0..300 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut world = World::new();
        let mut actors: Vec<Actor> =
            (0..6).map(|n| Actor { instance: (n % 3 == 0).then(|| format!("i{n}")), ..Actor::default() }).collect();
        let mut log = VecDeque::new();
        for step in 0..400 {
            let is_calm = step >= 200;
            let at = random.usize(..actors.len());
            let actor = &mut actors[at];
            match random.u8(..20) {
                0 if !is_calm => actor.is_silent = true,
                1 if !is_calm => *actor = Actor { instance: actor.instance.clone(), ..Actor::default() },
                2 if !is_calm && !actor.id.is_empty() => {
                    let (_, answers) = world.groups.leave(GROUP, &actor.id, actor.instance.as_deref(), world.now);
                    world.note(answers);
                    *actor = Actor { instance: actor.instance.clone(), ..Actor::default() };
                }
                3 => actor.is_silent &= !is_calm || actor.is_silent,
                4 if !is_calm => world.restart(),
                _ => {}
            }
            log.push_back((step, at));
            (0..actors.len()).for_each(|at| go_on(&mut world, &mut actors[at]));
            world.pass(Duration::from_millis(random.u64(..1500)));
        }
        world.pass(Duration::ZERO);
        let alive: Vec<_> = actors.iter().filter(|actor| !actor.is_silent).collect();
        let generations: BTreeSet<_> =
            alive.iter().map(|actor| actor.joined.as_ref().map(|joined| joined.generation)).collect();
        let shares: BTreeSet<_> = alive.iter().map(|actor| actor.share.clone()).collect();
        assert!(
            alive.is_empty() || generations.len() == 1 && !generations.contains(&None),
            "seed {seed}: {generations:?}"
        );
        assert_eq!(shares.len(), alive.len(), "seed {seed}: {shares:?}");
        assert!(alive.is_empty() || !shares.contains(&None), "seed {seed}");
        for ticket in actors.iter().filter_map(|actor| actor.waits) {
            assert!(
                !alive.iter().any(|actor| actor.waits == Some(ticket)),
                "seed {seed}: request {ticket} has no answer"
            );
        }
    }
}

/// A client's next step.
fn go_on(world: &mut World, actor: &mut Actor) {
    if actor.is_silent {
        return;
    }
    if let Some(ticket) = actor.waits {
        let Some(outcome) = world.answers.get(&ticket).cloned() else { return };
        actor.waits = None;
        match outcome {
            Outcome::Joined(joined) => {
                assert!(joined.members.is_empty() || joined.leader == joined.member);
                (actor.id, actor.share) = (joined.member.to_string(), None);
                let shares: Vec<_> =
                    joined.members.iter().map(|(id, ..)| (id.to_string(), format!("for {id}"))).collect();
                let shares: Vec<_> = shares.iter().map(|(id, share)| (id.as_str(), share.as_str())).collect();
                let shares = if joined.is_divided { &[][..] } else { &shares };
                actor.waits = Some(world.sync(&joined, shares));
                actor.joined = Some(joined);
            }
            Outcome::Synced { assignment, .. } => actor.share = Some(assignment),
            Outcome::Refused(GroupError::NeedsId { member }) => actor.id = member.to_string(),
            Outcome::Refused(GroupError::UnknownMember | GroupError::FencedInstance) => {
                (actor.id, actor.joined, actor.share) = (String::new(), None, None);
            }
            Outcome::Refused(GroupError::Rebalancing | GroupError::Generation { .. } | GroupError::Moved) => {
                actor.share = None;
            }
            Outcome::Refused(error) => panic!("{error}"),
        }
        return;
    }
    if let (Some(joined), Some(_)) = (&actor.joined, &actor.share) {
        let sync = Membership { instance: actor.instance.as_deref().map(Arc::from), ..of(joined) };
        match world.groups.heartbeat(GROUP, &sync, world.now) {
            Ok(()) => return,
            Err(GroupError::UnknownMember | GroupError::FencedInstance) => actor.id.clear(),
            Err(_) => {}
        }
        actor.share = None;
    }
    actor.waits = Some(world.join(join(&actor.id, actor.instance.as_deref(), &["range"])));
}
