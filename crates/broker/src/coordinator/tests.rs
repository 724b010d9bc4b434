//! Groups that continue at another broker, or at the same one after a restart, and two brokers that coordinate one
//! group.

use super::*;
use crate::broker::Broker;
use crate::clock::SystemClock;
use crate::cluster::BrokerId;
use crate::config::Config;
use crate::coordinator::offsets::{Commit, OffsetError};
use crate::journal::request::ProducerInstance;
use crate::limits::FOLLOW_INTERVAL;
use crate::store::{self, Dated, MemberStore, MemoryStore, Store, StoredIndex};
use crate::store_error::StoreError;
use futures_util::future::BoxFuture;
use rawline_groups::consumer::Visible;
use rawline_groups::{Identity, Joined};
use rawline_journal::{Garbage, Listing, Place, PutResult, SnapshotName, Source};
use serde_json::Map;
use std::ops::Range;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

const GROUP: &str = "g";
const SESSION: Duration = Duration::from_secs(10);
/// How long a request to the storage takes at most.
const REQUEST_MAX: Duration = Duration::from_secs(15);
const SECOND: Duration = Duration::from_secs(1);

/// A storage in memory, which brokers share. While its gates are closed, it takes nothing, and finds nothing.
struct Storage {
    objects: Arc<MemoryStore>,
    gate: watch::Sender<bool>,
    reads: watch::Sender<bool>,
}

struct NoCards;

impl MemberStore for NoCards {
    fn put(&self, _: BrokerId, _: Bytes) -> BoxFuture<'static, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }

    fn get(&self, _: BrokerId) -> BoxFuture<'static, Result<Option<(Bytes, Duration)>, StoreError>> {
        Box::pin(async { Ok(None) })
    }

    fn list(&self) -> BoxFuture<'static, Result<Vec<BrokerId>, StoreError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn delete(&self, _: BrokerId) -> BoxFuture<'static, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }
}

impl Store for Storage {
    fn create(&self, source: Source, parts: Vec<Bytes>) -> BoxFuture<'static, PutResult> {
        let (objects, mut gate) = (self.objects.clone(), self.gate.subscribe());
        Box::pin(async move {
            let is_open = async { drop(gate.wait_for(|is_open| *is_open).await.unwrap()) };
            if timeout(REQUEST_MAX, is_open).await.is_err() {
                return PutResult::Unknown;
            }
            objects.create(source, parts).await
        })
    }

    fn index(&self, source: Source) -> BoxFuture<'static, Result<Dated<Option<StoredIndex>>, StoreError>> {
        let (objects, mut reads) = (self.objects.clone(), self.reads.subscribe());
        Box::pin(async move {
            drop(reads.wait_for(|is_open| *is_open).await.unwrap());
            objects.index(source).await
        })
    }

    fn bytes(&self, place: Place, range: Range<u64>) -> BoxFuture<'static, Result<Bytes, StoreError>> {
        self.objects.bytes(place, range)
    }

    fn snapshot(&self, name: SnapshotName) -> BoxFuture<'static, Result<Option<Bytes>, StoreError>> {
        self.objects.snapshot(name)
    }

    fn newest_snapshot(&self) -> BoxFuture<'static, Result<Dated<Option<Bytes>>, StoreError>> {
        self.objects.newest_snapshot()
    }

    fn create_snapshot(&self, name: SnapshotName, bytes: Bytes) -> BoxFuture<'static, Result<(), StoreError>> {
        self.objects.create_snapshot(name, bytes)
    }

    fn list(&self) -> BoxFuture<'static, Result<Dated<Listing>, StoreError>> {
        self.objects.list()
    }

    fn delete(&self, garbage: Garbage) -> BoxFuture<'static, Result<u64, StoreError>> {
        self.objects.delete(garbage)
    }
}

impl Storage {
    fn new() -> Arc<Storage> {
        let objects = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        Arc::new(Storage { objects, gate: watch::Sender::new(true), reads: watch::Sender::new(true) })
    }

    /// A broker on it, with a topic of two partitions.
    async fn broker(self: &Arc<Self>, run: u64) -> Arc<Broker> {
        let storage = store::Storage::shared(self.clone(), Arc::new(NoCards));
        let config = Config { batch_wait: Duration::from_millis(1), ..Config::new(run) };
        let broker = Broker::open(storage, Arc::new(SystemClock), config).await.unwrap();
        if broker.topic("t").await.is_err() {
            let settings: Map<_, _> = [("partitions".to_owned(), 2.into())].into_iter().collect();
            broker.create_topic("t", settings).await.unwrap();
        }
        Arc::new(broker)
    }
}

async fn restarted(storage: &Arc<Storage>, broker: Arc<Broker>, run: u64) -> Arc<Broker> {
    // Callers that wait keep it open.
    let mut broker = Some(broker);
    while let Some(shared) = broker.take() {
        match Arc::try_unwrap(shared) {
            Ok(broker) => broker.close().await,
            Err(shared) => {
                broker = Some(shared);
                sleep(Duration::from_millis(1)).await;
            }
        }
    }
    storage.broker(run).await
}

fn joining(member: &str) -> Join {
    Join {
        member: member.into(),
        instance: None,
        identity: Identity { client: "client".into(), host: "host".into() },
        session: SESSION,
        rebalance: SESSION,
        protocol_type: "consumer".into(),
        protocols: vec![("range".into(), Bytes::from_static(b"says"))],
        needs_id: false,
    }
}

async fn join(broker: &Broker, member: &str, id: &'static str) -> Joined {
    match broker.coordinator().join_group(&GROUP.into(), joining(member), || id.into()).await {
        Outcome::Joined(joined) => joined,
        other => panic!("{member} {id}: {other:?}"),
    }
}

fn of(joined: &Joined) -> Membership {
    Membership { member: joined.member.clone(), instance: None, generation: joined.generation }
}

/// A member that is alone, with its share.
async fn alone(broker: &Broker, id: &'static str) -> Joined {
    let joined = join(broker, "", id).await;
    sync(broker, &joined).await;
    joined
}

/// A member of a consumer group that is alone, and its next heartbeats.
async fn consumer(broker: &Broker, group: &str) -> (Kept, ConsumerHeartbeat) {
    let beat = ConsumerHeartbeat {
        member: "c".into(),
        instance: None,
        rack: None,
        identity: Identity { client: "client".into(), host: "host".into() },
        epoch: 0,
        rebalance: Some(SESSION),
        names: Some(vec!["t".into()]),
        regex: None,
        visible: Arc::new(Visible::all()),
        assignor: None,
        owned: Some(Default::default()),
    };
    let kept = broker.coordinator().consumer_heartbeat(&group.into(), &beat).await.unwrap();
    let sign = ConsumerHeartbeat { epoch: kept.epoch, rebalance: None, names: None, owned: None, ..beat };
    (kept, sign)
}

async fn sync(broker: &Broker, joined: &Joined) -> Bytes {
    let shares = joined.members.iter().map(|(id, ..)| (id.clone(), Bytes::from(format!("for {id}"))));
    match broker.coordinator().sync_group(GROUP, &of(joined), shares.collect()).await {
        Outcome::Synced { assignment, .. } => assignment,
        other => panic!("{other:?}"),
    }
}

fn commit(offset: i64) -> [Commit; 1] {
    [Commit { topic: "t".into(), partition: 1, offset, metadata: [][..].into() }]
}

async fn commits(broker: &Broker, joined: &Joined, offset: i64) -> Result<(), OffsetError> {
    let committed = broker.coordinator().commit_offsets(&GROUP.into(), "", Some(&of(joined)), &commit(offset)).await?;
    committed.into_iter().collect()
}

fn committed(broker: &Broker) -> Vec<i64> {
    broker.coordinator().committed_offsets(GROUP).into_iter().map(|(_, _, committed)| committed.offset).collect()
}

/// The broker reads the objects of others.
async fn catch_up(broker: &Broker) {
    broker.coordinator().journals.all()[0].catch_up().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn members_go_on_after_a_restart_within_their_sessions() {
    let storage = Storage::new();
    let broker = storage.broker(1).await;
    let member = alone(&broker, "m").await;
    let broker = restarted(&storage, broker, 2).await;
    sleep(2 * SECOND).await;
    let members = broker.coordinator().groups().into_iter().map(|(name, status)| (name, status.members.len()));
    assert_eq!(members.collect::<Vec<_>>(), [(GROUP.into(), 1)], "it is listed");
    assert_eq!(broker.coordinator().heartbeat(GROUP, &of(&member)), Ok(()));
    assert_eq!(sync(&broker, &member).await, "for m");
    commits(&broker, &member, 5).await.unwrap();
    // Another one, and a new generation.
    let (one, two) = tokio::join!(join(&broker, "", "n"), async {
        sleep(SECOND).await;
        join(&broker, "m", "unused").await
    });
    assert_eq!((one.generation, two.generation), (2, 2));
    let broker = restarted(&storage, broker, 3).await;
    assert!(matches!(broker.coordinator().heartbeat(GROUP, &of(&member)), Err(GroupError::Generation { current: 2 })));
    let shares = tokio::join!(sync(&broker, &two), sync(&broker, &one));
    assert_eq!(shares, (Bytes::from("for m"), Bytes::from("for n")));
    // No member gives a sign: the broker doesn't wait for a request to notice.
    let broker = restarted(&storage, broker, 4).await;
    sleep(SESSION + 3 * SECOND).await;
    let left =
        broker.coordinator().journals.all()[0].with_groups(|groups, _| groups.get(GROUP).map(|group| group.members));
    assert_eq!(left, Some(0));
}

#[tokio::test(start_paused = true)]
async fn a_generation_never_repeats_even_if_the_group_was_deleted() {
    let storage = Storage::new();
    let mut broker = storage.broker(1).await;
    let mut newest = 0;
    for run in 2..8 {
        let member = alone(&broker, "m").await;
        assert!(member.generation > newest, "{} after {newest}", member.generation);
        newest = member.generation;
        broker.coordinator().leave_group(GROUP, "m", None).await.unwrap();
        if run % 2 == 0 {
            broker.coordinator().delete_group(&GROUP.into()).await.unwrap();
        }
        if run % 3 == 0 {
            broker = restarted(&storage, broker, run).await;
        }
    }
    let (kept, sign) = consumer(&broker, GROUP).await;
    assert!(kept.epoch > newest && kept.assignment.is_some_and(|share| share.len() == 2), "an epoch is one too");
    let broker = restarted(&storage, broker, 9).await;
    let again = broker.coordinator().consumer_heartbeat(&GROUP.into(), &sign).await.unwrap();
    assert_eq!((again.epoch, again.assignment), (kept.epoch, None), "as if nothing had happened");
}

/// A bucket that takes its time: a member leaves while its commit is in flight, and the next one reads the offset only
/// after that.
#[tokio::test(start_paused = true)]
async fn the_next_member_reads_what_the_one_before_it_could_commit() {
    let storage = Storage::new();
    let broker = storage.broker(1).await;
    let member = alone(&broker, "m").await;
    commits(&broker, &member, 5).await.unwrap();
    storage.gate.send_replace(false);
    let (other, last) = (broker.clone(), member.clone());
    let late = tasks::spawn(async move { commits(&other, &last, 7).await });
    sleep(SECOND).await;
    let other = broker.clone();
    let leaves = tasks::spawn(async move { other.coordinator().leave_group(GROUP, "m", None).await });
    sleep(SECOND).await;
    let too_late = commits(&broker, &member, 9).await;
    assert!(matches!(too_late, Err(OffsetError::Group(GroupError::UnknownMember))), "{too_late:?}");
    let other = broker.clone();
    let mut next = tasks::spawn(async move { (join(&other, "", "n").await, committed(&other)) });
    assert!(timeout(5 * SECOND, &mut next).await.is_err(), "what the member has is stored before it learns of it");
    assert!(!leaves.is_finished() && !late.is_finished());
    storage.gate.send_replace(true);
    let (next, found) = next.await.unwrap();
    assert_eq!((next.generation > member.generation, found), (true, vec![7]));
    late.await.unwrap().unwrap();
    assert_eq!(leaves.await.unwrap(), Ok(()));
}

/// Two brokers coordinate the group, because one can't reach the other: what members of the older version commit has no
/// effect, and the older coordinator continues from the newer version.
#[tokio::test(start_paused = true)]
async fn of_two_coordinators_the_one_that_stores_first_is_right() {
    let storage = Storage::new();
    let (one, two) = (storage.broker(1).await, storage.broker(2).await);
    let member = alone(&one, "m").await;
    commits(&one, &member, 5).await.unwrap();
    catch_up(&two).await;
    assert_eq!(two.coordinator().heartbeat(GROUP, &of(&member)), Ok(()), "any broker knows the members");
    two.coordinator().leave_group(GROUP, "m", None).await.unwrap();
    let next = alone(&two, "n").await;
    commits(&two, &next, 10).await.unwrap();
    // The first coordinator has read nothing of that.
    assert_eq!(one.coordinator().heartbeat(GROUP, &of(&member)), Ok(()));
    let stale = commits(&one, &member, 7).await;
    assert!(matches!(stale, Err(OffsetError::Group(GroupError::Moved))), "{stale:?}");
    let stale = commits(&one, &member, 7).await;
    assert!(matches!(stale, Err(OffsetError::Group(GroupError::UnknownMember))), "{stale:?}");
    catch_up(&two).await;
    assert_eq!((committed(&one), committed(&two)), (vec![10], vec![10]));
    assert_eq!(one.coordinator().heartbeat(GROUP, &of(&next)), Ok(()), "it continues with the members of the other");
    // Both change the same version.
    let left =
        tokio::join!(one.coordinator().leave_group(GROUP, "n", None), two.coordinator().leave_group(GROUP, "n", None));
    assert!(matches!(left, (Ok(()), Err(GroupError::Moved)) | (Err(GroupError::Moved), Ok(()))), "{left:?}");
    catch_up(&one).await;
    catch_up(&two).await;
    assert!(
        [&one, &two]
            .iter()
            .all(|broker| broker.coordinator().heartbeat(GROUP, &of(&next)) == Err(GroupError::UnknownMember))
    );
}

/// The condition that a group has no members is checked where it takes effect.
#[tokio::test(start_paused = true)]
async fn a_group_gets_a_member_while_its_offsets_are_set_or_deleted() {
    let storage = Storage::new();
    let (one, two) = (storage.broker(1).await, storage.broker(2).await);
    let group: Arc<str> = GROUP.into();
    one.coordinator().commit_offsets(&group, "", None, &commit(3)).await.unwrap().remove(0).unwrap();
    alone(&two, "m").await;
    let set = one.coordinator().commit_offsets(&group, "", None, &commit(1)).await.unwrap().remove(0);
    assert!(matches!(set, Err(OffsetError::Group(GroupError::UnknownMember))), "{set:?}");
    let (one, two) = (two, storage.broker(3).await);
    one.coordinator().leave_group(GROUP, "m", None).await.unwrap();
    catch_up(&two).await;
    alone(&one, "n").await;
    for deleted in [two.coordinator().delete_group(&group).await, two.coordinator().delete_offset(&group, "t", 1).await]
    {
        assert!(matches!(deleted, Err(OffsetError::Group(GroupError::NotEmpty))), "{deleted:?}");
    }
    assert_eq!(committed(&one), [3]);
}

/// The committed offset, and whether a transaction may commit another one, are of one moment.
#[tokio::test(start_paused = true)]
async fn an_offset_is_read_with_what_a_transaction_may_still_commit() {
    let storage = Storage::new();
    let broker = storage.broker(1).await;
    let member = alone(&broker, "m").await;
    commits(&broker, &member, 5).await.unwrap();
    let mut producer: ProducerInstance = broker.open_transactional("p", "", SECOND * 60, None).await.unwrap();
    for offset in 6..9 {
        let (group, member, commits) = (GROUP.into(), of(&member), commit(offset));
        let pending = broker.coordinator().commit_offsets_in_transaction(&group, "", Some(&member), producer, &commits);
        pending.await.unwrap().remove(0).unwrap();
        let before = broker.coordinator().group_offsets(GROUP);
        producer = broker.end_transaction("p", producer, true).await.unwrap();
        let after = broker.coordinator().group_offsets(GROUP);
        let seen = [before, after].map(|offsets| {
            let seen = offsets.into_iter().map(|found| (found.committed.map(|found| found.offset), found.is_unstable));
            seen.collect::<Vec<_>>()
        });
        assert_eq!(seen, [vec![(Some(offset - 1), true)], vec![(Some(offset), false)]]);
    }
}

/// A member whose change can't be stored keeps its partitions.
#[tokio::test(start_paused = true)]
async fn what_is_not_stored_has_not_happened() {
    let storage = Storage::new();
    let broker = storage.broker(1).await;
    let member = alone(&broker, "m").await;
    storage.gate.send_replace(false);
    let left = broker.coordinator().leave_group(GROUP, "m", None).await;
    assert!(matches!(left, Err(GroupError::NotStored { .. })), "{left:?}");
    assert_eq!(broker.coordinator().heartbeat(GROUP, &of(&member)), Ok(()));
    storage.gate.send_replace(true);
    sleep(5 * SECOND).await;
    assert_eq!(broker.coordinator().heartbeat(GROUP, &of(&member)), Ok(()));
    commits(&broker, &member, 5).await.unwrap();
    assert_eq!(broker.coordinator().leave_group(GROUP, "m", None).await, Ok(()));
}

/// A coordinator that can't read the journal's end tells no member that it still is one, from 6 s after the newest look
/// that it has finished until the next one.
#[tokio::test(start_paused = true)]
async fn a_coordinator_that_reads_nothing_confirms_no_member() {
    let storage = Storage::new();
    let broker = storage.broker(1).await;
    broker.join(|card| card).await.unwrap();
    assert!(broker.cluster().unwrap().acts(0).await);
    let member = alone(&broker, "m").await;
    let (_, sign) = consumer(&broker, "consumers").await;
    sleep(CONFIRMED_WITHIN + SECOND).await;
    let signs = async || {
        let beat = broker.coordinator().consumer_heartbeat(&"consumers".into(), &sign).await;
        let beat = beat.map(drop).map_err(|error| match error {
            OffsetError::Group(error) => error,
            other => panic!("{other:?}"),
        });
        [
            broker.coordinator().heartbeat(GROUP, &of(&member)),
            broker.coordinator().may_commit(GROUP, &of(&member)),
            beat,
        ]
    };
    assert_eq!(signs().await, [Ok(()), Ok(()), Ok(())], "it looks every 2 s");
    storage.reads.send_replace(false);
    let newest = broker.cluster().unwrap().confirmed(0).unwrap();
    for age in [CONFIRMED_WITHIN / 2, CONFIRMED_WITHIN] {
        sleep_until(newest + age).await;
        assert_eq!(signs().await, [Ok(()), Ok(()), Ok(())], "{age:?} after the newest look");
    }
    sleep(Duration::from_millis(1)).await;
    for _ in 0..10 {
        assert_eq!(signs().await, [const { Err(GroupError::Unconfirmed) }; 3], "{:?} after it", newest.elapsed());
        sleep(SECOND).await;
    }
    storage.reads.send_replace(true);
    sleep(Duration::from_millis(1)).await;
    assert_eq!(broker.cluster().unwrap().confirmed(0), Some(newest + FOLLOW_INTERVAL), "a look counts from its begin");
    assert_eq!(signs().await, [const { Err(GroupError::Unconfirmed) }; 3]);
    sleep(FOLLOW_INTERVAL).await;
    assert_eq!(signs().await, [Ok(()), Ok(()), Ok(())]);
}
